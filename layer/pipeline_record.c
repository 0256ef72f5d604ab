#include "pipeline_record.h"

#include "recipe_draft.h"
#include "recorder.h"
#include "sharing.h"

void pipeline_record_plan(struct device *device, struct pipeline_element *element,
                          const struct canonical *form)
{
    if (device->recorder) {
        element->draft = recorder_draft(device->recorder, device->sharing, form);
    }
}

/* What the driver says, else what was measured: that is longer, never shorter. Where neither tells
 * a compile from a hit, what is asked for the first time is taken for compiled. */
static uint32_t compile_us(const struct pipeline_element *element, uint64_t call_ns, uint32_t count)
{
    uint64_t ns = 0;
    switch (element->verdict) {
    case FEEDBACK_MISS:
        ns = element->duration_ns;
        break;
    case FEEDBACK_UNKNOWN:
        ns = element->draft->form ? call_ns / count : 0;
        break;
    default:
        break;
    }
    uint64_t us = (ns + 999) / 1000;
    return us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
}

void pipeline_record_settle(struct device *device, struct pipeline_element *element, bool created,
                            uint64_t call_ns, uint32_t count)
{
    if (!element->draft) {
        return;
    }
    if (created) {
        recorder_submit(device->recorder, element->draft, compile_us(element, call_ns, count));
    } else {
        recipe_draft_free(element->draft);
    }
    element->draft = NULL;
}

void pipeline_record_deferred(struct device *device, const struct pipeline_call *call,
                              struct pipeline_element *elements)
{
    for (uint32_t i = 0; device->recorder && i < call->count; ++i) {
        struct canonical *form = sharing_encode(device->sharing, pipeline_create_info(call, i));
        if (form) {
            elements[i].encoded = form->verdict != CANONICAL_UNKNOWN;
            elements[i].facts = sharing_facts(form);
            pipeline_record_plan(device, &elements[i], form);
            sharing_done(device->sharing, form);
        }
    }
}

void pipeline_record_begun(struct device *device, const struct pipeline_call *call,
                           struct pipeline_element *elements, VkResult result)
{
    for (uint32_t i = 0; i < call->count; ++i) {
        if (elements[i].draft && result >= VK_SUCCESS) {
            recorder_submit(device->recorder, elements[i].draft, 0);
        } else {
            recipe_draft_free(elements[i].draft);
        }
        elements[i].draft = NULL;
    }
}
