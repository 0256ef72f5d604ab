// SPDX-License-Identifier: Apache-2.0
#include "feedback.h"

#include <string.h>

#include "util.h"

struct record {
    VkPipelineCreationFeedbackCreateInfo info;
    VkPipelineCreationFeedback pipeline;
    VkPipelineCreationFeedback stages[MAX_STAGES];
};

struct feedback {
    struct record *records[TYPE_COUNT];
};

static const VkPipelineCreationFeedbackFlags poison = 0x5a5a5a50;

struct feedback *feedback_create(struct workload *workload)
{
    struct feedback *feedback = must_allocate(1, sizeof(*feedback));
    for (int type = 0; type < TYPE_COUNT; type++) {
        struct record *records = must_allocate(workload->counts[type], sizeof(*records));
        feedback->records[type] = records;
        for (uint32_t i = 0; i < workload->counts[type]; i++) {
            uint32_t stage_count;
            const void **chain =
                workload_chain(workload, (enum pipeline_type)type, i, &stage_count);
            records[i].info = (VkPipelineCreationFeedbackCreateInfo){
                .sType = VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO,
                .pNext = *chain,
                .pPipelineCreationFeedback = &records[i].pipeline,
                .pipelineStageCreationFeedbackCount = stage_count,
                .pPipelineStageCreationFeedbacks = records[i].stages};
            *chain = &records[i].info;
        }
    }
    return feedback;
}

void feedback_poison(struct feedback *feedback, enum pipeline_type type, uint32_t first,
                     uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++) {
        feedback->records[type][i].pipeline.flags = poison;
        for (uint32_t j = 0; j < MAX_STAGES; j++) {
            feedback->records[type][i].stages[j].flags = poison;
        }
    }
}

void feedback_count(const struct feedback *feedback, enum pipeline_type type, uint32_t first,
                    uint32_t count, struct feedback_counts *counts)
{
    const VkPipelineCreationFeedbackFlags hit =
        VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT |
        VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT;
    for (uint32_t i = first; i < first + count; i++) {
        const struct record *record = &feedback->records[type][i];
        VkPipelineCreationFeedbackFlags flags = record->pipeline.flags;
        counts->untouched += flags == poison;
        counts->valid += flags & VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT ? 1 : 0;
        counts->hits += (flags & hit) == hit;
        for (uint32_t j = 0; j < record->info.pipelineStageCreationFeedbackCount; j++) {
            counts->untouched += record->stages[j].flags == poison;
            counts->stage_hits += (record->stages[j].flags & hit) == hit;
        }
    }
}

void feedback_destroy(struct feedback *feedback)
{
    if (!feedback) {
        return;
    }
    for (int type = 0; type < TYPE_COUNT; type++) {
        free(feedback->records[type]);
    }
    free(feedback);
}
