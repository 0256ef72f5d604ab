// SPDX-License-Identifier: Apache-2.0
/* A trace as WARMPIPE_TRACE writes it (docs/FORMAT.md, "The trace"), read event by event. It is not
 * trusted: every value is bounded, and events that are not warmpipe's are skipped. Thread-safe. */
#ifndef WARMPIPE_TOOLS_REPORT_TRACE_EVENTS_H
#define WARMPIPE_TOOLS_REPORT_TRACE_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/digest.h"

/* Bytes; a larger file is not read. */
#define TRACE_MAX_FILE ((uint64_t)256 << 20)

/* Bytes of a text in an event, terminator included; longer texts are cut. */
#define TRACE_TEXT_SIZE 256

enum trace_category {
    TRACE_FOREIGN,
    TRACE_DEVICE,   /* a device was created */
    TRACE_PIPELINE, /* this and the next three are spans */
    TRACE_OBJECT,
    TRACE_CACHE,
    TRACE_PREWARM,
    TRACE_THREAD, /* the name of a thread */
    TRACE_DROPPED /* events that the process could not write */
};

/* How an object was created, by the names that traces and reports use. */
#define TRACE_RESULTS(X)                                                                           \
    X(miss)    /* the driver compiled it */                                                        \
    X(hit)     /* the driver had it in its cache */                                                \
    X(shared)  /* answered with a live object */                                                   \
    X(unknown) /* the driver created it, and does not say how */                                   \
    X(passed)  /* warmpipe did not touch the call */                                               \
    X(failed)  /* it was not created */                                                            \
    X(created) /* not a pipeline: the driver created it */

#define TRACE_RESULT_MEMBER(name) TRACE_RESULT_##name,
enum trace_result { TRACE_RESULT_NONE, TRACE_RESULTS(TRACE_RESULT_MEMBER) TRACE_RESULT_COUNT };
#undef TRACE_RESULT_MEMBER

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
    uint64_t duration_ns; /* start and duration do not overflow */
    uint64_t bytes;
    uint64_t dropped; /* events */
    struct digest digest;
    char name[TRACE_TEXT_SIZE];  /* of the span; of a thread */
    char state[TRACE_TEXT_SIZE]; /* of the cache: when it was loaded, or when the device was created
                                  */
    char reason[TRACE_TEXT_SIZE];
    char app[TRACE_TEXT_SIZE]; /* this and the next three: of a device */
    char device_name[TRACE_TEXT_SIZE];
    char driver[TRACE_TEXT_SIZE];
    char driver_info[TRACE_TEXT_SIZE];
    char identity[TRACE_TEXT_SIZE];
};

enum trace_verdict {
    TRACE_WHOLE,
    TRACE_DAMAGED, /* cut, or with malformed events; the rest was read */
    TRACE_ALIEN    /* not a trace, or not one of warmpipe; not empty */
};

/* Calls `visit` for each event that is not foreign, in the order of the file. The event is borrowed
 * for the call. `data` need not end with a zero. */
enum trace_verdict trace_events(const void *data, size_t size,
                                void (*visit)(const struct trace_event *event, void *user),
                                void *user);

#endif
