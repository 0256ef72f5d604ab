// SPDX-License-Identifier: Apache-2.0
/* Our own threads in the program's process: how they start, and whether there may be any. */
#ifndef WARMPIPE_LAYER_WORKER_OWN_THREAD_H
#define WARMPIPE_LAYER_WORKER_OWN_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

/* Starts a detached thread with a name of ours. It blocks all signals except those of its own
 * faults, because a program's signal handlers expect the program's threads. stack_size: bytes, in
 * addition to what the program keeps for each thread (thread-local storage); pages are allocated on
 * use. False: no thread can be made, or none may be (a sandbox). */
bool own_thread_start(void *(*function)(void *argument), void *argument, size_t stack_size);

/* For one of our threads that nobody waits for: it lowers its priority, and gives up a real-time
 * priority that it has inherited. Does nothing in a sandbox. */
void own_thread_give_way(void);

/* Returns the rank of a thread of this process (0: the calling one), from its scheduling class and
 * niceness. A thread of higher rank runs first if there are not enough cores. Below 0: there is no
 * such thread. Two system calls at most. */
int own_thread_rank(pid_t thread);

/* Brackets code that waits or uses files in a command that the program calls. It disables
 * pthread_cancel, which could end the program's thread while it holds our locks. Some 5 ns. */
int own_thread_bar_cancel(void);
void own_thread_let_cancel(int before);

/* Whether the process has, or had, more than one thread. A second thread makes malloc slower, and a
 * program that enters a sandbox may rely on having only one. Also false if the C library does not
 * tell (musl). */
static inline bool own_thread_is_one_of_many(void)
{
#if __has_include(<sys/single_threaded.h>)
    return !__libc_single_threaded;
#else
    return false;
#endif
}

#endif
