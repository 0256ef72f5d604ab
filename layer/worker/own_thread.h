// SPDX-License-Identifier: Apache-2.0
/* Threads of our own in the program's process: their start, and whether there may be any. */
#ifndef WARMPIPE_LAYER_WORKER_OWN_THREAD_H
#define WARMPIPE_LAYER_WORKER_OWN_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

/* Starts a detached thread, named after us. It blocks all signals but those of its own faults,
 * since a program's handlers run on the program's threads. stack_size: bytes, beside what the
 * program keeps for each thread; pages are taken when they are used. False: no thread can be made,
 * or may be (a sandbox). */
bool own_thread_start(void *(*function)(void *argument), void *argument, size_t stack_size);

/* The calling thread, one of ours, is one that nobody waits for: it leaves the cores to the
 * program, and has no real-time priority of the thread that has started it; not in a sandbox. */
void own_thread_give_way(void);

/* A thread of this process (0: the calling one) with a higher rank runs first where there are not
 * enough cores: by its scheduling class and its niceness. Below 0: there is no such thread. Two
 * system calls at most. */
int own_thread_rank(pid_t thread);

/* Brackets what waits or uses files in a command of the program's, whose thread may be cancelled
 * (pthread_cancel): it would end there, with locks of ours. Some 5 ns. */
int own_thread_bar_cancel(void);
void own_thread_let_cancel(int before);

/* Whether the process has, or had, more than one thread. The second one makes malloc slower, and a
 * program that shuts itself in may count on having none. False also where the C library does not
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
