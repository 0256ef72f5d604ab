// SPDX-License-Identifier: Apache-2.0
/* Loading markers: how the store learns that a blob kills the processes that load it.
 *
 * While a process hands a blob to the driver, the folder <identity>.loading holds one file of that
 * process alone, locked with flock(2). A marker that another process can lock belongs to a process
 * that died while loading. (Process ids cannot tell: containers have their own.)
 *
 * The states of one generation of a blob, and the function that performs each arrow:
 *
 *     1 clear        nothing in the folder is about this generation
 *     2 pending      a marker, locked by its living process
 *     3 dead         a marker, not locked: its process died
 *     4 failed once  a file <generation>.strike, made of a dead marker
 *     5 pending again, 6 dead again   as 2 and 3, with a marker that names the failure of 4
 *
 *     1 → 2   marker_take
 *     2 → 1   marker_drop
 *     2 → 3   the process dies
 *     3 → 4   marker_judge: FAILED_ONCE, the blob is skipped for this start
 *     4 → 5   marker_take
 *     5 → 1   marker_drop, survived
 *     5 → 4   marker_drop, not survived
 *     5 → 6   the process dies: the second time in a row
 *     6       marker_judge: BLOCKED, nothing is changed; the caller moves the blob to quarantine
 *     6 → 1   marker_forget
 *     4 → 4   marker_judge, which removes a dead marker that does not name this failure:
 * FAILED_ONCE any → 1 marker_sweep, where no file has this generation any more
 *
 * A marker names the failure that it saw when it was set, so many processes that die at the same
 * time are one failure, whoever finds them, in whatever order. No further lock is needed: a process
 * writes a marker only while it has it locked, and moves what it finds by rename. */
#ifndef WARMPIPE_BLOBS_MARKER_H
#define WARMPIPE_BLOBS_MARKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/files/file_owned.h"
#include "common/files/names.h"

/* The content of a marker, and of the .strike file made of it. */

#define MARKER_MAGIC_SIZE   8
#define MARKER_PROGRAM_SIZE 32
#define MARKER_RECORD_SIZE  (MARKER_MAGIC_SIZE + 4 * 8 + 4 + MARKER_PROGRAM_SIZE)

struct marker_record {
    uint64_t id;         /* names the marker; never 0 */
    uint64_t generation; /* of the blob that was being loaded */
    uint64_t failure;    /* id of the failure that its process saw; 0: none */
    uint64_t loaded_at;  /* seconds since the epoch; this and the rest is for people only */
    uint32_t process;
    char program[MARKER_PROGRAM_SIZE]; /* terminated, printable */
};

/* A record of this process, loading now. */
struct marker_record marker_record_of(uint64_t id, uint64_t generation, uint64_t failure);

/* Appends MARKER_RECORD_SIZE bytes. */
void marker_record_put(struct bytes *bytes, const struct marker_record *record);

/* False, with *ret_record untouched, for anything but one whole record. Thread-safe. */
bool marker_record_parse(const void *data, size_t size, struct marker_record *ret_record);

/* A folder and what was found in it, read once by marker_folder_open. */
#define MARKER_MAX_FOUND 64
struct marker_folder {
    int directory_fd; /* borrowed */
    const char *name; /* borrowed */
    int fd;           /* -1: there is no folder yet */
    size_t dead_count;
    struct marker_record dead[MARKER_MAX_FOUND]; /* of dead processes; the rest is left for later */
    size_t failure_count;
    uint64_t failures[MARKER_MAX_FOUND]; /* generations that have failed once */
};

/* Reads the folder `name` of the directory; a folder that does not exist or cannot be read counts
 * as empty. Both arguments must outlive *ret_folder. Call it before reading the blobs to be judged.
 */
void marker_folder_open(int directory_fd, const char *name, struct marker_folder *ret_folder);
void marker_folder_close(struct marker_folder *folder);

enum marker_verdict { MARKER_CLEAR, MARKER_FAILED_ONCE, MARKER_BLOCKED };

struct marker_history {
    uint64_t failure;           /* clear: id of the earlier failure, 0: none; for marker_take */
    struct marker_record first; /* blocked: the two processes that died */
    struct marker_record second;
};

/* Judges the blob of this generation, and turns a dead marker about it into a failure. clear: load
 * it. failed once: skip it for this start. blocked: move it to quarantine, then call marker_forget;
 * until then nothing is changed. */
enum marker_verdict marker_judge(const struct marker_folder *folder, uint64_t generation,
                                 struct marker_history *ret_history);

/* Removes everything that the folder says about a generation. */
void marker_forget(const struct marker_folder *folder, uint64_t generation);

/* Removes what the folder says about generations other than these, which are all that exist. */
void marker_sweep(const struct marker_folder *folder, const uint64_t *generations, size_t count);

/* A marker that this process has set. */
struct marker {
    struct file_kept file;
    uint64_t id;
    uint64_t generation;
    uint64_t failure;
};

/* Sets a marker. Call it before the driver sees a byte of the blob. False: no marker could be set
 * (a read-only disk, no space, no locks); the blob may be loaded without one. */
bool marker_take(struct marker_folder *folder, uint64_t generation, uint64_t failure,
                 struct marker *ret_marker);

/* Removes the marker; survived: also the failure that it saw, because this process has survived the
 * blob. folder_path is absolute, so that no directory stays open meanwhile. If the file cannot be
 * removed (in a sandbox), its content is erased instead. */
void marker_drop(struct marker *marker, const char *folder_path, bool survived);

#endif
