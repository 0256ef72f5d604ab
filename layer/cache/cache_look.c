// SPDX-License-Identifier: Apache-2.0
/* A look at the driver's caches: what is a change, and becomes the snapshot (docs/decisions/0085).
 */
#include "common/base/bytes.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "layer/cache/cache_writer.h"
#include "layer/worker/driver_gate.h"
#include "layer/worker/own_wait.h"
#include "layer/worker/worker.h"

/* No snapshot at the end of the process if the last one took longer. */
#define EXIT_LOOK_NS (100 * CLOCK_MS)

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
    bool may_unite;      /* what the file holds may become the snapshot as well */
    enum slow_call kind; /* what the driver is asked for */
    struct own_wait_timer timer;
    struct cache_schedule_mark mark;
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
    const size_t difference = cache_writer_difference(size, known_size);
    const bool is_known = size == known_size && digest_equal(digest, writer->seen);
    writer->seen = digest;
    writer->seen_size = size;
    if (is_known && !look->may_unite) {
        large_free(data);
        return;
    }
    writer->fresh.may_unite = look->may_unite;
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
    writer->fresh.unites |= is_known;
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
    } else if (size <= DRIVER_CACHE_EMPTY_SIZE && (look->is_here || !look->is_partial) &&
               cache_schedule_note_empty(&writer->schedule, look->at_end)) {
        *ret_reason = STATUS_ineffective;
    }
    return size > writer->max_blob || size <= DRIVER_CACHE_EMPTY_SIZE;
}

/* Whether the driver takes nothing of the data that it gives: ANV of Mesa 22.3 counts no entries in
 * it. Asked once, if it has compiled and no more is there than was loaded, of a driver that has
 * survived its data. Not on a thread that goes on creating, nor of what is large, since the end of
 * a device waits for it, nor where a second cache of ours is not allowed. */
static bool cache_writer_is_futile(struct cache_writer *writer, const uint8_t *data, size_t size,
                                   const struct cache_look *look)
{
    if (size > writer->loaded_size || size >= DRIVER_CACHE_LARGE_SIZE || look->is_here ||
        !(writer->fresh.has_missed || writer->fresh.has_hinted) || writer->policy->single_cache) {
        return false;
    }
    writer->loaded_size = 0;
    VkPipelineCache cache = driver_cache_create(writer->caches, data, size);
    size_t taken = size;
    if (cache != VK_NULL_HANDLE) {
        driver_cache_query_size(writer->caches, cache, &taken);
    }
    driver_cache_destroy(writer->caches, cache);
    writer->is_futile = taken < size / 2;
    return writer->is_futile;
}

/* One look, under the lock: the device cache's data as it is or, with what was collected, both
 * merged; what is new becomes the snapshot. */
static enum status cache_writer_look(struct cache_writer *writer, VkPipelineCache device_cache,
                                     VkPipelineCache collected, struct cache_look *look)
{
    const bool has_missed = atomic_load(&writer->schedule.missed) != writer->seen_missed;
    const struct driver_caches *caches = writer->caches;
    writer->fresh.has_missed |= has_missed;
    writer->fresh.has_hinted |= cache_schedule_is_hinted(&writer->schedule);
    enum status reason;
    uint8_t *data = NULL;
    size_t size = 0;
    if (writer->is_futile) {
        return STATUS_ineffective;
    }
    if (collected != VK_NULL_HANDLE) {
        if (!driver_cache_may_copy(writer->seen_size)) {
            return STATUS_out_of_memory;
        }
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
        if (size == writer->seen_size && !has_missed && !look->may_unite) {
            return STATUS_ok;
        }
        if (!driver_cache_may_copy(size)) {
            return STATUS_out_of_memory;
        }
        look->has_read = true;
        /* The question before may have waited for compiles (Venus): that is no cost of a read. */
        call_costs_begin(&writer->costs, look->kind, own_wait_timer_start());
        if (!driver_cache_read(caches, device_cache, &data, &size)) {
            return STATUS_driver_refused;
        }
    }
    if (cache_writer_is_decided(writer, size, look, &reason)) {
        large_free(data);
        return reason;
    }
    if (cache_writer_is_futile(writer, data, size, look)) {
        large_free(data);
        return STATUS_ineffective;
    }
    writer->is_outgrown = false;
    look->has_taken = true;
    cache_writer_leave_driver(writer, look);
    cache_writer_take(writer, data, size, look);
    return STATUS_ok;
}

/* It is tried again. */
static bool cache_look_has_failed(enum status reason)
{
    return reason == STATUS_driver_refused || reason == STATUS_out_of_memory;
}

/* Under the lock, which it releases unless the writer is abandoned. *ret_pending: bytes of the
 * snapshot. */
static enum status cache_writer_snapshot(struct cache_writer *writer, VkPipelineCache device_cache,
                                         VkPipelineCache collected, struct cache_look *look,
                                         size_t *ret_pending)
{
    cache_schedule_begin_look(&writer->schedule, &look->mark, &look->timer);
    const enum status reason = cache_writer_look(writer, device_cache, collected, look);
    cache_writer_leave_driver(writer, look);
    if (writer->is_abandoned) {
        *ret_pending = 0;
        return STATUS_io_error;
    }
    const bool has_failed = cache_look_has_failed(reason);
    if (!has_failed) {
        writer->seen_missed = look->mark.missed;
    }
    cache_schedule_end_look(&writer->schedule, &look->mark, has_failed, look->has_read);
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
    driver_cache_ready_guard(writer->caches);
    /* What the program compiles while its caches are read is for the next look. */
    look.mark = cache_schedule_count(&writer->schedule);
    VkPipelineCache collected = VK_NULL_HANDLE;
    enum collection_rest rest = is_used ? REST_HIDDEN : REST_NONE;
    if (is_used &&
        (look.at_end ? call_costs_allow_at_end(costs, SLOW_MERGE, cache_writer_unseen_ns(writer))
                     : call_costs_allow(costs, SLOW_MERGE))) {
        look.timer = call_costs_begin(costs, SLOW_MERGE, own_wait_timer_start());
        collected = cache_collection_pin(collection, &rest);
    }
    look.is_partial = rest != REST_NONE;
    look.has_pinned = collected != VK_NULL_HANDLE;
    look.kind = look.has_pinned ? SLOW_MERGE : SLOW_READ;
    if (look.kind == SLOW_READ) {
        look.timer = call_costs_begin(costs, SLOW_READ, own_wait_timer_start());
    }
    size_t pending = 0;
    pthread_mutex_lock(&writer->lock);
    /* For its save to take up what lies beside the file; what waits to be saved does so anyway. */
    look.may_unite = by != LOOK_AT_EXIT && store_has_others(writer->store) && !writer->snapshot;
    const enum status reason =
        cache_writer_snapshot(writer, device_cache, collected, &look, &pending);
    if (!cache_look_has_failed(reason) && !look.is_partial) {
        atomic_store(&collection->has_hidden, false);
    }
    if (rest == REST_NEXT && !cache_schedule_is_hinted(&writer->schedule)) {
        cache_schedule_note(&writer->schedule, DEVICE_CACHE_UNKNOWN, 0, 0); /* another look */
    }
    trace_cache(writer->setup->trace, "snapshot", start_ns, pending, reason);
    if (reason == STATUS_ok && pending > 0) {
        log_debug("device %u: took a snapshot of %zu bytes", writer->setup->device_index, pending);
    }
    return reason;
}

bool cache_writer_worker_may_look(const struct cache_writer *writer)
{
    return !driver_permit_is_withdrawn(writer->setup->permit);
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

void cache_writer_look_at_device(struct cache_writer *writer, VkPipelineCache device_cache,
                                 const struct cache_schedule_mark *mark)
{
    driver_cache_ready_guard(writer->caches);
    struct cache_look look = {
        .is_here = true,
        .is_partial = true,
        .kind = SLOW_READ,
        .timer = call_costs_begin(&writer->costs, SLOW_READ, own_wait_timer_start()),
        .mark = *mark,
    };
    size_t pending = 0;
    cache_writer_snapshot(writer, device_cache, VK_NULL_HANDLE, &look, &pending);
}

void cache_writer_take_read(struct cache_writer *writer, uint8_t *data, size_t size,
                            struct cache_schedule_mark mark)
{
    const struct cache_look look = {.is_here = true, .is_partial = true};
    const struct own_wait_timer timer = own_wait_timer_start();
    cache_schedule_begin_look(&writer->schedule, &mark, &timer);
    writer->fresh.has_missed |= mark.missed != writer->seen_missed;
    writer->fresh.has_hinted |= cache_schedule_is_hinted(&writer->schedule);
    writer->is_outgrown = false;
    cache_writer_take(writer, data, size, &look);
    writer->seen_missed = mark.missed;
    cache_schedule_end_look(&writer->schedule, &mark, false, false);
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
    const enum status reason = cache_writer_look_at_all(writer, device_cache, LOOK_AT_END);
    if (!cache_look_has_failed(reason)) {
        return reason;
    }
    return cache_writer_look_at_all(writer, device_cache, LOOK_AT_END);
}
