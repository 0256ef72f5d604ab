/* A call of vkCreate*Pipelines in the trace: a span for each of its pipelines. */
#ifndef WARMPIPE_LAYER_PIPELINE_TRACE_H
#define WARMPIPE_LAYER_PIPELINE_TRACE_H

#include "pipeline_call.h"

/* After the call. elements NULL: it went down as it came. The time that the driver took is divided
 * as it says itself, else evenly. For devices that have a trace. */
void pipeline_trace(const struct device *device, const struct pipeline_call *call,
                    const struct pipeline_element *elements, const struct pipeline_down *down,
                    uint64_t start_ns, uint64_t end_ns);

#endif
