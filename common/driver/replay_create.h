/* From a decoded create-info to the driver, whatever object it is. */
#ifndef WARMPIPE_DRIVER_REPLAY_CREATE_H
#define WARMPIPE_DRIVER_REPLAY_CREATE_H

#include <stdbool.h>
#include <vulkan/vulkan.h>

#include "driver/replay.h"
#include "driver/replay_objects.h"

/* The type of what a create-info of this sType makes; UNKNOWN: nothing that a pipeline is made of.
 */
VkObjectType replay_type_of(VkStructureType stype);

/* Everything but pipelines. *ret_handle is set on success. REPLAY_UNSUPPORTED: the command is not
 * there. Calls Vulkan. */
enum replay_outcome replay_create_object(VkDevice device, const struct replay_commands *c,
                                         const void *info, union replay_handle *ret_handle);

/* A pipeline of any kind, likewise; creation feedback, if it may be chained, tells whether the
 * cache had it. */
enum replay_outcome replay_create_pipeline(VkDevice device, const struct replay_commands *c,
                                           VkPipelineCache cache, bool with_feedback,
                                           VkBaseInStructure *info,
                                           union replay_handle *ret_handle);

#endif
