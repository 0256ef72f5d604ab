// SPDX-License-Identifier: Apache-2.0
#include "layer/recipes/prewarm_run.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/machine.h"
#include "common/driver/identity.h"
#include "layer/cache/device_cache.h"
#include "layer/recipes/recorder.h"
#include "layer/trace/trace.h"
#include "layer/worker/driver_gate.h"
#include "layer/worker/own_thread.h"
#include "layer/worker/sandbox.h"

/* Drivers compile on this stack, as they do on the program's. */
#define STACK_BYTES ((size_t)8 << 20)

/* So many pipelines must leave the cache empty before the rest is given up. */
#define INEFFECTIVE_AFTER 8

/* Poll interval while the program creates pipelines, which grows to this part of the time for which
 * it has done so, as long as each poll finds it in a creation; and for how long it must not have
 * asked for a pipeline, since it may be about to ask for the next. */
#define ROOM_POLL_NS     (2 * CLOCK_MS)
#define ROOM_POLL_MAX_NS (50 * CLOCK_MS)
#define ROOM_POLL_PART   16
#define QUIET_NS         (10 * CLOCK_MS)

/* Memory is checked so often, and is short if less than a tenth, and less than this, is left. */
#define MEMORY_POLL_NS (100 * CLOCK_MS)
#define MEMORY_SPARE   (UINT64_C(1) << 30)

/* One thread of it; number 0 is the first. */
struct prewarm_runner {
    struct prewarm *prewarm;
    unsigned number;
};

void prewarm_stop(struct prewarm *prewarm)
{
    pthread_mutex_lock(&prewarm->lock);
    atomic_store(&prewarm->stop, true);
    pthread_cond_broadcast(&prewarm->changed);
    pthread_mutex_unlock(&prewarm->lock);
}

/* Brackets calls to the driver, inside the gate. False: the device may be gone. */
static bool prewarm_enter_driver(struct prewarm *prewarm)
{
    pthread_mutex_lock(&prewarm->lock);
    const bool entered = !prewarm->abandoned;
    prewarm->in_driver += entered;
    pthread_mutex_unlock(&prewarm->lock);
    return entered;
}

static void prewarm_leave_driver(struct prewarm *prewarm)
{
    pthread_mutex_lock(&prewarm->lock);
    prewarm->in_driver--;
    pthread_cond_broadcast(&prewarm->changed);
    pthread_mutex_unlock(&prewarm->lock);
}

/* The same with the gate, where no crash mark is set. False: the driver must not be called. */
static bool prewarm_enter_gate(struct prewarm *prewarm)
{
    bool entered = driver_gate_enter(prewarm->setup.permit);
    if (entered && !prewarm_enter_driver(prewarm)) {
        driver_gate_leave(prewarm->setup.permit);
        entered = false;
    }
    return entered;
}

static void prewarm_leave_gate(struct prewarm *prewarm)
{
    prewarm_leave_driver(prewarm);
    driver_gate_leave(prewarm->setup.permit);
}

void prewarm_end_thread(struct prewarm *prewarm)
{
    pthread_mutex_lock(&prewarm->lock);
    prewarm->threads--;
    pthread_cond_broadcast(&prewarm->changed);
    pthread_mutex_unlock(&prewarm->lock);
}

bool prewarm_start_thread(struct prewarm *prewarm, void *(*function)(void *argument),
                          void *argument)
{
    pthread_mutex_lock(&prewarm->lock);
    prewarm->threads++;
    pthread_mutex_unlock(&prewarm->lock);
    bool started = own_thread_start(function, argument, STACK_BYTES);
    if (!started) {
        prewarm_end_thread(prewarm);
    }
    return started;
}

/* Whether the program creates a pipeline, or has asked for one a moment ago. Under the lock. */
static bool prewarm_program_is_busy(struct prewarm *prewarm, uint64_t now_ns)
{
    const uint64_t requests = stats_get(prewarm->setup.stats, STATS_pipelines_requested);
    if (requests != prewarm->seen_requests ||
        device_cache_is_creating(prewarm->setup.device_cache)) {
        prewarm->seen_requests = requests;
        prewarm->busy_ns = now_ns;
    }
    return prewarm->busy_ns != 0 && now_ns - prewarm->busy_ns < QUIET_NS;
}

/* Whether the machine, or the control group, has little memory left; false between two checks.
 * Under the lock. */
static bool prewarm_memory_is_short(struct prewarm *prewarm, uint64_t now_ns)
{
    if (now_ns - prewarm->memory_ns < MEMORY_POLL_NS) {
        return false;
    }
    prewarm->memory_ns = now_ns;
    uint64_t total = 0;
    const uint64_t available = machine_free_memory("", &total);
    return available < MEMORY_SPARE && available < total / 10;
}

/* A program that creates one pipeline a frame is not in a creation at most polls. */
static uint64_t prewarm_pause_ns(const struct prewarm *prewarm, uint64_t waited_ns)
{
    const uint64_t pause_ns = waited_ns / ROOM_POLL_PART;
    if (pause_ns < ROOM_POLL_NS || !device_cache_is_creating(prewarm->setup.device_cache)) {
        return ROOM_POLL_NS;
    }
    return pause_ns < ROOM_POLL_MAX_NS ? pause_ns : ROOM_POLL_MAX_NS;
}

/* Waits until the program leaves room for a compile. False: prewarm is to end. */
static bool prewarm_wait_for_room(struct prewarm *prewarm)
{
    pthread_mutex_lock(&prewarm->lock);
    uint64_t now_ns = clock_now_ns();
    const uint64_t start_ns = now_ns;
    while (!atomic_load(&prewarm->stop) && prewarm_program_is_busy(prewarm, now_ns)) {
        const struct timespec until =
            clock_timespec(now_ns + prewarm_pause_ns(prewarm, now_ns - start_ns));
        pthread_cond_timedwait(&prewarm->changed, &prewarm->lock, &until);
        now_ns = clock_now_ns();
    }
    const bool is_shut_in = sandbox_is_closed();
    const bool is_short = !is_shut_in && prewarm_memory_is_short(prewarm, now_ns);
    pthread_mutex_unlock(&prewarm->lock);
    if (is_short) {
        log_info("prewarm ends: memory is short");
    }
    if (is_short || is_shut_in || atomic_load(prewarm->setup.has_callback)) {
        prewarm_stop(prewarm);
    }
    return !atomic_load(&prewarm->stop);
}

/* Ends if the cache holds nothing after several pipelines; a few may be such as the driver does not
 * keep. */
static void prewarm_look_at_cache(struct prewarm *prewarm)
{
    const struct driver_caches *caches = device_cache_caches(prewarm->setup.device_cache);
    size_t size = 0;
    if (!prewarm_enter_driver(prewarm)) {
        return;
    }
    const bool told = driver_cache_query_size(caches, prewarm->cache, &size);
    prewarm_leave_driver(prewarm);
    if (told && size <= DRIVER_CACHE_EMPTY_SIZE) {
        log_info("prewarm ends: the driver's cache holds nothing");
        prewarm_stop(prewarm);
    }
}

static void prewarm_trace(struct prewarm *prewarm, struct digest pipeline,
                          enum replay_outcome outcome, uint64_t start_ns, uint64_t end_ns)
{
    if (prewarm->setup.trace) {
        trace_put(prewarm->setup.trace, &(struct trace_event){
                                            .kind = TRACE_PREWARM,
                                            .name = "prewarm",
                                            .start_ns = start_ns,
                                            .end_ns = end_ns,
                                            .result = replay_outcome_id(outcome),
                                            .content = pipeline,
                                        });
    }
}

static void prewarm_note_outcome(struct prewarm *prewarm, struct digest pipeline,
                                 enum replay_outcome outcome, uint64_t took_ns)
{
    if (outcome != REPLAY_COMPILED && outcome != REPLAY_HIT) {
        if (replay_is_refusal(outcome)) {
            atomic_fetch_add(&prewarm->refused[outcome], 1);
        }
        log_debug("not prewarmed: %s", replay_outcome_id(outcome));
        return;
    }
    const bool compiled = outcome == REPLAY_COMPILED;
    stats_add(prewarm->setup.stats, STATS_pipelines_prewarmed, compiled);
    if (prewarm->setup.recorder) {
        recorder_prewarmed(prewarm->setup.recorder, pipeline);
    }
    /* Without feedback it may have been a hit: then the cache is asked. */
    device_cache_prewarmed(prewarm->setup.device_cache, compiled && prewarm->setup.feedback,
                           took_ns);
    if (compiled && atomic_fetch_add(&prewarm->compiled, 1) + 1 == INEFFECTIVE_AFTER) {
        prewarm_look_at_cache(prewarm);
    }
}

static bool prewarm_find(void *user, bool is_code, struct digest content, const void **ret_data,
                         size_t *ret_size)
{
    return recipes_find(user, is_code ? RECIPE_CODE : RECIPE_FORM, content, ret_data, ret_size);
}

static unsigned prewarm_inline_stages(void *user, struct digest environment, struct digest pipeline)
{
    return recipes_inline_stages(user, environment, pipeline);
}

unsigned prewarm_count_threads(void)
{
    unsigned half = machine_cores("") / 2;
    half = half > 0 ? half : 1;
    return half < RECIPE_CRASHES_THREADS ? half : RECIPE_CRASHES_THREADS;
}

/* A replay by the next layer's commands of the program's own device. NULL: out of memory. */
static struct replay *prewarm_replay_new(const struct prewarm *prewarm)
{
    const struct driver_caches *driver = device_cache_caches(prewarm->setup.device_cache);
    /* A loop over their places: assignments would be five times as much code. */
    static const uint16_t places[] = {
#define X(member, name) offsetof(device_table, name),
        REPLAY_COMMANDS(X)
#undef X
    };
    struct replay_commands commands;
    static_assert(sizeof commands == sizeof places / sizeof places[0] * sizeof(PFN_vkVoidFunction),
                  "a command for each place");
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        memcpy((uint8_t *)&commands + i * sizeof(PFN_vkVoidFunction),
               (const uint8_t *)driver->table + places[i], sizeof(PFN_vkVoidFunction));
    }
    const struct replay_source source = {
        prewarm_find, prewarm->list.allows_inline_code ? prewarm_inline_stages : NULL,
        prewarm->recipes};
    return replay_new(driver->device, &commands, prewarm->cache, &source, &prewarm->limits,
                      prewarm->setup.feedback);
}

/* By how busy the machine was at the last compile. NULL: nothing may be begun now. */
static const struct prewarm_item *prewarm_take(struct prewarm *prewarm)
{
    const unsigned slowdown = prewarm_watch_slowdown(&prewarm->watch);
    pthread_mutex_lock(&prewarm->lock);
    const struct prewarm_item *item = prewarm_list_take(&prewarm->list, slowdown);
    pthread_mutex_unlock(&prewarm->lock);
    return item;
}

static void prewarm_learn(struct prewarm *prewarm, const struct recipe_use *use, uint32_t us)
{
    unsigned visits = 0;
    const uint64_t bytes = prewarm_code_bytes(prewarm->recipes, use->pipeline, &visits);
    pthread_mutex_lock(&prewarm->lock);
    prewarm_estimate_add(&prewarm->list.estimate, bytes, us);
    pthread_mutex_unlock(&prewarm->lock);
}

static void prewarm_compile_one(struct prewarm_runner *runner, struct replay *replay,
                                const struct recipe_use *use)
{
    struct prewarm *prewarm = runner->prewarm;
    if (atomic_load(&prewarm->stop) || !prewarm_enter_driver(prewarm)) {
        return;
    }
    prewarm_watch_begin(&prewarm->watch, runner->number, use);
    const uint64_t start_ns = clock_now_ns();
    const enum replay_outcome outcome = replay_pipeline(replay, use->environment, use->pipeline);
    const uint64_t end_ns = clock_now_ns();
    prewarm_leave_driver(prewarm);
    const uint32_t us = prewarm_watch_end(&prewarm->watch, runner->number);
    prewarm_trace(prewarm, use->pipeline, outcome, start_ns, end_ns);
    prewarm_note_outcome(prewarm, use->pipeline, outcome, end_ns - start_ns);
    if (outcome == REPLAY_COMPILED) {
        prewarm_learn(prewarm, use, us);
    }
}

static void prewarm_replay_one(struct prewarm_runner *runner, struct replay *replay,
                               const struct recipe_use *use)
{
    struct prewarm *prewarm = runner->prewarm;
    /* Set the crash mark inside the gate, so that the end of the process waits and leaves no false
     * mark. */
    if (!driver_gate_enter(prewarm->setup.permit)) {
        prewarm_stop(prewarm);
        return;
    }
    if (!sandbox_is_closed() &&
        recipe_crashes_begin(prewarm->crashes, runner->number, use->pipeline)) {
        prewarm_compile_one(runner, replay, use);
        /* A mark that a sandbox makes stay costs the pipeline: it is not compiled ahead any more.
         */
        if (!sandbox_is_closed()) {
            recipe_crashes_end(prewarm->crashes, runner->number);
        }
    } else {
        prewarm_stop(prewarm);
    }
    driver_gate_leave(prewarm->setup.permit);
}

/* Where the driver must not be called: at the end of the process its objects are left to it; where
 * it may call the program back, prewarm_finish deletes them. */
static void prewarm_delete_replay(struct prewarm_runner *runner, struct replay *replay)
{
    struct prewarm *prewarm = runner->prewarm;
    if (prewarm_enter_gate(prewarm)) {
        replay_delete(replay);
        prewarm_leave_gate(prewarm);
    } else {
        prewarm->left[runner->number] = replay;
    }
}

static void prewarm_run(struct prewarm_runner *runner)
{
    struct prewarm *prewarm = runner->prewarm;
    struct replay *replay = prewarm_replay_new(prewarm);
    trace_thread(prewarm->setup.trace, "warmpipe prewarm");
    while (replay && prewarm_wait_for_room(prewarm)) {
        const struct prewarm_item *item = prewarm_take(prewarm);
        if (!item) {
            break;
        }
        prewarm_replay_one(runner, replay, item->use);
    }
    prewarm_delete_replay(runner, replay);
}

static void *prewarm_run_beside(void *argument)
{
    struct prewarm_runner *runner = argument;
    own_thread_give_way();
    prewarm_run(runner);
    prewarm_end_thread(runner->prewarm);
    return NULL;
}

/* When all threads have ended. */
static void prewarm_tell_rest(const struct prewarm *prewarm)
{
    size_t rest = 0;
    for (size_t i = 0; i < prewarm->list.count; i++) {
        rest += !prewarm->list.items[i].is_taken;
    }
    if (rest > 0 && !atomic_load(&prewarm->stop)) {
        log_debug("%zu not prewarmed: may take long", rest);
    }
}

/* Here, where the end of the device waits for it: whoever begins prewarm may have waited for a disk
 * until the instance was gone. False: the driver must not be called. */
static bool prewarm_take_limits(struct prewarm *prewarm, unsigned threads)
{
    const struct prewarm_setup *setup = &prewarm->setup;
    struct replay_limits limits;
    if (!prewarm_enter_gate(prewarm)) {
        return false;
    }
    replay_limits_query(setup->identity_commands->get_properties,
                        setup->identity_commands->get_properties2, setup->api_version,
                        setup->physical_device, &limits);
    prewarm_leave_gate(prewarm);
    prewarm->limits = replay_limits_share(&limits, threads);
    return true;
}

void prewarm_run_all(struct prewarm *prewarm, unsigned threads)
{
    struct prewarm_runner runners[RECIPE_CRASHES_THREADS];
    unsigned started = 1;
    if (!prewarm_take_limits(prewarm, threads)) {
        prewarm_stop(prewarm);
        return;
    }
    for (unsigned i = 0; i < threads; i++) {
        runners[i] = (struct prewarm_runner){.prewarm = prewarm, .number = i};
    }
    while (started < threads && started < prewarm->list.count &&
           prewarm_start_thread(prewarm, prewarm_run_beside, &runners[started])) {
        started++;
    }
    prewarm_run(&runners[0]);
    /* Threads are counted, not joined: a process may end without asking for them. */
    pthread_mutex_lock(&prewarm->lock);
    while (prewarm->threads > 1) {
        pthread_cond_wait(&prewarm->changed, &prewarm->lock);
    }
    pthread_mutex_unlock(&prewarm->lock);
    prewarm_tell_rest(prewarm);
}
