// SPDX-License-Identifier: Apache-2.0
/* Names and tags of objects whose handles may be shared, and the callbacks through which a driver
 * calls the program back.
 *
 * The program synchronizes access to each handle that it names (vk.xml: externsync of the object),
 * but cannot know that two of its handles are one. So calls that name one handle are made one at a
 * time here, and the last one wins; calls for different handles do not wait for each other. No lock
 * is held while the driver names. */
#include <pthread.h>
#include <stdatomic.h>

#include "common/base/clock.h"
#include "layer/commands/commands.h"
#include "layer/worker/driver_gate.h"
#include "layer/worker/own_thread.h"

/* How long a thread waits where the thread that it waits for may be in a callback of the program's.
 * A messenger may be created meanwhile, so every wait ends after this time to check again. */
#define NAMING_WAIT_NS (10 * CLOCK_MS)

/* A call that is under way; on the stack of its thread. */
struct naming_call {
    struct naming_call *next;
    const struct device *device;
    uint64_t handle;
    int cancel; /* own_thread_bar_cancel */
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t ended; /* by the monotonic clock */
    bool prepared;
    struct naming_call *calls;
} naming = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Under the lock. */
static bool naming_is_under_way(const struct naming_call *wanted)
{
    const struct naming_call *call = naming.calls;
    while (call && (call->handle != wanted->handle || call->device != wanted->device)) {
        call = call->next;
    }
    return call;
}

/* Waits for a call that names the same handle; where the driver may call the program back, 10 ms at
 * most. False: the handle is still being named: this name counts as the earlier of the two, and is
 * not given. */
static bool naming_begin(struct naming_call *call)
{
    bool may_wait = true;
    call->cancel = own_thread_bar_cancel();
    pthread_mutex_lock(&naming.lock);
    if (!naming.prepared) {
        clock_condition_init(&naming.ended);
        naming.prepared = true;
    }
    while (naming_is_under_way(call) && may_wait) {
        may_wait = !driver_permit_is_withdrawn(call->device->instance->permit);
        const struct timespec until = clock_timespec(clock_now_ns() + NAMING_WAIT_NS);
        pthread_cond_timedwait(&naming.ended, &naming.lock, &until);
    }
    bool begun = !naming_is_under_way(call);
    if (begun) {
        call->next = naming.calls;
        naming.calls = call;
    }
    pthread_mutex_unlock(&naming.lock);
    if (!begun) {
        own_thread_let_cancel(call->cancel);
    }
    return begun;
}

static void naming_end(const struct naming_call *call)
{
    pthread_mutex_lock(&naming.lock);
    struct naming_call **place = &naming.calls;
    while (*place != call) {
        place = &(*place)->next;
    }
    *place = call->next;
    pthread_cond_broadcast(&naming.ended);
    pthread_mutex_unlock(&naming.lock);
    own_thread_let_cancel(call->cancel);
}

/* The four commands: alike but for the types. A name is a hint: where the next layer cannot take
 * it, nothing is lost. */
#define NAME_COMMAND(function, Member, Info, object)                                               \
    static VKAPI_ATTR VkResult VKAPI_CALL function(VkDevice handle, const Info *info)              \
    {                                                                                              \
        const struct device *device = device_of(handle);                                           \
        struct naming_call call = {.device = device, .handle = info->object};                      \
        if (!device->table.Member || !naming_begin(&call)) {                                       \
            return VK_SUCCESS;                                                                     \
        }                                                                                          \
        VkResult result = device->table.Member(handle, info);                                      \
        naming_end(&call);                                                                         \
        return result;                                                                             \
    }

NAME_COMMAND(set_object_name, SetDebugUtilsObjectNameEXT, VkDebugUtilsObjectNameInfoEXT,
             objectHandle)
NAME_COMMAND(set_object_tag, SetDebugUtilsObjectTagEXT, VkDebugUtilsObjectTagInfoEXT, objectHandle)
NAME_COMMAND(marker_set_name, DebugMarkerSetObjectNameEXT, VkDebugMarkerObjectNameInfoEXT, object)
NAME_COMMAND(marker_set_tag, DebugMarkerSetObjectTagEXT, VkDebugMarkerObjectTagInfoEXT, object)

/* A callback may take a lock of the program's which is held by a thread that waits for another's
 * creation. So from now on no thread of this instance waits, and none of ours calls its drivers. */
static void note_callback(struct instance *instance)
{
    atomic_store(&instance->has_callback, true);
    driver_gate_withdraw(instance->permit);
}

static VKAPI_ATTR VkResult VKAPI_CALL
create_messenger(VkInstance handle, const VkDebugUtilsMessengerCreateInfoEXT *create_info,
                 const VkAllocationCallbacks *allocator, VkDebugUtilsMessengerEXT *ret_messenger)
{
    struct instance *instance = instance_of(handle);
    if (!instance->next_create_messenger) {
        return VK_ERROR_EXTENSION_NOT_PRESENT;
    }
    note_callback(instance);
    return instance->next_create_messenger(handle, create_info, allocator, ret_messenger);
}

static VKAPI_ATTR VkResult VKAPI_CALL create_report_callback(
    VkInstance handle, const VkDebugReportCallbackCreateInfoEXT *create_info,
    const VkAllocationCallbacks *allocator, VkDebugReportCallbackEXT *ret_callback)
{
    struct instance *instance = instance_of(handle);
    if (!instance->next_create_report_callback) {
        return VK_ERROR_EXTENSION_NOT_PRESENT;
    }
    note_callback(instance);
    return instance->next_create_report_callback(handle, create_info, allocator, ret_callback);
}

static const struct command name_command_list[] = {
    COMMAND("vkCreateDebugUtilsMessengerEXT", create_messenger, COMMAND_WORK),
    COMMAND("vkCreateDebugReportCallbackEXT", create_report_callback, COMMAND_WORK),
    COMMAND("vkSetDebugUtilsObjectNameEXT", set_object_name, COMMAND_WORK),
    COMMAND("vkSetDebugUtilsObjectTagEXT", set_object_tag, COMMAND_WORK),
    COMMAND("vkDebugMarkerSetObjectNameEXT", marker_set_name, COMMAND_WORK),
    COMMAND("vkDebugMarkerSetObjectTagEXT", marker_set_tag, COMMAND_WORK),
};

const struct command_family name_commands = COMMAND_FAMILY(name_command_list);
