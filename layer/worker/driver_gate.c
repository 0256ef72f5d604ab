// SPDX-License-Identifier: Apache-2.0
#include "layer/worker/driver_gate.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/blobs/crash_page.h"
#include "layer/worker/own_thread.h"
#include "layer/worker/own_wait.h"

/* A program may make instances without end, and a handler stays for good. */
#define REGISTERED_MAX 1000

static struct {
    pthread_mutex_t lock;
    pthread_cond_t left; /* by the monotonic clock */
    unsigned inside;
    bool prepared;
    bool closed;
    void (*last)(void); /* called once, before it closes */
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void driver_gate_after_fork_in_child(void)
{
    pthread_mutex_init(&gate.lock, NULL);
    clock_condition_init(&gate.left);
    gate.inside = 0;
}

static void driver_gate_call_last(void)
{
    if (timed_lock(&gate.lock, WAIT_FOREVER)) {
        void (*last)(void) = gate.closed ? NULL : gate.last;
        gate.last = NULL;
        pthread_mutex_unlock(&gate.lock);
        if (last) {
            last();
        }
    }
}

/* From here on this thread waits 250 ms at most for all that is ours. The handler that was
 * registered last runs first and closes the gate; the others find it closed. */
static void driver_gate_close_at_exit(void)
{
    patience_set(patience_limit(PATIENCE_AT_END));
    driver_gate_call_last();
    crash_guard_end_all();
    if (!timed_lock(&gate.lock, WAIT_FOREVER)) {
        return;
    }
    gate.closed = true;
    while (gate.inside > 0 && timed_wait(&gate.left, &gate.lock, WAIT_FOREVER)) {
    }
    pthread_mutex_unlock(&gate.lock);
}

static void driver_gate_register(void)
{
    atexit(driver_gate_close_at_exit);
    at_quick_exit(driver_gate_close_at_exit);
}

void driver_gate_register_behind(uint64_t driver)
{
    static _Atomic uint64_t last;
    static atomic_uint times;
    if (atomic_exchange(&last, driver) != driver && driver != 0 &&
        atomic_fetch_add(&times, 1) < REGISTERED_MAX) {
        driver_gate_register();
    }
}

void driver_gate_prepare(void (*last)(void))
{
    pthread_mutex_lock(&gate.lock);
    gate.last = last;
    if (!gate.prepared) {
        clock_condition_init(&gate.left);
        pthread_atfork(NULL, NULL, driver_gate_after_fork_in_child);
        driver_gate_register();
        gate.prepared = true;
    }
    pthread_mutex_unlock(&gate.lock);
}

void driver_gate_withdraw(struct driver_permit *permit)
{
    const int cancel = own_thread_bar_cancel();
    pthread_mutex_lock(&gate.lock);
    atomic_store(&permit->withdrawn, true);
    /* In a forked child `inside` may tell of a thread of the parent's. */
    while (permit->inside > 0 && gate.inside > 0) {
        pthread_cond_wait(&gate.left, &gate.lock);
    }
    pthread_mutex_unlock(&gate.lock);
    own_thread_let_cancel(cancel);
}

bool driver_gate_enter(struct driver_permit *permit)
{
    pthread_mutex_lock(&gate.lock);
    bool entered = !gate.closed && !driver_permit_is_withdrawn(permit);
    gate.inside += entered;
    permit->inside += entered;
    pthread_mutex_unlock(&gate.lock);
    return entered;
}

void driver_gate_leave(struct driver_permit *permit)
{
    pthread_mutex_lock(&gate.lock);
    gate.inside--;
    permit->inside--;
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
