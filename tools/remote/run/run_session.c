// SPDX-License-Identifier: Apache-2.0
#include "tools/remote/run/run_session.h"

#include <string.h>

bool run_session_open(const struct run_remote *run, struct session *ret_session)
{
    return session_open(&run->remote, strdup(run->root), ret_session) &&
           session_add_app(ret_session, run->app);
}
