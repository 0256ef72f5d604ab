/* Threads of our own in the program's process. They block all signals but those of their own
 * faults: a program's handlers run on the program's threads. */
#ifndef WARMPIPE_LAYER_OWN_THREAD_H
#define WARMPIPE_LAYER_OWN_THREAD_H

#include <stdbool.h>
#include <stddef.h>

/* What threads do that nobody waits for, in the unit of setpriority(2). */
#define OWN_THREAD_NICE 10

/* Starts a detached thread. stack_size: bytes; pages are only taken when they are used. False:
 * there can be no thread (a sandbox). */
bool own_thread_start(void *(*function)(void *argument), void *argument, size_t stack_size);

#endif
