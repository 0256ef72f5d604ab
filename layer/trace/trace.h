// SPDX-License-Identifier: Apache-2.0
/* The trace of one device (WARMPIPE_TRACE): what is created, loaded, saved and compiled ahead, each
 * as a span of a thread, in the file that docs/FORMAT.md describes.
 *
 *     trace_new → [trace_put]… → trace_finish → trace_delete
 *
 * Events wait in memory, up to a limit, and the worker writes them to disk, so no thread of the
 * program waits for the disk. Events without room are counted, and the count becomes an event.
 * After a failure, which is logged, nothing more is written. Any number of threads may call
 * trace_put. Without a trace the cost is a comparison of its pointer with NULL. */
#ifndef WARMPIPE_LAYER_TRACE_TRACE_H
#define WARMPIPE_LAYER_TRACE_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/driver/identity.h"
#include "layer/trace/stats.h"

struct trace;

enum trace_kind {
    TRACE_PIPELINE,
    TRACE_OBJECT,
    TRACE_CACHE,
    TRACE_PREWARM,
    TRACE_THREAD, /* the name of a thread; it has no time of its own */
    TRACE_DROPPED /* an instant */
};

struct trace_event {
    enum trace_kind kind;
    uint32_t thread;
    uint64_t start_ns; /* monotonic */
    uint64_t end_ns;
    const char *name;      /* strings are of static storage */
    const char *result;    /* NULL: unknown; for a load: the state of the cache */
    const char *reason;    /* NULL: unknown */
    struct digest content; /* of the created object; all zero: not known */
    uint64_t amount;       /* bytes of a cache, or events dropped */
};

/* path and app are borrowed and outlive the trace. Create it before the other clients of the worker
 * (worker.h), which are then called before it at the end of a process. NULL: out of memory. */
struct trace *trace_new(const char *path, const char *app, uint32_t device_index,
                        const struct driver_identity *identity);

/* Frees the memory; NULL is a no-op. */
void trace_delete(struct trace *trace);

/* Adds an event of the calling thread; fills in the thread's number. */
void trace_put(struct trace *trace, const struct trace_event *event);

/* Names the calling thread, one of ours. NULL is a no-op. */
void trace_thread(struct trace *trace, const char *name);

/* Sets the state of the cache, as the statistics have it. NULL is a no-op. */
void trace_state(struct trace *trace, enum cache_state state);

/* Adds a span of the device cache that ends now, with so many bytes. NULL is a no-op. */
void trace_cache(struct trace *trace, const char *name, uint64_t start_ns, uint64_t bytes,
                 enum status reason);

/* Call it in vkDestroyDevice: writes what is left. False: the worker may still be using the trace
 * (worker_remove says when), which must never be freed. NULL: returns true. */
bool trace_finish(struct trace *trace);

/* The file (trace_file.c): strict JSON in the Trace Event Format that Perfetto and chrome://tracing
 * open. It is an array with one event a line, to which several processes and runs append. */

/* The process and device of the events. */
struct trace_source {
    uint32_t process;
    uint32_t device_index;
};

/* Each appends a comma, a newline and one event, as between two elements of an array. Pure
 * functions; if memory is out, the bytes say so. */
void trace_format_event(const struct trace_source *source, const struct trace_event *event,
                        struct bytes *out);

/* The first event of a trace: the name of the process. */
void trace_format_process(const struct trace_source *source, const char *name, struct bytes *out);

/* The device: the strings of a line of statistics, and its state. */
void trace_format_device(const struct trace_source *source, uint64_t time_ns,
                         const struct stats_line *line, struct bytes *out);

/* Appends events, as the functions above write them, with one write over the array's end: before
 * and after it the file is valid JSON. If a process was killed in the middle, the next append cuts
 * off the unfinished event. An empty or missing file (made 0600) is begun; its first event must be
 * the one that names the process, by which a trace is recognized. Any other file, or one that is
 * not regular, is left as it is (not_a_trace, not_a_file, symlink). Nothing is written either if
 * the file would grow beyond 256 MiB (too_large), or if another process holds it for 200 ms
 * (locked). `events` is changed. Thread-safe. */
enum status trace_file_append(const char *path, struct bytes *events);

#endif
