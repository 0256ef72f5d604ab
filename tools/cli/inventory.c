// SPDX-License-Identifier: Apache-2.0
/* What a program has for which device. */
#include "tools/cli/inventory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/bytes.h"
#include "common/base/io.h"
#include "common/blobs/identity_files.h"
#include "common/blobs/marker.h"
#include "common/files/file.h"
#include "common/files/names.h"
#include "common/recipes/recipes.h"
#include "common/settings/config.h"
#include "tools/cli/output.h"

static int inventory_compare_last_use(const void *left, const void *right)
{
    const struct usage_identity *a = left;
    const struct usage_identity *b = right;
    if (a->last_use != b->last_use) {
        return a->last_use > b->last_use ? -1 : 1;
    }
    return strcmp(a->identity, b->identity);
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

bool inventory_is_damage(enum status reason)
{
    return reason != STATUS_ok && reason != STATUS_no_file && reason != STATUS_suspect &&
           reason != STATUS_quarantined;
}
