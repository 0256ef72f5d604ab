#include "injector.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "driver/policy_load.h"
#include "injector_state.h"
#include "own_allocator.h"
#include "told.h"

/* A driver that has lived with a blob for so long is not dying of it. */
#define TRIAL_NS (2 * CLOCK_S)

void injector_tell(struct injector *injector, enum cache_state state, enum reason reason)
{
    pthread_mutex_lock(&injector->lock);
    injector->report.state = state;
    injector->report.reason = reason;
    pthread_mutex_unlock(&injector->lock);
    trace_state(injector->setup.trace, state);
}

/* The policy as this device, these settings and this process narrow it. */
static void narrow_policy(struct injector *injector)
{
    struct policy *policy = &injector->policy;
    policy_of_settings(injector->setup.config, &injector->identity, policy);
    if (!policy->inject || !policy->persist) {
        injector_tell(injector, policy->inject ? CACHE_STATE_DENIED : CACHE_STATE_OFF,
                      REASON_policy);
    }
    if (injector->setup.device_group) {
        policy->inject = policy->persist = policy->serve = false;
        injector_tell(injector, CACHE_STATE_OFF, REASON_device_group);
    }
    if (!injector->setup.config->root) {
        policy->persist = false;
        injector_tell(injector, CACHE_STATE_OFF, REASON_no_directory);
    }
    log_info("device %u, %s, driver %s %s: policy rule %s: persist=%d inject=%d serve=%d "
             "deduplicate=%d serialize=%d single_cache=%d",
             injector->setup.device_index, injector->identity.device_name,
             injector->identity.driver_name, injector->identity.driver_info, policy->rule,
             policy->persist, policy->inject, policy->serve, policy->deduplicate, policy->serialize,
             policy->single_cache);
}

/* Where the policy allows it; no file is touched yet. */
static struct store *open_store(const struct injector *injector)
{
    const struct config *config = injector->setup.config;
    struct store_options options = {
        .root = config->root,
        .app = injector->setup.app,
        .max_blob = injector->policy.max_blob < config->max_size ? injector->policy.max_blob
                                                                 : config->max_size,
        .read_only = config->read_only,
    };
    return injector->policy.persist ? store_open(&options, &injector->identity) : NULL;
}

struct injector *injector_new(const struct injector_setup *setup,
                              const struct driver_identity *identity)
{
    struct injector *injector = calloc(1, sizeof *injector);
    if (!injector) {
        return NULL;
    }
    injector->setup = *setup;
    injector->identity = *identity;
    injector->report.state = CACHE_STATE_COLD;
    pthread_mutex_init(&injector->lock, NULL);
    pthread_mutex_init(&injector->load_lock, NULL);
    pthread_mutex_init(&injector->serialize, NULL);
    narrow_policy(injector);
    injector->caches = (struct driver_caches){
        .device = setup->device,
        .table = setup->table,
        .allocator = setup->has_allocator ? &own_allocator : NULL,
        .serialize = injector->policy.serialize ? &injector->serialize : NULL,
    };
    injector->store = open_store(injector);
    injector->saves = injector->store && !setup->config->read_only;
    saver_init(&injector->saver, &injector->caches, injector->store, !injector->policy.single_cache,
               setup->config->flush_idle_ms);
    injector_save_init(injector);
    return injector;
}

void injector_delete(struct injector *injector)
{
    if (injector) {
        saver_release(&injector->saver);
        pthread_mutex_destroy(&injector->lock);
        pthread_mutex_destroy(&injector->load_lock);
        pthread_mutex_destroy(&injector->serialize);
        free(injector);
    }
}

void injector_set_harvest(struct injector *injector, const struct injector_harvest *harvest)
{
    injector->harvest = *harvest;
}

void injector_set_unusable(struct injector *injector, const struct injector_unusable *unusable)
{
    injector->unusable = *unusable;
}

const struct policy *injector_policy(const struct injector *injector)
{
    return &injector->policy;
}

const struct driver_caches *injector_caches(const struct injector *injector)
{
    return &injector->caches;
}

static void tell_unusable(const struct injector *injector, enum reason reason)
{
    const struct injector_unusable *unusable = &injector->unusable;
    if (unusable->tell && reason != REASON_suspect && reason != REASON_quarantined) {
        unusable->tell(unusable->user);
    }
}

/* One line for what stands in the way of a warm start; a file that is simply not there is none. */
static void tell_rejection(struct injector *injector, enum reason reason)
{
    const char *path = store_path(injector->store);
    tell_unusable(injector, reason);
    if (reason == REASON_no_file) {
        injector_tell(injector, CACHE_STATE_COLD, reason);
        log_debug("cold start (no_file): %s", path);
        return;
    }
    injector_tell(injector,
                  reason == REASON_quarantined ? CACHE_STATE_QUARANTINED : CACHE_STATE_REJECTED,
                  reason);
    told_first(reason);
    log_warn("cold start (%s): %s: %s", reason_id(reason), reason_text(reason), path);
}

/* The marker stands until a creation has returned. If a process has died of this blob before, it
 * matters that nothing else is taken for that, such as a user who ends a long first compile: then
 * the worker drops the marker after two seconds. Without a suspicion no start pays for a thread. */
static void begin_trial(struct injector *injector)
{
    if (injector->setup.config->read_only) {
        return;
    }
    atomic_store(&injector->trial_ends_ns, clock_now_ns() + TRIAL_NS);
    atomic_store(&injector->on_trial, true);
    if (store_is_on_probation(injector->store)) {
        flusher_wake(&injector->client);
    }
}

/* Creates the hot cache from the blob on disk. */
static bool load_blob(struct injector *injector)
{
    struct store_blob blob;
    enum reason reason = store_load(injector->store, &blob);
    if (reason != REASON_ok) {
        tell_rejection(injector, reason);
        return false;
    }
    injector->hot = driver_cache_create(&injector->caches, blob.data, blob.size);
    if (injector->hot == VK_NULL_HANDLE) {
        store_survived(injector->store);
        tell_rejection(injector, REASON_driver_refused);
    } else {
        injector_tell(injector, CACHE_STATE_LOADED, REASON_ok);
        injector->report.loaded_bytes = blob.size;
        saver_set_known(&injector->saver, blob.digest, blob.size);
        begin_trial(injector);
        log_info("loaded %zu bytes: %s", blob.size, store_path(injector->store));
    }
    store_blob_free(&blob);
    return injector->hot != VK_NULL_HANDLE;
}

/* Nobody else changes what is told yet. */
static void trace_load(const struct injector *injector, uint64_t start_ns)
{
    if (injector->setup.trace) {
        const struct injector_report *report = &injector->report;
        trace_put(injector->setup.trace,
                  &(struct trace_event){
                      .kind = TRACE_CACHE,
                      .name = "load",
                      .start_ns = start_ns,
                      .end_ns = clock_now_ns(),
                      .result = cache_state_name(report->state),
                      .reason = report->reason ? reason_id(report->reason) : NULL,
                      .amount = report->loaded_bytes,
                  });
    }
}

static void load(struct injector *injector)
{
    const uint64_t start_ns = clock_now_ns();
    if (injector->policy.inject && (!injector->store || !load_blob(injector))) {
        injector->hot = driver_cache_create(&injector->caches, NULL, 0);
    }
    trace_load(injector, start_ns);
}

VkPipelineCache injector_cache(struct injector *injector)
{
    if (!atomic_load_explicit(&injector->loaded, memory_order_acquire)) {
        pthread_mutex_lock(&injector->load_lock);
        if (!atomic_load_explicit(&injector->loaded, memory_order_relaxed)) {
            load(injector);
            atomic_store_explicit(&injector->loaded, true, memory_order_release);
        }
        pthread_mutex_unlock(&injector->load_lock);
    }
    return injector->hot;
}

VkPipelineCache injector_loaded_cache(const struct injector *injector)
{
    return atomic_load_explicit(&injector->loaded, memory_order_acquire) ? injector->hot
                                                                         : VK_NULL_HANDLE;
}

void injector_creating(struct injector *injector)
{
    saver_begin(&injector->saver);
}

/* The hot cache, or one that is harvested, has something new. */
static void note_compiled(struct injector *injector)
{
    if (injector->saves) {
        saver_compiled(&injector->saver, clock_now_ns());
        flusher_wake(&injector->client);
    }
}

/* The driver has lived through the blob. */
static void end_trial(struct injector *injector)
{
    if (atomic_load_explicit(&injector->on_trial, memory_order_relaxed) &&
        saver_survived(&injector->saver)) {
        atomic_store(&injector->on_trial, false);
    }
}

void injector_created(struct injector *injector, bool hot, enum injector_change change)
{
    saver_end(&injector->saver);
    if (change != INJECTOR_UNCHANGED) {
        note_compiled(injector);
    }
    if (hot) {
        end_trial(injector);
    }
}

bool injector_is_creating(const struct injector *injector)
{
    return atomic_load_explicit(&injector->saver.running, memory_order_relaxed) > 0;
}

void injector_prewarmed(struct injector *injector, bool compiled)
{
    end_trial(injector);
    if (compiled) {
        note_compiled(injector);
    }
}

bool injector_has_file(const struct injector *injector)
{
    return injector->store && access(store_path(injector->store), F_OK) == 0;
}

struct digest injector_identity(const struct injector *injector)
{
    return identity_digest(&injector->identity);
}
