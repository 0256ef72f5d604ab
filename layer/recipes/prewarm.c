// SPDX-License-Identifier: Apache-2.0
#include "layer/recipes/prewarm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/machine.h"
#include "common/base/text.h"
#include "common/driver/replay.h"
#include "layer/cache/device_cache.h"
#include "layer/recipes/prewarm_list.h"
#include "layer/recipes/prewarm_watch.h"
#include "layer/recipes/recorder.h"
#include "layer/trace/trace.h"
#include "layer/worker/driver_gate.h"
#include "layer/worker/own_thread.h"
#include "layer/worker/sandbox.h"

/* Drivers compile on this stack, as they do on the program's. */
#define STACK_BYTES ((size_t)8 << 20)

/* So many pipelines must leave the cache empty before the rest is given up. */
#define INEFFECTIVE_AFTER 8

/* Poll interval while the program creates pipelines; and for how long it must not have asked for a
 * pipeline, since it may be about to ask for the next. */
#define POLL_NS  (2 * CLOCK_MS)
#define QUIET_NS (10 * CLOCK_MS)

/* Memory is checked so often, and is short if less than a tenth, and less than this, is left. */
#define MEMORY_POLL_NS (100 * CLOCK_MS)
#define MEMORY_SPARE   (UINT64_C(1) << 30)

struct prewarm {
    struct prewarm_setup setup;
    struct prewarm_watch watch;
    pid_t process;
    atomic_bool begun;
    atomic_bool all;             /* what is recorded as saved, too: there is no usable blob */
    struct replay_limits limits; /* of this driver; another one made the recipes */

    struct recipes *recipes;
    struct recipe_crashes *crashes;
    struct prewarm_list list;
    VkPipelineCache cache;
    atomic_size_t next; /* of the list */
    atomic_uint compiled;
    atomic_uint refused[REPLAY_OUTCOME_COUNT]; /* for what is wrong with the recipe itself */

    pthread_mutex_t lock;
    pthread_cond_t changed; /* it is to stop, or a thread has ended; by the monotonic clock */
    unsigned threads;       /* that have not; the first opens what is needed, and starts others */
    unsigned in_driver;     /* of them; the others may be at a disk */
    bool abandoned;         /* nobody waits for them any more: the driver must not be called */
    atomic_bool stop;
    uint64_t seen_requests; /* of the program, at the last poll */
    uint64_t busy_ns;       /* when the program was last seen creating; 0: never */
    uint64_t memory_ns;     /* when memory was last checked */
    struct replay *left[RECIPE_CRASHES_THREADS]; /* not deleted by the thread that made it */
};

/* One thread of it; number 0 is the first. */
struct prewarm_runner {
    struct prewarm *prewarm;
    unsigned number;
};

static void prewarm_stop(struct prewarm *prewarm)
{
    pthread_mutex_lock(&prewarm->lock);
    atomic_store(&prewarm->stop, true);
    pthread_cond_broadcast(&prewarm->changed);
    pthread_mutex_unlock(&prewarm->lock);
}

/* Threads are counted, not joined: a process may end without asking for them. */
static void prewarm_wait_for_threads(struct prewarm *prewarm, unsigned left)
{
    pthread_mutex_lock(&prewarm->lock);
    while (prewarm->threads > left) {
        pthread_cond_wait(&prewarm->changed, &prewarm->lock);
    }
    pthread_mutex_unlock(&prewarm->lock);
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

/* A thread ends; it must not touch the prewarm after this. */
static void prewarm_end_thread(struct prewarm *prewarm)
{
    pthread_mutex_lock(&prewarm->lock);
    prewarm->threads--;
    pthread_cond_broadcast(&prewarm->changed);
    pthread_mutex_unlock(&prewarm->lock);
}

static bool prewarm_start_thread(struct prewarm *prewarm, void *(*function)(void *argument),
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

/* Waits until the program leaves room for a compile. False: prewarm is to end. */
static bool prewarm_wait_for_room(struct prewarm *prewarm)
{
    pthread_mutex_lock(&prewarm->lock);
    uint64_t now_ns = clock_now_ns();
    while (!atomic_load(&prewarm->stop) && prewarm_program_is_busy(prewarm, now_ns)) {
        const struct timespec until = clock_timespec(now_ns + POLL_NS);
        pthread_cond_timedwait(&prewarm->changed, &prewarm->lock, &until);
        now_ns = clock_now_ns();
    }
    const bool is_short = prewarm_memory_is_short(prewarm, now_ns);
    pthread_mutex_unlock(&prewarm->lock);
    if (is_short) {
        log_info("prewarm ends: memory is short");
    }
    if (is_short || sandbox_is_closed() || atomic_load(prewarm->setup.has_callback)) {
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
    if (told && size <= DRIVER_CACHE_HEADER_SIZE) {
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
    device_cache_prewarmed(prewarm->setup.device_cache, compiled, took_ns);
    if (compiled && atomic_fetch_add(&prewarm->compiled, 1) + 1 == INEFFECTIVE_AFTER) {
        prewarm_look_at_cache(prewarm);
    }
}

static bool prewarm_find_form(void *user, struct digest content, const void **ret_form,
                              size_t *ret_size)
{
    return recipes_find(user, RECIPE_FORM, content, ret_form, ret_size);
}

static bool prewarm_find_code(void *user, struct digest content, const void **ret_code,
                              size_t *ret_size)
{
    return recipes_find(user, RECIPE_CODE, content, ret_code, ret_size);
}

static unsigned prewarm_count_threads(void)
{
    unsigned half = machine_cores("") / 2;
    half = half > 0 ? half : 1;
    return half < RECIPE_CRASHES_THREADS ? half : RECIPE_CRASHES_THREADS;
}

/* A replay by the next layer's commands of the program's own device. NULL: out of memory. */
static struct replay *prewarm_replay_new(const struct prewarm *prewarm)
{
    const device_table *table = prewarm->setup.table;
    const struct replay_commands commands = {
        .create_shader_module = table->CreateShaderModule,
        .destroy_shader_module = table->DestroyShaderModule,
        .create_descriptor_set_layout = table->CreateDescriptorSetLayout,
        .destroy_descriptor_set_layout = table->DestroyDescriptorSetLayout,
        .create_pipeline_layout = table->CreatePipelineLayout,
        .destroy_pipeline_layout = table->DestroyPipelineLayout,
        .create_sampler = table->CreateSampler,
        .destroy_sampler = table->DestroySampler,
        .create_sampler_ycbcr_conversion = table->CreateSamplerYcbcrConversion,
        .destroy_sampler_ycbcr_conversion = table->DestroySamplerYcbcrConversion,
        .create_render_pass = table->CreateRenderPass,
        .create_render_pass_2 = table->CreateRenderPass2,
        .destroy_render_pass = table->DestroyRenderPass,
        .create_compute_pipelines = table->CreateComputePipelines,
        .create_graphics_pipelines = table->CreateGraphicsPipelines,
        .create_ray_tracing_pipelines_khr = table->CreateRayTracingPipelinesKHR,
        .create_ray_tracing_pipelines_nv = table->CreateRayTracingPipelinesNV,
        .destroy_pipeline = table->DestroyPipeline,
    };
    const struct replay_source source = {prewarm_find_form, prewarm_find_code, prewarm->recipes};
    const struct replay_limits limits =
        replay_limits_share(&prewarm->limits, prewarm_count_threads());
    return replay_new(prewarm->setup.device, &commands, prewarm->cache, &source, &limits,
                      prewarm->setup.feedback);
}

/* A mark that a sandbox makes stay costs the pipeline: it is not compiled ahead any more. */
static void prewarm_end_mark(struct prewarm *prewarm, unsigned thread)
{
    if (!sandbox_is_closed()) {
        recipe_crashes_end(prewarm->crashes, thread);
    }
}

/* Whether it is likely to be short, on a machine as busy as it is. */
static bool prewarm_may_begin(struct prewarm *prewarm, const struct prewarm_item *item)
{
    const uint64_t us = item->use->compile_us;
    if (us > 0) {
        return us * prewarm_watch_slowdown(&prewarm->watch) < PREWARM_LONG_US;
    }
    pthread_mutex_lock(&prewarm->lock);
    const bool may = prewarm_estimate_is_short(&prewarm->list.estimate, item->code_bytes);
    pthread_mutex_unlock(&prewarm->lock);
    return may;
}

static void prewarm_learn(struct prewarm *prewarm, const struct recipe_use *use, uint32_t us)
{
    const uint64_t bytes = prewarm_code_bytes(prewarm->recipes, use->pipeline);
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
    const enum replay_outcome outcome = replay_pipeline(replay, use->pipeline);
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
        prewarm_end_mark(prewarm, runner->number);
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
    const bool is_open = driver_gate_enter(prewarm->setup.permit);
    if (is_open && prewarm_enter_driver(prewarm)) {
        replay_delete(replay);
        prewarm_leave_driver(prewarm);
    } else {
        prewarm->left[runner->number] = replay;
    }
    if (is_open) {
        driver_gate_leave(prewarm->setup.permit);
    }
}

static void prewarm_run(struct prewarm_runner *runner)
{
    struct prewarm *prewarm = runner->prewarm;
    struct replay *replay = prewarm_replay_new(prewarm);
    trace_thread(prewarm->setup.trace, "warmpipe prewarm");
    while (replay && prewarm_wait_for_room(prewarm)) {
        size_t i = atomic_fetch_add(&prewarm->next, 1);
        if (i >= prewarm->list.count) {
            break;
        }
        if (prewarm_may_begin(prewarm, &prewarm->list.items[i])) {
            prewarm_replay_one(runner, replay, prewarm->list.items[i].use);
        } else {
            log_debug("not prewarmed: may take long");
        }
    }
    prewarm_delete_replay(runner, replay);
}

static void *prewarm_run_beside(void *argument)
{
    struct prewarm_runner *runner = argument;
    setpriority(PRIO_PROCESS, 0, OWN_THREAD_NICE); /* of this thread alone, on Linux */
    prewarm_run(runner);
    prewarm_end_thread(runner->prewarm);
    return NULL;
}

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
        reason = recipe_crashes_open_unmarked(config->root, prewarm->setup.app, identity,
                                              &prewarm->crashes);
    }
    return reason;
}

static bool prewarm_is_deadly(const struct recipe_crashes *crashes)
{
    const bool deadly = recipe_crashes_are_many(crashes);
    if (deadly) {
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
    return prewarm->crashes && !prewarm_is_deadly(prewarm->crashes);
}

/* Waits until the worker, or a thread of the program, has loaded the device cache: the disk may
 * keep them. False: it is to end, or the driver gives no cache. */
static bool prewarm_take_cache(struct prewarm *prewarm)
{
    struct device_cache *device_cache = prewarm->setup.device_cache;
    device_cache_load_soon(device_cache);
    pthread_mutex_lock(&prewarm->lock);
    while (!atomic_load(&prewarm->stop) && !device_cache_is_loaded(device_cache)) {
        const struct timespec until = clock_timespec(clock_now_ns() + POLL_NS);
        pthread_cond_timedwait(&prewarm->changed, &prewarm->lock, &until);
    }
    pthread_mutex_unlock(&prewarm->lock);
    prewarm->cache = device_cache_loaded_cache(device_cache);
    return prewarm->cache != VK_NULL_HANDLE && !atomic_load(&prewarm->stop);
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
    return prewarm->list.count > 0 && prewarm_take_cache(prewarm);
}

static void prewarm_run_all(struct prewarm *prewarm, unsigned threads)
{
    struct prewarm_runner runners[RECIPE_CRASHES_THREADS];
    unsigned started = 1;
    for (unsigned i = 0; i < threads; i++) {
        runners[i] = (struct prewarm_runner){.prewarm = prewarm, .number = i};
    }
    while (started < threads && started < prewarm->list.count &&
           prewarm_start_thread(prewarm, prewarm_run_beside, &runners[started])) {
        started++;
    }
    prewarm_run(&runners[0]);
    prewarm_wait_for_threads(prewarm, 1);
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
    setpriority(PRIO_PROCESS, 0, OWN_THREAD_NICE);
    unsigned threads = prewarm_count_threads();
    if (!sandbox_is_closed() && prewarm_open(prewarm, threads)) {
        if (!atomic_load(&prewarm->stop) && prewarm_make_list(prewarm)) {
            prewarm_run_all(prewarm, threads);
        }
        prewarm_tell_refused(prewarm);
        log_info("prewarmed %u of %zu %s", atomic_load(&prewarm->compiled), prewarm->list.count,
                 text_noun(prewarm->list.count, "pipeline", "pipelines"));
    }
    if (!sandbox_is_closed()) {
        recipe_crashes_close(prewarm->crashes);
        recipes_close(prewarm->recipes);
    }
    prewarm_list_free(&prewarm->list);
    prewarm_end_thread(prewarm);
    return NULL;
}

static bool prewarm_is_allowed(const struct prewarm_setup *setup)
{
    const struct policy *policy = device_cache_policy(setup->device_cache);
    return setup->config->prewarm != PREWARM_OFF && policy->inject && policy->persist &&
           !policy->serialize && !atomic_load(setup->has_callback);
}

static bool prewarm_has_recipes(const struct prewarm_setup *setup)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/%s/recipes", setup->config->root, setup->app);
    return length < (int)sizeof path && access(path, F_OK) == 0;
}

/* Begins where there are recipes. False: no thread can be made. */
static bool prewarm_begin(struct prewarm *prewarm)
{
    const struct prewarm_setup *setup = &prewarm->setup;
    if (atomic_exchange(&prewarm->begun, true) || atomic_load(&prewarm->stop) ||
        !prewarm_has_recipes(setup)) {
        return true;
    }
    replay_limits_query(setup->get_properties, setup->get_properties2, setup->physical_device,
                        &prewarm->limits);
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
    if (setup->config->prewarm == PREWARM_AUTO && device_cache_has_file(setup->device_cache)) {
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
