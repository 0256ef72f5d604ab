// SPDX-License-Identifier: Apache-2.0
/* The store: one program's folder, as one device sees it. Loads and commits the driver's blob.
 *
 * Calling sequence (one store belongs to one device cache, which calls from one thread at a time):
 *
 *     store_open                           touches no file
 *     store_load → blob, or a reason       sets this process's marker if there is a blob (marker.h)
 *     store_guard → raise, call, lower     around each driver call that uses it
 *     store_begin → blobs that we lack     takes the lock
 *     store_merging, store_merged          around the driver calls that use those
 *     store_commit, store_end_outgrown
 *       or store_abort                     releases the lock
 *     store_close                          removes the marker
 *
 * What breaks us: a fork between begin and commit (the child must not touch the store: every
 * function compares getpid with that of store_open and returns `forked` in a child, which may only
 * call store_close). Two stores of one identity in one process are fine. On a file system without
 * flock there are no markers, and of two saves at the same time one may be lost. Nothing here logs,
 * and nothing calls Vulkan. */
#ifndef WARMPIPE_BLOBS_STORE_H
#define WARMPIPE_BLOBS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/blobs/crash_page.h"
#include "common/driver/identity.h"

struct store;

struct store_options {
    const char *root;      /* absolute path of the caches' root */
    const char *app;       /* folder name, from names_app_folder */
    uint64_t max_blob;     /* bytes; larger blobs are neither loaded nor saved (too_large) */
    unsigned lock_wait_ms; /* longest wait for another process's commit; 0: 200 */
    bool read_only;        /* never write: no markers, no locks, commits answer read_only */
    const char *pulled;    /* SHA-256 in hex of what it saves, which came from another machine and
                              is on trial (trial.h); NULL: it was made here */
};

/* Cache data from disk, validated. Free with store_blob_free. */
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

/* Releases markers and lock if there are any, and frees; NULL is a no-op. */
void store_close(struct store *store);

/* Reads and validates the blob of this identity: the file, or where there is none the largest part
 * (not one on trial). STATUS_ok: *ret_blob belongs to the caller and the marker is set (unless
 * read_only, or the disk takes none). Otherwise the reason why there is no blob, among them
 * `suspect` (it has failed once) and `quarantined`. This store leaves a suspect file alone for
 * good: it neither loads nor merges nor overwrites it, and its saves become parts. */
enum status store_load(struct store *store, struct store_blob *ret_blob);

/* Whether, at the load, parts lay beside the file that may be merged with it, and no store_begin
 * has looked at them since. */
bool store_has_others(const struct store *store);

/* Reads the file once more, for a comparison. There is no marker, so the driver must not get it.
 * no_file: the file is not the one that this store has loaded or written. */
enum status store_load_again(struct store *store, struct store_blob *ret_blob);

/* Notes on disk that there is no blob for this identity: an empty file <identity>.wanted, for a
 * process that pulls blobs and knows no driver. Call it after store_load gave no_file. Makes the
 * directory if needed; failures are ignored. */
void store_want(const struct store *store);

/* As unfinished_is and unfinished_set (blobs/identity_files.h), for this identity. Writes no note
 * if nothing may be written. */
bool store_is_unfinished(const struct store *store);
void store_set_unfinished(const struct store *store, bool is_unfinished);

/* Whether a process has died of the blob that store_load has returned: a start has skipped it
 * since, and this one tries it again. */
bool store_failed_once(const struct store *store);

/* The driver no longer uses the loaded blob: removes its marker, which uses the disk. store_close
 * does it, too. */
void store_unload(struct store *store);

/* Whether this start goes without a blob that has failed once, and its marker says so. Then call
 * store_live when the start has gone on for CRASH_LIFE_NS: from then on a death says nothing about
 * the blob. store_live is thread-safe, and otherwise does nothing. */
bool store_goes_without(const struct store *store);
void store_live(struct store *store);

/* The guard of the loaded blob. Every call that gives the driver bytes of the blob raises it
 * (crash_page.h). It lives as long as the store, and does nothing while there is no marker. */
struct crash_guard *store_guard(struct store *store);

/* Whether the load's marker is, or has, a plain record; then call store_return when the first
 * creation has returned. */
bool store_has_record(const struct store *store);
void store_return(struct store *store);

/* The driver no longer uses the blobs of store_load and store_begin, or has refused them: removes
 * their markers. Known deaths that these have disproved are forgotten. Idempotent. */
void store_survived(struct store *store);

/* The process ends in order, while other threads may still use the guard. */
void store_leave(struct store *store);

/* Bracket the driver calls that use the blobs of store_begin; on one thread. */
void store_merging(struct store *store);
void store_merged(struct store *store);

/* What a commit must contain besides the caller's own data. */
struct store_foreign {
    struct store_blob *blobs; /* each validated; count may be 0 */
    size_t count;
    bool is_file; /* it is the file alone: there is no part to take up or remove */
};

/* Begins a commit: makes the directory if needed, takes the lock within a bounded time, and returns
 * every blob on disk that this store has neither loaded nor written (the file, if its generation is
 * not the known one, and parts of other processes), with their markers set. At most 16 blobs; a
 * part only if it and the blobs before it have max_blob bytes at most together. The rest is left
 * for the next commit, and so is what is on trial while the file is. Damaged files are skipped, and
 * replaced or removed by the commit. After a commit with foreign blobs the file contains more than
 * the caller's own cache, so the next store_begin returns it as a foreign blob. STATUS_ok: exactly
 * one of store_commit, store_end_outgrown and store_abort must follow; until then the blobs belong
 * to the store. `locked`, `suspect` (also of a file on trial that this store has not loaded, and of
 * one that cannot be read for want of memory or descriptors): use store_commit_unmerged instead. */
enum status store_begin(struct store *store, struct store_foreign *ret_foreign);

/* Replaces the file by this data, as a whole or not at all, and removes the merged parts. Whatever
 * the result, the lock is released. The data must start with this driver's cache header
 * (bad_blob_header). too_large: nothing is written. */
enum status store_commit(struct store *store, const void *data, size_t size);

/* Ends a commit whose data is larger than the limit.
 *
 * merged true: only the merged data is too large. The merged parts are removed, and the file stays,
 * so that the next commit holds the caller's own data alone; returns whether there were parts.
 *
 * merged false: the file that this store has loaded or saved is removed, with the parts, if no
 * other was saved meanwhile, so that the next start keeps only what it uses. This happens at most
 * once a week, and not in the first week (by the time of the lock file): a program that needs more
 * than the limit would otherwise be cold in every other start. */
bool store_end_outgrown(struct store *store, bool merged);

/* Ends a commit without writing. Without store_begin a no-op. */
void store_abort(struct store *store);

/* Saves without a merge and without waiting, for moments when Vulkan may no longer be called or
 * others hold the lock. Replaces the file if the lock is free and the file still has the known
 * generation (or cannot be used); otherwise writes a part beside it, which the next commit merges.
 * A store has one part; each such save replaces it. too_many_parts: there are PARTS_MAX; or there
 * are two or more, and all of them, if each had the size of this one, would exceed what one blob
 * may be. Nothing is written then. */
enum status store_commit_unmerged(struct store *store, const void *data, size_t size);

/* Whether this store's last save is in a part and not in the file. */
bool store_has_part(const struct store *store);

/* Whether store_unload has anything to do. */
bool store_has_loaded(const struct store *store);

/* The caller no longer has the data that it loaded or wrote: the next store_begin returns the file
 * as a foreign blob. */
void store_forget(struct store *store);

/* Absolute path of the cache file, for messages. Lives as long as the store. */
const char *store_path(const struct store *store);

#endif
