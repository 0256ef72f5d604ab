// SPDX-License-Identifier: Apache-2.0
#include "common/replay/replay_objects.h"

#include <stdlib.h>

#include "common/codec/canonical.h"

bool replay_find_code(const struct replay_source *source, struct digest content, size_t size,
                      const void **ret_code, enum replay_outcome *ret_failure)
{
    size_t found;
    if (!source->find(source->user, true, content, ret_code, &found)) {
        *ret_failure = REPLAY_MISSING;
        return false;
    }
    return found == size && size % sizeof(uint32_t) == 0;
}

/* Feedback for more stages (ray tracing) is allocated. */
#define INLINE_STAGES 5

static enum replay_outcome objects_outcome_of_result(VkResult result)
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
    return result == VK_ERROR_EXTENSION_NOT_PRESENT ? REPLAY_UNSUPPORTED
                                                    : objects_outcome_of_result(result);
}

static VkResult objects_create_pipeline(VkDevice device, const struct replay_commands *c,
                                        VkPipelineCache cache, const void *info,
                                        VkPipeline *ret_pipeline)
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
                                           uint32_t stage_count, VkBaseInStructure *info,
                                           union replay_handle *ret_handle)
{
    VkPipelineCreationFeedback feedback = {0};
    VkPipelineCreationFeedback inline_stages[INLINE_STAGES];
    VkPipelineCreationFeedback *stages = inline_stages;
    if (with_feedback && stage_count > INLINE_STAGES) {
        stages = malloc(stage_count * sizeof *stages);
        with_feedback = stages;
    }
    VkPipelineCreationFeedbackCreateInfo chained = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO,
        .pNext = info->pNext,
        .pPipelineCreationFeedback = &feedback,
        .pipelineStageCreationFeedbackCount = canonical_feedback_stages(info->sType, stage_count),
        .pPipelineStageCreationFeedbacks = stages,
    };
    if (with_feedback) {
        info->pNext = (const VkBaseInStructure *)&chained;
    }
    VkPipeline pipeline = VK_NULL_HANDLE;
    VkResult result = objects_create_pipeline(device, commands, cache, info, &pipeline);
    info->pNext = chained.pNext;
    if (stages != inline_stages) {
        free(stages);
    }
    if (result == VK_ERROR_EXTENSION_NOT_PRESENT) {
        return REPLAY_UNSUPPORTED;
    }
    if (result != VK_SUCCESS) {
        return objects_outcome_of_result(result);
    }
    ret_handle->pipeline = pipeline;
    const VkPipelineCreationFeedbackFlags hit =
        VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT |
        VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT;
    return (feedback.flags & hit) == hit ? REPLAY_HIT : REPLAY_COMPILED;
}

struct replay_object *replay_objects_insert(struct replay_objects *objects, VkObjectType type,
                                            struct digest content)
{
    struct replay_object *object = malloc(sizeof *object);
    if (!object) {
        return NULL;
    }
    *object = (struct replay_object){
        .content = content,
        .type = type,
        .state = REPLAY_BEING_MADE,
    };
    objects->set.of_pointers = true;
    if (!digest_set_add(&objects->set, (uintptr_t)object)) {
        free(object);
        return NULL;
    }
    return object;
}

void replay_objects_destroy(VkDevice device, const struct replay_commands *commands,
                            VkObjectType type, union replay_handle handle)
{
    switch (type) {
    case VK_OBJECT_TYPE_PIPELINE:
        commands->destroy_pipeline(device, handle.pipeline, NULL);
        break;
    case VK_OBJECT_TYPE_PIPELINE_LAYOUT:
        commands->destroy_pipeline_layout(device, handle.pipeline_layout, NULL);
        break;
    case VK_OBJECT_TYPE_RENDER_PASS:
        commands->destroy_render_pass(device, handle.render_pass, NULL);
        break;
    case VK_OBJECT_TYPE_DESCRIPTOR_SET_LAYOUT:
        commands->destroy_descriptor_set_layout(device, handle.set_layout, NULL);
        break;
    case VK_OBJECT_TYPE_SHADER_MODULE:
        commands->destroy_shader_module(device, handle.shader_module, NULL);
        break;
    case VK_OBJECT_TYPE_SAMPLER:
        commands->destroy_sampler(device, handle.sampler, NULL);
        break;
    case VK_OBJECT_TYPE_SAMPLER_YCBCR_CONVERSION:
        commands->destroy_sampler_ycbcr_conversion(device, handle.conversion, NULL);
        break;
    default:
        break;
    }
}

static void objects_destroy_all_of(struct replay_objects *objects, VkObjectType type,
                                   VkDevice device, const struct replay_commands *commands)
{
    size_t at = 0;
    for (const struct replay_object *object; (object = digest_set_next(&objects->set, &at));) {
        if (object->type == type && object->state == REPLAY_MADE) {
            replay_objects_destroy(device, commands, type, object->handle);
        }
    }
}

void replay_objects_clear(struct replay_objects *objects, VkDevice device,
                          const struct replay_commands *commands)
{
    static const VkObjectType order[] = {
        VK_OBJECT_TYPE_PIPELINE,
        VK_OBJECT_TYPE_PIPELINE_LAYOUT,
        VK_OBJECT_TYPE_RENDER_PASS,
        VK_OBJECT_TYPE_DESCRIPTOR_SET_LAYOUT,
        VK_OBJECT_TYPE_SHADER_MODULE,
        VK_OBJECT_TYPE_SAMPLER,
        VK_OBJECT_TYPE_SAMPLER_YCBCR_CONVERSION,
    };
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        objects_destroy_all_of(objects, order[i], device, commands);
    }
    size_t at = 0;
    for (void *object; (object = digest_set_next(&objects->set, &at));) {
        free(object);
    }
    digest_set_release(&objects->set);
    *objects = (struct replay_objects){0};
}
