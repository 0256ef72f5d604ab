// SPDX-License-Identifier: Apache-2.0
#include "layer/trace/trace.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "layer/chain/host.h"
#include "layer/worker/own_wait.h"
#include "layer/worker/sandbox.h"
#include "layer/worker/worker.h"

/* How long an event waits at most. */
#define WRITE_NS (250 * CLOCK_MS)

/* Bytes of events that wait, and of text that is written at once. */
#define MAX_QUEUE ((size_t)2 << 20)
#define MAX_TEXT  ((size_t)256 << 10)

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
    struct worker_client client;
};

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
    worker_wake(&trace->client);
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
                 enum status reason)
{
    if (trace) {
        trace_put(trace, &(struct trace_event){
                             .kind = TRACE_CACHE,
                             .name = name,
                             .start_ns = start_ns,
                             .end_ns = clock_now_ns(),
                             .reason = reason != STATUS_ok ? status_id(reason) : NULL,
                             .amount = bytes,
                         });
    }
}

static void trace_put_device(struct trace *trace, const struct trace_source *source,
                             uint64_t time_ns, struct bytes *text)
{
    char identity[DIGEST_HEX_SIZE];
    digest_format(identity_digest(&trace->identity), identity);
    const struct stats_line line = {
        .app = trace->app,
        .device = trace->identity.device_name,
        .driver = trace->identity.driver_name,
        .driver_info = trace->identity.driver_info,
        .identity = identity,
        .state = (enum cache_state)atomic_load(&trace->state),
    };
    trace_format_device(source, time_ns, &line, text);
    trace->has_device = true;
}

/* What stands before the events of a batch. pipeline_ns: when the first pipeline was asked for. */
static void trace_put_heading(struct trace *trace, const struct trace_source *source,
                              uint64_t pipeline_ns, uint64_t lost, struct bytes *text)
{
    char executable[NAME_MAX + 1];
    host_executable_name(executable);
    trace_format_process(source, executable, text);
    if (pipeline_ns != 0 && !trace->has_device) {
        trace_put_device(trace, source, pipeline_ns, text);
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

/* Under write_lock. Where another process holds the file, a later write may succeed. */
static bool trace_write_text(struct trace *trace, struct bytes *text)
{
    static atomic_flag is_logged = ATOMIC_FLAG_INIT; /* once a process; log_once is for caches */
    if (atomic_load(&trace->is_broken)) {
        return false;
    }
    enum status reason = text->failed ? STATUS_out_of_memory : trace_file_append(trace->path, text);
    text->size = 0;
    if (reason != STATUS_ok && reason != STATUS_locked) {
        atomic_store(&trace->is_broken, true);
        if (!atomic_flag_test_and_set(&is_logged)) {
            log_warn("cannot write a trace to '%s' (%s)", trace->path, status_id(reason));
        }
    }
    return reason == STATUS_ok;
}

/* Under write_lock: what was taken out of the queue, which it frees. */
static void trace_write_batch(struct trace *trace, struct bytes *batch, uint64_t pipeline_ns)
{
    const struct trace_source source = {(uint32_t)getpid(), trace->device_index};
    const struct trace_event *events = (const void *)batch->data;
    const size_t count = batch->size / sizeof *events;
    const uint64_t lost = atomic_exchange(&trace->dropped, 0);
    const bool had_device = trace->has_device;
    struct bytes text = {0};
    bool begun = count == 0 && lost == 0; /* as if all of it were written */
    size_t written = 0;
    if (!begun) {
        trace_put_heading(trace, &source, pipeline_ns, lost, &text);
    }
    for (size_t i = 0; i <= count && text.size > 0; i++) {
        if (i == count || text.size >= MAX_TEXT) {
            if (!trace_write_text(trace, &text)) {
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
    bytes_free(batch);
}

static void trace_write_queue(struct trace *trace, uint64_t wait_ns)
{
    if (sandbox_is_closed() || !timed_lock(&trace->write_lock, wait_ns)) {
        return;
    }
    if (timed_lock(&trace->lock, wait_ns)) {
        struct bytes batch = trace->queue;
        const uint64_t pipeline_ns = trace->pipeline_ns;
        trace->queue = (struct bytes){0};
        atomic_store(&trace->first_event_ns, 0);
        pthread_mutex_unlock(&trace->lock);
        trace_write_batch(trace, &batch, pipeline_ns);
    }
    pthread_mutex_unlock(&trace->write_lock);
}

static uint64_t trace_due(struct worker_client *client, uint64_t now_ns)
{
    (void)now_ns;
    uint64_t first = atomic_load(&WORKER_OWNER(client, struct trace, client)->first_event_ns);
    return first ? first + WRITE_NS : UINT64_MAX;
}

static void trace_work(struct worker_client *client)
{
    uint64_t now_ns = clock_now_ns();
    if (trace_due(client, now_ns) <= now_ns) {
        trace_write_queue(WORKER_OWNER(client, struct trace, client), WAIT_FOREVER);
    }
}

/* The process ends and the device was never destroyed: others may be in the middle of a call. */
static void trace_write_last(struct worker_client *client)
{
    trace_write_queue(WORKER_OWNER(client, struct trace, client), PATIENCE_AT_END);
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
    trace->client.due = trace_due;
    trace->client.work = trace_work;
    trace->client.last = trace_write_last;
    worker_add(&trace->client);
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

static void trace_write_end(void *user)
{
    trace_write_queue(user, WAIT_FOREVER);
}

bool trace_finish(struct trace *trace)
{
    return !trace || (worker_remove(&trace->client) && worker_do(trace_write_end, NULL, trace));
}
