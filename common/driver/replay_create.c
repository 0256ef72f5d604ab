#include "driver/replay_create.h"

VkObjectType replay_type_of(VkStructureType stype)
{
    switch (stype) {
    case VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO:
    case VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO:
    case VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR:
    case VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_NV:
        return VK_OBJECT_TYPE_PIPELINE;
    case VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO:
        return VK_OBJECT_TYPE_SHADER_MODULE;
    case VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO:
        return VK_OBJECT_TYPE_DESCRIPTOR_SET_LAYOUT;
    case VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO:
        return VK_OBJECT_TYPE_PIPELINE_LAYOUT;
    case VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO:
        return VK_OBJECT_TYPE_SAMPLER;
    case VK_STRUCTURE_TYPE_SAMPLER_YCBCR_CONVERSION_CREATE_INFO:
        return VK_OBJECT_TYPE_SAMPLER_YCBCR_CONVERSION;
    case VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO:
    case VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO_2:
        return VK_OBJECT_TYPE_RENDER_PASS;
    default:
        return VK_OBJECT_TYPE_UNKNOWN;
    }
}

static enum replay_outcome outcome_of(VkResult result)
{
    switch (result) {
    case VK_SUCCESS:
        return REPLAY_COMPILED;
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
        return REPLAY_NO_MEMORY;
    default:
        return REPLAY_REFUSED;
    }
}

enum replay_outcome replay_create_object(VkDevice device, const struct replay_commands *c,
                                         const void *info, union replay_handle *ret_handle)
{
    VkResult result = VK_ERROR_EXTENSION_NOT_PRESENT;
    switch (((const VkBaseInStructure *)info)->sType) {
    case VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO:
        result = c->create_shader_module(device, info, NULL, &ret_handle->shader_module);
        break;
    case VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO:
        result = c->create_descriptor_set_layout(device, info, NULL, &ret_handle->set_layout);
        break;
    case VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO:
        result = c->create_pipeline_layout(device, info, NULL, &ret_handle->pipeline_layout);
        break;
    case VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO:
        result = c->create_sampler(device, info, NULL, &ret_handle->sampler);
        break;
    case VK_STRUCTURE_TYPE_SAMPLER_YCBCR_CONVERSION_CREATE_INFO:
        if (c->create_sampler_ycbcr_conversion) {
            result =
                c->create_sampler_ycbcr_conversion(device, info, NULL, &ret_handle->conversion);
        }
        break;
    case VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO:
        result = c->create_render_pass(device, info, NULL, &ret_handle->render_pass);
        break;
    case VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO_2:
        if (c->create_render_pass_2) {
            result = c->create_render_pass_2(device, info, NULL, &ret_handle->render_pass);
        }
        break;
    default:
        break;
    }
    return result == VK_ERROR_EXTENSION_NOT_PRESENT ? REPLAY_UNSUPPORTED : outcome_of(result);
}

static VkResult call_create(VkDevice device, const struct replay_commands *c, VkPipelineCache cache,
                            const void *info, VkPipeline *ret_pipeline)
{
    switch (((const VkBaseInStructure *)info)->sType) {
    case VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO:
        return c->create_compute_pipelines(device, cache, 1, info, NULL, ret_pipeline);
    case VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO:
        return c->create_graphics_pipelines(device, cache, 1, info, NULL, ret_pipeline);
    case VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR:
        if (c->create_ray_tracing_pipelines_khr) {
            return c->create_ray_tracing_pipelines_khr(device, VK_NULL_HANDLE, cache, 1, info, NULL,
                                                       ret_pipeline);
        }
        return VK_ERROR_EXTENSION_NOT_PRESENT;
    default:
        if (c->create_ray_tracing_pipelines_nv) {
            return c->create_ray_tracing_pipelines_nv(device, cache, 1, info, NULL, ret_pipeline);
        }
        return VK_ERROR_EXTENSION_NOT_PRESENT;
    }
}

enum replay_outcome replay_create_pipeline(VkDevice device, const struct replay_commands *commands,
                                           VkPipelineCache cache, bool with_feedback,
                                           VkBaseInStructure *info, union replay_handle *ret_handle)
{
    VkPipelineCreationFeedback feedback = {0};
    VkPipelineCreationFeedbackCreateInfo chained = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO,
        .pNext = info->pNext,
        .pPipelineCreationFeedback = &feedback,
    };
    if (with_feedback) {
        info->pNext = (const VkBaseInStructure *)&chained;
    }
    VkPipeline pipeline = VK_NULL_HANDLE;
    VkResult result = call_create(device, commands, cache, info, &pipeline);
    info->pNext = chained.pNext;
    if (result == VK_ERROR_EXTENSION_NOT_PRESENT) {
        return REPLAY_UNSUPPORTED;
    }
    if (result != VK_SUCCESS) {
        return outcome_of(result);
    }
    ret_handle->pipeline = pipeline;
    const VkPipelineCreationFeedbackFlags hit =
        VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT |
        VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT;
    return (feedback.flags & hit) == hit ? REPLAY_HIT : REPLAY_COMPILED;
}
