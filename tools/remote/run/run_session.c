// SPDX-License-Identifier: Apache-2.0
#include "tools/remote/run/run_session.h"

#include <string.h>

bool run_session_open(const struct run_remote *run, struct session *ret_session)
{
    const struct remote_options options = {
        .verb = "run",
        .url = run->url,
        .public_key = run->public_key,
        .secret_key = run->secret_key, /* what it has signed is trusted */
        .state = run->state,
    };
    return session_open(&options, strdup(run->root), ret_session) &&
           session_add_app(ret_session, run->app);
}
