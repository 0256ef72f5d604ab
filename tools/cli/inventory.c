// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/inventory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/bytes.h"
#include "common/blobs/identity_files.h"
#include "common/files/file.h"
#include "common/files/names.h"
#include "common/settings/config.h"
#include "tools/cli/output.h"

char *inventory_root(const char *option)
{
    if (option) {
        char *root = realpath(option, NULL);
        if (!root) {
            output_message("cannot open '%s': %s", option, strerror(errno));
        }
        return root;
    }
    struct config config;
    config_read(config_environment, &config);
    char *root = config.root;
    config.root = NULL;
    config_free(&config);
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

char *inventory_new_root(const char *option)
{
    struct stat status;
    return option && stat(option, &status) != 0 && errno == ENOENT ? inventory_absolute_path(option)
                                                                   : inventory_root(option);
}

bool inventory_is_read_only(void)
{
    struct config config;
    config_read(config_environment, &config);
    const bool read_only = config.read_only;
    config_free(&config);
    if (read_only) {
        output_reason(STATUS_read_only, NULL);
    }
    return read_only;
}

bool inventory_apps_add(struct inventory_apps *apps, const char *name)
{
    size_t at = 0;
    for (size_t end = apps->count; at < end;) {
        const size_t middle = (at + end) / 2;
        const int order = strcmp(name, apps->names[middle]);
        if (order == 0) {
            return true;
        }
        if (order < 0) {
            end = middle;
        } else {
            at = middle + 1;
        }
    }
    char *copy = strdup(name);
    if (!copy || !array_reserve(&apps->names, apps->count, sizeof *apps->names)) {
        free(copy);
        return false;
    }
    memmove(&apps->names[at + 1], &apps->names[at], (apps->count - at) * sizeof *apps->names);
    apps->names[at] = copy;
    apps->count++;
    return true;
}

static bool inventory_is_folder(int fd, const char *name)
{
    struct stat status;
    return fstatat(fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
}

bool inventory_apps(const char *root, const char *app, struct inventory_apps *ret_apps)
{
    struct inventory_apps apps = {0};
    char only[NAMES_APP_SIZE] = "";
    if (app) {
        names_app_folder(&(struct names_program){.app_setting = app}, only);
    }
    int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = fd < 0 ? NULL : fdopendir(fd);
    if (!listing && errno != ENOENT) {
        output_message("cannot open '%s': %s", root, strerror(errno));
        return false;
    }
    const char *name;
    bool enough_memory = true;
    while (enough_memory && (name = listing_next(listing))) {
        if (names_is_app(name) && (!app || strcmp(name, only) == 0) &&
            inventory_is_folder(fd, name)) {
            enough_memory = inventory_apps_add(&apps, name);
        }
    }
    listing_close(listing);
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
    AUTO_FREE char *root = inventory_root(options_value(arguments, "dir"));
    if (root && inventory_apps(root, app, &apps)) {
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
    for (size_t i = 0; i < apps->count; i++) {
        free(apps->names[i]);
    }
    free(apps->names);
    *apps = (struct inventory_apps){0};
}

static int inventory_compare_last_use(const void *left, const void *right)
{
    const struct usage_identity *a = left;
    const struct usage_identity *b = right;
    if (a->last_use != b->last_use) {
        return a->last_use > b->last_use ? -1 : 1;
    }
    return strcmp(a->identity, b->identity);
}

/* Whether a process died in the driver with the blob of this generation. */
static bool inventory_has_strike(int folder_fd, const struct inventory_item *item,
                                 uint64_t generation)
{
    char path[DIGEST_HEX_SIZE + 64];
    snprintf(path, sizeof path, "%s%s/%016" PRIx64 ".strike", item->digest, LOADING_SUFFIX,
             generation);
    return faccessat(folder_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
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
    visitor->visit(item, visitor->user);
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
    DIR *listing = listing_open(folder_fd, QUARANTINE_FOLDER);
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
    listing_close(listing);
}

static bool inventory_has_quarantined(int folder_fd)
{
    DIR *listing = listing_open(folder_fd, QUARANTINE_FOLDER);
    const char *name = NULL;
    while ((name = listing_next(listing)) && !names_is_quarantined(name)) {
    }
    listing_close(listing);
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

/* What the driver has answered; of a program of Vulkan 1.0 without creation feedback, it says
 * nothing. */
static void inventory_show_answers(struct output *output, const char *key, uint64_t answers,
                                   const struct program_counters *counters)
{
    const bool is_silent = counters->driver_hits + counters->driver_misses == 0;
    if (is_silent && counters->requests > counters->shared) {
        output_unknown(output, key);
    } else {
        output_part(output, key, answers, counters->requests);
    }
}

void inventory_show_counters(struct output *output, const struct program_counters *counters)
{
    output_number(output, "starts", counters->starts);
    output_number(output, "requests", counters->requests);
    output_part(output, "shared", counters->shared, counters->requests);
    inventory_show_answers(output, "driver_hits", counters->driver_hits, counters);
    inventory_show_answers(output, "driver_misses", counters->driver_misses, counters);
    output_number(output, "prewarmed", counters->prewarmed);
    output_duration(output, "spent", counters->create_ns);
}

int inventory_tell_nothing(const char *root, const struct inventory_apps *apps)
{
    bool foreign = false;
    for (size_t i = 0; i < apps->count; i++) {
        foreign |= strcmp(apps->names[i], INVENTORY_DRIVER_FOLDER) != 0;
    }
    output_message(foreign ? "the folders in '%s' are not of warmpipe" : "no warmpipe data in '%s'",
                   root);
    return foreign ? EXIT_USAGE : EXIT_CLEAN;
}

bool inventory_is_damage(enum status reason)
{
    return reason != STATUS_ok && reason != STATUS_no_file && reason != STATUS_suspect &&
           reason != STATUS_quarantined;
}
