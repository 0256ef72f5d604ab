// SPDX-License-Identifier: Apache-2.0
/* How what was loaded is watched: device_cache_state.h has the states. */
#include "common/base/clock.h"
#include "layer/cache/device_cache_state.h"

/* How often the worker looks at calls that may take long, while there are any. */
#define WATCH_POLL_NS (CRASH_COMPILE_NS / 2)

void cache_load_watch(struct cache_load *load)
{
    const struct crash_guard *guard = load->writer->caches->guard;
    if (guard && atomic_load_explicit(&guard->page, memory_order_relaxed) &&
        !atomic_load_explicit(&load->watching, memory_order_relaxed)) {
        atomic_store(&load->watch_due_ns, clock_now_ns());
        atomic_store(&load->watching, true);
        worker_wake_now(load->client);
    }
}

void device_cache_watch_begin(struct device_cache *device_cache, enum crash_state state)
{
    struct cache_load *load = &device_cache->load;
    if (state == CRASH_INSIDE_OTHER ||
        (state == CRASH_INSIDE &&
         atomic_load_explicit(&load->stored_is_slow, memory_order_relaxed))) {
        cache_load_watch(load);
    }
}

void device_cache_watch_end(struct device_cache *device_cache, enum crash_state state,
                            uint64_t took_ns)
{
    if (state == CRASH_INSIDE && took_ns >= CRASH_COMPILE_NS) {
        atomic_store_explicit(&device_cache->load.stored_is_slow, true, memory_order_relaxed);
    }
}

void cache_load_watch_life(struct cache_load *load)
{
    if (store_goes_without(load->writer->store)) {
        atomic_store(&load->lives_at_ns, clock_now_ns() + CRASH_LIFE_NS);
        worker_wake_now(load->client);
    }
}

static void cache_load_look_at_life(struct cache_load *load, uint64_t now_ns)
{
    const uint64_t lives_at_ns = atomic_load(&load->lives_at_ns);
    if (lives_at_ns != 0 && now_ns >= lives_at_ns) {
        store_live(load->writer->store);
        atomic_store(&load->lives_at_ns, 0);
    }
}

uint64_t cache_load_watch_due(const struct cache_load *load)
{
    const uint64_t lives_at_ns = atomic_load(&load->lives_at_ns);
    const uint64_t life = lives_at_ns ? lives_at_ns : UINT64_MAX;
    const uint64_t watch = atomic_load(&load->watching) ? atomic_load(&load->watch_due_ns) : life;
    return watch < life ? watch : life;
}

/* Looks once more after the end of the watch: a call may have begun that saw it going on. */
void cache_load_work_watch(struct cache_load *load)
{
    const uint64_t now_ns = clock_now_ns();
    cache_load_look_at_life(load, now_ns);
    if (!atomic_load(&load->watching) || now_ns < atomic_load(&load->watch_due_ns)) {
        return;
    }
    struct crash_guard *guard = load->writer->caches->guard;
    atomic_store(&load->watch_due_ns, now_ns + WATCH_POLL_NS);
    if (!crash_guard_watch(guard, &load->watch, now_ns)) {
        atomic_store(&load->watching, false);
        if (crash_guard_watch(guard, &load->watch, now_ns)) {
            atomic_store(&load->watching, true);
        }
    }
}
