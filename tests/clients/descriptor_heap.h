// SPDX-License-Identifier: Apache-2.0
/* What programs of today chain to their stages for VK_EXT_descriptor_heap, for headers that lack
 * it. Layouts and values are those of the registry of Vulkan 1.4.363. C and C++. */
#ifndef WARMPIPE_TESTS_DESCRIPTOR_HEAP_H
#define WARMPIPE_TESTS_DESCRIPTOR_HEAP_H

#include <stdint.h>
#include <vulkan/vulkan.h>

#define HEAP_EXTENSION "VK_EXT_descriptor_heap"

enum heap_stype {
    HEAP_STYPE_MAPPING = 1000135005,
    HEAP_STYPE_MAPPING_INFO = 1000135006,
    HEAP_STYPE_PROPERTIES = 1000135008,
    HEAP_STYPE_FEATURES = 1000135009,
    HEAP_STYPE_BORDER_COLOR_INDEX = 1000135011,
    HEAP_STYPE_PIPELINE_FLAGS_2 = 1000470005, /* VK_KHR_maintenance5 */
    HEAP_STYPE_BANK = 1000580000              /* VK_NV_push_constant_bank */
};

/* VkPipelineCreateFlags2 */
#define HEAP_PIPELINE_FAIL_ON_COMPILE_REQUIRED 0x00000100ull
#define HEAP_PIPELINE_LINK_TIME_OPTIMIZATION   0x00000400ull
#define HEAP_PIPELINE_LIBRARY                  0x00000800ull
#define HEAP_PIPELINE_DESCRIPTOR_HEAP          (1ull << 36)

/* VkDescriptorMappingSourceEXT, those that programs use */
enum heap_source {
    HEAP_SOURCE_CONSTANT_OFFSET = 0,
    HEAP_SOURCE_PUSH_INDEX = 1,
    HEAP_SOURCE_HEAP_DATA = 4,
    HEAP_SOURCE_PUSH_ADDRESS = 6
};

/* VkSpirvResourceTypeFlagsEXT */
#define HEAP_RESOURCE_SAMPLER        0x01u
#define HEAP_RESOURCE_UNIFORM_BUFFER 0x20u
#define HEAP_RESOURCE_ALL            0x7fffffffu

struct heap_constant_offset {
    uint32_t heap_offset;
    uint32_t heap_array_stride;
    const VkSamplerCreateInfo *embedded_sampler;
    uint32_t sampler_heap_offset;
    uint32_t sampler_heap_array_stride;
};

struct heap_push_index {
    uint32_t heap_offset;
    uint32_t push_offset;
    uint32_t heap_index_stride;
    uint32_t heap_array_stride;
    const VkSamplerCreateInfo *embedded_sampler;
    VkBool32 use_combined_image_sampler_index;
    uint32_t sampler_heap_offset;
    uint32_t sampler_push_offset;
    uint32_t sampler_heap_index_stride;
    uint32_t sampler_heap_array_stride;
};

struct heap_data {
    uint32_t heap_offset;
    uint32_t push_offset;
};

union heap_source_data {
    struct heap_constant_offset constant_offset;
    struct heap_push_index push_index;
    struct heap_data heap_data;
    uint32_t push_address_offset;
    uint64_t largest[7]; /* of the sources that are not here */
};

/* VkDescriptorSetAndBindingMappingEXT */
struct heap_mapping {
    VkStructureType stype;
    const void *next;
    uint32_t set;
    uint32_t first_binding;
    uint32_t binding_count;
    uint32_t resource_mask;
    uint32_t source;
    union heap_source_data data;
};

/* VkShaderDescriptorSetAndBindingMappingInfoEXT */
struct heap_mapping_info {
    VkStructureType stype;
    const void *next;
    uint32_t count;
    const struct heap_mapping *mappings;
};

/* VkPhysicalDeviceDescriptorHeapFeaturesEXT */
struct heap_features {
    VkStructureType stype;
    void *next;
    VkBool32 descriptor_heap;
    VkBool32 capture_replay;
};

/* VkPipelineCreateFlags2CreateInfo */
struct heap_pipeline_flags {
    VkStructureType stype;
    const void *next;
    uint64_t flags;
};

/* VkPushConstantBankInfoNV */
struct heap_bank {
    VkStructureType stype;
    const void *next;
    uint32_t bank;
};

#endif
