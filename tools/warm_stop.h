/* SIGINT and SIGTERM end a run early, which keeps what it has. They are heard of only while it
 * waits, so that nothing else is ever interrupted. */
#ifndef WARMPIPE_TOOLS_WARM_STOP_H
#define WARMPIPE_TOOLS_WARM_STOP_H

#include <stdbool.h>
#include <stdint.h>

/* From now on. Called once. */
void warm_stop_prepare(void);

/* Whether one of them has come. */
bool warm_stop_is_wanted(void);

/* How many have been heard of. */
int warm_stop_count(void);

/* Waits until there is something to read from the descriptor, or its other end is closed. False:
 * one of the signals has come, or the time has (clock_now_ns). */
bool warm_stop_wait(int fd, uint64_t until_ns);

#endif
