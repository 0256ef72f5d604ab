// SPDX-License-Identifier: Apache-2.0
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
#include "common/blobs/marker.h"
#include "common/files/file.h"
#include "common/recipes/recipes.h"
#include "common/settings/config.h"

/* The root, and which programs have a folder there. */

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
    if (!inventory_list(listing, only, app ? INVENTORY_OBSTACLE : least, &apps)) {
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
    const enum inventory_kind least =
        arguments->verb->tells_obstacles ? INVENTORY_OBSTACLE : INVENTORY_CLOSED;
    AUTO(inventory_apps_free) struct inventory_apps apps = {0};
    AUTO_FREE char *root = inventory_root(arguments);
    if (!root || !inventory_apps(root, app, least, &apps)) {
        return EXIT_USAGE;
    }
    if (app && apps.count == 0) {
        output_message("no program '%s' in '%s'", app, root);
        return EXIT_USAGE;
    }
    return work(arguments, root, &apps);
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

/* What a program has for which device. */

static int inventory_compare_last_use(const void *left, const void *right)
{
    const struct usage_identity *a = left;
    const struct usage_identity *b = right;
    const int order = (a->last_use < b->last_use) - (a->last_use > b->last_use);
    return order ? order : strcmp(a->identity, b->identity);
}

/* Whether a process died in the driver with the blob of this generation, of what that holds: a
 * death in a compile of something else counts as none. */
static bool inventory_has_strike(int folder_fd, const struct inventory_item *item,
                                 uint64_t generation)
{
    char name[DIGEST_HEX_SIZE + sizeof LOADING_SUFFIX];
    struct marker_record strike = {.deaths = 0};
    char failure[NAMES_SIZE];
    snprintf(name, sizeof name, "%s%s", item->digest, LOADING_SUFFIX);
    unique_name(generation, MARKER_FAILURE_SUFFIX, failure);
    AUTO_CLOSE const int fd = file_open_folder(folder_fd, name);
    const struct marker_folder folder = {.fd = fd};
    return fd >= 0 && marker_folder_read(&folder, failure, &strike) && strike.deaths > 0;
}

/* Fills the item from the header of a file. */
static void inventory_read_header(int folder_fd, const char *name, struct inventory_item *item)
{
    struct envelope envelope;
    item->reason = blob_read_header(folder_fd, name, NULL, &envelope);
    if (item->reason != STATUS_ok) {
        return;
    }
    char hex[DIGEST_HEX_SIZE];
    digest_format(identity_digest(&envelope.identity), hex);
    item->identity = envelope.identity;
    item->identified = true;
    if (strcmp(hex, item->digest) != 0) {
        item->reason = STATUS_renamed;
    } else if (inventory_has_strike(folder_fd, item, envelope.generation)) {
        item->reason = STATUS_suspect;
    }
}

/* From the cache file, or, where all saves are still parts, from the first part. */
static void inventory_identify(int folder_fd, struct inventory_item *item)
{
    char name[DIGEST_HEX_SIZE + sizeof CACHE_SUFFIX];
    snprintf(name, sizeof name, "%s%s", item->digest, CACHE_SUFFIX);
    inventory_read_header(folder_fd, name, item);
    struct parts parts;
    if (item->reason == STATUS_no_file && parts_list(folder_fd, item->digest, false, &parts) &&
        parts.count > 0) {
        inventory_read_header(folder_fd, parts.names[0], item);
    }
}

/* One visit of a program's items. */
struct inventory_visitor {
    void (*visit)(const struct inventory_item *item, void *user);
    void *user;
    struct inventory_item common; /* what all items of the program have in common */
    bool visited;
};

static void inventory_tell(struct inventory_visitor *visitor, const struct inventory_item *item)
{
    if (visitor->visit) {
        visitor->visit(item, visitor->user);
    }
    visitor->visited = true;
}

static void inventory_visit_identities(int folder_fd, struct usage *usage,
                                       struct inventory_visitor *visitor)
{
    array_sort(usage->identities, usage->count, sizeof *usage->identities,
               inventory_compare_last_use);
    for (size_t i = 0; i < usage->count; i++) {
        const struct usage_identity *identity = &usage->identities[i];
        struct inventory_item item = visitor->common;
        item.bytes = identity->bytes;
        item.last_use = identity->last_use;
        memcpy(item.digest, identity->identity, sizeof item.digest);
        inventory_identify(folder_fd, &item);
        if (item.bytes > 0 || item.reason != STATUS_no_file) { /* also an empty file is truncated */
            inventory_tell(visitor, &item);
        }
    }
}

static void inventory_visit_quarantine(int folder_fd, struct inventory_visitor *visitor)
{
    AUTO_LISTING DIR *listing = listing_open(folder_fd, QUARANTINE_FOLDER);
    const char *name;
    struct stat status;
    while ((name = listing_next(listing))) {
        if (names_is_quarantined(name) &&
            fstatat(dirfd(listing), name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
            struct inventory_item item = visitor->common;
            item.bytes = (uint64_t)status.st_size;
            item.last_use = usage_modified(&status);
            memcpy(item.digest, name, sizeof item.digest - 1);
            inventory_read_header(dirfd(listing), name, &item);
            item.reason = STATUS_quarantined;
            inventory_tell(visitor, &item);
        }
    }
}

static bool inventory_has_quarantined(int folder_fd)
{
    AUTO_LISTING DIR *listing = listing_open(folder_fd, QUARANTINE_FOLDER);
    const char *name = NULL;
    while ((name = listing_next(listing)) && !names_is_quarantined(name)) {
    }
    return name;
}

bool inventory_is_ours(int folder_fd, const struct usage *usage)
{
    return usage->count > 0 || usage->last_use != INT64_MIN || inventory_has_quarantined(folder_fd);
}

bool inventory_visit(const char *root, const char *app,
                     void (*visit)(const struct inventory_item *item, void *user), void *user)
{
    struct inventory_visitor visitor = {
        .visit = visit,
        .user = user,
        .common = {.app = app, .last_use = INT64_MIN, .reason = STATUS_no_file},
    };
    struct inventory_item *common = &visitor.common;
    AUTO_CLOSE int folder_fd = -1;
    common->reason = file_open_directory(root, app, false, &folder_fd);
    if (common->reason != STATUS_ok) {
        inventory_tell(&visitor, common);
        return true;
    }
    AUTO(usage_free) struct usage usage = {.last_use = INT64_MIN};
    size_t entries = SIZE_MAX;
    const enum status reason = usage_read(folder_fd, &entries, &usage);
    common->recipe_bytes = usage.recipe_bytes;
    inventory_visit_identities(folder_fd, &usage, &visitor);
    inventory_visit_quarantine(folder_fd, &visitor);
    if (!visitor.visited && (reason != STATUS_ok || inventory_is_ours(folder_fd, &usage))) {
        common->last_use = usage.last_use;
        common->reason = reason == STATUS_ok ? STATUS_no_file : reason;
        inventory_tell(&visitor, common);
    }
    return visitor.visited;
}

void inventory_show_counters(struct output *output, const struct program_counters *counters)
{
    /* Of a program of Vulkan 1.0 without creation feedback, the driver says nothing. */
    const bool is_silent = counters->driver_hits + counters->driver_misses == 0 &&
                           counters->requests > counters->shared;
    output_number(output, "starts", counters->starts);
    output_number(output, "requests", counters->requests);
    output_part(output, "shared", counters->shared, counters->requests);
    if (is_silent) {
        output_unknown(output, "driver_hits");
        output_unknown(output, "driver_misses");
    } else {
        output_part(output, "driver_hits", counters->driver_hits, counters->requests);
        output_part(output, "driver_misses", counters->driver_misses, counters->requests);
    }
    output_number(output, "prewarmed", counters->prewarmed);
    output_duration(output, "spent", counters->create_ns);
}

bool inventory_is_damage(enum status reason)
{
    return reason != STATUS_ok && reason != STATUS_no_file && reason != STATUS_suspect &&
           reason != STATUS_quarantined;
}
