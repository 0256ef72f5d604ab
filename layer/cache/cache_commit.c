// SPDX-License-Identifier: Apache-2.0
/* The way of a snapshot to disk: judged by the file where it may hold the same, then, in steps:
 * begin, choose, write. */
#include <string.h>

#include "common/base/bytes.h"
#include "common/base/clock.h"
#include "layer/cache/cache_writer.h"
#include "layer/worker/maintenance.h"
#include "layer/worker/own_wait.h"
#include "layer/worker/worker.h"

/* What a driver leaves of its stack in the entries is less than this part of the bytes; and where
 * it may have compiled without a word, and the size differs by more than padding, no more bytes
 * than these: a new pipeline brings more. */
#define STACK_BYTES_PART 128
#define STACK_BYTES_MAX  128
#define PADDING_MAX      64

/* The snapshot. */

void cache_writer_set_snapshot(struct cache_writer *writer, uint8_t *data, size_t size)
{
    large_free(writer->snapshot);
    writer->snapshot = data;
    writer->fresh.is_late = writer->fresh.unites = false;
    atomic_store(&writer->schedule.pending_size, size);
    atomic_store(&writer->schedule.pending, size > 0);
}

bool cache_writer_use_disk(struct cache_writer *writer, bool is_worker, void (*step)(void *user),
                           void (*carry_on)(void *user))
{
    if (is_worker) {
        step(writer);
    } else {
        writer->is_abandoned = !worker_do(step, carry_on, writer);
    }
    return !writer->is_abandoned;
}

/* The snapshot becomes one that holds the blobs of other processes as well. False: it stays as it
 * is, since the driver does not take one of them now, or there is none any more. */
static bool cache_writer_merge(struct cache_writer *writer, const struct store_foreign *foreign)
{
    uint8_t *own = writer->snapshot, *data = NULL;
    size_t size = 0;
    writer->snapshot = NULL;
    const bool done =
        driver_cache_merge_blobs(writer->caches, foreign->blobs, foreign->count, writer->is_refused,
                                 own, atomic_load(&writer->schedule.pending_size), &data, &size);
    cache_writer_set_snapshot(writer, data, size);
    return done;
}

static enum status cache_writer_commit_unmerged(struct cache_writer *writer)
{
    return store_commit_unmerged(writer->store, writer->snapshot,
                                 atomic_load(&writer->schedule.pending_size));
}

/* How many bytes are not zero. Drivers write the entries of their hash tables in an order that
 * changes from process to process (all of Mesa's, once graphics pipeline libraries are used), pad
 * between them with zeros, and write a few bytes of each entry as they found them on their stack
 * (RADV). A cache only gains entries, and each brings its key and its code along: so blobs of
 * nearly the same size and of the same weight hold the same entries. */
static size_t cache_writer_weight(const uint8_t *data, size_t size)
{
    const uint64_t ones = 0x0101010101010101, sevens = 0x7f * ones;
    size_t weight = 0, at = 0;
    for (uint64_t word; size - at >= sizeof word; at += sizeof word) {
        memcpy(&word, data + at, sizeof word);
        /* A bit of each byte says that it is not zero; their sum goes to the top. */
        weight += ((((word & sevens) + sevens) | word) >> 7 & ones) * ones >> 56;
    }
    for (; at < size; at++) {
        weight += data[at] != 0;
    }
    return weight;
}

/* Bytes that the snapshot and what other processes saved have together. */
static size_t cache_writer_whole_size(const struct cache_writer *writer)
{
    size_t size = atomic_load(&writer->schedule.pending_size);
    for (size_t i = 0; i < writer->commit.foreign.count; i++) {
        size += writer->commit.foreign.blobs[i].size;
    }
    return size;
}

/* Merges with what other processes saved, under the store's lock file. Where the driver must not
 * have a second cache object nothing can be merged, and the data of the last process to save stay;
 * so they do where a merge would take longer than the end of a device may. */
static enum cache_commit_way cache_writer_choose_way(struct cache_writer *writer,
                                                     enum cache_commit_by by)
{
    const bool is_worker = by == COMMIT_BY_WORKER;
    struct call_costs *costs = &writer->costs;
    const uint64_t compiled_ns =
        atomic_load(&writer->schedule.busy_ns) - atomic_load(&writer->schedule.committed_busy_ns);
    if (writer->commit.foreign.count == 0 || writer->policy->single_cache ||
        !call_costs_allow_at_end(costs, SLOW_MERGE, CALL_END_NS)) {
        return COMMIT_WHOLE;
    }
    if (by == COMMIT_BEHIND ||
        (is_worker ? !call_costs_allow(costs, SLOW_MERGE)
                   : !call_costs_allow_at_end(costs, SLOW_MERGE, compiled_ns))) {
        return COMMIT_PART;
    }
    const size_t size = cache_writer_whole_size(writer);
    if (!driver_cache_may_copy(size) || (writer->fresh.unites && size > writer->max_blob)) {
        writer->commit.reason = STATUS_out_of_memory;
        return COMMIT_NOTHING;
    }
    if (is_worker && !worker_enter_driver()) {
        return COMMIT_PART;
    }
    const struct store_foreign *foreign = &writer->commit.foreign;
    const size_t file_size = foreign->is_file ? foreign->blobs->size : 0;
    const size_t file_weight = cache_writer_weight(foreign->blobs->data, file_size);
    call_costs_begin(costs, SLOW_MERGE, own_wait_timer_start());
    store_merging(writer->store);
    const bool merged = cache_writer_merge(writer, foreign);
    store_merged(writer->store);
    call_costs_end(costs, SLOW_MERGE);
    if (is_worker) {
        worker_leave_driver();
    }
    if (merged && atomic_load(&writer->schedule.pending_size) == file_size &&
        cache_writer_weight(writer->snapshot, file_size) == file_weight) {
        return COMMIT_SAME;
    }
    return merged ? COMMIT_WHOLE : writer->snapshot ? COMMIT_PART : COMMIT_NOTHING;
}

/* The steps of a commit that use the disk. */

static void cache_writer_begin_commit(void *user)
{
    struct cache_writer *writer = user;
    writer->commit.gave_way = false;
    writer->commit.reason = store_begin(writer->store, &writer->commit.foreign);
}

static void cache_writer_write_commit(void *user)
{
    struct cache_writer *writer = user;
    const size_t size = atomic_load(&writer->schedule.pending_size);
    enum status *reason = &writer->commit.reason;
    if (writer->commit.way == COMMIT_WHOLE) {
        if (size <= writer->max_blob) {
            *reason = store_commit(writer->store, writer->snapshot, size);
        } else {
            *reason = STATUS_too_large;
            writer->commit.gave_way = store_end_outgrown(writer->store, writer->snapshot != NULL);
        }
        return;
    }
    store_abort(writer->store);
    if (writer->commit.way == COMMIT_PART) {
        *reason = cache_writer_commit_unmerged(writer);
    } else if (writer->commit.way == COMMIT_NOTHING && *reason == STATUS_ok) {
        *reason = STATUS_driver_refused;
    }
}

static void cache_writer_make_room(void *user)
{
    struct cache_writer *writer = user;
    writer->commit.has_room =
        writer->listener.disk_full && writer->listener.disk_full(writer->listener.user);
}

/* How a commit goes on that was begun. Without a snapshot the caches have outgrown the limit.
 * False: not at all. */
static bool cache_writer_choose(struct cache_writer *writer, enum cache_commit_by by)
{
    const enum status begun = writer->commit.reason;
    const bool unites = writer->fresh.unites;
    enum cache_commit_way *way = &writer->commit.way;
    *way = COMMIT_PART;
    if (begun == STATUS_ok) {
        *way = writer->snapshot ? cache_writer_choose_way(writer, by) : COMMIT_WHOLE;
    }
    if (unites && (*way != COMMIT_WHOLE || writer->fresh.unites)) { /* nothing was merged into it */
        *way = COMMIT_SAME;
        writer->commit.reason = STATUS_ok;
        return true;
    }
    return begun == STATUS_ok ||
           (writer->snapshot && (begun == STATUS_locked || begun == STATUS_suspect));
}

/* Behind the last step that was given up. The writer is never freed, and a program may leave many
 * of them; what is told of it is whether it was pending. */
static void cache_writer_free_snapshot(void *user)
{
    struct cache_writer *writer = user;
    large_free(writer->snapshot);
    writer->snapshot = NULL;
}

/* What was begun has taken the lock file, and others wait for that. */
static void cache_writer_carry_on(void *user)
{
    if (cache_writer_choose(user, COMMIT_BEHIND)) {
        cache_writer_write_commit(user);
    }
    cache_writer_free_snapshot(user);
}

/* What was read of the driver, held against the file. */

/* Whether the file, read again, holds the same data already, in another order. Bytes of a stack may
 * be zero in one process and not in the next: unless the driver says that it compiled, a small
 * difference in weight is no new entry either. */
static bool cache_writer_is_in_file(struct cache_writer *writer)
{
    struct store_blob *file = &writer->fresh.file;
    const size_t before = cache_writer_weight(file->data, file->size);
    const size_t now = cache_writer_weight(writer->fresh.data, writer->fresh.size);
    const bool is_resized = cache_writer_difference(writer->fresh.size, file->size) > PADDING_MAX;
    store_blob_free(file);
    size_t allowed = writer->fresh.has_missed ? 0 : before / STACK_BYTES_PART;
    if (writer->fresh.has_hinted && is_resized && allowed > STACK_BYTES_MAX) {
        allowed = STACK_BYTES_MAX;
    }
    return cache_writer_difference(now, before) <= allowed;
}

static void cache_writer_load_again(void *user)
{
    struct cache_writer *writer = user;
    writer->fresh.reason = store_load_again(writer->store, &writer->fresh.file);
}

static void cache_writer_judge_by_file(struct cache_writer *writer)
{
    const bool is_in_file = writer->fresh.reason == STATUS_ok && cache_writer_is_in_file(writer);
    if (is_in_file && !writer->fresh.may_unite) {
        large_free(writer->fresh.data);
    } else {
        cache_writer_set_snapshot(writer, writer->fresh.data, writer->fresh.size);
        writer->fresh.unites = is_in_file;
    }
    writer->fresh.data = NULL;
}

/* Where nobody waits any more: commits what is pending then, without the driver. */
static void cache_writer_judge_behind(void *user)
{
    struct cache_writer *writer = user;
    cache_writer_judge_by_file(writer);
    if (atomic_load(&writer->schedule.pending)) {
        cache_writer_begin_commit(writer);
        cache_writer_carry_on(writer);
    }
}

bool cache_writer_judge(struct cache_writer *writer, bool is_worker)
{
    const bool answered = cache_writer_use_disk(writer, is_worker, cache_writer_load_again,
                                                cache_writer_judge_behind);
    if (answered) {
        cache_writer_judge_by_file(writer);
    }
    return answered;
}

/* Before a save: what was not held against the file when it was taken. False: the disk has not
 * answered. */
static bool cache_writer_judge_late(struct cache_writer *writer, bool is_worker)
{
    if (!writer->fresh.is_late) {
        return true;
    }
    writer->fresh.data = writer->snapshot;
    writer->fresh.size = atomic_load(&writer->schedule.pending_size);
    writer->snapshot = NULL;
    cache_writer_set_snapshot(writer, NULL, 0);
    return cache_writer_judge(writer, is_worker);
}

/* False: the disk has not answered. */
static bool cache_writer_commit_pending(struct cache_writer *writer, enum cache_commit_by by,
                                        enum status *ret_reason)
{
    const bool is_worker = by == COMMIT_BY_WORKER;
    if (!cache_writer_use_disk(writer, is_worker, cache_writer_begin_commit,
                               cache_writer_carry_on)) {
        return false;
    }
    if (!cache_writer_choose(writer, by)) {
        *ret_reason = writer->snapshot ? writer->commit.reason : STATUS_too_large;
        return true;
    }
    const bool answered = cache_writer_use_disk(writer, is_worker, cache_writer_write_commit,
                                                cache_writer_free_snapshot);
    *ret_reason = answered ? writer->commit.reason : STATUS_io_error;
    return answered;
}

/* The same once more, where the disk was full and the listener makes room. */
static bool cache_writer_commit_twice(struct cache_writer *writer, enum cache_commit_by by,
                                      enum status *ret_reason)
{
    const bool is_worker = by == COMMIT_BY_WORKER;
    if (!cache_writer_commit_pending(writer, by, ret_reason)) {
        return false;
    }
    if (*ret_reason != STATUS_disk_full) {
        return true;
    }
    return cache_writer_use_disk(writer, is_worker, cache_writer_make_room,
                                 cache_writer_free_snapshot) &&
           (!writer->commit.has_room || cache_writer_commit_pending(writer, by, ret_reason));
}

/* A save that failed is tried again when the caches are looked at next, at the end of the device if
 * not before: of one that was too large, where parts have given way. */
static size_t cache_writer_end_commit(struct cache_writer *writer, enum status reason)
{
    size_t saved = 0;
    if (reason == STATUS_ok) {
        saved = atomic_load(&writer->schedule.pending_size);
    } else if (reason != STATUS_too_large || writer->commit.gave_way) {
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

bool cache_writer_commit(struct cache_writer *writer, enum cache_commit_by by,
                         enum status *ret_reason, size_t *ret_saved)
{
    enum status reason = STATUS_ok;
    size_t saved = 0;
    size_t written = 0;
    pthread_mutex_lock(&writer->lock);
    const uint64_t start_ns = clock_now_ns();
    const uint64_t ran_ns = clock_thread_ran_ns();
    const uint64_t busy_ns = atomic_load(&writer->schedule.busy_ns);
    const bool is_quiet = cache_schedule_is_quiet(&writer->schedule);
    if (atomic_load(&writer->schedule.pending) &&
        !cache_writer_judge_late(writer, by == COMMIT_BY_WORKER)) {
        return false;
    }
    if (atomic_load(&writer->schedule.pending)) {
        const bool unites = writer->fresh.unites; /* nothing in it is new */
        if (!cache_writer_commit_twice(writer, by, &reason)) {
            return false;
        }
        saved = cache_writer_end_commit(writer, reason);
        written = writer->commit.way == COMMIT_SAME ? 0 : saved;
        cache_schedule_committed(&writer->schedule, start_ns, is_quiet, busy_ns,
                                 by == COMMIT_BY_WORKER ? clock_thread_ran_ns() - ran_ns : 0,
                                 unites ? 0 : written);
    }
    pthread_mutex_unlock(&writer->lock);
    cache_writer_report_commit(writer, start_ns, reason, written);
    if (written > 0) {
        /* A file that replaces another takes as many bytes more as it is larger. */
        const size_t before = writer->last_saved;
        writer->last_saved = written;
        maintenance_wrote(writer->setup->maintenance, written > before ? written - before : 0);
    }
    *ret_reason = reason;
    *ret_saved = saved;
    return true;
}

enum status cache_writer_commit_last(struct cache_writer *writer)
{
    enum status reason = STATUS_locked;
    size_t saved = 0;
    const uint64_t start_ns = clock_now_ns();
    if (timed_lock(&writer->lock, WAIT_FOREVER)) {
        if (writer->fresh.unites) {
            cache_writer_set_snapshot(writer, NULL, 0);
        }
        reason = writer->snapshot ? cache_writer_commit_unmerged(writer) : STATUS_ok;
        if (reason == STATUS_disk_full) {
            cache_writer_make_room(writer);
            reason = writer->commit.has_room ? cache_writer_commit_unmerged(writer) : reason;
        }
        saved = writer->snapshot ? cache_writer_end_commit(writer, reason) : 0;
        store_leave(writer->store);
        pthread_mutex_unlock(&writer->lock);
    }
    cache_writer_report_commit(writer, start_ns, reason, saved);
    return reason;
}
