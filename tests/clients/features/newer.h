// SPDX-License-Identifier: Apache-2.0
/* What the features of Vulkan 1.4.363 that programs use need, for headers that lack it. Layouts and
 * values are those of that registry. */
#ifndef FEATURES_NEWER_H
#define FEATURES_NEWER_H

#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

enum newer_stype {
    STYPE_COOPERATIVE_MATRIX_FEATURES = 1000506000,
    STYPE_GENERATED_COMMANDS_FEATURES = 1000572000,
    STYPE_LOCAL_READ_FEATURES = 1000232000,
    STYPE_LOCAL_READ_LOCATIONS = 1000232001,
    STYPE_LOCAL_READ_INPUTS = 1000232002,
    STYPE_MAINTENANCE_5_FEATURES = 1000470000,
    STYPE_PIPELINE_FLAGS_2 = 1000470005,
    STYPE_SHADER_OBJECT_FEATURES = 1000482000,
    STYPE_SHADER_CREATE_INFO = 1000482002,
    STYPE_MAINTENANCE_6_FEATURES = 1000545000,
    STYPE_MAINTENANCE_7_FEATURES = 1000562000,
    STYPE_MAINTENANCE_8_FEATURES = 1000574000,
    STYPE_MAINTENANCE_9_FEATURES = 1000584000,
    STYPE_MAINTENANCE_10_FEATURES = 1000630000,
    STYPE_MAINTENANCE_11_FEATURES = 1000657000,
    STYPE_UNTYPED_POINTERS_FEATURES = 1000387000,
    STYPE_BINARY_FEATURES = 1000483000,
    STYPE_BINARY_CREATE_INFO = 1000483001,
    STYPE_BINARY_INFO = 1000483002,
    STYPE_BINARY_KEY = 1000483003,
    STYPE_PIPELINE_CREATE_INFO = 1000483007,
    STYPE_INTERNAL_CACHE_CONTROL = 1000483008,
    STYPE_BINARY_HANDLES = 1000483009
};

/* VkPipelineCreateFlags2 */
#define FLAG_DISABLE_OPTIMIZATION 0x00000001ull
#define FLAG_CAPTURE_STATISTICS   0x00000040ull
#define FLAG_CAPTURE_DATA         0x80000000ull
#define FLAG_INDIRECT_BINDABLE    (1ull << 38)

/* VkPipelineCreateFlags2CreateInfo */
struct pipeline_flags {
    VkStructureType stype;
    const void *next;
    uint64_t flags;
};

/* VkRenderingAttachmentLocationInfo */
struct local_read_locations {
    VkStructureType stype;
    const void *next;
    uint32_t count;
    const uint32_t *locations;
};

/* VkRenderingInputAttachmentIndexInfo */
struct local_read_inputs {
    VkStructureType stype;
    const void *next;
    uint32_t count;
    const uint32_t *color;
    const uint32_t *depth;
    const uint32_t *stencil;
};

/* VkShaderCreateInfoEXT */
struct shader_create_info {
    VkStructureType stype;
    const void *next;
    uint32_t flags;
    VkShaderStageFlagBits stage;
    VkShaderStageFlags next_stage;
    uint32_t code_type; /* 0: a binary, 1: SPIR-V */
    size_t code_size;
    const void *code;
    const char *name;
    uint32_t set_layout_count;
    const VkDescriptorSetLayout *set_layouts;
    uint32_t push_constant_range_count;
    const VkPushConstantRange *push_constant_ranges;
    const VkSpecializationInfo *specialization;
};

typedef VkResult(VKAPI_PTR *create_shaders)(VkDevice, uint32_t, const struct shader_create_info *,
                                            const VkAllocationCallbacks *, uint64_t *);
typedef void(VKAPI_PTR *destroy_shader)(VkDevice, uint64_t, const VkAllocationCallbacks *);
typedef VkResult(VKAPI_PTR *get_shader_data)(VkDevice, uint64_t, size_t *, void *);

/* VkPipelineBinaryKeyKHR */
struct binary_key {
    VkStructureType stype;
    void *next;
    uint32_t size;
    uint8_t key[32];
};

/* VkPipelineCreateInfoKHR: next leads to a create-info. */
struct pipeline_create_info {
    VkStructureType stype;
    const void *next;
};

/* VkPipelineBinaryCreateInfoKHR */
struct binary_create_info {
    VkStructureType stype;
    const void *next;
    const void *keys_and_data;
    VkPipeline pipeline;
    const struct pipeline_create_info *create_info;
};

/* VkPipelineBinaryHandlesInfoKHR */
struct binary_handles {
    VkStructureType stype;
    const void *next;
    uint32_t count;
    uint64_t *binaries;
};

/* VkPipelineBinaryInfoKHR */
struct binary_info {
    VkStructureType stype;
    const void *next;
    uint32_t count;
    const uint64_t *binaries;
};

typedef VkResult(VKAPI_PTR *create_binaries)(VkDevice, const struct binary_create_info *,
                                             const VkAllocationCallbacks *,
                                             struct binary_handles *);
typedef void(VKAPI_PTR *destroy_binary)(VkDevice, uint64_t, const VkAllocationCallbacks *);
typedef VkResult(VKAPI_PTR *get_pipeline_key)(VkDevice, const struct pipeline_create_info *,
                                              struct binary_key *);

#endif
