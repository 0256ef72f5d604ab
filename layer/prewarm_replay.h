/* The replay of recipes through the device of a program. */
#ifndef WARMPIPE_LAYER_PREWARM_REPLAY_H
#define WARMPIPE_LAYER_PREWARM_REPLAY_H

#include "disk/recipes.h"
#include "driver/replay.h"
#include "prewarm.h"

/* One thread's, into the cache; all is borrowed until replay_delete. NULL: out of memory. */
struct replay *prewarm_replay_new(const struct prewarm_setup *setup, struct recipes *recipes,
                                  VkPipelineCache cache);

#endif
