// SPDX-License-Identifier: Apache-2.0
/* The objects that a replay has created: one for each content digest, kept for every pipeline that
 * refers to it. Belongs to one thread. */
#ifndef WARMPIPE_REPLAY_REPLAY_OBJECTS_H
#define WARMPIPE_REPLAY_REPLAY_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "common/base/digest.h"
#include "common/replay/replay.h"

/* Nesting of objects: no valid pipeline is as deep, and a hostile one must not exhaust the stack.
 */
#define REPLAY_MAX_DEPTH 16

union replay_handle {
    uint64_t value;
    VkShaderModule shader_module;
    VkSampler sampler;
    VkSamplerYcbcrConversion conversion;
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout pipeline_layout;
    VkRenderPass render_pass;
    VkPipeline pipeline;
};

enum replay_state {
    REPLAY_BEING_MADE, /* a request for it now comes from one of its own parts */
    REPLAY_MADE,
    REPLAY_FAILED
};

struct replay_object {
    struct digest content; /* first, for the set */
    VkObjectType type;
    enum replay_state state;
    enum replay_outcome outcome;
    const char *lack; /* if UNSUPPORTED: replay_lack */
    union replay_handle handle;
    VkShaderModuleCreateInfo module; /* of a shader module; its code is borrowed */
};

/* Zero-initialize it, and do not move it. What is found in the set is valid until it is cleared. */
struct replay_objects {
    struct digest_set set; /* of pointers */
    size_t code_size;      /* of all shader modules */
    size_t samplers;       /* that live, and those of them with a custom border color */
    size_t border_color_samplers;
};

/* Inserts an object that is not in the table, in state BEING_MADE. NULL: out of memory. */
struct replay_object *replay_objects_insert(struct replay_objects *objects, VkObjectType type,
                                            struct digest content);

/* Destroys one object. Calls Vulkan. */
void replay_objects_destroy(VkDevice device, const struct replay_commands *commands,
                            VkObjectType type, union replay_handle handle);

/* Destroys all objects, each before its parts, and empties the table. Calls Vulkan. */
void replay_objects_clear(struct replay_objects *objects, VkDevice device,
                          const struct replay_commands *commands);

/* Finds code of the size that the form says. False: it is another size, or *ret_failure is set. */
bool replay_find_code(const struct replay_source *source, struct digest content, size_t size,
                      const void **ret_code, enum replay_outcome *ret_failure);

/* Creates an object of any type except a pipeline. *ret_handle is set on success.
 * REPLAY_UNSUPPORTED: the command does not exist. Calls Vulkan. */
enum replay_outcome replay_create_object(VkDevice device, const struct replay_commands *c,
                                         const void *info, union replay_handle *ret_handle);

/* The same for a pipeline of any kind. with_feedback: creation feedback may be chained, and tells
 * whether the cache had the pipeline. */
enum replay_outcome replay_create_pipeline(VkDevice device, const struct replay_commands *c,
                                           VkPipelineCache cache, bool with_feedback,
                                           uint32_t stage_count, VkBaseInStructure *info,
                                           union replay_handle *ret_handle);

#endif
