// SPDX-License-Identifier: Apache-2.0
/* What a program gives to a remote. Failures are shown and noted in the remote. */
#ifndef WARMPIPE_TOOLS_REMOTE_PUSH_H
#define WARMPIPE_TOOLS_REMOTE_PUSH_H

#include <stdbool.h>

#include "tools/remote/session.h"

/* All programs of the session: each one's blobs that the remote lacks, of every driver that the
 * root has, and its recipes. */
void push_all(struct session *session, bool with_recipes);

/* Unites the program's recipes with those of the remote, and sends them if that adds any
 * (push_recipes.c). */
void push_recipes(struct session *session, const char *app);

#endif
