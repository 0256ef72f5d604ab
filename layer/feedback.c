#include "feedback.h"

#define VALID VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT
#define HIT   VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT

void feedback_init(struct feedback *feedback, const VkPipelineCreationFeedbackCreateInfo *programs)
{
    feedback->programs = programs;
    feedback->used = programs;
}

void feedback_chain(struct feedback *feedback, const void **next)
{
    if (feedback->used) {
        return;
    }
    feedback->value = (VkPipelineCreationFeedback){0};
    feedback->own = (VkPipelineCreationFeedbackCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO,
        .pNext = *next,
        .pPipelineCreationFeedback = &feedback->value,
    };
    feedback->used = &feedback->own;
    *next = &feedback->own;
}

enum feedback_verdict feedback_read(const struct feedback *feedback)
{
    VkPipelineCreationFeedbackFlags flags =
        feedback->used ? feedback->used->pPipelineCreationFeedback->flags : 0;
    if (!(flags & VALID)) {
        return FEEDBACK_UNKNOWN;
    }
    return flags & HIT ? FEEDBACK_HIT : FEEDBACK_MISS;
}

uint64_t feedback_duration_ns(const struct feedback *feedback)
{
    return feedback->used->pPipelineCreationFeedback->duration;
}

void feedback_hide_hit(const struct feedback *feedback)
{
    const VkPipelineCreationFeedbackCreateInfo *programs = feedback->programs;
    if (!programs) {
        return;
    }
    programs->pPipelineCreationFeedback->flags &= ~(VkPipelineCreationFeedbackFlags)HIT;
    for (uint32_t i = 0; i < programs->pipelineStageCreationFeedbackCount; ++i) {
        programs->pPipelineStageCreationFeedbacks[i].flags &= ~(VkPipelineCreationFeedbackFlags)HIT;
    }
}

void feedback_write_shared(const struct feedback *feedback, bool hit, uint64_t duration_ns)
{
    const VkPipelineCreationFeedbackCreateInfo *programs = feedback->programs;
    if (!programs) {
        return;
    }
    *programs->pPipelineCreationFeedback = (VkPipelineCreationFeedback){
        .flags = VALID | (hit ? HIT : 0),
        .duration = duration_ns,
    };
    for (uint32_t i = 0; i < programs->pipelineStageCreationFeedbackCount; ++i) {
        programs->pPipelineStageCreationFeedbacks[i] = (VkPipelineCreationFeedback){0};
    }
}
