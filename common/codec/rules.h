/* What the registry cannot say about create-infos, decided by hand. Each rule names its hazard.
 *
 * Pure functions over create-infos that the program has just passed: no allocation, no lock, tens
 * of nanoseconds; thread-safe. Only state that the specification says is live is followed: pointers
 * that a program may leave dangling are never read (hazard 16). */
#ifndef WARMPIPE_CODEC_RULES_H
#define WARMPIPE_CODEC_RULES_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

/* Bits of VkPipelineCreateFlags2 that rules look at, under one name whether headers know them or
 * not; the lower 31 are those of VkPipelineCreateFlags. */
#define RULES_PIPELINE_ALLOW_DERIVATIVES        0x00000002ull
#define RULES_PIPELINE_DERIVATIVE               0x00000004ull
#define RULES_PIPELINE_DEFER_COMPILE            0x00000020ull
#define RULES_PIPELINE_FAIL_ON_COMPILE_REQUIRED 0x00000100ull
#define RULES_PIPELINE_EARLY_RETURN_ON_FAILURE  0x00000200ull
#define RULES_PIPELINE_LIBRARY                  0x00000800ull
#define RULES_PIPELINE_GROUP_HANDLE_REPLAY      0x00080000ull
#define RULES_PIPELINE_CAPTURE_DATA             0x80000000ull

/* What one element of a vkCreate*Pipelines call allows. */
struct pipeline_rules {
    /* Every struct in the chains of the create-info, its stages and its live states, and every flag
     * bit in them, is one that we know (hazard 17). */
    bool known;
    /* pipelineCache must be NULL in the whole call (hazard 25: VUID-vkCreateComputePipelines-pNext-
     * 09616 and -09617, and the same of the other commands). */
    bool cache_forbidden;
    bool fail_on_compile_required;
    bool early_return;
    bool derivative;    /* derives from another pipeline (hazard 24) */
    bool defer_compile; /* VK_NV_ray_tracing: compiled later, shader by shader (hazard 24) */
    bool library;
    uint64_t flags; /* the effective ones: VkPipelineCreateFlags2CreateInfo's where it is chained
                     * (hazard 21) */
    /* The program's own, or NULL: its outputs are the program's (hazards 28, 29). */
    const VkPipelineCreationFeedbackCreateInfo *feedback;
};

void rules_compute(const VkComputePipelineCreateInfo *info, struct pipeline_rules *ret_rules);
void rules_graphics(const VkGraphicsPipelineCreateInfo *info, struct pipeline_rules *ret_rules);
void rules_ray_tracing(const VkRayTracingPipelineCreateInfoKHR *info,
                       struct pipeline_rules *ret_rules);
void rules_ray_tracing_nv(const VkRayTracingPipelineCreateInfoNV *info,
                          struct pipeline_rules *ret_rules);

/* Which subpasses of a render pass use a color, a depth or stencil attachment: one bit each. What a
 * pipeline may leave dangling hangs on it (hazard 16), so it is kept with the render pass. */
#define RENDER_PASS_USE_SUBPASSES 64

struct render_pass_use {
    uint64_t known; /* subpasses that there are, of the first 64 */
    uint64_t color;
    uint64_t depth_stencil;
};

void rules_render_pass(const VkRenderPassCreateInfo *info, struct render_pass_use *ret_use);
void rules_render_pass_2(const VkRenderPassCreateInfo2 *info, struct render_pass_use *ret_use);

/* The create-info of the code that a stage brings along instead of a module (hazard 31), or NULL: a
 * module that is not NULL wins (chapter "Pipelines", VkPipelineShaderStageCreateInfo). Its pNext is
 * the rest of the stage's chain, not one of its own. */
const VkShaderModuleCreateInfo *rules_inline_module(const VkPipelineShaderStageCreateInfo *stage);

#endif
