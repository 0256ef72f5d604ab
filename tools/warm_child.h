/* The process that replays: everything of Vulkan happens in it. */
#ifndef WARMPIPE_TOOLS_WARM_CHILD_H
#define WARMPIPE_TOOLS_WARM_CHILD_H

#include <stddef.h>

#include "warm_page.h"
#include "warm_target.h"

/* All items. */
#define WARM_ALL SIZE_MAX

/* Replays the target's items, or only that one, and saves; tells the page of it. SIGINT and SIGTERM
 * end it early, with what it has saved. Called in a child of fork that has one thread and has not
 * loaded Vulkan; ends with the process: never returns. */
_Noreturn void warm_child_run(const struct warm_target *target, struct warm_page *page,
                              size_t only);

#endif
