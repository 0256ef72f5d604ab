// SPDX-License-Identifier: Apache-2.0
/* The state of a store, shared by its three files: store.c opens, loads and releases, store_begin.c
 * begins a save, store_commit.c writes. No other file includes this. */
#ifndef WARMPIPE_BLOBS_STORE_STATE_H
#define WARMPIPE_BLOBS_STORE_STATE_H

#include <sys/types.h>

#include "common/blobs/identity_files.h"
#include "common/blobs/store.h"
#include "common/blobs/trial.h"

struct store {
    pid_t process;
    bool read_only;
    unsigned lock_wait_ms;
    struct identity_files files;
    char part_name[PART_NAME_SIZE]; /* of this store's own part */

    uint64_t known;   /* generation of the file that our data contains; 0: none */
    bool holds_file;  /* the file was loaded, merged or written: the next write contains it */
    uint64_t merged;  /* generation of the file that this store has merged; our data may be less */
    uint64_t skipped; /* generation of the file that is suspect (identity_files_skip); 0: none */
    bool is_unreadable; /* the file could not be read at the load: it may be replaced */
    bool lacks_memory; /* memory lacked at the load: each start would save a part beside the file */
    char loaded_part[PART_NAME_SIZE]; /* the part loaded in place of a file; "": none */
    bool has_others;                  /* parts lay beside the loaded file */
    bool has_part;
    uint64_t part;       /* generation of that part */
    uint64_t trying;     /* generation on trial that our data contains; 0: none */
    struct trial pulled; /* what else from other machines the next save holds */
    bool is_file_on_trial;
    struct trial file_trial; /* between begin and commit */
    bool takes_file_trial;   /* the written data holds the file, and what is on trial in it */
    struct loading_markers loading; /* of store_load */
    struct loading_markers merging; /* of store_begin */

    /* Between begin and commit; lock_fd is -1 otherwise. */
    int lock_fd;
    int directory_fd;
    size_t foreign_count;
    struct store_blob foreign[MARKERS_MAX];
    struct crash_call merge_calls[MARKERS_MAX]; /* between store_merging and store_merged */
    struct parts taken;                         /* parts that the commit makes superfluous */
    uint64_t taken_generations[PARTS_MAX];      /* of these; 0: damaged */
};

/* False in the child of a fork. */
bool store_is_ours(const struct store *store);

/* The program's folder. *ret_fd: to be closed. */
enum status store_open_folder(const struct store *store, bool create, int *ret_fd);

/* Reads a whole file of this identity. If a folder of markers is given, judges it by the known
 * deaths, and sets its marker in `markers`. */
enum status store_read_blob(const struct store *store, struct marker_folder *folder,
                            int directory_fd, const char *name, struct loading_markers *markers,
                            struct found_blob *ret_found);
struct store_blob store_blob_of(const struct found_blob *found);

/* STATUS_ok, or why this store saves nothing. */
enum status store_may_save(const struct store *store);

/* Makes the program's folder, and opens it for a save. Fails as store_may_save does, and with
 * `quarantined` where no more blobs are saved. *ret_fd: to be closed. */
enum status store_open_to_save(const struct store *store, int *ret_fd);

/* Whether a file that could not be read may be readable at another time. */
bool store_may_read_later(enum status reason);

/* Whether a file that could not be read for this reason is useless and may be replaced. Not if it
 * could be read at another time, unless it could not be read at the load either. */
bool store_is_useless(const struct store *store, enum status reason);

/* Frees the blobs of store_begin. */
void store_free_foreign(struct store *store);

/* Releases what store_begin has taken: blobs, their markers, the lock. survived: the driver has
 * survived those blobs. */
void store_end_commit(struct store *store, bool survived);

#endif
