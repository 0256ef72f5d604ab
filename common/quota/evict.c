// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/blobs/envelope.h"
#include "common/blobs/identity_files.h"
#include "common/blobs/marker.h"
#include "common/files/file.h"
#include "common/files/names.h"
#include "common/files/program.h"
#include "common/quota/quota.h"
#include "common/recipes/recipes.h"

#define NOTE_SUFFIX ".txt"

static bool evict_is_regular_of_user(const struct stat *status)
{
    return S_ISREG(status->st_mode) && status->st_uid == geteuid();
}

/* Whether the name is a regular file of this user. */
static bool evict_is_own_file(int directory_fd, const char *name, struct stat *ret_status)
{
    return fstatat(directory_fd, name, ret_status, AT_SYMLINK_NOFOLLOW) == 0 &&
           evict_is_regular_of_user(ret_status);
}

/* Returns the bytes that the file had; 0: not removed. */
static uint64_t evict_remove_own_file(int directory_fd, const char *name)
{
    struct stat status;
    if (!evict_is_own_file(directory_fd, name, &status) || unlinkat(directory_fd, name, 0) != 0) {
        return 0;
    }
    return (uint64_t)status.st_size;
}

/* Also true if there is no such file. */
static bool evict_is_unused_since(int directory_fd, const char *name, int64_t last_use)
{
    struct stat status;
    return fstatat(directory_fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
           usage_modified(&status) <= last_use;
}

static bool evict_all_unused_since(int directory_fd, const struct parts *parts, int64_t last_use)
{
    for (size_t i = 0; i < parts->count; i++) {
        if (!evict_is_unused_since(directory_fd, parts->names[i], last_use)) {
            return false;
        }
    }
    return true;
}

/* No file has these generations any more, so only the markers of living processes are useful, and
 * those keep the folder. */
static void evict_remove_loading_folder(int directory_fd, const char *name)
{
    struct marker_folder folder;
    marker_folder_open(directory_fd, name, &folder);
    if (folder.fd >= 0) {
        marker_sweep(&folder, NULL, 0);
        marker_folder_close(&folder);
        unlinkat(directory_fd, name, AT_REMOVEDIR);
    }
}

static void evict_remove_asked(int directory_fd, const char *identity)
{
    AUTO_LISTING DIR *listing = listing_open(directory_fd, ".");
    const char *name;
    while ((name = listing_next(listing))) {
        char found[DIGEST_HEX_SIZE];
        if (names_classify(name, found) == NAME_ASKED && strcmp(found, identity) == 0) {
            evict_remove_own_file(directory_fd, name);
        }
    }
}

bool evict_identity(int directory_fd, const char identity[DIGEST_HEX_SIZE], int64_t last_use,
                    uint64_t *ret_bytes)
{
    char cache[NAMES_SIZE];
    char loading[NAMES_SIZE];
    char lock[NAMES_SIZE];
    char wanted[NAMES_SIZE];
    snprintf(cache, sizeof cache, "%s" CACHE_SUFFIX, identity);
    snprintf(loading, sizeof loading, "%s" LOADING_SUFFIX, identity);
    snprintf(lock, sizeof lock, "%s" LOCK_SUFFIX, identity);
    snprintf(wanted, sizeof wanted, "%s" WANTED_SUFFIX, identity);
    AUTO_UNLOCK int lock_fd = -1;
    if (file_lock(directory_fd, lock, 0, &lock_fd) != STATUS_ok) {
        return false;
    }
    struct parts parts;
    bool unused = parts_list(directory_fd, identity, true, &parts) &&
                  evict_is_unused_since(directory_fd, cache, last_use) &&
                  evict_is_unused_since(directory_fd, loading, last_use) &&
                  evict_all_unused_since(directory_fd, &parts, last_use);
    if (unused) {
        uint64_t bytes = evict_remove_own_file(directory_fd, cache);
        for (size_t i = 0; i < parts.count; i++) {
            bytes += evict_remove_own_file(directory_fd, parts.names[i]);
        }
        evict_remove_loading_folder(directory_fd, loading);
        evict_remove_own_file(directory_fd, wanted);
        evict_remove_asked(directory_fd, identity);
        evict_remove_own_file(directory_fd, lock);
        *ret_bytes = bytes;
    }
    return unused;
}

/* When quarantine_move has moved the file: its note was written then. Renaming keeps the
 * modification time and sets that of the last change. */
static int64_t evict_quarantined_at(int folder_fd, const char *note, const struct stat *status)
{
    struct stat of_note;
    return evict_is_own_file(folder_fd, note, &of_note) ? usage_modified(&of_note)
                                                        : (int64_t)clock_ns_of(status->st_ctim);
}

/* `name` is a file or its note; both are removed together. Whether they were. */
static bool evict_quarantined(int folder_fd, const char *name, int64_t before)
{
    char file[NAMES_SIZE];
    char note[NAMES_SIZE + sizeof NOTE_SUFFIX];
    struct stat status;
    size_t length = strlen(name);
    length -= text_ends_in(name, NOTE_SUFFIX) ? sizeof NOTE_SUFFIX - 1 : 0;
    if (length >= sizeof file) {
        return false;
    }
    memcpy(file, name, length);
    file[length] = '\0';
    snprintf(note, sizeof note, "%s" NOTE_SUFFIX, file);
    if (!names_is_quarantined(file) || !evict_is_own_file(folder_fd, name, &status) ||
        evict_quarantined_at(folder_fd, note, &status) >= before) {
        return false;
    }
    evict_remove_own_file(folder_fd, file);
    evict_remove_own_file(folder_fd, note);
    return true;
}

void evict_quarantine(int directory_fd, int64_t before)
{
    DIR *listing = listing_open(directory_fd, QUARANTINE_FOLDER);
    const char *name;
    bool evicted = false;
    while ((name = listing_next(listing))) {
        evicted |= evict_quarantined(dirfd(listing), name, before);
    }
    listing_close(&listing); /* SMB removes no folder that is open */
    if (evicted) {           /* a folder that was empty before may not be ours */
        unlinkat(directory_fd, QUARANTINE_FOLDER, AT_REMOVEDIR);
    }
}

uint64_t evict_program(int directory_fd, int64_t last_use, bool other_files)
{
    return evict_is_unused_since(directory_fd, PROGRAM_FILE_NAME, last_use) &&
                   (other_files || program_is_ours(directory_fd))
               ? evict_remove_own_file(directory_fd, PROGRAM_FILE_NAME)
               : 0;
}

void evict_temporaries(int directory_fd)
{
    AUTO_LISTING DIR *listing = listing_open(directory_fd, ".");
    const char *name;
    char identity[DIGEST_HEX_SIZE];
    while ((name = listing_next(listing))) {
        if (names_classify(name, identity) == NAME_TEMPORARY) {
            file_sweep_temporary(directory_fd, name);
        }
    }
}

/* Removes a file that no living process owns and that was not changed after `last_use`. Returns the
 * bytes that it had; *locked is set if a living process owns it. */
static uint64_t evict_remove_abandoned(int folder_fd, const char *name, int64_t last_use,
                                       bool *locked)
{
    struct stat status;
    AUTO_CLOSE const int fd = file_open_abandoned(folder_fd, name);
    if (fd < 0) {
        *locked |= errno == EWOULDBLOCK;
        return 0;
    }
    const bool removed = fstat(fd, &status) == 0 && evict_is_regular_of_user(&status) &&
                         usage_modified(&status) <= last_use && unlinkat(folder_fd, name, 0) == 0;
    return removed ? (uint64_t)status.st_size : 0;
}

/* Whether it is what processes were replaying, or any file of recipes but their lock. */
static bool evict_is_recipe_file(const char *name, bool only_replaying)
{
    const enum recipe_name kind = recipe_folder_classify(name);
    return only_replaying ? kind == RECIPE_NAME_REPLAYING
                          : kind != RECIPE_NAME_FOREIGN && kind != RECIPE_NAME_LOCK;
}

/* All recipes, under the lock; or only what processes were replaying. */
static uint64_t evict_remove_recipe_files(int folder_fd, bool only_replaying, int64_t last_use,
                                          bool *locked)
{
    AUTO_LISTING DIR *listing = listing_open(folder_fd, ".");
    const char *name;
    uint64_t bytes = 0;
    while ((name = listing_next(listing))) {
        if (evict_is_recipe_file(name, only_replaying)) {
            bytes += evict_remove_abandoned(folder_fd, name, last_use, locked);
        }
    }
    return bytes;
}

/* A folder with nothing but a `lock` may not be ours. */
static bool evict_has_recipes(int folder_fd)
{
    AUTO_LISTING DIR *listing = listing_open(folder_fd, ".");
    const char *name;
    while ((name = listing_next(listing))) {
        if (evict_is_recipe_file(name, false)) {
            return true;
        }
    }
    return false;
}

/* Removes the recipes that were not written after `last_use`, except the files of living processes,
 * and then the folder if it is empty. is_ours: also one that has nothing but a lock. */
static uint64_t evict_recipes(int directory_fd, int64_t last_use, bool is_ours, bool *locked)
{
    AUTO_CLOSE int folder_fd = -1;
    int lock_fd;
    uint64_t bytes = 0;
    if (file_open_subdirectory(directory_fd, RECIPE_FOLDER, false, &folder_fd) != STATUS_ok ||
        (!is_ours && !evict_has_recipes(folder_fd))) {
        return 0;
    }
    const enum status reason = file_lock(folder_fd, RECIPE_LOCK_NAME, 0, &lock_fd);
    if (reason == STATUS_ok) {
        bytes = evict_remove_recipe_files(folder_fd, false, last_use, locked);
        unlinkat(folder_fd, RECIPE_LOCK_NAME, 0);
        file_unlock(lock_fd); /* NFS keeps a file that is open in the folder under another name */
    }
    *locked |= reason == STATUS_locked;
    io_close(folder_fd);
    folder_fd = -1;
    unlinkat(directory_fd, RECIPE_FOLDER, AT_REMOVEDIR); /* if empty now */
    return bytes;
}

void evict_empty_recipes(int directory_fd)
{
    bool locked = false;
    evict_recipes(directory_fd, INT64_MIN, true, &locked);
}

void evict_recipe_leftovers(int directory_fd, int64_t before)
{
    AUTO_CLOSE int folder_fd = -1;
    bool locked = false;
    if (file_open_subdirectory(directory_fd, RECIPE_FOLDER, false, &folder_fd) == STATUS_ok) {
        recipe_folder_sweep(folder_fd);
        evict_remove_recipe_files(folder_fd, true, before, &locked);
    }
}

uint64_t evict_rest(int directory_fd, int64_t last_use, bool other_files, bool *locked)
{
    evict_quarantine(directory_fd, INT64_MAX);
    unlinkat(directory_fd, QUARANTINE_FOLDER, AT_REMOVEDIR);
    return evict_recipes(directory_fd, last_use, other_files, locked) +
           evict_program(directory_fd, last_use, other_files);
}
