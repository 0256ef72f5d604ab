#include "dispatch.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "device.h"
#include "instance.h"
#include "intercept.h"

enum scope {
    SCOPE_CHAIN,    /* ours always: the chain cannot be linked without */
    SCOPE_INSTANCE, /* ours for every instance that we know */
    SCOPE_DEVICE,   /* ours for every device that we know */
    SCOPE_WORK      /* ours only where the layer works, not where it passes everything through */
};

struct command {
    const char *name;
    PFN_vkVoidFunction function;
    enum scope scope;
};

#define COMMAND(name, function, scope)                                                             \
    {                                                                                              \
        name, (PFN_vkVoidFunction)(function), scope                                                \
    }

static const struct command commands[] = {
    COMMAND("vkGetInstanceProcAddr", dispatch_instance_proc, SCOPE_CHAIN),
    COMMAND("vkCreateInstance", instance_create, SCOPE_CHAIN),
    COMMAND("vkCreateDevice", device_create, SCOPE_CHAIN),
    COMMAND("vkDestroyInstance", instance_destroy, SCOPE_INSTANCE),
    COMMAND("vkGetDeviceProcAddr", dispatch_device_proc, SCOPE_DEVICE),
    COMMAND("vkDestroyDevice", device_destroy, SCOPE_DEVICE),
    COMMAND("vkCreateDebugUtilsMessengerEXT", intercept_create_messenger, SCOPE_WORK),
    COMMAND("vkCreateDebugReportCallbackEXT", intercept_create_report_callback, SCOPE_WORK),
    COMMAND("vkCreatePipelineCache", intercept_create_pipeline_cache, SCOPE_WORK),
    COMMAND("vkDestroyPipelineCache", intercept_destroy_pipeline_cache, SCOPE_WORK),
    COMMAND("vkGetPipelineCacheData", intercept_get_pipeline_cache_data, SCOPE_WORK),
    COMMAND("vkMergePipelineCaches", intercept_merge_pipeline_caches, SCOPE_WORK),
    COMMAND("vkCreateComputePipelines", intercept_create_compute_pipelines, SCOPE_WORK),
    COMMAND("vkCreateGraphicsPipelines", intercept_create_graphics_pipelines, SCOPE_WORK),
    COMMAND("vkCreateRayTracingPipelinesKHR", intercept_create_ray_tracing_pipelines_khr,
            SCOPE_WORK),
    COMMAND("vkCreateRayTracingPipelinesNV", intercept_create_ray_tracing_pipelines_nv, SCOPE_WORK),
    COMMAND("vkDestroyPipeline", intercept_destroy_pipeline, SCOPE_WORK),
    COMMAND("vkCreateShaderModule", intercept_create_shader_module, SCOPE_WORK),
    COMMAND("vkDestroyShaderModule", intercept_destroy_shader_module, SCOPE_WORK),
    COMMAND("vkCreateDescriptorSetLayout", intercept_create_descriptor_set_layout, SCOPE_WORK),
    COMMAND("vkDestroyDescriptorSetLayout", intercept_destroy_descriptor_set_layout, SCOPE_WORK),
    COMMAND("vkCreatePipelineLayout", intercept_create_pipeline_layout, SCOPE_WORK),
    COMMAND("vkDestroyPipelineLayout", intercept_destroy_pipeline_layout, SCOPE_WORK),
    COMMAND("vkCreateDescriptorUpdateTemplate", intercept_create_descriptor_update_template,
            SCOPE_WORK),
    COMMAND("vkCreateDescriptorUpdateTemplateKHR", intercept_create_descriptor_update_template,
            SCOPE_WORK),
    COMMAND("vkDestroyDescriptorUpdateTemplate", intercept_destroy_descriptor_update_template,
            SCOPE_WORK),
    COMMAND("vkDestroyDescriptorUpdateTemplateKHR", intercept_destroy_descriptor_update_template,
            SCOPE_WORK),
    COMMAND("vkCreateSampler", intercept_create_sampler, SCOPE_WORK),
    COMMAND("vkDestroySampler", intercept_destroy_sampler, SCOPE_WORK),
    COMMAND("vkCreateSamplerYcbcrConversion", intercept_create_sampler_ycbcr_conversion,
            SCOPE_WORK),
    COMMAND("vkCreateSamplerYcbcrConversionKHR", intercept_create_sampler_ycbcr_conversion,
            SCOPE_WORK),
    COMMAND("vkDestroySamplerYcbcrConversion", intercept_destroy_sampler_ycbcr_conversion,
            SCOPE_WORK),
    COMMAND("vkDestroySamplerYcbcrConversionKHR", intercept_destroy_sampler_ycbcr_conversion,
            SCOPE_WORK),
    COMMAND("vkCreateRenderPass", intercept_create_render_pass, SCOPE_WORK),
    COMMAND("vkCreateRenderPass2", intercept_create_render_pass_2, SCOPE_WORK),
    COMMAND("vkCreateRenderPass2KHR", intercept_create_render_pass_2, SCOPE_WORK),
    COMMAND("vkDestroyRenderPass", intercept_destroy_render_pass, SCOPE_WORK),
    COMMAND("vkSetDebugUtilsObjectNameEXT", intercept_set_object_name, SCOPE_WORK),
    COMMAND("vkSetDebugUtilsObjectTagEXT", intercept_set_object_tag, SCOPE_WORK),
    COMMAND("vkDebugMarkerSetObjectNameEXT", intercept_marker_set_name, SCOPE_WORK),
    COMMAND("vkDebugMarkerSetObjectTagEXT", intercept_marker_set_tag, SCOPE_WORK),
};

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; ++i) {
        if (strcmp(commands[i].name, name) == 0) {
            return &commands[i];
        }
    }
    return NULL;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL dispatch_instance_proc(VkInstance instance,
                                                                const char *name)
{
    if (!name) {
        return NULL;
    }
    const struct command *command = find_command(name);
    if (command && command->scope == SCOPE_CHAIN) {
        return command->function;
    }
    PFN_vkGetInstanceProcAddr lower_next = instance_nested_next();
    if (lower_next) {
        return lower_next(instance, name);
    }
    struct instance *state = instance_of(instance);
    if (!state) {
        return NULL;
    }
    if (!state->passive && strcmp(name, DISPATCH_PRESENCE_NAME) == 0) {
        return (PFN_vkVoidFunction)dispatch_instance_proc;
    }
    PFN_vkVoidFunction next = instance_next(state, name);
    bool ours = command && next && (command->scope != SCOPE_WORK || !state->passive);
    return ours ? command->function : next;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL dispatch_device_proc(VkDevice device, const char *name)
{
    if (!name) {
        return NULL;
    }
    PFN_vkGetDeviceProcAddr lower_next = device_nested_next();
    if (lower_next) {
        return lower_next(device, name);
    }
    struct device *state = device_of(device);
    if (!state) {
        return NULL;
    }
    PFN_vkVoidFunction next = device_next(state, name);
    const struct command *command = next ? find_command(name) : NULL;
    bool ours = command && (command->scope == SCOPE_DEVICE ||
                            (command->scope == SCOPE_WORK && !state->passive));
    return ours ? command->function : next;
}
