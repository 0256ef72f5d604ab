// SPDX-License-Identifier: Apache-2.0
/* What `warmpipe run` was told of its remote, which its processes open each for itself. */
#ifndef WARMPIPE_TOOLS_REMOTE_RUN_RUN_SESSION_H
#define WARMPIPE_TOOLS_REMOTE_RUN_RUN_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tools/remote/lease.h"
#include "tools/remote/session.h"

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

#endif
