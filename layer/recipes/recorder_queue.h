// SPDX-License-Identifier: Apache-2.0
/* How records reach the disk: a queue in memory, and the segment of this process that it is
 * appended to. States:
 *
 *     1 EMPTY    nothing waits
 *     2 QUEUED   the worker writes QUIET_NS after the last record, STEADY_NS after the first one
 *                at the latest
 *     3 BROKEN   nothing more is recorded: a disk has failed or is full, the folder cannot be used
 *                or holds more than the limit, or the program is in a sandbox
 *
 *     arrow                                    function
 *     1 EMPTY ──▶ 2 QUEUED                     recorder_queue_put, recorder_queue_note
 *     2 QUEUED ──the worker, or an end──▶ 1    recorder_queue_write
 *     any ──a write fails──▶ 3 BROKEN          recorder_queue_break
 *     any ──a save finds no room──▶ 3 BROKEN   recorder_queue_make_room
 *     any ──the recipes are opened──▶ 3        recorder_open_recipes, recorder_keep_to_limit
 *
 * A part of the recorder; no other file calls it. The recorder uses the queue's lock, too, for what
 * it keeps for later records. The lock is not held over a write. */
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

/* More than two processes leave, whose few threads each name one pipeline. After two deaths nothing
 * is compiled ahead until `warmpipe warm` has run. */
#define ACCUSED_MAX 64

/* The pipelines that processes seem to have died of; a kill, or an _exit, looks like a crash
 * (common/recipes/recipes.h). A pipeline that the program asks for itself, and survives, kills no
 * process.
 *
 *     1 NONE        zero-initialized
 *     2 ACCUSED     the program has not asked for some of them
 *     3 DISPROVED   it has asked for all
 *     4 WRITTEN     the list on disk is emptied, or was not to be
 *
 *     1 → 2  recorder_queue_accuse      2 → 3  recorder_queue_ask, of the last one
 *     3 → 4  recorder_queue_disproves, after a save, then recorder_queue_write
 */
struct accused {
    struct digest identity; /* of the device */
    struct digest pipelines[ACCUSED_MAX];
    _Atomic size_t count;  /* 0: none; the members above do not change after it is set */
    _Atomic uint64_t left; /* bits of those that the program has not asked for */
    bool is_taken;         /* under the queue's lock: recorder_queue_disproves has returned true */
    atomic_bool is_due;    /* to be written */
};

struct recorder_queue {
    const char *root; /* borrowed, as app */
    const char *app;
    uint64_t max_size;
    struct maintenance *maintenance;
    atomic_bool is_broken; /* nothing more can be written */

    pthread_mutex_t lock;      /* over what follows */
    struct bytes records;      /* records that are not on disk */
    _Atomic uint64_t first_ns; /* when the first of them came, monotonic; 0: there are none */
    _Atomic uint64_t last_ns;

    pthread_mutex_t write_lock;   /* over the writer; never taken by a thread that creates */
    struct recipe_writer *writer; /* NULL: nothing was written yet */
    struct worker_client client;
    bool has_written;  /* used by the writing thread */
    bool has_ended;    /* the process ends: what a save queues is written at once */
    bool has_key;      /* under write_lock: `key` is to be written */
    bool has_recorded; /* there are recipes of earlier runs: the key is written even if this run
                          adds none */
    struct pipeline_key key;

    pthread_mutex_t taken_lock; /* over `taken`; a leaf: no other lock and no call down under it */
    struct digest_set taken;    /* marks of everything that was ever queued */

    struct accused accused;
};

/* A use is marked, too, although it is no content record. */
enum { RECORDER_QUEUE_USE = RECIPE_ENVIRONMENT + 1 };

/* For a zeroed struct. Touches no file. */
void recorder_queue_init(struct recorder_queue *queue, const struct recorder_setup *setup);
void recorder_queue_release(struct recorder_queue *queue);

/* Whether a record, or a RECORDER_QUEUE_USE, was queued in this process for this device. */
bool recorder_queue_has(struct recorder_queue *queue, unsigned kind, struct digest digest);

/* Takes the lock where the process or a device may be ending: its holder may be at a disk that does
 * not answer. False: it was held for as long as this thread has patience. */
static inline bool recorder_queue_lock(struct recorder_queue *queue)
{
    return timed_lock(&queue->lock, WAIT_FOREVER);
}

/* Under the lock: queues a record, or the use of a pipeline. */
void recorder_queue_put(struct recorder_queue *queue, enum recipe_kind kind, struct digest digest,
                        const void *data, size_t size);
void recorder_queue_put_use(struct recorder_queue *queue, const struct recipe_use *use);

/* Under the lock, when everything that belongs together was queued; then, without the lock, call
 * _wake or _hurry. */
void recorder_queue_note(struct recorder_queue *queue);

/* recorder_accuse; more than ACCUSED_MAX are not taken. */
void recorder_queue_accuse(struct recorder_queue *queue, struct digest identity,
                           const struct digest *pipelines, size_t count);

/* The program is about to create this pipeline. Costs one load if nothing is accused. Any number of
 * threads may call it, also beside recorder_queue_accuse. */
void recorder_queue_ask(struct recorder_queue *queue, struct digest pipeline);

/* Under the lock: whether there are accused pipelines, and the program has asked for all. Returns
 * true once, and queues that. */
bool recorder_queue_disproves(struct recorder_queue *queue);

/* Has the queue written soon. _hurry: called by a save, perhaps the last action of the process. */
void recorder_queue_wake(struct recorder_queue *queue);
void recorder_queue_hurry(struct recorder_queue *queue);

/* recorder_make_room, recorder_finish. */
bool recorder_queue_make_room(struct recorder_queue *queue);
bool recorder_queue_finish(struct recorder_queue *queue);

#endif
