// SPDX-License-Identifier: Apache-2.0
/* The files of one identity (one driver and device) in a program's folder, one by one: the cache
 * file and its lock, and the parts beside it. The protocol over them is store.h.
 * Nothing here logs. Thread-safe. */
#ifndef WARMPIPE_BLOBS_IDENTITY_FILES_H
#define WARMPIPE_BLOBS_IDENTITY_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/blobs/envelope.h"
#include "common/blobs/marker.h"
#include "common/driver/identity.h"
#include "common/files/names.h"

struct identity_files {
    char *root;
    char *app;
    char *path;         /* absolute, of the cache file */
    char *loading_path; /* absolute, of the folder of loading markers */
    struct driver_identity identity;
    char identity_hex[DIGEST_HEX_SIZE];
    char file_name[NAMES_SIZE];
    char lock_name[NAMES_SIZE];
    char loading_name[NAMES_SIZE];
    uint64_t max_blob; /* bytes; larger blobs are not read (too_large) */
    bool is_pulled;    /* what is written came from another machine, and can be pulled again, so the
                          cache file is not synced: a program that waits for it does not wait for the
                          disk. A part is synced */
};

/* Copies everything; touches no file. False: memory is out. Free with identity_files_free. */
bool identity_files_init(struct identity_files *files, const char *root, const char *app,
                         const struct driver_identity *identity, uint64_t max_blob);
void identity_files_free(struct identity_files *files);

/* Takes the identity's lock, as file_lock. A symbolic link in place of the lock file, which would
 * prevent every save, is removed: the folder is ours alone. */
enum status identity_files_lock(const struct identity_files *files, int directory_fd,
                                unsigned wait_ms, int *ret_fd);

/* Reads the header of a cache file or a part, with every check that needs no blob, as
 * envelope_validate_header does. identity_files_read_header also refuses a blob that is too large
 * (too_large). */
enum status blob_read_header(int directory_fd, const char *name,
                             const struct driver_identity *expected, struct envelope *ret_envelope);
enum status identity_files_read_header(const struct identity_files *files, int directory_fd,
                                       const char *name, struct envelope *ret_envelope);

/* Replaces the cache file or a part by an envelope around `data`, with this generation, which is
 * new (unique_draw). A directory in place of the cache file is moved to quarantine/ first.
 * is_alone: no part holds what a first file might lose in a power cut (FILE_NAMED_FIRST). */
enum status identity_files_write(const struct identity_files *files, int directory_fd,
                                 const char *name, const void *data, size_t size,
                                 uint64_t generation, bool is_alone);

/* Markers that are set at the same time: those of one load, or of one merge. At most 16 blobs are
 * loaded at a time. */
#define MARKERS_MAX 16
struct loading_markers {
    bool failed_once; /* one of the blobs has failed once */
    size_t count;
    struct marker markers[MARKERS_MAX];
};

/* How a blob is judged by the markers found in the folder. */
struct blob_judge {
    struct marker_folder *folder;
    struct loading_markers *markers; /* the new marker is added here */
    bool failed_once;                /* a blob that has failed once is being loaded already */
    bool is_load;                    /* a start that skips the blob is to be compared */
    bool has_lock;                   /* the caller has the identity's lock */
    unsigned lock_wait_ms;
};

struct found_blob {
    uint8_t *memory; /* the whole file; only if the result is STATUS_ok, for large_free */
    struct envelope envelope;
    uint64_t generation; /* 0: the header is not valid */
};

/* Reads, validates and judges the cache file or a part (judge NULL: no judgement and no marker, for
 * a read-only cache). STATUS_ok: the driver may have the blob, and its marker is set. A blocked
 * file is moved to quarantine/, under the lock (taken here unless the caller has it):
 * `quarantined`. `suspect`: it has failed once, or another such blob is being loaded; blobs that
 * have failed once are loaded one at a time, so that a second death tells which of them it was. */
enum status identity_files_read(const struct identity_files *files, const struct blob_judge *judge,
                                int directory_fd, const char *name, struct found_blob *ret_found);

/* Parts: saves that could not replace the cache file, <identity>.<16 hex digits>.part beside it,
 * each a whole envelope. The next commit merges them. */

#define PART_NAME_SIZE (DIGEST_HEX_SIZE + UNIQUE_HEX_SIZE + sizeof PART_SUFFIX - 1)

/* The most parts that one identity may have; a further save is dropped (too_many_parts). */
#define PARTS_MAX 64

struct parts {
    size_t count;
    char names[PARTS_MAX][PART_NAME_SIZE];
};

/* The name of the part with this number. */
void parts_name(const char identity[DIGEST_HEX_SIZE], uint64_t number,
                char ret_name[PART_NAME_SIZE]);

/* Lists the parts of an identity, at most PARTS_MAX. sweeps: removes the temporary files of dead
 * processes from the directory on the way. False: the directory cannot be read to its end. */
bool parts_list(int directory_fd, const char identity[DIGEST_HEX_SIZE], bool sweeps,
                struct parts *ret_parts);

/* From now on no store of this process reads the file of this generation. *skips names the
 * generation that the caller skipped before (or 0), and is replaced; generation 0: none. So one
 * start skips a suspect blob on all of its devices. Thread-safe; if there are more than sixteen at
 * once, the seventeenth is skipped by its own store alone. */
void identity_files_skip(uint64_t *skips, uint64_t generation);

/* Whether any store of this process skips this generation. False in the child of a fork. */
bool identity_files_skips(uint64_t generation);

/* The cache files that this process has loaded or saved: its own quota never removes them. Kept
 * until the process ends, without locks and without allocated memory, so that a fork, an unloaded
 * library and a dying thread change nothing. */

/* At most 64 files; further ones are not remembered. */
void in_use_add(const char *path);

bool in_use_contains(const char *path);

/* The note that a process has begun to compile recipes for an identity (ahead of a program, or
 * `warmpipe warm`) and has not finished. What was saved until then is a cache like any other, but
 * not all of the recipes are in it. The note is in `<identity>.wanted` (docs/FORMAT.md), so it
 * survives any end of the process. The folder is the program's, opened by the caller. A failure
 * only loses the note. Nothing here logs. Thread-safe. */

/* Whether a process has begun and not finished. */
bool unfinished_is(int folder_fd, const char identity[DIGEST_HEX_SIZE]);

/* Before the first recipe (true), and after the last. */
void unfinished_set(int folder_fd, const char identity[DIGEST_HEX_SIZE], bool is_unfinished);

#endif
