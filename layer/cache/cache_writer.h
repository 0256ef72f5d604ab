// SPDX-License-Identifier: Apache-2.0
/* The saves of one device's cache data: when the driver's caches are looked at, what counts as a
 * change, the snapshot in memory, the way to disk, and what is told of it.
 *
 *     1 LOOKED   no creation has returned since the last look
 *     2 TOUCHED  a creation may have changed a cache since
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
 * When a look is due (cache_schedule.c) depends on what creations cost and what the driver says of
 * them: after 50 ms without a compile (200 ms where one goes on), and under steady compiling as
 * often as a look takes no more than a hundredth of the time that the program spends in creations.
 * Likewise the way to disk, by the bytes to be written: WARMPIPE_FLUSH_IDLE_MS after the last
 * compile, or a fourth of that after the last write; and, however little was compiled, so long
 * after the first compile, and then at twice the age of the last write, unless creations have taken
 * less than forty times what that cost. Where they take longer than the process runs, since others
 * want the cores, all that is up to four times as much.
 *
 * What is saved is decided by the caches alone (cache_writer_look): creation feedback and time only
 * bring a look forward. A cache of the same size as at the last look has not changed, unless the
 * driver says that it compiled; neither has one with the same content in another order.
 *
 * cache_schedule_begin, _note and _end are called by the program's threads and never wait. The
 * other functions of a step take the cache writer's lock, which is held across our own calls to the
 * driver and to the disk, and never by a thread that creates pipelines. */
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
#include "layer/cache/driver_cache.h"
#include "layer/trace/device_report.h"
#include "layer/trace/stats.h"
#include "layer/worker/call_costs.h"

struct driver_permit;
struct maintenance;

/* One device, as its caches know it. Everything is borrowed and outlives them. */
struct cache_setup {
    VkDevice device;
    const device_table *table;
    const struct config *config;
    const char *app; /* the program's folder */
    struct driver_permit *permit;
    struct stats *stats;
    struct trace *trace;             /* NULL: there is none */
    struct maintenance *maintenance; /* NULL: nothing is looked after */
    uint32_t device_index;           /* counts the devices of this process */
    bool device_group;               /* more than one physical device: no cache is kept */
};

/* Who is told of saves, so that what is known of the program is kept along with them. `looking`:
 * the caches are about to be read, perhaps within worker_enter_driver: waits for nothing; `saved`:
 * all that was read is on disk. Called without a lock, by the worker or by the thread that ends the
 * device or the process; `saved` may use the disk, none the driver. `disk_full`: under the cache
 * writer's lock; true: it has made room, a save may succeed now. All are set, or none. */
struct cache_listener {
    void (*looking)(void *user);
    void (*saved)(void *user);
    bool (*disk_full)(void *user);
    void *user;
};

/* When to look, and when to write. */

#define CACHE_SCHEDULE_NEVER UINT64_MAX

/* What a look costs at least. */
#define CACHE_LOOK_LEAST_NS (CLOCK_MS / 5)

enum cache_schedule_step { CACHE_SCHEDULE_SNAPSHOT, CACHE_SCHEDULE_COMMIT };

/* What a creation has done to the device cache, or to one that is collected, as far as is known. */
enum device_cache_change {
    DEVICE_CACHE_UNCHANGED, /* hits, says the driver, or nothing that it keeps: looked at when the
                               device ends */
    DEVICE_CACHE_UNKNOWN,   /* no feedback, or a hit that took as long as a compile */
    DEVICE_CACHE_COMPILED   /* at least one pipeline was compiled, says the driver */
};

struct cache_schedule {
    uint64_t flush_idle_ns;

    /* written by the program's threads */
    atomic_uint running;            /* creations under way */
    _Atomic uint64_t touched;       /* counts creations that may have changed the caches */
    _Atomic uint64_t hinted;        /* those of them that are not UNCHANGED */
    _Atomic uint64_t missed;        /* those of which the driver says that it compiled */
    _Atomic uint64_t compiled;      /* counts ordinary pipelines that it has, or may have */
    _Atomic uint64_t last_hint_ns;  /* monotonic, as all times here */
    _Atomic uint64_t first_hint_ns; /* since the last look */
    _Atomic uint64_t begun_ns;      /* the first one of all; 0: there was none */
    _Atomic uint64_t busy_ns;       /* spent in creations, of all threads together, but of no more
                                     * at once than there are cores */

    /* written by the worker */
    atomic_uint cores;      /* 0: not asked yet */
    _Atomic uint64_t crowd; /* how much longer creations take than the process runs: 1 to 4 */
    uint64_t crowd_last;    /* of the worker alone: the last measurement, 0 to 4, … */
    uint64_t crowd_busy_ns; /* … and what it was made by */
    uint64_t crowd_ran_ns;

    /* written under the cache writer's lock; read without by cache_schedule_due */
    _Atomic uint64_t looked;        /* `touched` at the last look */
    _Atomic uint64_t looked_hinted; /* `hinted` likewise */
    _Atomic uint64_t looked_busy_ns;
    _Atomic uint64_t empty_until; /* an empty cache is not looked at before so many compiles */
    atomic_uint failures;         /* in a row */
    _Atomic uint64_t last_step_ns;
    _Atomic uint64_t last_cost_ns; /* how long the last snapshot or commit took */
    atomic_bool last_was_quiet;    /* and whether nothing had been compiled for a while before */
    _Atomic uint64_t look_cost_ns; /* what a look costs where nothing else is in its way */
    atomic_bool pending;           /* there is a snapshot that is not on disk, or one too large */
    _Atomic size_t pending_size;
    _Atomic uint64_t first_pending_ns; /* when the first of what it holds was compiled */
    _Atomic uint64_t last_commit_ns;
    _Atomic uint64_t paced_until_ns; /* no other in quiet before, unless creations pay for it */
    _Atomic uint64_t committed_busy_ns;
    _Atomic uint64_t commit_cost_ns; /* what the worker has run for its last commit */
    _Atomic uint64_t last_look_ns;   /* how long the last look took; 0: there was none */
    _Atomic uint64_t last_read_ns;   /* the last one that did not only ask for the size; likewise */
};

/* The counts from before a look, which cover what it has seen. */
struct cache_schedule_mark {
    struct own_wait_timer timer;
    uint64_t start_ns;
    bool is_quiet; /* when the look began */
    uint64_t touched;
    uint64_t hinted;
    uint64_t missed;
    uint64_t busy_ns;
};

void cache_schedule_init(struct cache_schedule *schedule, uint32_t flush_idle_ms);

/* A blob of so many bytes was loaded: its size is what is known of the cost of a look. */
void cache_schedule_set_loaded(struct cache_schedule *schedule, size_t size);

/* Before each look or save, by the worker: how many cores there are (files are read once), and how
 * crowded they are. */
void cache_schedule_know_machine(struct cache_schedule *schedule);

/* A creation of the program begins, and has returned. */
void cache_schedule_begin(struct cache_schedule *schedule);
void cache_schedule_end(struct cache_schedule *schedule);

/* What a creation, the program's or ours, may have done to the caches, in took_ns; of the
 * program's, before cache_schedule_end. `compiled` counts the ordinary pipelines that the driver
 * has compiled, or may have: those of which a cache takes something up. */
void cache_schedule_note(struct cache_schedule *schedule, enum device_cache_change change,
                         uint32_t compiled, uint64_t took_ns);

/* When the next step is due, or CACHE_SCHEDULE_NEVER; *ret_step says which. may_look false: no
 * snapshot. */
uint64_t cache_schedule_due(const struct cache_schedule *schedule, uint64_t now_ns, bool may_look,
                            enum cache_schedule_step *ret_step);

/* Whether there is anything that no look has seen, for the end of a device or process. */
bool cache_schedule_is_touched(const struct cache_schedule *schedule);

/* Whether something calls for another look. */
bool cache_schedule_is_hinted(const struct cache_schedule *schedule);

/* The counts, before anything is read. */
struct cache_schedule_mark cache_schedule_count(const struct cache_schedule *schedule);

/* Brackets a look. mark: the counts; timer: of the look, which costs nothing while it lacks a core.
 * failed: the driver has refused; has_read: it was asked for more than a size. */
void cache_schedule_begin_look(struct cache_schedule *schedule, struct cache_schedule_mark *mark,
                               const struct own_wait_timer *timer);
void cache_schedule_end_look(struct cache_schedule *schedule,
                             const struct cache_schedule_mark *mark, bool failed, bool has_read);

/* A read of the driver took so long, be it within a look or beside a step; needs no lock. */
void cache_schedule_note_read(struct cache_schedule *schedule, uint64_t took_ns);

/* Whether nothing has been compiled for a while: asked when a look or a save begins, since another
 * compile while it lasts is no reason for the next one to come at once. */
bool cache_schedule_is_quiet(const struct cache_schedule *schedule);

/* A commit has ended that began then, was_quiet or not, when busy_ns was so much; the worker has
 * run so long for it (0: it was not the worker). written: bytes, of what this process has compiled
 * (0: none, or it has failed). */
void cache_schedule_committed(struct cache_schedule *schedule, uint64_t start_ns, bool was_quiet,
                              uint64_t busy_ns, uint64_t cost_ns, size_t written);

/* The cache is empty: no look before twice as much was compiled. False: too little was compiled to
 * believe that it stays so. */
bool cache_schedule_note_empty(struct cache_schedule *schedule, bool at_end);

/* The writer. */

/* What becomes of a snapshot. */
enum cache_commit_way {
    COMMIT_WHOLE,  /* it replaces the file */
    COMMIT_SAME,   /* the file, which another process wrote, holds all of it */
    COMMIT_PART,   /* beside the file, for the next save to take up: the file is not ours, or the
                      driver cannot be called now */
    COMMIT_NOTHING /* the driver has refused */
};

/* On whose behalf a commit is made. */
enum cache_commit_by {
    COMMIT_BY_WORKER,
    COMMIT_BY_END, /* of the device, which waits for the disk as long as it has patience */
    COMMIT_BEHIND  /* that has waited for it in vain: the device is gone, and with it the driver */
};

struct cache_writer {
    const struct cache_setup *setup;
    const struct policy *policy;
    const struct driver_caches *caches;
    struct device_report *report;
    struct cache_listener listener;
    struct cache_schedule schedule;
    struct driver_caches unguarded; /* for what holds nothing of the blob */
    struct cache_collection collection;
    struct call_costs costs;
    struct store *store; /* NULL: nothing is read or written */
    bool saves;          /* what is compiled is to be saved */
    uint64_t max_blob;   /* bytes; larger data is not read */

    pthread_mutex_t lock; /* over the steps, and what follows */
    uint8_t *snapshot;    /* not on disk yet; NULL: none */
    struct digest seen;   /* of the data that was last read or loaded */
    size_t seen_size;     /* 0: none */
    uint64_t seen_missed; /* `missed` at the last look */
    bool is_outgrown;     /* the caches are larger than max_blob */
    bool is_refused;      /* the driver did not take what was loaded; set before it is forgotten */
    struct {              /* a commit that is under way */
        struct store_foreign foreign;
        enum cache_commit_way way;
        enum status reason;
        bool has_room; /* what a full disk lacked */
        bool gave_way; /* parts that were too large with our own */
    } commit;
    struct { /* data that a look has read, to be held against the file */
        uint8_t *data;
        size_t size;
        bool has_missed; /* the driver says that it has compiled, since all was last judged */
        bool has_hinted; /* so it has, or may have */
        bool is_late;   /* they are the snapshot already, and to be held against it before a save */
        bool may_unite; /* of that look: what the file holds may become the snapshot as well, ... */
        bool unites;    /* ... and is it: it is merged with what lies beside the file, or not
                         * saved */
        enum status reason; /* of reading the file */
        struct store_blob file;
    } fresh;

    _Atomic(struct cache_handed *) handed; /* what a thread of the program has read of the device
                                            * cache beside another step; NULL: nothing */

    bool has_farewell; /* cache_writer_end has left something to cache_writer_release */
    bool is_abandoned; /* of the thread that ends the device or process: the disk has not answered;
                        * it has the writer, whose lock stays taken, for good */

    atomic_bool looking;           /* a thread of the program reads the device cache */
    _Atomic uint64_t looked_at_ns; /* STATS_pipelines_create_ns when it last did */
    _Atomic uint64_t looks_ns;     /* what all of these have cost */

    size_t last_saved; /* bytes of this device's last save; of the thread that saves */
};

/* Touches no file yet. All is borrowed and outlives the writer; the policy is final. */
void cache_writer_init(struct cache_writer *writer, const struct cache_setup *setup,
                       const struct policy *policy, const struct driver_caches *caches,
                       struct device_report *report);

/* Does what cache_writer_end has left, closes the store and frees what is held. */
void cache_writer_release(struct cache_writer *writer);

/* Longest wait of the first load for a step that is under way. */
#define CACHE_STEP_WAIT_NS (2 * CLOCK_S)

/* store_load, while no step is under way; `locked`: one was for 2 s. */
enum status cache_writer_load(struct cache_writer *writer, struct store_blob *ret_blob);

/* What was loaded from disk: data that equals it needs no save. True: unless for what lies beside
 * it; the worker is to be woken. */
bool cache_writer_set_loaded(struct cache_writer *writer, const struct store_blob *blob);

/* What became of what was loaded, for its marker: store_survived, store_return. False: a step was
 * under way for all of wait_ns; try again later. */
bool cache_writer_tell_store(struct cache_writer *writer, uint64_t wait_ns,
                             void (*tell)(struct store *store));

/* Takes a snapshot on a thread of the program, where our threads must not call the driver and it
 * takes little of that thread's time; waits for no disk: beside another step what was read is
 * handed to who takes the next one. True: the worker is to be woken. In these functions
 * device_cache is VK_NULL_HANDLE as long as it is not loaded. */
bool cache_writer_look_here(struct cache_writer *writer, VkPipelineCache device_cache);

/* The same with what was read for the program: copied and handed over, where our threads must
 * not read it and no look has seen as much. mark: the counts from before it was read. */
bool cache_writer_take_copy(struct cache_writer *writer, const void *data, size_t size,
                            const struct cache_schedule_mark *mark);

/* The worker's next step: when, and doing it if it is due. */
uint64_t cache_writer_due(struct cache_writer *writer, uint64_t now_ns);
void cache_writer_work(struct cache_writer *writer, VkPipelineCache device_cache);

/* The process ends: takes a last snapshot of a driver that can still be called; then, in the
 * library's destructor, writes what is left with file I/O alone. */
void cache_writer_look_last(struct cache_writer *writer, VkPipelineCache device_cache);
void cache_writer_write_last(struct cache_writer *writer);

/* At vkDestroyDevice, when the worker is done with it: saves what is new; then, when the device
 * cache is destroyed, finds out whether the disk is needed once more (has_farewell): to write the
 * statistics and to take the markers away, which cache_writer_release does. False: the disk has not
 * answered (worker_do); the writer must never be freed. */
bool cache_writer_finish(struct cache_writer *writer, VkPipelineCache device_cache);
void cache_writer_end(struct cache_writer *writer);

/* Does what cache_writer_end has left, for a writer that is never released, since the disk has not
 * answered something else of its device. */
void cache_writer_bid_farewell(struct cache_writer *writer);

/* Looks (cache_look.c), which the cache writer alone calls. They take the lock. `ineffective`:
 * after several ordinary compiles, and at the end after one, the driver gives no more than a
 * header; `driver_refused`, `out_of_memory`: tried again; `too_slow`: the driver is known to take
 * longer than it may. */

/* Whether our threads may call the driver. */
bool cache_writer_worker_may_look(const struct cache_writer *writer);

/* Takes a snapshot of the device cache and of what is collected. By the worker, or for the end of
 * the process: the caller has entered the driver, which is left before a disk is waited for. */
enum cache_look_by { LOOK_BY_WORKER, LOOK_AT_EXIT, LOOK_AT_END };
enum status cache_writer_look_at_all(struct cache_writer *writer, VkPipelineCache device_cache,
                                     enum cache_look_by by);

/* The last one, at the end of the device, if anything has changed since the one before. */
enum status cache_writer_look_finally(struct cache_writer *writer, VkPipelineCache device_cache);

/* For a thread of the program, which uses no disk; both under the lock: a look at the device cache
 * alone, which releases the lock, and the same with data that were read before, which are the
 * writer's from now on. mark: the counts from before. */
void cache_writer_look_at_device(struct cache_writer *writer, VkPipelineCache device_cache,
                                 const struct cache_schedule_mark *mark);
void cache_writer_take_read(struct cache_writer *writer, uint8_t *data, size_t size,
                            struct cache_schedule_mark mark);

/* What such threads have read beside a step (cache_look_here.c): takes the lock, and makes it the
 * snapshot unless a later look has seen it (a thread with patience, base/clock.h, may leave
 * it); and frees what was never taken. */
void cache_writer_take_handed(struct cache_writer *writer);
void cache_writer_drop_handed(struct cache_writer *writer);

/* Commits (cache_commit.c), which the cache writer and its looks alone call:
 *
 *     1 BEGUN     store_begin has the lock file, and what other processes have saved
 *     2 CHOSEN    that is merged into the snapshot, or becomes a part's affair
 *     3 WRITTEN   or given up: store_commit, store_commit_unmerged, store_abort
 *
 *     arrow                              function
 *     ──▶ 1 BEGUN                        cache_writer_begin_commit, at the disk
 *     1 BEGUN ──the driver──▶ 2 CHOSEN   cache_writer_choose_way
 *     2 CHOSEN ──▶ 3 WRITTEN             cache_writer_write_commit, at the disk
 *     1 BEGUN ──nobody waits──▶ 3        cache_writer_carry_on, without the driver
 */

/* Takes the lock. Brings what is pending to disk, together with what other processes have saved
 * meanwhile; the worker only with the gate's leave to call the driver. *ret_saved: bytes that are
 * in it now; 0: nothing was pending. On failure the snapshot is dropped, and the next one tried.
 * False, with the lock held for good: the disk has not answered, and is_abandoned is set. */
bool cache_writer_commit(struct cache_writer *writer, enum cache_commit_by by,
                         enum status *ret_reason, size_t *ret_saved);

/* A step that uses the disk, under the lock: the worker waits for it however long, an end as long
 * as it has patience. False, with is_abandoned set: the step, and carry_on after it, have the
 * writer from now on (worker_do). */
bool cache_writer_use_disk(struct cache_writer *writer, bool is_worker, void (*step)(void *user),
                           void (*carry_on)(void *user));

/* Under the lock: replaces the snapshot by data that are the writer's from now on; NULL, 0: there
 * is none; NULL and a size: what would be one is too large. */
void cache_writer_set_snapshot(struct cache_writer *writer, uint8_t *data, size_t size);

/* By how much two counts of bytes differ. */
static inline size_t cache_writer_difference(size_t one, size_t other)
{
    return one > other ? one - other : other - one;
}

/* Under the lock: reads the file again, and makes `fresh` the snapshot unless the file holds the
 * same. False, with is_abandoned set: the disk has not answered. */
bool cache_writer_judge(struct cache_writer *writer, bool is_worker);

/* The process ends: the same with file I/O alone, and the crash page is left in order. `locked`: a
 * step is under way, and this thread has no more patience. */
enum status cache_writer_commit_last(struct cache_writer *writer);

#endif
