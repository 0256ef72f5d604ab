// SPDX-License-Identifier: Apache-2.0
/* Blobs on trial: data from another machine that no process here has yet used without dying of it.
 * A file <generation>.trial in the folder of markers lists the trial payloads that the blob of that
 * generation holds: a line with the SHA-256 of each. If the blob is a cache file that was merged
 * with such data, a line "kept <name>" names the part that is the file from before.
 *
 * States of a blob:
 *
 *     1 on trial   not merged with others on trial, not sent to other machines
 *     2 proven     as if it had been compiled here
 *
 *     pulled → 1             store_commit_unmerged of a store with `pulled`
 *     merged, saved → 1      the saved blob holds one on trial: store_write_noted
 *     1 → 2                  a process that has used it ends: store_prove; or was killed, but not
 *                            by it: marker_judge
 *     1 → put away           it has killed: trial_end, which brings back the file from before
 *
 * Failures are ignored, except trial_begin's: what cannot be marked must not be written. */
#ifndef WARMPIPE_BLOBS_TRIAL_H
#define WARMPIPE_BLOBS_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/files/names.h"

#define TRIAL_SUFFIX ".trial"

/* Digits of a payload's name; a line is one byte longer. */
#define TRIAL_PAYLOAD_DIGITS 64

struct trial {
    struct bytes payloads; /* lines */
    char kept[NAMES_SIZE]; /* "": none */
};

void trial_free(struct trial *trial);

/* Adds the lines that are not there yet; of `kept` the first stays, and none comes without lines.
 */
void trial_unite(struct trial *trial, const struct trial *other);

/* Writes the mark. directory_fd, name: the program's folder, and the folder of markers in it, which
 * is made. Other than STATUS_ok: why the mark cannot be written, as a save says it. */
enum status trial_begin(int directory_fd, const char *name, uint64_t generation,
                        const struct trial *trial);

/* Reads the mark. STATUS_ok: this generation is on trial. *ret_trial is freed with trial_free, and
 * empty otherwise. no_file: there is no mark, or what is there is none. Another reason (no
 * descriptors, no memory, a failing disk): it cannot be told now. */
enum status trial_find(int directory_fd, const char *name, uint64_t generation,
                       struct trial *ret_trial);

/* Removes the mark. gone NULL: the blob is proven, and the file from before is removed. Otherwise
 * the cache file of this generation, with the name `gone`, was put away: the file from before takes
 * its place. */
void trial_end(int directory_fd, const char *name, uint64_t generation, const char *gone);

/* The file of this generation is gone: removes the mark alone. folder_fd: of the markers. */
void trial_remove(int directory_fd, const char *name, uint64_t generation);
void trial_forget(int folder_fd, uint64_t generation);

/* Whether the mark was just written, so that its file may not exist yet: a part is written without
 * the lock. folder_fd: of the markers. */
bool trial_is_new(int folder_fd, uint64_t generation);

/* Appends "pulled: <payload>" for each, to a note for people. */
void trial_put_note(const struct trial *trial, struct bytes *note);
#define TRIAL_NOTE "pulled: "

#endif
