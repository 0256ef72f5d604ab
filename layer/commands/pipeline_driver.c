// SPDX-License-Identifier: Apache-2.0
/* Pipelines that the driver is asked for: with the right cache, with creation feedback, counted. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "layer/cache/device_cache.h"
#include "layer/cache/driver_cache.h"
#include "layer/commands/pipeline_call.h"

#define FEEDBACK_VALID         VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT
#define FEEDBACK_APP_CACHE_HIT VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT

/* Puts our struct in front of a chain, if the program asks for no feedback itself; *next is the
 * pNext of a create-info of so many stages that the driver will be given. It has room for each
 * stage: drivers of before mid-2022 write there whatever the count says. */
static void feedback_chain(struct feedback *feedback, VkStructureType type, uint32_t stage_count,
                           const void **next)
{
    if (feedback->used) {
        return;
    }
    VkPipelineCreationFeedback *stages = feedback->stages;
    if (stage_count > FEEDBACK_INLINE_STAGES) {
        stages = feedback->many_stages = calloc(stage_count, sizeof *stages);
        if (!stages) {
            return;
        }
    }
    feedback->value = (VkPipelineCreationFeedback){0};
    feedback->own = (VkPipelineCreationFeedbackCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO,
        .pNext = *next,
        .pPipelineCreationFeedback = &feedback->value,
        .pipelineStageCreationFeedbackCount = canonical_feedback_stages(type, stage_count),
        .pPipelineStageCreationFeedbacks = stages,
    };
    feedback->used = &feedback->own;
    *next = &feedback->own;
}

/* After the creation: what the driver said of the pipeline as a whole. */
static enum feedback_verdict feedback_read(const struct feedback *feedback)
{
    VkPipelineCreationFeedbackFlags flags =
        feedback->used ? feedback->used->pPipelineCreationFeedback->flags : 0;
    if (!(flags & FEEDBACK_VALID)) {
        return FEEDBACK_UNKNOWN;
    }
    return flags & FEEDBACK_APP_CACHE_HIT ? FEEDBACK_HIT : FEEDBACK_MISS;
}

/* Clears APPLICATION_PIPELINE_CACHE_HIT, of the pipeline and of the stages, in what the program
 * sees: the cache that was hit is not one that it named. */
static void feedback_hide_hit(const struct feedback *feedback)
{
    const VkPipelineCreationFeedbackCreateInfo *programs = feedback->programs;
    if (!programs) {
        return;
    }
    programs->pPipelineCreationFeedback->flags &=
        ~(VkPipelineCreationFeedbackFlags)FEEDBACK_APP_CACHE_HIT;
    for (uint32_t i = 0; i < programs->pipelineStageCreationFeedbackCount; i++) {
        programs->pPipelineStageCreationFeedbacks[i].flags &=
            ~(VkPipelineCreationFeedbackFlags)FEEDBACK_APP_CACHE_HIT;
    }
}

void feedback_write_shared(const struct feedback *feedback, bool hit, uint64_t duration_ns)
{
    const VkPipelineCreationFeedbackCreateInfo *programs = feedback->programs;
    if (!programs) {
        return;
    }
    *programs->pPipelineCreationFeedback = (VkPipelineCreationFeedback){
        .flags = FEEDBACK_VALID | (hit ? FEEDBACK_APP_CACHE_HIT : 0),
        .duration = duration_ns,
    };
    for (uint32_t i = 0; i < programs->pipelineStageCreationFeedbackCount; i++) {
        programs->pPipelineStageCreationFeedbacks[i] = (VkPipelineCreationFeedback){0};
    }
}

/* What the guard says of a call. */
struct pipeline_danger {
    uint64_t key;
    enum crash_state state;
};

static VkResult pipeline_call_driver(struct device_services *services,
                                     const struct pipeline_call *call,
                                     struct pipeline_danger danger)
{
    const struct driver_caches *driver = device_cache_caches(services->device_cache);
    const struct crash_call guarded = driver_cache_enter(driver, danger.key, danger.state);
    device_cache_watch_begin(services->device_cache, danger.state);
    VkResult result = call->kind->create(services->device, call);
    driver_cache_leave(driver, &guarded);
    return result;
}

/* None where the chosen cache holds nothing of the blob. The key of several pipelines in one call
 * is made of all of theirs. */
static struct pipeline_danger pipeline_danger_of(const struct app_cache_choice *choice,
                                                 const struct pipeline_call *call,
                                                 const struct pipeline_element *elements)
{
    struct pipeline_danger danger = {.state = CRASH_INSIDE};
    if (!app_caches_choice_is_of_blob(choice)) {
        return (struct pipeline_danger){.state = CRASH_OUTSIDE};
    }
    for (uint32_t i = 0; i < call->count; i++) {
        if (pipeline_needs_driver(&elements[i])) {
            danger.key = danger.key * UINT64_C(0x9E3779B97F4A7C15) +
                         (elements[i].encoded ? elements[i].fingerprint : CRASH_KEY_UNKNOWN);
            danger.state = elements[i].stored ? danger.state : CRASH_INSIDE_OTHER;
        }
    }
    danger.key += danger.key < CRASH_KEY_UNKNOWN ? CRASH_KEY_FIRST_PIPELINE : 0;
    return danger;
}

__attribute__((cold)) VkResult pipeline_create_untouched(struct device_services *services,
                                                         const struct pipeline_call *call)
{
    stats_add(&services->stats, STATS_pipelines_passed, call->count);
    const struct pipeline_danger danger = {
        .key = CRASH_KEY_UNKNOWN,
        .state = app_caches_untouched(services->app_caches, call->cache) ? CRASH_INSIDE_OTHER
                                                                         : CRASH_OUTSIDE,
    };
    device_cache_creating(services->device_cache);
    VkResult result = pipeline_call_driver(services, call, danger);
    device_cache_created(services->device_cache, &(struct device_cache_creation){.saved = false});
    return result;
}

/* Every create-info begins with sType and pNext. In the copy our feedback is first in the chain,
 * and all else is what the program gave. Nothing is changed where something is unknown (hazard 17).
 */
static void pipeline_copy_create_info(const struct device_services *services,
                                      const struct pipeline_call *call, uint32_t i,
                                      struct pipeline_element *element, char *copy)
{
    memcpy(copy, pipeline_create_info(call, i), call->kind->create_info_size);
    if (services->feedback && element->rules.known) {
        VkStructureType type;
        memcpy(&type, copy, sizeof type);
        const void *next;
        memcpy(&next, copy + offsetof(VkBaseInStructure, pNext), sizeof next);
        feedback_chain(&element->feedback, type, element->rules.stage_count, &next);
        memcpy(copy + offsetof(VkBaseInStructure, pNext), &next, sizeof next);
    }
}

/* What was created goes to its places. */
static void pipeline_spread(const struct pipeline_call *call,
                            const struct pipeline_element *elements, const VkPipeline *created)
{
    for (uint32_t i = 0; i < call->count; i++) {
        call->pipelines[i] = pipeline_needs_driver(&elements[i]) ? *created++ : VK_NULL_HANDLE;
    }
}

/* Bits of VkPipelineCreateFlags with which drivers may keep a pipeline out of their caches (RADV
 * does): CAPTURE_STATISTICS and CAPTURE_INTERNAL_REPRESENTATIONS of
 * VK_KHR_pipeline_executable_properties. */
#define CAPTURES UINT64_C(0xC0)

/* Whether a cache is expected to take something up when this is compiled. Some drivers report every
 * creation of parts and links without a shader as a miss. */
static bool pipeline_is_ordinary(const struct pipeline_element *element)
{
    return !(element->rules.flags & CAPTURES) && element->rules.stage_count > 0;
}

static void pipeline_count_feedback(struct pipeline_element *element,
                                    struct pipeline_driver_call *driver)
{
    element->verdict = feedback_read(&element->feedback);
    if (element->verdict == FEEDBACK_UNKNOWN) {
        return;
    }
    element->duration_ns = element->feedback.used->pPipelineCreationFeedback->duration;
    if (element->verdict == FEEDBACK_HIT) {
        driver->hits++;
    } else {
        driver->misses++;
        driver->compile_ns += element->duration_ns;
    }
}

static void pipeline_note_change(const struct pipeline_element *element,
                                 struct device_cache_creation *creation)
{
    const enum device_cache_change change =
        element->verdict == FEEDBACK_MISS ? DEVICE_CACHE_COMPILED : DEVICE_CACHE_UNKNOWN;
    if (element->verdict != FEEDBACK_HIT) {
        creation->change = change > creation->change ? change : creation->change;
        creation->compiled++;
    }
}

/* Reads what the driver has said, before the program sees it: a hit in the device cache is one in
 * the cache that the program named only if that has seen the pipeline before. */
static void pipeline_take_feedback(const struct pipeline_call *call,
                                   struct pipeline_element *elements,
                                   struct pipeline_driver_call *driver,
                                   struct device_cache_creation *creation)
{
    for (uint32_t i = 0; i < call->count; i++) {
        if (!pipeline_needs_driver(&elements[i])) {
            continue;
        }
        if (call->pipelines[i] != VK_NULL_HANDLE) {
            pipeline_count_feedback(&elements[i], driver);
            if (pipeline_is_ordinary(&elements[i])) {
                pipeline_note_change(&elements[i], creation);
            }
        }
        if (creation->hot && !elements[i].seen) {
            feedback_hide_hit(&elements[i].feedback);
        }
    }
}

/* Whether every element asks to fail rather than compile: one that may compile takes its time
 * anyway, and its call with it. But one that fails may end the call before the next. */
static bool pipeline_asks_not_to_wait(const struct pipeline_call *call,
                                      const struct pipeline_element *elements)
{
    for (uint32_t i = 0; i < call->count; i++) {
        const struct pipeline_rules *rules = &elements[i].rules;
        if (pipeline_needs_driver(&elements[i]) &&
            (!rules->fail_on_compile_required || rules->early_return)) {
            return rules->fail_on_compile_required;
        }
    }
    return true;
}

/* A call that asks to fail rather than compile does not wait for a blob to be loaded either (row
 * 90). Until the blob is loaded, the call goes without a cache. */
static struct app_cache_choice pipeline_choose_cache(const struct device_services *services,
                                                     const struct pipeline_call *call,
                                                     struct app_cache *named,
                                                     const struct pipeline_element *elements)
{
    if (!device_cache_is_loaded(services->device_cache) &&
        app_caches_expect_device_cache(services->app_caches, call->cache, named) &&
        pipeline_asks_not_to_wait(call, elements)) {
        device_cache_load_soon(services->device_cache);
        return (struct app_cache_choice){.cache = VK_NULL_HANDLE};
    }
    return app_caches_choose(services->app_caches, call->cache, named);
}

/* Calls down with the chosen cache, between creating and created. */
static VkResult pipeline_call_with(struct device_services *services,
                                   const struct app_cache_choice *choice,
                                   struct pipeline_danger danger, struct pipeline_call *call,
                                   struct pipeline_driver_call *ret_driver)
{
    call->cache = choice->cache;
    device_cache_creating(services->device_cache);
    const uint64_t start_ns = clock_now_ns();
    VkResult result = pipeline_call_driver(services, call, danger);
    *ret_driver = (struct pipeline_driver_call){
        .count = call->count,
        .hot = choice->hot,
        .saved = app_caches_choice_is_saved(choice),
        .start_ns = start_ns,
        .took_ns = clock_now_ns() - start_ns,
    };
    device_cache_watch_end(services->device_cache, danger.state, ret_driver->took_ns);
    return result;
}

VkResult pipeline_create(struct device_services *services, const struct pipeline_call *call,
                         struct app_cache *named, struct pipeline_element *elements, void *copy,
                         struct pipeline_driver_call *ret_driver)
{
    struct app_cache_choice choice = pipeline_choose_cache(services, call, named, elements);
    struct pipeline_call changed = *call;
    changed.create_infos = copy;
    changed.count = 0;
    for (uint32_t i = 0; i < call->count; i++) {
        if (pipeline_needs_driver(&elements[i])) {
            pipeline_copy_create_info(services, call, i, &elements[i],
                                      (char *)copy +
                                          changed.count++ * call->kind->create_info_size);
        }
    }
    /* Not in the program's places: a library may be where the pipeline that is linked of it is to
     * be. */
    changed.pipelines =
        (VkPipeline *)((char *)copy + (size_t)call->count * call->kind->create_info_size);
    memset(changed.pipelines, 0, changed.count * sizeof *changed.pipelines);
    VkResult result = pipeline_call_with(
        services, &choice, pipeline_danger_of(&choice, call, elements), &changed, ret_driver);
    struct device_cache_creation creation = {
        .saved = ret_driver->saved,
        .hot = choice.hot,
        .took_ns = ret_driver->took_ns,
    };
    pipeline_spread(call, elements, changed.pipelines);
    pipeline_take_feedback(call, elements, ret_driver, &creation);
    if (creation.change == DEVICE_CACHE_UNCHANGED &&
        creation.took_ns >= PIPELINE_LONG_NS * changed.count) {
        creation.change = DEVICE_CACHE_UNKNOWN;
    }
    /* Before the worker is told to look. */
    app_caches_chosen_done(&choice, !choice.hot || creation.change != DEVICE_CACHE_UNCHANGED);
    device_cache_created(services->device_cache, &creation);
    return result;
}

__attribute__((cold)) VkResult pipeline_create_deferred(struct device_services *services,
                                                        const struct pipeline_call *call,
                                                        struct app_cache *named,
                                                        const struct pipeline_element *elements,
                                                        struct pipeline_driver_call *ret_driver)
{
    /* The operation uses the cache until it ends, whatever is called meanwhile. */
    struct app_cache_choice choice =
        device_cache_caches(services->device_cache)->serialize
            ? (struct app_cache_choice){.cache = call->cache, .named = named}
            : pipeline_choose_cache(services, call, named, elements);
    struct pipeline_call changed = *call;
    const struct pipeline_danger danger = pipeline_danger_of(&choice, call, elements);
    VkResult result = pipeline_call_with(services, &choice, danger, &changed, ret_driver);
    ret_driver->pending = result == VK_OPERATION_DEFERRED_KHR;
    app_caches_chosen_deferred(&choice);
    if (ret_driver->pending && ret_driver->saved) {
        device_cache_defer(services->device_cache, danger.state != CRASH_OUTSIDE);
    }
    device_cache_created(services->device_cache, &(struct device_cache_creation){
                                                     .saved = ret_driver->saved,
                                                     .change = DEVICE_CACHE_UNKNOWN,
                                                     .compiled = call->count,
                                                     .took_ns = ret_driver->took_ns,
                                                 });
    /* An operation that is still under way may report a hit: tolerated. */
    for (uint32_t i = 0; choice.hot && !ret_driver->pending && i < call->count; i++) {
        feedback_hide_hit(&elements[i].feedback);
    }
    return result;
}

static VkResult pipeline_join(const struct device *device, const struct pipeline_call *call)
{
    return device->table.DeferredOperationJoinKHR(device->handle, call->deferred);
}

/* Which operation a join is of is not known, nor whether it compiles: it counts as a creation of a
 * pipeline that has no key. */
__attribute__((cold)) VkResult pipeline_join_deferred(const struct device *device,
                                                      VkDeferredOperationKHR deferred)
{
    /* Not static: that would be bound at each start. */
    const struct pipeline_kind kind = {.create = pipeline_join};
    struct device_services *services = device->services;
    struct pipeline_call call = {.kind = &kind, .deferred = deferred};
    if (!device->table.DeferredOperationJoinKHR) {
        return VK_ERROR_EXTENSION_NOT_PRESENT;
    }
    bool is_of_blob;
    if (!services || !device_cache_has_deferred(services->device_cache, &is_of_blob)) {
        return pipeline_join(device, &call);
    }
    const struct app_cache_choice choice = {.cache = VK_NULL_HANDLE};
    struct pipeline_driver_call driver;
    VkResult result =
        pipeline_call_with(services, &choice,
                           (struct pipeline_danger){
                               CRASH_KEY_UNKNOWN, is_of_blob ? CRASH_INSIDE_OTHER : CRASH_OUTSIDE},
                           &call, &driver);
    stats_add(&services->stats, STATS_pipelines_create_ns, driver.took_ns);
    device_cache_created(services->device_cache, &(struct device_cache_creation){
                                                     .saved = true,
                                                     .change = DEVICE_CACHE_UNKNOWN,
                                                     .compiled = 1,
                                                     .took_ns = driver.took_ns,
                                                 });
    device_cache_called(services->device_cache);
    return result;
}
