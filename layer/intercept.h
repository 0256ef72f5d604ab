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

VKAPI_ATTR void VKAPI_CALL intercept_destroy_pipeline(VkDevice device, VkPipeline pipeline,
                                                      const VkAllocationCallbacks *allocator);

/* intercept_object.c */
VKAPI_ATTR VkResult VKAPI_CALL
intercept_create_shader_module(VkDevice device, const VkShaderModuleCreateInfo *create_info,
                               const VkAllocationCallbacks *allocator, VkShaderModule *ret_module);
VKAPI_ATTR VkResult VKAPI_CALL intercept_create_descriptor_set_layout(
    VkDevice device, const VkDescriptorSetLayoutCreateInfo *create_info,
    const VkAllocationCallbacks *allocator, VkDescriptorSetLayout *ret_layout);
VKAPI_ATTR VkResult VKAPI_CALL intercept_create_pipeline_layout(
    VkDevice device, const VkPipelineLayoutCreateInfo *create_info,
    const VkAllocationCallbacks *allocator, VkPipelineLayout *ret_layout);
VKAPI_ATTR VkResult VKAPI_CALL intercept_create_descriptor_update_template(
    VkDevice device, const VkDescriptorUpdateTemplateCreateInfo *create_info,
    const VkAllocationCallbacks *allocator, VkDescriptorUpdateTemplate *ret_template);
VKAPI_ATTR VkResult VKAPI_CALL intercept_create_sampler(VkDevice device,
                                                        const VkSamplerCreateInfo *create_info,
                                                        const VkAllocationCallbacks *allocator,
                                                        VkSampler *ret_sampler);
VKAPI_ATTR VkResult VKAPI_CALL intercept_create_sampler_ycbcr_conversion(
    VkDevice device, const VkSamplerYcbcrConversionCreateInfo *create_info,
    const VkAllocationCallbacks *allocator, VkSamplerYcbcrConversion *ret_conversion);
VKAPI_ATTR VkResult VKAPI_CALL
intercept_create_render_pass(VkDevice device, const VkRenderPassCreateInfo *create_info,
                             const VkAllocationCallbacks *allocator, VkRenderPass *ret_render_pass);
VKAPI_ATTR VkResult VKAPI_CALL intercept_create_render_pass_2(
    VkDevice device, const VkRenderPassCreateInfo2 *create_info,
    const VkAllocationCallbacks *allocator, VkRenderPass *ret_render_pass);
VKAPI_ATTR void VKAPI_CALL intercept_destroy_shader_module(VkDevice device, VkShaderModule module,
                                                           const VkAllocationCallbacks *allocator);
VKAPI_ATTR void VKAPI_CALL intercept_destroy_descriptor_set_layout(
    VkDevice device, VkDescriptorSetLayout layout, const VkAllocationCallbacks *allocator);
VKAPI_ATTR void VKAPI_CALL intercept_destroy_pipeline_layout(
    VkDevice device, VkPipelineLayout layout, const VkAllocationCallbacks *allocator);
VKAPI_ATTR void VKAPI_CALL intercept_destroy_descriptor_update_template(
    VkDevice device, VkDescriptorUpdateTemplate update_template,
    const VkAllocationCallbacks *allocator);
VKAPI_ATTR void VKAPI_CALL intercept_destroy_sampler(VkDevice device, VkSampler sampler,
                                                     const VkAllocationCallbacks *allocator);
VKAPI_ATTR void VKAPI_CALL intercept_destroy_sampler_ycbcr_conversion(
    VkDevice device, VkSamplerYcbcrConversion conversion, const VkAllocationCallbacks *allocator);
VKAPI_ATTR void VKAPI_CALL intercept_destroy_render_pass(VkDevice device, VkRenderPass render_pass,
                                                         const VkAllocationCallbacks *allocator);

/* intercept_name.c */
VKAPI_ATTR VkResult VKAPI_CALL intercept_set_object_name(VkDevice device,
                                                         const VkDebugUtilsObjectNameInfoEXT *info);
VKAPI_ATTR VkResult VKAPI_CALL intercept_set_object_tag(VkDevice device,
                                                        const VkDebugUtilsObjectTagInfoEXT *info);
VKAPI_ATTR VkResult VKAPI_CALL
intercept_marker_set_name(VkDevice device, const VkDebugMarkerObjectNameInfoEXT *info);
VKAPI_ATTR VkResult VKAPI_CALL intercept_marker_set_tag(VkDevice device,
                                                        const VkDebugMarkerObjectTagInfoEXT *info);
VKAPI_ATTR VkResult VKAPI_CALL intercept_create_messenger(
    VkInstance instance, const VkDebugUtilsMessengerCreateInfoEXT *create_info,
    const VkAllocationCallbacks *allocator, VkDebugUtilsMessengerEXT *ret_messenger);
VKAPI_ATTR VkResult VKAPI_CALL intercept_create_report_callback(
    VkInstance instance, const VkDebugReportCallbackCreateInfoEXT *create_info,
    const VkAllocationCallbacks *allocator, VkDebugReportCallbackEXT *ret_callback);

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
