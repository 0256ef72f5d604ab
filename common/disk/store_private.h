/* What store.c and store_commit.c share. */
#ifndef WARMPIPE_DISK_STORE_PRIVATE_H
#define WARMPIPE_DISK_STORE_PRIVATE_H

#include <sys/types.h>

#include "envelope.h"
#include "marker.h"
#include "parts.h"
#include "store.h"

#define STORE_MAX_FOREIGN 16
#define STORE_NAME_SIZE   64

/* The markers that stand for one load, or for one merge. */
struct store_markers {
    bool struck; /* that of a blob with a strike is among them */
    size_t count;
    struct marker markers[STORE_MAX_FOREIGN];
};

struct store {
    pid_t process;
    bool read_only;
    uint64_t max_blob;
    unsigned lock_wait_ms;
    struct driver_identity identity;
    char *root;
    char *app;
    char *path;
    char *loading_path;
    char identity_hex[DIGEST_HEX_SIZE];
    char file_name[STORE_NAME_SIZE];
    char lock_name[STORE_NAME_SIZE];
    char loading_name[STORE_NAME_SIZE];
    char part_name[PARTS_NAME_SIZE]; /* of this store's own part */

    uint64_t known;   /* generation of the file that our data contains; 0: of none */
    uint64_t skipped; /* generation of the file that is under suspicion; 0: none */
    bool loaded;      /* our data began with a file's */
    bool has_part;
    struct store_markers loading; /* store_load's */
    struct store_markers merging; /* store_begin's */

    /* Between begin and commit; lock_fd is -1 outside. */
    int lock_fd;
    int directory_fd;
    size_t foreign_count;
    struct store_blob foreign[STORE_MAX_FOREIGN];
    struct parts taken; /* what the commit makes superfluous */
};

/* False in the child of a fork. */
bool store_is_ours(const struct store *store);

/* A file as store_read found it. */
struct store_found {
    struct store_blob blob; /* of REASON_ok alone */
    uint64_t generation;    /* 0: the header is not valid */
};

/* Reads, validates and judges one file, and adds a marker to `markers` if it may be loaded. folder
 * NULL: no markers (read_only). A condemned file is moved to quarantine/, under the lock (taken
 * here unless the store has it). */
enum reason store_read(struct store *store, struct marker_folder *folder, int directory_fd,
                       const char *name, struct store_markers *markers,
                       struct store_found *ret_found);

/* The lock of this identity in the program's folder, which is ours alone: a symbolic link in its
 * place, which would keep everybody from saving for ever, is removed. As file_lock. */
enum reason store_lock(const struct store *store, int directory_fd, unsigned wait_ms, int *ret_fd);

/* Removes the markers; survived: the driver has lived with their blobs. */
void store_drop_markers(const struct store *store, struct store_markers *markers, bool survived);

/* The header of a file that may be loaded, as far as that can be told without its blob. */
enum reason store_read_header(const struct store *store, int directory_fd, const char *name,
                              struct envelope *ret_envelope);

#endif
