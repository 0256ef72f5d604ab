// SPDX-License-Identifier: Apache-2.0
#include "common/quota/quota.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/bytes.h"
#include "common/base/clock.h"
#include "common/files/file.h"
#include "common/files/names.h"
#include "common/files/program.h"
#include "common/recipes/recipes.h"

/* NULL: no more names, or no entries left to read. */
static const char *usage_next_counted_name(DIR *listing, size_t *entries)
{
    const char *name = *entries > 0 ? listing_next(listing) : NULL;
    *entries -= name ? 1 : 0;
    return name;
}

int64_t usage_modified(const struct stat *status)
{
    return (int64_t)clock_ns_of(status->st_mtim);
}

static void usage_update_last_use(int64_t *last_use, int64_t when)
{
    *last_use = when > *last_use ? when : *last_use;
}

/* NULL: out of memory. */
static struct usage_identity *usage_find_or_add_identity(struct usage *usage, const char *identity)
{
    for (size_t i = 0; i < usage->count; i++) {
        if (strcmp(usage->identities[i].identity, identity) == 0) {
            return &usage->identities[i];
        }
    }
    if (!array_reserve(&usage->identities, usage->count, sizeof *usage->identities)) {
        return NULL;
    }
    struct usage_identity *added = &usage->identities[usage->count++];
    *added = (struct usage_identity){.last_use = INT64_MIN};
    memcpy(added->identity, identity, DIGEST_HEX_SIZE);
    return added;
}

static void usage_add_recipe(struct usage *usage, int directory_fd, size_t *entries)
{
    AUTO_LISTING DIR *listing = listing_open(directory_fd, RECIPE_FOLDER);
    const char *name;
    struct stat status;
    while ((name = usage_next_counted_name(listing, entries))) {
        const enum recipe_name kind = recipe_folder_classify(name);
        if (kind != RECIPE_NAME_FOREIGN &&
            fstatat(dirfd(listing), name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(status.st_mode)) {
            usage->recipe_bytes += (uint64_t)status.st_size;
            usage->other_bytes += (uint64_t)status.st_size;
            if (kind == RECIPE_NAME_SEGMENT) {
                usage_update_last_use(&usage->last_use, usage_modified(&status));
            }
        }
    }
}

/* False: out of memory. */
static bool usage_add_entry(struct usage *usage, int directory_fd, const char *name,
                            size_t *entries)
{
    char identity[DIGEST_HEX_SIZE];
    struct stat status;
    enum name_kind kind = names_classify(name, identity);
    if (strcmp(name, RECIPE_FOLDER) == 0) {
        usage_add_recipe(usage, directory_fd, entries);
        return true;
    }
    if (kind == NAME_FOREIGN || fstatat(directory_fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        (kind == NAME_LOADING ? !S_ISDIR(status.st_mode) : !S_ISREG(status.st_mode))) {
        return true;
    }
    const bool is_used = kind != NAME_LOCK && kind != NAME_WANTED && kind != NAME_ASKED;
    if (is_used) {
        usage_update_last_use(&usage->last_use, usage_modified(&status));
    }
    if (kind == NAME_TEMPORARY) {
        usage->other_bytes += (uint64_t)status.st_size;
        return true;
    }
    struct usage_identity *of = usage_find_or_add_identity(usage, identity);
    if (!of) {
        return false;
    }
    if (kind != NAME_LOCK) {
        usage_update_last_use(&of->last_use, usage_modified(&status));
    }
    of->bytes += kind == NAME_CACHE || kind == NAME_PART ? (uint64_t)status.st_size : 0;
    return true;
}

/* Reads the file only if no other file in the folder is ours by name. */
static void usage_add_program(struct usage *usage, int directory_fd)
{
    struct stat status;
    const bool known = usage->count > 0 || usage->last_use != INT64_MIN;
    if (fstatat(directory_fd, PROGRAM_FILE_NAME, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(status.st_mode) && (known || program_is_ours(directory_fd))) {
        usage_update_last_use(&usage->last_use, usage_modified(&status));
        usage->other_bytes += (uint64_t)status.st_size;
    }
}

enum status usage_read(int directory_fd, size_t *entries, struct usage *ret_usage)
{
    struct usage usage = {.last_use = INT64_MIN};
    AUTO_LISTING DIR *listing = listing_open(directory_fd, ".");
    if (!listing) {
        return STATUS_io_error;
    }
    bool enough_memory = true;
    bool has_program = false;
    const char *name;
    while (enough_memory && (name = usage_next_counted_name(listing, entries))) {
        has_program |= strcmp(name, PROGRAM_FILE_NAME) == 0;
        enough_memory = usage_add_entry(&usage, directory_fd, name, entries);
    }
    if (has_program) {
        usage_add_program(&usage, directory_fd);
    }
    if (!enough_memory) {
        usage_free(&usage);
        return STATUS_out_of_memory;
    }
    *ret_usage = usage;
    return STATUS_ok;
}

void usage_free(struct usage *usage)
{
    free(usage->identities);
    *usage = (struct usage){0};
}

uint64_t usage_bytes(const struct usage *usage)
{
    uint64_t bytes = usage->other_bytes;
    for (size_t i = 0; i < usage->count; i++) {
        bytes += usage->identities[i].bytes;
    }
    return bytes;
}
