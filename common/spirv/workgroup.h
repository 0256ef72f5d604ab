// SPDX-License-Identifier: Apache-2.0
/* How large the workgroups of a shader are. Pure functions; thread-safe. */
#ifndef WARMPIPE_SPIRV_WORKGROUP_H
#define WARMPIPE_SPIRV_WORKGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "common/spirv/spirv.h"

/* Reads the workgroup size (x, y, z) of the entry point `name` from SPIR-V, under this
 * specialization (may be NULL): the object decorated with WorkgroupSize if there is one, else
 * LocalSizeId or LocalSize (chapter "Built-In Variables", WorkgroupSize). False: there is no such
 * entry point, its size is computed or cannot be read, the code is damaged, or memory is out.
 * `code` is aligned at 4, `size` in bytes. */
bool spirv_workgroup_size(const void *code, size_t size, const char *name,
                          const VkSpecializationInfo *specialization, uint32_t ret_size[3]);

/* Whether a workgroup of this entry point, of a stage that has them, has no invocation: drivers
 * divide by its size. False also where the size cannot be read. */
bool spirv_workgroup_is_nothing(const struct spirv_module *module, uint32_t entry,
                                const VkSpecializationInfo *specialization);

#endif
