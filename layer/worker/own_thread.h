// SPDX-License-Identifier: Apache-2.0
/* Threads of our own in the program's process. */
#ifndef WARMPIPE_LAYER_WORKER_OWN_THREAD_H
#define WARMPIPE_LAYER_WORKER_OWN_THREAD_H

#include <stdbool.h>
#include <stddef.h>

/* The niceness, as of setpriority(2), of threads that nobody waits for. */
#define OWN_THREAD_NICE 10

/* Starts a detached thread, named after us. It blocks all signals but those of its own faults,
 * since a program's handlers run on the program's threads. stack_size: bytes; pages are taken when
 * they are used. False: no thread can be made, or may be (a sandbox). */
bool own_thread_start(void *(*function)(void *argument), void *argument, size_t stack_size);

#endif
