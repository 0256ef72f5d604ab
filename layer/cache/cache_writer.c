// SPDX-License-Identifier: Apache-2.0
#include "layer/cache/cache_writer.h"

#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "layer/worker/driver_gate.h"
#include "layer/worker/maintenance.h"
#include "layer/worker/own_thread.h"
#include "layer/worker/sandbox.h"
#include "layer/worker/worker.h"

/* Longest wait of the first load for a step that is under way. */
#define STEP_WAIT_NS (2 * CLOCK_S)

/* No snapshot at the end of the process if the last one took longer. */
#define EXIT_LOOK_NS (100 * CLOCK_MS)

/* Where a thread of the program takes the snapshots, they take one part in so many of its time. */
#define LOOK_HERE_FACTOR 50

void cache_writer_init(struct cache_writer *writer, const struct cache_setup *setup,
                       const struct policy *policy, const struct driver_caches *caches,
                       struct device_report *report)
{
    const struct config *config = setup->config;
    *writer = (struct cache_writer){
        .setup = setup,
        .policy = policy,
        .caches = caches,
        .report = report,
        .max_blob = policy->max_blob < config->max_size ? policy->max_blob : config->max_size,
    };
    const struct store_options options = {
        .root = config->root,
        .app = setup->app,
        .max_blob = writer->max_blob,
        .read_only = config->read_only,
    };
    writer->store = policy->persist ? store_open(&options, report->identity) : NULL;
    writer->saves = writer->store && !config->read_only;
    cache_schedule_init(&writer->schedule, config->flush_idle_ms);
    writer->unguarded = *caches;
    writer->unguarded.guard = NULL;
    cache_collection_init(&writer->collection, &writer->unguarded, setup->stats,
                          policy->persist && !policy->single_cache && !caches->allocator);
    call_costs_init(&writer->costs, writer->store ? config->root : NULL, setup->app,
                    identity_digest(report->identity), !config->read_only);
    pthread_mutex_init(&writer->lock, NULL);
}

void cache_writer_release(struct cache_writer *writer)
{
    if (!sandbox_is_closed()) {
        store_close(writer->store);
    }
    free(writer->snapshot);
    cache_collection_release(&writer->collection);
    call_costs_release(&writer->costs);
    pthread_mutex_destroy(&writer->lock);
}

/* What was collected may be saved before the first load. In a forked child the holder of the lock
 * may be gone. */
enum status cache_writer_load(struct cache_writer *writer, struct store_blob *ret_blob)
{
    if (!timed_lock(&writer->lock, STEP_WAIT_NS)) {
        return STATUS_locked;
    }
    const enum status reason = store_load(writer->store, ret_blob);
    if (reason == STATUS_no_file) {
        store_want(writer->store);
    }
    pthread_mutex_unlock(&writer->lock);
    return reason;
}

void cache_writer_set_loaded(struct cache_writer *writer, const struct store_blob *blob)
{
    pthread_mutex_lock(&writer->lock);
    writer->seen = blob->digest;
    writer->seen_size = blob->size;
    pthread_mutex_unlock(&writer->lock);
    cache_schedule_set_loaded(&writer->schedule, blob->size);
}

/* All that was read is in the file, or was there before. What is in a part is not loaded until
 * another save has taken that up: until then it is not known as saved. */
static void cache_writer_tell_listener(struct cache_writer *writer, enum status reason)
{
    if (reason == STATUS_ok && writer->listener.saved && !atomic_load(&writer->schedule.pending) &&
        !store_has_part(writer->store)) {
        writer->listener.saved(writer->listener.user);
    }
}

/* Looking at the caches. */

/* Takes the lock. *ret_pending: bytes of the snapshot. `ineffective`: after several ordinary
 * compiles, and at the end after one, the driver gives no more than a header. `driver_refused`:
 * tried again. */
static enum status cache_writer_snapshot(struct cache_writer *writer, VkPipelineCache device_cache,
                                         VkPipelineCache collected, bool at_end,
                                         size_t *ret_pending)
{
    pthread_mutex_lock(&writer->lock);
    const struct cache_schedule_mark mark = cache_schedule_begin_look(&writer->schedule);
    const enum status reason = cache_writer_look(writer, device_cache, collected, at_end);
    if (reason != STATUS_driver_refused) {
        writer->seen_missed = mark.missed;
    }
    cache_schedule_end_look(&writer->schedule, &mark, reason == STATUS_driver_refused);
    *ret_pending = writer->snapshot ? atomic_load(&writer->schedule.pending_size) : 0;
    pthread_mutex_unlock(&writer->lock);
    if (reason != STATUS_ok) {
        device_report_not_saved(writer->report, reason, store_path(writer->store));
    }
    return reason;
}

/* What the program has spent in creations that no look has seen. */
static uint64_t cache_writer_unseen_ns(const struct cache_writer *writer)
{
    return atomic_load(&writer->schedule.busy_ns) - atomic_load(&writer->schedule.looked_busy_ns);
}

static enum status cache_writer_look_at_all(struct cache_writer *writer,
                                            VkPipelineCache device_cache, bool at_end)
{
    const uint64_t start_ns = clock_now_ns();
    if (writer->listener.looking) {
        writer->listener.looking(writer->listener.user);
    }
    struct call_costs *costs = &writer->costs;
    const bool merges =
        at_end ? call_costs_allow_at_end(costs, SLOW_MERGE, cache_writer_unseen_ns(writer))
               : call_costs_allow(costs, SLOW_MERGE);
    VkPipelineCache collected = VK_NULL_HANDLE;
    if (merges) {
        call_costs_begin(costs, SLOW_MERGE);
        collected = cache_collection_pin(&writer->collection);
    }
    const enum slow_call kind = collected != VK_NULL_HANDLE ? SLOW_MERGE : SLOW_READ;
    if (kind == SLOW_READ) {
        call_costs_begin(costs, SLOW_READ);
    }
    size_t pending = 0;
    const enum status reason =
        cache_writer_snapshot(writer, device_cache, collected, at_end, &pending);
    if (collected != VK_NULL_HANDLE) {
        cache_collection_unpin(&writer->collection);
    }
    call_costs_end(costs, kind);
    trace_cache(writer->setup->trace, "snapshot", start_ns, pending, reason);
    if (reason == STATUS_ok && pending > 0) {
        log_debug("device %u: took a snapshot", writer->setup->device_index);
    }
    return reason;
}

/* The way to disk. Under the lock, but for the last two. */

/* The snapshot becomes one that holds the blobs of other processes as well. */
static bool cache_writer_merge(struct cache_writer *writer, const struct store_foreign *foreign)
{
    uint8_t *data = NULL;
    size_t size = 0;
    const bool done =
        driver_cache_merge_blobs(writer->caches, foreign->blobs, foreign->count, writer->snapshot,
                                 atomic_load(&writer->schedule.pending_size), &data, &size);
    if (done) {
        cache_writer_set_snapshot(writer, data, size);
    }
    return done;
}

static enum status cache_writer_commit_unmerged(struct cache_writer *writer)
{
    return store_commit_unmerged(writer->store, writer->snapshot,
                                 atomic_load(&writer->schedule.pending_size));
}

/* Merges with what other processes saved, under the store's lock file. Where the driver must not
 * have a second cache object nothing can be merged, and the data of the last process to save stay;
 * so they do where a merge would take longer than the end of a device may. */
static enum cache_commit_way cache_writer_choose_way(struct cache_writer *writer, bool is_worker)
{
    struct call_costs *costs = &writer->costs;
    const uint64_t compiled_ns =
        atomic_load(&writer->schedule.busy_ns) - atomic_load(&writer->schedule.committed_busy_ns);
    if (writer->commit.foreign.count == 0 || writer->policy->single_cache ||
        !call_costs_allow_at_end(costs, SLOW_MERGE, CALL_END_NS)) {
        return COMMIT_WHOLE;
    }
    if (is_worker ? !call_costs_allow(costs, SLOW_MERGE)
                  : !call_costs_allow_at_end(costs, SLOW_MERGE, compiled_ns)) {
        return COMMIT_PART_INSTEAD;
    }
    if (is_worker && !worker_enter_driver()) {
        return COMMIT_PART_INSTEAD;
    }
    call_costs_begin(costs, SLOW_MERGE);
    store_merging(writer->store);
    const bool merged = cache_writer_merge(writer, &writer->commit.foreign);
    store_merged(writer->store);
    call_costs_end(costs, SLOW_MERGE);
    if (is_worker) {
        worker_leave_driver();
    }
    return merged ? COMMIT_WHOLE : COMMIT_NOTHING;
}

/* The steps of a commit that use the disk. */

static void cache_writer_begin_commit(void *user)
{
    struct cache_writer *writer = user;
    writer->commit.reason = store_begin(writer->store, &writer->commit.foreign);
}

static void cache_writer_write_commit(void *user)
{
    struct cache_writer *writer = user;
    const size_t size = atomic_load(&writer->schedule.pending_size);
    enum status *reason = &writer->commit.reason;
    switch (writer->commit.way) {
    case COMMIT_WHOLE:
        *reason = store_commit(writer->store, writer->snapshot, size);
        break;
    case COMMIT_PART_INSTEAD:
        store_abort(writer->store);
        *reason = cache_writer_commit_unmerged(writer);
        break;
    case COMMIT_PART:
        *reason = cache_writer_commit_unmerged(writer);
        break;
    case COMMIT_NOTHING:
        store_abort(writer->store);
        *reason = STATUS_driver_refused;
        break;
    }
}

/* The worker waits for the disk however long, the end of a device does not. False: it has not
 * answered. */
static bool cache_writer_use_disk(struct cache_writer *writer, bool is_worker,
                                  void (*step)(void *user))
{
    if (is_worker) {
        step(writer);
    }
    return is_worker || worker_do(step, writer);
}

/* Without a snapshot the caches have outgrown the limit: the store drops the file, so that the next
 * start begins with nothing but what it uses. False: the disk has not answered. */
static bool cache_writer_commit_pending(struct cache_writer *writer, bool is_worker,
                                        enum status *ret_reason)
{
    if (!cache_writer_use_disk(writer, is_worker, cache_writer_begin_commit)) {
        return false;
    }
    const enum status begun = writer->commit.reason;
    const bool is_barred = begun == STATUS_locked || begun == STATUS_suspect;
    if (begun == STATUS_ok) {
        writer->commit.way =
            writer->snapshot ? cache_writer_choose_way(writer, is_worker) : COMMIT_WHOLE;
    } else if (writer->snapshot && is_barred) {
        writer->commit.way = COMMIT_PART;
    } else {
        *ret_reason = writer->snapshot ? begun : STATUS_too_large;
        return true;
    }
    const bool answered = cache_writer_use_disk(writer, is_worker, cache_writer_write_commit);
    *ret_reason = answered ? writer->commit.reason : STATUS_io_error;
    return answered;
}

/* Whether a save that failed may succeed now. */
static bool cache_writer_has_made_room(const struct cache_writer *writer, enum status reason)
{
    return reason == STATUS_disk_full && writer->listener.disk_full &&
           writer->listener.disk_full(writer->listener.user);
}

/* A save that failed is tried again when the caches are looked at next, at the end of the device if
 * not before. */
static size_t cache_writer_end_commit(struct cache_writer *writer, enum status reason)
{
    size_t saved = 0;
    if (reason == STATUS_ok) {
        saved = atomic_load(&writer->schedule.pending_size);
    } else if (reason != STATUS_too_large) {
        writer->seen_size = 0;
        atomic_fetch_add(&writer->schedule.touched, 1);
    }
    cache_writer_set_snapshot(writer, NULL, 0);
    return saved;
}

static void cache_writer_report_commit(struct cache_writer *writer, uint64_t start_ns,
                                       enum status reason, size_t saved)
{
    if (saved > 0 || reason != STATUS_ok) {
        trace_cache(writer->setup->trace, "save", start_ns, saved, reason);
    }
    if (reason != STATUS_ok) {
        device_report_not_saved(writer->report, reason, store_path(writer->store));
    } else if (saved > 0) {
        device_report_saved(writer->report, saved, store_has_part(writer->store),
                            store_path(writer->store));
    }
}

/* Takes the lock. Brings what is pending to disk, together with what other processes have saved
 * meanwhile; the worker only with the gate's leave to call the driver. *ret_saved: bytes written;
 * 0: nothing was pending. On failure the snapshot is dropped, and the next one tried. False, with
 * the lock held for good: the disk has not answered, and may be using the writer. */
static bool cache_writer_commit(struct cache_writer *writer, bool is_worker,
                                enum status *ret_reason, size_t *ret_saved)
{
    enum status reason = STATUS_ok;
    size_t saved = 0;
    pthread_mutex_lock(&writer->lock);
    const uint64_t start_ns = clock_now_ns();
    const uint64_t busy_ns = atomic_load(&writer->schedule.busy_ns);
    if (atomic_load(&writer->schedule.pending)) {
        if (!cache_writer_commit_pending(writer, is_worker, &reason) ||
            (cache_writer_has_made_room(writer, reason) &&
             !cache_writer_commit_pending(writer, is_worker, &reason))) {
            return false;
        }
        saved = cache_writer_end_commit(writer, reason);
        cache_schedule_committed(&writer->schedule, start_ns, busy_ns);
    }
    pthread_mutex_unlock(&writer->lock);
    cache_writer_report_commit(writer, start_ns, reason, saved);
    if (saved > 0) {
        /* A file that replaces another takes as many bytes more as it is larger. */
        const size_t before = writer->last_saved;
        writer->last_saved = saved;
        maintenance_wrote(writer->setup->maintenance, saved > before ? saved - before : 0);
    }
    *ret_reason = reason;
    *ret_saved = saved;
    return true;
}

bool cache_writer_survived(struct cache_writer *writer, uint64_t wait_ns)
{
    if (sandbox_is_closed() || !timed_lock(&writer->lock, wait_ns)) {
        return false;
    }
    store_survived(writer->store);
    pthread_mutex_unlock(&writer->lock);
    return true;
}

/* Steps by the worker, by the program's threads where the worker may not call the driver, and at
 * the ends of device and process. */

static bool cache_writer_worker_may_look(const struct cache_writer *writer)
{
    return !driver_permit_is_withdrawn(writer->setup->permit);
}

/* Whether a snapshot by a thread of the program stays within a fiftieth of the time that it has
 * spent in creations. Not while the last one waits for the disk, and not of a driver whose cache
 * users must be one at a time. */
static bool cache_writer_may_look_here(const struct cache_writer *writer)
{
    const uint64_t cost_ns = atomic_load(&writer->schedule.look_cost_ns);
    const uint64_t spent_ns = stats_get(writer->setup->stats, STATS_pipelines_create_ns) -
                              atomic_load(&writer->looked_at_ns);
    return writer->saves && !writer->caches->serialize &&
           cache_schedule_is_touched(&writer->schedule) &&
           !atomic_load(&writer->schedule.pending) && spent_ns >= LOOK_HERE_FACTOR * cost_ns;
}

/* The first time from disk. */
static bool cache_writer_reads_fast(struct cache_writer *writer)
{
    call_costs_recall(&writer->costs);
    return call_costs_allow(&writer->costs, SLOW_READ);
}

/* Looks at the device cache alone: the program's own might be changed or destroyed meanwhile, and
 * are read at the end of the device. Nobody waits for this thread, which may be in a callback of
 * the program's. */
bool cache_writer_look_here(struct cache_writer *writer, VkPipelineCache device_cache)
{
    if (cache_writer_worker_may_look(writer) || !cache_writer_may_look_here(writer) ||
        !cache_writer_reads_fast(writer) || atomic_exchange(&writer->looking, true)) {
        return false;
    }
    size_t pending = 0;
    call_costs_begin(&writer->costs, SLOW_READ);
    cache_writer_snapshot(writer, device_cache, VK_NULL_HANDLE, false, &pending);
    call_costs_end(&writer->costs, SLOW_READ);
    atomic_store(&writer->looked_at_ns, stats_get(writer->setup->stats, STATS_pipelines_create_ns));
    atomic_store(&writer->looking, false);
    return true;
}

static uint64_t cache_writer_save_due(struct cache_writer *writer, uint64_t now_ns,
                                      enum cache_schedule_step *ret_step)
{
    const bool may_look =
        cache_writer_worker_may_look(writer) && call_costs_allow(&writer->costs, SLOW_READ);
    return writer->saves ? cache_schedule_due(&writer->schedule, now_ns, may_look, ret_step)
                         : CACHE_SCHEDULE_NEVER;
}

uint64_t cache_writer_due(struct cache_writer *writer, uint64_t now_ns)
{
    enum cache_schedule_step step;
    if (atomic_load(&writer->collection.is_due)) {
        return now_ns;
    }
    const uint64_t save = cache_writer_save_due(writer, now_ns, &step);
    /* A save tells the statistics as well. */
    return save != CACHE_SCHEDULE_NEVER ? save : device_report_due(writer->report);
}

static void cache_writer_work_commit(struct cache_writer *writer)
{
    enum status reason = STATUS_ok;
    size_t saved = 0;
    cache_writer_commit(writer, true, &reason, &saved);
    /* A part of ours is only ever replaced as a whole, so that what is in it must be kept. */
    if (saved > 0 && !store_has_part(writer->store) &&
        cache_collection_saved(&writer->collection)) {
        if (cache_collection_has_queued(&writer->collection)) {
            /* There is room again, for another save. */
            cache_schedule_note(&writer->schedule, DEVICE_CACHE_COMPILED, 1, 0);
        }
        pthread_mutex_lock(&writer->lock);
        store_forget(writer->store);
        pthread_mutex_unlock(&writer->lock);
    }
    maintenance_start(writer->setup->maintenance);
    device_report_count(writer->report);
    device_report_write(writer->report, "flush");
    cache_writer_tell_listener(writer, reason);
}

static void cache_writer_collect(struct cache_writer *writer)
{
    if (atomic_exchange(&writer->collection.is_due, false) &&
        call_costs_allow(&writer->costs, SLOW_MERGE) && worker_enter_driver()) {
        call_costs_begin(&writer->costs, SLOW_MERGE);
        cache_collection_collect(&writer->collection);
        call_costs_end(&writer->costs, SLOW_MERGE);
        worker_leave_driver();
    }
}

void cache_writer_work(struct cache_writer *writer, VkPipelineCache device_cache)
{
    call_costs_recall(&writer->costs);
    cache_writer_collect(writer);
    enum cache_schedule_step step;
    const uint64_t now_ns = clock_now_ns();
    const uint64_t save = cache_writer_save_due(writer, now_ns, &step);
    if (save == CACHE_SCHEDULE_NEVER && device_report_due(writer->report) <= now_ns) {
        device_report_write(writer->report, "flush");
    }
    if (save > now_ns) {
        return;
    }
    if (step == CACHE_SCHEDULE_COMMIT) {
        cache_writer_work_commit(writer);
    } else if (worker_enter_driver()) {
        const enum status reason = cache_writer_look_at_all(writer, device_cache, false);
        worker_leave_driver();
        cache_writer_tell_listener(writer, reason);
    }
}

/* Only for drivers that a test has shown to answer at that time (driver/policy.c), and where
 * nobody can be waiting for us: a thread inside a creation may be the one that ends the process,
 * and a messenger's callback may take a lock of the program's. */
void cache_writer_look_last(struct cache_writer *writer, VkPipelineCache device_cache)
{
    if (writer->policy->snapshot_at_exit && writer->saves &&
        cache_schedule_is_touched(&writer->schedule) &&
        atomic_load(&writer->schedule.running) == 0 && cache_writer_worker_may_look(writer) &&
        atomic_load(&writer->schedule.last_look_ns) <= EXIT_LOOK_NS &&
        cache_writer_reads_fast(writer) && worker_enter_driver()) {
        cache_writer_look_at_all(writer, device_cache, true);
        worker_leave_driver();
    }
}

void cache_writer_write_last(struct cache_writer *writer)
{
    call_costs_note_under_way(&writer->costs);
    if (writer->saves) {
        enum status reason = STATUS_locked;
        size_t saved = 0;
        const uint64_t start_ns = clock_now_ns();
        if (timed_lock(&writer->lock, WAIT_FOREVER)) {
            reason = writer->snapshot ? cache_writer_commit_unmerged(writer) : STATUS_ok;
            if (cache_writer_has_made_room(writer, reason)) {
                reason = cache_writer_commit_unmerged(writer);
            }
            saved = writer->snapshot ? cache_writer_end_commit(writer, reason) : 0;
            store_leave(writer->store);
            pthread_mutex_unlock(&writer->lock);
        }
        cache_writer_report_commit(writer, start_ns, reason, saved);
        cache_writer_tell_listener(writer, reason);
    }
    device_report_end(writer->report, "exit");
}

/* The last look. `too_slow`: the driver is known to take longer for it than it may. */
static enum status cache_writer_look_finally(struct cache_writer *writer,
                                             VkPipelineCache device_cache)
{
    if (!cache_schedule_is_touched(&writer->schedule) && atomic_load(&writer->looked_at_ns) == 0) {
        return STATUS_ok;
    }
    call_costs_recall(&writer->costs);
    if (!call_costs_allow_at_end(&writer->costs, SLOW_READ, cache_writer_unseen_ns(writer))) {
        device_report_not_saved(writer->report, STATUS_too_slow, store_path(writer->store));
        return STATUS_too_slow;
    }
    return cache_writer_look_at_all(writer, device_cache, true);
}

static void cache_writer_report_end(void *user)
{
    device_report_end(((struct cache_writer *)user)->report, "destroy");
}

bool cache_writer_finish(struct cache_writer *writer, VkPipelineCache device_cache)
{
    atomic_store(&writer->collection.finishing, true);
    if (cache_collection_has_queued(&writer->collection)) {
        cache_schedule_note(&writer->schedule, DEVICE_CACHE_COMPILED, 1, 0);
    }
    bool answered = true;
    if (writer->saves && !sandbox_is_closed()) {
        enum status reason = STATUS_ok;
        size_t saved = 0;
        const enum status looked = cache_writer_look_finally(writer, device_cache);
        answered = cache_writer_commit(writer, false, &reason, &saved);
        if (answered) {
            cache_writer_tell_listener(writer, looked == STATUS_ok ? reason : looked);
        }
    }
    cache_collection_finish(&writer->collection);
    return answered && worker_do(cache_writer_report_end, writer);
}
