// SPDX-License-Identifier: Apache-2.0
#include "layer/worker/worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/files/patience.h"
#include "layer/worker/driver_gate.h"
#include "layer/worker/own_thread.h"
#include "layer/worker/own_wait.h"
#include "layer/worker/sandbox.h"

/* Who waits so long for a driver tells the client, and then again so often. */
#define OVERDUE_NS      PATIENCE_AT_END
#define OVERDUE_POLL_NS (50 * CLOCK_MS)

/* How long a job that comes next may wait for a core, on a busy machine: no disk is waited for. */
#define BEGIN_NS CLOCK_S

/* Nobody is known to be in need of the worker before that: who comes to be meanwhile wakes it. */
#define FAR_NS CLOCK_S

/* Drivers merge and serialize on this stack; pages are only taken when they are used. */
#define STACK_BYTES (1024 * 1024)

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

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a client has come or is awake; both by the monotonic clock */
    pthread_cond_t rested;  /* the worker has ended a call, or left the driver */
    unsigned generation;    /* counts forks */
    struct worker_client *clients;
    struct worker_client *busy;   /* whose work the worker does, without the lock */
    struct worker_client *ending; /* whose `last` is called, without the lock */
    bool prepared;                /* handlers are registered */
    bool started;
    bool is_dismissed;  /* no client is left: the thread ends once it has done the jobs */
    bool exiting;       /* the process ends: the worker does jobs, and nothing more for clients */
    bool is_in_handler; /* what ends the process is a handler of a signal, or may be */
    sigset_t blocked;   /* signals that the thread has blocked that made the first device */
    bool in_driver;     /* the worker is in one */
    bool orphaned;      /* nobody waits any more for the client whose work the worker does */

    struct worker_job *jobs; /* that nobody has begun, oldest first */
    unsigned jobs_under_way;
    unsigned jobs_behind; /* begun or not, which worker_await_behind waits for */
    bool has_helper;      /* a thread does jobs, since the worker was occupied */
} worker = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Under the lock: the client that is due first, and when. A client that needs nothing soon falls
 * asleep, and is asked once more after that, so that a worker_wake in between is not missed. */
static struct worker_client *worker_next_client(uint64_t *ret_due)
{
    struct worker_client *next = NULL;
    *ret_due = UINT64_MAX;
    for (struct worker_client *client = worker.clients; client; client = client->next) {
        const uint64_t now_ns = clock_now_ns();
        uint64_t due = client->due(client, now_ns);
        if (due > now_ns + FAR_NS) {
            atomic_store(&client->awake, false);
            due = client->due(client, now_ns);
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

/* Under the lock, which is released meanwhile. False: there is no job. */
static bool worker_run_job(void)
{
    struct worker_job *job = worker.jobs;
    if (!job) {
        return false;
    }
    worker.jobs = job->next;
    worker.jobs_under_way++;
    job->is_begun = true;
    pthread_cond_broadcast(&worker.rested);
    pthread_mutex_unlock(&worker.lock);
    job->run(job->argument);
    pthread_mutex_lock(&worker.lock);
    job->is_done = true;
    if (job->is_abandoned) {
        pthread_mutex_unlock(&worker.lock);
        if (job->carry_on) {
            job->carry_on(job->argument);
        }
        pthread_mutex_lock(&worker.lock);
        worker.jobs_behind -= job->is_behind;
        free(job);
    }
    worker.jobs_under_way--;
    pthread_cond_broadcast(&worker.rested);
    return true;
}

static void *worker_help(void *argument)
{
    (void)argument;
    pthread_mutex_lock(&worker.lock);
    while (worker_run_job()) {
    }
    worker.has_helper = false;
    pthread_mutex_unlock(&worker.lock);
    return NULL;
}

/* Under the lock: nobody has to wait behind a driver or a disk that others wait for. False: no
 * thread can be made. */
static bool worker_call_helper(void)
{
    if (!worker.has_helper) {
        worker.has_helper = own_thread_start(worker_help, NULL, STACK_BYTES);
    }
    return worker.has_helper;
}

/* Under the lock: what is done in a sandbox, and when it is to be done next. */
static uint64_t worker_shut_in(void)
{
    uint64_t next = UINT64_MAX;
    for (struct worker_client *client = worker.clients; client; client = client->next) {
        const uint64_t due = client->shut_in ? client->shut_in(client) : UINT64_MAX;
        next = due < next ? due : next;
    }
    return next;
}

static void *worker_run(void *argument)
{
    (void)argument;
    pthread_mutex_lock(&worker.lock);
    while (worker.jobs || !worker.is_dismissed) {
        if (worker_run_job()) {
            continue;
        }
        if (worker.exiting || driver_gate_is_closed()) {
            worker_wait_until(&worker.changed, UINT64_MAX);
            continue;
        }
        uint64_t due = 0;
        struct worker_client *client = worker_next_client(&due);
        if (!client || due > clock_now_ns()) {
            worker_wait_until(&worker.changed, due);
            continue;
        }
        if (sandbox_is_closed()) {
            worker_wait_until(&worker.changed, worker_shut_in());
            continue;
        }
        worker_call(client, client->work);
    }
    worker.started = false;
    pthread_mutex_unlock(&worker.lock);
    return NULL;
}

/* Whether this thread, which ends the process, seems to be in a handler of a signal: one that has a
 * handler is blocked, and was not when the first device was made. There it may have been
 * interrupted in malloc, or in a call of ours, and hold their locks. */
static inline __attribute__((always_inline)) bool worker_is_ended_by_handler(void)
{
    sigset_t blocked;
    bool is_handled = false;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    for (int i = 1; i < NSIG && !is_handled; i++) {
        struct sigaction action;
        is_handled = sigismember(&blocked, i) == 1 && sigismember(&worker.blocked, i) != 1 &&
                     sigaction(i, NULL, &action) == 0 && action.sa_handler != SIG_DFL &&
                     action.sa_handler != SIG_IGN;
    }
    return is_handled;
}

/* The worker may be in a call: waits a moment for it to return. */
static void worker_close_clients(void)
{
    if (sandbox_is_closed() || !timed_lock(&worker.lock, WAIT_FOREVER)) {
        return;
    }
    worker.exiting = true;
    worker.is_in_handler = worker_is_ended_by_handler();
    while ((worker.busy || worker.jobs_under_way > 0 || worker.jobs_behind > 0) &&
           timed_wait(&worker.rested, &worker.lock, WAIT_FOREVER)) {
    }
    for (struct worker_client *client = worker.clients; client && !worker.busy;
         client = client->next) {
        if (client->closing && !worker.is_in_handler) {
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
    own_wait_after_fork_in_child();
    pthread_mutex_init(&worker.lock, NULL);
    worker_init_conditions();
    worker.clients = NULL;
    worker.busy = NULL;
    worker.ending = NULL;
    worker.exiting = false;
    worker.is_in_handler = false;
    worker.started = false;
    worker.in_driver = false;
    worker.orphaned = false;
    worker.jobs = NULL;
    worker.jobs_under_way = 0;
    worker.jobs_behind = 0;
    worker.has_helper = false;
    worker.generation++;
}

/* With the patience for locks of files that the thread has left that ends the process. The worker's
 * own lock is held for moments only, and it is taken however little patience is left. */
static void worker_write_last(void *argument)
{
    const uint64_t before_ns = patience_set(*(const uint64_t *)argument);
    pthread_mutex_lock(&worker.lock);
    for (struct worker_client *client = worker.clients; client; client = client->next) {
        worker.ending = client;
        pthread_mutex_unlock(&worker.lock);
        client->last(client);
        pthread_mutex_lock(&worker.lock);
    }
    worker.ending = NULL;
    pthread_cond_broadcast(&worker.rested);
    pthread_mutex_unlock(&worker.lock);
    patience_set(before_ns);
}

static void worker_write_last_snapshots(void);

void worker_add(struct worker_client *client)
{
    pthread_mutex_lock(&worker.lock);
    if (!worker.prepared) {
        worker_init_conditions();
        pthread_atfork(NULL, NULL, worker_after_fork_in_child);
        at_quick_exit(worker_write_last_snapshots); /* runs no destructors; the gate's runs first */
        driver_gate_prepare();
        driver_gate_set_last(worker_close_clients);
        pthread_sigmask(SIG_BLOCK, NULL, &worker.blocked);
        worker.prepared = true;
    }
    atomic_store(&client->awake, false);
    client->generation = worker.generation;
    client->next = worker.clients;
    worker.clients = client;
    worker.is_dismissed = false;
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

static bool worker_is_at(const struct worker_client *client)
{
    return worker.busy == client || worker.ending == client;
}

static bool worker_is_in_driver_of(const struct worker_client *client)
{
    return worker.busy == client && worker.in_driver;
}

bool worker_remove(struct worker_client *client)
{
    uint64_t overdue_ns = clock_now_ns() + OVERDUE_NS;
    pthread_mutex_lock(&worker.lock);
    while (worker_is_at(client)) {
        if (worker_is_in_driver_of(client)) {
            worker_wait_for_driver(client, &overdue_ns);
        } else if (!timed_wait(&worker.rested, &worker.lock, WAIT_FOREVER) &&
                   !worker_is_in_driver_of(client)) {
            break;
        }
    }
    /* Until that call ends, whoever else is removed meanwhile. */
    worker.orphaned |= worker.busy == client;
    const bool may_free = !worker_is_at(client) && client->generation == worker.generation;
    struct worker_client **place = &worker.clients;
    while (*place && *place != client) {
        place = &(*place)->next;
    }
    if (*place) {
        *place = client->next;
        client->next = NULL;
    }
    pthread_mutex_unlock(&worker.lock);
    return may_free;
}

bool worker_is_of_this_process(const struct worker_client *client)
{
    pthread_mutex_lock(&worker.lock);
    const bool is_ours = client->generation == worker.generation;
    pthread_mutex_unlock(&worker.lock);
    return is_ours;
}

void worker_wake(struct worker_client *client)
{
    if (!atomic_exchange(&client->awake, true)) {
        worker_wake_now(client);
    }
}

void worker_wake_now(struct worker_client *client)
{
    atomic_store(&client->awake, true);
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

/* Under the lock. False: nobody would do it. *ret_is_next: a thread with nothing else to do will. A
 * job that is only queued occupies the worker, too: it may be one that nobody waits for, and hang.
 */
static bool worker_post(struct worker_job *job, bool *ret_is_next)
{
    struct worker_job **place = &worker.jobs;
    const bool is_occupied = worker.busy || worker.jobs_under_way > 0 || worker.jobs;
    *ret_is_next = !is_occupied || !worker.has_helper;
    if (!worker.started && !worker.is_in_handler) {
        worker.started = own_thread_start(worker_run, NULL, STACK_BYTES);
    }
    if (!worker.started || (is_occupied && (worker.is_in_handler || !worker_call_helper()))) {
        return false;
    }
    while (*place) {
        place = &(*place)->next;
    }
    *place = job;
    pthread_cond_signal(&worker.changed);
    return true;
}

/* NULL: out of memory. */
static struct worker_job *worker_new_job(void (*run)(void *argument),
                                         void (*carry_on)(void *argument), void *argument)
{
    struct worker_job *job = calloc(1, sizeof *job);
    if (job) {
        *job = (struct worker_job){.run = run, .carry_on = carry_on, .argument = argument};
    }
    return job;
}

/* Under the lock. False: the disk has not answered. */
static inline __attribute__((always_inline)) bool worker_await_job(const struct worker_job *job,
                                                                   bool is_next)
{
    const uint64_t until_ns = clock_now_ns() + BEGIN_NS;
    while (is_next && !job->is_begun && worker_wait_until(&worker.rested, until_ns)) {
    }
    while (!job->is_done && timed_wait(&worker.rested, &worker.lock, WAIT_FOREVER)) {
    }
    return job->is_done;
}

bool worker_do(void (*run)(void *argument), void (*carry_on)(void *argument), void *argument)
{
    struct worker_job *job = worker_new_job(run, carry_on, argument);
    bool is_next;
    pthread_mutex_lock(&worker.lock);
    if (!job || !worker_post(job, &is_next)) {
        pthread_mutex_unlock(&worker.lock);
        free(job);
        run(argument);
        return true;
    }
    const bool done = worker_await_job(job, is_next);
    job->is_abandoned = !done;
    pthread_mutex_unlock(&worker.lock);
    if (done) {
        free(job);
    }
    return done;
}

void worker_do_behind(void (*run)(void *argument), void *argument)
{
    struct worker_job *job = worker_new_job(run, NULL, argument);
    bool is_next;
    pthread_mutex_lock(&worker.lock);
    const bool is_posted = job && worker_post(job, &is_next);
    if (is_posted) {
        job->is_abandoned = job->is_behind = true;
        worker.jobs_behind++;
    }
    pthread_mutex_unlock(&worker.lock);
    if (!is_posted) {
        free(job);
        run(argument);
    }
}

void worker_await_behind(void)
{
    pthread_mutex_lock(&worker.lock);
    while (worker.jobs_behind > 0 && timed_wait(&worker.rested, &worker.lock, WAIT_FOREVER)) {
    }
    if (worker.started && !worker.clients) {
        worker.is_dismissed = true;
        pthread_cond_signal(&worker.changed);
    }
    pthread_mutex_unlock(&worker.lock);
}

/* From a handler of a signal: this thread may hold any lock, that of malloc among them. So it asks
 * a worker that is there and at rest, or nobody. */
static void worker_write_last_in_handler(uint64_t *left_ns)
{
    static struct worker_job job = {.run = worker_write_last}; /* never freed */
    bool is_next;
    if (!timed_lock(&worker.lock, WAIT_FOREVER)) {
        return;
    }
    worker.is_in_handler = true;
    job.argument = left_ns;
    if (worker_post(&job, &is_next)) {
        worker_await_job(&job, is_next);
    }
    pthread_mutex_unlock(&worker.lock);
}

/* By the worker, for a disk may not answer. If it was not a disk that had the time there was, but a
 * driver, the disk has as much again. */
__attribute__((destructor)) static void worker_write_last_snapshots(void)
{
    static uint64_t left_ns; /* of the process: what is abandoned reads it */
    left_ns = patience_limit(PATIENCE_AT_END);
    if (sandbox_is_closed()) {
        return;
    }
    const bool is_at_disk = (worker.busy && !worker.in_driver) || worker.jobs_under_way > 0;
    const uint64_t before_ns =
        patience_set(worker.clients && !is_at_disk ? PATIENCE_AT_END : left_ns);
    if (worker.is_in_handler || !worker.exiting) {
        worker_write_last_in_handler(&left_ns);
    } else {
        if (worker.clients) {
            worker_do(worker_write_last, NULL, &left_ns);
        }
        /* Of devices that were destroyed behind worker_close_clients, by handlers of the
         * program's. */
        worker_await_behind();
    }
    patience_set(before_ns);
}
