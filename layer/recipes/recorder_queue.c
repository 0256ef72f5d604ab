// SPDX-License-Identifier: Apache-2.0
#include "layer/recipes/recorder_queue.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/recipes/segment.h"
#include "layer/worker/maintenance.h"
#include "layer/worker/own_wait.h"
#include "layer/worker/sandbox.h"

/* Quiet time before a write, and longest wait under steady creation. The quiet time is less than
 * half of the 50 ms within which a kill may lose something (docs/LIMITS.md), for the worker may
 * just be busy. */
#define QUIET_NS  (20 * CLOCK_MS)
#define STEADY_NS (100 * CLOCK_MS)

/* Half of a digest, told apart by kind: a coincidence costs a recipe. */
static uint64_t recorder_queue_mark(unsigned kind, struct digest digest)
{
    return digest.low ^ (kind * UINT64_C(0x9E3779B97F4A7C15));
}

bool recorder_queue_has(struct recorder_queue *queue, unsigned kind, struct digest digest)
{
    pthread_mutex_lock(&queue->taken_lock);
    const bool has_taken = digest_set_has(&queue->taken, recorder_queue_mark(kind, digest));
    pthread_mutex_unlock(&queue->taken_lock);
    return has_taken;
}

static void recorder_queue_note_taken(struct recorder_queue *queue, unsigned kind,
                                      struct digest digest)
{
    pthread_mutex_lock(&queue->taken_lock);
    /* On failure it is recorded once more. */
    digest_set_add(&queue->taken, recorder_queue_mark(kind, digest));
    pthread_mutex_unlock(&queue->taken_lock);
}

void recorder_queue_put(struct recorder_queue *queue, enum recipe_kind kind, struct digest digest,
                        const void *data, size_t size)
{
    recipe_put_record(&queue->records, kind, digest, data, size);
    recorder_queue_note_taken(queue, kind, digest);
}

void recorder_queue_put_use(struct recorder_queue *queue, const struct recipe_use *use)
{
    recipe_put_use(&queue->records, use);
    recorder_queue_note_taken(queue, RECORDER_QUEUE_USE, use->pipeline);
}

static uint64_t recorder_queue_due(struct worker_client *client, uint64_t now_ns)
{
    (void)now_ns;
    const struct recorder_queue *queue = WORKER_OWNER(client, struct recorder_queue, client);
    uint64_t first = atomic_load(&queue->first_ns);
    if (first == 0 || atomic_load(&queue->is_broken)) {
        return UINT64_MAX;
    }
    uint64_t quiet = atomic_load(&queue->last_ns) + QUIET_NS;
    return quiet < first + STEADY_NS ? quiet : first + STEADY_NS;
}

/* Nothing more is recorded; told once, unless it is known already that nothing can be kept. A save
 * that fails for the same reason is worth another line. */
static void recorder_queue_break(struct recorder_queue *queue, enum status reason)
{
    static atomic_flag is_told = ATOMIC_FLAG_INIT;
    if (!atomic_exchange(&queue->is_broken, true) && !log_has_told(reason) &&
        !atomic_flag_test_and_set(&is_told)) {
        log_warn("not recorded (%s): %s: %s/%s", status_id(reason), status_text(reason),
                 queue->root, queue->app);
    }
}

/* Under write_lock, once something is recorded. A key that is not written down costs nothing but a
 * comparison. */
static void recorder_queue_write_key(struct recorder_queue *queue)
{
    if (queue->has_key) {
        queue->has_key = false;
        const enum status reason = program_note_key(queue->root, queue->app, &queue->key);
        if (reason != STATUS_ok) {
            log_info("the driver's pipeline key is not recorded (%s)", status_id(reason));
        }
    }
}

/* Under write_lock. What others refer to may be missing when a write failed before. */
static void recorder_queue_write_batch(struct recorder_queue *queue, struct bytes *batch)
{
    if (atomic_load(&queue->is_broken)) {
        bytes_free(batch);
        return;
    }
    if (batch->size > 0 && !queue->writer) {
        queue->writer =
            recipe_writer_new(queue->root, queue->app, queue->max_size, RECIPE_SEGMENT_OPEN);
    }
    enum status reason =
        batch->failed || (batch->size > 0 && !queue->writer) ? STATUS_out_of_memory : STATUS_ok;
    if (reason == STATUS_ok && batch->size > 0) {
        reason = recipe_writer_append(queue->writer, batch);
    }
    if (reason != STATUS_ok) {
        recorder_queue_break(queue, reason);
    } else if (batch->size > 0) {
        recorder_queue_write_key(queue);
    }
    bytes_free(batch);
}

/* Writes what is queued. At the end of the process others may be in the middle of a call: then only
 * so long a wait for their locks, and no maintenance. */
static void recorder_queue_write(struct recorder_queue *queue, uint64_t wait_ns)
{
    struct bytes batch = {0};
    if (sandbox_is_closed()) {
        return;
    }
    if (!timed_lock(&queue->write_lock, wait_ns)) {
        return;
    }
    if (timed_lock(&queue->lock, wait_ns)) {
        batch = queue->records;
        queue->records = (struct bytes){0};
        atomic_store(&queue->first_ns, 0);
        pthread_mutex_unlock(&queue->lock);
    }
    const size_t size = batch.size;
    recorder_queue_write_batch(queue, &batch);
    struct accused *accused = &queue->accused;
    if (wait_ns == WAIT_FOREVER && atomic_exchange(&accused->is_due, false)) {
        recipe_crashes_absolve(queue->root, queue->app, accused->identity, accused->pipelines,
                               atomic_load(&accused->count));
    }
    pthread_mutex_unlock(&queue->write_lock);
    if (size > 0 && wait_ns == WAIT_FOREVER) {
        maintenance_wrote(queue->maintenance, size);
    }
}

static void recorder_queue_work(struct worker_client *client)
{
    struct recorder_queue *queue = WORKER_OWNER(client, struct recorder_queue, client);
    uint64_t now_ns = clock_now_ns();
    if (recorder_queue_due(client, now_ns) > now_ns) {
        return;
    }
    recorder_queue_write(queue, WAIT_FOREVER);
    /* With the first records alone: what comes later waits for the end of the device. */
    if (!queue->has_written) {
        queue->has_written = true;
        maintenance_start(queue->maintenance);
    }
}

/* The process ends and the device was never destroyed. */
static void recorder_queue_last(struct worker_client *client)
{
    struct recorder_queue *queue = WORKER_OWNER(client, struct recorder_queue, client);
    queue->has_ended = true;
    recorder_queue_write(queue, PATIENCE_AT_END);
}

static void recorder_queue_write_end(void *user)
{
    struct recorder_queue *queue = user;
    recorder_queue_write(queue, WAIT_FOREVER);
    if (!sandbox_is_closed()) {
        if (queue->has_recorded) {
            recorder_queue_write_key(queue);
        }
        recipe_writer_close(queue->writer, true);
    }
    queue->writer = NULL;
}

bool recorder_queue_make_room(struct recorder_queue *queue)
{
    if (!timed_lock(&queue->write_lock, PATIENCE_AT_END)) {
        return false;
    }
    const bool made = recipe_writer_discard(queue->writer);
    queue->writer = NULL;
    if (made) {
        recorder_queue_break(queue, STATUS_disk_full);
    }
    pthread_mutex_unlock(&queue->write_lock);
    return made;
}

/* Whether the end has something to do at the disk. */
static bool recorder_queue_has_end(struct recorder_queue *queue)
{
    if (!recorder_queue_lock(queue)) {
        return true;
    }
    const bool has_records = queue->records.size > 0 || atomic_load(&queue->accused.is_due);
    pthread_mutex_unlock(&queue->lock);
    return has_records || queue->writer || (queue->has_key && queue->has_recorded);
}

bool recorder_queue_finish(struct recorder_queue *queue)
{
    return worker_remove(&queue->client) &&
           (!recorder_queue_has_end(queue) || worker_do(recorder_queue_write_end, NULL, queue));
}

void recorder_queue_init(struct recorder_queue *queue, const struct recorder_setup *setup)
{
    queue->root = setup->root;
    queue->app = setup->app;
    queue->max_size = setup->max_size;
    queue->maintenance = setup->maintenance;
    queue->has_key = setup->key;
    if (setup->key) {
        queue->key = *setup->key;
    }
    pthread_mutex_init(&queue->lock, NULL);
    pthread_mutex_init(&queue->write_lock, NULL);
    pthread_mutex_init(&queue->taken_lock, NULL);
    queue->client.due = recorder_queue_due;
    queue->client.work = recorder_queue_work;
    queue->client.last = recorder_queue_last;
    worker_add(&queue->client);
}

void recorder_queue_release(struct recorder_queue *queue)
{
    bytes_free(&queue->records);
    digest_set_release(&queue->taken);
    pthread_mutex_destroy(&queue->lock);
    pthread_mutex_destroy(&queue->write_lock);
    pthread_mutex_destroy(&queue->taken_lock);
}

void recorder_queue_note(struct recorder_queue *queue)
{
    const uint64_t now_ns = clock_now_ns();
    atomic_store(&queue->last_ns, now_ns);
    if (atomic_load(&queue->first_ns) == 0) {
        atomic_store(&queue->first_ns, now_ns);
    }
}

void recorder_queue_accuse(struct recorder_queue *queue, struct digest identity,
                           const struct digest *pipelines, size_t count)
{
    struct accused *accused = &queue->accused;
    if (count > 0 && count <= ACCUSED_MAX) {
        accused->identity = identity;
        memcpy(accused->pipelines, pipelines, count * sizeof *pipelines);
        atomic_store(&accused->left, UINT64_MAX >> (ACCUSED_MAX - count));
        atomic_store(&accused->count, count);
    }
}

void recorder_queue_ask(struct recorder_queue *queue, struct digest pipeline)
{
    struct accused *accused = &queue->accused;
    if (atomic_load_explicit(&accused->left, memory_order_acquire) == 0) {
        return;
    }
    for (size_t i = 0; i < ACCUSED_MAX; i++) {
        if (digest_equal(accused->pipelines[i], pipeline)) {
            atomic_fetch_and(&accused->left, ~(UINT64_C(1) << i));
        }
    }
}

bool recorder_queue_disproves(struct recorder_queue *queue)
{
    struct accused *accused = &queue->accused;
    const bool disproved =
        !accused->is_taken && atomic_load(&accused->count) > 0 && atomic_load(&accused->left) == 0;
    if (disproved) {
        accused->is_taken = true;
        atomic_store(&accused->is_due, true);
        recorder_queue_note(queue);
    }
    return disproved;
}

void recorder_queue_wake(struct recorder_queue *queue)
{
    worker_wake(&queue->client);
}

void recorder_queue_hurry(struct recorder_queue *queue)
{
    if (queue->has_ended) {
        recorder_queue_write(queue, PATIENCE_AT_END);
    } else {
        recorder_queue_wake(queue);
    }
}
