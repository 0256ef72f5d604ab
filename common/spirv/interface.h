// SPDX-License-Identifier: Apache-2.0
/* The interface of an entry point: the descriptors and the push constants that it uses, against
 * what a pipeline layout has. A driver trusts that they fit, and may crash where they do not. Pure
 * functions; thread-safe. */
#ifndef WARMPIPE_SPIRV_INTERFACE_H
#define WARMPIPE_SPIRV_INTERFACE_H

#include <stdint.h>
#include <vulkan/vulkan.h>

#include "common/base/status.h"
#include "common/spirv/spirv.h"

/* A pipeline layout. Borrowed. */
struct spirv_layout {
    const VkDescriptorSetLayoutCreateInfo *const *sets; /* NULL where there is none */
    uint32_t set_count;
    const VkPushConstantRange *ranges;
    uint32_t range_count;
};

/* Whether what the function uses, with all that it calls, is in the layout for this stage: sets,
 * bindings, descriptor types, counts where the code has a constant one, stage flags (VUID-Vk*
 * PipelineCreateInfo-layout-00703 and -00756, since 1.3.242 -layout-07988, -07990, -07991), and the
 * push constants (-07987). What the reader does not know, such as a type of an extension, fits.
 * Without a layout (NULL) only the calls are looked at. STATUS_ok, bad_binding, bad_push_constants,
 * bad_spirv, out_of_memory. */
enum status spirv_check_interface(const struct spirv_module *module, uint32_t function,
                                  VkShaderStageFlagBits stage, const struct spirv_layout *layout);

#endif
