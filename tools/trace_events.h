/* A trace as WARMPIPE_TRACE writes it (docs/FORMAT.md, "The trace"), read event by event. What
 * stands in it is not to be believed: every value is bounded, and events of others are passed over.
 */
#ifndef WARMPIPE_TOOLS_TRACE_EVENTS_H
#define WARMPIPE_TOOLS_TRACE_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "codec/digest.h"

/* Bytes; a larger file is not read. */
#define TRACE_MAX_FILE ((uint64_t)256 << 20)

/* Bytes of a text in an event, with the zero at its end; longer ones are cut. */
#define TRACE_TEXT_SIZE 256

enum trace_category {
    TRACE_FOREIGN,
    TRACE_DEVICE,   /* a device was made */
    TRACE_PIPELINE, /* a span each, as the four below */
    TRACE_OBJECT,
    TRACE_CACHE,
    TRACE_PREWARM,
    TRACE_THREAD, /* a thread has a name */
    TRACE_DROPPED /* events that its process could not keep */
};

enum trace_result {
    TRACE_RESULT_NONE,
#define TRACE_RESULT(name) TRACE_RESULT_##name,
#include "trace_results.def"
#undef TRACE_RESULT
    TRACE_RESULT_COUNT
};

/* "" for none. */
const char *trace_result_name(enum trace_result result);

/* Texts are "" and numbers 0 where the event has none. */
struct trace_event {
    enum trace_category category;
    enum trace_result result;
    uint64_t process;
    uint64_t thread;
    uint64_t device;      /* of its process, from 0 */
    uint64_t start_ns;    /* CLOCK_MONOTONIC */
    uint64_t duration_ns; /* the end is no overflow */
    uint64_t bytes;
    uint64_t dropped; /* events */
    struct digest digest;
    char name[TRACE_TEXT_SIZE];  /* of the span; of a thread */
    char state[TRACE_TEXT_SIZE]; /* of the cache, where it was loaded; of a device when it was made
                                  */
    char reason[TRACE_TEXT_SIZE];
    char app[TRACE_TEXT_SIZE]; /* this one and those below: of a device */
    char device_name[TRACE_TEXT_SIZE];
    char driver[TRACE_TEXT_SIZE];
    char identity[TRACE_TEXT_SIZE];
};

enum trace_verdict {
    TRACE_WHOLE,
    TRACE_DAMAGED, /* cut, or with events that make no sense; the rest was read */
    TRACE_ALIEN    /* neither empty nor a trace, or one of somebody else */
};

/* Calls `visit` for each event that is not foreign, in the order of the file. The event is borrowed
 * for the call. `data` need not end with a zero. */
enum trace_verdict trace_events(const void *data, size_t size,
                                void (*visit)(const struct trace_event *event, void *user),
                                void *user);

#endif
