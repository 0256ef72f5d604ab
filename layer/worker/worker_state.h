// SPDX-License-Identifier: Apache-2.0
/* What the files of worker.h share: worker.c (clients, and the order in which they are served) uses
 * worker_jobs.c (jobs, and the end of the process, at which the last writes are a job). No other
 * file includes this. */
#ifndef WARMPIPE_LAYER_WORKER_WORKER_STATE_H
#define WARMPIPE_LAYER_WORKER_WORKER_STATE_H

#include <pthread.h>
#include <signal.h>

#include "layer/worker/worker.h"

/* Drivers merge and serialize caches on this stack. Its pages are allocated on use. */
#define WORKER_STACK_BYTES (1024 * 1024)

/* A job of worker_do. The thread that waits for it frees it; if none waits any more, the thread
 * that has done it does. */
struct worker_job {
    struct worker_job *next;
    void (*run)(void *argument);
    void (*carry_on)(void *argument);
    void *argument;
    bool is_begun;
    bool is_done;
    bool is_abandoned; /* nobody waits for it any more */
    bool is_behind;    /* of worker_do_behind */
};

extern struct worker_state {
    pthread_mutex_t lock;
    /* Both conditions use the monotonic clock. */
    pthread_cond_t changed; /* a client was added or is awake */
    pthread_cond_t rested;  /* the worker has returned from a call, or left the driver */
    unsigned generation;    /* counts forks */
    struct worker_client *clients;
    struct worker_client *busy;   /* whose `work` is running, without the lock */
    struct worker_client *ending; /* whose `last` is running, without the lock */
    bool prepared;                /* handlers are registered, and `run` is set */
    void *(*run)(void *unused);   /* the thread's function, except jobs */
    bool started;
    bool is_dismissed;  /* no device is left: the thread ends after its jobs */
    bool exiting;       /* the process ends: the worker does jobs only */
    bool is_in_handler; /* a signal handler ends the process, or may do so */
    sigset_t blocked;   /* signals blocked in the thread that made the first device */
    bool in_driver;     /* the worker is in the driver */
    bool orphaned;      /* nobody waits any more for the client in `busy` */

    struct worker_job *jobs; /* not begun, oldest first */
    unsigned jobs_under_way;
    unsigned jobs_behind; /* of worker_do_behind, begun or not */
    bool has_helper;      /* a second thread does jobs, because the worker was busy */
} worker;

/* Under the lock: starts the thread if there is none. False: none can be made. */
bool worker_start(void);

/* Under the lock, which is released during the wait. False: `due` has passed. */
bool worker_wait_until(pthread_cond_t *condition, uint64_t due);

/* Calls a client without the lock, which is held before and after. */
void worker_call(struct worker_client *client, void (*function)(struct worker_client *client));

/* Under the lock, which is released during the call: does the next job. False: there is none. */
bool worker_run_job(void);

/* The process ends: handlers of atexit and of quick_exit. */
void worker_close_clients(void);
void worker_write_last_snapshots(void);

#endif
