// SPDX-License-Identifier: Apache-2.0
#include "schedule_looks.h"

#include "common/base/clock.h"
#include "layer/cache/cache_schedule.h"

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
    cache_schedule_know_machine(&schedule);
    for (unsigned i = 0; i < creations; i++) {
        cache_schedule_begin(&schedule);
    }
    for (unsigned i = 0; i < creations; i++) {
        cache_schedule_note(&schedule, DEVICE_CACHE_COMPILED, 1, took_ns);
    }
    *ret_cores = atomic_load(&schedule.cores);
    return atomic_load(&schedule.busy_ns);
}

static void schedule_note(struct cache_schedule *schedule, uint64_t took_ns)
{
    cache_schedule_begin(schedule);
    cache_schedule_note(schedule, DEVICE_CACHE_COMPILED, 1, took_ns);
    cache_schedule_end(schedule);
}

uint64_t schedule_crowd_after(uint64_t took_ns, uint64_t ran_ns, unsigned times)
{
    struct cache_schedule schedule;
    cache_schedule_init(&schedule, 100);
    schedule_note(&schedule, CLOCK_S);
    cache_schedule_know_machine(&schedule);
    schedule.crowd_last = 1; /* whatever this process had run before */
    for (unsigned i = 0; i < times; i++) {
        const uint64_t until_ns = clock_process_ran_ns() + ran_ns;
        while (clock_process_ran_ns() < until_ns) {
        }
        schedule_note(&schedule, took_ns);
        cache_schedule_know_machine(&schedule);
    }
    return atomic_load(&schedule.crowd);
}

bool schedule_saves(const struct schedule_saved *program)
{
    const uint64_t now_ns = clock_now_ns() + 60 * CLOCK_S;
    struct cache_schedule schedule;
    cache_schedule_init(&schedule, 100);
    schedule_note(&schedule, CLOCK_S);
    atomic_store(&schedule.begun_ns, now_ns - 60 * CLOCK_S);
    cache_schedule_committed(&schedule, now_ns, true, CLOCK_S, program->cost_ns, 0);
    atomic_store(&schedule.last_commit_ns, now_ns - 59 * CLOCK_S);
    schedule_note(&schedule, program->spent_ns);
    atomic_store(&schedule.last_hint_ns, now_ns);
    atomic_store(&schedule.first_pending_ns, now_ns - program->first_ns);
    atomic_store(&schedule.pending, true);
    atomic_store(&schedule.crowd, program->crowd);
    enum cache_schedule_step step;
    return cache_schedule_due(&schedule, now_ns, false, &step) <= now_ns &&
           step == CACHE_SCHEDULE_COMMIT;
}

bool schedule_looks_after(uint64_t spent_ns, uint64_t crowd)
{
    struct cache_schedule schedule;
    cache_schedule_init(&schedule, 100);
    schedule_note(&schedule, spent_ns);
    atomic_store(&schedule.crowd, crowd);
    enum cache_schedule_step step;
    const uint64_t now_ns = atomic_load(&schedule.last_hint_ns);
    return cache_schedule_due(&schedule, now_ns, true, &step) <= now_ns &&
           step == CACHE_SCHEDULE_SNAPSHOT;
}

uint64_t schedule_look_behind(uint64_t pause_ns, bool during)
{
    struct cache_schedule schedule;
    cache_schedule_init(&schedule, 100);
    schedule_note(&schedule, CLOCK_MS);
    atomic_store(&schedule.last_hint_ns, clock_now_ns() - pause_ns);
    const struct own_wait_timer timer = own_wait_timer_start();
    struct cache_schedule_mark mark = cache_schedule_count(&schedule);
    cache_schedule_begin_look(&schedule, &mark, &timer);
    if (during) {
        schedule_note(&schedule, CLOCK_MS);
    }
    cache_schedule_end_look(&schedule, &mark, false, true);
    if (!during) {
        schedule_note(&schedule, CLOCK_MS);
    }
    enum cache_schedule_step step;
    const uint64_t last_ns = atomic_load(&schedule.last_hint_ns);
    return cache_schedule_due(&schedule, last_ns + CLOCK_S, true, &step) - last_ns;
}

bool schedule_steps_in_a_long_burst(enum schedule_step step)
{
    struct cache_schedule schedule;
    cache_schedule_init(&schedule, 100);
    schedule_note(&schedule, CLOCK_MS);
    atomic_store(&schedule.first_hint_ns, clock_now_ns() - 40 * CLOCK_S);
    for (int looks = 0; looks < 2; looks++) {
        const struct own_wait_timer timer = own_wait_timer_start();
        struct cache_schedule_mark mark = cache_schedule_count(&schedule);
        cache_schedule_begin_look(&schedule, &mark, &timer);
        schedule_note(&schedule, CLOCK_MS);
        cache_schedule_end_look(&schedule, &mark, false, true);
    }
    atomic_store(&schedule.look_cost_ns, CLOCK_S);
    atomic_store(&schedule.commit_cost_ns, CLOCK_S);
    atomic_store(&schedule.last_commit_ns, clock_now_ns());
    atomic_store(&schedule.pending, step == SCHEDULE_SAVE);
    const uint64_t now_ns = atomic_load(&schedule.last_hint_ns);
    enum cache_schedule_step due;
    return cache_schedule_due(&schedule, now_ns, step == SCHEDULE_LOOK, &due) <= now_ns;
}

uint64_t schedule_next_save(size_t written, uint64_t spent_ns)
{
    struct cache_schedule schedule;
    cache_schedule_init(&schedule, 100);
    cache_schedule_committed(&schedule, clock_now_ns(), true, 0, 5 * (uint64_t)written, written);
    schedule_note(&schedule, spent_ns);
    const uint64_t last_ns = atomic_load(&schedule.last_hint_ns);
    atomic_store(&schedule.first_pending_ns, last_ns);
    atomic_store(&schedule.pending_size, written);
    atomic_store(&schedule.pending, true);
    enum cache_schedule_step step;
    return cache_schedule_due(&schedule, last_ns + CLOCK_S, false, &step) -
           atomic_load(&schedule.last_commit_ns);
}
