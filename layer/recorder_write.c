/* The recorder's way to disk: what the background worker does for it, and the ends of device and
 * process. */
#include <stddef.h>

#include "base/clock.h"
#include "base/log.h"
#include "disk/recipe_segment.h"
#include "housekeeper.h"
#include "recorder_state.h"
#include "timed_lock.h"
#include "told.h"

/* Quiet time before a write, and longest wait under steady creation. Less than half of what a
 * record may take to disk after quiet, for the worker may just be busy. */
#define QUIET_NS  (20 * CLOCK_MS)
#define STEADY_NS (1000 * CLOCK_MS)

/* Longest wait, at the end of a process, for a lock whose holder may be gone. */
#define EXIT_WAIT_NS (2 * CLOCK_S)

static struct recorder *of_client(struct flusher_client *client)
{
    return (struct recorder *)((char *)client - offsetof(struct recorder, client));
}

static uint64_t due(struct flusher_client *client, uint64_t now_ns)
{
    (void)now_ns;
    const struct recorder *recorder = of_client(client);
    uint64_t first = atomic_load(&recorder->first_queued_ns);
    if (first == 0 || atomic_load(&recorder->is_broken)) {
        return UINT64_MAX;
    }
    uint64_t quiet = atomic_load(&recorder->last_queued_ns) + QUIET_NS;
    return quiet < first + STEADY_NS ? quiet : first + STEADY_NS;
}

/* Under both locks. */
static struct bytes take_queue(struct recorder *recorder)
{
    struct bytes batch = recorder->queue;
    recorder->queue = (struct bytes){0};
    atomic_store(&recorder->first_queued_ns, 0);
    return batch;
}

/* Under write_lock. */
static void write_batch(struct recorder *recorder, struct bytes *batch)
{
    if (batch->size > 0 && !recorder->writer) {
        recorder->writer = recipe_writer_new(recorder->root, recorder->app, recorder->max_size,
                                             RECIPE_SEGMENT_SMALL);
    }
    enum reason reason =
        batch->failed || (batch->size > 0 && !recorder->writer) ? REASON_out_of_memory : REASON_ok;
    if (reason == REASON_ok && batch->size > 0) {
        reason = recipe_writer_append(recorder->writer, batch);
    }
    if (reason != REASON_ok && !atomic_exchange(&recorder->is_broken, true) && told_first(reason)) {
        log_warn("not recorded (%s): %s: %s/%s", reason_id(reason), reason_text(reason),
                 recorder->root, recorder->app);
    }
    bytes_free(batch);
}

static void write_queue(struct recorder *recorder)
{
    pthread_mutex_lock(&recorder->write_lock);
    pthread_mutex_lock(&recorder->lock);
    struct bytes batch = take_queue(recorder);
    pthread_mutex_unlock(&recorder->lock);
    const size_t size = batch.size;
    write_batch(recorder, &batch);
    pthread_mutex_unlock(&recorder->write_lock);
    if (size > 0) {
        housekeeper_wrote(recorder->housekeeper, size);
    }
}

static void work(struct flusher_client *client)
{
    struct recorder *recorder = of_client(client);
    uint64_t now_ns = clock_now_ns();
    if (due(client, now_ns) > now_ns) {
        return;
    }
    write_queue(recorder);
    /* With the first records alone: what comes later waits for the end of the device. */
    if (!recorder->has_written) {
        recorder->has_written = true;
        housekeeper_start(recorder->housekeeper);
    }
}

/* The process ends and the device was never destroyed: others may be in the middle of a call. */
static void last(struct flusher_client *client)
{
    struct recorder *recorder = of_client(client);
    if (!timed_lock(&recorder->write_lock, EXIT_WAIT_NS)) {
        return;
    }
    if (timed_lock(&recorder->lock, EXIT_WAIT_NS)) {
        struct bytes batch = take_queue(recorder);
        pthread_mutex_unlock(&recorder->lock);
        write_batch(recorder, &batch);
    }
    pthread_mutex_unlock(&recorder->write_lock);
}

void recorder_write_init(struct recorder *recorder)
{
    recorder->client.due = due;
    recorder->client.work = work;
    recorder->client.last = last;
    flusher_add(&recorder->client);
}

bool recorder_finish(struct recorder *recorder)
{
    if (!flusher_remove(&recorder->client)) {
        return false;
    }
    write_queue(recorder);
    recipe_writer_close(recorder->writer, true);
    recorder->writer = NULL;
    return true;
}
