/* The saves of one device's cache data: when the next step is due, the snapshot in memory, the way
 * to disk.
 *
 *     compiled ──50 ms quiet──▶ snapshot (from the driver) ──WARMPIPE_FLUSH_IDLE_MS quiet──▶ commit
 *
 * saver_begin, saver_end and saver_compiled are called by the program's threads and never wait. The
 * steps are called by one thread at a time or by several: they take the saver's lock, which is held
 * across our own calls to the driver and to the disk, and never by a thread that creates pipelines.
 */
#ifndef WARMPIPE_LAYER_SAVER_H
#define WARMPIPE_LAYER_SAVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/result.h"
#include "codec/digest.h"
#include "disk/store.h"
#include "driver_cache.h"

#define SAVER_NEVER UINT64_MAX

enum saver_step { SAVER_SNAPSHOT, SAVER_COMMIT };

struct saver {
    const struct driver_caches *caches;
    bool may_merge; /* the driver may have a second cache object */
    uint64_t flush_idle_ns;

    /* written by the program's threads */
    atomic_uint running;              /* creations under way */
    _Atomic uint64_t compiled;        /* counts what may have changed the caches */
    _Atomic uint64_t last_compile_ns; /* monotonic, as all times here */
    _Atomic uint64_t first_unsaved_ns;

    pthread_mutex_t lock; /* over all below */
    struct store *store;  /* owned */
    uint8_t *snapshot;    /* not on disk yet; NULL: none */
    size_t snapshot_size;
    _Atomic uint64_t taken;            /* `compiled` when the last snapshot was taken */
    atomic_bool pending;               /* there is a snapshot that is not on disk */
    _Atomic uint64_t first_pending_ns; /* when the first of what it holds was compiled */
    _Atomic uint64_t last_step_ns;
    _Atomic uint64_t last_cost_ns; /* how long the last snapshot or commit took */
    struct digest known_digest;    /* of the data on disk, as far as we know it; size 0: none */
    size_t known_size;
};

/* `store` is owned from now on, and may be NULL: then no step is taken. `caches` is borrowed. */
void saver_init(struct saver *saver, const struct driver_caches *caches, struct store *store,
                bool may_merge, uint32_t flush_idle_ms);

/* Closes the store and frees what is held. */
void saver_release(struct saver *saver);

/* What was loaded from disk: data that equals it needs no save. */
void saver_set_known(struct saver *saver, struct digest digest, size_t size);

/* A creation begins, and has returned. */
void saver_begin(struct saver *saver);
void saver_end(struct saver *saver);

/* That creation may have changed the hot cache, or one that is harvested. */
void saver_compiled(struct saver *saver, uint64_t now_ns);

/* When the next step is due, or SAVER_NEVER; *ret_step says which. */
uint64_t saver_due(const struct saver *saver, uint64_t now_ns, enum saver_step *ret_step);

/* Bytes of the snapshot that is not on disk; 0: there is none. */
size_t saver_pending(struct saver *saver);

/* Whether something was compiled that no snapshot holds. */
bool saver_is_dirty(const struct saver *saver);

/* Takes a snapshot: the hot cache's data as it is or, with harvested caches, merged into a fresh
 * one. `ineffective` where the driver gives no more than a header. A snapshot equal to what is on
 * disk is dropped. REASON_ok with nothing pending is possible. */
enum reason saver_snapshot(struct saver *saver, VkPipelineCache hot, uint32_t harvested_count,
                           const VkPipelineCache *harvested);

/* Brings the snapshot to disk, with what other processes have saved meanwhile; enter_driver, if not
 * NULL, is asked before the driver is called for a merge (leave_driver after it), and false makes
 * it a save without one. *ret_saved: bytes written, 0 if nothing was pending. On failure the
 * snapshot is dropped, and the next one tried. */
enum reason saver_commit(struct saver *saver, bool (*enter_driver)(void),
                         void (*leave_driver)(void), size_t *ret_saved);

/* Brings it to disk with file I/O alone, for the end of a process: waits two seconds at most for a
 * step that is under way. */
enum reason saver_commit_without_driver(struct saver *saver, size_t *ret_saved);

/* The driver has lived with what was loaded: drops the marker. Does not wait: false, try again
 * later, while a step is under way. */
bool saver_survived(struct saver *saver);

#endif
