// SPDX-License-Identifier: Apache-2.0
/* What a store remembers between its calls, and what its three files share: store.c opens, loads
 * and lets go of what is held, store_begin.c begins a save, store_commit.c writes. No other file
 * includes this one. */
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

    uint64_t known;   /* generation of the file that our data contains; 0: of none */
    bool holds_file;  /* it was loaded, merged or written: what is written next contains it */
    uint64_t merged;  /* generation of the file that this store has merged; our data may be less */
    uint64_t skipped; /* generation of the file that is suspect (identity_files_skip); 0: none */
    bool is_unreadable; /* the file was so when it was to be loaded: it may be replaced */
    bool lacks_memory;  /* for what was to be loaded: each start would save a part beside it */
    char loaded_part[PART_NAME_SIZE]; /* that was loaded in place of a file; "": none was */
    bool has_others;                  /* parts lay beside the file that was loaded */
    bool has_part;
    uint64_t part;       /* generation of that */
    uint64_t trying;     /* generation on trial that our data contains; 0: none */
    struct trial pulled; /* what else of other machines the next save holds */
    bool is_file_on_trial;
    struct trial file_trial;        /* between begin and commit */
    bool takes_file_trial;          /* what is written holds the file, and what that tries */
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

/* The whole of a file of this identity, judged by what is known of deaths and marked in `markers`
 * if a folder of markers is given. */
enum status store_read_blob(const struct store *store, struct marker_folder *folder,
                            int directory_fd, const char *name, struct loading_markers *markers,
                            struct found_blob *ret_found);
struct store_blob store_blob_of(const struct found_blob *found);

/* STATUS_ok, or why this store saves nothing. */
enum status store_may_save(const struct store *store);

/* Whether a file that could not be read may be readable at another time. */
bool store_may_read_later(enum status reason);

/* Whether a file that could not be read for this reason is of use to nobody, and may be replaced:
 * not one that could be read at another time, unless it could not when it was to be loaded. */
bool store_is_useless(const struct store *store, enum status reason);

/* Frees the blobs of store_begin. */
void store_free_foreign(struct store *store);

/* Lets go of what store_begin has taken: blobs, their markers, the lock. survived: the driver has
 * lived with those blobs. */
void store_end_commit(struct store *store, bool survived);

#endif
