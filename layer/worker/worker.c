// SPDX-License-Identifier: Apache-2.0
#include "layer/worker/worker.h"

#include <errno.h>
#include <sys/prctl.h>

#include "common/base/clock.h"
#include "layer/worker/driver_gate.h"
#include "layer/worker/own_thread.h"
#include "layer/worker/sandbox.h"

/* Who waits so long for a driver tells the client, and then again so often. */
#define OVERDUE_NS      PATIENCE_AT_END
#define OVERDUE_POLL_NS (50 * CLOCK_MS)

/* Drivers merge and serialize on this stack; pages are only taken when they are used. */
#define STACK_BYTES (1024 * 1024)

/* What worker_do has given to the worker. */
enum worker_job {
    JOB_NONE,
    JOB_POSTED,
    JOB_RUNNING,
    JOB_ABANDONED, /* running, and nobody waits for it any more */
    JOB_DONE
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a client has come or is awake; both by the monotonic clock */
    pthread_cond_t rested;  /* the worker has ended a call, or left the driver */
    unsigned generation;    /* counts forks */
    struct worker_client *clients;
    struct worker_client *busy; /* whose work the worker does, without the lock */
    bool prepared;              /* handlers are registered */
    bool started;
    bool exiting;   /* the process ends: the worker begins nothing more */
    bool in_driver; /* the worker is in one */
    bool orphaned;  /* nobody waits any more for the client whose work the worker does */

    enum worker_job job;
    void (*job_function)(void *argument);
    void *job_argument;
} worker = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Under the lock: the client that is due first, and when. A client that needs nothing falls asleep,
 * and is asked once more after that, so that a worker_wake in between is not missed. */
static struct worker_client *worker_next_client(uint64_t *ret_due)
{
    struct worker_client *next = NULL;
    *ret_due = UINT64_MAX;
    for (struct worker_client *client = worker.clients; client; client = client->next) {
        uint64_t due = client->due(client, clock_now_ns());
        if (due == UINT64_MAX) {
            atomic_store(&client->awake, false);
            due = client->due(client, clock_now_ns());
        }
        if (due < *ret_due) {
            *ret_due = due;
            next = client;
        }
    }
    return next;
}

/* Under the lock. False: `due` has passed. */
static bool worker_wait_until(pthread_cond_t *condition, uint64_t due)
{
    if (due == UINT64_MAX) {
        pthread_cond_wait(condition, &worker.lock);
        return true;
    }
    struct timespec until = clock_timespec(due);
    return pthread_cond_timedwait(condition, &worker.lock, &until) != ETIMEDOUT;
}

/* Calls a client without the lock, which is held before and after. */
static void worker_call(struct worker_client *client,
                        void (*function)(struct worker_client *client))
{
    worker.busy = client;
    pthread_mutex_unlock(&worker.lock);
    function(client);
    pthread_mutex_lock(&worker.lock);
    worker.busy = NULL;
    worker.orphaned = false;
    pthread_cond_broadcast(&worker.rested);
}

/* Under the lock, which is released meanwhile. */
static void worker_run_job(void)
{
    worker.job = JOB_RUNNING;
    pthread_mutex_unlock(&worker.lock);
    worker.job_function(worker.job_argument);
    pthread_mutex_lock(&worker.lock);
    worker.job = worker.job == JOB_ABANDONED ? JOB_NONE : JOB_DONE;
    pthread_cond_broadcast(&worker.rested);
}

static void *worker_run(void *argument)
{
    (void)argument;
    prctl(PR_SET_NAME, "warmpipe");
    pthread_mutex_lock(&worker.lock);
    while (!worker.exiting && !driver_gate_is_closed()) {
        if (worker.job == JOB_POSTED) {
            worker_run_job();
            continue;
        }
        uint64_t due = 0;
        struct worker_client *client = worker_next_client(&due);
        if (!client || due > clock_now_ns()) {
            worker_wait_until(&worker.changed, due);
            continue;
        }
        if (sandbox_is_closed()) {
            worker_wait_until(&worker.changed, UINT64_MAX);
            continue;
        }
        worker_call(client, client->work);
    }
    pthread_mutex_unlock(&worker.lock);
    return NULL;
}

static bool worker_is_running_job(void)
{
    return worker.job == JOB_RUNNING || worker.job == JOB_ABANDONED;
}

/* The worker may be in a call: waits a moment for it to return. */
static void worker_close_clients(void)
{
    if (sandbox_is_closed() || !timed_lock(&worker.lock, WAIT_FOREVER)) {
        return;
    }
    worker.exiting = true;
    while ((worker.busy || worker_is_running_job()) &&
           timed_wait(&worker.rested, &worker.lock, WAIT_FOREVER)) {
    }
    for (struct worker_client *client = worker.clients; client && !worker.busy;
         client = client->next) {
        if (client->closing) {
            worker_call(client, client->closing);
        }
    }
    pthread_mutex_unlock(&worker.lock);
}

static void worker_init_conditions(void)
{
    clock_condition_init(&worker.changed);
    clock_condition_init(&worker.rested);
}

static void worker_after_fork_in_child(void)
{
    pthread_mutex_init(&worker.lock, NULL);
    worker_init_conditions();
    worker.clients = NULL;
    worker.busy = NULL;
    worker.exiting = false;
    worker.started = false;
    worker.in_driver = false;
    worker.orphaned = false;
    worker.job = JOB_NONE;
    worker.generation++;
}

__attribute__((destructor)) static void worker_write_last_snapshots(void)
{
    patience_set(patience_limit(PATIENCE_AT_END));
    if (!worker.clients || sandbox_is_closed() || !timed_lock(&worker.lock, WAIT_FOREVER)) {
        return;
    }
    for (struct worker_client *client = worker.clients; client; client = client->next) {
        client->last(client);
    }
    pthread_mutex_unlock(&worker.lock);
}

void worker_add(struct worker_client *client)
{
    pthread_mutex_lock(&worker.lock);
    if (!worker.prepared) {
        worker_init_conditions();
        pthread_atfork(NULL, NULL, worker_after_fork_in_child);
        driver_gate_prepare();
        driver_gate_set_last(worker_close_clients);
        worker.prepared = true;
    }
    atomic_store(&client->awake, false);
    client->generation = worker.generation;
    client->next = worker.clients;
    worker.clients = client;
    pthread_mutex_unlock(&worker.lock);
}

/* Under the lock. The client's call into the driver is waited for, however long; once it has taken
 * long the client is told, without the lock. */
static void worker_wait_for_driver(struct worker_client *client, uint64_t *overdue_ns)
{
    if (!worker_wait_until(&worker.rested, *overdue_ns)) {
        pthread_mutex_unlock(&worker.lock);
        if (client->overdue) {
            client->overdue(client);
        }
        *overdue_ns = clock_now_ns() + OVERDUE_POLL_NS;
        pthread_mutex_lock(&worker.lock);
    }
}

bool worker_remove(struct worker_client *client)
{
    uint64_t overdue_ns = clock_now_ns() + OVERDUE_NS;
    pthread_mutex_lock(&worker.lock);
    while (worker.busy == client) {
        if (worker.in_driver) {
            worker_wait_for_driver(client, &overdue_ns);
        } else if (!timed_wait(&worker.rested, &worker.lock, WAIT_FOREVER) && !worker.in_driver) {
            break;
        }
    }
    const bool is_busy = worker.busy == client;
    worker.orphaned |= is_busy; /* until that call ends, whoever else is removed meanwhile */
    bool free = !is_busy && client->generation == worker.generation;
    struct worker_client **place = &worker.clients;
    while (*place && *place != client) {
        place = &(*place)->next;
    }
    if (*place) {
        *place = client->next;
    }
    pthread_mutex_unlock(&worker.lock);
    return free;
}

void worker_wake(struct worker_client *client)
{
    if (atomic_exchange(&client->awake, true)) {
        return;
    }
    pthread_mutex_lock(&worker.lock);
    if (!worker.started && !driver_gate_is_closed() && client->generation == worker.generation) {
        worker.started = own_thread_start(worker_run, NULL, STACK_BYTES);
    }
    pthread_cond_signal(&worker.changed);
    pthread_mutex_unlock(&worker.lock);
}

bool worker_enter_driver(void)
{
    pthread_mutex_lock(&worker.lock);
    bool allowed = !worker.orphaned && driver_gate_enter(worker.busy->permit);
    worker.in_driver = allowed;
    pthread_mutex_unlock(&worker.lock);
    return allowed;
}

void worker_leave_driver(void)
{
    pthread_mutex_lock(&worker.lock);
    driver_gate_leave(worker.busy->permit);
    worker.in_driver = false;
    pthread_cond_broadcast(&worker.rested);
    pthread_mutex_unlock(&worker.lock);
}

/* Under the lock. */
static bool worker_takes_jobs(void)
{
    return worker.started && !worker.exiting && !driver_gate_is_closed();
}

/* Under the lock. True: the job is done, or was given back and is to be done here. */
static bool worker_wait_for_job(bool *ret_here)
{
    while ((worker.job == JOB_POSTED || worker.job == JOB_RUNNING) &&
           timed_wait(&worker.rested, &worker.lock, WAIT_FOREVER)) {
    }
    /* Not begun: the worker waits for another device's driver, or has just ended. */
    *ret_here = worker.job == JOB_POSTED && (worker.in_driver || !worker_takes_jobs());
    const bool done = worker.job == JOB_DONE || *ret_here;
    worker.job = worker.job == JOB_RUNNING ? JOB_ABANDONED : JOB_NONE;
    pthread_cond_broadcast(&worker.rested);
    return done;
}

bool worker_do(void (*function)(void *argument), void *argument)
{
    bool here = true;
    bool done = true;
    pthread_mutex_lock(&worker.lock);
    if (worker_takes_jobs()) {
        while (worker.job != JOB_NONE && timed_wait(&worker.rested, &worker.lock, WAIT_FOREVER)) {
        }
        here = false;
        done = worker.job == JOB_NONE;
    }
    if (done && !here) {
        worker.job = JOB_POSTED;
        worker.job_function = function;
        worker.job_argument = argument;
        pthread_cond_signal(&worker.changed);
        done = worker_wait_for_job(&here);
    }
    pthread_mutex_unlock(&worker.lock);
    if (here) {
        function(argument);
    }
    return done;
}
