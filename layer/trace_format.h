/* The events of a trace as JSON, in the Trace Event Format that Perfetto and chrome://tracing open;
 * docs/FORMAT.md says what they mean. Each is put behind a comma and a newline, as between two
 * elements of an array. Pure functions: lack of memory shows in the bytes. */
#ifndef WARMPIPE_LAYER_TRACE_FORMAT_H
#define WARMPIPE_LAYER_TRACE_FORMAT_H

#include <stdint.h>

#include "base/bytes.h"
#include "base/stats.h"
#include "codec/digest.h"

enum trace_kind {
    TRACE_PIPELINE,
    TRACE_OBJECT,
    TRACE_CACHE,
    TRACE_PREWARM,
    TRACE_THREAD, /* the thread has a name; no time of its own */
    TRACE_DROPPED /* an instant */
};

struct trace_event {
    enum trace_kind kind;
    uint32_t thread;
    uint64_t start_ns; /* monotonic */
    uint64_t end_ns;
    const char *name;      /* strings are of static storage */
    const char *result;    /* NULL: not told; of what is loaded: the state of the cache */
    const char *reason;    /* NULL: not told */
    struct digest content; /* of what is created; all zero: not known */
    uint64_t amount;       /* bytes of a cache, or events dropped */
};

/* Whose events they are. */
struct trace_source {
    uint32_t process;
    uint32_t device_index;
};

void trace_format_event(const struct trace_source *source, const struct trace_event *event,
                        struct bytes *out);

/* What a trace begins with: the name of the process. */
void trace_format_process(const struct trace_source *source, const char *name, struct bytes *out);

/* The device, by the strings of a line of statistics and its state. */
void trace_format_device(const struct trace_source *source, uint64_t time_ns,
                         const struct stats_line *line, struct bytes *out);

#endif
