/* Which elements of a call are answered by live pipelines, and what becomes of those that are newly
 * created. */
#ifndef WARMPIPE_LAYER_PIPELINE_SHARE_H
#define WARMPIPE_LAYER_PIPELINE_SHARE_H

#include "pipeline_call.h"

/* Decides the fate of every element; claims and references are held until pipeline_share_settle.
 * A thread that holds a claim of this call waits for nobody, so calls cannot wait for each other in
 * a circle. Returns the number of elements that the driver is to be asked for. */
uint32_t pipeline_share_plan(struct device *device, const struct pipeline_call *call,
                             struct app_cache *named, struct pipeline_element *elements);

/* After the driver was asked: publishes or abandons what was claimed, fills in what is shared, with
 * its feedback, makes the rest known, and has recorded what is new. start_ns: when the call began.
 */
void pipeline_share_settle(struct device *device, const struct pipeline_call *call,
                           struct app_cache *named, struct pipeline_element *elements,
                           const struct pipeline_down *down, uint64_t start_ns);

#endif
