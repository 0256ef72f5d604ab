/* The trace of one device (WARMPIPE_TRACE): what is created, loaded, saved and compiled ahead, each
 * as a span of a thread, in the file that docs/FORMAT.md describes.
 *
 *     trace_new → [trace_put]… → trace_finish → trace_delete
 *
 * Events wait in memory, of which there is a limit, and the worker brings them to disk: no thread
 * of the program waits for that. What finds no room is counted, and told as an event. After a
 * failure, which is logged, nothing more is written. trace_put may be called by any number of
 * threads. Who has no trace pays for a comparison of its pointer with NULL. */
#ifndef WARMPIPE_LAYER_TRACE_H
#define WARMPIPE_LAYER_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "driver/identity.h"
#include "trace_format.h"

struct trace;

/* path and app are borrowed and outlive the trace. To be created before the other clients of the
 * worker (flusher.h): at the end of a process, they are then asked first. NULL: out of memory. */
struct trace *trace_new(const char *path, const char *app, uint32_t device_index,
                        const struct driver_identity *identity);

/* Frees the memory; NULL is a no-op. */
void trace_delete(struct trace *trace);

/* Adds an event of the calling thread, whose number is filled in. */
void trace_put(struct trace *trace, const struct trace_event *event);

/* Names the calling thread, one of ours. NULL is a no-op. */
void trace_thread(struct trace *trace, const char *name);

/* The state of the cache, as the statistics have it. NULL is a no-op. */
void trace_state(struct trace *trace, enum cache_state state);

/* A span that ends now, of what happens to the hot cache: so many bytes. NULL is a no-op. */
void trace_cache(struct trace *trace, const char *name, uint64_t start_ns, uint64_t bytes,
                 enum reason reason);

/* At vkDestroyDevice: writes what is left. False: the worker may still be using the trace
 * (flusher_remove says when): it must never be freed. NULL: true. */
bool trace_finish(struct trace *trace);

#endif
