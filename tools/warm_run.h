/* The process that watches: it starts the one that replays, and again where the driver has killed
 * or stopped it, without the recipe that did. It never loads Vulkan. */
#ifndef WARMPIPE_TOOLS_WARM_RUN_H
#define WARMPIPE_TOOLS_WARM_RUN_H

#include <stdbool.h>

#include "warm_page.h"
#include "warm_progress.h"
#include "warm_scout.h"
#include "warm_target.h"

/* Replays a target, whose items the page is for, in child processes, of which a scout that was
 * started with that page is the first; page->end tells how it ended. */
void warm_run(const struct warm_target *target, struct warm_page *page, struct warm_scout *scout,
              struct warm_progress *progress);

#endif
