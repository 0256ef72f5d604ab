/* The objects that a replay has made: one for each content, kept for all who refer to it. Belongs
 * to one thread. */
#ifndef WARMPIPE_DRIVER_REPLAY_OBJECTS_H
#define WARMPIPE_DRIVER_REPLAY_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "codec/digest.h"
#include "driver/replay.h"

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
    REPLAY_BEING_MADE, /* who asks for it now is part of it */
    REPLAY_MADE,
    REPLAY_FAILED
};

struct replay_object {
    struct digest content;
    VkObjectType type;
    enum replay_state state;
    enum replay_outcome outcome;
    union replay_handle handle;
    const void *code; /* of a shader module; borrowed */
    size_t code_size;
};

/* Zero-initialize it. */
struct replay_objects {
    struct replay_object *slots; /* those without a type are free */
    size_t capacity;             /* a power of two, or 0 */
    size_t count;
    size_t code_size; /* of all shader modules */
};

/* NULL: there is none. What is given stays where it is until the next insertion. */
struct replay_object *replay_objects_find(const struct replay_objects *objects,
                                          struct digest content);

/* One that is not there yet, being made. NULL: out of memory. */
struct replay_object *replay_objects_insert(struct replay_objects *objects, VkObjectType type,
                                            struct digest content);

/* Destroys one of this type; calls Vulkan. */
void replay_objects_destroy(VkDevice device, const struct replay_commands *commands,
                            VkObjectType type, union replay_handle handle);

/* Destroys all, whoever is made of others before these, and empties the table. Calls Vulkan. */
void replay_objects_clear(struct replay_objects *objects, VkDevice device,
                          const struct replay_commands *commands);

#endif
