// SPDX-License-Identifier: Apache-2.0
/* The non-dispatchable objects that live, by handle. A handle is a number, never an address, so
 * that one which is dead or foreign is noticed rather than followed. Thread-safe. */
#ifndef ICD_HANDLES_H
#define ICD_HANDLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "icd_commands.h"

struct icd_device;

#if VK_USE_64_BIT_PTR_DEFINES
#define ICD_HANDLE(handle)           ((uint64_t)(uintptr_t)(handle))
#define ICD_FROM_HANDLE(type, value) ((type)(uintptr_t)(value))
#else
#define ICD_HANDLE(handle)           ((uint64_t)(handle))
#define ICD_FROM_HANDLE(type, value) ((type)(value))
#endif

/* What every object begins with. */
struct icd_object {
    struct icd_object *next_abandoned;
    uint64_t handle;
    uint64_t content; /* hash of what was asked for */
    const struct icd_device *device;
    VkObjectType type;
    uint32_t creates; /* above 1 only with WPTEST_ICD_EQUAL_HANDLES */
    uint32_t users;   /* commands that use it now */
    bool used_alone;  /* one of them must be the only one */
    bool always_alone;
    bool with_allocator;
};

/* A zeroed object of `size` bytes that begins with struct icd_object, or NULL: out of memory.
 * `content` 0: never the same handle as another. An object that already stood is returned with one
 * creation more, and *ret_new false. */
void *icd_object_create(const struct icd_device *device, VkObjectType type, size_t size,
                        uint64_t content, const VkAllocationCallbacks *allocator, bool *ret_new);

/* The live object, or NULL after a violation. Valid as long as Vulkan's rules are kept. */
void *icd_object_find(const struct icd_device *device, uint64_t handle, VkObjectType type,
                      enum icd_command command);

/* Its content; 0 for VK_NULL_HANDLE, or after a violation. */
uint64_t icd_object_content(const struct icd_device *device, uint64_t handle, VkObjectType type,
                            enum icd_command command);

/* Finds and marks as in use until icd_object_release. *ret_conflict: somebody uses it at this
 * moment who must be alone, or `alone` and somebody else uses it. */
void *icd_object_acquire(const struct icd_device *device, uint64_t handle, VkObjectType type,
                         bool alone, enum icd_command command, bool *ret_conflict);
void icd_object_release(struct icd_object *object, bool alone);

/* Takes one creation back. True when that was the last: the caller then frees what the object
 * holds, and the object with icd_object_free. False for a handle of 0, or after a violation. */
bool icd_object_destroy(const struct icd_device *device, uint64_t handle, VkObjectType type,
                        const VkAllocationCallbacks *allocator, enum icd_command command,
                        void *ret_object);
void icd_object_free(struct icd_object *object, const VkAllocationCallbacks *allocator);

/* Memory of the device's own, zeroed: by the program's allocator where the device has one, whatever
 * the object is made with that it is for. NULL: out of memory. */
void *icd_device_allocate(const struct icd_device *device, size_t size);
void icd_device_free(const struct icd_device *device, void *memory);

/* Objects of the device that still live; their memory is given up. */
void icd_objects_drop(const struct icd_device *device);

#endif
