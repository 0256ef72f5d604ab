// SPDX-License-Identifier: Apache-2.0
/* `warmpipe run` with a remote: beside the program a process of its own pulls what it asks for
 * (puller.h), and when it has ended, this one pushes. Nothing that a remote does keeps the program
 * from starting. */
#ifndef WARMPIPE_TOOLS_REMOTE_RUN_RUN_REMOTE_H
#define WARMPIPE_TOOLS_REMOTE_RUN_RUN_REMOTE_H

#include <stdint.h>

#include "tools/remote/lease.h"
#include "tools/remote/session.h"

struct run_remote {
    const char *url;        /* NULL: WARMPIPE_REMOTE */
    const char *public_key; /* files; NULL: as remote_options says */
    const char *secret_key; /* NULL: nothing is pushed */
    const char *state;      /* folder of what is remembered; NULL: that of the user */
    const char *app;        /* the program's folder */
    const char *root;       /* of the caches */
    uint64_t wait_ms;       /* of the program for a pull, at most */
    uint64_t lease_wait_ms; /* for another machine that compiles, at most; 0: leases are not used */
    struct leases *leases;  /* that this run holds, in memory that is shared with the puller; NULL:
                               none */
};

/* Opens the remote for the program. False after a message. */
bool run_remote_open(const struct run_remote *run, struct session *ret_session);

/* Runs the command as a child by `execute`, which gives an exit status where it cannot, and passes
 * on the signals that this process is sent. Once it has ended, puts away a cache of the remote that
 * has killed it (death.h), pushes, and gives the leases back. Gives its exit status; where a signal
 * has killed it, does not return but dies of the same. Called with one thread. */
int run_remote_program(struct run_remote *run, char **command, int (*execute)(char **command));

#endif
