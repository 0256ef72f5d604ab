// SPDX-License-Identifier: Apache-2.0
/* Looks by the threads of the program, where ours must not call the driver: when they may cost
 * something, what is read beside a step of the cache writer, and what is read for the program
 * (docs/decisions/0284). */
#include <stdlib.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/base/clock.h"
#include "layer/cache/cache_writer.h"
#include "layer/worker/own_wait.h"

/* Where a thread of the program takes the snapshots, they take one part in so many of its time. */
#define LOOK_HERE_FACTOR 50
#define FIRST_LOOK_NS    (CLOCK_MS / 50)

/* Where earlier creations have left time for it, one part in so many of the last ones. */
#define LOOK_SOON_FACTOR 4

/* Looks of one call of the program's. */
#define LOOKS_HERE_MAX 2

/* What such a thread has read beside a step, or for the program. */
struct cache_handed {
    uint8_t *data;
    size_t size;
    struct cache_schedule_mark mark; /* from before that */
};

static void cache_handed_free(struct cache_handed *handed)
{
    if (handed) {
        large_free(handed->data);
        free(handed);
    }
}

/* Several threads may have read: what is newest stays. Once put, it may be taken and freed. */
static void cache_handed_put(struct cache_writer *writer, struct cache_handed *handed)
{
    uint64_t touched = handed->mark.touched;
    struct cache_handed *before = atomic_exchange(&writer->handed, handed);
    while (before && before->mark.touched > touched) {
        touched = before->mark.touched;
        before = atomic_exchange(&writer->handed, before);
    }
    cache_handed_free(before);
}

/* Under the lock. */
static void cache_handed_take(struct cache_writer *writer)
{
    struct cache_handed *handed = atomic_exchange(&writer->handed, NULL);
    if (handed && handed->mark.touched > atomic_load(&writer->schedule.looked)) {
        cache_writer_take_read(writer, handed->data, handed->size, handed->mark);
        handed->data = NULL;
    }
    cache_handed_free(handed);
}

void cache_writer_take_handed(struct cache_writer *writer)
{
    if (atomic_load(&writer->handed) && timed_lock(&writer->lock, WAIT_FOREVER)) {
        cache_handed_take(writer);
        pthread_mutex_unlock(&writer->lock);
    }
}

void cache_writer_drop_handed(struct cache_writer *writer)
{
    cache_handed_free(atomic_exchange(&writer->handed, NULL));
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
    const bool is_hinted = cache_schedule_is_hinted(&writer->schedule);
    return writer->saves && !writer->caches->serialize && cache_schedule_is_touched(schedule) &&
           (spent_ns >= LOOK_HERE_FACTOR * cost_ns ||
            (is_hinted && spent_ns >= LOOK_SOON_FACTOR * cost_ns &&
             all_ns >= LOOK_HERE_FACTOR * looks_ns));
}

/* What was read, which is the writer's from now on. False: nothing that may be saved. */
static bool cache_writer_hand(struct cache_writer *writer, uint8_t *data, size_t size,
                              const struct cache_schedule_mark *mark)
{
    const bool may_save = data && size <= writer->max_blob && size > DRIVER_CACHE_EMPTY_SIZE;
    struct cache_handed *handed = may_save ? calloc(1, sizeof *handed) : NULL;
    if (!handed) {
        large_free(data);
        return false;
    }
    *handed = (struct cache_handed){.data = data, .size = size, .mark = *mark};
    cache_handed_put(writer, handed);
    return true;
}

/* Beside another step, which call_costs may be timing. False: the driver has refused, or there is
 * nothing that may be saved. */
static bool cache_writer_hand_over(struct cache_writer *writer, VkPipelineCache device_cache,
                                   const struct cache_schedule_mark *mark)
{
    uint8_t *data = NULL;
    size_t size = 0;
    const struct own_wait_timer timer = own_wait_timer_start();
    if (driver_cache_query_size(writer->caches, device_cache, &size) && size <= writer->max_blob &&
        driver_cache_may_copy(size)) {
        driver_cache_read(writer->caches, device_cache, &data, &size);
    }
    cache_schedule_note_read(&writer->schedule, own_wait_timer_elapsed(&timer));
    return cache_writer_hand(writer, data, size, mark);
}

/* A copy costs less than the read before it, which the program has paid for. */
bool cache_writer_take_copy(struct cache_writer *writer, const void *data, size_t size,
                            const struct cache_schedule_mark *mark)
{
    if (!writer->saves || cache_writer_worker_may_look(writer) || size > writer->max_blob ||
        mark->touched <= atomic_load(&writer->schedule.looked)) {
        return false;
    }
    uint8_t *copy = large_new(size);
    if (copy) {
        memcpy(copy, data, size);
    }
    return cache_writer_hand(writer, copy, size, mark);
}

/* Reads the device cache alone: the program's own might be changed or destroyed meanwhile, and are
 * read at the end of the device. Nobody waits for this thread, which may be in a callback of the
 * program's, nor this thread for a step that is under way, which may be at the disk. */
static bool cache_writer_read_here(struct cache_writer *writer, VkPipelineCache device_cache)
{
    const uint64_t spent_ns = stats_get(writer->setup->stats, STATS_pipelines_create_ns);
    const struct cache_schedule_mark mark = cache_schedule_count(&writer->schedule);
    bool has_read = pthread_mutex_trylock(&writer->lock) == 0;
    if (has_read) {
        cache_handed_take(writer);
        cache_writer_look_at_device(writer, device_cache, &mark);
    } else {
        has_read = cache_writer_hand_over(writer, device_cache, &mark);
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
