// SPDX-License-Identifier: Apache-2.0
#include "tools/warm/warm.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/files/program.h"

/* Time between two saves; where a save takes long, REPLAY_SAVE_SHARE times as long as it took. */
#define REPLAY_SAVE_INTERVAL_NS (10 * CLOCK_S)
#define REPLAY_SAVE_SHARE       20

/* A cache that holds nothing after as many compiles never will, as with lavapipe: the layer's own
 * number. */
#define REPLAY_LOOK_AFTER 8

/* The process. */
struct warm_replay {
    const struct warm_target *target;
    struct warm_shared *shared;
    struct warm_cache cache;
    struct pipeline_keys keys; /* of the program's devices */
    bool other_settings;       /* the drivers' were not the program's before */
    pthread_mutex_t alone;     /* where the driver's caches must not be used by two threads */
    pthread_mutex_t lacks;     /* of the shared memory: new names */
    sigset_t signals;          /* blocked; the main thread waits for them */
    uint64_t next_save_ns;
    bool has_crashed;          /* so that what else crashes this driver is to be found */
    _Atomic unsigned compiled; /* pipelines */
    atomic_bool is_in_vain;    /* the driver keeps nothing: the rest is not compiled */
};

/* The worker pool: threads that replay the items of one environment into one cache. */
struct replay_pool {
    struct warm_replay *process;
    const struct warm_vulkan *vulkan;
    const size_t *items; /* indices into the recipes' items */
    size_t item_count;
    _Atomic size_t next;
    _Atomic unsigned working;
    unsigned jobs;    /* workers at most */
    pthread_t leader; /* is sent SIGUSR1 when the last worker ends */
    unsigned count;
    struct replay_worker {
        struct replay_pool *pool;
        unsigned index;
        pthread_t thread;
    } workers[WARM_MAX_JOBS];
};

static _Noreturn void replay_end(struct warm_replay *process, enum warm_end end)
{
    process->shared->end = end;
    _exit(0);
}

static _Noreturn void replay_fail(struct warm_replay *process, const char *text)
{
    snprintf(process->shared->failure, sizeof process->shared->failure, "%s", text);
    replay_end(process, WARM_END_FAILED);
}

/* The bit of a name among the lacks, which is added if it is new; 0: there are too many. */
static uint32_t replay_lack_bit(struct warm_replay *process, const char *name)
{
    struct warm_lacks *lacks = &process->shared->lacks;
    pthread_mutex_lock(&process->lacks);
    const uint32_t count = atomic_load(&lacks->count);
    uint32_t place = 0;
    while (place < count && strncmp(lacks->names[place], name, WARM_LACK_SIZE - 1) != 0) {
        place++;
    }
    if (place == count && count < WARM_MAX_LACKS) {
        /* The name first: a process may die in between. */
        snprintf(lacks->names[place], WARM_LACK_SIZE, "%s", name);
        atomic_store(&lacks->count, count + 1);
    }
    pthread_mutex_unlock(&process->lacks);
    return place < WARM_MAX_LACKS ? 1u << place : 0;
}

/* The worker pool. */

/* After a compile: whether it was one too many. */
static void replay_look(struct replay_pool *pool)
{
    struct warm_replay *process = pool->process;
    if (atomic_fetch_add(&process->compiled, 1) + 1 == REPLAY_LOOK_AFTER && !process->has_crashed &&
        warm_cache_is_empty(&process->cache)) {
        atomic_store(&process->is_in_vain, true);
        atomic_store(&pool->next, pool->item_count);
    }
}

static void replay_item(struct replay_pool *pool, struct replay *replay, unsigned worker,
                        size_t item)
{
    struct warm_shared *shared = pool->process->shared;
    struct warm_slot *slot = &shared->slots[worker];
    pthread_mutex_t *alone = pool->process->cache.alone;
    atomic_store(&slot->since_ns, clock_now_ns());
    atomic_store(&slot->item, (uint32_t)item + 1);
    if (alone) {
        pthread_mutex_lock(alone);
    }
    const struct recipe_use *use = pool->process->target->recipes->items[item].use;
    const enum replay_outcome outcome = replay_pipeline(replay, use->environment, use->pipeline);
    if (alone) {
        pthread_mutex_unlock(alone);
    }
    /* What was compiled by a process that then died is a hit in the next: the first success counts.
     */
    _Atomic uint8_t *result = &shared->items[item].outcome;
    if (!(atomic_load(result) == (uint8_t)REPLAY_COMPILED && outcome == REPLAY_HIT)) {
        atomic_store(result, (uint8_t)outcome);
    }
    if (outcome == REPLAY_UNSUPPORTED) {
        atomic_store(&shared->items[item].lacks,
                     replay_lack_bit(pool->process, replay_lack(replay)));
    }
    atomic_store(&slot->item, 0);
    if (outcome == REPLAY_COMPILED) {
        replay_look(pool);
    }
}

static void replay_leave_pool(struct replay_pool *pool)
{
    if (atomic_fetch_sub(&pool->working, 1) == 1) {
        pthread_kill(pool->leader, SIGUSR1);
    }
}

static void *replay_worker_main(void *user)
{
    const struct replay_worker *worker = user;
    struct replay_pool *pool = worker->pool;
    const struct warm_replay *process = pool->process;
    const struct warm_recipes *recipes = process->target->recipes;
    const struct replay_source source =
        warm_recipes_source(recipes, recipes->items[pool->items[0]].environment);
    const struct replay_limits limits = replay_limits_share(&pool->vulkan->limits, pool->jobs);
    struct replay *replay =
        replay_new(pool->vulkan->device, &pool->vulkan->commands, process->cache.handle, &source,
                   &limits, pool->vulkan->feedback);
    for (size_t i; replay && (i = atomic_fetch_add(&pool->next, 1)) < pool->item_count;) {
        replay_item(pool, replay, worker->index, pool->items[i]);
    }
    replay_delete(replay);
    replay_leave_pool(pool);
    return NULL;
}

/* Starts up to `jobs` workers, and sends SIGUSR1, which is blocked, to this thread when all have
 * ended. False: not one could be started. */
static bool replay_start_pool(struct replay_pool *pool, unsigned jobs)
{
    if (jobs > pool->item_count) {
        jobs = (unsigned)pool->item_count;
    }
    pool->leader = pthread_self();
    pool->jobs = jobs;
    atomic_store(&pool->working, 1); /* this thread: no worker is the last before all are started */
    for (unsigned i = 0; i < jobs; i++) {
        struct replay_worker *worker = &pool->workers[i];
        *worker = (struct replay_worker){.pool = pool, .index = i};
        atomic_fetch_add(&pool->working, 1);
        if (pthread_create(&worker->thread, NULL, replay_worker_main, worker) != 0) {
            atomic_fetch_sub(&pool->working, 1);
            break;
        }
        pool->count++;
    }
    replay_leave_pool(pool);
    return pool->count > 0;
}

/* The process. */

static void replay_save(struct warm_replay *process)
{
    const uint64_t begin = clock_now_ns();
    size_t size = 0;
    const enum status reason = warm_cache_save(&process->cache, &size);
    const uint64_t end = clock_now_ns();
    const uint64_t pause = REPLAY_SAVE_SHARE * (end - begin);
    process->shared->save_reason = reason;
    if (reason == STATUS_ok) {
        process->shared->saved_bytes = size;
    }
    process->next_save_ns =
        end + (pause > REPLAY_SAVE_INTERVAL_NS ? pause : REPLAY_SAVE_INTERVAL_NS);
}

/* Saves now and then until the workers have ended. A signal saves at once and ends the process,
 * because a compile may take long. */
static void replay_wait_for_pool(struct warm_replay *process)
{
    for (;;) {
        const uint64_t now = clock_now_ns();
        const struct timespec wait =
            clock_timespec(process->next_save_ns > now ? process->next_save_ns - now : 0);
        const int number = sigtimedwait(&process->signals, NULL, &wait);
        if (number == SIGUSR1) {
            return;
        }
        if (number < 0 && errno != EAGAIN) {
            continue;
        }
        replay_save(process);
        if (number > 0) {
            replay_end(process, WARM_END_INTERRUPTED);
        }
    }
}

static void replay_items(struct warm_replay *process, const struct warm_vulkan *vulkan,
                         const size_t *items, size_t count)
{
    struct replay_pool pool = {
        .process = process, .vulkan = vulkan, .items = items, .item_count = count};
    if (!warm_cache_attach(&process->cache, vulkan)) {
        replay_fail(process, "the driver makes no pipeline cache");
    }
    if (!replay_start_pool(&pool, process->target->jobs)) {
        replay_fail(process, "no thread can be started");
    }
    replay_wait_for_pool(process);
    for (unsigned i = 0; i < pool.count; i++) {
        pthread_join(pool.workers[i].thread, NULL);
    }
    replay_save(process);
    warm_cache_detach(&process->cache);
}

struct replay_needs {
    struct warm_replay *process;
    uint32_t lacks;
};

static void replay_note_lack(void *user, const char *name)
{
    struct replay_needs *needs = user;
    needs->lacks |= replay_lack_bit(needs->process, name);
}

static void replay_skip(struct warm_replay *process, const size_t *items, size_t count,
                        enum warm_outcome outcome, uint32_t lacks)
{
    for (size_t i = 0; i < count; i++) {
        struct warm_item_state *item = &process->shared->items[items[i]];
        atomic_store(&item->lacks, lacks);
        atomic_store(&item->outcome, (uint8_t)outcome);
    }
}

/* Whether what is compiled on this device is what the program's device compiles. Where nobody
 * knows: yes. */
static bool replay_has_programs_key(const struct warm_replay *process,
                                    const struct warm_vulkan *vulkan, uint32_t environment)
{
    const struct warm_target *target = process->target;
    const struct digest device =
        pipeline_key_device(target->digest, target->recipes->meanings[environment]);
    const struct pipeline_key *key = pipeline_keys_find(&process->keys, device);
    struct digest here;
    return target->any_key || !key || !target->policy.pipeline_key ||
           !pipeline_key_query(vulkan->get, vulkan->device, &here) || digest_equal(here, key->key);
}

static void replay_environment(struct warm_replay *process, uint32_t index, const size_t *items,
                               size_t count)
{
    const struct warm_target *target = process->target;
    struct warm_shared *shared = process->shared;
    struct warm_vulkan vulkan;
    struct replay_needs needs = {process, 0};
    char text[sizeof shared->failure] = "";
    switch (warm_vulkan_open(target->recipes->environments[index], target, &vulkan, text,
                             sizeof text, replay_note_lack, &needs)) {
    case WARM_MADE:
        if (target->offer_only) {
            break;
        }
        if (replay_has_programs_key(process, &vulkan, index)) {
            replay_items(process, &vulkan, items, count);
        } else {
            replay_skip(process, items, count, WARM_OTHER_KEY, 0);
        }
        break;
    case WARM_NOT_MADE:
        replay_skip(process, items, count, WARM_NOT_OFFERED, needs.lacks);
        break;
    case WARM_OTHER_DEVICE:
        if (!process->other_settings) {
            replay_fail(process, text);
        }
        /* With the program's settings it has another identity, which the program's cache is of. */
        replay_skip(process, items, count, WARM_OTHER_KEY, 0);
        break;
    case WARM_NO_DEVICE:
        replay_fail(process, text);
    }
    warm_vulkan_close(&vulkan);
}

/* The items to replay of the environment of item `from`: also what a process that died has
 * compiled. *ret_end: the first item of the next environment. */
static size_t replay_select(const struct warm_replay *process, size_t from, size_t only,
                            size_t *items, size_t *ret_end)
{
    const struct warm_recipes *recipes = process->target->recipes;
    const uint32_t environment = recipes->items[from].environment;
    size_t count = 0;
    size_t i = from;
    for (; i < recipes->item_count && recipes->items[i].environment == environment; i++) {
        const uint8_t outcome = atomic_load(&process->shared->items[i].outcome);
        const bool again = !process->target->pending_only &&
                           (outcome == (uint8_t)REPLAY_COMPILED || outcome == (uint8_t)REPLAY_HIT);
        const bool due = again || outcome == WARM_PENDING;
        if (due && (only == WARM_ALL || only == i)) {
            items[count++] = i;
        }
    }
    *ret_end = i;
    return count;
}

/* Ends with the watching process, leaves no core dump of a driver that crashes, and blocks signals,
 * also for all threads that are started later. */
static void replay_prepare(struct warm_replay *process)
{
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    sigemptyset(&process->signals);
    sigaddset(&process->signals, SIGINT);
    sigaddset(&process->signals, SIGTERM);
    sigaddset(&process->signals, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &process->signals, NULL);
}

/* What has crashed this driver is never replayed on it again. */
static void replay_skip_crashed(struct warm_replay *process)
{
    const struct warm_target *target = process->target;
    struct recipe_crashes *crashes;
    enum status reason =
        recipe_crashes_open(target->root, target->app, target->digest, 1, &crashes);
    if (reason == STATUS_io_error) {
        /* A file system without locks: what died before is known, and who dies here is watched. */
        reason = recipe_crashes_open(target->root, target->app, target->digest, 0, &crashes);
    }
    if (reason != STATUS_ok) {
        replay_fail(process, status_text(reason));
    }
    process->has_crashed = recipe_crashes_are_many(crashes);
    for (size_t i = 0; i < target->recipes->item_count; i++) {
        if (recipe_crashes_have(crashes, target->recipes->items[i].use->pipeline)) {
            process->has_crashed = true;
            atomic_store(&process->shared->items[i].outcome, WARM_CRASHED);
        }
    }
    recipe_crashes_close(crashes);
}

static void replay_open_cache(struct warm_replay *process)
{
    const struct warm_target *target = process->target;
    process->cache = (struct warm_cache){
        .store = warm_target_store(target, target->offer_only),
        .may_merge = !target->policy.single_cache,
        .max_blob = target->max_blob,
        .alone = target->policy.serialize ? &process->alone : NULL,
    };
    if (!process->cache.store) {
        replay_fail(process, "out of memory");
    }
    process->next_save_ns = clock_now_ns() + REPLAY_SAVE_INTERVAL_NS;
}

void warm_replay_run(const struct warm_target *target, struct warm_shared *shared, size_t only)
{
    struct warm_replay process = {.target = target,
                                  .shared = shared,
                                  .alone = PTHREAD_MUTEX_INITIALIZER,
                                  .lacks = PTHREAD_MUTEX_INITIALIZER};
    const struct warm_recipes *recipes = target->recipes;
    size_t *items = malloc((recipes->item_count + 1) * sizeof *items);
    replay_prepare(&process);
    if (!items) {
        replay_fail(&process, "out of memory");
    }
    if (!target->offer_only) {
        replay_skip_crashed(&process);
    }
    replay_open_cache(&process);
    struct program_facts facts;
    if (program_load(target->root, target->app, &facts) == STATUS_ok) {
        process.keys = facts.keys;
        process.other_settings = !target->any_key && driver_settings_differ(facts.driver_settings);
        if (!target->any_key) {
            driver_settings_use(facts.driver_settings);
        }
    }
    size_t end;
    for (size_t i = 0; i < recipes->item_count && !process.is_in_vain; i = end) {
        const uint32_t environment = recipes->items[i].environment;
        const size_t count = replay_select(&process, i, only, items, &end);
        if (count > 0 && warm_target_has(target, recipes->environments[environment])) {
            replay_environment(&process, environment, items, count);
        }
    }
    store_close(process.cache.store);
    replay_end(&process, WARM_END_DONE);
}
