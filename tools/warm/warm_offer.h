// SPDX-License-Identifier: Apache-2.0
/* Which recipes of a program this machine's devices can have, for verbs that replay nothing. */
#ifndef WARMPIPE_TOOLS_WARM_WARM_OFFER_H
#define WARMPIPE_TOOLS_WARM_WARM_OFFER_H

#include "tools/vulkan/vulkan_loader.h"
#include "tools/warm/warm_coverage.h"

/* Asks the drivers, in child processes, what they offer of what the recipes' devices had enabled,
 * and adds it to the coverage, as a dry run of `warmpipe warm` does. Nothing is said of a program
 * without recipes, or without devices here. Called with one thread. */
void warm_offer(const char *root, const char *app, const struct vulkan_devices *devices,
                struct warm_coverage *coverage);

#endif
