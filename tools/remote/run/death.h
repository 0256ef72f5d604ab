// SPDX-License-Identifier: Apache-2.0
/* A program that has died in its driver with a cache from the remote. A container that is thrown
 * away has no second start in which the layer would put the cache away (blobs/marker.h), so whoever
 * has started the program does it at the first death. */
#ifndef WARMPIPE_TOOLS_REMOTE_DEATH_H
#define WARMPIPE_TOOLS_REMOTE_DEATH_H

#include <stdint.h>

#include "tools/remote/session.h"

/* Looks for processes that began to use a cache of the program after `since` (seconds since the
 * epoch) and died in a call that used it, or in the merge of a part. A cache, or a part, that is as
 * it was pulled, or pushed, is put in quarantine, is not pulled again by this machine, and is named
 * by the next push as blocked; one line says so. `crashed`: nobody has ended the program, so of
 * what is on trial (blobs/trial.h) any call will do; else it is one for a pipeline that recipes
 * know the cache to hold. Asks the remote nothing. */
void death_judge(struct session *session, const char *app, uint64_t since, bool crashed);

#endif
