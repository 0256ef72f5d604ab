// SPDX-License-Identifier: Apache-2.0
#include "layer/cache/cache_writer.h"

#include "common/base/bytes.h"
#include "common/base/clock.h"
#include "layer/worker/maintenance.h"
#include "layer/worker/own_wait.h"
#include "layer/worker/sandbox.h"
#include "layer/worker/worker.h"

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
                          policy->persist && !policy->single_cache);
    call_costs_init(&writer->costs, writer->store ? config->root : NULL, setup->app,
                    identity_digest(report->identity),
                    policy->count_costs && !policy->serialize, /* which waits for a lock of ours */
                    !config->read_only);
    pthread_mutex_init(&writer->lock, NULL);
}

/* What was collected may be saved before the first load. In a forked child the holder of the lock
 * may be gone. */
enum status cache_writer_load(struct cache_writer *writer, struct store_blob *ret_blob)
{
    if (!timed_lock(&writer->lock, CACHE_STEP_WAIT_NS)) {
        return STATUS_locked;
    }
    const enum status reason = store_load(writer->store, ret_blob);
    if (reason == STATUS_no_file) {
        store_want(writer->store);
    }
    pthread_mutex_unlock(&writer->lock);
    return reason;
}

bool cache_writer_set_loaded(struct cache_writer *writer, const struct store_blob *blob)
{
    bool has_others = false;
    if (timed_lock(&writer->lock, CACHE_STEP_WAIT_NS)) { /* else one save too many, or later */
        has_others = store_has_others(writer->store);
        writer->seen = blob->digest;
        writer->seen_size = writer->loaded_size = blob->size;
        pthread_mutex_unlock(&writer->lock);
    }
    cache_schedule_set_loaded(&writer->schedule, blob->size);
    if (has_others) { /* for a look */
        cache_schedule_note(&writer->schedule, DEVICE_CACHE_UNKNOWN, 0, 0);
    }
    return has_others;
}

/* All that was read is in the file, or was there before. What is in a part is not loaded until
 * another save has taken that up: until then it is not known as saved. Nor is anything where the
 * collection has lost something, or the last look has left something unread. */
static void cache_writer_tell_listener(struct cache_writer *writer, enum status reason)
{
    if (reason == STATUS_ok && writer->listener.saved && !atomic_load(&writer->schedule.pending) &&
        !store_has_part(writer->store) && !atomic_load(&writer->collection.has_lost) &&
        !atomic_load(&writer->collection.has_hidden)) {
        writer->listener.saved(writer->listener.user);
    }
}

bool cache_writer_tell_store(struct cache_writer *writer, uint64_t wait_ns,
                             void (*tell)(struct store *store))
{
    if (sandbox_is_closed() || !timed_lock(&writer->lock, wait_ns)) {
        return false;
    }
    tell(writer->store);
    pthread_mutex_unlock(&writer->lock);
    return true;
}

/* Steps by the worker, and at the ends of device and process. */

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
    if (atomic_load(&writer->collection.is_due) || atomic_load(&writer->costs.is_due) ||
        atomic_load(&writer->handed)) {
        return now_ns;
    }
    const uint64_t save = cache_writer_save_due(writer, now_ns, &step);
    /* A save tells the statistics as well. */
    return save != CACHE_SCHEDULE_NEVER ? save : device_report_due(writer->report);
}

/* As cache_collection_saved, unless the device is gone. */
static bool cache_writer_drop_saved(struct cache_writer *writer)
{
    const bool entered = worker_enter_driver();
    const bool dropped = entered && cache_collection_saved(&writer->collection);
    if (entered) {
        worker_leave_driver();
    }
    return dropped;
}

static void cache_writer_work_commit(struct cache_writer *writer)
{
    enum status reason = STATUS_ok;
    size_t saved = 0;
    cache_writer_commit(writer, COMMIT_BY_WORKER, &reason, &saved);
    /* A part of ours is only ever replaced as a whole, so that what is in it must be kept. */
    if (saved > 0 && !store_has_part(writer->store) && cache_writer_drop_saved(writer)) {
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
        call_costs_begin(&writer->costs, SLOW_MERGE, own_wait_timer_start());
        cache_collection_collect(&writer->collection);
        call_costs_end(&writer->costs, SLOW_MERGE);
        worker_leave_driver();
    }
}

void cache_writer_work(struct cache_writer *writer, VkPipelineCache device_cache)
{
    call_costs_keep(&writer->costs);
    call_costs_recall(&writer->costs);
    cache_writer_collect(writer);
    cache_writer_take_handed(writer);
    enum cache_schedule_step step;
    const uint64_t now_ns = clock_now_ns();
    const uint64_t save = cache_writer_save_due(writer, now_ns, &step);
    if (save == CACHE_SCHEDULE_NEVER && device_report_due(writer->report) <= now_ns) {
        device_report_write(writer->report, "flush");
    }
    if (save > now_ns) {
        return;
    }
    cache_schedule_know_machine(&writer->schedule);
    if (step == CACHE_SCHEDULE_COMMIT) {
        cache_writer_work_commit(writer);
    } else if (worker_enter_driver()) {
        const enum status reason = cache_writer_look_at_all(writer, device_cache, LOOK_BY_WORKER);
        cache_writer_tell_listener(writer, reason);
    }
}

void cache_writer_write_last(struct cache_writer *writer)
{
    call_costs_note_under_way(&writer->costs);
    call_costs_keep(&writer->costs);
    if (writer->saves) {
        cache_writer_take_handed(writer);
        const enum status reason = cache_writer_commit_last(writer);
        cache_writer_tell_listener(writer, reason);
    }
    device_report_end(writer->report, "exit");
}

bool cache_writer_finish(struct cache_writer *writer, VkPipelineCache device_cache)
{
    atomic_store(&writer->collection.finishing, true);
    if (cache_collection_has_queued(&writer->collection)) {
        cache_schedule_note(&writer->schedule, DEVICE_CACHE_COMPILED, 1, 0);
    }
    if (writer->saves && !sandbox_is_closed()) {
        enum status reason = STATUS_ok, looked;
        size_t saved = 0;
        cache_writer_take_handed(writer);
        do { /* again without the parts that were too large with our own */
            looked = cache_writer_look_finally(writer, device_cache);
            if (writer->is_abandoned ||
                !cache_writer_commit(writer, COMMIT_BY_END, &reason, &saved)) {
                return false;
            }
        } while (reason == STATUS_too_large && writer->commit.gave_way);
        cache_writer_tell_listener(writer, looked == STATUS_ok ? reason : looked);
    }
    return true;
}

void cache_writer_end(struct cache_writer *writer)
{
    writer->has_farewell = atomic_load(&writer->costs.is_due) ||
                           (writer->store && store_has_loaded(writer->store)) ||
                           device_report_has_end(writer->report);
}

void cache_writer_bid_farewell(struct cache_writer *writer)
{
    const bool tells = writer->has_farewell && !sandbox_is_closed();
    writer->has_farewell = false;
    if (tells) {
        call_costs_keep(&writer->costs);
        if (writer->store) {
            store_unload(writer->store);
        }
        device_report_end(writer->report, "destroy");
    }
}

void cache_writer_release(struct cache_writer *writer)
{
    cache_writer_bid_farewell(writer);
    if (!sandbox_is_closed()) {
        store_close(writer->store);
    } else if (writer->store) {
        store_live(writer->store); /* no disk is needed to say that this start has lived */
    }
    large_free(writer->snapshot);
    cache_writer_drop_handed(writer);
    cache_collection_release(&writer->collection);
    call_costs_release(&writer->costs);
    pthread_mutex_destroy(&writer->lock);
}
