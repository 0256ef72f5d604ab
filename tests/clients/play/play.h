// SPDX-License-Identifier: Apache-2.0
/* A driver that compiles with another driver and plays the rest.
 *
 * RADV's null device has a real compiler and a real pipeline cache, but no memory, images, fences
 * or command buffers: a program that draws crashes on it. This library stands in front of it as a
 * driver of its own (VK_DRIVER_FILES at warmpipe_play_icd.json, PLAY_DRIVER at RADV's library) and
 * answers those commands itself: memory is memory of the process, images and the like are made-up
 * handles, a submit has ended when it returns, and commands are not executed. What decides what a
 * pipeline is (modules, layouts, samplers, render passes, caches, the pipelines) reaches RADV.
 *
 * A driver rather than a layer, so that it is below every layer, whatever the loader's order.
 *
 * Frames are black: such a start shows what was compiled and what was cached, not what was drawn.
 */
#ifndef WARMPIPE_PLAY_H
#define WARMPIPE_PLAY_H
#include <stdbool.h>
#include <stdint.h>

#include <vulkan/vk_icd.h>
#include <vulkan/vulkan.h>

#define MAX_SWAPCHAIN_SIZE 8

/* What stands behind each made-up handle; which members count depends on its type. */
struct played {
    _Atomic uint64_t value; /* semaphore: its counter; fence: 1 once signalled */
    VkDeviceSize size;      /* memory, buffer, image */
    VkDeviceSize row_pitch; /* image */
    VkDeviceSize layer_pitch;
    void *data;           /* memory */
    uint32_t image_count; /* swapchain */
    VkImage images[MAX_SWAPCHAIN_SIZE];
};

/* Handles that are not dispatchable are pointers, as on every 64-bit platform. */
#define PLAYED(handle) ((struct played *)(handle))

/* Which command is played by what. A name stands for its KHR and EXT forms, too. */
struct played_command {
    const char *name;
    PFN_vkVoidFunction function;
};

#define PLAY(function) ((PFN_vkVoidFunction)(function))

/* Each ends with a NULL name. */
extern const struct played_command play_memory[], play_submit[], play_present[], play_pipelines[];

/* The struct of this type in a pNext chain, or NULL. */
const void *play_find_struct(const void *chain, VkStructureType type);

/* Zeroed; to be freed. */
struct played *play_new(void);

/* For every command that has nothing to do: the arguments are not looked at, and callers of
 * commands that return nothing do not look at the result. */
VkResult VKAPI_CALL play_succeed(void);

/* For vkCreate… of objects of which nothing needs to be known, and for vkDestroy… of all. */
VkResult VKAPI_CALL play_create(VkDevice device, const void *info,
                                const VkAllocationCallbacks *allocator, struct played **object);
void VKAPI_CALL play_destroy(VkDevice device, struct played *object,
                             const VkAllocationCallbacks *allocator);

void play_signal_fence(VkFence fence);

/* Whether a name is that of a command, or its KHR or EXT form. */
bool play_same_name(const char *name, const char *command);

/* Opens PLAY_COUNTS, if it is set and not open yet. */
void play_open_counts(void);

/* Keeps what pipelines are to be created with, if the name is one of those commands. */
void play_set_next_pipelines(const char *name, PFN_vkVoidFunction next);

#endif
