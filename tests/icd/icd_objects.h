// SPDX-License-Identifier: Apache-2.0
/* Objects that are nothing but a name and the hash of what was asked for. */
#ifndef ICD_OBJECTS_H
#define ICD_OBJECTS_H

#include "icd.h"

/* FNV-1a over eight bytes at a time; begin with ICD_HASH_SEED. Never 0. */
#define ICD_HASH_SEED 0xcbf29ce484222325u
uint64_t icd_hash(uint64_t hash, const void *data, size_t size);
uint64_t icd_hash_u64(uint64_t hash, uint64_t value);

/* Does what a create command does, from counting the call to its event. *ret_handle is set on
 * success only. */
VkResult icd_create_plain(const struct icd_device *device, enum icd_command command,
                          VkObjectType type, uint64_t content, const void *chain,
                          const VkAllocationCallbacks *allocator, uint64_t *ret_handle);

/* Does what a destroy command does. */
void icd_destroy_plain(const struct icd_device *device, enum icd_command command, VkObjectType type,
                       uint64_t handle, const VkAllocationCallbacks *allocator);

/* The hash of shader code, as a module's content is. */
uint64_t icd_hash_code(const VkShaderModuleCreateInfo *info);

/* The pair of commands of one object type; `content` is an expression over `device` and `info`. */
#define PLAIN_OBJECT(Name, TYPE, content)                                                          \
    VkResult icd_Create##Name(VkDevice vk_device, const Vk##Name##CreateInfo *info,                \
                              const VkAllocationCallbacks *allocator, Vk##Name *ret_object)        \
    {                                                                                              \
        const struct icd_device *device = icd_device_from(vk_device);                              \
        uint64_t handle = 0;                                                                       \
        VkResult result = icd_create_plain(device, ICD_Create##Name, VK_OBJECT_TYPE_##TYPE,        \
                                           content, info->pNext, allocator, &handle);              \
        *ret_object = ICD_FROM_HANDLE(Vk##Name, handle);                                           \
        return result;                                                                             \
    }                                                                                              \
    void icd_Destroy##Name(VkDevice vk_device, Vk##Name object,                                    \
                           const VkAllocationCallbacks *allocator)                                 \
    {                                                                                              \
        icd_destroy_plain(icd_device_from(vk_device), ICD_Destroy##Name, VK_OBJECT_TYPE_##TYPE,    \
                          ICD_HANDLE(object), allocator);                                          \
    }

#endif
