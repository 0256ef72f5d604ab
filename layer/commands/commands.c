// SPDX-License-Identifier: Apache-2.0
/* The way in: what the loader finds in this library (one exported name), which function answers to
 * which command, and the commands that link the chain. */
#include "layer/commands/commands.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vk_layer.h>

#include "common/base/clock.h"
#include "layer/worker/driver_gate.h"
#include "layer/worker/own_thread.h"
#include "layer/worker/worker.h"

/* Loader-layer interface version 2: all else goes through the pointers given here. */
#define INTERFACE_VERSION 2

static VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *create_info,
                                                      const VkAllocationCallbacks *allocator,
                                                      VkInstance *ret_instance)
{
    struct driver_permit *permit = calloc(1, sizeof *permit);
    VkResult result = instance_create(create_info, allocator, &permit, ret_instance);
    free(permit);
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical_device,
                                                    const VkDeviceCreateInfo *create_info,
                                                    const VkAllocationCallbacks *allocator,
                                                    VkDevice *ret_device)
{
    struct device *device;
    struct pull_question question;
    const int cancel = own_thread_bar_cancel();
    pull_question_ask(instance_of(physical_device), physical_device, &question);
    VkResult result = device_link(physical_device, create_info, allocator, ret_device, &device);
    if (device) {
        if (!device->instance->passive) {
            device->services =
                device_services_start(device, physical_device, create_info, allocator, &question);
        }
        device_publish(device);
    }
    pull_question_close(&question);
    own_thread_let_cancel(cancel);
    return result;
}

static void free_device(void *ended)
{
    struct device *device = ended;
    device_services_delete(device->services);
    device_free(device);
}

/* Ends our work for a device. What is left for the disk is done by the worker while the driver
 * destroys the device, or the instance: worker_await_behind waits for it. A device that a thread
 * may still be using, since the disk has not answered, stays, and in a list: it is no leak. */
static void finish_device(struct device *device)
{
    static struct device *_Atomic kept_devices;
    if (!device_services_finish(device->services)) {
        device->next_kept = atomic_exchange(&kept_devices, device);
    } else if (device_services_has_farewell(device->services)) {
        worker_do_behind(free_device, device);
    } else {
        free_device(device);
    }
}

static VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice handle,
                                                 const VkAllocationCallbacks *allocator)
{
    struct device *device = device_withdraw(handle);
    if (device) {
        const int cancel = own_thread_bar_cancel();
        const PFN_vkDestroyDevice next = device->table.DestroyDevice;
        const uint64_t before_ns = patience_set(PATIENCE_AT_END);
        finish_device(device);
        next(handle, allocator);
        worker_await_behind();
        patience_set(before_ns);
        own_thread_let_cancel(cancel);
    }
}

/* Programs leak devices (VUID-vkDestroyInstance-instance-00629). Our work for them, saves included,
 * ends here: it must not outlive the driver. */
static VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance handle,
                                                   const VkAllocationCallbacks *allocator)
{
    const int cancel = own_thread_bar_cancel();
    const struct instance *instance = instance_of(handle);
    struct device *device = instance ? device_withdraw_leaked(instance) : NULL;
    const uint64_t before_ns = patience_set(PATIENCE_AT_END);
    while (device) {
        finish_device(device);
        device = device_withdraw_leaked(instance);
    }
    instance_destroy(handle, allocator);
    driver_gate_register_behind(0);
    worker_await_behind();
    patience_set(before_ns);
    own_thread_let_cancel(cancel);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_proc_addr(VkInstance instance,
                                                                       const char *name);
static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_proc_addr(VkDevice device,
                                                                     const char *name);

static const struct command chain_commands_list[] = {
    COMMAND("vkGetInstanceProcAddr", get_instance_proc_addr, COMMAND_ALWAYS),
    COMMAND("vkCreateInstance", create_instance, COMMAND_ALWAYS),
    COMMAND("vkCreateDevice", create_device, COMMAND_ALWAYS),
    COMMAND("vkDestroyInstance", destroy_instance, COMMAND_INSTANCE),
    COMMAND("vkGetDeviceProcAddr", get_device_proc_addr, COMMAND_DEVICE),
    COMMAND("vkDestroyDevice", destroy_device, COMMAND_DEVICE),
};

static const struct command_family chain_commands = COMMAND_FAMILY(chain_commands_list);

#define LONGEST_NAME  63
#define MOST_COMMANDS 64

/* All commands, by the length of their names. */
static struct {
    const struct command *commands[MOST_COMMANDS];
    uint8_t first[LONGEST_NAME + 2]; /* of those of this length; they end where the next begin */
} command_index;

static void command_make_index(void)
{
    static const struct command_family *const families[] = {&chain_commands, &pipeline_commands,
                                                            &object_commands, &name_commands};
    size_t count = 0;
    for (size_t length = 0; length <= LONGEST_NAME; length++) {
        command_index.first[length] = (uint8_t)count;
        for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
            for (size_t j = 0; j < families[i]->count; j++) {
                if (families[i]->commands[j].length == length) {
                    assert(count < MOST_COMMANDS);
                    command_index.commands[count++] = &families[i]->commands[j];
                }
            }
        }
    }
    command_index.first[LONGEST_NAME + 1] = (uint8_t)count;
}

/* The loader asks for each command that it knows, some seven hundred at each start. */
static const struct command *command_find(const char *name)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const size_t length = strlen(name);
    pthread_once(&once, command_make_index);
    if (length > LONGEST_NAME) {
        return NULL;
    }
    for (size_t i = command_index.first[length]; i < command_index.first[length + 1]; i++) {
        if (memcmp(command_index.commands[i]->name, name, length) == 0) {
            return command_index.commands[i];
        }
    }
    return NULL;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_proc_addr(VkInstance instance,
                                                                       const char *name)
{
    return name ? instance_get_proc(instance, name, command_find(name)) : NULL;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_proc_addr(VkDevice device,
                                                                     const char *name)
{
    return name ? device_get_proc(device, name, command_find(name)) : NULL;
}

__attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *negotiation)
{
    if (!negotiation || negotiation->sType != LAYER_NEGOTIATE_INTERFACE_STRUCT ||
        negotiation->loaderLayerInterfaceVersion < INTERFACE_VERSION) {
        return VK_ERROR_INITIALIZATION_FAILED;
    }
    negotiation->loaderLayerInterfaceVersion = INTERFACE_VERSION;
    negotiation->pfnGetInstanceProcAddr = get_instance_proc_addr;
    negotiation->pfnGetDeviceProcAddr = get_device_proc_addr;
    negotiation->pfnGetPhysicalDeviceProcAddr = NULL;
    return VK_SUCCESS;
}
