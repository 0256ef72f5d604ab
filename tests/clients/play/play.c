// SPDX-License-Identifier: Apache-2.0
/* The way in, and which commands are played. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "play.h"

#define EXPORT __attribute__((visibility("default"))) VKAPI_ATTR

/* What the loader looks for in a driver's library; vk_icd.h has types of them alone. */
EXPORT PFN_vkVoidFunction VKAPI_CALL vk_icdGetInstanceProcAddr(VkInstance, const char *);
EXPORT PFN_vkVoidFunction VKAPI_CALL vk_icdGetPhysicalDeviceProcAddr(VkInstance, const char *);
EXPORT VkResult VKAPI_CALL vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *);

#define INTERFACE_VERSION 5

static const struct played_command *const play_tables[] = {play_memory, play_submit, play_present,
                                                           play_pipelines};
#define PLAY_TABLES (sizeof(play_tables) / sizeof(play_tables[0]))

static PFN_vkGetInstanceProcAddr play_next_instance_proc;
static PFN_vkGetDeviceProcAddr play_next_device_proc;

const void *play_find_struct(const void *chain, VkStructureType type)
{
    for (const VkBaseInStructure *entry = chain; entry; entry = entry->pNext) {
        if (entry->sType == type) {
            return entry;
        }
    }
    return NULL;
}

struct played *play_new(void)
{
    struct played *object = calloc(1, sizeof(*object));
    if (!object) {
        abort();
    }
    return object;
}

VkResult VKAPI_CALL play_succeed(void)
{
    return VK_SUCCESS;
}

VkResult VKAPI_CALL play_create(VkDevice device, const void *info,
                                const VkAllocationCallbacks *allocator, struct played **object)
{
    *object = play_new();
    return VK_SUCCESS;
}

void VKAPI_CALL play_destroy(VkDevice device, struct played *object,
                             const VkAllocationCallbacks *allocator)
{
    free(object);
}

bool play_same_name(const char *name, const char *command)
{
    const size_t length = strlen(command);
    return strncmp(name, command, length) == 0 &&
           (!name[length] || strcmp(name + length, "KHR") == 0 ||
            strcmp(name + length, "EXT") == 0);
}

static PFN_vkVoidFunction play_find(const char *name)
{
    if (strncmp(name, "vkCmd", 5) == 0) {
        return PLAY(play_succeed);
    }
    for (size_t i = 0; i < PLAY_TABLES; i++) {
        for (const struct played_command *command = play_tables[i]; command->name; command++) {
            if (play_same_name(name, command->name)) {
                return command->function;
            }
        }
    }
    return NULL;
}

/* A command that the driver does not have is not played either. */
static PFN_vkVoidFunction play_choose(const char *name, PFN_vkVoidFunction next)
{
    if (next) {
        play_set_next_pipelines(name, next);
    }
    PFN_vkVoidFunction played = next ? play_find(name) : NULL;
    return played ? played : next;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL play_get_device_proc(VkDevice device,
                                                                     const char *name)
{
    return play_choose(name, play_next_device_proc(device, name));
}

static bool play_open_driver(void)
{
    const char *path = getenv("PLAY_DRIVER");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    void *found = library ? dlsym(library, "vk_icdGetInstanceProcAddr") : NULL;
    if (!found) {
        fprintf(stderr, "play: PLAY_DRIVER is no driver: %s\n", path ? dlerror() : "not set");
        return false;
    }
    play_open_counts();
    memcpy(&play_next_instance_proc, &found, sizeof(found));
    return true;
}

PFN_vkVoidFunction VKAPI_CALL vk_icdGetInstanceProcAddr(VkInstance instance, const char *name)
{
    if (!play_next_instance_proc && !play_open_driver()) {
        return NULL;
    }
    PFN_vkVoidFunction next = play_next_instance_proc(instance, name);
    if (strcmp(name, "vkGetDeviceProcAddr") == 0) {
        play_next_device_proc = (PFN_vkGetDeviceProcAddr)next;
        return PLAY(play_get_device_proc);
    }
    return play_choose(name, next);
}

PFN_vkVoidFunction VKAPI_CALL vk_icdGetPhysicalDeviceProcAddr(VkInstance instance, const char *name)
{
    const char prefix[] = "vkGetPhysicalDevice";
    return strncmp(name, prefix, sizeof(prefix) - 1) == 0
               ? vk_icdGetInstanceProcAddr(instance, name)
               : NULL;
}

VkResult VKAPI_CALL vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version)
{
    *version = *version < INTERFACE_VERSION ? *version : INTERFACE_VERSION;
    return VK_SUCCESS;
}
