// SPDX-License-Identifier: Apache-2.0
/* Replay: recipes → create-infos → objects → the driver, into a pipeline cache.
 *
 * A struct replay belongs to one thread; several of them may share one device and one cache
 * (created without external synchronization). Forms and code may come from a hostile file: the
 * decoder checks forms, replay_check that form, code and layouts fit each other, before the
 * driver sees any of it; the caller must validate code (the tool does, with SPIRV-Tools) unless
 * this user's own programs recorded it. Pipelines that cannot be replayed are skipped, with an
 * outcome. Nothing here logs. */
#ifndef WARMPIPE_REPLAY_REPLAY_H
#define WARMPIPE_REPLAY_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "common/base/digest.h"

/* The commands that a replay calls: member, name without "vk". */
#define REPLAY_COMMANDS(X)                                                                         \
    X(create_shader_module, CreateShaderModule)                                                    \
    X(destroy_shader_module, DestroyShaderModule)                                                  \
    X(create_descriptor_set_layout, CreateDescriptorSetLayout)                                     \
    X(destroy_descriptor_set_layout, DestroyDescriptorSetLayout)                                   \
    X(create_pipeline_layout, CreatePipelineLayout)                                                \
    X(destroy_pipeline_layout, DestroyPipelineLayout)                                              \
    X(create_sampler, CreateSampler)                                                               \
    X(destroy_sampler, DestroySampler)                                                             \
    X(create_sampler_ycbcr_conversion, CreateSamplerYcbcrConversion)                               \
    X(destroy_sampler_ycbcr_conversion, DestroySamplerYcbcrConversion)                             \
    X(create_render_pass, CreateRenderPass)                                                        \
    X(create_render_pass_2, CreateRenderPass2)                                                     \
    X(destroy_render_pass, DestroyRenderPass)                                                      \
    X(create_compute_pipelines, CreateComputePipelines)                                            \
    X(create_graphics_pipelines, CreateGraphicsPipelines)                                          \
    X(create_ray_tracing_pipelines_khr, CreateRayTracingPipelinesKHR)                              \
    X(create_ray_tracing_pipelines_nv, CreateRayTracingPipelinesNV)                                \
    X(destroy_pipeline, DestroyPipeline)

/* The next layer's or the loader's; those of extensions that are not enabled are NULL. */
struct replay_commands {
#define X(member, name) PFN_vk##name member;
    REPLAY_COMMANDS(X)
#undef X
};

/* The source of recipes: finds code, or a form, by its digest (recipes_find, or a test). The bytes
 * must live as long as the replay. */
struct replay_source {
    bool (*find)(void *user, bool is_code, struct digest content, const void **ret_data,
                 size_t *ret_size);
    /* The stages of a pipeline that brought their code along in this environment
     * (canonical_inline_bit). NULL: none may, since the device does not allow it. A check does not
     * ask. */
    unsigned (*inline_stages)(void *user, struct digest environment, struct digest pipeline);
    void *user;
};

enum replay_outcome {
    REPLAY_COMPILED,    /* the driver compiled it, or gives no feedback */
    REPLAY_HIT,         /* the cache had it */
    REPLAY_MISSING,     /* a form or code that it refers to is missing */
    REPLAY_INVALID,     /* a form cannot be decoded, or refers to itself */
    REPLAY_UNSUPPORTED, /* it exceeds the device's limits, or a command does not exist */
    REPLAY_REFUSED,     /* the driver returned an error */
    REPLAY_NO_MEMORY,
    /* What no driver is to see. Each has the name of its reason (reasons.def). */
    REPLAY_BAD_SPIRV,
    REPLAY_BAD_STAGE,
    REPLAY_BAD_ENTRY_POINT,
    REPLAY_BAD_SPECIALIZATION,
    REPLAY_BAD_BINDING,
    REPLAY_BAD_PUSH_CONSTANTS,
    REPLAY_OUTCOME_COUNT
};

struct replay;
struct replay_limits;

/* `feedback`: creation feedback may be chained (Vulkan 1.3 or its extension is enabled). *commands,
 * *source and *limits are copied, everything else is borrowed. NULL: out of memory. */
struct replay *replay_new(VkDevice device, const struct replay_commands *commands,
                          VkPipelineCache cache, const struct replay_source *source,
                          const struct replay_limits *limits, bool feedback);

/* Creates the pipeline with this content digest as it was made in the environment, whose features
 * the device has, and the objects that it refers to (kept for the next pipelines), and destroys it
 * unless it is a library for others. Calls Vulkan. */
enum replay_outcome replay_pipeline(struct replay *replay, struct digest environment,
                                    struct digest pipeline);

/* What the device lacks for the last pipeline if that was REPLAY_UNSUPPORTED: a limit, as Vulkan
 * calls it, or words. Static storage. */
const char *replay_lack(const struct replay *replay);

/* Destroys all objects, and frees; NULL is a no-op. */
void replay_delete(struct replay *replay);

/* Whether the outcome is one of REPLAY_BAD_*. */
bool replay_is_refusal(enum replay_outcome outcome);

/* "compiled", "hit", "missing" …: stable identifiers. Static storage. */
const char *replay_outcome_id(enum replay_outcome outcome);

/* Whether a driver may see a recipe: whether it keeps those of Vulkan's rules on which a driver
 * relies. Forms and code with correct digests may still come from a hostile file, and crash a
 * driver. Everything that can be checked without a driver is checked before: stages, entry points,
 * specialization constants, the code's interface against the layouts, push constant ranges, sizes.
 * It is less than full validation: what passes may still crash (recipes.h counts that).
 *
 * Belongs to one thread. No I/O, no call of Vulkan. */

struct replay_check;

/* *source is copied; its bytes must live as long. NULL: out of memory. */
struct replay_check *replay_check_new(const struct replay_source *source);

/* NULL is a no-op. */
void replay_check_delete(struct replay_check *check);

/* REPLAY_COMPILED: it may be replayed. Else why not: missing, invalid, no_memory, or one of
 * REPLAY_BAD_*. What was found of the objects that it refers to is kept for the next pipelines. */
enum replay_outcome replay_check_pipeline(struct replay_check *check, struct digest pipeline);

/* The limits of a device that pipelines made on another one may exceed. Such pipelines must not
 * reach the driver, which need not refuse them. Thread-safe. */

/* VkPhysicalDeviceLimits, and VkPhysicalDevice*Properties of subgroups, of the control of their
 * size, of custom border colors, of discard rectangles and of descriptor buffers (embedded
 * samplers). 0: not known, not checked. */
struct replay_limits {
    uint32_t max_push_constants_size;
    uint32_t max_workgroup_invocations;
    uint32_t max_workgroup_size[3];
    uint32_t subgroup_size;
    uint32_t min_subgroup_size;
    uint32_t max_subgroup_size;
    uint32_t max_workgroup_subgroups;
    VkShaderStageFlags required_subgroup_size_stages;
    uint32_t max_bound_descriptor_sets;
    uint32_t max_vertex_bindings;
    uint32_t max_vertex_attributes;
    uint32_t max_vertex_offset;
    uint32_t max_patch_size;
    uint32_t max_viewports;
    uint32_t max_color_attachments;
    uint32_t max_discard_rectangles;
    VkSampleCountFlags sample_counts;   /* of any kind of attachment or of none */
    uint32_t max_samplers;              /* that may live at once; of these, ... */
    uint32_t max_border_color_samplers; /* ... those with a custom border color */
};

/* Queries a device; api_version is the instance's. Below Vulkan 1.1 get_properties2 may be NULL,
 * and what came with that version is not asked for
 * (VUID-VkPhysicalDeviceProperties2-pNext-pNext). Calls Vulkan. */
void replay_limits_query(PFN_vkGetPhysicalDeviceProperties get_properties,
                         PFN_vkGetPhysicalDeviceProperties2 get_properties2, uint32_t api_version,
                         VkPhysicalDevice device, struct replay_limits *ret_limits);

/* The limits of one of `replays` that share a device. Limits on how many objects may live at once
 * are divided: all replays together take a quarter, because the program needs the rest; each gets
 * at least one. */
struct replay_limits replay_limits_share(const struct replay_limits *limits, unsigned replays);

/* The functions below give the name of a limit that is exceeded, as Vulkan calls it (static
 * storage), or NULL.
 *
 * Sets and push constants (VUID-VkPipelineLayoutCreateInfo-setLayoutCount-00286,
 * VUID-VkPushConstantRange-offset-00294, -size-00298). */
const char *replay_limits_exceeded_by_layout(const struct replay_limits *limits,
                                             const VkPipelineLayoutCreateInfo *info);

/* Vertices, patches, viewports, scissors, color attachments and samples of a graphics pipeline
 * (VUID-VkVertexInputBindingDescription-binding-00618,
 * VUID-VkVertexInputAttributeDescription-location-00620, -offset-00622,
 * VUID-VkPipelineTessellationStateCreateInfo-patchControlPoints-01214,
 * VUID-VkPipelineViewportStateCreateInfo-viewportCount-01218; "Limits":
 * maxColorAttachments, framebufferColorSampleCounts). */
const char *replay_limits_exceeded_by_state(const struct replay_limits *limits,
                                            const VkGraphicsPipelineCreateInfo *info);

/* Color attachments of the subpasses of a render pass, a VkRenderPassCreateInfo or
 * VkRenderPassCreateInfo2, which begin alike ("Limits": maxColorAttachments). */
const char *replay_limits_exceeded_by_pass(const struct replay_limits *limits,
                                           const VkRenderPassCreateInfo *info);

/* Required subgroup sizes (VUID-VkPipelineShaderStageRequiredSubgroupSizeCreateInfo-*,
 * VUID-VkPipelineShaderStageCreateInfo-pNext-02755) and, if the code of a compute stage is given
 * (else NULL), the workgroup's size ("Built-In Variables", WorkgroupSize;
 * VUID-VkPipelineShaderStageCreateInfo-pNext-02756, -02757, -flags-02758, -02759). */
const char *replay_limits_exceeded_by_stage(const struct replay_limits *limits,
                                            const VkPipelineShaderStageCreateInfo *stage,
                                            const void *code, size_t code_size);

/* Whether one sampler more may be made beside these (VUID-vkCreateSampler-
 * maxSamplerAllocationCount-04110, VUID-VkSamplerCreateInfo-borderColor-04012). */
bool replay_limits_allow_sampler(const struct replay_limits *limits,
                                 const VkSamplerCreateInfo *info, size_t samplers,
                                 size_t border_color_samplers);

/* Whether the sampler has a custom border color. */
bool sampler_has_border_color(const VkSamplerCreateInfo *info);

#endif
