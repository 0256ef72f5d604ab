// SPDX-License-Identifier: Apache-2.0
/* `warmpipe run` with a remote: beside the program a process of its own pulls what it asks for
 * (puller.h), and when it has ended, this one pushes. Nothing that a remote does keeps the program
 * from starting. */
#ifndef WARMPIPE_TOOLS_REMOTE_RUN_RUN_REMOTE_H
#define WARMPIPE_TOOLS_REMOTE_RUN_RUN_REMOTE_H

#include "tools/remote/run/run_session.h"

/* Runs the command as a child by `execute`, which gives an exit status where it cannot, and passes
 * on the signals that this process is sent. Once it has ended, puts away a cache of the remote that
 * has killed it (death.h), pushes, and gives the leases back. Gives its exit status; where a signal
 * has killed it, does not return but dies of the same. Called with one thread. */
int run_remote_program(struct run_remote *run, char **command, int (*execute)(char **command));

#endif
