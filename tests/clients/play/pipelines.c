// SPDX-License-Identifier: Apache-2.0
/* Pipelines reach the driver as they are, and it is asked which of them it found in a cache: the
 * truth about a warm start, whatever the program and the layers above know. PLAY_COUNTS=PATH: each
 * call appends a line "TOTAL COMPILED AHEAD", what the program compiles and what the layer compiles
 * ahead of it; what the driver does not tell is not counted as compiled. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "play.h"

#define MAX_STAGES 16
/* VkPipelineCreateFlags2CreateInfo, which older headers lack. */
#define STYPE_PIPELINE_CREATE_FLAGS_2 1000470005

/* What is added to the chain of one create-info. */
struct asked {
    VkPipelineCreationFeedbackCreateInfo info;
    VkPipelineCreationFeedback pipeline;
    VkPipelineCreationFeedback stages[MAX_STAGES];
};

static const VkPipelineCreationFeedback no_answer;
static PFN_vkCreateComputePipelines pipelines_next_compute;
static PFN_vkCreateGraphicsPipelines pipelines_next_graphics;
static int pipelines_file = -1;

void play_open_counts(void)
{
    const char *path = getenv("PLAY_COUNTS");
    if (path && pipelines_file < 0) {
        pipelines_file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    }
}

void play_set_next_pipelines(const char *name, PFN_vkVoidFunction next)
{
    if (play_same_name(name, "vkCreateComputePipelines")) {
        pipelines_next_compute = (PFN_vkCreateComputePipelines)next;
    } else if (play_same_name(name, "vkCreateGraphicsPipelines")) {
        pipelines_next_graphics = (PFN_vkCreateGraphicsPipelines)next;
    }
}

/* The feedback of a create-info: the caller's own, or ours, put before its chain. */
static const VkPipelineCreationFeedback *pipelines_ask(const void **chain, uint32_t stages,
                                                       struct asked *ours)
{
    const VkPipelineCreationFeedbackCreateInfo *theirs =
        play_find_struct(*chain, VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO);
    if (theirs) {
        return theirs->pPipelineCreationFeedback;
    }
    ours->info = (VkPipelineCreationFeedbackCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO,
        .pNext = *chain,
        .pPipelineCreationFeedback = &ours->pipeline,
        .pipelineStageCreationFeedbackCount = stages < MAX_STAGES ? stages : 0,
        .pPipelineStageCreationFeedbacks = ours->stages,
    };
    *chain = &ours->info;
    return &ours->pipeline;
}

/* Whether there is something to compile: drivers report parts and links without a shader as misses,
 * too (ANV and NVK of Mesa 26.2). */
static bool pipelines_may_compile(const VkGraphicsPipelineCreateInfo *info)
{
    return info->stageCount > 0 ||
           (info->flags & VK_PIPELINE_CREATE_LINK_TIME_OPTIMIZATION_BIT_EXT) ||
           play_find_struct(info->pNext, STYPE_PIPELINE_CREATE_FLAGS_2);
}

/* The layer's threads are named after it. */
static bool pipelines_are_the_layers(void)
{
    char name[16] = "";
    return prctl(PR_GET_NAME, name) == 0 && strcmp(name, "warmpipe") == 0;
}

static void pipelines_tell(uint32_t count, const VkPipelineCreationFeedback *const *feedback)
{
    uint32_t compiled = 0;
    for (uint32_t i = 0; i < count; i++) {
        const VkPipelineCreationFeedbackFlags flags = feedback[i]->flags;
        compiled += (flags & VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT) &&
                    !(flags & VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT);
    }
    const bool is_ahead = pipelines_are_the_layers();
    char line[48];
    const int length = snprintf(line, sizeof(line), "%u %u %u\n", count, is_ahead ? 0 : compiled,
                                is_ahead ? compiled : 0);
    if (pipelines_file >= 0 && write(pipelines_file, line, (size_t)length) < 0) {
        perror("play: PLAY_COUNTS");
    }
}

static void *pipelines_allocate(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory) {
        abort();
    }
    return memory;
}

static VkResult VKAPI_CALL pipelines_create_compute(VkDevice device, VkPipelineCache cache,
                                                    uint32_t count,
                                                    const VkComputePipelineCreateInfo *infos,
                                                    const VkAllocationCallbacks *allocator,
                                                    VkPipeline *pipelines)
{
    VkComputePipelineCreateInfo *copies = pipelines_allocate(count, sizeof(*copies));
    struct asked *asked = pipelines_allocate(count, sizeof(*asked));
    const VkPipelineCreationFeedback **feedback = pipelines_allocate(count, sizeof(*feedback));
    for (uint32_t i = 0; i < count; i++) {
        copies[i] = infos[i];
        feedback[i] = pipelines_ask(&copies[i].pNext, 1, &asked[i]);
    }
    VkResult result = pipelines_next_compute(device, cache, count, copies, allocator, pipelines);
    pipelines_tell(count, feedback);
    free(feedback);
    free(asked);
    free(copies);
    return result;
}

static VkResult VKAPI_CALL pipelines_create_graphics(VkDevice device, VkPipelineCache cache,
                                                     uint32_t count,
                                                     const VkGraphicsPipelineCreateInfo *infos,
                                                     const VkAllocationCallbacks *allocator,
                                                     VkPipeline *pipelines)
{
    VkGraphicsPipelineCreateInfo *copies = pipelines_allocate(count, sizeof(*copies));
    struct asked *asked = pipelines_allocate(count, sizeof(*asked));
    const VkPipelineCreationFeedback **feedback = pipelines_allocate(count, sizeof(*feedback));
    for (uint32_t i = 0; i < count; i++) {
        copies[i] = infos[i];
        const VkPipelineCreationFeedback *answer =
            pipelines_ask(&copies[i].pNext, copies[i].stageCount, &asked[i]);
        feedback[i] = pipelines_may_compile(&infos[i]) ? answer : &no_answer;
    }
    VkResult result = pipelines_next_graphics(device, cache, count, copies, allocator, pipelines);
    pipelines_tell(count, feedback);
    free(feedback);
    free(asked);
    free(copies);
    return result;
}

const struct played_command play_pipelines[] = {
    {"vkCreateComputePipelines", PLAY(pipelines_create_compute)},
    {"vkCreateGraphicsPipelines", PLAY(pipelines_create_graphics)},
    {NULL, NULL},
};
