// SPDX-License-Identifier: Apache-2.0
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
#ifndef WARMPIPE_TOOLS_REMOTE_RUN_PULLER_WORK_H
#define WARMPIPE_TOOLS_REMOTE_RUN_PULLER_WORK_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/clock.h"
#include "common/blobs/asked.h"
#include "common/files/file.h"
#include "tools/remote/run/run_remote.h"

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
