#include "flusher.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/clock.h"
#include "driver_gate.h"
#include "own_thread.h"
#include "timed_lock.h"

/* Longest wait, at exit, for a lock whose holder may be gone. */
#define EXIT_WAIT_NS (2 * CLOCK_S)

/* Longest wait, when a device goes, for a disk. */
#define DISK_WAIT_NS (5 * CLOCK_S)

/* Drivers merge and serialize on this stack; pages are only taken when they are used. */
#define STACK_BYTES (1024 * 1024)

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a client has come or is awake; both by the monotonic clock */
    pthread_cond_t rested;  /* the worker has ended a call, or left the driver */
    unsigned generation;    /* counts forks */
    struct flusher_client *clients;
    struct flusher_client *busy; /* whose work the worker does, without the lock */
    bool prepared;               /* handlers are registered */
    bool started;
    bool ended;     /* the last snapshots are written: nothing more is done */
    bool in_driver; /* the worker is in one */
    bool orphaned;  /* nobody waits any more for the client whose work the worker does */
} worker = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Under the lock: the client whose turn is next, and when. One that needs nothing falls asleep: it
 * is asked again after that, so that what comes in between is not missed. */
static struct flusher_client *next_client(uint64_t *ret_due)
{
    struct flusher_client *next = NULL;
    *ret_due = UINT64_MAX;
    for (struct flusher_client *client = worker.clients; client; client = client->next) {
        uint64_t due = client->due(client, clock_now_ns());
        if (due == UINT64_MAX) {
            __atomic_store_n(&client->awake, false, __ATOMIC_SEQ_CST);
            due = client->due(client, clock_now_ns());
        }
        if (due < *ret_due) {
            *ret_due = due;
            next = client;
        }
    }
    return next;
}

/* Under the lock. False: the time has come. */
static bool wait_until(pthread_cond_t *condition, uint64_t due)
{
    if (due == UINT64_MAX) {
        pthread_cond_wait(condition, &worker.lock);
        return true;
    }
    struct timespec until = clock_timespec(due);
    return pthread_cond_timedwait(condition, &worker.lock, &until) != ETIMEDOUT;
}

/* For the end of the process, when a thread that holds the lock may be gone. */
static bool lock_at_exit(void)
{
    return timed_lock(&worker.lock, EXIT_WAIT_NS);
}

static void *work(void *argument)
{
    (void)argument;
    prctl(PR_SET_NAME, "warmpipe");
    pthread_mutex_lock(&worker.lock);
    while (!worker.ended && !driver_gate_is_closed()) {
        uint64_t due = 0;
        struct flusher_client *client = next_client(&due);
        if (!client || due > clock_now_ns()) {
            wait_until(&worker.changed, due);
            continue;
        }
        worker.busy = client;
        pthread_mutex_unlock(&worker.lock);
        client->work(client);
        pthread_mutex_lock(&worker.lock);
        worker.busy = NULL;
        worker.orphaned = false;
        pthread_cond_broadcast(&worker.rested);
    }
    pthread_mutex_unlock(&worker.lock);
    return NULL;
}

/* Under the lock. */
static void start(void)
{
    worker.started = own_thread_start(work, NULL, STACK_BYTES);
}

static void init_conditions(void)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&worker.changed, &attributes);
    pthread_cond_init(&worker.rested, &attributes);
    pthread_condattr_destroy(&attributes);
}

static void after_fork_in_child(void)
{
    pthread_mutex_init(&worker.lock, NULL);
    init_conditions();
    worker.clients = NULL;
    worker.busy = NULL;
    worker.started = false;
    worker.in_driver = false;
    ++worker.generation;
}

__attribute__((destructor)) static void write_last_snapshots(void)
{
    if (!worker.clients || !lock_at_exit()) {
        return;
    }
    worker.ended = true;
    for (struct flusher_client *client = worker.clients; client; client = client->next) {
        client->last(client);
    }
    pthread_mutex_unlock(&worker.lock);
}

void flusher_add(struct flusher_client *client)
{
    pthread_mutex_lock(&worker.lock);
    if (!worker.prepared) {
        init_conditions();
        pthread_atfork(NULL, NULL, after_fork_in_child);
        driver_gate_prepare();
        worker.prepared = true;
    }
    client->awake = false;
    client->generation = worker.generation;
    client->next = worker.clients;
    worker.clients = client;
    pthread_mutex_unlock(&worker.lock);
}

bool flusher_remove(struct flusher_client *client)
{
    pthread_mutex_lock(&worker.lock);
    uint64_t until = UINT64_MAX;
    while (worker.busy == client) {
        if (worker.in_driver) {
            until = UINT64_MAX;
        } else if (until == UINT64_MAX) {
            until = clock_now_ns() + DISK_WAIT_NS;
        }
        if (!wait_until(&worker.rested, until) && !worker.in_driver) {
            break;
        }
    }
    worker.orphaned = worker.busy == client;
    bool free = !worker.orphaned && client->generation == worker.generation;
    struct flusher_client **place = &worker.clients;
    while (*place && *place != client) {
        place = &(*place)->next;
    }
    if (*place) {
        *place = client->next;
    }
    pthread_mutex_unlock(&worker.lock);
    return free;
}

void flusher_wake(struct flusher_client *client)
{
    if (__atomic_exchange_n(&client->awake, true, __ATOMIC_SEQ_CST)) {
        return;
    }
    pthread_mutex_lock(&worker.lock);
    if (!worker.started && !driver_gate_is_closed() && client->generation == worker.generation) {
        start();
    }
    pthread_cond_signal(&worker.changed);
    pthread_mutex_unlock(&worker.lock);
}

bool flusher_enter_driver(void)
{
    pthread_mutex_lock(&worker.lock);
    bool allowed = !worker.orphaned && driver_gate_enter();
    worker.in_driver = allowed;
    pthread_mutex_unlock(&worker.lock);
    return allowed;
}

void flusher_leave_driver(void)
{
    driver_gate_leave();
    pthread_mutex_lock(&worker.lock);
    worker.in_driver = false;
    pthread_cond_broadcast(&worker.rested);
    pthread_mutex_unlock(&worker.lock);
}
