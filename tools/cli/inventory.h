// SPDX-License-Identifier: Apache-2.0
/* The contents of the root of the caches: programs, and what each has for which device. Not
 * thread-safe. */
#ifndef WARMPIPE_TOOLS_CLI_INVENTORY_H
#define WARMPIPE_TOOLS_CLI_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/blobs/envelope.h"
#include "common/files/names.h"
#include "common/files/program.h"
#include "common/quota/quota.h"
#include "tools/cli/output.h"
#include "tools/cli/verb.h"

/* A folder beside the programs: the drivers' own caches, if `run --dir` has made it. */
#define INVENTORY_DRIVER_FOLDER "driver"

/* What one program has for one device. */
struct inventory_item {
    const char *app;
    char digest[DIGEST_HEX_SIZE];    /* of the identity; "": the folder has no cache file */
    bool identified;                 /* identity is filled */
    struct driver_identity identity; /* from the file's header */
    uint64_t bytes;                  /* of cache data */
    uint64_t recipe_bytes;           /* of the program's recipes: the same for all its items */
    int64_t last_use;                /* nanoseconds since the epoch; INT64_MIN: unknown */
    enum status reason;              /* ok; suspect, quarantined; no_file: no cache; else damage */
};

/* The root of the caches: --dir, or what the settings say. To be freed; NULL after a message. */
char *inventory_root(const struct arguments *arguments);

/* The same, for a verb that creates the directory if it is not there. */
char *inventory_new_root(const struct arguments *arguments);

/* The absolute form of a path, which need not exist. To be freed; NULL after a message. */
char *inventory_absolute_path(const char *path);

/* Whether WARMPIPE_READONLY forbids writing in the root; if so, after a message. */
bool inventory_is_read_only(void);

/* What is in the root under a name that a program's folder can have, judged by the names in it. No
 * link is followed. */
enum inventory_kind {
    INVENTORY_FOREIGN,  /* a folder that only holds files of others; an empty one; the drivers'
                           folder */
    INVENTORY_OBSTACLE, /* a link or a file: a program of this name cannot have its folder */
    INVENTORY_REFUSED,  /* an empty folder that is not trusted: it stays empty */
    INVENTORY_CLOSED,   /* a folder that cannot be listed */
    INVENTORY_PROGRAM
};

/* The names in the root that programs have, sorted. A root that is not there has none. */
struct inventory_app {
    char name[NAMES_APP_SIZE];
    enum inventory_kind kind;
};
struct inventory_apps {
    struct inventory_app *list;
    size_t count;
    bool foreign; /* there are folders that hold nothing of ours, besides run's for the drivers */
};

/* Lists all of a kind from `least` on; or the one that `app` names, as WARMPIPE_APP does, of any
 * kind except a foreign folder; if that is missing, the list is empty. Obstacles are listed only
 * beside programs, or if no folder is foreign. False after a message. Freed with
 * inventory_apps_free. */
bool inventory_apps(const char *root, const char *app, enum inventory_kind least,
                    struct inventory_apps *ret_apps);
void inventory_apps_free(struct inventory_apps *apps);

/* Adds a name that names_is_app accepts, in its place, if it is not there. False: out of memory. */
bool inventory_apps_add(struct inventory_apps *apps, const char *name, enum inventory_kind kind);

/* Calls the work for a root (--dir) and the programs in it (--app). Returns its exit status, or
 * EXIT_USAGE after a message. */
int inventory_run(const struct arguments *arguments, verb_work *work);

/* Calls `visit`, unless that is NULL, for each item of a program, the latest used first. Headers
 * are checked; cache data is not read. The item is borrowed during the call. False, without a call:
 * the folder holds nothing of warmpipe. */
bool inventory_visit(const char *root, const char *app,
                     void (*visit)(const struct inventory_item *item, void *user), void *user);

/* Whether the folder holds anything of warmpipe; `usage` is what was found in it. */
bool inventory_is_ours(int folder_fd, const struct usage *usage);

/* Fields of the current item: the counters of a program. */
void inventory_show_counters(struct output *output, const struct program_counters *counters);

/* Prints that the root holds nothing of warmpipe. Returns the exit status: EXIT_USAGE if it holds
 * folders other than run's for the drivers, because the user probably meant another root. */
int inventory_tell_nothing(const char *root, const struct inventory_apps *apps);

/* Whether this is damage, for which a verb's exit status is EXIT_FINDING. */
bool inventory_is_damage(enum status reason);

#endif
