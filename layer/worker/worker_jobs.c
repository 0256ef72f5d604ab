// SPDX-License-Identifier: Apache-2.0
/* What a disk may keep, waited for or not, and the end of the process. */
#include <errno.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "layer/worker/own_thread.h"
#include "layer/worker/own_wait.h"
#include "layer/worker/sandbox.h"
#include "layer/worker/worker_state.h"

/* How long a job that comes next may wait for a core, on a busy machine: no disk is waited for. */
#define BEGIN_NS CLOCK_S

struct worker_state worker = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool worker_wait_until(pthread_cond_t *condition, uint64_t due)
{
    if (due == UINT64_MAX) {
        pthread_cond_wait(condition, &worker.lock);
        return true;
    }
    struct timespec until = clock_timespec(due);
    return pthread_cond_timedwait(condition, &worker.lock, &until) != ETIMEDOUT;
}

bool worker_start(void)
{
    if (!worker.started) {
        worker.started = own_thread_start(worker.run, NULL, WORKER_STACK_BYTES);
    }
    return worker.started;
}

void worker_call(struct worker_client *client, void (*function)(struct worker_client *client))
{
    worker.busy = client;
    pthread_mutex_unlock(&worker.lock);
    function(client);
    pthread_mutex_lock(&worker.lock);
    worker.busy = NULL;
    worker.orphaned = false;
    pthread_cond_broadcast(&worker.rested);
}

bool worker_run_job(void)
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
        worker.has_helper = own_thread_start(worker_help, NULL, WORKER_STACK_BYTES);
    }
    return worker.has_helper;
}

/* Under the lock. False: nobody would do it. *ret_is_next: a thread with nothing else to do will. A
 * job that is only queued occupies the worker, too: it may be one that nobody waits for, and hang.
 */
static bool worker_post(struct worker_job *job, bool *ret_is_next)
{
    struct worker_job **place = &worker.jobs;
    const bool is_occupied = worker.busy || worker.jobs_under_way > 0 || worker.jobs;
    *ret_is_next = !is_occupied || !worker.has_helper;
    const bool is_started = worker.is_in_handler ? worker.started : worker_start();
    if (!is_started || (is_occupied && (worker.is_in_handler || !worker_call_helper()))) {
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

/* Under the lock. */
static bool worker_has_device(void)
{
    const struct worker_client *client = worker.clients;
    while (client && client->outlives_devices) {
        client = client->next;
    }
    return client;
}

void worker_await_behind(void)
{
    pthread_mutex_lock(&worker.lock);
    while (worker.jobs_behind > 0 && timed_wait(&worker.rested, &worker.lock, WAIT_FOREVER)) {
    }
    if (worker.started && !worker_has_device()) {
        worker.is_dismissed = true;
        pthread_cond_signal(&worker.changed);
    }
    pthread_mutex_unlock(&worker.lock);
}

/* The end of the process. */

/* Whether this thread, which ends the process, seems to be in a handler of a signal: one that has a
 * handler is blocked, and was not when the first device was made. There it may have been
 * interrupted in malloc, or in a call of ours, and hold their locks. A handler that has the
 * thread's alternate stack is not running where the thread is not on that: Wine blocks the signals
 * of such handlers before each exit(). */
static inline __attribute__((always_inline)) bool worker_is_ended_by_handler(void)
{
    sigset_t blocked;
    stack_t alternate = {.ss_flags = SS_ONSTACK};
    bool is_handled = false;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    sigaltstack(NULL, &alternate);
    for (int i = 1; i < NSIG && !is_handled; i++) {
        struct sigaction action;
        is_handled = sigismember(&blocked, i) == 1 && sigismember(&worker.blocked, i) != 1 &&
                     sigaction(i, NULL, &action) == 0 && action.sa_handler != SIG_DFL &&
                     action.sa_handler != SIG_IGN &&
                     (alternate.ss_flags != 0 || !(action.sa_flags & SA_ONSTACK));
    }
    return is_handled;
}

/* The worker may be in a call: waits a moment for it to return. */
void worker_close_clients(void)
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
 * driver, the disk has as much again. Not so where the worker's lock could not be had: a thread
 * that was ended inside a call of ours has it for good. Wine ends all threads so, and half a second
 * later the process. */
__attribute__((destructor)) void worker_write_last_snapshots(void)
{
    static uint64_t left_ns; /* of the process: what is abandoned reads it */
    left_ns = patience_limit(PATIENCE_AT_END);
    if (sandbox_is_closed()) {
        return;
    }
    const bool is_at_disk = (worker.busy && !worker.in_driver) || worker.jobs_under_way > 0;
    const uint64_t before_ns =
        patience_set(worker.clients && worker.exiting && !is_at_disk ? PATIENCE_AT_END : left_ns);
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
