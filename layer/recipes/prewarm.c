// SPDX-License-Identifier: Apache-2.0
#include "layer/recipes/prewarm.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "layer/cache/device_cache.h"
#include "layer/recipes/prewarm_run.h"
#include "layer/recipes/recorder.h"
#include "layer/worker/own_thread.h"
#include "layer/worker/own_wait.h"
#include "layer/worker/sandbox.h"

/* How often the first thread looks whether the device cache is loaded: first, and then each time a
 * part of the pause later, for where the worker must not load it the program may ask late or never.
 */
#define LOAD_POLL_NS   (2 * CLOCK_MS)
#define LOAD_POLL_PART 8

/* Where nothing may be written, as in the image of a container, crashes are known but not marked.
 */
static enum status prewarm_open_crashes(struct prewarm *prewarm, struct digest identity,
                                        unsigned threads)
{
    const struct config *config = prewarm->setup.config;
    enum status reason = STATUS_read_only;
    if (!config->read_only) {
        reason = recipe_crashes_open(config->root, prewarm->setup.app, identity, threads,
                                     &prewarm->crashes);
    }
    if (reason == STATUS_read_only || reason == STATUS_read_only_disk ||
        reason == STATUS_unreadable) {
        reason =
            recipe_crashes_open(config->root, prewarm->setup.app, identity, 0, &prewarm->crashes);
    }
    return reason;
}

/* Nobody will go on with what was left unfinished: `warm` goes through all of it. */
static bool prewarm_is_deadly(const struct prewarm *prewarm)
{
    const bool deadly = recipe_crashes_are_many(prewarm->crashes);
    if (deadly) {
        const struct digest *listed;
        const size_t count = recipe_crashes_list(prewarm->crashes, &listed);
        if (prewarm->setup.recorder) {
            recorder_accuse(prewarm->setup.recorder,
                            device_cache_identity(prewarm->setup.device_cache), listed, count);
        }
        device_cache_set_unfinished(prewarm->setup.device_cache, false);
        log_warn("no prewarm: %s (%s)", status_text(STATUS_prewarm_died),
                 status_id(STATUS_prewarm_died));
    }
    return deadly;
}

/* False: recipes or crash marks cannot be opened, or too many processes have died. */
static bool prewarm_open(struct prewarm *prewarm, unsigned threads)
{
    const struct prewarm_setup *setup = &prewarm->setup;
    struct digest identity = device_cache_identity(setup->device_cache);
    enum status reason =
        recipes_open(setup->config->root, setup->app, RECIPES_READ, &prewarm->recipes);
    if (reason == STATUS_ok && !atomic_load(&prewarm->stop)) {
        reason = prewarm_open_crashes(prewarm, identity, threads);
        prewarm_watch_open(&prewarm->watch, prewarm->crashes);
    }
    if (reason != STATUS_ok) {
        log_info("no prewarm (%s)", status_id(reason));
    }
    return prewarm->crashes && !prewarm_is_deadly(prewarm);
}

/* Waits until the worker, or a thread of the program, has loaded the device cache: the disk may
 * keep them. False: it is to end, the driver gives no cache, or the file is withheld, also where it
 * is unfinished. For want of memory: what would be compiled in each start could not be saved. After
 * a crash: such a start does nothing that the program would not do. */
static bool prewarm_take_cache(struct prewarm *prewarm)
{
    struct device_cache *device_cache = prewarm->setup.device_cache;
    device_cache_load_soon(device_cache);
    pthread_mutex_lock(&prewarm->lock);
    for (uint64_t pause_ns = LOAD_POLL_NS;
         !atomic_load(&prewarm->stop) && !device_cache_is_loaded(device_cache);
         pause_ns += pause_ns / LOAD_POLL_PART) {
        const struct timespec until = clock_timespec(clock_now_ns() + pause_ns);
        pthread_cond_timedwait(&prewarm->changed, &prewarm->lock, &until);
    }
    pthread_mutex_unlock(&prewarm->lock);
    prewarm->cache = device_cache_loaded_cache(device_cache);
    return prewarm->cache != VK_NULL_HANDLE && !atomic_load(&prewarm->stop) &&
           !device_cache_is_withheld(device_cache);
}

/* Loading the blob first may show that it is of no use: then the list is of all recipes. */
static bool prewarm_make_list(struct prewarm *prewarm)
{
    const struct prewarm_setup *setup = &prewarm->setup;
    if (!atomic_load(&prewarm->all) && !prewarm_take_cache(prewarm)) {
        return false;
    }
    prewarm_list_make(prewarm->recipes, prewarm->crashes, setup->environment,
                      setup->environment_size, atomic_load(&prewarm->all), &prewarm->list);
    return prewarm->list.count > 0 && prewarm_take_cache(prewarm) && !sandbox_is_closed();
}

/* Who ends before all is compiled ahead leaves that to the next start. */
static void prewarm_run_noted(struct prewarm *prewarm, unsigned threads)
{
    struct device_cache *device_cache = prewarm->setup.device_cache;
    const bool is_of_all = atomic_load(&prewarm->all);
    if (is_of_all) {
        device_cache_set_unfinished(device_cache, true);
    }
    prewarm_run_all(prewarm, threads);
    if (is_of_all && !atomic_load(&prewarm->stop) && !sandbox_is_closed()) {
        device_cache_set_unfinished(device_cache, false);
    }
}

static void prewarm_tell_refused(struct prewarm *prewarm)
{
    for (int i = 0; i < REPLAY_OUTCOME_COUNT; i++) {
        const unsigned count = atomic_load(&prewarm->refused[i]);
        if (count > 0) {
            log_warn("%u %s of '%s' not given to the driver (%s)", count,
                     text_noun(count, "recipe", "recipes"), prewarm->setup.app,
                     replay_outcome_id((enum replay_outcome)i));
        }
    }
}

static void *prewarm_main(void *argument)
{
    struct prewarm *prewarm = argument;
    /* A thread has the priority of the one that starts it, and the program waits for the worker. */
    device_cache_wake_worker(prewarm->setup.device_cache);
    own_thread_give_way();
    bool is_open = !sandbox_is_closed();
    const unsigned threads = is_open ? prewarm_count_threads() : 0;
    is_open = is_open && prewarm_open(prewarm, threads);
    if (is_open && !atomic_load(&prewarm->stop) && prewarm_make_list(prewarm)) {
        prewarm_run_noted(prewarm, threads);
    }
    if (!sandbox_is_closed()) {
        if (is_open) {
            prewarm_tell_refused(prewarm);
            log_info("prewarmed %u of %zu %s", atomic_load(&prewarm->compiled), prewarm->list.count,
                     text_noun(prewarm->list.count, "pipeline", "pipelines"));
        }
        recipe_crashes_close(prewarm->crashes);
        recipes_close(prewarm->recipes);
    }
    prewarm_list_free(&prewarm->list);
    prewarm_end_thread(prewarm);
    return NULL;
}

static bool prewarm_has_recipes(const struct prewarm_setup *setup)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/%s/recipes", setup->config->root, setup->app);
    return length < (int)sizeof path && faccessat(AT_FDCWD, path, F_OK, 0) == 0;
}

static bool prewarm_is_allowed(const struct prewarm_setup *setup)
{
    const struct policy *policy = device_cache_policy(setup->device_cache);
    return setup->config->prewarm != PREWARM_OFF && policy->inject && policy->persist &&
           !policy->serialize;
}

/* Begins where there are recipes and the driver cannot call the program back; one that has a
 * messenger in each start learns here why nothing is compiled ahead. False: no thread can be made.
 */
static bool prewarm_begin(struct prewarm *prewarm)
{
    const struct prewarm_setup *setup = &prewarm->setup;
    if (atomic_exchange(&prewarm->begun, true) || atomic_load(&prewarm->stop) ||
        !prewarm_has_recipes(setup)) {
        return true;
    }
    if (atomic_load(setup->has_callback)) {
        log_info("nothing is compiled ahead: the driver may call the program back");
        return true;
    }
    return prewarm_start_thread(prewarm, prewarm_main, prewarm);
}

/* On the thread of the program that opens the recipes. */
static void prewarm_begin_with_unsaved(void *user)
{
    struct prewarm *prewarm = user;
    if (prewarm->process == getpid()) {
        prewarm_begin(prewarm);
    }
}

/* The blob is of no use: on the thread of the program that would have loaded it, or on the worker.
 */
static void prewarm_begin_with_all(void *user)
{
    struct prewarm *prewarm = user;
    atomic_store(&prewarm->all, true);
    prewarm_begin_with_unsaved(prewarm);
}

static void prewarm_free(struct prewarm *prewarm)
{
    prewarm_watch_release(&prewarm->watch);
    pthread_cond_destroy(&prewarm->changed);
    pthread_mutex_destroy(&prewarm->lock);
    free(prewarm);
}

struct prewarm *prewarm_start(const struct prewarm_setup *setup)
{
    struct prewarm *prewarm = prewarm_is_allowed(setup) ? calloc(1, sizeof *prewarm) : NULL;
    if (!prewarm) {
        return NULL;
    }
    prewarm->setup = *setup;
    prewarm->process = getpid();
    clock_condition_init(&prewarm->changed);
    pthread_mutex_init(&prewarm->lock, NULL);
    prewarm_watch_init(&prewarm->watch, setup->recorder);
    if (setup->config->prewarm == PREWARM_AUTO && device_cache_has_file(setup->device_cache) &&
        !device_cache_is_unfinished(setup->device_cache)) {
        device_cache_set_unusable(setup->device_cache, prewarm_begin_with_all, prewarm);
        if (setup->recorder) {
            recorder_set_unsaved(setup->recorder, prewarm_begin_with_unsaved, prewarm);
        }
        return prewarm;
    }
    atomic_store(&prewarm->all, true);
    if (!prewarm_begin(prewarm)) {
        prewarm_watch_finish(&prewarm->watch);
        prewarm_free(prewarm);
        prewarm = NULL;
    }
    return prewarm;
}

/* Waits for the end: for the driver however long, for a disk as long as this thread has patience.
 * False: the disk has not answered. */
static bool prewarm_wait_for_end(struct prewarm *prewarm)
{
    pthread_mutex_lock(&prewarm->lock);
    while (prewarm->threads > 0) {
        if (prewarm->in_driver > 0) {
            pthread_cond_wait(&prewarm->changed, &prewarm->lock);
        } else if (!timed_wait(&prewarm->changed, &prewarm->lock, WAIT_FOREVER) &&
                   prewarm->in_driver == 0) {
            break;
        }
    }
    prewarm->abandoned = prewarm->threads > 0;
    const bool ended = !prewarm->abandoned;
    pthread_mutex_unlock(&prewarm->lock);
    return ended;
}

bool prewarm_finish(struct prewarm *prewarm)
{
    if (!prewarm) {
        return true;
    }
    if (prewarm->process != getpid()) {
        return false;
    }
    /* It may begin what is stopped here. */
    const bool settled = device_cache_settle_load(prewarm->setup.device_cache);
    prewarm_stop(prewarm);
    const bool ended =
        prewarm_wait_for_end(prewarm) && prewarm_watch_finish(&prewarm->watch) && settled;
    if (ended) {
        /* Not before: a thread of ours that loads the blob reads it. */
        device_cache_set_unusable(prewarm->setup.device_cache, NULL, NULL);
        if (prewarm->setup.recorder) {
            recorder_set_unsaved(prewarm->setup.recorder, NULL, NULL);
        }
        for (unsigned i = 0; i < RECIPE_CRASHES_THREADS; i++) {
            replay_delete(prewarm->left[i]);
        }
        prewarm_free(prewarm);
    }
    return ended;
}
