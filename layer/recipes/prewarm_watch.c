// SPDX-License-Identifier: Apache-2.0
#include "layer/recipes/prewarm_run.h"

#include "common/base/clock.h"
#include "layer/recipes/prewarm_list.h"
#include "layer/recipes/recorder.h"
#include "layer/worker/own_wait.h"
#include "layer/worker/sandbox.h"

/* A compile is looked at when it has gone on for so long, and then so often: it may have waited for
 * a core. */
#define LONG_NS (PREWARM_LONG_US * UINT64_C(1000))
#define POLL_NS (50 * CLOCK_MS)

/* A thread of niceness 10 gets a tenth of a core that another one wants. What compiles in less is
 * not measured by it. */
#define MAX_SLOWDOWN    10
#define SLOWDOWN_MIN_NS (5 * CLOCK_MS)

static uint32_t prewarm_watch_us(uint64_t ns)
{
    return ns / 1000 < UINT32_MAX ? (uint32_t)(ns / 1000) : UINT32_MAX;
}

static bool prewarm_watch_is_due(const struct prewarm_compile *compile, uint64_t now_ns)
{
    return compile->use && !compile->is_noted && compile->look_ns <= now_ns;
}

static uint64_t prewarm_watch_due(struct worker_client *client, uint64_t now_ns)
{
    (void)now_ns;
    struct prewarm_watch *watch = WORKER_OWNER(client, struct prewarm_watch, client);
    uint64_t due_ns = UINT64_MAX;
    pthread_mutex_lock(&watch->lock);
    for (unsigned i = 0; i < RECIPE_CRASHES_THREADS; i++) {
        if (prewarm_watch_is_due(&watch->compiles[i], due_ns)) {
            due_ns = watch->compiles[i].look_ns;
        }
    }
    pthread_mutex_unlock(&watch->lock);
    return due_ns;
}

/* Under the lock, which is released meanwhile. `ends`: with the process, which is no crash. */
static void prewarm_watch_look(struct prewarm_watch *watch, unsigned thread, bool ends)
{
    struct prewarm_compile *compile = &watch->compiles[thread];
    const uint64_t cost_ns = own_wait_timer_elapsed(&compile->timer);
    const struct recipe_use use = *compile->use;
    const bool was_noted = compile->is_noted;
    compile->look_ns = clock_now_ns() + POLL_NS;
    compile->is_being_noted = true;
    pthread_mutex_unlock(&watch->lock);
    const bool noted =
        was_noted || (cost_ns >= LONG_NS &&
                      recorder_took_long(watch->recorder, &use, prewarm_watch_us(cost_ns)));
    if (sandbox_is_closed()) {
        /* no file is touched */
    } else if (ends) {
        recipe_crashes_end(watch->crashes, thread);
    } else if (noted) {
        recipe_crashes_late(watch->crashes, thread);
    }
    pthread_mutex_lock(&watch->lock);
    compile->is_being_noted = false;
    compile->is_noted = noted;
    pthread_cond_broadcast(&watch->noted);
}

static void prewarm_watch_work(struct worker_client *client)
{
    struct prewarm_watch *watch = WORKER_OWNER(client, struct prewarm_watch, client);
    const uint64_t now_ns = clock_now_ns();
    pthread_mutex_lock(&watch->lock);
    for (unsigned i = 0; i < RECIPE_CRASHES_THREADS; i++) {
        if (prewarm_watch_is_due(&watch->compiles[i], now_ns)) {
            prewarm_watch_look(watch, i, false);
        }
    }
    pthread_mutex_unlock(&watch->lock);
}

/* The process ends, and with it the compiles that are under way. Their marks would tell of crashes,
 * so that the lock is taken however little patience is left: it is never held over the disk. */
static void prewarm_watch_last(struct worker_client *client)
{
    struct prewarm_watch *watch = WORKER_OWNER(client, struct prewarm_watch, client);
    pthread_mutex_lock(&watch->lock);
    for (unsigned i = 0; i < RECIPE_CRASHES_THREADS; i++) {
        if (watch->compiles[i].use) {
            prewarm_watch_look(watch, i, true);
        }
    }
    pthread_mutex_unlock(&watch->lock);
}

void prewarm_watch_init(struct prewarm_watch *watch, struct recorder *recorder)
{
    *watch = (struct prewarm_watch){
        .client.due = prewarm_watch_due,
        .client.work = prewarm_watch_work,
        .client.last = prewarm_watch_last,
        .recorder = recorder,
        .slowdown = 1,
    };
    pthread_mutex_init(&watch->lock, NULL);
    clock_condition_init(&watch->noted);
    worker_add(&watch->client);
}

void prewarm_watch_open(struct prewarm_watch *watch, struct recipe_crashes *crashes)
{
    watch->crashes = crashes;
}

bool prewarm_watch_finish(struct prewarm_watch *watch)
{
    return worker_remove(&watch->client);
}

void prewarm_watch_release(struct prewarm_watch *watch)
{
    pthread_cond_destroy(&watch->noted);
    pthread_mutex_destroy(&watch->lock);
}

unsigned prewarm_watch_slowdown(struct prewarm_watch *watch)
{
    pthread_mutex_lock(&watch->lock);
    const unsigned slowdown = watch->slowdown;
    pthread_mutex_unlock(&watch->lock);
    return slowdown;
}

void prewarm_watch_begin(struct prewarm_watch *watch, unsigned thread, const struct recipe_use *use)
{
    const struct own_wait_timer timer = own_wait_timer_start();
    pthread_mutex_lock(&watch->lock);
    watch->compiles[thread] = (struct prewarm_compile){
        .use = use,
        .timer = timer,
        .look_ns = timer.start_ns + LONG_NS,
    };
    pthread_mutex_unlock(&watch->lock);
    worker_wake(&watch->client);
}

static unsigned prewarm_watch_slowdown_of(uint64_t elapsed_ns, uint64_t cost_ns)
{
    const uint64_t times = elapsed_ns / (cost_ns > 0 ? cost_ns : 1);
    if (elapsed_ns < SLOWDOWN_MIN_NS || times < 1) {
        return 1;
    }
    return times < MAX_SLOWDOWN ? (unsigned)times : MAX_SLOWDOWN;
}

uint32_t prewarm_watch_end(struct prewarm_watch *watch, unsigned thread)
{
    struct prewarm_compile *compile = &watch->compiles[thread];
    const uint64_t elapsed_ns = clock_now_ns() - compile->timer.start_ns;
    const uint64_t cost_ns = own_wait_timer_elapsed(&compile->timer);
    pthread_mutex_lock(&watch->lock);
    while (compile->is_being_noted) {
        pthread_cond_wait(&watch->noted, &watch->lock);
    }
    const struct prewarm_compile ended = *compile;
    *compile = (struct prewarm_compile){0};
    watch->slowdown = prewarm_watch_slowdown_of(elapsed_ns, cost_ns);
    pthread_mutex_unlock(&watch->lock);
    if (cost_ns >= LONG_NS && !ended.is_noted) {
        recorder_took_long(watch->recorder, ended.use, prewarm_watch_us(cost_ns));
        worker_wake(&watch->client);
    }
    return prewarm_watch_us(cost_ns);
}
