// SPDX-License-Identifier: Apache-2.0
/* A program that creates pipelines of every kind, drawn from a seed: item after item, with whatever
 * the device supports. It says of each pipeline what came out, and knows nothing of any layer. */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <vulkan/vulkan.h>

#include "../features/newer.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* A feature struct that Debian 12's headers lack. */
struct newer_features {
    uint32_t stype;
    void *next;
    VkBool32 supported[4];
};

/* What is enabled; all VK_FALSE where the device lacks it, or the seed leaves it out. */
struct features {
    VkPhysicalDeviceFeatures2 core;
    VkPhysicalDeviceVulkan11Features v11;
    VkPhysicalDeviceVulkan12Features v12;
    VkPhysicalDeviceVulkan13Features v13;
    VkPhysicalDeviceExtendedDynamicState2FeaturesEXT dynamic2;
    VkPhysicalDeviceExtendedDynamicState3FeaturesEXT dynamic3;
    VkPhysicalDeviceVertexInputDynamicStateFeaturesEXT dynamic_input;
    VkPhysicalDeviceGraphicsPipelineLibraryFeaturesEXT libraries;
    VkPhysicalDeviceShaderModuleIdentifierFeaturesEXT identifiers;
    VkPhysicalDevicePipelineRobustnessFeaturesEXT robustness;
    VkPhysicalDeviceMutableDescriptorTypeFeaturesEXT mutable_types;
    VkPhysicalDeviceVertexAttributeDivisorFeaturesEXT divisor;
    VkPhysicalDeviceDepthClipEnableFeaturesEXT depth_clip;
    VkPhysicalDeviceDepthClipControlFeaturesEXT clip_control;
    VkPhysicalDeviceLineRasterizationFeaturesEXT lines;
    VkPhysicalDeviceProvokingVertexFeaturesEXT provoking;
    VkPhysicalDeviceColorWriteEnableFeaturesEXT color_write;
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executables;
    struct newer_features maintenance5;
    struct newer_features local_read;
};

enum { OWN_CACHES = 4 };

struct device {
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    struct features features;
    bool conservative; /* VK_EXT_conservative_rasterization */
    bool identifies;   /* stages can be named by identifiers of their code */
    bool statistics;   /* look at what was compiled */
    bool strict;       /* what Vulkan ignores is valid too: validation looks at it all the same */
    bool own_caches;   /* the program plays with caches of its own */
    VkPipelineCache caches[OWN_CACHES];
    VkPipelineCache cache; /* the one that it keeps; NULL: none */
};

struct device_options {
    uint64_t seed;
    bool messages; /* with a messenger that notes what validation says */
    bool statistics;
};

/* Ends the program with status 1 on failure. */
void device_open(struct device *device, const struct device_options *options);
void device_close(struct device *device);

/* How many messages there have been so far, and what the last one was about. */
uint32_t device_messages(const char **ret_about);

/* In the order of destruction: the last two when nothing is made of them any more. */
enum object_kind {
    OBJECT_MODULE,
    OBJECT_SET_LAYOUT,
    OBJECT_LAYOUT,
    OBJECT_TEMPLATE,
    OBJECT_RENDER_PASS,
    OBJECT_PIPELINE,
    OBJECT_CACHE,
    OBJECT_SAMPLER,
    OBJECT_CONVERSION
};

struct object {
    enum object_kind kind;
    uint64_t handle;
};

enum { MAX_OBJECTS = 4096, ARENA_SIZE = 1 << 18 };

/* What a thread works on. Memory that is taken of it lasts until the next item begins. */
struct item {
    const struct device *device;
    uint32_t number;
    uint32_t rows;
    uint64_t random;
    size_t used;
    uint32_t object_count;
    struct object objects[MAX_OBJECTS];
    _Alignas(max_align_t) char arena[ARENA_SIZE];
};

static inline void must(VkResult result, const char *what)
{
    if (result < VK_SUCCESS) {
        fprintf(stderr, "random: %s: %d\n", what, result);
        exit(1);
    }
}

void item_begin(struct item *item, uint32_t number, uint64_t seed);
uint32_t item_draw(struct item *item, uint32_t below);
bool item_chance(struct item *item, uint32_t percent);

/* Zeroed. */
void *item_take(struct item *item, size_t size);
#define TAKE(item, type, count) ((type *)item_take(item, (count) * sizeof(type)))

/* A struct at the head of the chain. */
void *item_chain(struct item *item, const void **next, uint32_t stype, size_t size);
#define CHAIN(item, next, stype, type) ((type *)item_chain(item, next, stype, sizeof(type)))

/* Destroys it later: by item_drop, or in any order at last. */
void item_own(struct item *item, enum object_kind kind, uint64_t handle);
#define OWN(item, kind, handle) item_own(item, kind, (uint64_t)(handle))

/* Destroys objects of that kind, each by that chance. */
void item_drop(struct item *item, enum object_kind kind, uint32_t percent);
void item_drop_all(struct item *item);

/* A cache for the next creation. */
VkPipelineCache item_cache(struct item *item);

/* The layout of an item's pipelines; set 1 is left out where Vulkan allows that for a library. */
struct layouts {
    VkDescriptorSetLayout sets[2];
    bool independent;
};

struct layouts create_sets(struct item *item, bool independent);
VkPipelineLayout create_layout(struct item *item, const struct layouts *layouts, bool whole);

enum shader {
    SHADER_TILE,
    SHADER_GROUP,
    SHADER_VERTEX,
    SHADER_CONTROL,
    SHADER_EVALUATION,
    SHADER_GEOMETRY,
    SHADER_FRAGMENT,
    SHADER_INPUT
};

VkPipelineShaderStageCreateInfo create_stage(struct item *item, enum shader shader);

/* The same stage by the identifier of its code; false: the device has none. */
bool identify_stage(struct item *item, VkPipelineShaderStageCreateInfo *stage);

/* Flags drawn for pipelines, and where they go. */
uint64_t draw_flags(struct item *item);
void put_flags(struct item *item, VkPipelineCreateFlags *flags, const void **next, uint64_t value);
/* Of a create-info whose flags were put last: it is to fail where it would be compiled. */
void fail_to_compile(struct item *item, VkPipelineCreateFlags *flags, const void **next);
void draw_robustness(struct item *item, const void **next);

/* Creates pipelines of one call, tells of each, and owns them. `loose`: with what is in no cache,
 * the call's result may be another one. */
VkResult create_compute(struct item *item, uint32_t count, VkComputePipelineCreateInfo *infos,
                        bool loose, VkPipeline *pipelines);
VkResult create_graphics(struct item *item, const char *kind, uint32_t count,
                         VkGraphicsPipelineCreateInfo *infos, bool loose, VkPipeline *pipelines);

void draw_compute(struct item *item);
void draw_graphics(struct item *item);

#endif
