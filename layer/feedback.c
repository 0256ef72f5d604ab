#include "feedback.h"

#include <stdlib.h>

static const VkPipelineCreationFeedbackFlags HIT =
    VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT;

void feedback_begin(struct feedback *feedback, uint32_t count)
{
    feedback->count = count;
    feedback->elements = count <= FEEDBACK_INLINE_ELEMENTS
                             ? feedback->inline_elements
                             : malloc(count * sizeof *feedback->elements);
    for (uint32_t i = 0; feedback->elements && i < count; ++i) {
        feedback->elements[i].used = NULL;
    }
}

void feedback_use(struct feedback *feedback, uint32_t i,
                  const VkPipelineCreationFeedbackCreateInfo *programs)
{
    if (feedback->elements) {
        feedback->elements[i].used = programs;
    }
}

void feedback_chain(struct feedback *feedback, uint32_t i, const void **next)
{
    struct feedback_element *element = feedback->elements ? &feedback->elements[i] : NULL;
    if (element && !element->used) {
        element->value = (VkPipelineCreationFeedback){0};
        element->own = (VkPipelineCreationFeedbackCreateInfo){
            .sType = VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO,
            .pNext = *next,
            .pPipelineCreationFeedback = &element->value,
        };
        element->used = &element->own;
        *next = &element->own;
    }
}

struct feedback_result feedback_collect(const struct feedback *feedback,
                                        const VkPipeline *pipelines)
{
    struct feedback_result result = {0};
    for (uint32_t i = 0; i < feedback->count; ++i) {
        if (pipelines[i] == VK_NULL_HANDLE) {
            continue;
        }
        const VkPipelineCreationFeedbackCreateInfo *used =
            feedback->elements ? feedback->elements[i].used : NULL;
        VkPipelineCreationFeedbackFlags flags = used ? used->pPipelineCreationFeedback->flags : 0;
        if (!(flags & VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT)) {
            ++result.unknown;
        } else if (flags & HIT) {
            ++result.hits;
        } else {
            ++result.misses;
        }
    }
    return result;
}

void feedback_hide_hit(const VkPipelineCreationFeedbackCreateInfo *programs)
{
    if (!programs) {
        return;
    }
    programs->pPipelineCreationFeedback->flags &= ~HIT;
    for (uint32_t i = 0; i < programs->pipelineStageCreationFeedbackCount; ++i) {
        programs->pPipelineStageCreationFeedbacks[i].flags &= ~HIT;
    }
}

void feedback_end(struct feedback *feedback)
{
    if (feedback->elements != feedback->inline_elements) {
        free(feedback->elements);
    }
}
