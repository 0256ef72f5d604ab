/* The feature structs of an environment as Vulkan has them: to ask a device with, or to enable. */
#ifndef WARMPIPE_DRIVER_ENVIRONMENT_FEATURES_H
#define WARMPIPE_DRIVER_ENVIRONMENT_FEATURES_H

#include <stdbool.h>
#include <stddef.h>

#include "driver/environment_private.h"

/* Every struct of the environment but VkPhysicalDeviceFeatures, one behind the other. */

/* The name of the first struct of which this table does not know all that is enabled, else NULL.
 * What follows is for environments without one. */
const char *environment_features_unknown(const struct environment *environment);

/* Bytes that the chain takes. */
size_t environment_features_size(const struct environment *environment);

/* Lays the chain out in memory of that size, aligned for any type; every feature false, or those
 * that the environment has true. Gives its first struct, NULL if there is none. */
void *environment_features_chain(const struct environment *environment, void *memory, bool enabled);

/* VkPhysicalDeviceFeatures, those true that the environment has. */
void environment_features_core(const struct environment *environment,
                               VkPhysicalDeviceFeatures *ret_core);

/* Given such a chain, as a device has filled it, and what it has of VkPhysicalDeviceFeatures: the
 * name of the first struct of which it does not offer all, else NULL. */
const char *environment_features_missing(const struct environment *environment, const void *chain,
                                         const VkPhysicalDeviceFeatures *core);

#endif
