// SPDX-License-Identifier: Apache-2.0
/* Actions of `warmpipe remote` that have files of their own. Each gives the exit status. */
#ifndef WARMPIPE_TOOLS_REMOTE_VERBS_REMOTE_ACTIONS_H
#define WARMPIPE_TOOLS_REMOTE_VERBS_REMOTE_ACTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/remote/session.h"

struct remote_request {
    const char *const *apps; /* none: all */
    int app_count;
    bool dry_run;
    uint64_t grace_ms;
};

/* Asks for a value, for a listing, and with a secret key tries to write. */
int remote_check(struct session *session, const struct remote_request *request,
                 struct output *output);

/* Removes objects that no head names and that a run at least grace_ms ago has noted as such (gc.c).
 */
int remote_gc(struct session *session, const struct remote_request *request, struct output *output);

/* Makes warmpipe.key and warmpipe.pub in the folder, which is made; NULL: none was named. Neither
 * may be there. */
int remote_keygen(const char *folder, bool json);

#endif
