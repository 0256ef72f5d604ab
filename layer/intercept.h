/* The device commands that warmpipe takes part in; each has the signature, and keeps the contract,
 * of the Vulkan command of its name. */
#ifndef WARMPIPE_LAYER_INTERCEPT_H
#define WARMPIPE_LAYER_INTERCEPT_H

#include <vulkan/vulkan.h>

/* intercept_pipeline.c */
VKAPI_ATTR VkResult VKAPI_CALL intercept_create_compute_pipelines(
    VkDevice device, VkPipelineCache cache, uint32_t count,
    const VkComputePipelineCreateInfo *create_infos, const VkAllocationCallbacks *allocator,
    VkPipeline *ret_pipelines);
VKAPI_ATTR VkResult VKAPI_CALL intercept_create_graphics_pipelines(
    VkDevice device, VkPipelineCache cache, uint32_t count,
    const VkGraphicsPipelineCreateInfo *create_infos, const VkAllocationCallbacks *allocator,
    VkPipeline *ret_pipelines);
VKAPI_ATTR VkResult VKAPI_CALL intercept_create_ray_tracing_pipelines_khr(
    VkDevice device, VkDeferredOperationKHR deferred, VkPipelineCache cache, uint32_t count,
    const VkRayTracingPipelineCreateInfoKHR *create_infos, const VkAllocationCallbacks *allocator,
    VkPipeline *ret_pipelines);
VKAPI_ATTR VkResult VKAPI_CALL intercept_create_ray_tracing_pipelines_nv(
    VkDevice device, VkPipelineCache cache, uint32_t count,
    const VkRayTracingPipelineCreateInfoNV *create_infos, const VkAllocationCallbacks *allocator,
    VkPipeline *ret_pipelines);

/* intercept_cache.c */
VKAPI_ATTR VkResult VKAPI_CALL
intercept_create_pipeline_cache(VkDevice device, const VkPipelineCacheCreateInfo *create_info,
                                const VkAllocationCallbacks *allocator, VkPipelineCache *ret_cache);
VKAPI_ATTR void VKAPI_CALL intercept_destroy_pipeline_cache(VkDevice device, VkPipelineCache cache,
                                                            const VkAllocationCallbacks *allocator);
VKAPI_ATTR VkResult VKAPI_CALL intercept_get_pipeline_cache_data(VkDevice device,
                                                                 VkPipelineCache cache,
                                                                 size_t *data_size, void *data);
VKAPI_ATTR VkResult VKAPI_CALL intercept_merge_pipeline_caches(VkDevice device,
                                                               VkPipelineCache destination,
                                                               uint32_t source_count,
                                                               const VkPipelineCache *sources);

#endif
