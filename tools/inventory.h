/* What lies in the root of the caches: programs, and of each what it has for which driver and
 * device. */
#ifndef WARMPIPE_TOOLS_INVENTORY_H
#define WARMPIPE_TOOLS_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/result.h"
#include "disk/envelope.h"
#include "disk/usage.h"

/* One program and device. */
struct inventory_item {
    const char *app;
    char digest[DIGEST_HEX_SIZE];    /* of the identity; "": the folder has no cache file */
    bool identified;                 /* identity is filled */
    struct driver_identity identity; /* as the file's header tells */
    uint64_t bytes;
    int64_t last_use;   /* nanoseconds since the epoch; INT64_MIN: unknown */
    enum reason reason; /* ok; suspect, quarantined: put aside; no_file: no cache; else damage */
};

/* The root of the caches: `option` (--dir, may be NULL) or what the settings say. To be freed; NULL
 * after a message that begins with the verb's name. */
char *inventory_root(const char *verb, const char *option);

/* The same where a directory that is not there will be made. */
char *inventory_new_root(const char *verb, const char *option);

/* The names of all program folders in the root, sorted; a root that is not there has none. */
struct inventory_apps {
    char **names;
    size_t count;
};

/* False after a message. Freed with inventory_apps_free. */
bool inventory_apps(const char *verb, const char *root, struct inventory_apps *ret_apps);

/* The same where one program is selected (app NULL: all); one that is not there is a message and
 * false. */
bool inventory_select(const char *verb, const char *root, const char *app,
                      struct inventory_apps *ret_apps);

void inventory_apps_free(struct inventory_apps *apps);

/* Calls `visit` for each item of a program, the latest used first. Headers are checked, cache data
 * is not read. The item is borrowed for the call. False, without a call: nothing in the folder is
 * ours. */
bool inventory_visit(const char *root, const char *app,
                     void (*visit)(const struct inventory_item *item, void *user), void *user);

/* Whether something in the folder is ours; `usage` is what it holds. */
bool inventory_is_ours(int folder_fd, const struct usage *usage);

/* Whether this is damage, of which a verb tells by its exit status. */
bool inventory_is_damage(enum reason reason);

#endif
