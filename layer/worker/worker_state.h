// SPDX-License-Identifier: Apache-2.0
/* What the files of worker.h share: worker.c (clients, and whose turn it is) above worker_jobs.c
 * (jobs, and the end of the process, where what is left is one). Nobody else includes this. */
#ifndef WARMPIPE_LAYER_WORKER_WORKER_STATE_H
#define WARMPIPE_LAYER_WORKER_WORKER_STATE_H

#include <pthread.h>
#include <signal.h>

#include "layer/worker/worker.h"

/* Drivers merge and serialize on this stack; pages are only taken when they are used. */
#define WORKER_STACK_BYTES (1024 * 1024)

/* What worker_do was given. Whoever waits for it frees it, or else whoever has done it. */
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
    pthread_cond_t changed; /* a client has come or is awake; both by the monotonic clock */
    pthread_cond_t rested;  /* the worker has ended a call, or left the driver */
    unsigned generation;    /* counts forks */
    struct worker_client *clients;
    struct worker_client *busy;   /* whose work the worker does, without the lock */
    struct worker_client *ending; /* whose `last` is called, without the lock */
    bool prepared;                /* handlers are registered, and `run` is set */
    void *(*run)(void *unused);   /* the thread, but for its jobs */
    bool started;
    bool is_dismissed;  /* no device is left: the thread ends once it has done the jobs */
    bool exiting;       /* the process ends: the worker does jobs, and nothing more for clients */
    bool is_in_handler; /* what ends the process is a handler of a signal, or may be */
    sigset_t blocked;   /* signals that the thread has blocked that made the first device */
    bool in_driver;     /* the worker is in one */
    bool orphaned;      /* nobody waits any more for the client whose work the worker does */

    struct worker_job *jobs; /* that nobody has begun, oldest first */
    unsigned jobs_under_way;
    unsigned jobs_behind; /* begun or not, which worker_await_behind waits for */
    bool has_helper;      /* a thread does jobs, since the worker was occupied */
} worker;

/* Under the lock: starts the thread, unless it is there. False: none can be made. */
bool worker_start(void);

/* Under the lock, which is released meanwhile. False: `due` has passed. */
bool worker_wait_until(pthread_cond_t *condition, uint64_t due);

/* Calls a client without the lock, which is held before and after. */
void worker_call(struct worker_client *client, void (*function)(struct worker_client *client));

/* Under the lock, which is released meanwhile: does the next job. False: there is none. */
bool worker_run_job(void);

/* The process ends: handlers of atexit and of quick_exit. */
void worker_close_clients(void);
void worker_write_last_snapshots(void);

#endif
