// SPDX-License-Identifier: Apache-2.0
/* What a program takes from a remote, and what it gives to one: pull.c, push.c, push_recipes.c.
 * Failures are shown and noted in the remote. */
#ifndef WARMPIPE_TOOLS_REMOTE_EXCHANGE_H
#define WARMPIPE_TOOLS_REMOTE_EXCHANGE_H

#include <stdbool.h>

#include "tools/remote/session.h"

/* All programs of the session: each one's blobs for the devices here and for those that programs
 * have looked for in the root and, where one of them then still has none, its recipes. */
void pull_all(struct session *session);

/* The blob of one device alone. Whether the program then has one here. */
bool pull_blob(struct session *session, const char *app, const char *identity_hex);

/* The program's recipes. Whether it has those of the remote here. */
bool pull_recipes(struct session *session, const char *app);

/* All programs of the session: each one's blobs that the remote lacks, of every driver that the
 * root has, and its recipes. */
void push_all(struct session *session, bool with_recipes);

/* Unites the program's recipes with those of the remote, and sends them if that adds any
 * (push_recipes.c). */
void push_recipes(struct session *session, const char *app);

#endif
