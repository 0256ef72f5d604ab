/* Pipelines that the driver is asked for: with the cache that is right for them, with creation
 * feedback, and counted. */
#ifndef WARMPIPE_LAYER_PIPELINE_CREATE_H
#define WARMPIPE_LAYER_PIPELINE_CREATE_H

#include "pipeline_call.h"

/* Calls down as the program has called, with its own cache: for what we do not know. */
VkResult pipeline_create_untouched(struct device *device, const struct pipeline_call *call);

/* Calls down with the cache that is right and all else as it is: the operation goes on after the
 * call, so that nothing it was given may be a copy of ours (VK_KHR_deferred_host_operations:
 * parameters are accessed until it is complete), and its pipelines are not there yet. */
VkResult pipeline_create_deferred(struct device *device, const struct pipeline_call *call,
                                  struct app_cache *named, const struct pipeline_element *elements,
                                  struct pipeline_down *ret_down);

/* Creates the elements that are PIPELINE_ALONE or PIPELINE_CLAIMED, in one call down; writes their
 * handles, or VK_NULL_HANDLE, into call->pipelines. `elements` and `copy` (room for as many
 * create-infos as the call has) are the caller's scratch; *ret_down tells of the call. Returns the
 * driver's result. */
VkResult pipeline_create_down(struct device *device, const struct pipeline_call *call,
                              struct app_cache *named, struct pipeline_element *elements,
                              void *copy, struct pipeline_down *ret_down);

#endif
