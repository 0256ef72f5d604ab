#include "pipeline_create.h"

#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "driver_cache.h"
#include "injector.h"

static VkResult call_down(struct device *device, const struct pipeline_call *call)
{
    const struct driver_caches *driver = injector_caches(device->injector);
    driver_cache_enter(driver);
    VkResult result = call->kind->create(device, call);
    driver_cache_leave(driver);
    return result;
}

VkResult pipeline_create_untouched(struct device *device, const struct pipeline_call *call)
{
    stats_add(&device->stats, STATS_pipelines_passed, call->count);
    app_caches_untouched(device->app_caches, call->cache);
    return call_down(device, call);
}

/* Every create-info begins with sType and pNext; in the copy our feedback stands first in the
 * chain, and all else is what the program gave. */
static void copy_create_info(const struct device *device, const struct pipeline_call *call,
                             uint32_t i, struct pipeline_element *element, char *copy)
{
    memcpy(copy, pipeline_create_info(call, i), call->kind->create_info_size);
    if (device->feedback) {
        const void *next;
        memcpy(&next, copy + offsetof(VkBaseInStructure, pNext), sizeof next);
        feedback_chain(&element->feedback, &next);
        memcpy(copy + offsetof(VkBaseInStructure, pNext), &next, sizeof next);
    }
}

/* The handles stand in the first places of call->pipelines: each goes to its own. From the last to
 * the first, since no handle moves to an earlier place. */
static void spread(const struct pipeline_call *call, const struct pipeline_element *elements,
                   uint32_t down_count)
{
    for (uint32_t i = call->count; i-- > 0;) {
        call->pipelines[i] =
            pipeline_goes_down(&elements[i]) ? call->pipelines[--down_count] : VK_NULL_HANDLE;
    }
}

static void count_feedback(struct device *device, struct pipeline_element *element,
                           enum injector_change *change)
{
    element->verdict = feedback_read(&element->feedback);
    if (element->verdict != FEEDBACK_UNKNOWN) {
        element->duration_ns = feedback_duration_ns(&element->feedback);
    }
    switch (element->verdict) {
    case FEEDBACK_HIT:
        stats_add(&device->stats, STATS_pipelines_driver_hits, 1);
        break;
    case FEEDBACK_MISS:
        stats_add(&device->stats, STATS_pipelines_driver_misses, 1);
        stats_add(&device->stats, STATS_compile_ns, element->duration_ns);
        *change = INJECTOR_COMPILED;
        break;
    default:
        if (*change == INJECTOR_UNCHANGED) {
            *change = INJECTOR_UNKNOWN;
        }
        break;
    }
}

/* What the driver has told, before the program sees it: a hit in the hot cache is one in the cache
 * that the program named only if that has seen the pipeline before. */
static enum injector_change take_feedback(struct device *device, const struct pipeline_call *call,
                                          struct pipeline_element *elements, bool hot)
{
    enum injector_change change = INJECTOR_UNCHANGED;
    for (uint32_t i = 0; i < call->count; ++i) {
        if (!pipeline_goes_down(&elements[i])) {
            continue;
        }
        if (call->pipelines[i] != VK_NULL_HANDLE) {
            count_feedback(device, &elements[i], &change);
        }
        if (hot && !elements[i].seen) {
            feedback_hide_hit(&elements[i].feedback);
        }
    }
    return change;
}

VkResult pipeline_create_down(struct device *device, const struct pipeline_call *call,
                              struct app_cache *named, struct pipeline_element *elements,
                              void *copy, struct pipeline_down *ret_down)
{
    struct app_cache_choice choice = app_caches_choose(device->app_caches, call->cache, named);
    struct pipeline_call down = *call;
    down.cache = choice.cache;
    down.create_infos = copy;
    down.count = 0;
    bool timed = device->trace != NULL;
    for (uint32_t i = 0; i < call->count; ++i) {
        if (pipeline_goes_down(&elements[i])) {
            copy_create_info(device, call, i, &elements[i],
                             (char *)copy + down.count++ * call->kind->create_info_size);
            timed |= elements[i].draft != NULL;
        }
    }
    stats_add(&device->stats, choice.hot ? STATS_pipelines_injected : STATS_pipelines_passed,
              down.count);
    memset(call->pipelines, 0, down.count * sizeof *call->pipelines);
    bool saved = app_caches_choice_is_saved(&choice);
    if (saved) {
        injector_creating(device->injector);
    }
    uint64_t start_ns = timed ? clock_now_ns() : 0;
    VkResult result = call_down(device, &down);
    *ret_down = (struct pipeline_down){
        .count = down.count,
        .hot = choice.hot,
        .start_ns = start_ns,
        .took_ns = timed ? clock_now_ns() - start_ns : 0,
    };
    spread(call, elements, down.count);
    enum injector_change change = take_feedback(device, call, elements, choice.hot);
    if (saved) {
        injector_created(device->injector, choice.hot, change);
    }
    app_caches_chosen_done(&choice, change != INJECTOR_UNCHANGED);
    return result;
}

VkResult pipeline_create_deferred(struct device *device, const struct pipeline_call *call,
                                  struct app_cache *named, const struct pipeline_element *elements,
                                  struct pipeline_down *ret_down)
{
    struct app_cache_choice choice = app_caches_choose(device->app_caches, call->cache, named);
    struct pipeline_call down = *call;
    down.cache = choice.cache;
    stats_add(&device->stats, choice.hot ? STATS_pipelines_injected : STATS_pipelines_passed,
              call->count);
    bool saved = app_caches_choice_is_saved(&choice);
    if (saved) {
        injector_creating(device->injector);
    }
    const uint64_t start_ns = clock_now_ns();
    VkResult result = call_down(device, &down);
    *ret_down = (struct pipeline_down){
        .count = call->count,
        .hot = choice.hot,
        .start_ns = start_ns,
        .pending = result == VK_OPERATION_DEFERRED_KHR,
    };
    if (saved) {
        injector_created(device->injector, false, INJECTOR_UNKNOWN);
    }
    /* A served cache stays served: what is compiled may reach the hot cache only later. */
    if (!choice.hot) {
        app_caches_chosen_done(&choice, true);
    }
    /* What is still under way may tell of a hit: tolerated. */
    for (uint32_t i = 0; choice.hot && result != VK_OPERATION_DEFERRED_KHR && i < call->count;
         ++i) {
        feedback_hide_hit(&elements[i].feedback);
    }
    return result;
}
