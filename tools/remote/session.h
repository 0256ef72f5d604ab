// SPDX-License-Identifier: Apache-2.0
/* What one call of pull, push, sync, run or remote has in hand: the remote, the root of the caches,
 * the devices of this machine and the programs that are meant. Belongs to one thread. */
#ifndef WARMPIPE_TOOLS_REMOTE_SESSION_H
#define WARMPIPE_TOOLS_REMOTE_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/cli/inventory.h"
#include "tools/cli/output.h"
#include "tools/recipes/recipe_tool.h"
#include "tools/remote/remote.h"
#include "tools/vulkan/vulkan_loader.h"
#include "tools/warm/warm.h"

struct session {
    struct remote remote;
    char *root;                    /* of the caches */
    struct vulkan_devices devices; /* of this machine, once they were asked for; without any, only
                                      recipes are pulled */
    struct inventory_apps apps;
    struct output *output;          /* gets a row for each head; NULL: nothing is shown */
    size_t told;                    /* rows */
    struct warm_coverage *coverage; /* of recipes that are pulled; NULL: it is not looked at */
};

/* Opens the remote for a root, which is freed with the session, also after a failure. False after a
 * message; also where `root` is NULL, whose message was the caller's. */
bool session_open(const struct remote_options *options, char *root, struct session *ret_session);
void session_close(struct session *session);

/* The programs are those that --app names; if none, all that the remote lists, or all of the root.
 * False after a message. */
bool session_apps_there(struct session *session, const struct arguments *arguments);
bool session_apps_here(struct session *session, const struct arguments *arguments);

/* A row of the table: what became of one head. `result`: where the reason is ok, else "failed";
 * `bytes`: of objects that were moved. */
void session_tell(struct session *session, const char *app, const struct head *head,
                  const char *identity_hex, enum status reason, const char *result, uint64_t bytes);

/* Fields after a table: what was moved. */
void session_show_traffic(struct session *session, struct output *output);

/* The parts of a recipes' head, to be merged, and their judge. */
struct session_recipes {
    struct recipe_judge judge;
    struct recipe_sources sources;
};

/* Fetches them. The first that fails is the result. Freed with session_recipes_free in any case. */
enum status session_recipes_get(struct remote *remote, const struct head *head,
                                struct session_recipes *ret_recipes);
void session_recipes_free(struct session_recipes *recipes);

/* Heads' paths. */
struct session_heads {
    char (*paths)[HEAD_PATH_SIZE];
    size_t count;
    const struct inventory_apps *apps; /* whose they are; NULL: anybody's */
    bool failed;                       /* memory was out */
};

/* The heads of the programs that --app names, or of all; arguments NULL: of all. Where the engine
 * cannot list, those of this machine's devices and the recipes' are tried, of programs that were
 * named. Not ok: after a message. Freed with session_heads_free. */
enum status session_find_heads(struct session *session, const struct arguments *arguments,
                               struct session_heads *ret_heads);
void session_heads_free(struct session_heads *heads);

/* What a program takes from a remote, and what it gives to one: pull.c, push.c; and what nobody
 * needs there any more: verbs/gc.c. Failures are shown and noted in the remote. */

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

/* Removes objects that no head names and that a run at least grace_ms ago has noted as such;
 * dry_run: counts them, and changes nothing. Shows how many there were. Gives the exit status. */
int gc_collect(struct session *session, uint64_t grace_ms, bool dry_run, struct output *output);

#endif
