/* Whether there is room for a compile of our own: the program goes first, and memory must last. */
#ifndef WARMPIPE_LAYER_PREWARM_ROOM_H
#define WARMPIPE_LAYER_PREWARM_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "prewarm.h"

/* What the looks before have shown; zeros at first. Used by one thread at a time. */
struct prewarm_room {
    uint64_t seen_requests; /* of the program, at the last look */
    uint64_t busy_ns;       /* when it was last seen at it; 0: never */
    uint64_t memory_ns;     /* when memory was last looked at */
};

/* The program creates a pipeline, or has asked for one a moment ago. */
bool prewarm_room_is_taken(struct prewarm_room *room, const struct prewarm_setup *setup,
                           uint64_t now_ns);

/* The machine, or the control group, has little memory left; looked at ten times a second at most,
 * and false in between. */
bool prewarm_room_is_short(struct prewarm_room *room, uint64_t now_ns);

#endif
