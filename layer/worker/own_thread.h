// SPDX-License-Identifier: Apache-2.0
/* Threads of our own in the program's process: whether there may be any, their start, and what they
 * and the program's threads wait with. */
#ifndef WARMPIPE_LAYER_WORKER_OWN_THREAD_H
#define WARMPIPE_LAYER_WORKER_OWN_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/single_threaded.h>
#include <sys/types.h>

#include "common/base/clock.h"

/* The niceness, as of setpriority(2), of threads that nobody waits for. */
#define OWN_THREAD_NICE 10

/* Starts a detached thread, named after us. It blocks all signals but those of its own faults,
 * since a program's handlers run on the program's threads. stack_size: bytes; pages are taken when
 * they are used. False: no thread can be made, or may be (a sandbox). */
bool own_thread_start(void *(*function)(void *argument), void *argument, size_t stack_size);

/* A thread of this process (0: the calling one) with a higher rank runs first where there are not
 * enough cores: by its scheduling class and its niceness. Below 0: there is no such thread. Two
 * system calls at most. */
int own_thread_rank(pid_t thread);

/* Whether the process has, or had, more than one thread. The second one makes malloc slower, and a
 * program that shuts itself in may count on having none. */
static inline bool own_thread_is_one_of_many(void)
{
    return !__libc_single_threaded;
}

/* What threads of the program and of ours wait with: conditions and locks by the monotonic clock,
 * which does not jump when somebody sets the time. And what of a time is want of a core, on a
 * machine that is busy: nothing takes longer for that, and no disk is slow. */

/* How long a thread is at something, less the time in which it waited for a core: what it would
 * take on a machine that has nothing else to do, whatever its niceness. Where /proc does not tell,
 * the time by the clock. */
struct own_wait_timer {
    pid_t thread;
    uint64_t start_ns;
    uint64_t ran_ns;    /* until then */
    uint64_t waited_ns; /* for a core, until then */
};

/* Of the thread that calls it; a few system calls. */
struct own_wait_timer own_wait_timer_start(void);

/* The same without reading anything, for what comes early in the life of its thread and hardly ever
 * takes long: what it waited for a core before is taken for waits of the call, as far as it did not
 * run in that time. */
struct own_wait_timer own_wait_timer_start_early(void);

/* Nanoseconds since then, exact from a millisecond on; from any thread of the process. */
uint64_t own_wait_timer_elapsed(const struct own_wait_timer *timer);

#define WAIT_FOREVER UINT64_MAX

/* Takes a lock whose holder may be gone, as at the end of a process, or be at a disk that does not
 * answer. False: it was held for all of wait_ns, or for as long as this thread has patience
 * (base/clock.h). Tries every millisecond, unless it is WAIT_FOREVER for a thread of no limit.
 * (pthread_mutex_timedlock goes by the time of day, and its monotonic sister is missing in some C
 * libraries.) */
bool timed_lock(pthread_mutex_t *lock, uint64_t wait_ns);

/* Waits for a condition by the monotonic clock, as long as this thread has patience, and no longer
 * than wait_ns. False: that time has passed. */
bool timed_wait(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t wait_ns);

/* The calling thread is one of ours, and may be waited for from now on, until _leave with what this
 * returned. */
unsigned own_wait_enter(void);
void own_wait_leave(unsigned place);

/* In a forked child: none of ours is here. */
void own_wait_after_fork_in_child(void);

/* Whether the program has shut itself into a sandbox: a seccomp filter that came after its first
 * device (hazard 86). Such a filter may kill the process for any system call that the layer makes
 * and the program does not, and nothing can tell before which calls these are. So from then on the
 * layer makes no thread, opens, writes and removes no file.
 *
 * Filters from before the first device are none of this: containers have one from their start, and
 * whoever makes a device opens files. */

/* Notes how many filters the process has; to be called while a device is made. Only the first call
 * of a process counts. Opens /proc/self/status, and keeps the descriptor. False: there are more
 * filters now. Thread-safe. */
bool sandbox_note_open(void);

/* Whether there are more filters now: to be asked before each piece of work that makes other system
 * calls than the program does. Reads the kept descriptor, some 20 us, and makes no other call: not
 * prctl(2), for which Chromium's filters end the process. False where it cannot be told: without
 * /proc, in the child of a fork until it makes a device, and where the filter is not on the first
 * thread of the process. Thread-safe. */
bool sandbox_is_closed(void);

#endif
