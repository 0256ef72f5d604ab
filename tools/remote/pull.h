// SPDX-License-Identifier: Apache-2.0
/* What a program takes from a remote. Failures are shown and noted in the remote. */
#ifndef WARMPIPE_TOOLS_REMOTE_PULL_H
#define WARMPIPE_TOOLS_REMOTE_PULL_H

#include <stdbool.h>

#include "tools/remote/session.h"

/* All programs of the session: each one's blobs for the devices here and for those that programs
 * have looked for in the root and, where one of them then still has none, its recipes. */
void pull_all(struct session *session);

/* The blob of one device alone. Whether the program then has one here. */
bool pull_blob(struct session *session, const char *app, const char *identity_hex);

/* The program's recipes. Whether it has those of the remote here. */
bool pull_recipes(struct session *session, const char *app);

#endif
