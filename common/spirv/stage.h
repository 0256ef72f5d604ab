// SPDX-License-Identifier: Apache-2.0
/* Whether a shader stage of a pipeline names what its code has. Pure functions; thread-safe. */
#ifndef WARMPIPE_SPIRV_STAGE_H
#define WARMPIPE_SPIRV_STAGE_H

#include <vulkan/vulkan.h>

#include "common/base/status.h"
#include "common/spirv/interface.h"

/* Checks the code (aligned at 4, `size` in bytes) and the stage that is to run it:
 *
 *     bad_spirv           the code is damaged, not for Vulkan, calls itself (usage.h), or has
 *                         workgroups without an invocation
 *     bad_entry_point     it has none of this name with the stage's execution model
 *                         (VUID-VkPipelineShaderStageCreateInfo-pName-00707)
 *     bad_specialization  a constant beyond the data, given twice, or of another size than in the
 *                         code (VUID-VkSpecializationInfo-offset-00773, -pMapEntries-00774,
 *                         -constantID-04911, VUID-VkSpecializationMapEntry-constantID-00776)
 *     bad_binding, bad_push_constants   as spirv_check_interface; layout NULL: never
 *
 * Also out_of_memory. */
enum status spirv_check_stage(const VkPipelineShaderStageCreateInfo *stage, const void *code,
                              size_t size, const struct spirv_layout *layout);

#endif
