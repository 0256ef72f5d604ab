// SPDX-License-Identifier: Apache-2.0
/* Creations that name a cache of the program's, or none. */
#include "layer/app_caches/app_caches_state.h"

/* What was seen in a cache's name. */

bool app_cache_has_seen(const struct app_cache *cache, uint64_t fingerprint)
{
    return cache && seen_pipelines_has(&cache->seen, fingerprint);
}

void app_cache_needs_all_until_now(struct app_cache *cache)
{
    const uint64_t changes = cache_snapshots_changes(cache->caches->snapshots);
    uint64_t needed = atomic_load(&cache->needed);
    while (needed < changes && !atomic_compare_exchange_weak(&cache->needed, &needed, changes)) {
    }
    atomic_store(&cache->used, true);
}

void app_cache_saw(struct app_cache *cache, uint64_t fingerprint)
{
    if (cache) {
        app_cache_needs_all_until_now(cache);
        seen_pipelines_add(&cache->seen, fingerprint);
    }
}

bool app_cache_allows_sharing(struct app_cache *cache, uint64_t fingerprint, bool in_device_cache)
{
    return !cache || (in_device_cache && app_cache_is(cache, APP_CACHE_SERVED)) ||
           app_cache_has_seen(cache, fingerprint);
}

/* Which cache a creation is given. */

bool app_caches_expect_device_cache(const struct app_caches *caches, VkPipelineCache named,
                                    struct app_cache *named_cache)
{
    return device_cache_policy(caches->device_cache)->inject &&
           (named == VK_NULL_HANDLE ||
            (named_cache && app_cache_is(named_cache, APP_CACHE_SERVED)));
}

struct app_cache_choice app_caches_choose(struct app_caches *caches, VkPipelineCache named,
                                          struct app_cache *named_cache)
{
    struct app_cache_choice choice = {.caches = caches, .cache = named, .named = named_cache};
    if (named != VK_NULL_HANDLE && (!named_cache || !app_cache_is(named_cache, APP_CACHE_SERVED))) {
        return choice;
    }
    /* With nothing to serve it from at this moment, it is used itself. */
    VkPipelineCache device_cache = device_cache_cache(caches->device_cache);
    if (device_cache != VK_NULL_HANDLE) {
        choice.cache = device_cache;
        choice.hot = true;
        cache_snapshots_begin(caches->snapshots);
    }
    return choice;
}

void app_caches_note_lost(struct app_caches *caches)
{
    if (app_cache_history_habits(caches->history).habit == APP_CACHE_UNKNOWN) {
        atomic_store(&caches->collection->has_lost, true);
    }
}

void app_cache_compiled(struct app_cache *cache)
{
    struct passed_cache *passed = atomic_load(&cache->passed);
    atomic_store(&cache->own, true);
    passed_cache_compiled(passed);
    if (!passed && app_cache_is(cache, APP_CACHE_PASSED)) {
        app_caches_note_lost(cache->caches);
    }
}

void app_caches_chosen_done(const struct app_cache_choice *choice, bool compiled)
{
    if (choice->hot) {
        cache_snapshots_end(choice->caches->snapshots, compiled);
        if (choice->named) {
            app_cache_needs_all_until_now(choice->named);
        }
    } else if (choice->named) {
        atomic_store(&choice->named->used, true);
        if (compiled) {
            app_cache_compiled(choice->named);
        }
    }
}

void app_caches_chosen_deferred(const struct app_cache_choice *choice)
{
    /* With the device cache it counts as under way for ever, so that each creation is a change. */
    if (choice->named) {
        atomic_store(&choice->named->used, true);
        atomic_store(&choice->named->deferred, true);
        passed_cache_deferred(atomic_load(&choice->named->passed));
        if (!choice->hot) {
            app_cache_compiled(choice->named);
        }
    }
}

bool app_caches_choice_is_saved(const struct app_cache_choice *choice)
{
    return choice->hot || (choice->named && !app_cache_is(choice->named, APP_CACHE_ALONE));
}

bool app_caches_choice_is_of_blob(const struct app_cache_choice *choice)
{
    return choice->hot || app_cache_state_of_call(choice->named) != CRASH_OUTSIDE;
}

bool app_caches_untouched(struct app_caches *caches, VkPipelineCache named)
{
    struct app_cache *cache = app_caches_find(caches, named);
    if (cache) {
        atomic_store(&cache->used, true);
        app_cache_compiled(cache);
    }
    return app_cache_state_of_call(cache) != CRASH_OUTSIDE;
}
