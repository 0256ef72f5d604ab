// SPDX-License-Identifier: Apache-2.0
/* Pipelines of all kinds: look at what the call allows, share what is live, ask the driver for the
 * rest. And pipeline caches: app_caches follows the program's own. */
#include <stdlib.h>

#include "common/base/clock.h"
#include "layer/cache/device_cache.h"
#include "layer/commands/commands.h"
#include "layer/commands/pipeline_call.h"
#include "layer/dedup/dedup.h"
#include "layer/trace/trace.h"
#include "layer/worker/own_thread.h"

/* Calls of few elements need no memory of the heap; programs rarely create more at once. */
#define INLINE_ELEMENTS 4
#define INLINE_COPY_BYTES                                                                          \
    (INLINE_ELEMENTS * (sizeof(VkGraphicsPipelineCreateInfo) + sizeof(VkPipeline)))

static const char *trace_result_of(const struct pipeline_call *call,
                                   const struct pipeline_element *elements, uint32_t i,
                                   const struct pipeline_driver_call *driver)
{
    static const char *const verdicts[] = {
        [FEEDBACK_UNKNOWN] = "unknown",
        [FEEDBACK_HIT] = "hit",
        [FEEDBACK_MISS] = "miss",
    };
    if (!driver->pending && call->pipelines[i] == VK_NULL_HANDLE) {
        return "failed";
    }
    if (elements && !pipeline_needs_driver(&elements[i])) {
        return "shared";
    }
    return driver->hot ? verdicts[elements[i].verdict] : "passed";
}

/* Whether the driver has said of each pipeline that it was asked for how long it took. */
static bool trace_has_times(const struct pipeline_call *call,
                            const struct pipeline_element *elements)
{
    bool timed = true;
    for (uint32_t i = 0; i < call->count; i++) {
        timed &= !pipeline_needs_driver(&elements[i]) || elements[i].verdict != FEEDBACK_UNKNOWN;
    }
    return timed;
}

/* An element's share of the time, without a unit: 0 where the driver was not asked for it, but for
 * others. (Half of the time fits int64_t, which converts without a branch.) */
static double trace_weigh(const struct pipeline_element *elements, uint32_t i,
                          const struct pipeline_driver_call *driver, bool timed)
{
    if (!elements || driver->count == 0) {
        return 1;
    }
    if (!pipeline_needs_driver(&elements[i])) {
        return 0;
    }
    return timed ? (double)(int64_t)(elements[i].duration_ns / 2) + 1 : 1;
}

/* Puts a span for each pipeline into the trace. elements NULL: the call went down as it came. The
 * driver's time is divided as the driver says itself, else evenly. */
static __attribute__((cold)) void trace_call(struct trace *trace, const struct pipeline_call *call,
                                             const struct pipeline_element *elements,
                                             const struct pipeline_driver_call *driver,
                                             uint64_t start_ns, uint64_t end_ns)
{
    const bool timed = elements && trace_has_times(call, elements);
    double whole = 0;
    for (uint32_t i = 0; i < call->count; i++) {
        whole += trace_weigh(elements, i, driver, timed);
    }
    /* What happens before the driver is called, such as a load, counts for the first pipeline. */
    const uint64_t driver_ns = driver->start_ns ? driver->start_ns : start_ns;
    double passed = 0;
    for (uint32_t i = 0; i < call->count; i++) {
        passed += trace_weigh(elements, i, driver, timed);
        const uint64_t until_ns =
            i + 1 < call->count
                ? driver_ns +
                      (uint64_t)(int64_t)((double)(int64_t)(end_ns - driver_ns) * (passed / whole))
                : end_ns;
        trace_put(trace, &(struct trace_event){
                             .kind = TRACE_PIPELINE,
                             .name = call->kind->name,
                             .start_ns = start_ns,
                             .end_ns = until_ns,
                             .result = trace_result_of(call, elements, i, driver),
                             .content = elements && elements[i].encoded ? elements[i].facts.content
                                                                        : (struct digest){0},
                         });
        start_ns = until_ns;
    }
}

static VkResult create_cached(struct device_services *services, const struct pipeline_call *call,
                              struct pipeline_element *elements, void *copy, uint64_t start_ns,
                              struct pipeline_driver_call *ret_driver)
{
    struct app_cache *named = app_caches_find(services->app_caches, call->cache);
    if (call->deferred != VK_NULL_HANDLE) {
        VkResult begun = pipeline_create_deferred(services, call, named, elements, ret_driver);
        pipeline_settle_deferred(services, call, elements, begun);
        return begun;
    }
    VkResult result = VK_SUCCESS;
    ret_driver->count = pipeline_plan(services, call, named, elements);
    if (ret_driver->count > 0) {
        result = pipeline_create(services, call, named, elements, copy, ret_driver);
    }
    pipeline_settle(services, call, named, elements, ret_driver, start_ns);
    return result;
}

static void count_call(struct device_services *services, const struct pipeline_call *call,
                       const struct pipeline_driver_call *driver, uint64_t took_ns)
{
    const struct stats_stripe stripe = stats_stripe_of(&services->stats);
    stats_stripe_add(stripe, STATS_pipelines_requested, call->count);
    stats_stripe_add(stripe, driver->hot ? STATS_pipelines_injected : STATS_pipelines_passed,
                     driver->count);
    stats_stripe_add(stripe, STATS_pipelines_driver_hits, driver->hits);
    stats_stripe_add(stripe, STATS_pipelines_driver_misses, driver->misses);
    stats_stripe_add(stripe, STATS_compile_ns, driver->compile_ns);
    stats_stripe_add(stripe, STATS_pipelines_create_ns, took_ns);
}

/* Whether somebody wants to know what the call takes beside the driver: a trace, or the statistics
 * where the blob is still to be loaded. Looks at the clock are a third of what a live pipeline
 * takes. */
static bool create_is_timed(const struct device_services *services)
{
    return services->trace || !device_cache_is_loaded(services->device_cache);
}

/* Whether the program does, by creation feedback; known once the call is encoded. */
static bool create_is_told(const struct pipeline_call *call,
                           const struct pipeline_element *elements)
{
    bool told = false;
    for (uint32_t i = 0; i < call->count && !told; i++) {
        told = elements[i].feedback.programs;
    }
    return told;
}

/* When the call ended. *start_ns 0: it counts from where the driver was asked, which it may not
 * have been. */
static uint64_t create_end(const struct pipeline_driver_call *driver, uint64_t *start_ns)
{
    if (*start_ns == 0) {
        *start_ns = driver->start_ns;
    } else if (driver->start_ns == 0) {
        return clock_now_ns();
    }
    return driver->start_ns + driver->took_ns;
}

static VkResult create_pipelines(VkDevice handle, const struct pipeline_call *call)
{
    struct device_services *services = services_of(handle);
    if (!services) {
        return call->kind->create(device_of(handle), call);
    }
    struct pipeline_element inline_elements[INLINE_ELEMENTS];
    _Alignas(8) char inline_copy[INLINE_COPY_BYTES];
    struct pipeline_element *elements = inline_elements;
    void *copy = inline_copy;
    const int cancel = own_thread_bar_cancel();
    if (call->count > INLINE_ELEMENTS) {
        elements = malloc(call->count * sizeof *elements);
        copy = malloc(call->count * (call->kind->create_info_size + sizeof(VkPipeline)));
    }
    struct pipeline_driver_call driver = {0};
    uint64_t start_ns = create_is_timed(services) ? clock_now_ns() : 0;
    bool cacheable = elements && copy && pipeline_encode(services, call, elements);
    if (start_ns == 0 && (!cacheable || create_is_told(call, elements))) {
        start_ns = clock_now_ns();
    }
    VkResult result = cacheable ? create_cached(services, call, elements, copy, start_ns, &driver)
                                : pipeline_create_untouched(services, call);
    const uint64_t end_ns = create_end(&driver, &start_ns);
    if (services->trace) {
        trace_call(services->trace, call, cacheable ? elements : NULL, &driver, start_ns, end_ns);
    }
    for (uint32_t i = 0; cacheable && i < call->count; i++) {
        free(elements[i].feedback.many_stages);
    }
    if (call->count > INLINE_ELEMENTS) {
        free(elements);
        free(copy);
    }
    count_call(services, call, &driver, end_ns - start_ns);
    device_cache_called(services->device_cache);
    own_thread_let_cancel(cancel);
    return result;
}

/* The commands of one kind: alike but for the types. deferred, deferred_argument: the parameter
 * that vkCreateRayTracingPipelinesKHR alone has, with its comma, and what the driver is given for
 * it. A layer above us may have got a command from the instance, for a device that does not have
 * it. */
#define PIPELINE_KIND(kind_name, trace_name, Member, CreateInfo, function, deferred_parameter,     \
                      deferred_value, deferred_argument)                                           \
    static VkResult next_##function(const struct device *device, const struct pipeline_call *call) \
    {                                                                                              \
        if (!device->table.Member) {                                                               \
            return VK_ERROR_EXTENSION_NOT_PRESENT;                                                 \
        }                                                                                          \
        return device->table.Member(device->handle, deferred_argument call->cache, call->count,    \
                                    call->create_infos, call->allocator, call->pipelines);         \
    }                                                                                              \
    static const struct pipeline_kind kind_name = {trace_name, sizeof(CreateInfo),                 \
                                                   next_##function};                               \
    static VKAPI_ATTR VkResult VKAPI_CALL function(                                                \
        VkDevice device, deferred_parameter VkPipelineCache cache, uint32_t count,                 \
        const CreateInfo *create_infos, const VkAllocationCallbacks *allocator,                    \
        VkPipeline *ret_pipelines)                                                                 \
    {                                                                                              \
        const struct pipeline_call call = {                                                        \
            .kind = &kind_name,                                                                    \
            .deferred = deferred_value,                                                            \
            .cache = cache,                                                                        \
            .count = count,                                                                        \
            .create_infos = create_infos,                                                          \
            .allocator = allocator,                                                                \
            .pipelines = ret_pipelines,                                                            \
        };                                                                                         \
        return create_pipelines(device, &call);                                                    \
    }

#define DEFERRED_PARAMETER VkDeferredOperationKHR deferred,
#define DEFERRED_ARGUMENT  call->deferred,

PIPELINE_KIND(compute, "compute", CreateComputePipelines, VkComputePipelineCreateInfo,
              create_compute_pipelines, , VK_NULL_HANDLE, )
PIPELINE_KIND(graphics, "graphics", CreateGraphicsPipelines, VkGraphicsPipelineCreateInfo,
              create_graphics_pipelines, , VK_NULL_HANDLE, )
PIPELINE_KIND(ray_tracing_nv, "raytracing", CreateRayTracingPipelinesNV,
              VkRayTracingPipelineCreateInfoNV, create_ray_tracing_pipelines_nv, , VK_NULL_HANDLE, )
PIPELINE_KIND(ray_tracing_khr, "raytracing", CreateRayTracingPipelinesKHR,
              VkRayTracingPipelineCreateInfoKHR, create_ray_tracing_pipelines_khr,
              DEFERRED_PARAMETER, deferred, DEFERRED_ARGUMENT)

static __attribute__((cold)) VKAPI_ATTR VkResult VKAPI_CALL
join_deferred_operation(VkDevice device, VkDeferredOperationKHR deferred)
{
    const int cancel = own_thread_bar_cancel();
    const VkResult result = pipeline_join_deferred(device_of(device), deferred);
    own_thread_let_cancel(cancel);
    return result;
}

static VKAPI_ATTR void VKAPI_CALL destroy_pipeline(VkDevice handle, VkPipeline pipeline,
                                                   const VkAllocationCallbacks *allocator)
{
    const struct device *device = device_of(handle);
    const struct device_services *services = device->services;
    if (!services || !services->dedup || pipeline == VK_NULL_HANDLE ||
        objects_release(dedup_objects(services->dedup), VK_OBJECT_TYPE_PIPELINE,
                        HANDLE_VALUE(pipeline))) {
        device->table.DestroyPipeline(handle, pipeline, allocator);
    }
}

static __attribute__((cold)) VKAPI_ATTR VkResult VKAPI_CALL
create_pipeline_cache(VkDevice handle, const VkPipelineCacheCreateInfo *create_info,
                      const VkAllocationCallbacks *allocator, VkPipelineCache *ret_cache)
{
    const struct device *device = device_of(handle);
    const int cancel = own_thread_bar_cancel();
    const VkResult result =
        device->services
            ? app_caches_create(device->services->app_caches, create_info, allocator, ret_cache)
            : device->table.CreatePipelineCache(handle, create_info, allocator, ret_cache);
    own_thread_let_cancel(cancel);
    return result;
}

static __attribute__((cold)) VKAPI_ATTR void VKAPI_CALL destroy_pipeline_cache(
    VkDevice handle, VkPipelineCache cache, const VkAllocationCallbacks *allocator)
{
    const struct device *device = device_of(handle);
    const int cancel = own_thread_bar_cancel();
    if (!device->services) {
        device->table.DestroyPipelineCache(handle, cache, allocator);
    } else if (cache != VK_NULL_HANDLE) {
        app_caches_destroy(device->services->app_caches, cache, allocator);
    }
    own_thread_let_cancel(cancel);
}

static __attribute__((cold)) VKAPI_ATTR VkResult VKAPI_CALL
get_pipeline_cache_data(VkDevice handle, VkPipelineCache cache, size_t *size, void *data)
{
    const struct device *device = device_of(handle);
    const int cancel = own_thread_bar_cancel();
    const VkResult result =
        device->services ? app_caches_get_data(device->services->app_caches, cache, size, data)
                         : device->table.GetPipelineCacheData(handle, cache, size, data);
    own_thread_let_cancel(cancel);
    return result;
}

static __attribute__((cold)) VKAPI_ATTR VkResult VKAPI_CALL
merge_pipeline_caches(VkDevice handle, VkPipelineCache destination, uint32_t source_count,
                      const VkPipelineCache *sources)
{
    const struct device *device = device_of(handle);
    const int cancel = own_thread_bar_cancel();
    const VkResult result =
        device->services
            ? app_caches_merge(device->services->app_caches, destination, source_count, sources)
            : device->table.MergePipelineCaches(handle, destination, source_count, sources);
    own_thread_let_cancel(cancel);
    return result;
}

static const struct command pipeline_command_list[] = {
    COMMAND("vkCreateComputePipelines", create_compute_pipelines, COMMAND_WORK),
    COMMAND("vkCreateGraphicsPipelines", create_graphics_pipelines, COMMAND_WORK),
    COMMAND("vkCreateRayTracingPipelinesKHR", create_ray_tracing_pipelines_khr, COMMAND_WORK),
    COMMAND("vkCreateRayTracingPipelinesNV", create_ray_tracing_pipelines_nv, COMMAND_WORK),
    COMMAND("vkDeferredOperationJoinKHR", join_deferred_operation, COMMAND_WORK),
    COMMAND("vkDestroyPipeline", destroy_pipeline, COMMAND_WORK),
    COMMAND("vkCreatePipelineCache", create_pipeline_cache, COMMAND_WORK),
    COMMAND("vkDestroyPipelineCache", destroy_pipeline_cache, COMMAND_WORK),
    COMMAND("vkGetPipelineCacheData", get_pipeline_cache_data, COMMAND_WORK),
    COMMAND("vkMergePipelineCaches", merge_pipeline_caches, COMMAND_WORK),
};

const struct command_family pipeline_commands = COMMAND_FAMILY(pipeline_command_list);
