// SPDX-License-Identifier: Apache-2.0
/* The saves of one device's cache data: when the driver's caches are read (a *look*), what counts
 * as a change, the snapshot in memory, the write to disk, and the messages about it.
 *
 * States:
 *
 *     1 LOOKED   no creation has returned since the last look
 *     2 TOUCHED  a creation has returned since then, and may have changed a cache
 *     PENDING    beside either: a snapshot in memory is not on disk
 *
 *     arrow                                               function
 *     1 LOOKED ──a creation returns──▶ 2 TOUCHED          cache_schedule_note
 *     2 TOUCHED ──nothing new, or not to be saved──▶ 1    cache_writer_snapshot
 *     2 TOUCHED ──new data──▶ 1, PENDING                  cache_writer_snapshot; a later snapshot
 *                                                         replaces one that waits
 *     2 TOUCHED ──read beside a step, or for the program──▶ 1, PENDING
 *                                                         cache_writer_take_handed
 *     2 TOUCHED ──the driver failed──▶ 2                  cache_writer_snapshot, tried again later
 *     PENDING ──written, or given up──▶ not pending       cache_writer_commit; with file I/O alone
 *                                                         at the end of a process:
 *                                                         cache_writer_write_last
 *
 * cache_schedule.h says when a look or a write is due.
 *
 * Only the caches decide what is saved (cache_writer_look): feedback and time only bring a look
 * forward. A cache of the same size as at the last look has not changed, unless the driver says
 * that it compiled. A cache with the same content in another order has not changed either.
 *
 * The program's threads call cache_schedule_begin, _note and _end, which never wait. The other
 * functions of a step take the cache writer's lock, which is held across our own calls to the
 * driver and to the disk. A thread that creates pipelines waits for it in the first load alone
 * (CACHE_STEP_WAIT_NS). In cache_writer_look_here it only tries the lock, and holds it over a read
 * of the driver. */
#ifndef WARMPIPE_LAYER_CACHE_CACHE_WRITER_H
#define WARMPIPE_LAYER_CACHE_CACHE_WRITER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/blobs/store.h"
#include "common/driver/policy.h"
#include "common/settings/config.h"
#include "layer/cache/cache_collection.h"
#include "layer/cache/cache_schedule.h"
#include "layer/cache/driver_cache.h"
#include "layer/trace/device_report.h"
#include "layer/trace/stats.h"
#include "layer/worker/call_costs.h"

struct driver_permit;
struct maintenance;

/* What the caches need of one device. Everything is borrowed and outlives them. */
struct cache_setup {
    VkDevice device;
    const device_table *table;
    const struct config *config;
    const char *app; /* the program's folder */
    struct driver_permit *permit;
    struct stats *stats;
    struct trace *trace;             /* NULL: there is none */
    struct maintenance *maintenance; /* NULL: nothing is maintained */
    uint32_t device_index;           /* counts the devices of this process */
    bool device_group;               /* more than one physical device: no cache is kept */
};

/* Callbacks about saves, so that what is learnt of the program is kept together with them. All are
 * set, or none. Called without a lock unless noted, by the worker or by the thread that ends the
 * device or the process; none may use the driver.
 *   - `looking`: the caches are about to be read, perhaps within worker_enter_driver. It must
 *     not wait.
 *   - `saved`: everything that was read is on disk. It may use the disk.
 *   - `disk_full`: called under the cache writer's lock. It returns true if it has made room,
 *     so that a save may succeed now.
 */
struct cache_listener {
    void (*looking)(void *user);
    void (*saved)(void *user);
    bool (*disk_full)(void *user);
    void *user;
};

/* What a commit does with a snapshot. */
enum cache_commit_way {
    COMMIT_WHOLE, /* it replaces the file */
    COMMIT_SAME,  /* the file, which another process wrote, already holds all of it */
    COMMIT_PART, /* it is written beside the file, for the next save to merge: the file is not ours,
                    or the driver cannot be called now */
    COMMIT_NOTHING /* the driver has refused */
};

/* On whose behalf a commit is made. */
enum cache_commit_by {
    COMMIT_BY_WORKER,
    COMMIT_BY_END, /* the end of the device, which waits for the disk as long as it has patience */
    COMMIT_BEHIND  /* an end that has waited in vain: the device is gone, and with it the driver */
};

struct cache_writer {
    const struct cache_setup *setup;
    const struct policy *policy;
    const struct driver_caches *caches;
    struct device_report *report;
    struct cache_listener listener;
    struct cache_schedule schedule;
    struct driver_caches unguarded; /* for caches that hold nothing of the blob */
    struct cache_collection collection;
    struct call_costs costs;
    struct store *store; /* NULL: nothing is read or written */
    bool saves;          /* compiled pipelines are to be saved */
    uint64_t max_blob;   /* bytes; larger data is not read */

    pthread_mutex_t lock; /* over the steps and the rest */
    uint8_t *snapshot;    /* not on disk; NULL: none */
    struct digest seen;   /* of the data last read or loaded */
    size_t seen_size;     /* 0: none */
    size_t loaded_size;   /* until the driver was asked whether it takes its data; 0: nothing */
    uint64_t seen_missed; /* `missed` at the last look */
    bool is_outgrown;     /* the caches are larger than max_blob */
    bool is_futile;       /* the driver takes nothing of the data that it gives */
    bool is_refused;      /* the driver refused the loaded data; set before the data is forgotten */
    struct {              /* a commit under way */
        struct store_foreign foreign;
        enum cache_commit_way way;
        enum status reason;
        bool has_room; /* room was made on a full disk */
        bool gave_way; /* parts were dropped, since they were too large together with our data */
    } commit;
    struct { /* data that a look has read, to be compared with the file */
        uint8_t *data;
        size_t size;
        bool has_missed; /* by feedback a pipeline was compiled since all data was last compared */
        bool has_hinted; /* likewise, or may have been */
        bool is_late;    /* the data already is the snapshot, and is compared before a save */
        bool may_unite;  /* whether the file's data may become the snapshot as well, ... */
        bool unites;     /* ... and has: merged with what lies beside the file, or not saved */
        enum status reason; /* of reading the file */
        struct store_blob file;
    } fresh;

    _Atomic(struct cache_handed *) handed; /* read by the program beside a step; NULL: none */

    bool has_farewell; /* cache_writer_release has something left to do */
    bool is_abandoned; /* set by the thread that ends the device or process: the disk has not
                          answered. The disk's thread has the writer, whose lock stays taken, for
                          good */

    atomic_bool looking;           /* a thread of the program is reading the device cache */
    _Atomic uint64_t looked_at_ns; /* STATS_pipelines_create_ns at the last such read */
    _Atomic uint64_t looks_ns;     /* duration of all such reads */

    size_t last_saved; /* bytes of this device's last save; used by the saving thread */
};

/* Touches no file yet. All arguments are borrowed and outlive the writer; the policy is final. */
void cache_writer_init(struct cache_writer *writer, const struct cache_setup *setup,
                       const struct policy *policy, const struct driver_caches *caches,
                       struct device_report *report);

/* Does what cache_writer_end has left to do, closes the store, and frees. */
void cache_writer_release(struct cache_writer *writer);

/* The longest wait of the first load for a step that is under way. */
#define CACHE_STEP_WAIT_NS (2 * CLOCK_S)

/* store_load, while no step is under way; `locked`: a step was, for all of 2 s. */
enum status cache_writer_load(struct cache_writer *writer, struct store_blob *ret_blob);

/* Notes what was loaded from disk: equal data needs no save. True: something lies beside the file
 * that is to be merged; wake the worker. */
bool cache_writer_set_loaded(struct cache_writer *writer, const struct store_blob *blob);

/* Tells the store what became of the loaded data, for its marker: `tell` is store_survived or
 * store_return. False: a step was under way for all of wait_ns; try again later. */
bool cache_writer_tell_store(struct cache_writer *writer, uint64_t wait_ns,
                             void (*tell)(struct store *store));

/* Takes a snapshot on a thread of the program, if our threads must not call the driver and it takes
 * little of that thread's time. Waits for no disk: if another step is under way, the data is handed
 * to the thread that takes the next one. True: wake the worker. In these functions device_cache is
 * VK_NULL_HANDLE while it is not loaded. */
bool cache_writer_look_here(struct cache_writer *writer, VkPipelineCache device_cache);

/* The same with data that was read for the program: copies and hands it over, if our threads must
 * not read the cache and no look has seen as much. mark: the counts from before the read. */
bool cache_writer_take_copy(struct cache_writer *writer, const void *data, size_t size,
                            const struct cache_schedule_mark *mark);

/* The worker's next step: when it is due, and doing it if it is due. */
uint64_t cache_writer_due(struct cache_writer *writer, uint64_t now_ns);
void cache_writer_work(struct cache_writer *writer, VkPipelineCache device_cache);

/* The process ends: _look_last takes a last snapshot, if the driver can still be called;
 * _write_last, in the library's destructor, writes what is left with file I/O alone. */
void cache_writer_look_last(struct cache_writer *writer, VkPipelineCache device_cache);
void cache_writer_write_last(struct cache_writer *writer);

/* Call them in vkDestroyDevice, when the worker is done with the writer. _finish saves new data.
 * _end, when the device cache is destroyed, finds out whether the disk is needed once more
 * (has_farewell), for statistics and for removing markers, which cache_writer_release does. False:
 * the disk has not answered (worker_do); the writer must never be freed. */
bool cache_writer_finish(struct cache_writer *writer, VkPipelineCache device_cache);
void cache_writer_end(struct cache_writer *writer);

/* Does what cache_writer_end has left to do, for a writer that is never released because the disk
 * has not answered another request of its device. */
void cache_writer_bid_farewell(struct cache_writer *writer);

/* Looks (cache_look.c), called by the cache writer alone. They take the lock. Results:
 * `ineffective`, if the driver returns only a header after several ordinary compiles, or at the end
 * after one, or takes nothing of its own data; `driver_refused`, `out_of_memory`: tried again;
 * `too_slow`: the driver is known to take longer than it may. */

/* Whether our threads may call the driver. */
bool cache_writer_worker_may_look(const struct cache_writer *writer);

/* Takes a snapshot of the device cache and of the collection. On the worker, or for the end of the
 * process: the caller has entered the driver, which is left before a disk is waited for. */
enum cache_look_by { LOOK_BY_WORKER, LOOK_AT_EXIT, LOOK_AT_END };
enum status cache_writer_look_at_all(struct cache_writer *writer, VkPipelineCache device_cache,
                                     enum cache_look_by by);

/* The last look, at the end of the device, if anything has changed since the one before. */
enum status cache_writer_look_finally(struct cache_writer *writer, VkPipelineCache device_cache);

/* For a thread of the program, which uses no disk; call both under the lock. _look_at_device: a
 * look at the device cache alone, which releases the lock. _take_read: the same with data that was
 * read before, which the writer takes over. mark: the counts from before. */
void cache_writer_look_at_device(struct cache_writer *writer, VkPipelineCache device_cache,
                                 const struct cache_schedule_mark *mark);
void cache_writer_take_read(struct cache_writer *writer, uint8_t *data, size_t size,
                            struct cache_schedule_mark mark);

/* Data that such threads have read beside a step (cache_look_here.c). _take takes the lock, and
 * makes the data the snapshot unless a later look has seen it (a thread with limited patience,
 * base/clock.h, may leave it). _drop frees what was never taken. */
void cache_writer_take_handed(struct cache_writer *writer);
void cache_writer_drop_handed(struct cache_writer *writer);

/* Commits (cache_commit.c), called by the cache writer and its looks alone.
 *
 * States:
 *
 *     1 BEGUN     store_begin has the lock file, and what other processes have saved
 *     2 CHOSEN    that is merged into the snapshot, or the snapshot is to become a part
 *     3 WRITTEN   or given up: store_commit, store_commit_unmerged, store_abort
 *
 *     arrow                              function
 *     ──▶ 1 BEGUN                        cache_writer_begin_commit, at the disk
 *     1 BEGUN ──the driver──▶ 2 CHOSEN   cache_writer_choose_way
 *     2 CHOSEN ──▶ 3 WRITTEN             cache_writer_write_commit, at the disk
 *     1 BEGUN ──nobody waits──▶ 3        cache_writer_carry_on, without the driver
 */

/* Takes the lock, and writes the pending snapshot to disk, merged with what other processes have
 * saved meanwhile; as a part if the driver cannot be called for that (the gate may not let the
 * worker in). *ret_saved: bytes of the snapshot that was saved; 0: none was pending, or it failed.
 * On failure the snapshot is dropped, and the next one tried. False, with the lock held for good:
 * the disk has not answered, and is_abandoned is set. */
bool cache_writer_commit(struct cache_writer *writer, enum cache_commit_by by,
                         enum status *ret_reason, size_t *ret_saved);

/* Under the lock: a step that uses the disk. The worker waits for it without bound, an end as long
 * as it has patience. False, with is_abandoned set: the step, and carry_on after it, own the writer
 * from now on (worker_do). */
bool cache_writer_use_disk(struct cache_writer *writer, bool is_worker, void (*step)(void *user),
                           void (*carry_on)(void *user));

/* Under the lock: replaces the snapshot by data that the writer takes over; NULL, 0: there is none;
 * NULL and a size: the snapshot would be too large. */
void cache_writer_set_snapshot(struct cache_writer *writer, uint8_t *data, size_t size);

/* The difference of two counts of bytes. */
static inline size_t cache_writer_difference(size_t one, size_t other)
{
    return one > other ? one - other : other - one;
}

/* Under the lock: reads the file again, and makes `fresh` the snapshot unless the file holds the
 * same. False, with is_abandoned set: the disk has not answered. */
bool cache_writer_judge(struct cache_writer *writer, bool is_worker);

/* The process ends: commits with file I/O alone, and ends the crash page. `locked`: a step is under
 * way, and this thread has no more patience. */
enum status cache_writer_commit_last(struct cache_writer *writer);

#endif
