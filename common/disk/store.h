/* The store: one program's folder, seen by one device. Loads and commits the driver's blob.
 *
 * Calling sequence (one store belongs to one injector, which calls from one thread at a time):
 *
 *     store_open                            nothing is made on disk
 *     store_load → blob, or a reason        takes this process's marker if there is a blob
 *     store_survived                        drops the marker: the driver has lived with the blob
 *     store_begin → blobs that we lack      takes the lock
 *     store_commit or store_abort           drops it
 *     store_close
 *
 * What breaks us: a fork between begin and commit (the child must not touch the store: every
 * function compares getpid with that of store_open and answers `forked` in a child, which may only
 * store_close). Two stores of one identity in one process are fine. On a file system without flock
 * there are no markers, and two saves at one moment may lose one of them. Nothing here logs, and
 * nothing calls Vulkan. */
#ifndef WARMPIPE_DISK_STORE_H
#define WARMPIPE_DISK_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/result.h"
#include "driver/identity.h"

struct store;

struct store_options {
    const char *root;      /* absolute path of the caches' root */
    const char *app;       /* folder name, from paths_app_name */
    uint64_t max_blob;     /* bytes; larger blobs are neither loaded nor saved (too_large) */
    unsigned lock_wait_ms; /* longest wait for another process's commit; 0: 200 */
    bool read_only;        /* never write: no markers, no locks, commits answer read_only */
};

/* Cache data as it came from disk, validated. Freed with store_blob_free. */
struct store_blob {
    uint8_t *memory; /* the whole file */
    const uint8_t *data;
    size_t size;
    struct digest digest; /* of the data */
};

/* Frees the memory and zeroes the struct. */
void store_blob_free(struct store_blob *blob);

/* Strings and identity are copied. NULL: out of memory. Touches no file. */
struct store *store_open(const struct store_options *options,
                         const struct driver_identity *identity);

/* Drops markers and a lock that still stand, and frees; NULL is a no-op. */
void store_close(struct store *store);

/* Reads and validates the blob of this identity. REASON_ok: *ret_blob is the caller's, the marker
 * stands (unless read_only, or the disk takes none). Otherwise why there is none; `suspect` and
 * `quarantined` are told here. A file that is `suspect` is left alone by this store for good: it is
 * neither loaded nor merged nor overwritten, saves become parts. */
enum reason store_load(struct store *store, struct store_blob *ret_blob);

/* Whether a process has died while it loaded what store_load has given, though not twice in a row.
 */
bool store_is_on_probation(const struct store *store);

/* The driver has survived what store_load or store_begin gave it: removes the markers, and takes
 * back the strikes that they saw. Idempotent. */
void store_survived(struct store *store);

/* What a commit has to take up besides the caller's own data. */
struct store_foreign {
    struct store_blob *blobs; /* each validated; count may be 0 */
    size_t count;
};

/* Begins a commit: makes the directory if need be, takes the lock within a bounded time, and gives
 * every blob on disk that this store has neither loaded nor written (the file if its generation is
 * not the known one, parts of other processes); their markers stand meanwhile. At most
 * max_blob bytes of them and 16 at once; what is left over is for the next commit. Damaged ones are
 * passed over, and replaced or removed by the commit. After a commit with foreign blobs the file
 * holds more than the caller's own cache, so the next store_begin gives it as a foreign one.
 * REASON_ok: exactly one of store_commit and store_abort must follow; the blobs stay the store's
 * until then. `locked`, `suspect`: use store_commit_unmerged instead. */
enum reason store_begin(struct store *store, struct store_foreign *ret_foreign);

/* Replaces the file by this data, whole or not at all; parts taken up are removed. Whatever the
 * result, the lock is dropped, and the foreign blobs count as survived. The data must start with
 * this driver's cache header (bad_blob_header). too_large: nothing is written; if this store had
 * loaded the file, it has outgrown its limit and is removed with what was taken up, so that the
 * next start begins with nothing but what it uses. */
enum reason store_commit(struct store *store, const void *data, size_t size);

/* Ends a commit without writing. The foreign blobs count as survived only if store_survived was
 * called before. No-op where none was begun. */
void store_abort(struct store *store);

/* Saves without a merge and without waiting, for moments when Vulkan may no longer be called or the
 * lock is not to be had: in place of the file if the lock is free and the file still has the known
 * generation (or there is no usable one), else as a part beside it that the next commit takes up.
 * A store has one part; each such save replaces it. too_many_parts: nothing is written. */
enum reason store_commit_unmerged(struct store *store, const void *data, size_t size);

/* Whether this store's last save lies in a part and not in the file. */
bool store_has_part(const struct store *store);

/* Absolute path of the blob's file, for messages. Lives as long as the store. */
const char *store_path(const struct store *store);

#endif
