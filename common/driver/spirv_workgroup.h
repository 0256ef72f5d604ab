/* The workgroup size of a compute shader, from its SPIR-V: just enough of a reader for that. The
 * code may be anything; nothing outside it is read. Pure, thread-safe. */
#ifndef WARMPIPE_DRIVER_SPIRV_WORKGROUP_H
#define WARMPIPE_DRIVER_SPIRV_WORKGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

/* The size that the entry point `name` runs with, in x, y and z, under this specialization (may be
 * NULL): the object decorated with WorkgroupSize where there is one, else LocalSizeId or LocalSize
 * (chapter "Built-In Variables", WorkgroupSize). False: there is no such entry point, or its size
 * is computed or cannot be read. `code` is aligned at 4. */
bool spirv_workgroup_size(const void *code, size_t size, const char *name,
                          const VkSpecializationInfo *specialization, uint32_t ret_size[3]);

#endif
