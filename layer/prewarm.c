#include "prewarm.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/machine.h"
#include "driver_gate.h"
#include "injector.h"
#include "own_thread.h"
#include "prewarm_list.h"
#include "prewarm_replay.h"
#include "prewarm_room.h"
#include "trace.h"

/* Drivers compile on this stack, as they do on the program's. */
#define STACK_BYTES ((size_t)8 << 20)

/* Longest wait, when the device goes, for a disk. */
#define DISK_WAIT_NS (5 * CLOCK_S)

/* Between two looks whether it has. */
#define POLL_NS (2 * CLOCK_MS)

struct prewarm {
    struct prewarm_setup setup;
    pid_t process;
    bool begun;
    struct replay_limits limits; /* of this driver; another one made the recipes */

    struct recipes *recipes;
    struct recipe_crashes *crashes;
    struct prewarm_list list;
    VkPipelineCache cache;
    atomic_size_t next; /* of the list */
    atomic_uint compiled;

    pthread_mutex_t lock;
    pthread_cond_t changed; /* it is to stop, or a thread has ended; by the monotonic clock */
    unsigned threads;       /* that have not; the first opens what is needed, and starts others */
    bool opened;            /* it has, and waits for the disk no more */
    atomic_bool stop;
    struct prewarm_room room;
};

/* One thread of it; number 0 is the first. */
struct runner {
    struct prewarm *prewarm;
    unsigned number;
};

static void stop(struct prewarm *prewarm)
{
    pthread_mutex_lock(&prewarm->lock);
    atomic_store(&prewarm->stop, true);
    pthread_cond_broadcast(&prewarm->changed);
    pthread_mutex_unlock(&prewarm->lock);
}

/* Threads are counted, not joined: a process may end without asking for them. */
static void wait_for_threads(struct prewarm *prewarm, unsigned left)
{
    pthread_mutex_lock(&prewarm->lock);
    while (prewarm->threads > left) {
        pthread_cond_wait(&prewarm->changed, &prewarm->lock);
    }
    pthread_mutex_unlock(&prewarm->lock);
}

/* When it is to end. As long as the driver takes, but not for a disk: false. */
static bool wait_for_end(struct prewarm *prewarm)
{
    struct timespec until = clock_timespec(clock_now_ns() + DISK_WAIT_NS);
    int result = 0;
    pthread_mutex_lock(&prewarm->lock);
    while (prewarm->threads > 0 && !prewarm->opened && result != ETIMEDOUT) {
        result = pthread_cond_timedwait(&prewarm->changed, &prewarm->lock, &until);
    }
    bool answered = prewarm->threads == 0 || prewarm->opened;
    pthread_mutex_unlock(&prewarm->lock);
    if (answered) {
        wait_for_threads(prewarm, 0);
    }
    return answered;
}

/* The last that a thread does with it. */
static void end_thread(struct prewarm *prewarm)
{
    pthread_mutex_lock(&prewarm->lock);
    --prewarm->threads;
    pthread_cond_broadcast(&prewarm->changed);
    pthread_mutex_unlock(&prewarm->lock);
}

static bool start_thread(struct prewarm *prewarm, void *(*function)(void *argument), void *argument)
{
    pthread_mutex_lock(&prewarm->lock);
    ++prewarm->threads;
    pthread_mutex_unlock(&prewarm->lock);
    bool started = own_thread_start(function, argument, STACK_BYTES);
    if (!started) {
        end_thread(prewarm);
    }
    return started;
}

static void wait_a_moment(struct prewarm *prewarm, uint64_t now_ns)
{
    struct timespec until = clock_timespec(now_ns + POLL_NS);
    pthread_cond_timedwait(&prewarm->changed, &prewarm->lock, &until);
}

/* Waits until the program leaves room for a compile. False: there shall be no more. */
static bool wait_for_room(struct prewarm *prewarm)
{
    pthread_mutex_lock(&prewarm->lock);
    uint64_t now_ns = clock_now_ns();
    while (!atomic_load(&prewarm->stop) &&
           prewarm_room_is_taken(&prewarm->room, &prewarm->setup, now_ns)) {
        wait_a_moment(prewarm, now_ns);
        now_ns = clock_now_ns();
    }
    bool is_short = prewarm_room_is_short(&prewarm->room, now_ns);
    pthread_mutex_unlock(&prewarm->lock);
    if (is_short) {
        log_info("prewarm ends: memory is short");
    }
    if (is_short || atomic_load(prewarm->setup.has_callback)) {
        stop(prewarm);
    }
    return !atomic_load(&prewarm->stop);
}

/* Into a cache that holds nothing it would all be in vain. */
static void look_at_cache(struct prewarm *prewarm)
{
    const struct driver_caches *caches = injector_caches(prewarm->setup.injector);
    if (driver_cache_size(caches, prewarm->cache) <= DRIVER_CACHE_HEADER_SIZE) {
        log_info("prewarm ends: the driver's cache holds nothing");
        stop(prewarm);
    }
}

static void note_outcome(struct prewarm *prewarm, enum replay_outcome outcome)
{
    if (outcome != REPLAY_COMPILED && outcome != REPLAY_HIT) {
        log_debug("not prewarmed: %s", replay_outcome_id(outcome));
        return;
    }
    bool compiled = outcome == REPLAY_COMPILED;
    stats_add(prewarm->setup.stats, STATS_pipelines_prewarmed, compiled);
    injector_prewarmed(prewarm->setup.injector, compiled);
    if (compiled && atomic_fetch_add(&prewarm->compiled, 1) == 0) {
        look_at_cache(prewarm);
    }
}

static void replay_one(struct runner *runner, struct replay *replay, struct digest pipeline)
{
    struct prewarm *prewarm = runner->prewarm;
    /* What is marked is marked inside the gate, for which the end of the process waits: it must not
     * end with the mark of what has not crashed. */
    if (!driver_gate_enter()) {
        stop(prewarm);
        return;
    }
    if (recipe_crashes_begin(prewarm->crashes, runner->number, pipeline)) {
        note_outcome(prewarm, prewarm_replay(replay, prewarm->setup.trace, pipeline));
        recipe_crashes_end(prewarm->crashes, runner->number);
    } else {
        stop(prewarm);
    }
    driver_gate_leave();
}

/* What is left of a device when the process ends is the driver's. */
static void delete_replay(struct replay *replay)
{
    if (driver_gate_enter()) {
        replay_delete(replay);
        driver_gate_leave();
    }
}

static void run(struct runner *runner)
{
    struct prewarm *prewarm = runner->prewarm;
    struct replay *replay =
        prewarm_replay_new(&prewarm->setup, prewarm->recipes, prewarm->cache, &prewarm->limits);
    trace_thread(prewarm->setup.trace, "warmpipe prewarm");
    while (replay && wait_for_room(prewarm)) {
        size_t i = atomic_fetch_add(&prewarm->next, 1);
        if (i >= prewarm->list.count) {
            break;
        }
        replay_one(runner, replay, prewarm->list.uses[i]->pipeline);
    }
    delete_replay(replay);
}

static void *work_along(void *argument)
{
    struct runner *runner = argument;
    setpriority(PRIO_PROCESS, 0, OWN_THREAD_NICE); /* of this thread alone, on Linux */
    run(runner);
    end_thread(runner->prewarm);
    return NULL;
}

static unsigned count_threads(void)
{
    unsigned half = machine_cores("") / 2;
    half = half > 0 ? half : 1;
    return half < RECIPE_CRASHES_THREADS ? half : RECIPE_CRASHES_THREADS;
}

/* False: nothing can be gone through. */
static bool open_all(struct prewarm *prewarm, unsigned threads)
{
    const struct prewarm_setup *setup = &prewarm->setup;
    struct digest identity = injector_identity(setup->injector);
    enum reason reason =
        recipes_open(setup->config->root, setup->app, RECIPES_READ, &prewarm->recipes);
    if (reason == REASON_ok && !atomic_load(&prewarm->stop)) {
        reason = recipe_crashes_open(setup->config->root, setup->app, identity, threads,
                                     &prewarm->crashes);
    }
    if (reason != REASON_ok) {
        log_info("no prewarm (%s)", reason_id(reason));
    }
    if (!prewarm->crashes) {
        return false;
    }
    prewarm_list_make(prewarm->recipes, prewarm->crashes, setup->environment,
                      setup->environment_size, &prewarm->list);
    return true;
}

/* False: the process ends, or the driver gives no cache. */
static bool take_cache(struct prewarm *prewarm)
{
    if (driver_gate_enter()) {
        prewarm->cache = injector_cache(prewarm->setup.injector);
        driver_gate_leave();
    }
    return prewarm->cache != VK_NULL_HANDLE;
}

static void run_all(struct prewarm *prewarm, unsigned threads)
{
    struct runner runners[RECIPE_CRASHES_THREADS];
    unsigned started = 1;
    for (unsigned i = 0; i < threads; ++i) {
        runners[i] = (struct runner){.prewarm = prewarm, .number = i};
    }
    while (started < threads && started < prewarm->list.count &&
           start_thread(prewarm, work_along, &runners[started])) {
        ++started;
    }
    run(&runners[0]);
    wait_for_threads(prewarm, 1);
}

/* False: it is to end. From here on it is waited for. */
static bool note_opened(struct prewarm *prewarm)
{
    pthread_mutex_lock(&prewarm->lock);
    prewarm->opened = true;
    pthread_cond_broadcast(&prewarm->changed);
    pthread_mutex_unlock(&prewarm->lock);
    return !atomic_load(&prewarm->stop);
}

static void *work(void *argument)
{
    struct prewarm *prewarm = argument;
    setpriority(PRIO_PROCESS, 0, OWN_THREAD_NICE);
    unsigned threads = count_threads();
    if (open_all(prewarm, threads)) {
        if (note_opened(prewarm) && prewarm->list.count > 0 && take_cache(prewarm)) {
            run_all(prewarm, threads);
        }
        log_info("prewarmed %u of %zu pipelines", atomic_load(&prewarm->compiled),
                 prewarm->list.count);
    }
    recipe_crashes_close(prewarm->crashes);
    prewarm_list_free(&prewarm->list);
    recipes_close(prewarm->recipes);
    end_thread(prewarm);
    return NULL;
}

static bool is_allowed(const struct prewarm_setup *setup)
{
    const struct policy *policy = injector_policy(setup->injector);
    return setup->config->prewarm != PREWARM_OFF && policy->inject && policy->persist &&
           !policy->serialize && !atomic_load(setup->has_callback);
}

static bool has_recipes(const struct prewarm_setup *setup)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/%s/recipes", setup->config->root, setup->app);
    return length < (int)sizeof path && access(path, F_OK) == 0;
}

/* Where there are recipes. False: there can be no thread. */
static bool begin(struct prewarm *prewarm)
{
    const struct prewarm_setup *setup = &prewarm->setup;
    prewarm->begun = true;
    if (!has_recipes(setup)) {
        return true;
    }
    replay_limits_query(setup->get_properties, setup->get_properties2, setup->physical_device,
                        &prewarm->limits);
    return start_thread(prewarm, work, prewarm);
}

/* On the thread of the program that would have loaded the blob, or on one of ours. */
static void begin_after_all(void *user)
{
    struct prewarm *prewarm = user;
    if (!prewarm->begun && prewarm->process == getpid()) {
        begin(prewarm);
    }
}

static void prewarm_free(struct prewarm *prewarm)
{
    pthread_cond_destroy(&prewarm->changed);
    pthread_mutex_destroy(&prewarm->lock);
    free(prewarm);
}

struct prewarm *prewarm_start(const struct prewarm_setup *setup)
{
    struct prewarm *prewarm = is_allowed(setup) ? calloc(1, sizeof *prewarm) : NULL;
    if (!prewarm) {
        return NULL;
    }
    prewarm->setup = *setup;
    prewarm->process = getpid();
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&prewarm->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&prewarm->lock, NULL);
    if (setup->config->prewarm == PREWARM_AUTO && injector_has_file(setup->injector)) {
        injector_set_unusable(setup->injector, &(struct injector_unusable){
                                                   .tell = begin_after_all,
                                                   .user = prewarm,
                                               });
    } else if (!begin(prewarm)) {
        prewarm_free(prewarm);
        prewarm = NULL;
    }
    return prewarm;
}

bool prewarm_finish(struct prewarm *prewarm)
{
    if (!prewarm) {
        return true;
    }
    if (prewarm->process != getpid()) {
        return false;
    }
    stop(prewarm);
    bool ended = wait_for_end(prewarm);
    if (ended) {
        /* Not before: a thread of ours that loads the blob reads it. */
        injector_set_unusable(prewarm->setup.injector, &(struct injector_unusable){0});
        prewarm_free(prewarm);
    }
    return ended;
}
