// SPDX-License-Identifier: Apache-2.0
/* `warmpipe run` with a remote: a process beside the program pulls what the program asks for, and
 * this process pushes when the program has ended. Nothing that a remote does keeps the program from
 * starting. Files from bottom to top: death.c, puller_work.c; puller.c; run_remote.c. */
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

/* The remote of a `warmpipe run`, which each of its processes opens for itself. */
struct run_remote {
    struct remote_options remote; /* secret_key NULL: nothing is pushed; what this key has signed is
                                     trusted */
    const char *app;              /* the program's folder */
    const char *root;             /* of the caches */
    uint64_t wait_ms;             /* the longest wait of the program for a pull */
    uint64_t lease_wait_ms; /* the longest wait for another machine that compiles; 0: leases are not
                               used */
    struct leases *leases;  /* of this run, in memory that is shared with the puller; NULL: none */
};

/* Opens the remote for the program. False after a message. */
static inline bool run_session_open(const struct run_remote *run, struct session *ret_session)
{
    return session_open(&run->remote, strdup(run->root), ret_session) &&
           inventory_apps_add(&ret_session->apps, run->app, INVENTORY_PROGRAM);
}

/* Runs the command as a child by `execute`, which returns an exit status if it fails, and passes on
 * the signals that this process receives. When the child has ended, puts away a pulled cache that
 * has killed it, pushes, and gives the leases back. Returns the child's exit status; if a signal
 * has killed it, does not return but dies of the same. Called with one thread. */
int run_remote_program(struct run_remote *run, char **command, int (*execute)(char **command));

/* Handles the death of a program in its driver with a cache from the remote. A throw-away container
 * has no second start in which the layer would put the cache away (blobs/marker.h), so `run` does
 * it at the first death.
 *
 * Looks for processes that began to use a cache of the program after `since` (seconds since the
 * epoch) and died in a call that used it, or in the merge of a part. If the cache or part is as it
 * was pulled, or pushed, it is put in quarantine, this machine does not pull it again, and the next
 * push marks it as blocked; one line says so. `crashed`: nobody has ended the program, so for a
 * blob on trial (blobs/trial.h) any call counts; otherwise only a call for a pipeline that recipes
 * know the cache to hold. Asks the remote nothing. */
void death_judge(struct session *session, const char *app, uint64_t since, bool crashed);

/* The process beside a program that pulls. It knows no device: each of the program's processes asks
 * for the blob of its own (common/blobs/asked.h) and waits for the answer if it has none. Whatever
 * delays the puller (a name that does not resolve, a silent server), the program waits no longer
 * than was set, and files are replaced whole or not at all. */

struct puller_state;

struct puller {
    pid_t process;              /* 0: there is none */
    int end_fd;                 /* closing it tells the process to end; -1 */
    int folder_fd;              /* the program's folder */
    struct puller_state *state; /* the process's state, in memory that is shared with it */
    uint64_t end_ns;            /* how long it may go on after the program has ended, nanoseconds */
    enum status gone_because; /* after its end: the reason that it has reported for a gone remote */
    bool was_asking;          /* it was ended while it waited for the remote */
};

/* Starts it, and tells the processes that this one starts from now on that a run answers. If
 * nothing may be written, or no process can be made, there is no puller, after a message. Signals
 * that are blocked now stay blocked in it. */
void puller_start(const struct run_remote *run, struct puller *ret_puller);

/* In the process that becomes the program: closes what tells the puller to end. is_left: no other
 * process has it, so the program is not told that a run answers. */
void puller_forget(const struct puller *puller, bool is_left);

/* Has it answer what was asked, and end. If that takes longer than a program waits for a pull, it
 * is killed; it is killed soon if the user wants the end, before (is_stopped) or now, by one of the
 * signals `stops`, which are blocked. *ret_stopped_ns is set to the time of such a signal
 * (clock_now_ns), and otherwise left as it was. False: it could not open the remote, and has said
 * so. */
bool puller_end(struct puller *puller, const sigset_t *stops, bool is_stopped,
                uint64_t *ret_stopped_ns);

/* The puller's work (run_remote.h): answers what the program's processes ask, from a remote that it
 * opens itself. States of a device that was asked for:
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

/* The state that its parent reads. */
struct puller_state {
    atomic_bool is_told;     /* it has reported a failure */
    atomic_bool is_asking;   /* it waits for the remote */
    atomic_bool is_barred;   /* it could not open the remote, and has reported that */
    atomic_bool is_late;     /* nobody waits for its current work */
    atomic_bool is_done;     /* all its work is done: nobody waits for its end */
    atomic_int gone_because; /* enum status; STATUS_ok: the remote answers */
};

/* Converts to nanoseconds, limited to the longest wait. */
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
    uint64_t look_ns;               /* when the leases are checked next */
    struct local_identities second; /* another run in this folder was asked first */
    bool stands_back;               /* this one waits for it */
    uint64_t turn_ns;               /* until then */
    struct local_identities late;   /* those answered before the end of their pull */
    uint64_t late_ns;               /* when these are pulled, if no device waits for a lease */
    uint64_t gone_until_ns;         /* until this time nobody waits for the remote */
    bool is_slow;                   /* it was answering when it was found gone */
    bool has_recipes;               /* they were asked for */
    uint64_t rest_ns;               /* if nothing is asked until this time it rests; 0: it rests */
    struct puller_state *state;
    int folder_fd;
    int changes_fd; /* watches the folder; -1: the kernel does not tell of changes */
    char token[UNIQUE_HEX_SIZE];
};

/* Answers until the pipe of `end_fd` is closed, and what was asked by then. */
void puller_serve(struct puller_work *work, const struct file_owned *served, int end_fd);

#endif
