#include "injector.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cache_save.h"
#include "disk/store.h"
#include "driver/policy_load.h"

struct injector {
    struct injector_setup setup;
    struct driver_identity identity;
    struct policy policy;
    struct driver_caches caches;
    pthread_mutex_t serialize; /* held across calls down, for drivers that ask for it */

    pthread_mutex_t load_lock; /* held across the first load: racers wait */
    atomic_bool loaded;        /* hot and store are set and stay */
    VkPipelineCache hot;
    struct store *store;  /* NULL: nothing is read or written */
    atomic_bool on_trial; /* the driver has been given a blob and no creation has returned yet */

    atomic_bool compiled;
    atomic_bool unknown;

    enum cache_state state;
    enum reason reason;
    size_t loaded_bytes;
    struct digest loaded_digest;
    size_t saved_bytes;
};

/* The policy as this device, these settings and this process narrow it. */
static void narrow_policy(struct injector *injector)
{
    struct policy *policy = &injector->policy;
    policy_of_settings(injector->setup.config, &injector->identity, policy);
    if (!policy->inject || !policy->persist) {
        injector->state = policy->inject ? CACHE_STATE_DENIED : CACHE_STATE_OFF;
        injector->reason = REASON_policy;
    }
    if (injector->setup.device_group) {
        policy->inject = policy->persist = policy->serve = false;
        injector->state = CACHE_STATE_OFF;
        injector->reason = REASON_device_group;
    }
    if (!injector->setup.config->root) {
        policy->persist = false;
        injector->state = CACHE_STATE_OFF;
        injector->reason = REASON_no_directory;
    }
    log_info("device %u, %s, driver %s %s: policy rule %s: persist=%d inject=%d serve=%d "
             "deduplicate=%d serialize=%d single_cache=%d",
             injector->setup.device_index, injector->identity.device_name,
             injector->identity.driver_name, injector->identity.driver_info, policy->rule,
             policy->persist, policy->inject, policy->serve, policy->deduplicate, policy->serialize,
             policy->single_cache);
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
    injector->state = CACHE_STATE_COLD;
    pthread_mutex_init(&injector->load_lock, NULL);
    pthread_mutex_init(&injector->serialize, NULL);
    narrow_policy(injector);
    injector->caches = (struct driver_caches){
        .device = setup->device,
        .table = setup->table,
        .serialize = injector->policy.serialize ? &injector->serialize : NULL,
    };
    return injector;
}

void injector_delete(struct injector *injector)
{
    if (injector) {
        store_close(injector->store);
        pthread_mutex_destroy(&injector->load_lock);
        pthread_mutex_destroy(&injector->serialize);
        free(injector);
    }
}

const struct policy *injector_policy(const struct injector *injector)
{
    return &injector->policy;
}

const struct driver_caches *injector_caches(const struct injector *injector)
{
    return &injector->caches;
}

/* Opens the store, without touching a file. */
static void open_store(struct injector *injector)
{
    const struct config *config = injector->setup.config;
    if (!injector->store && injector->policy.persist) {
        struct store_options options = {
            .root = config->root,
            .app = injector->setup.app,
            .max_blob = injector->policy.max_blob,
            .read_only = config->read_only,
        };
        injector->store = store_open(&options, &injector->identity);
    }
}

/* One line for what stands in the way of a warm start; a file that is simply not there is none. */
static void tell_rejection(struct injector *injector, enum reason reason)
{
    injector->reason = reason;
    if (reason == REASON_no_file) {
        log_debug("cold start (no_file): %s", store_path(injector->store));
        return;
    }
    injector->state = reason == REASON_quarantined ? CACHE_STATE_QUARANTINED : CACHE_STATE_REJECTED;
    log_warn("cold start (%s): %s: %s", reason_id(reason), reason_text(reason),
             store_path(injector->store));
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
        injector->state = CACHE_STATE_LOADED;
        injector->loaded_bytes = blob.size;
        injector->loaded_digest = blob.digest;
        atomic_store(&injector->on_trial, true);
        log_info("loaded %zu bytes: %s", blob.size, store_path(injector->store));
    }
    store_blob_free(&blob);
    return injector->hot != VK_NULL_HANDLE;
}

static void load(struct injector *injector)
{
    if (!injector->policy.inject) {
        return;
    }
    open_store(injector);
    if (!injector->store || !load_blob(injector)) {
        injector->hot = driver_cache_create(&injector->caches, NULL, 0);
    }
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

void injector_created(struct injector *injector, bool hot, enum injector_change change)
{
    if (change == INJECTOR_COMPILED &&
        !atomic_load_explicit(&injector->compiled, memory_order_relaxed)) {
        atomic_store_explicit(&injector->compiled, true, memory_order_relaxed);
    } else if (change == INJECTOR_UNKNOWN &&
               !atomic_load_explicit(&injector->unknown, memory_order_relaxed)) {
        atomic_store_explicit(&injector->unknown, true, memory_order_relaxed);
    }
    if (hot && atomic_load_explicit(&injector->on_trial, memory_order_relaxed) &&
        atomic_exchange(&injector->on_trial, false)) {
        store_survived(injector->store);
    }
}

/* Saves if anything is new; whatever comes of it ends in the statistics and at most one line. */
static void save(struct injector *injector, uint32_t count, const VkPipelineCache *harvested)
{
    bool compiled = atomic_load(&injector->compiled);
    bool unknown = atomic_load(&injector->unknown);
    open_store(injector);
    if ((!compiled && !unknown) || !injector->store || injector->setup.config->read_only) {
        return;
    }
    struct cache_save request = {
        .caches = &injector->caches,
        .store = injector->store,
        .hot = injector->hot,
        .harvested_count = injector->policy.single_cache ? 0 : count,
        .harvested = harvested,
        .may_merge = !injector->policy.single_cache,
        .known_digest = injector->loaded_digest,
        .known_size = injector->loaded_bytes,
    };
    size_t saved = 0;
    enum reason reason = cache_save_run(&request, &saved);
    injector->saved_bytes = saved;
    if (reason == REASON_ineffective) {
        injector->state = CACHE_STATE_INEFFECTIVE;
        injector->reason = reason;
        log_info("not saved (ineffective): %s", reason_text(reason));
    } else if (reason != REASON_ok) {
        injector->reason = reason;
        log_warn("not saved (%s): %s: %s", reason_id(reason), reason_text(reason),
                 store_path(injector->store));
    } else if (saved) {
        log_info("saved %zu bytes: %s", saved, store_path(injector->store));
    }
}

static void tell_statistics(struct injector *injector, const char *event)
{
    if (!injector->setup.config->stats_path) {
        return;
    }
    char identity[DIGEST_HEX_SIZE];
    digest_format(identity_digest(&injector->identity), identity);
    struct stats_line line = {
        .event = event,
        .app = injector->setup.app,
        .device_index = injector->setup.device_index,
        .device = injector->identity.device_name,
        .driver = injector->identity.driver_name,
        .identity = identity,
        .state = injector->state,
        .reason = injector->reason,
        .loaded_bytes = injector->loaded_bytes,
        .saved_bytes = injector->saved_bytes,
    };
    stats_append(injector->setup.config->stats_path, injector->setup.stats, &line);
}

void injector_finish(struct injector *injector, uint32_t count, const VkPipelineCache *harvested)
{
    save(injector, count, harvested);
    driver_cache_destroy(&injector->caches, injector->hot);
    injector->hot = VK_NULL_HANDLE;
    tell_statistics(injector, "destroy");
}
