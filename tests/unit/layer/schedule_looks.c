// SPDX-License-Identifier: Apache-2.0
#include "schedule_looks.h"

#include "layer/cache/cache_writer.h"

uint64_t schedule_cost_after(const struct schedule_look *looks, size_t count)
{
    struct cache_schedule schedule;
    cache_schedule_init(&schedule, 100);
    for (size_t i = 0; i < count; i++) {
        /* It has begun so long ago; what it waits for a core on a busy machine does not count. */
        const struct own_wait_timer timer = own_wait_timer_start();
        struct cache_schedule_mark mark = cache_schedule_count(&schedule);
        cache_schedule_begin_look(&schedule, &mark, &timer);
        mark.start_ns -= looks[i].took_ns;
        mark.timer.start_ns -= looks[i].took_ns;
        cache_schedule_end_look(&schedule, &mark, false, looks[i].has_read);
    }
    return atomic_load(&schedule.look_cost_ns);
}

uint64_t schedule_busy_after(unsigned creations, uint64_t took_ns, unsigned *ret_cores)
{
    struct cache_schedule schedule;
    cache_schedule_init(&schedule, 100);
    cache_schedule_know_cores(&schedule);
    for (unsigned i = 0; i < creations; i++) {
        cache_schedule_begin(&schedule);
    }
    for (unsigned i = 0; i < creations; i++) {
        cache_schedule_note(&schedule, DEVICE_CACHE_COMPILED, 1, took_ns);
    }
    *ret_cores = atomic_load(&schedule.cores);
    return atomic_load(&schedule.busy_ns);
}
