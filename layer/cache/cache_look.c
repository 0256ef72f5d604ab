// SPDX-License-Identifier: Apache-2.0
/* A look at the driver's caches: what is a change, and becomes the snapshot (docs/decisions/0085).
 */
#include <stdlib.h>

#include "common/base/bytes.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "layer/cache/cache_writer.h"
#include "layer/worker/driver_gate.h"
#include "layer/worker/own_wait.h"
#include "layer/worker/worker.h"

/* No snapshot at the end of the process if the last one took longer. */
#define EXIT_LOOK_NS (100 * CLOCK_MS)

/* Where a thread of the program takes the snapshots, they take one part in so many of its time. */
#define LOOK_HERE_FACTOR 50
#define FIRST_LOOK_NS    (CLOCK_MS / 50)

/* Looks of one call of the program's. */
#define LOOKS_HERE_MAX 2

/* Where earlier creations have left time for it, one part in so many of the last ones. */
#define LOOK_SOON_FACTOR 4

/* Order and padding change a blob's size by no more than this part of it. */
#define WANDERING_PART 16

/* One look. */
struct cache_look {
    bool at_end;
    bool is_here;        /* by a thread of the program, which uses no disk */
    bool in_driver;      /* the worker has entered it */
    bool has_pinned;     /* what was collected */
    bool has_taken;      /* that, too */
    bool is_partial;     /* what is collected may hold more */
    bool has_read;       /* not only the size */
    enum slow_call kind; /* what the driver is asked for */
    struct own_wait_timer timer;
    struct cache_schedule_mark mark;
};

/* What a thread of the program has read beside another step. */
struct cache_handed {
    uint8_t *data;
    size_t size;
    struct cache_schedule_mark mark; /* from before that */
};

/* Data that may not be saved: the store is told once. */
static void cache_writer_note_outgrown(struct cache_writer *writer, size_t size)
{
    if (!writer->is_outgrown && !writer->snapshot) {
        cache_writer_set_snapshot(writer, NULL, size);
    }
    writer->is_outgrown = true;
}

/* Nothing more is asked of the driver: what follows may wait for a disk, which nobody must take for
 * the driver, and beside which the device may go, with all that was collected. */
static void cache_writer_leave_driver(struct cache_writer *writer, struct cache_look *look)
{
    call_costs_end(&writer->costs, look->kind);
    if (look->has_pinned) {
        cache_collection_unpin(&writer->collection, look->has_taken);
        look->has_pinned = false;
    }
    if (look->in_driver) {
        worker_leave_driver();
        look->in_driver = false;
    }
}

/* Data as it came from the driver: becomes the snapshot if it is new. Reads the file again only
 * where it may hold the same. */
static void cache_writer_take(struct cache_writer *writer, uint8_t *data, size_t size,
                              const struct cache_look *look)
{
    const struct digest digest = digest_of(data, size);
    const size_t known_size = writer->seen_size;
    const size_t difference = size > known_size ? size - known_size : known_size - size;
    const bool is_known = size == known_size && digest_equal(digest, writer->seen);
    writer->seen = digest;
    writer->seen_size = size;
    if (is_known) {
        large_free(data);
        return;
    }
    if (look->is_here || difference > known_size / WANDERING_PART) {
        cache_writer_set_snapshot(writer, data, size);
        writer->fresh.is_late = difference <= known_size / WANDERING_PART;
    } else {
        writer->fresh.data = data;
        writer->fresh.size = size;
        if (!cache_writer_judge(writer, !look->at_end)) {
            return;
        }
    }
    if (!look->is_partial) {
        writer->fresh.has_missed = writer->fresh.has_hinted = false;
    }
}

/* The size decides without the data where it can: no pipeline in it, too large, or not changed. A
 * cache is empty only where all that could hold something was read. */
static bool cache_writer_is_decided(struct cache_writer *writer, size_t size,
                                    const struct cache_look *look, enum status *ret_reason)
{
    *ret_reason = STATUS_ok;
    if (size > writer->max_blob) {
        cache_writer_note_outgrown(writer, size);
    } else if (size <= DRIVER_CACHE_HEADER_SIZE && (look->is_here || !look->is_partial) &&
               cache_schedule_note_empty(&writer->schedule, look->at_end)) {
        *ret_reason = STATUS_ineffective;
    }
    return size > writer->max_blob || size <= DRIVER_CACHE_HEADER_SIZE;
}

/* Whether something calls for another look. */
static bool cache_writer_is_hinted(const struct cache_writer *writer)
{
    return atomic_load(&writer->schedule.hinted) != atomic_load(&writer->schedule.looked_hinted);
}

/* One look, under the lock: the device cache's data as it is or, with what was collected, both
 * merged; what is new becomes the snapshot. */
static enum status cache_writer_look(struct cache_writer *writer, VkPipelineCache device_cache,
                                     VkPipelineCache collected, struct cache_look *look)
{
    const bool has_missed = atomic_load(&writer->schedule.missed) != writer->seen_missed;
    const struct driver_caches *caches = writer->caches;
    writer->fresh.has_missed |= has_missed;
    writer->fresh.has_hinted |= cache_writer_is_hinted(writer);
    enum status reason;
    uint8_t *data = NULL;
    size_t size = 0;
    if (collected != VK_NULL_HANDLE) {
        look->has_read = true;
        if (!driver_cache_read_both(caches, device_cache, collected, &data, &size)) {
            return STATUS_driver_refused;
        }
    } else {
        if (device_cache == VK_NULL_HANDLE) {
            return STATUS_ok;
        }
        if (!driver_cache_query_size(caches, device_cache, &size)) {
            return STATUS_driver_refused;
        }
        if (cache_writer_is_decided(writer, size, look, &reason)) {
            return reason;
        }
        if (size == writer->seen_size && !has_missed) {
            return STATUS_ok;
        }
        look->has_read = true;
        if (!driver_cache_read(caches, device_cache, &data, &size)) {
            return STATUS_driver_refused;
        }
    }
    if (cache_writer_is_decided(writer, size, look, &reason)) {
        large_free(data);
        return reason;
    }
    writer->is_outgrown = false;
    look->has_taken = true;
    cache_writer_leave_driver(writer, look);
    cache_writer_take(writer, data, size, look);
    return STATUS_ok;
}

static void cache_handed_free(struct cache_handed *handed)
{
    if (handed) {
        large_free(handed->data);
        free(handed);
    }
}

/* Under the lock: what was handed over becomes the snapshot, unless a later look has seen it. */
static void cache_writer_take_what_is_handed(struct cache_writer *writer)
{
    struct cache_schedule *schedule = &writer->schedule;
    struct cache_handed *handed = atomic_exchange(&writer->handed, NULL);
    if (handed && handed->mark.touched > atomic_load(&schedule->looked)) {
        const struct cache_look look = {.is_here = true, .is_partial = true};
        const struct own_wait_timer timer = own_wait_timer_start();
        cache_schedule_begin_look(schedule, &handed->mark, &timer);
        writer->fresh.has_missed |= handed->mark.missed != writer->seen_missed;
        writer->fresh.has_hinted |= cache_writer_is_hinted(writer);
        writer->is_outgrown = false;
        cache_writer_take(writer, handed->data, handed->size, &look);
        handed->data = NULL;
        writer->seen_missed = handed->mark.missed;
        cache_schedule_end_look(schedule, &handed->mark, false, false);
    }
    cache_handed_free(handed);
}

void cache_writer_take_handed(struct cache_writer *writer)
{
    if (atomic_load(&writer->handed) && timed_lock(&writer->lock, WAIT_FOREVER)) {
        cache_writer_take_what_is_handed(writer);
        pthread_mutex_unlock(&writer->lock);
    }
}

void cache_writer_drop_handed(struct cache_writer *writer)
{
    cache_handed_free(atomic_exchange(&writer->handed, NULL));
}

/* Under the lock, which it releases unless the writer is abandoned. *ret_pending: bytes of the
 * snapshot. */
static enum status cache_writer_snapshot(struct cache_writer *writer, VkPipelineCache device_cache,
                                         VkPipelineCache collected, struct cache_look *look,
                                         size_t *ret_pending)
{
    cache_writer_take_what_is_handed(writer);
    cache_schedule_begin_look(&writer->schedule, &look->mark, &look->timer);
    const enum status reason = cache_writer_look(writer, device_cache, collected, look);
    cache_writer_leave_driver(writer, look);
    if (writer->is_abandoned) {
        *ret_pending = 0;
        return STATUS_io_error;
    }
    if (reason != STATUS_driver_refused) {
        writer->seen_missed = look->mark.missed;
    }
    cache_schedule_end_look(&writer->schedule, &look->mark, reason == STATUS_driver_refused,
                            look->has_read);
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

enum status cache_writer_look_at_all(struct cache_writer *writer, VkPipelineCache device_cache,
                                     enum cache_look_by by)
{
    const uint64_t start_ns = clock_now_ns();
    struct cache_look look = {.at_end = by != LOOK_BY_WORKER, .in_driver = by != LOOK_AT_END};
    struct cache_collection *collection = &writer->collection;
    const bool is_used = atomic_load(&collection->is_used);
    atomic_store(&collection->has_hidden, is_used); /* until it is read */
    if (writer->listener.looking) {
        writer->listener.looking(writer->listener.user);
    }
    struct call_costs *costs = &writer->costs;
    /* What the program compiles while its caches are read is for the next look. */
    look.mark = cache_schedule_count(&writer->schedule);
    VkPipelineCache collected = VK_NULL_HANDLE;
    enum collection_rest rest = is_used ? REST_HIDDEN : REST_NONE;
    if (is_used &&
        (look.at_end ? call_costs_allow_at_end(costs, SLOW_MERGE, cache_writer_unseen_ns(writer))
                     : call_costs_allow(costs, SLOW_MERGE))) {
        look.timer = call_costs_begin(costs, SLOW_MERGE);
        collected = cache_collection_pin(collection, &rest);
    }
    look.is_partial = rest != REST_NONE;
    look.has_pinned = collected != VK_NULL_HANDLE;
    look.kind = look.has_pinned ? SLOW_MERGE : SLOW_READ;
    if (look.kind == SLOW_READ) {
        look.timer = call_costs_begin(costs, SLOW_READ);
    }
    size_t pending = 0;
    pthread_mutex_lock(&writer->lock);
    const enum status reason =
        cache_writer_snapshot(writer, device_cache, collected, &look, &pending);
    if (reason != STATUS_driver_refused && !look.is_partial) {
        atomic_store(&collection->has_hidden, false);
    }
    if (rest == REST_NEXT && !cache_writer_is_hinted(writer)) {
        cache_schedule_note(&writer->schedule, DEVICE_CACHE_UNKNOWN, 0, 0); /* another look */
    }
    trace_cache(writer->setup->trace, "snapshot", start_ns, pending, reason);
    if (reason == STATUS_ok && pending > 0) {
        log_debug("device %u: took a snapshot", writer->setup->device_index);
    }
    return reason;
}

bool cache_writer_worker_may_look(const struct cache_writer *writer)
{
    return !driver_permit_is_withdrawn(writer->setup->permit);
}

/* What a snapshot is likely to cost a thread of the program: what the last one took, unless that
 * one has waited for a busy machine; the first one by the size of what was loaded. */
static uint64_t cache_writer_cost_here(const struct cache_writer *writer)
{
    const uint64_t usual_ns = atomic_load(&writer->schedule.look_cost_ns);
    const uint64_t last_ns = atomic_load(&writer->schedule.last_read_ns);
    if (last_ns == 0) {
        return usual_ns > CACHE_LOOK_LEAST_NS ? usual_ns : FIRST_LOOK_NS;
    }
    return last_ns < usual_ns ? last_ns : usual_ns;
}

/* Whether a snapshot by a thread of the program stays within a fiftieth of the time that it has
 * spent in creations: since the last one or, where a compile is new, in all. It replaces one that
 * waits for the disk, since nobody can look at the end of the process, and the compile may be the
 * program's last. Not of a driver whose cache users must be one at a time. */
static bool cache_writer_may_look_here(const struct cache_writer *writer)
{
    const struct cache_schedule *schedule = &writer->schedule;
    const uint64_t cost_ns = cache_writer_cost_here(writer);
    /* Before what it is part of: another thread may be looking. */
    const uint64_t looked_at_ns = atomic_load(&writer->looked_at_ns);
    const uint64_t all_ns = stats_get(writer->setup->stats, STATS_pipelines_create_ns);
    const uint64_t spent_ns = all_ns - looked_at_ns;
    const uint64_t looks_ns = atomic_load(&writer->looks_ns) + cost_ns;
    const bool is_hinted = cache_writer_is_hinted(writer);
    return writer->saves && !writer->caches->serialize && cache_schedule_is_touched(schedule) &&
           (spent_ns >= LOOK_HERE_FACTOR * cost_ns ||
            (is_hinted && spent_ns >= LOOK_SOON_FACTOR * cost_ns &&
             all_ns >= LOOK_HERE_FACTOR * looks_ns));
}

static void cache_writer_recall(void *user)
{
    call_costs_recall(&((struct cache_writer *)user)->costs);
}

/* What is known of the driver, the first time from disk. False: the disk has not answered. */
static bool cache_writer_recalls_at_end(struct cache_writer *writer)
{
    return call_costs_is_recalled(&writer->costs) ||
           cache_writer_use_disk(writer, false, cache_writer_recall, NULL);
}

/* Beside another step, which call_costs may be timing. False: the driver has refused, or there is
 * nothing that may be saved. */
static bool cache_writer_hand_over(struct cache_writer *writer, VkPipelineCache device_cache,
                                   const struct cache_schedule_mark *mark)
{
    struct cache_handed *handed = calloc(1, sizeof *handed);
    if (!handed) {
        return false;
    }
    const struct own_wait_timer timer = own_wait_timer_start();
    const bool has_read =
        driver_cache_query_size(writer->caches, device_cache, &handed->size) &&
        handed->size <= writer->max_blob &&
        driver_cache_read(writer->caches, device_cache, &handed->data, &handed->size);
    cache_schedule_note_read(&writer->schedule, own_wait_timer_elapsed(&timer));
    if (!has_read || handed->size > writer->max_blob || handed->size <= DRIVER_CACHE_HEADER_SIZE) {
        cache_handed_free(handed);
        return false;
    }
    handed->mark = *mark;
    cache_handed_free(atomic_exchange(&writer->handed, handed));
    return true;
}

/* Reads the device cache alone: the program's own might be changed or destroyed meanwhile, and are
 * read at the end of the device. Nobody waits for this thread, which may be in a callback of the
 * program's, nor this thread for a step that is under way, which may be at the disk. */
static bool cache_writer_read_here(struct cache_writer *writer, VkPipelineCache device_cache)
{
    struct cache_look look = {.is_here = true, .is_partial = true, .kind = SLOW_READ};
    const uint64_t spent_ns = stats_get(writer->setup->stats, STATS_pipelines_create_ns);
    look.mark = cache_schedule_count(&writer->schedule);
    bool has_read = pthread_mutex_trylock(&writer->lock) == 0;
    if (has_read) {
        size_t pending = 0;
        look.timer = call_costs_begin(&writer->costs, SLOW_READ);
        cache_writer_snapshot(writer, device_cache, VK_NULL_HANDLE, &look, &pending);
    } else {
        has_read = cache_writer_hand_over(writer, device_cache, &look.mark);
    }
    atomic_store(&writer->looked_at_ns, spent_ns);
    atomic_fetch_add(&writer->looks_ns, cache_writer_cost_here(writer));
    return has_read;
}

/* Who returns from a compile beside a look goes on without one, and may have been the last: who
 * looked looks again, but not for as long as others compile. */
bool cache_writer_look_here(struct cache_writer *writer, VkPipelineCache device_cache)
{
    bool has_looked = false;
    if (device_cache == VK_NULL_HANDLE || cache_writer_worker_may_look(writer)) {
        return false;
    }
    for (int looks = 0;
         looks < LOOKS_HERE_MAX && cache_writer_may_look_here(writer) &&
         call_costs_allow(&writer->costs, SLOW_READ) && !atomic_exchange(&writer->looking, true);
         looks++) {
        has_looked |= cache_writer_read_here(writer, device_cache);
        atomic_store(&writer->looking, false);
    }
    return has_looked;
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
        cache_writer_recalls_at_end(writer) && call_costs_allow(&writer->costs, SLOW_READ) &&
        worker_enter_driver()) {
        cache_writer_look_at_all(writer, device_cache, LOOK_AT_EXIT);
    }
}

enum status cache_writer_look_finally(struct cache_writer *writer, VkPipelineCache device_cache)
{
    if (!cache_schedule_is_touched(&writer->schedule) && atomic_load(&writer->looked_at_ns) == 0 &&
        !atomic_load(&writer->collection.has_hidden)) {
        return STATUS_ok;
    }
    if (!cache_writer_recalls_at_end(writer)) {
        return STATUS_io_error;
    }
    if (!call_costs_allow_at_end(&writer->costs, SLOW_READ, cache_writer_unseen_ns(writer))) {
        device_report_not_saved(writer->report, STATUS_too_slow, store_path(writer->store));
        return STATUS_too_slow;
    }
    return cache_writer_look_at_all(writer, device_cache, LOOK_AT_END);
}
