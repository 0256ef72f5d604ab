/* The process that is asked which devices there are. It keeps the drivers loaded and waits, for it
 * may be told to replay: loading a driver anew takes as long as tens of pipelines. */
#ifndef WARMPIPE_TOOLS_WARM_SCOUT_H
#define WARMPIPE_TOOLS_WARM_SCOUT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "vulkan_devices.h"
#include "warm_page.h"
#include "warm_target.h"

struct warm_scout {
    pid_t pid; /* 0: there is none (any more) */
    int fd;
};

/* Asks for the devices of this machine, as vulkan_devices_list, and waits for an answer so long at
 * most, or until an end is wanted (warm_stop.h). False after a message, and then there is no scout.
 * Ended with warm_scout_send or warm_scout_dismiss. */
bool warm_scout_start(struct warm_scout *scout, struct warm_page *page, uint64_t patience_ns,
                      struct vulkan_devices *ret_devices);

/* Has it replay all items of the target with the page that it was started with; what the target
 * points to must have been there at that time. From then on it is as any process that replays.
 * Gives it, with our end of its socket, or 0 where there is none. */
pid_t warm_scout_send(struct warm_scout *scout, const struct warm_target *target, int *ret_fd);

/* It is not needed (any more). */
void warm_scout_dismiss(struct warm_scout *scout);

#endif
