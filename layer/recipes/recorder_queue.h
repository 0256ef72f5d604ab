// SPDX-License-Identifier: Apache-2.0
/* The recorder's way to disk: records that wait in memory, and the segment of this process that
 * they are appended to.
 *
 *     1 EMPTY    nothing waits
 *     2 QUEUED   the worker writes within QUIET_NS of quiet, or STEADY_NS under steady creation
 *     3 BROKEN   a disk has failed, or is full: nothing more is recorded
 *
 *     arrow                                    function
 *     1 EMPTY ──▶ 2 QUEUED                     recorder_queue_put, recorder_queue_note
 *     2 QUEUED ──the worker, or an end──▶ 1    recorder_queue_write
 *     any ──a write fails──▶ 3 BROKEN          recorder_queue_break
 *     any ──a save finds no room──▶ 3 BROKEN   recorder_queue_make_room
 *
 * A part of the recorder, which alone calls it. The lock is its owner's as well, over what it keeps
 * for records to come; it is not held over a write. */
#ifndef WARMPIPE_LAYER_RECIPES_RECORDER_QUEUE_H
#define WARMPIPE_LAYER_RECIPES_RECORDER_QUEUE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/base/digest.h"
#include "common/files/program.h"
#include "common/recipes/recipes.h"
#include "layer/recipes/recorder.h"
#include "layer/worker/own_wait.h"
#include "layer/worker/worker.h"

struct accused;
struct recipe_writer;

struct recorder_queue {
    const char *root; /* borrowed, as app */
    const char *app;
    uint64_t max_size;
    struct maintenance *maintenance;
    atomic_bool is_broken; /* nothing more can be written */

    pthread_mutex_t lock;      /* over what follows */
    struct bytes records;      /* that are not on disk */
    _Atomic uint64_t first_ns; /* when the first of them came, monotonic; 0: there are none */
    _Atomic uint64_t last_ns;

    pthread_mutex_t write_lock;   /* over the writer; never taken by a thread that creates */
    struct recipe_writer *writer; /* NULL: nothing was written yet */
    struct worker_client client;
    _Atomic(struct accused *) disproved; /* to be written down; NULL: there are none */
    bool has_written;                    /* of the thread that writes */
    bool has_ended;    /* the process ends: what a save queues is written at once */
    bool has_key;      /* under write_lock: `key` is to be written down */
    bool has_recorded; /* an earlier run has, for which the key is written anew */
    struct pipeline_key key;

    pthread_mutex_t taken_lock; /* over `taken`; nothing else is locked or called under it */
    struct digest_set taken;    /* marks of what was ever queued */
};

/* A use is marked, too, though it is no record of its own. */
enum { RECORDER_QUEUE_USE = RECIPE_ENVIRONMENT + 1 };

/* Of a struct that is all zero. Touches no file. */
void recorder_queue_init(struct recorder_queue *queue, const struct recorder_setup *setup);
void recorder_queue_release(struct recorder_queue *queue);

/* Whether it was queued, in this process and for this device: a record, or a RECORDER_QUEUE_USE. */
bool recorder_queue_has(struct recorder_queue *queue, unsigned kind, struct digest digest);

/* Takes the lock where the process or a device may be ending: who has it may be at a disk that does
 * not answer. False: it is not to be had for as long as this thread has patience. */
static inline bool recorder_queue_lock(struct recorder_queue *queue)
{
    return timed_lock(&queue->lock, WAIT_FOREVER);
}

/* Under the lock: queue a record, or the use of a pipeline. */
void recorder_queue_put(struct recorder_queue *queue, enum recipe_kind kind, struct digest digest,
                        const void *data, size_t size);
void recorder_queue_put_use(struct recorder_queue *queue, const struct recipe_use *use);

/* Under the lock, when all that belongs together was queued; then, without the lock, one of the two
 * below. */
void recorder_queue_note(struct recorder_queue *queue);

/* Has it written soon. _hurry: by a save, perhaps the last thing that the process does. */
void recorder_queue_wake(struct recorder_queue *queue);
void recorder_queue_hurry(struct recorder_queue *queue);

/* recorder_make_room, recorder_finish. */
bool recorder_queue_make_room(struct recorder_queue *queue);
bool recorder_queue_finish(struct recorder_queue *queue);

#endif
