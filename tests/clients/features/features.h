// SPDX-License-Identifier: Apache-2.0
/* A program that creates pipelines with one feature of today's Vulkan, as programs use it, and says
 * what it got. It knows nothing of any layer. */
#ifndef FEATURES_H
#define FEATURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "newer.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* What was asked for and came out. */
struct outcome {
    uint32_t calls;
    uint32_t failures;
    uint32_t compile_required;
    uint32_t misses; /* in the program's own cache, by the driver's word */
    uint64_t seen;   /* a digest of all that the program can see of its pipelines */
};

struct feature_device {
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    bool statistics;       /* VK_KHR_pipeline_executable_properties is enabled */
    VkPipelineCache cache; /* NULL unless the program keeps one */
    VkSampler sampler;
    VkDescriptorSetLayout set_layout; /* 0: storage buffer, 1: input attachment, 2: texture */
    VkPipelineLayout layout;
    struct outcome outcome;
};

/* A struct that is chained to VkDeviceCreateInfo: the members whose bits are set are VK_TRUE. */
struct feature_struct {
    uint32_t stype;
    uint32_t members;
};

enum { MAX_NEEDS = 8 };

struct feature {
    const char *name;
    const char *extensions[MAX_NEEDS];        /* up to the first NULL */
    struct feature_struct structs[MAX_NEEDS]; /* up to the first stype of 0 */
    void (*create)(struct feature_device *device, uint32_t variant);
};

/* Of such a feature a device may have some extensions only, each with its struct. */
#define FEATURE_OF_MANY "maintenance"

struct feature_options {
    uint32_t variants;
    uint32_t delay_s; /* between the device and its first pipeline */
    bool statistics;  /* look at what was compiled, where the driver tells */
    const char
        *cache_path; /* the program keeps a cache of its own in this file; NULL: it has none */
};

/* Ends the program where something of the feature is missing, after {"skipped": ...}; with status 1
 * where something fails. */
void feature_device_open(struct feature_device *device, const struct feature *feature,
                         const struct feature_options *options);

/* Saves the program's own cache. */
void feature_device_close(const struct feature_device *device,
                          const struct feature_options *options);
PFN_vkVoidFunction feature_command(const struct feature_device *device, const char *name);
_Noreturn void feature_skip(const char *what);

/* Ends the program with status 1 unless the result is VK_SUCCESS. */
void feature_must(VkResult result, const char *what);

/* Adds bytes to what was seen. */
void outcome_see(struct outcome *outcome, const void *bytes, size_t size);

/* What the driver says of one creation. Must not move once it is chained. */
struct feedback {
    VkPipelineCreationFeedback pipeline;
    VkPipelineCreationFeedback stages[4];
    VkPipelineCreationFeedbackCreateInfo info;
};

/* What to chain to a create-info, before `next`. */
const void *feedback_chain(struct feedback *feedback, uint32_t stage_count, const void *next);
void feedback_note(const struct feedback *feedback, struct outcome *outcome);

/* Counts a call, and looks at the pipeline, if there is one: its executables and their statistics.
 */
void outcome_note(struct feature_device *device, VkResult result, VkPipeline pipeline);

/* A stage with the variant as constant 0. Must not move once it is filled. */
struct stage {
    VkSpecializationMapEntry entry;
    uint32_t variant;
    VkSpecializationInfo constants;
    VkShaderModuleCreateInfo code;
    VkShaderModule module; /* NULL: the code is chained to the stage */
    VkPipelineShaderStageCreateInfo info;
};

enum shader {
    SHADER_TILE,
    SHADER_MATRIX,
    SHADER_UNTYPED,
    SHADER_VERTEX,
    SHADER_FRAGMENT,
    SHADER_LOCAL_READ,
    SHADER_RAYGEN,
    SHADER_MISS,
    SHADER_HIT
};

void stage_fill(const struct feature_device *device, struct stage *stage, enum shader shader,
                bool with_module, uint32_t variant);
void stage_destroy(const struct feature_device *device, const struct stage *stage);

/* Flags of every pipeline. */
VkPipelineCreateFlags feature_flags(const struct feature_device *device);

/* Creates, notes and destroys a compute pipeline with these chained to it. */
void compute_create(struct feature_device *device, const struct stage *stage,
                    VkPipelineLayout layout, VkPipelineCreateFlags flags, const void *next);

/* A variant of each feature: compute.c, graphics.c, others.c. */
void create_flags2(struct feature_device *device, uint32_t variant);
void create_plain(struct feature_device *device, uint32_t variant);
void create_robustness(struct feature_device *device, uint32_t variant);
void create_descriptor_buffer(struct feature_device *device, uint32_t variant);
void create_generated_commands(struct feature_device *device, uint32_t variant);
void create_cooperative_matrix(struct feature_device *device, uint32_t variant);
void create_untyped_pointers(struct feature_device *device, uint32_t variant);
void create_discarding(struct feature_device *device, uint32_t variant);
void create_local_read(struct feature_device *device, uint32_t variant);
void create_libraries(struct feature_device *device, uint32_t variant);
void create_library_layouts(struct feature_device *device, uint32_t variant);
void create_identifiers(struct feature_device *device, uint32_t variant);
void create_ray_tracing(struct feature_device *device, uint32_t variant);
void create_shader_object(struct feature_device *device, uint32_t variant);
void create_pipeline_binary(struct feature_device *device, uint32_t variant);

/* Of graphics.c, with the code in the stages and flags in a struct of their own. */
void graphics_create_inline(struct feature_device *device, uint32_t variant);

#endif
