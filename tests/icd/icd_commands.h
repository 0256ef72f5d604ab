// SPDX-License-Identifier: Apache-2.0
/* The driver's commands: one function each, icd_NAME for vkNAME, found by name. */
#ifndef ICD_COMMANDS_H
#define ICD_COMMANDS_H

#include <vulkan/vulkan.h>

#ifndef VK_KHR_pipeline_binary
typedef struct VkPipelineBinaryKeyKHR {
    VkStructureType sType;
    void *pNext;
    uint32_t keySize;
    uint8_t key[32];
} VkPipelineBinaryKeyKHR;
typedef VkResult(VKAPI_PTR *PFN_vkGetPipelineKeyKHR)(VkDevice device, const void *create_info,
                                                     VkPipelineBinaryKeyKHR *ret_key);
#define VkPipelineCreateInfoKHR void
#endif

enum icd_command {
#define COMMAND(name, level, api, extension) ICD_##name,
#define ALIAS(name, target, level, api, extension)
#include "icd_commands.def"
#undef COMMAND
#undef ALIAS
    ICD_COMMAND_COUNT
};

/* Every function is declared with the type that the Vulkan headers give it. */
#define COMMAND(name, level, api, extension) extern __typeof__(*(PFN_vk##name)0) icd_##name;
#define ALIAS(name, target, level, api, extension)
#include "icd_commands.def"
#undef COMMAND
#undef ALIAS

/* "vkCreateDevice". */
const char *icd_command_name(enum icd_command command);

#endif
