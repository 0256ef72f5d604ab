// SPDX-License-Identifier: Apache-2.0
/* `warmpipe run` with a remote: beside the program a process of its own pulls what it asks for, and
 * when it has ended, this one pushes. Nothing that a remote does keeps the program from starting.
 * From bottom to top: death.c; puller_work.c (puller_work.h); puller.c; run_remote.c. */
#ifndef WARMPIPE_TOOLS_REMOTE_RUN_RUN_REMOTE_H
#define WARMPIPE_TOOLS_REMOTE_RUN_RUN_REMOTE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "tools/remote/lease.h"
#include "tools/remote/session.h"

/* What `warmpipe run` was told of its remote, which its processes open each for itself. */
struct run_remote {
    struct remote_options remote; /* verb "run"; secret_key NULL: nothing is pushed; what it has
                                     signed is trusted */
    const char *app;              /* the program's folder */
    const char *root;             /* of the caches */
    uint64_t wait_ms;             /* of the program for a pull, at most */
    uint64_t lease_wait_ms; /* for another machine that compiles, at most; 0: leases are not used */
    struct leases *leases;  /* that this run holds, in memory that is shared with the puller; NULL:
                               none */
};

/* Opens the remote for the program. False after a message. */
static inline bool run_session_open(const struct run_remote *run, struct session *ret_session)
{
    return session_open(&run->remote, strdup(run->root), ret_session) &&
           session_add_app(ret_session, run->app);
}

/* Runs the command as a child by `execute`, which gives an exit status where it cannot, and passes
 * on the signals that this process is sent. Once it has ended, puts away a cache of the remote that
 * has killed it, pushes, and gives the leases back. Gives its exit status; where a signal has
 * killed it, does not return but dies of the same. Called with one thread. */
int run_remote_program(struct run_remote *run, char **command, int (*execute)(char **command));

/* The process beside a program that pulls. It knows no device: each of the program's processes asks
 * for the blob of its own (common/blobs/asked.h) and waits for the answer if it has none. A name
 * that does not resolve, a server that says nothing: whatever keeps the puller, the program waits
 * no longer than was set, and files are replaced whole or not at all. */

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

/* A program that has died in its driver with a cache from the remote. A container that is thrown
 * away has no second start in which the layer would put the cache away (blobs/marker.h), so whoever
 * has started the program does it at the first death.
 *
 * Looks for processes that began to use a cache of the program after `since` (seconds since the
 * epoch) and died in a call that used it, or in the merge of a part. A cache, or a part, that is as
 * it was pulled, or pushed, is put in quarantine, is not pulled again by this machine, and is named
 * by the next push as blocked; one line says so. `crashed`: nobody has ended the program, so of
 * what is on trial (blobs/trial.h) any call will do; else it is one for a pipeline that recipes
 * know the cache to hold. Asks the remote nothing. */
void death_judge(struct session *session, const char *app, uint64_t since, bool crashed);

#endif
