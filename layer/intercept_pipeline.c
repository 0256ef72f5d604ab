/* Pipeline creation, all kinds alike: look at what the call allows, choose the cache, chain
 * creation feedback, call down, count. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "app_caches.h"
#include "codec/rules.h"
#include "device.h"
#include "feedback.h"
#include "injector.h"
#include "intercept.h"

/* The arguments of one call, as the program gave them. */
struct pipeline_call {
    const struct pipeline_kind *kind;
    VkDeferredOperationKHR deferred;
    VkPipelineCache cache;
    uint32_t count;
    const void *create_infos;
    const VkAllocationCallbacks *allocator;
    VkPipeline *pipelines;
};

/* What differs between the kinds of pipelines. */
struct pipeline_kind {
    size_t create_info_size;
    void (*rules)(const void *create_info, struct pipeline_rules *ret_rules);
    VkResult (*create)(const struct device *device, const struct pipeline_call *call);
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void rules_of(const struct pipeline_call *call, uint32_t i, struct pipeline_rules *ret_rules)
{
    const char *create_info = (const char *)call->create_infos + i * call->kind->create_info_size;
    call->kind->rules(create_info, ret_rules);
}

/* Whether the call may be given another cache than it names. One element that is unknown, or that
 * forbids a cache (VUID-Vk*PipelineCreateInfo-pNext-09616, -09617; the cache is a parameter of the
 * whole call), sends it down untouched. Notes the program's own feedback by the way. */
static bool call_is_known(const struct pipeline_call *call, struct feedback *feedback,
                          bool *ret_asks_feedback)
{
    for (uint32_t i = 0; i < call->count; ++i) {
        struct pipeline_rules rules;
        rules_of(call, i, &rules);
        if (!rules.known || rules.cache_forbidden) {
            return false;
        }
        if (rules.feedback) {
            feedback_use(feedback, i, rules.feedback);
            *ret_asks_feedback = true;
        }
    }
    return true;
}

static VkResult pass(struct device *device, const struct pipeline_call *call)
{
    stats_add(&device->stats, STATS_pipelines_passed, call->count);
    app_caches_untouched(device->app_caches, call->cache);
    const struct driver_caches *driver = injector_caches(device->injector);
    driver_cache_enter(driver);
    VkResult result = call->kind->create(device, call);
    driver_cache_leave(driver);
    return result;
}

/* Calls down with a copy of the create-infos whose chains start with our feedback structs. Every
 * create-info begins with sType and pNext, and all else in it stays what the program gave. */
static VkResult create_with_feedback(const struct device *device, const struct pipeline_call *call,
                                     struct feedback *feedback)
{
    _Alignas(8) char inline_copy[1024];
    size_t stride = call->kind->create_info_size;
    size_t size = call->count * stride;
    char *copy = size <= sizeof inline_copy ? inline_copy : malloc(size);
    struct pipeline_call patched = *call;
    if (copy && feedback->elements) {
        memcpy(copy, call->create_infos, size);
        for (uint32_t i = 0; i < call->count; ++i) {
            VkBaseInStructure head;
            memcpy(&head, copy + i * stride, sizeof head);
            const void *next = head.pNext;
            feedback_chain(feedback, i, &next);
            memcpy(copy + i * stride + offsetof(VkBaseInStructure, pNext), &next, sizeof next);
        }
        patched.create_infos = copy;
    }
    VkResult result = call->kind->create(device, &patched);
    if (copy != inline_copy) {
        free(copy);
    }
    return result;
}

static void hide_hits(const struct pipeline_call *call)
{
    for (uint32_t i = 0; i < call->count; ++i) {
        struct pipeline_rules rules;
        rules_of(call, i, &rules);
        feedback_hide_hit(rules.feedback);
    }
}

/* The call has returned, with all of its pipelines: counts, and says what became of the cache. */
static void account(struct device *device, const struct pipeline_call *call,
                    const struct app_cache_choice *choice, const struct feedback *feedback)
{
    struct feedback_result result = feedback_collect(feedback, call->pipelines);
    stats_add(&device->stats, STATS_pipelines_driver_hits, result.hits);
    stats_add(&device->stats, STATS_pipelines_driver_misses, result.misses);
    enum injector_change change = result.misses    ? INJECTOR_COMPILED
                                  : result.unknown ? INJECTOR_UNKNOWN
                                                   : INJECTOR_UNCHANGED;
    if (choice->hot || choice->named) {
        injector_created(device->injector, choice->hot, change);
    }
    app_caches_chosen_done(choice, change != INJECTOR_UNCHANGED);
}

/* A deferred operation goes on after the call: its create-infos are not ours to copy and its
 * pipelines not yet to be looked at (VK_KHR_deferred_host_operations). It keeps a served cache
 * served, since what it compiles may be in the hot cache only later. */
static void account_deferred(struct device *device, const struct app_cache_choice *choice)
{
    if (choice->hot || choice->named) {
        injector_created(device->injector, false, INJECTOR_UNKNOWN);
    }
    if (!choice->hot) {
        app_caches_chosen_done(choice, true);
    }
}

static VkResult create_pipelines(VkDevice handle, const struct pipeline_call *call)
{
    struct device *device = device_of(handle);
    uint64_t start = now_ns();
    struct feedback feedback;
    bool asks_feedback = false;
    VkResult result;
    stats_add(&device->stats, STATS_pipelines_requested, call->count);
    feedback_begin(&feedback, call->count);
    if (!call_is_known(call, &feedback, &asks_feedback)) {
        result = pass(device, call);
        goto out;
    }

    struct app_cache_choice choice = app_caches_choose(device->app_caches, call->cache);
    struct pipeline_call chosen = *call;
    chosen.cache = choice.cache;
    stats_add(&device->stats, choice.hot ? STATS_pipelines_injected : STATS_pipelines_passed,
              call->count);
    const struct driver_caches *driver = injector_caches(device->injector);
    if (call->deferred == VK_NULL_HANDLE) {
        memset(call->pipelines, 0, call->count * sizeof *call->pipelines);
    }
    driver_cache_enter(driver);
    if (device->feedback && call->deferred == VK_NULL_HANDLE) {
        result = create_with_feedback(device, &chosen, &feedback);
    } else {
        result = call->kind->create(device, &chosen);
    }
    driver_cache_leave(driver);
    if (call->deferred == VK_NULL_HANDLE) {
        account(device, call, &choice, &feedback);
    } else {
        account_deferred(device, &choice);
    }
    if (choice.hot && asks_feedback && result != VK_OPERATION_DEFERRED_KHR) {
        hide_hits(call);
    }
out:
    feedback_end(&feedback);
    stats_add(&device->stats, STATS_pipelines_create_ns, now_ns() - start);
    return result;
}

static void compute_rules(const void *create_info, struct pipeline_rules *ret_rules)
{
    rules_compute(create_info, ret_rules);
}

static VkResult create_compute(const struct device *device, const struct pipeline_call *call)
{
    return device->table.CreateComputePipelines(device->handle, call->cache, call->count,
                                                call->create_infos, call->allocator,
                                                call->pipelines);
}

static void graphics_rules(const void *create_info, struct pipeline_rules *ret_rules)
{
    rules_graphics(create_info, ret_rules);
}

static VkResult create_graphics(const struct device *device, const struct pipeline_call *call)
{
    return device->table.CreateGraphicsPipelines(device->handle, call->cache, call->count,
                                                 call->create_infos, call->allocator,
                                                 call->pipelines);
}

static void ray_tracing_khr_rules(const void *create_info, struct pipeline_rules *ret_rules)
{
    rules_ray_tracing(create_info, ret_rules);
}

static VkResult create_ray_tracing_khr(const struct device *device,
                                       const struct pipeline_call *call)
{
    return device->table.CreateRayTracingPipelinesKHR(device->handle, call->deferred, call->cache,
                                                      call->count, call->create_infos,
                                                      call->allocator, call->pipelines);
}

static void ray_tracing_nv_rules(const void *create_info, struct pipeline_rules *ret_rules)
{
    rules_ray_tracing_nv(create_info, ret_rules);
}

static VkResult create_ray_tracing_nv(const struct device *device, const struct pipeline_call *call)
{
    return device->table.CreateRayTracingPipelinesNV(device->handle, call->cache, call->count,
                                                     call->create_infos, call->allocator,
                                                     call->pipelines);
}

static const struct pipeline_kind compute = {sizeof(VkComputePipelineCreateInfo), compute_rules,
                                             create_compute};
static const struct pipeline_kind graphics = {sizeof(VkGraphicsPipelineCreateInfo), graphics_rules,
                                              create_graphics};
static const struct pipeline_kind ray_tracing_khr = {sizeof(VkRayTracingPipelineCreateInfoKHR),
                                                     ray_tracing_khr_rules, create_ray_tracing_khr};
static const struct pipeline_kind ray_tracing_nv = {sizeof(VkRayTracingPipelineCreateInfoNV),
                                                    ray_tracing_nv_rules, create_ray_tracing_nv};

VKAPI_ATTR VkResult VKAPI_CALL intercept_create_compute_pipelines(
    VkDevice device, VkPipelineCache cache, uint32_t count,
    const VkComputePipelineCreateInfo *create_infos, const VkAllocationCallbacks *allocator,
    VkPipeline *ret_pipelines)
{
    struct pipeline_call call = {.kind = &compute,
                                 .cache = cache,
                                 .count = count,
                                 .create_infos = create_infos,
                                 .allocator = allocator,
                                 .pipelines = ret_pipelines};
    return create_pipelines(device, &call);
}

VKAPI_ATTR VkResult VKAPI_CALL intercept_create_graphics_pipelines(
    VkDevice device, VkPipelineCache cache, uint32_t count,
    const VkGraphicsPipelineCreateInfo *create_infos, const VkAllocationCallbacks *allocator,
    VkPipeline *ret_pipelines)
{
    struct pipeline_call call = {.kind = &graphics,
                                 .cache = cache,
                                 .count = count,
                                 .create_infos = create_infos,
                                 .allocator = allocator,
                                 .pipelines = ret_pipelines};
    return create_pipelines(device, &call);
}

VKAPI_ATTR VkResult VKAPI_CALL intercept_create_ray_tracing_pipelines_khr(
    VkDevice device, VkDeferredOperationKHR deferred, VkPipelineCache cache, uint32_t count,
    const VkRayTracingPipelineCreateInfoKHR *create_infos, const VkAllocationCallbacks *allocator,
    VkPipeline *ret_pipelines)
{
    struct pipeline_call call = {.kind = &ray_tracing_khr,
                                 .deferred = deferred,
                                 .cache = cache,
                                 .count = count,
                                 .create_infos = create_infos,
                                 .allocator = allocator,
                                 .pipelines = ret_pipelines};
    return create_pipelines(device, &call);
}

VKAPI_ATTR VkResult VKAPI_CALL intercept_create_ray_tracing_pipelines_nv(
    VkDevice device, VkPipelineCache cache, uint32_t count,
    const VkRayTracingPipelineCreateInfoNV *create_infos, const VkAllocationCallbacks *allocator,
    VkPipeline *ret_pipelines)
{
    struct pipeline_call call = {.kind = &ray_tracing_nv,
                                 .cache = cache,
                                 .count = count,
                                 .create_infos = create_infos,
                                 .allocator = allocator,
                                 .pipelines = ret_pipelines};
    return create_pipelines(device, &call);
}
