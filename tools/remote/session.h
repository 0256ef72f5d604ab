// SPDX-License-Identifier: Apache-2.0
/* The state of one call of pull, push, sync, run or remote: the remote, the root of the caches,
 * this machine's devices and the chosen programs. Belongs to one thread. */
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
    struct vulkan_devices devices; /* once queried; with none, only recipes are pulled */
    struct inventory_apps apps;
    struct output *output;          /* gets a row for each head; NULL: nothing is shown */
    size_t told;                    /* rows */
    struct warm_coverage *coverage; /* of pulled recipes; NULL: it is not collected */
};

/* Opens the remote for a root, which is freed with the session, also after a failure. False after a
 * message; also if `root` is NULL, for which the caller has printed one. */
bool session_open(const struct remote_options *options, char *root, struct session *ret_session);
void session_close(struct session *session);

/* Chooses the programs: those that --app names; otherwise all that the remote lists (_there), or
 * all of the root (_here). False after a message. */
bool session_apps_there(struct session *session, const struct arguments *arguments);
bool session_apps_here(struct session *session, const struct arguments *arguments);

/* Adds a row to the table: what happened to one head. `result` is shown if the reason is ok, else
 * "failed"; `bytes`: of transferred objects. */
void session_tell(struct session *session, const char *app, const struct head *head,
                  const char *identity_hex, enum status reason, const char *result, uint64_t bytes);

/* Adds fields after a table: the traffic. */
void session_show_traffic(struct session *session, struct output *output);

/* The parts of a recipes' head, to be merged, and their judge. */
struct session_recipes {
    struct recipe_judge judge;
    struct recipe_sources sources;
};

/* Fetches the parts. The first failure is the result. Freed with session_recipes_free in any case.
 */
enum status session_recipes_get(struct remote *remote, const struct head *head,
                                struct session_recipes *ret_recipes);
void session_recipes_free(struct session_recipes *recipes);

/* Heads' paths. */
struct session_heads {
    char (*paths)[HEAD_PATH_SIZE];
    size_t count;
    const struct inventory_apps *apps; /* whose they are; NULL: anybody's */
    bool failed;                       /* memory was out */
    bool are_guesses;                  /* the server cannot list: not all have to be there */
};

/* Lists the heads of the programs that --app names, or of all; arguments NULL: of all. If the
 * engine cannot list, tries those of this machine's devices and of recipes, for programs that were
 * named. Not ok: after a message. Freed with session_heads_free. */
enum status session_find_heads(struct session *session, const struct arguments *arguments,
                               struct session_heads *ret_heads);
void session_heads_free(struct session_heads *heads);

/* pull.c, push.c: transfer a program's caches and recipes. verbs/gc.c: removes unused objects. They
 * show failures, and note them in the remote. */

/* Pulls all programs of the session: each one's blobs for the devices here and for those that
 * programs have looked for in the root; if one of these then still has none, also its recipes. */
void pull_all(struct session *session);

/* Pulls the blob of one device. Returns whether the program then has one here. */
bool pull_blob(struct session *session, const char *app, const char *identity_hex);

/* Pulls the program's recipes. Returns whether it has those of the remote here. */
bool pull_recipes(struct session *session, const char *app);

/* Pushes all programs of the session: each one's blobs that the remote lacks, of every driver in
 * the root, and its recipes. */
void push_all(struct session *session, bool with_recipes);

/* Removes objects that no head names, and that a run at least grace_ms ago has noted as unused;
 * dry_run: counts them, and changes nothing. Shows how many there were. Returns the exit status. */
int gc_collect(struct session *session, uint64_t grace_ms, bool dry_run, struct output *output);

#endif
