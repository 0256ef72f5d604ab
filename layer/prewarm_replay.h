/* A replay by the next layer's commands of the program's own device. */
#ifndef WARMPIPE_LAYER_PREWARM_REPLAY_H
#define WARMPIPE_LAYER_PREWARM_REPLAY_H

#include "disk/recipes.h"
#include "driver/replay.h"
#include "prewarm.h"

/* All is borrowed but the limits. NULL: out of memory. Deleted with replay_delete. */
struct replay *prewarm_replay_new(const struct prewarm_setup *setup, struct recipes *recipes,
                                  VkPipelineCache cache, const struct replay_limits *limits);

/* replay_pipeline, as a span of the trace if there is one (NULL: none). */
enum replay_outcome prewarm_replay(struct replay *replay, struct trace *trace,
                                   struct digest pipeline);

#endif
