// SPDX-License-Identifier: Apache-2.0
/* `warmpipe run` with a remote: beside the program a process of its own pulls what it asks for, and
 * when it has ended, this one pushes. Nothing that a remote does keeps the program from starting.
 * From bottom to top: death.c, puller_work.c; puller.c; run_remote.c. */
#ifndef WARMPIPE_TOOLS_REMOTE_RUN_RUN_REMOTE_H
#define WARMPIPE_TOOLS_REMOTE_RUN_RUN_REMOTE_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "common/base/clock.h"
#include "common/blobs/asked.h"
#include "common/files/file.h"
#include "tools/remote/remote.h"
#include "tools/remote/session.h"

/* What `warmpipe run` was told of its remote, which its processes open each for itself. */
struct run_remote {
    struct remote_options remote; /* secret_key NULL: nothing is pushed; what it has
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
           inventory_apps_add(&ret_session->apps, run->app, INVENTORY_PROGRAM);
}

/* Runs the command as a child by `execute`, which gives an exit status where it cannot, and passes
 * on the signals that this process is sent. Once it has ended, puts away a cache of the remote that
 * has killed it, pushes, and gives the leases back. Gives its exit status; where a signal has
 * killed it, does not return but dies of the same. Called with one thread. */
int run_remote_program(struct run_remote *run, char **command, int (*execute)(char **command));

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

/* What the process beside a program does (run_remote.h): answers what the program's processes ask,
 * from a remote that it opens itself. What becomes of a device that was asked for, and the function
 * for each arrow:
 *
 *     1 asked     a file <identity>.<token>.asked
 *     2 waits     there is no blob, and another machine has the lease
 *     3 late      the program went on without it
 *     4 answered  the file is gone
 *
 *     1 → 1   another run in this folder pulls the same now     puller_is_turn
 *     1 → 4   pulled, or there is nothing                       puller_answer
 *     1 → 2   there is nothing yet                              puller_answer
 *     2 → 4   pulled, or this run has the lease, or time is over  puller_look_at_lease
 *     1, 2 → 3 and 4  the remote talks, but time is over        puller_note_gone
 *     1 → 4, or 3 and 4  it was gone for another device          puller_pull
 *     3 → 4   pulled for the next save, or the next start       puller_pull_late
 */

/* What it shows its parent. */
struct puller_state {
    atomic_bool is_told;     /* it has said what failed */
    atomic_bool is_asking;   /* it waits for the remote */
    atomic_bool is_barred;   /* it could not open the remote, and has said so */
    atomic_bool is_late;     /* nobody waits for what it does now */
    atomic_bool is_done;     /* all that it does is done: its end is not waited for */
    atomic_int gone_because; /* enum status; STATUS_ok: the remote answers */
};

/* In nanoseconds, no longer than anybody waits. */
static inline uint64_t puller_ns(uint64_t ms)
{
    return (ms < ASKED_WAIT_LIMIT_MS ? ms : ASKED_WAIT_LIMIT_MS) * CLOCK_MS;
}

/* A device that waits for another machine's lease. */
struct puller_waiter {
    char hex[DIGEST_HEX_SIZE];
    uint64_t until_ns;
};

struct puller_work {
    const struct run_remote *run;
    struct session session; /* root NULL: the remote could not be opened */
    struct local_identities answered;
    struct puller_waiter waiters[LOCAL_IDENTITIES];
    size_t waiter_count;
    uint64_t look_ns;               /* when the leases are looked at next */
    struct local_identities second; /* another run in this folder was asked before */
    bool stands_back;               /* and is waited for */
    uint64_t turn_ns;               /* until then */
    struct local_identities late;   /* whose answer came before the end of their pull */
    uint64_t late_ns;               /* when that is pulled, if no device waits for a lease */
    uint64_t gone_until_ns;         /* until then nobody waits for the remote */
    bool is_slow;                   /* it talked, when it was found gone */
    bool has_recipes;               /* they were asked for */
    uint64_t rest_ns;               /* if nothing is asked until then it rests; 0: it does */
    struct puller_state *state;
    int folder_fd;
    int changes_fd; /* watches the folder; -1: the kernel does not tell of changes */
    char token[UNIQUE_HEX_SIZE];
};

/* Answers until the pipe of which `end_fd` is one end is closed, and what was asked by then. */
void puller_serve(struct puller_work *work, const struct file_owned *served, int end_fd);

#endif
