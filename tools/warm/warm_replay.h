// SPDX-License-Identifier: Apache-2.0
/* The process that replays: everything of Vulkan happens in it. */
#ifndef WARMPIPE_TOOLS_WARM_WARM_REPLAY_H
#define WARMPIPE_TOOLS_WARM_WARM_REPLAY_H

#include <stddef.h>

#include "tools/warm/warm_shared.h"

/* All items. */
#define WARM_ALL SIZE_MAX

/* Replays the target's items, or only the one of index `only`, saves, and reports in `shared`.
 * SIGINT and SIGTERM end it early; what is compiled is saved. Called in a child of fork that has
 * one thread. Ends the process. */
_Noreturn void warm_replay_run(const struct warm_target *target, struct warm_shared *shared,
                               size_t only);

#endif
