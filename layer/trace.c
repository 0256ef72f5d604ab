#include "trace.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "flusher.h"
#include "host.h"
#include "timed_lock.h"
#include "trace_file.h"

/* How long an event waits at most. */
#define WRITE_NS (250 * CLOCK_MS)

/* Bytes of events that wait, and of text that is written at once. */
#define MAX_QUEUE ((size_t)2 << 20)
#define MAX_TEXT  ((size_t)256 << 10)

/* Longest wait, at the end of a process, for a lock whose holder may be gone. */
#define EXIT_WAIT_NS (2 * CLOCK_S)

struct trace {
    const char *path;
    const char *app;
    uint32_t device_index;
    struct driver_identity identity;
    atomic_int state;         /* enum cache_state */
    atomic_bool is_broken;    /* nothing more can be written */
    _Atomic uint64_t dropped; /* events that were lost, and not told yet */

    pthread_mutex_t lock;            /* over what follows */
    struct bytes queue;              /* struct trace_event, one behind the other */
    uint64_t pipeline_ns;            /* when the first pipeline was asked for; 0: none was */
    _Atomic uint64_t first_event_ns; /* when the first of the queue came; 0: it is empty */

    pthread_mutex_t write_lock; /* over what follows; never taken by a thread that creates */
    bool has_device;            /* it is described in the file */
    struct flusher_client client;
};

static struct trace *of_client(struct flusher_client *client)
{
    return (struct trace *)((char *)client - offsetof(struct trace, client));
}

void trace_put(struct trace *trace, const struct trace_event *event)
{
    if (atomic_load_explicit(&trace->is_broken, memory_order_relaxed)) {
        return;
    }
    struct trace_event own = *event;
    own.thread = (uint32_t)gettid();
    pthread_mutex_lock(&trace->lock);
    if (trace->queue.size < MAX_QUEUE && bytes_reserve(&trace->queue, sizeof own)) {
        bytes_put(&trace->queue, &own, sizeof own);
    } else {
        trace->queue.failed = false;
        atomic_fetch_add(&trace->dropped, 1);
    }
    if (event->kind == TRACE_PIPELINE && trace->pipeline_ns == 0) {
        trace->pipeline_ns = event->start_ns;
    }
    if (atomic_load(&trace->first_event_ns) == 0) {
        atomic_store(&trace->first_event_ns, clock_now_ns());
    }
    pthread_mutex_unlock(&trace->lock);
    flusher_wake(&trace->client);
}

void trace_thread(struct trace *trace, const char *name)
{
    if (trace) {
        trace_put(trace, &(struct trace_event){.kind = TRACE_THREAD, .name = name});
    }
}

void trace_state(struct trace *trace, enum cache_state state)
{
    if (trace) {
        atomic_store(&trace->state, (int)state);
    }
}

void trace_cache(struct trace *trace, const char *name, uint64_t start_ns, uint64_t bytes,
                 enum reason reason)
{
    if (trace) {
        trace_put(trace, &(struct trace_event){
                             .kind = TRACE_CACHE,
                             .name = name,
                             .start_ns = start_ns,
                             .end_ns = clock_now_ns(),
                             .reason = reason != REASON_ok ? reason_id(reason) : NULL,
                             .amount = bytes,
                         });
    }
}

/* What has been taken out of the queue. */
struct batch {
    struct bytes events;
    uint64_t pipeline_ns;
};

/* Under the lock. */
static struct batch take_queue(struct trace *trace)
{
    struct batch batch = {trace->queue, trace->pipeline_ns};
    trace->queue = (struct bytes){0};
    atomic_store(&trace->first_event_ns, 0);
    return batch;
}

static void put_device(struct trace *trace, const struct trace_source *source, uint64_t time_ns,
                       struct bytes *text)
{
    char identity[DIGEST_HEX_SIZE];
    digest_format(identity_digest(&trace->identity), identity);
    const struct stats_line line = {
        .app = trace->app,
        .device = trace->identity.device_name,
        .driver = trace->identity.driver_name,
        .identity = identity,
        .state = (enum cache_state)atomic_load(&trace->state),
    };
    trace_format_device(source, time_ns, &line, text);
    trace->has_device = true;
}

/* What stands before the events of a batch. */
static void put_heading(struct trace *trace, const struct trace_source *source,
                        const struct batch *batch, uint64_t lost, struct bytes *text)
{
    char executable[NAME_MAX + 1];
    host_executable_name(executable);
    trace_format_process(source, executable, text);
    if (batch->pipeline_ns != 0 && !trace->has_device) {
        put_device(trace, source, batch->pipeline_ns, text);
    }
    if (lost > 0) {
        const struct trace_event dropped = {
            .kind = TRACE_DROPPED,
            .thread = source->process,
            .start_ns = clock_now_ns(),
            .name = "dropped",
            .amount = lost,
        };
        trace_format_event(source, &dropped, text);
    }
}

/* Under write_lock. A lock that others hold is not the end of it. */
static bool write_text(struct trace *trace, struct bytes *text)
{
    static atomic_flag told = ATOMIC_FLAG_INIT; /* once a process, whatever the log has of caches */
    if (atomic_load(&trace->is_broken)) {
        return false;
    }
    enum reason reason = text->failed ? REASON_out_of_memory : trace_file_append(trace->path, text);
    text->size = 0;
    if (reason != REASON_ok && reason != REASON_locked) {
        atomic_store(&trace->is_broken, true);
        if (!atomic_flag_test_and_set(&told)) {
            log_warn("cannot write a trace to '%s' (%s)", trace->path, reason_id(reason));
        }
    }
    return reason == REASON_ok;
}

/* Under write_lock; frees the batch. */
static void write_batch(struct trace *trace, struct batch *batch)
{
    const struct trace_source source = {(uint32_t)getpid(), trace->device_index};
    const struct trace_event *events = (const void *)batch->events.data;
    const size_t count = batch->events.size / sizeof *events;
    const uint64_t lost = atomic_exchange(&trace->dropped, 0);
    const bool had_device = trace->has_device;
    struct bytes text = {0};
    bool begun = count == 0 && lost == 0; /* as if all of it were written */
    size_t written = 0;
    if (!begun) {
        put_heading(trace, &source, batch, lost, &text);
    }
    for (size_t i = 0; i <= count && text.size > 0; ++i) {
        if (i == count || text.size >= MAX_TEXT) {
            if (!write_text(trace, &text)) {
                break;
            }
            begun = true;
            written = i;
        }
        if (i < count) {
            trace_format_event(&source, &events[i], &text);
        }
    }
    if (!begun) {
        trace->has_device = had_device;
        atomic_fetch_add(&trace->dropped, lost);
    }
    atomic_fetch_add(&trace->dropped, count - written);
    bytes_free(&text);
    bytes_free(&batch->events);
}

static void write_queue(struct trace *trace)
{
    pthread_mutex_lock(&trace->write_lock);
    pthread_mutex_lock(&trace->lock);
    struct batch batch = take_queue(trace);
    pthread_mutex_unlock(&trace->lock);
    write_batch(trace, &batch);
    pthread_mutex_unlock(&trace->write_lock);
}

static uint64_t due(struct flusher_client *client, uint64_t now_ns)
{
    (void)now_ns;
    uint64_t first = atomic_load(&of_client(client)->first_event_ns);
    return first ? first + WRITE_NS : UINT64_MAX;
}

static void work(struct flusher_client *client)
{
    uint64_t now_ns = clock_now_ns();
    if (due(client, now_ns) <= now_ns) {
        write_queue(of_client(client));
    }
}

/* The process ends and the device was never destroyed: others may be in the middle of a call. */
static void last(struct flusher_client *client)
{
    struct trace *trace = of_client(client);
    if (!timed_lock(&trace->write_lock, EXIT_WAIT_NS)) {
        return;
    }
    if (timed_lock(&trace->lock, EXIT_WAIT_NS)) {
        struct batch batch = take_queue(trace);
        pthread_mutex_unlock(&trace->lock);
        write_batch(trace, &batch);
    }
    pthread_mutex_unlock(&trace->write_lock);
}

struct trace *trace_new(const char *path, const char *app, uint32_t device_index,
                        const struct driver_identity *identity)
{
    struct trace *trace = calloc(1, sizeof *trace);
    if (!trace) {
        return NULL;
    }
    trace->path = path;
    trace->app = app;
    trace->device_index = device_index;
    trace->identity = *identity;
    pthread_mutex_init(&trace->lock, NULL);
    pthread_mutex_init(&trace->write_lock, NULL);
    trace->client.due = due;
    trace->client.work = work;
    trace->client.last = last;
    flusher_add(&trace->client);
    return trace;
}

void trace_delete(struct trace *trace)
{
    if (trace) {
        bytes_free(&trace->queue);
        pthread_mutex_destroy(&trace->lock);
        pthread_mutex_destroy(&trace->write_lock);
        free(trace);
    }
}

bool trace_finish(struct trace *trace)
{
    if (!trace) {
        return true;
    }
    if (!flusher_remove(&trace->client)) {
        return false;
    }
    write_queue(trace);
    return true;
}
