// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "icd_cache.h"
#include "icd_deferred.h"
#include "icd_objects.h"
#include "icd_request.h"
#include "test_icd.h"

static _Atomic(void *) compile_user;
static void (*_Atomic compile_function)(void *user);

void test_icd_on_compile(void (*function)(void *user), void *user)
{
    atomic_store(&compile_user, user);
    atomic_store(&compile_function, function);
}

static void compile(const struct icd_settings *settings, uint64_t content)
{
    if (content == settings->crash_content) {
        raise(SIGSEGV);
    }
    while (content == settings->hang_content) {
        pause();
    }
    if (content == settings->killed_content ||
        (settings->killed_by[0] != '\0' && unlink(settings->killed_by) == 0)) {
        raise(SIGKILL);
    }
    void (*function)(void *user) = atomic_load(&compile_function);
    if (function != NULL) {
        function(atomic_load(&compile_user));
    }
    icd_busy_wait(settings->compile_us);
}

/* VUID-VkComputePipelineCreateInfo-pNext-09616 and -09617, and the same of the other kinds. */
static void check_cache_allowed(const struct icd_batch *batch, const struct icd_request *request)
{
    if (batch->cache == NULL) {
        return;
    }
    if (request->binary_count != 0) {
        icd_violation("cache_with_binaries", "%s: a pipeline cache beside pipeline binaries",
                      icd_command_name(batch->command));
    }
    if (request->flags & ICD_PIPELINE_CREATE_2_CAPTURE_DATA) {
        icd_violation("cache_with_capture", "%s: a pipeline cache beside CAPTURE_DATA",
                      icd_command_name(batch->command));
    }
}

static void fill_feedback(const struct icd_batch *batch, const struct icd_request *request,
                          bool hit, uint64_t duration)
{
    const VkPipelineCreationFeedbackCreateInfo *info =
        icd_chain_find(request->chain, VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO);
    if (info == NULL || batch->device->settings->no_feedback) {
        return;
    }
    uint32_t count = info->pipelineStageCreationFeedbackCount;
    const bool old = batch->device->settings->old_feedback;
    // RADV of Mesa 22 crashes at hits where stages of ray tracing are counted.
    const bool rays = batch->command == ICD_CreateRayTracingPipelinesKHR;
    const bool none = count == 0 && (rays || !old);
    if (!none && count != request->stage_count) {
        icd_violation("feedback_count", "%s: %u stage feedbacks for %u stages",
                      icd_command_name(batch->command), count, request->stage_count);
    }
    VkPipelineCreationFeedback feedback = {VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT, duration};
    const enum icd_feedback says = batch->device->settings->feedback;
    hit = says == ICD_FEEDBACK_TRUE ? hit : says == ICD_FEEDBACK_HIT;
    if (hit) {
        feedback.flags |= VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT;
    }
    *info->pPipelineCreationFeedback = feedback;
    for (uint32_t i = 0; i < (old ? request->stage_count : count); ++i) {
        info->pPipelineStageCreationFeedbacks[i] = feedback;
    }
}

static void record_element(const struct icd_batch *batch, const struct icd_request *request,
                           uint32_t index, bool hit, VkResult result)
{
    struct icd_event event;
    icd_event_begin(&event, "pipeline");
    icd_event_text(&event, "command", icd_command_name(batch->command));
    icd_event_number(&event, "element", index);
    icd_event_handle(&event, "cache", ICD_HANDLE(batch->cache_handle));
    icd_event_handle(&event, "handle", ICD_HANDLE(batch->pipelines[index]));
    icd_event_handle(&event, "content", request->content);
    icd_event_handle(&event, "flags", request->flags);
    icd_event_bool(&event, "hit", hit);
    icd_event_bool(&event, "deferred", batch->deferred);
    icd_event_number(&event, "result", result);
    icd_event_chain(&event, request->chain);
    icd_event_end(&event);
}

static VkResult make_pipeline(const struct icd_batch *batch, const struct icd_request *request,
                              VkPipeline *ret_pipeline)
{
    bool is_new;
    struct icd_object *object =
        icd_object_create(batch->device, VK_OBJECT_TYPE_PIPELINE, sizeof *object,
                          request->shareable ? request->content : 0, batch->allocator, &is_new);
    if (object == NULL) {
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    if (is_new) {
        object->content = request->content;
    }
    *ret_pipeline = ICD_FROM_HANDLE(VkPipeline, object->handle);
    return VK_SUCCESS;
}

static VkResult create_element(const struct icd_batch *batch, uint32_t index,
                               const struct icd_request *request)
{
    const struct icd_settings *settings = batch->device->settings;
    struct timespec before;
    struct timespec after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    check_cache_allowed(batch, request);

    bool hit = icd_cache_has(batch->cache, request->content);
    bool may_compile =
        (request->flags & VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT) == 0;
    VkResult result = VK_SUCCESS;
    if (settings->fail_element == (int32_t)index) {
        result = settings->fail_element_result;
    } else if (!hit && !may_compile) {
        result = VK_PIPELINE_COMPILE_REQUIRED;
    } else {
        if (!hit) {
            compile(settings, request->content);
        }
        result = make_pipeline(batch, request, &batch->pipelines[index]);
    }
    static _Atomic uint64_t made;
    if (result == VK_SUCCESS && atomic_fetch_add(&made, 1) >= settings->uncached) {
        icd_cache_add(batch->cache, request->content);
    }
    clock_gettime(CLOCK_MONOTONIC, &after);
    fill_feedback(
        batch, request, hit,
        (uint64_t)((after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec));
    record_element(batch, request, index, hit, result);
    return result;
}

/* Chapter "Multiple Pipeline Creation": every element is tried, the failed ones are VK_NULL_HANDLE,
 * and EARLY_RETURN_ON_FAILURE ends at the first. */
VkResult icd_batch_run(struct icd_batch *batch)
{
    VkResult result = VK_SUCCESS;
    bool ended = false;
    for (uint32_t i = 0; i < batch->count; ++i) {
        batch->pipelines[i] = VK_NULL_HANDLE;
    }
    for (uint32_t i = 0; i < batch->count && !ended; ++i) {
        struct icd_request request;
        icd_request_read(batch->device, batch->kind, batch->infos, i, batch->command, &request);
        VkResult element = create_element(batch, i, &request);
        if (element != VK_SUCCESS) {
            result = result < VK_SUCCESS ? result : element;
            ended = request.flags & VK_PIPELINE_CREATE_EARLY_RETURN_ON_FAILURE_BIT;
        }
    }
    icd_cache_release(batch->cache);
    return result == VK_SUCCESS ? icd_success(batch->device->settings, batch->command) : result;
}

static VkResult create_pipelines(struct icd_batch *batch)
{
    for (uint32_t i = 0; i < batch->count; ++i) {
        batch->pipelines[i] = VK_NULL_HANDLE;
    }
    VkResult result = icd_call(batch->device->settings, batch->command);
    if (result != VK_SUCCESS) {
        return result;
    }
    batch->cache = icd_cache_acquire(batch->device, batch->cache_handle, batch->command);
    return icd_batch_run(batch);
}

VkResult icd_CreateComputePipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                    const VkComputePipelineCreateInfo *infos,
                                    const VkAllocationCallbacks *allocator, VkPipeline *pipelines)
{
    return create_pipelines(&(struct icd_batch){.device = icd_device_from(device),
                                                .command = ICD_CreateComputePipelines,
                                                .kind = ICD_COMPUTE,
                                                .cache_handle = cache,
                                                .count = count,
                                                .infos = infos,
                                                .allocator = allocator,
                                                .pipelines = pipelines});
}

VkResult icd_CreateGraphicsPipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                     const VkGraphicsPipelineCreateInfo *infos,
                                     const VkAllocationCallbacks *allocator, VkPipeline *pipelines)
{
    return create_pipelines(&(struct icd_batch){.device = icd_device_from(device),
                                                .command = ICD_CreateGraphicsPipelines,
                                                .kind = ICD_GRAPHICS,
                                                .cache_handle = cache,
                                                .count = count,
                                                .infos = infos,
                                                .allocator = allocator,
                                                .pipelines = pipelines});
}

VkResult icd_CreateRayTracingPipelinesNV(VkDevice device, VkPipelineCache cache, uint32_t count,
                                         const VkRayTracingPipelineCreateInfoNV *infos,
                                         const VkAllocationCallbacks *allocator,
                                         VkPipeline *pipelines)
{
    return create_pipelines(&(struct icd_batch){.device = icd_device_from(device),
                                                .command = ICD_CreateRayTracingPipelinesNV,
                                                .kind = ICD_RAY_TRACING_NV,
                                                .cache_handle = cache,
                                                .count = count,
                                                .infos = infos,
                                                .allocator = allocator,
                                                .pipelines = pipelines});
}

VkResult icd_CreateRayTracingPipelinesKHR(VkDevice vk_device, VkDeferredOperationKHR operation,
                                          VkPipelineCache cache, uint32_t count,
                                          const VkRayTracingPipelineCreateInfoKHR *infos,
                                          const VkAllocationCallbacks *allocator,
                                          VkPipeline *pipelines)
{
    struct icd_device *device = icd_device_from(vk_device);
    struct icd_batch batch = {.device = device,
                              .command = ICD_CreateRayTracingPipelinesKHR,
                              .kind = ICD_RAY_TRACING_KHR,
                              .cache_handle = cache,
                              .count = count,
                              .infos = infos,
                              .allocator = allocator,
                              .pipelines = pipelines};
    if (ICD_HANDLE(operation) == 0 || device->settings->not_deferred) {
        VkResult result = create_pipelines(&batch);
        return ICD_HANDLE(operation) != 0 && result == VK_SUCCESS ? VK_OPERATION_NOT_DEFERRED_KHR
                                                                  : result;
    }
    VkResult result = icd_call(device->settings, batch.command);
    if (result != VK_SUCCESS) {
        return result;
    }
    batch.deferred = true;
    batch.cache = icd_cache_acquire(device, cache, batch.command);
    return icd_deferred_begin(operation, &batch);
}

VkResult icd_GetRayTracingShaderGroupHandlesKHR(VkDevice device, VkPipeline pipeline,
                                                uint32_t first, uint32_t count, size_t size,
                                                void *data)
{
    uint64_t content =
        icd_object_content(icd_device_from(device), ICD_HANDLE(pipeline), VK_OBJECT_TYPE_PIPELINE,
                           ICD_GetRayTracingShaderGroupHandlesKHR);
    icd_count(ICD_GetRayTracingShaderGroupHandlesKHR);
    for (size_t i = 0; i < size; ++i) {
        ((unsigned char *)data)[i] = (unsigned char)(content + first + count + i);
    }
    return VK_SUCCESS;
}

VkResult icd_CompileDeferredNV(VkDevice device, VkPipeline pipeline, uint32_t shader)
{
    (void)shader;
    icd_count(ICD_CompileDeferredNV);
    icd_object_find(icd_device_from(device), ICD_HANDLE(pipeline), VK_OBJECT_TYPE_PIPELINE,
                    ICD_CompileDeferredNV);
    return VK_SUCCESS;
}

void icd_DestroyPipeline(VkDevice device, VkPipeline pipeline,
                         const VkAllocationCallbacks *allocator)
{
    icd_destroy_plain(icd_device_from(device), ICD_DestroyPipeline, VK_OBJECT_TYPE_PIPELINE,
                      ICD_HANDLE(pipeline), allocator);
}
