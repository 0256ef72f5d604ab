// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "icd.h"

struct slot {
    struct icd_object *object; /* NULL: free */
    uint32_t generation;
    uint32_t next_free; /* index + 1; 0: none */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct slot *slots;
static uint32_t slot_count;
static uint32_t first_free; /* index + 1 */

static bool make_slots(void)
{
    uint32_t count = slot_count == 0 ? 256 : slot_count * 2;
    struct slot *more = realloc(slots, count * sizeof *slots);
    if (more == NULL) {
        return false;
    }
    slots = more;
    memset(slots + slot_count, 0, (count - slot_count) * sizeof *slots);
    for (uint32_t i = count; i > slot_count; --i) {
        slots[i - 1].next_free = first_free;
        first_free = i;
    }
    slot_count = count;
    return true;
}

static struct icd_object *find_equal(const struct icd_device *device, VkObjectType type,
                                     uint64_t content)
{
    for (uint32_t i = 0; i < slot_count; ++i) {
        struct icd_object *object = slots[i].object;
        if (object != NULL && object->device == device && object->type == type &&
            object->content == content) {
            return object;
        }
    }
    return NULL;
}

/* "The most specific allocator available is used" (the chapter on memory allocation). */
static const VkAllocationCallbacks *most_specific(const struct icd_device *device,
                                                  const VkAllocationCallbacks *allocator)
{
    return allocator != NULL ? allocator : device->allocator;
}

static void *allocate(size_t size, const VkAllocationCallbacks *allocator)
{
    void *memory = allocator == NULL
                       ? malloc(size)
                       : allocator->pfnAllocation(allocator->pUserData, size, sizeof(void *) * 2,
                                                  VK_SYSTEM_ALLOCATION_SCOPE_OBJECT);
    return memory == NULL ? NULL : memset(memory, 0, size);
}

static void release(void *object, const VkAllocationCallbacks *allocator)
{
    if (allocator == NULL) {
        free(object);
    } else {
        allocator->pfnFree(allocator->pUserData, object);
    }
}

void icd_object_free(struct icd_object *object, const VkAllocationCallbacks *allocator)
{
    release(object, most_specific(object->device, allocator));
}

void *icd_device_allocate(const struct icd_device *device, size_t size)
{
    return allocate(size, device->allocator);
}

void icd_device_free(const struct icd_device *device, void *memory)
{
    if (memory != NULL) {
        release(memory, device->allocator);
    }
}

void *icd_object_create(const struct icd_device *device, VkObjectType type, size_t size,
                        uint64_t content, const VkAllocationCallbacks *allocator, bool *ret_new)
{
    /* The allocator is the program's: it may do anything but be called under our lock. */
    struct icd_object *object = allocate(size, most_specific(device, allocator));
    if (object == NULL) {
        return NULL;
    }
    pthread_mutex_lock(&mutex);
    struct icd_object *equal = NULL;
    if (device->settings->equal_handles && content != 0 && allocator == NULL) {
        equal = find_equal(device, type, content);
    }
    if (equal != NULL) {
        ++equal->creates;
    } else if (first_free != 0 || make_slots()) {
        uint32_t index = first_free - 1;
        first_free = slots[index].next_free;
        slots[index].object = object;
        object->handle = (uint64_t)slots[index].generation << 32 | (index + 1);
        object->content = content;
        object->device = device;
        object->type = type;
        object->creates = 1;
        object->with_allocator = allocator != NULL;
    }
    pthread_mutex_unlock(&mutex);
    *ret_new = equal == NULL;
    if (equal != NULL || object->handle == 0) {
        release(object, most_specific(device, allocator));
        return equal;
    }
    return object;
}

/* Under the lock. */
static struct icd_object *lookup(uint64_t handle)
{
    uint32_t index = (uint32_t)handle - 1;
    if (index >= slot_count || slots[index].object == NULL ||
        slots[index].object->handle != handle) {
        return NULL;
    }
    return slots[index].object;
}

static void report_unknown(const struct icd_object *object, const struct icd_device *device,
                           uint64_t handle, VkObjectType type, enum icd_command command)
{
    const char *name = icd_command_name(command);
    if (object == NULL) {
        icd_violation("dead_handle", "%s: no live object %" PRIx64 " (type %d)", name, handle,
                      (int)type);
    } else if (object->type != type) {
        icd_violation("wrong_type", "%s: object %" PRIx64 " is of type %d, not %d", name, handle,
                      (int)object->type, (int)type);
    } else if (object->device != device) {
        icd_violation("foreign_device", "%s: object %" PRIx64 " is of another device", name,
                      handle);
    }
}

static bool fits(const struct icd_object *object, const struct icd_device *device,
                 VkObjectType type)
{
    return object != NULL && object->type == type && object->device == device;
}

void *icd_object_find(const struct icd_device *device, uint64_t handle, VkObjectType type,
                      enum icd_command command)
{
    pthread_mutex_lock(&mutex);
    struct icd_object *object = lookup(handle);
    bool found = fits(object, device, type);
    if (!found) {
        report_unknown(object, device, handle, type, command);
    }
    pthread_mutex_unlock(&mutex);
    return found ? object : NULL;
}

uint64_t icd_object_content(const struct icd_device *device, uint64_t handle, VkObjectType type,
                            enum icd_command command)
{
    if (handle == 0) {
        return 0;
    }
    const struct icd_object *object = icd_object_find(device, handle, type, command);
    return object == NULL ? 0 : object->content;
}

void *icd_object_acquire(const struct icd_device *device, uint64_t handle, VkObjectType type,
                         bool alone, enum icd_command command, bool *ret_conflict)
{
    pthread_mutex_lock(&mutex);
    struct icd_object *object = lookup(handle);
    bool found = fits(object, device, type);
    if (found) {
        alone = alone || object->always_alone;
        *ret_conflict = object->used_alone || (alone && object->users != 0);
        ++object->users;
        object->used_alone = object->used_alone || alone;
    } else {
        report_unknown(object, device, handle, type, command);
    }
    pthread_mutex_unlock(&mutex);
    return found ? object : NULL;
}

void icd_object_release(struct icd_object *object, bool alone)
{
    pthread_mutex_lock(&mutex);
    --object->users;
    object->used_alone = object->used_alone && !alone && !object->always_alone;
    pthread_mutex_unlock(&mutex);
}

/* Under the lock: the handle dies here. */
static void release_slot(const struct icd_object *object)
{
    uint32_t index = (uint32_t)object->handle - 1;
    slots[index].object = NULL;
    slots[index].generation += !object->device->settings->recycle;
    slots[index].next_free = first_free;
    first_free = index + 1;
}

/* Under the lock. An object that somebody uses, that another allocator made or that nobody
 * destroyed cannot be freed. It stays reachable, so that only what others leak counts as a leak. */
static void abandon(struct icd_object *object)
{
    static struct icd_object *abandoned;
    object->next_abandoned = abandoned;
    abandoned = object;
}

bool icd_object_destroy(const struct icd_device *device, uint64_t handle, VkObjectType type,
                        const VkAllocationCallbacks *allocator, enum icd_command command,
                        void *ret_object)
{
    if (handle == 0) {
        return false;
    }
    pthread_mutex_lock(&mutex);
    struct icd_object *object = lookup(handle);
    bool found = fits(object, device, type);
    bool freed = false;
    bool busy = false;
    bool mismatch = false;
    if (found) {
        mismatch = object->with_allocator != (allocator != NULL);
        busy = object->users != 0;
        if (--object->creates == 0) {
            release_slot(object);
            freed = !busy && !mismatch;
            if (!freed) {
                abandon(object);
            }
        }
    } else {
        report_unknown(object, device, handle, type, command);
    }
    pthread_mutex_unlock(&mutex);

    if (mismatch) {
        icd_violation("allocator_mismatch", "%s: object %" PRIx64 " created %s an allocator",
                      icd_command_name(command), handle, allocator == NULL ? "with" : "without");
    }
    if (busy) {
        icd_violation("destroyed_in_use", "%s: object %" PRIx64 " is in use",
                      icd_command_name(command), handle);
    }
    if (freed) {
        memcpy(ret_object, &object, sizeof object);
    }
    return freed;
}

void icd_objects_drop(const struct icd_device *device)
{
    pthread_mutex_lock(&mutex);
    for (uint32_t i = 0; i < slot_count; ++i) {
        struct icd_object *object = slots[i].object;
        if (object == NULL || object->device != device) {
            continue;
        }
        struct icd_event event;
        icd_event_begin(&event, "leaked");
        icd_event_number(&event, "type", object->type);
        icd_event_handle(&event, "handle", object->handle);
        icd_event_end(&event);
        if (object->type == VK_OBJECT_TYPE_PIPELINE_CACHE) {
            icd_violation("live_cache", "vkDestroyDevice: pipeline cache %" PRIx64 " still lives",
                          object->handle);
        }
        release_slot(object);
        abandon(object);
    }
    pthread_mutex_unlock(&mutex);
}
