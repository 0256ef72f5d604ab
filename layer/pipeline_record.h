/* What the recorder learns of pipelines on their way through a call. */
#ifndef WARMPIPE_LAYER_PIPELINE_RECORD_H
#define WARMPIPE_LAYER_PIPELINE_RECORD_H

#include "pipeline_call.h"

struct canonical;

/* The driver will be asked for the element, whose form this is. */
void pipeline_record_plan(struct device *device, struct pipeline_element *element,
                          const struct canonical *form);

/* Every element, once the driver has answered: records what was created. call_ns: how long the call
 * took, of `count` pipelines. */
void pipeline_record_settle(struct device *device, struct pipeline_element *element, bool created,
                            uint64_t call_ns, uint32_t count);

/* The elements of a call whose pipelines come later: whether they were created is not told here, so
 * that they are taken for it where the operation was begun. */
void pipeline_record_deferred(struct device *device, const struct pipeline_call *call,
                              struct pipeline_element *elements);
void pipeline_record_begun(struct device *device, const struct pipeline_call *call,
                           struct pipeline_element *elements, VkResult result);

#endif
