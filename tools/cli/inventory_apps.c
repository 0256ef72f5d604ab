// SPDX-License-Identifier: Apache-2.0
/* The root of the caches, and which programs have a folder there. */
#include "tools/cli/inventory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/bytes.h"
#include "common/base/text.h"
#include "common/blobs/identity_files.h"
#include "common/files/file.h"
#include "common/files/names.h"
#include "common/recipes/recipes.h"
#include "common/settings/config.h"
#include "tools/cli/output.h"

char *inventory_root(const struct arguments *arguments)
{
    const char *option = options_value(arguments, "dir");
    if (option) {
        char *root = realpath(option, NULL);
        if (!root) {
            output_message("cannot open '%s': %s", option, strerror(errno));
        }
        return root;
    }
    AUTO(config_free) struct config config;
    config_read(config_environment, &config);
    char *root = config.root;
    config.root = NULL;
    if (!root) {
        output_reason(STATUS_no_directory, NULL);
    }
    return root;
}

char *inventory_absolute_path(const char *path)
{
    AUTO_FREE char *here = *path == '/' ? strdup("") : getcwd(NULL, 0);
    if (!here) {
        output_message("no current directory for '%s': %s", path, strerror(errno));
        return NULL;
    }
    return output_format("%s%s%s", here, *here ? "/" : "", path);
}

char *inventory_new_root(const struct arguments *arguments)
{
    const char *option = options_value(arguments, "dir");
    struct stat status;
    return option && stat(option, &status) != 0 && errno == ENOENT ? inventory_absolute_path(option)
                                                                   : inventory_root(arguments);
}

bool inventory_is_read_only(void)
{
    AUTO(config_free) struct config config;
    config_read(config_environment, &config);
    if (config.read_only) {
        output_reason(STATUS_read_only, NULL);
    }
    return config.read_only;
}

bool inventory_apps_add(struct inventory_apps *apps, const char *name, enum inventory_kind kind)
{
    size_t at = 0;
    for (size_t end = apps->count; at < end;) {
        const size_t middle = (at + end) / 2;
        const int order = strcmp(name, apps->list[middle].name);
        if (order == 0) {
            return true;
        }
        if (order < 0) {
            end = middle;
        } else {
            at = middle + 1;
        }
    }
    if (!array_reserve(&apps->list, apps->count, sizeof *apps->list)) {
        return false;
    }
    struct inventory_app *app = &apps->list[at];
    memmove(app + 1, app, (apps->count - at) * sizeof *app);
    snprintf(app->name, sizeof app->name, "%s", name);
    app->kind = kind;
    apps->count++;
    return true;
}

static void inventory_drop_obstacles(struct inventory_apps *apps)
{
    size_t kept = 0;
    for (size_t i = 0; i < apps->count; i++) {
        if (apps->list[i].kind != INVENTORY_OBSTACLE) {
            apps->list[kept++] = apps->list[i];
        }
    }
    apps->count = kept;
}

/* Whether a file or folder of ours has such a name, of whatever format version. */
static bool inventory_is_our_name(const char *name)
{
    char identity[DIGEST_HEX_SIZE];
    return names_classify(name, identity) != NAME_FOREIGN || text_ends_in(name, CACHE_SUFFIX) ||
           strcmp(name, RECIPE_FOLDER) == 0 ||
           strncmp(name, RECIPE_FOLDER ".v", strlen(RECIPE_FOLDER ".v")) == 0 ||
           strcmp(name, QUARANTINE_FOLDER) == 0 || strcmp(name, PROGRAM_FILE_NAME) == 0;
}

/* What a folder is by the names in it. */
static enum inventory_kind inventory_kind_of_folder(int root_fd, const char *name, DIR *listing)
{
    AUTO_CLOSE int fd = -1;
    const char *entry = listing_next(listing);
    const bool is_empty = !entry;
    while (entry && !inventory_is_our_name(entry)) {
        entry = listing_next(listing);
    }
    return entry ? INVENTORY_PROGRAM
           : is_empty && file_open_subdirectory(root_fd, name, false, &fd) != STATUS_ok
               ? INVENTORY_REFUSED
               : INVENTORY_FOREIGN;
}

static enum inventory_kind inventory_kind_at(int root_fd, const char *name)
{
    struct stat status;
    AUTO_LISTING DIR *listing = listing_open(root_fd, name);
    const bool is_folder = listing || fstatat(root_fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
                           S_ISDIR(status.st_mode);
    const enum inventory_kind kind = listing     ? inventory_kind_of_folder(root_fd, name, listing)
                                     : is_folder ? INVENTORY_CLOSED
                                                 : INVENTORY_OBSTACLE;
    /* The drivers' folder may be closed: it is another user's then. */
    return kind != INVENTORY_PROGRAM && strcmp(name, INVENTORY_DRIVER_FOLDER) == 0
               ? INVENTORY_FOREIGN
               : kind;
}

/* Adds what the listing of a root has. False: out of memory. */
static bool inventory_list(DIR *listing, const char *only, enum inventory_kind least,
                           struct inventory_apps *apps)
{
    bool enough_memory = true;
    bool has_ours = false;
    bool has_program = false;
    const char *name;
    while (enough_memory && (name = listing_next(listing))) {
        has_ours |= inventory_is_our_name(name);
        if (!names_is_app(name) || (*only && strcmp(name, only) != 0)) {
            continue;
        }
        const enum inventory_kind kind = inventory_kind_at(dirfd(listing), name);
        apps->foreign |= kind == INVENTORY_FOREIGN && strcmp(name, INVENTORY_DRIVER_FOLDER) != 0;
        has_program |= kind == INVENTORY_PROGRAM;
        if (kind != INVENTORY_FOREIGN && kind >= least) {
            enough_memory = inventory_apps_add(apps, name, kind);
        }
    }
    /* Files are at home in a program's folder, and among others'. */
    if (!has_program && (has_ours || apps->foreign)) {
        inventory_drop_obstacles(apps);
    }
    return enough_memory;
}

bool inventory_apps(const char *root, const char *app, enum inventory_kind least,
                    struct inventory_apps *ret_apps)
{
    struct inventory_apps apps = {0};
    char only[NAMES_APP_SIZE] = "";
    if (app) {
        names_app_folder(&(struct names_program){.app_setting = app}, only);
    }
    AUTO_LISTING DIR *listing = opendir(root);
    if (!listing && errno != ENOENT) {
        output_message("cannot open '%s': %s", root, strerror(errno));
        return false;
    }
    const bool enough_memory =
        inventory_list(listing, only, app ? INVENTORY_OBSTACLE : least, &apps);
    if (!enough_memory) {
        output_message("out of memory");
        inventory_apps_free(&apps);
        return false;
    }
    *ret_apps = apps;
    return true;
}

int inventory_run(const struct arguments *arguments, verb_work *work)
{
    const char *app = options_value(arguments, "app");
    int status = EXIT_USAGE;
    AUTO(inventory_apps_free) struct inventory_apps apps = {0};
    AUTO_FREE char *root = inventory_root(arguments);
    if (root &&
        inventory_apps(root, app,
                       arguments->verb->tells_obstacles ? INVENTORY_OBSTACLE : INVENTORY_CLOSED,
                       &apps)) {
        if (app && apps.count == 0) {
            output_message("no program '%s' in '%s'", app, root);
        } else {
            status = work(arguments, root, &apps);
        }
    }
    return status;
}

void inventory_apps_free(struct inventory_apps *apps)
{
    free(apps->list);
    *apps = (struct inventory_apps){0};
}

int inventory_tell_nothing(const char *root, const struct inventory_apps *apps)
{
    bool foreign = apps->foreign;
    for (size_t i = 0; i < apps->count; i++) {
        foreign |= strcmp(apps->list[i].name, INVENTORY_DRIVER_FOLDER) != 0;
    }
    output_message(foreign ? "the folders in '%s' are not of warmpipe" : "no warmpipe data in '%s'",
                   root);
    return foreign ? EXIT_USAGE : EXIT_CLEAN;
}
