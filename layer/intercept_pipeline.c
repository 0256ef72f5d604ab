/* Pipeline creation, all kinds alike: look at what the call allows, share what is live, ask the
 * driver for the rest. */
#include <stdlib.h>

#include "base/clock.h"
#include "intercept.h"
#include "pipeline_create.h"
#include "pipeline_record.h"
#include "pipeline_share.h"
#include "pipeline_trace.h"
#include "sharing.h"

/* Calls of few elements need no memory of the heap; programs rarely create more at once. */
#define INLINE_ELEMENTS   4
#define INLINE_COPY_BYTES (INLINE_ELEMENTS * sizeof(VkGraphicsPipelineCreateInfo))

/* Reads the rules of every element. False if one of them is unknown, or forbids a cache (VUID-
 * vkCreateComputePipelines-pNext-09616, -09617 and the like; the cache is a parameter of the whole
 * call): then the call goes down as it is. */
static bool read_rules(const struct pipeline_call *call, struct pipeline_element *elements)
{
    for (uint32_t i = 0; i < call->count; ++i) {
        struct pipeline_element *element = &elements[i];
        call->kind->rules(pipeline_create_info(call, i), &element->rules);
        if (!element->rules.known || element->rules.cache_forbidden) {
            return false;
        }
        feedback_init(&element->feedback, element->rules.feedback);
        element->verdict = FEEDBACK_UNKNOWN;
        element->fate = PIPELINE_ALONE;
        element->object = NULL;
        element->encoded = false;
        element->seen = false;
        element->draft = NULL;
    }
    return true;
}

static VkResult create_known(struct device *device, const struct pipeline_call *call,
                             struct pipeline_element *elements, void *copy, uint64_t start_ns,
                             struct pipeline_down *ret_down)
{
    struct app_cache *named = app_caches_find(device->app_caches, call->cache);
    if (call->deferred != VK_NULL_HANDLE) {
        pipeline_record_deferred(device, call, elements);
        VkResult begun = pipeline_create_deferred(device, call, named, elements, ret_down);
        pipeline_record_begun(device, call, elements, begun);
        return begun;
    }
    VkResult result = VK_SUCCESS;
    ret_down->count = pipeline_share_plan(device, call, named, elements);
    if (ret_down->count > 0) {
        result = pipeline_create_down(device, call, named, elements, copy, ret_down);
    }
    pipeline_share_settle(device, call, named, elements, ret_down, start_ns);
    return result;
}

static VkResult create_pipelines(VkDevice handle, const struct pipeline_call *call)
{
    struct device *device = device_of(handle);
    uint64_t start_ns = clock_now_ns();
    struct pipeline_element inline_elements[INLINE_ELEMENTS];
    _Alignas(8) char inline_copy[INLINE_COPY_BYTES];
    struct pipeline_element *elements = inline_elements;
    void *copy = inline_copy;
    if (call->count > INLINE_ELEMENTS) {
        elements = malloc(call->count * sizeof *elements);
        copy = malloc(call->count * call->kind->create_info_size);
    }
    stats_add(&device->stats, STATS_pipelines_requested, call->count);
    struct pipeline_down down = {0};
    bool known = elements && copy && read_rules(call, elements);
    VkResult result = known ? create_known(device, call, elements, copy, start_ns, &down)
                            : pipeline_create_untouched(device, call);
    uint64_t end_ns = clock_now_ns();
    if (device->trace) {
        pipeline_trace(device, call, known ? elements : NULL, &down, start_ns, end_ns);
    }
    if (call->count > INLINE_ELEMENTS) {
        free(elements);
        free(copy);
    }
    stats_add(&device->stats, STATS_pipelines_create_ns, end_ns - start_ns);
    return result;
}

VKAPI_ATTR void VKAPI_CALL intercept_destroy_pipeline(VkDevice device, VkPipeline pipeline,
                                                      const VkAllocationCallbacks *allocator)
{
    struct device *state = device_of(device);
    if (!state->sharing || pipeline == VK_NULL_HANDLE ||
        objects_release(sharing_objects(state->sharing), VK_OBJECT_TYPE_PIPELINE,
                        HANDLE_VALUE(pipeline))) {
        state->table.DestroyPipeline(device, pipeline, allocator);
    }
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

static const struct pipeline_kind compute = {"compute", sizeof(VkComputePipelineCreateInfo),
                                             compute_rules, create_compute};
static const struct pipeline_kind graphics = {"graphics", sizeof(VkGraphicsPipelineCreateInfo),
                                              graphics_rules, create_graphics};
static const struct pipeline_kind ray_tracing_khr = {"raytracing",
                                                     sizeof(VkRayTracingPipelineCreateInfoKHR),
                                                     ray_tracing_khr_rules, create_ray_tracing_khr};
static const struct pipeline_kind ray_tracing_nv = {"raytracing",
                                                    sizeof(VkRayTracingPipelineCreateInfoNV),
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
