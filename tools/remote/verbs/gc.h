// SPDX-License-Identifier: Apache-2.0
/* `warmpipe remote gc`, in two runs. States of an object, and the function for each arrow:
 *
 *     1 named     a head names it
 *     2 unused    no head names it
 *     3 noted     a run has written it to the notes, with the time    gc_write_notes
 *     4 removed                                                       gc_remove
 *
 *     2 → 3   the first run                                           gc_sweep
 *     3 → 4   a run after the grace period finds it still unused      gc_sweep
 *     3 → 1   a pusher has named it: it leaves the notes              gc_sweep
 *     4 → 1   a pusher that names a removed object writes it again    object_keep
 *
 * Objects are listed before heads are read, so that a head written meanwhile counts. */
#ifndef WARMPIPE_TOOLS_REMOTE_VERBS_GC_H
#define WARMPIPE_TOOLS_REMOTE_VERBS_GC_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/remote/session.h"

/* Removes objects that no head names and that a run at least grace_ms ago has noted as such;
 * dry_run: counts them, and changes nothing. Shows how many there were. Gives the exit status. */
int gc_collect(struct session *session, uint64_t grace_ms, bool dry_run, struct output *output);

#endif
