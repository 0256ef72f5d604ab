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
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/base/digest.h"
#include "common/files/program.h"
#include "common/recipes/recipes.h"
#include "layer/recipes/recorder.h"
#include "layer/worker/own_wait.h"
#include "layer/worker/worker.h"

struct recipe_writer;

/* Of two deaths of some threads each; where there are more, `warmpipe warm` was there. */
#define ACCUSED_MAX 64

/* The pipelines that processes have died of, or so it seems: nobody can tell a kill, or an _exit,
 * from a crash (common/recipes/recipes.h). What the program of one device asks for itself, and
 * lives with, is no killer.
 *
 *     1 NONE        zero-initialized
 *     2 ACCUSED     some of them the program has not asked for
 *     3 DISPROVED   it has asked for all
 *     4 WRITTEN     the list on disk is emptied, or was not to be
 *
 *     1 → 2  recorder_queue_accuse      2 → 3  recorder_queue_ask, of the last one
 *     3 → 4  recorder_queue_disproves, behind a save, then recorder_queue_write */
struct accused {
    struct digest identity; /* of the device */
    struct digest pipelines[ACCUSED_MAX];
    _Atomic size_t count;  /* 0: none; what stands above stays then */
    _Atomic uint64_t left; /* bits of those that the program has not asked for */
    bool is_taken;         /* under the queue's lock: DISPROVED was told */
    atomic_bool is_due;    /* to be written */
};

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
    bool has_written;  /* of the thread that writes */
    bool has_ended;    /* the process ends: what a save queues is written at once */
    bool has_key;      /* under write_lock: `key` is to be written down */
    bool has_recorded; /* an earlier run has, for which the key is written anew */
    struct pipeline_key key;

    pthread_mutex_t taken_lock; /* over `taken`; nothing else is locked or called under it */
    struct digest_set taken;    /* marks of what was ever queued */

    struct accused accused;
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

/* recorder_accuse; more than ACCUSED_MAX are not taken. */
void recorder_queue_accuse(struct recorder_queue *queue, struct digest identity,
                           const struct digest *pipelines, size_t count);

/* The program is about to create this pipeline. A load where nothing is accused. By any number of
 * threads, also beside recorder_queue_accuse. */
void recorder_queue_ask(struct recorder_queue *queue, struct digest pipeline);

/* Under the lock: whether there are some, and the program has asked for all: true once, and that is
 * queued. */
bool recorder_queue_disproves(struct recorder_queue *queue);

/* Has it written soon. _hurry: by a save, perhaps the last thing that the process does. */
void recorder_queue_wake(struct recorder_queue *queue);
void recorder_queue_hurry(struct recorder_queue *queue);

/* recorder_make_room, recorder_finish. */
bool recorder_queue_make_room(struct recorder_queue *queue);
bool recorder_queue_finish(struct recorder_queue *queue);

#endif
