#include "pipeline_trace.h"

#include "trace.h"

static const char *result_of(const struct pipeline_call *call,
                             const struct pipeline_element *elements, uint32_t i,
                             const struct pipeline_down *down)
{
    static const char *const verdicts[] = {
        [FEEDBACK_UNKNOWN] = "unknown",
        [FEEDBACK_HIT] = "hit",
        [FEEDBACK_MISS] = "miss",
    };
    if (!down->pending && call->pipelines[i] == VK_NULL_HANDLE) {
        return "failed";
    }
    if (elements && !pipeline_goes_down(&elements[i])) {
        return "shared";
    }
    return down->hot ? verdicts[elements[i].verdict] : "passed";
}

/* Whether the driver has told how long each pipeline took that it was asked for. */
static bool all_told(const struct pipeline_call *call, const struct pipeline_element *elements)
{
    bool told = true;
    for (uint32_t i = 0; i < call->count; ++i) {
        told &= !pipeline_goes_down(&elements[i]) || elements[i].verdict != FEEDBACK_UNKNOWN;
    }
    return told;
}

/* An element's part of the time, in no unit; only what the driver is asked for takes any, if there
 * is such. */
static double weigh(const struct pipeline_element *elements, uint32_t i,
                    const struct pipeline_down *down, bool told)
{
    if (!elements || down->count == 0) {
        return 1;
    }
    if (!pipeline_goes_down(&elements[i])) {
        return 0;
    }
    return told ? (double)elements[i].duration_ns + 1 : 1;
}

void pipeline_trace(const struct device *device, const struct pipeline_call *call,
                    const struct pipeline_element *elements, const struct pipeline_down *down,
                    uint64_t start_ns, uint64_t end_ns)
{
    const bool told = elements && all_told(call, elements);
    double whole = 0;
    for (uint32_t i = 0; i < call->count; ++i) {
        whole += weigh(elements, i, down, told);
    }
    /* What comes before the driver, such as a load, is of the first. */
    const uint64_t driver_ns = down->start_ns ? down->start_ns : start_ns;
    double passed = 0;
    for (uint32_t i = 0; i < call->count; ++i) {
        passed += weigh(elements, i, down, told);
        const uint64_t until_ns =
            i + 1 < call->count
                ? driver_ns + (uint64_t)((double)(end_ns - driver_ns) * (passed / whole))
                : end_ns;
        trace_put(device->trace,
                  &(struct trace_event){
                      .kind = TRACE_PIPELINE,
                      .name = call->kind->name,
                      .start_ns = start_ns,
                      .end_ns = until_ns,
                      .result = result_of(call, elements, i, down),
                      .content = elements && elements[i].encoded ? elements[i].facts.content
                                                                 : (struct digest){0},
                  });
        start_ns = until_ns;
    }
}
