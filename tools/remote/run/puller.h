// SPDX-License-Identifier: Apache-2.0
/* The process beside a program that pulls. It knows no device: each of the program's processes asks
 * for the blob of its own (common/blobs/asked.h) and waits for the answer if it has none. A name
 * that does not resolve, a server that says nothing: whatever keeps the puller, the program waits
 * no longer than was set, and files are replaced whole or not at all. */
#ifndef WARMPIPE_TOOLS_REMOTE_RUN_PULLER_H
#define WARMPIPE_TOOLS_REMOTE_RUN_PULLER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tools/remote/run/run_session.h"

struct puller_state;

struct puller {
    pid_t process;              /* 0: there is none */
    int end_fd;                 /* closed, it tells the process to end; -1 */
    int folder_fd;              /* the program's folder */
    struct puller_state *state; /* what the process shows, in memory that is shared with it */
    uint64_t end_ns;            /* nanoseconds that it has once the program has ended */
    enum status gone_because;   /* once it has ended: what it has said of a remote that is gone */
    bool was_asking;            /* and it was ended while it waited for the remote */
};

/* Starts it, and tells the processes that this one starts from now on that somebody answers. Where
 * nothing may be written, or no process can be made, there is none, after a message. Signals that
 * are blocked now stay so in it. */
void puller_start(const struct run_remote *run, struct puller *ret_puller);

/* In the process that becomes the program: lets go of what tells the puller to end. is_left: nobody
 * else has it, so the program is not told that somebody answers. */
void puller_forget(const struct puller *puller, bool is_left);

/* Has it answer what was asked, and end; one that takes longer than a program waits for a pull is
 * killed, and soon where somebody wants the end: before (is_stopped), or by one of the signals
 * `stops`, which are blocked; *ret_stopped_ns is then when that came (clock_now_ns), and otherwise
 * left as it was. False: it could not open the remote, and has said so. */
bool puller_end(struct puller *puller, const sigset_t *stops, bool is_stopped,
                uint64_t *ret_stopped_ns);

#endif
