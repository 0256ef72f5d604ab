// SPDX-License-Identifier: Apache-2.0
/* What the driver's files share: its dispatchable objects. */
#ifndef ICD_H
#define ICD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vk_icd.h>
#include <vulkan/vulkan.h>

#include "icd_commands.h"
#include "icd_handles.h"
#include "icd_record.h"
#include "icd_settings.h"

struct icd_instance;

struct icd_physical_device {
    VK_LOADER_DATA loader;
    struct icd_instance *instance;
    uint32_t index;
};

struct icd_instance {
    VK_LOADER_DATA loader;
    struct icd_settings settings;
    struct icd_physical_device physical[ICD_MAX_DEVICES];
    _Atomic unsigned devices; /* alive */
};

struct icd_queue {
    VK_LOADER_DATA loader;
};

struct icd_device {
    VK_LOADER_DATA loader;
    const struct icd_settings *settings; /* the instance's */
    const struct icd_physical_device *physical;
    struct icd_queue queue;
    char (*extensions)[VK_MAX_EXTENSION_NAME_SIZE]; /* enabled */
    uint32_t extension_count;
    const VkAllocationCallbacks *allocator; /* &callbacks, of the program's; NULL: none */
    VkAllocationCallbacks callbacks;
};

static inline struct icd_device *icd_device_from(VkDevice device)
{
    return (struct icd_device *)(void *)device;
}

static inline struct icd_physical_device *icd_physical_from(VkPhysicalDevice device)
{
    return (struct icd_physical_device *)(void *)device;
}

static inline struct icd_instance *icd_instance_from(VkInstance instance)
{
    return (struct icd_instance *)(void *)instance;
}

/* Whether it was enabled on this device. */
bool icd_device_enabled(const struct icd_device *device, const char *extension);

/* What goes into the header of cache data and into the properties alike. */
uint32_t icd_physical_device_id(const struct icd_physical_device *physical);
void icd_physical_uuid(const struct icd_physical_device *physical, uint8_t uuid[VK_UUID_SIZE]);

/* The struct of this type in a pNext chain, or NULL. */
const void *icd_chain_find(const void *chain, VkStructureType type);

/* Spends this time computing. */
void icd_busy_wait(uint64_t microseconds);

#endif
