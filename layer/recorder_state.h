/* What the files of the recorder share: recorder.c (what is new) and recorder_write.c (the way to
 * disk). Nobody else includes this. */
#ifndef WARMPIPE_LAYER_RECORDER_STATE_H
#define WARMPIPE_LAYER_RECORDER_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "disk/recipe_writer.h"
#include "disk/recipes.h"
#include "fingerprint_set.h"
#include "flusher.h"
#include "form_table.h"
#include "recorder.h"

struct recorder {
    const char *root;
    const char *app;
    uint64_t max_size;
    struct bytes environment;
    struct digest environment_digest;
    struct housekeeper *housekeeper;

    atomic_bool opened;                /* what follows is set and stays */
    struct recipes *disk;              /* what was recorded when we came; NULL: nothing */
    uint32_t day;                      /* today: days since 1970-01-01 UTC */
    struct fingerprint_set used_today; /* pipelines on disk, in this environment */
    atomic_bool is_broken;             /* nothing more can be written */

    pthread_mutex_t lock;             /* over what follows */
    struct form_table forms;          /* that pipelines may refer to */
    struct fingerprint_set written;   /* by this device: see mark_of in recorder.c */
    struct bytes queue;               /* records that are not on disk */
    _Atomic uint64_t first_queued_ns; /* monotonic; 0: the queue is empty */
    _Atomic uint64_t last_queued_ns;

    pthread_mutex_t write_lock;   /* over the writer; never taken by a thread that creates */
    struct recipe_writer *writer; /* NULL: nothing was written yet */
    struct flusher_client client;
    bool has_written; /* of whoever writes */
};

/* Fills in the worker's functions and registers. */
void recorder_write_init(struct recorder *recorder);

#endif
