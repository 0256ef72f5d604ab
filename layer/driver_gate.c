#include "driver_gate.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "timed_lock.h"

/* Longest wait, at exit, for driver calls that are under way. */
#define EXIT_WAIT_S 2

static struct {
    pthread_mutex_t lock;
    pthread_cond_t left; /* by the monotonic clock */
    unsigned inside;
    bool prepared;
    bool closed;
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void init_condition(void)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&gate.left, &attributes);
    pthread_condattr_destroy(&attributes);
}

static void after_fork_in_child(void)
{
    pthread_mutex_init(&gate.lock, NULL);
    init_condition();
    gate.inside = 0;
}

static void close_at_exit(void)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += EXIT_WAIT_S;
    if (!timed_lock(&gate.lock, EXIT_WAIT_S * CLOCK_S)) {
        return;
    }
    gate.closed = true;
    while (gate.inside > 0 && pthread_cond_timedwait(&gate.left, &gate.lock, &until) != ETIMEDOUT) {
    }
    pthread_mutex_unlock(&gate.lock);
}

void driver_gate_prepare(void)
{
    pthread_mutex_lock(&gate.lock);
    if (!gate.prepared) {
        init_condition();
        pthread_atfork(NULL, NULL, after_fork_in_child);
        atexit(close_at_exit);
        gate.prepared = true;
    }
    pthread_mutex_unlock(&gate.lock);
}

bool driver_gate_enter(void)
{
    pthread_mutex_lock(&gate.lock);
    bool entered = !gate.closed;
    gate.inside += entered;
    pthread_mutex_unlock(&gate.lock);
    return entered;
}

void driver_gate_leave(void)
{
    pthread_mutex_lock(&gate.lock);
    --gate.inside;
    pthread_cond_broadcast(&gate.left);
    pthread_mutex_unlock(&gate.lock);
}

bool driver_gate_is_closed(void)
{
    pthread_mutex_lock(&gate.lock);
    bool closed = gate.closed;
    pthread_mutex_unlock(&gate.lock);
    return closed;
}
