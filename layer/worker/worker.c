// SPDX-License-Identifier: Apache-2.0
#include "layer/worker/worker_state.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "layer/worker/driver_gate.h"
#include "layer/worker/own_thread.h"
#include "layer/worker/own_wait.h"
#include "layer/worker/sandbox.h"

/* Who waits so long for a driver tells the client, and then again so often. */
#define OVERDUE_NS      PATIENCE_AT_END
#define OVERDUE_POLL_NS (50 * CLOCK_MS)

/* Nobody is known to be in need of the worker before that: who comes to be meanwhile wakes it. */
#define FAR_NS CLOCK_S

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

/* Under the lock: what a sandbox allows, and when it is to be done next. */
static uint64_t worker_look_in_memory(void)
{
    uint64_t next = UINT64_MAX;
    for (struct worker_client *client = worker.clients; client; client = client->next) {
        const uint64_t due = client->in_memory ? client->in_memory(client) : UINT64_MAX;
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
        const uint64_t now_ns = clock_now_ns();
        bool waits = !client || due > now_ns;
        if (!waits && client->in_memory) {
            client->in_memory(client);
            waits = client->due(client, now_ns) > now_ns;
            due = now_ns; /* gives up the lock for once: a clock may be past what comes next each
                             time */
        }
        if (waits) {
            worker_wait_until(&worker.changed, due);
            continue;
        }
        if (sandbox_is_closed()) {
            worker_wait_until(&worker.changed, worker_look_in_memory());
            continue;
        }
        worker_call(client, client->work);
    }
    worker.started = false;
    pthread_mutex_unlock(&worker.lock);
    return NULL;
}

static void worker_init_conditions(void)
{
    clock_condition_init(&worker.changed);
    clock_condition_init(&worker.rested);
}

/* Of the parent's state only what it has prepared is the child's, too. */
static void worker_after_fork_in_child(void)
{
    own_wait_after_fork_in_child();
    worker = (struct worker_state){
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .generation = worker.generation + 1,
        .prepared = true,
        .run = worker_run,
        .is_dismissed = worker.is_dismissed,
        .blocked = worker.blocked,
    };
    worker_init_conditions();
}

void worker_add(struct worker_client *client)
{
    pthread_mutex_lock(&worker.lock);
    if (!worker.prepared) {
        worker_init_conditions();
        pthread_atfork(NULL, NULL, worker_after_fork_in_child);
        at_quick_exit(worker_write_last_snapshots); /* runs no destructors; the gate's runs first */
        driver_gate_prepare(worker_close_clients);
        pthread_sigmask(SIG_BLOCK, NULL, &worker.blocked);
        worker.run = worker_run;
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
    if (!driver_gate_is_closed() && client->generation == worker.generation) {
        worker_start();
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
