// SPDX-License-Identifier: Apache-2.0
/* What a program takes from a remote, and what it gives to one: pull.c, push.c, push_recipes.c; and
 * what nobody needs there any more: verbs/gc.c. Failures are shown and noted in the remote. */
#ifndef WARMPIPE_TOOLS_REMOTE_EXCHANGE_H
#define WARMPIPE_TOOLS_REMOTE_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

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

/* Removes objects that no head names and that a run at least grace_ms ago has noted as such;
 * dry_run: counts them, and changes nothing. Shows how many there were. Gives the exit status. */
int gc_collect(struct session *session, uint64_t grace_ms, bool dry_run, struct output *output);

#endif
