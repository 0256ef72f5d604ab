#include "evict.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "envelope.h"
#include "file.h"
#include "listing.h"
#include "marker.h"
#include "names.h"
#include "parts.h"
#include "program.h"
#include "quarantine.h"
#include "usage.h"

#define NAME_SIZE   80
#define NOTE_SUFFIX ".txt"

/* What the name stands for, if it is a regular file that this user owns. */
static bool is_own_file(int directory_fd, const char *name, struct stat *ret_status)
{
    return fstatat(directory_fd, name, ret_status, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(ret_status->st_mode) && ret_status->st_uid == geteuid();
}

static uint64_t remove_file(int directory_fd, const char *name)
{
    struct stat status;
    if (!is_own_file(directory_fd, name, &status) || unlinkat(directory_fd, name, 0) != 0) {
        return 0;
    }
    return (uint64_t)status.st_size;
}

/* Also true for what is not there. */
static bool is_unused_since(int directory_fd, const char *name, int64_t last_use)
{
    struct stat status;
    return fstatat(directory_fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
           usage_modified(&status) <= last_use;
}

static bool all_unused_since(int directory_fd, const struct parts *parts, int64_t last_use)
{
    for (size_t i = 0; i < parts->count; i++) {
        if (!is_unused_since(directory_fd, parts->names[i], last_use)) {
            return false;
        }
    }
    return true;
}

/* The generations are gone, so nothing in it is of use but the markers of living processes, which
 * keep the folder. */
static void remove_loading(int directory_fd, const char *name)
{
    struct marker_folder folder;
    marker_folder_open(directory_fd, name, &folder);
    if (folder.fd >= 0) {
        marker_sweep(&folder, NULL, 0);
        marker_folder_close(&folder);
        unlinkat(directory_fd, name, AT_REMOVEDIR);
    }
}

bool evict_identity(int directory_fd, const char identity[DIGEST_HEX_SIZE], int64_t last_use,
                    uint64_t *ret_bytes)
{
    char cache[NAME_SIZE];
    char loading[NAME_SIZE];
    char lock[NAME_SIZE];
    snprintf(cache, sizeof cache, "%s%s", identity, ENVELOPE_SUFFIX);
    snprintf(loading, sizeof loading, "%s%s", identity, LOADING_SUFFIX);
    snprintf(lock, sizeof lock, "%s%s", identity, LOCK_SUFFIX);
    int lock_fd;
    if (file_lock(directory_fd, lock, 0, &lock_fd) != REASON_ok) {
        return false;
    }
    struct parts parts;
    bool unused = parts_list(directory_fd, identity, &parts) &&
                  is_unused_since(directory_fd, cache, last_use) &&
                  is_unused_since(directory_fd, loading, last_use) &&
                  all_unused_since(directory_fd, &parts, last_use);
    if (unused) {
        uint64_t bytes = remove_file(directory_fd, cache);
        for (size_t i = 0; i < parts.count; i++) {
            bytes += remove_file(directory_fd, parts.names[i]);
        }
        remove_loading(directory_fd, loading);
        remove_file(directory_fd, lock);
        *ret_bytes = bytes;
    }
    file_unlock(lock_fd);
    return unused;
}

/* When quarantine_move has put a file there: then its note was written. Renaming leaves the
 * modification time as it was, but not that of the last change. */
static int64_t quarantined_at(int folder_fd, const char *note, const struct stat *status)
{
    struct stat of_note;
    if (is_own_file(folder_fd, note, &of_note)) {
        return usage_modified(&of_note);
    }
    return (int64_t)status->st_ctim.tv_sec * 1000000000 + status->st_ctim.tv_nsec;
}

/* `name` is that of a file or of its note: the two go together. Whether they did. */
static bool evict_quarantined(int folder_fd, const char *name, int64_t before)
{
    char file[NAME_SIZE];
    char note[NAME_SIZE + sizeof NOTE_SUFFIX];
    struct stat status;
    size_t length = strlen(name);
    const size_t suffix = sizeof NOTE_SUFFIX - 1;
    const bool is_note = length > suffix && strcmp(name + length - suffix, NOTE_SUFFIX) == 0;
    length -= is_note ? suffix : 0;
    if (length >= sizeof file) {
        return false;
    }
    memcpy(file, name, length);
    file[length] = '\0';
    snprintf(note, sizeof note, "%s%s", file, NOTE_SUFFIX);
    if (!names_is_quarantined(file) || !is_own_file(folder_fd, name, &status) ||
        quarantined_at(folder_fd, note, &status) >= before) {
        return false;
    }
    remove_file(folder_fd, file);
    remove_file(folder_fd, note);
    return true;
}

void evict_quarantine(int directory_fd, int64_t before)
{
    DIR *listing = listing_open(directory_fd, QUARANTINE_FOLDER);
    if (!listing) {
        return;
    }
    const char *name;
    bool evicted = false;
    while ((name = listing_next(listing))) {
        evicted |= evict_quarantined(dirfd(listing), name, before);
    }
    closedir(listing);
    if (evicted) { /* one that was empty before may be anybody's */
        unlinkat(directory_fd, QUARANTINE_FOLDER, AT_REMOVEDIR);
    }
}

uint64_t evict_rest(int directory_fd, int64_t last_use, bool other_files, bool *locked)
{
    evict_quarantine(directory_fd, INT64_MAX);
    unlinkat(directory_fd, QUARANTINE_FOLDER, AT_REMOVEDIR);
    return evict_recipes(directory_fd, last_use, locked) +
           evict_program(directory_fd, last_use, other_files);
}

uint64_t evict_program(int directory_fd, int64_t last_use, bool other_files)
{
    return is_unused_since(directory_fd, PROGRAM_FILE_NAME, last_use) &&
                   (other_files || program_is_ours(directory_fd))
               ? remove_file(directory_fd, PROGRAM_FILE_NAME)
               : 0;
}

void evict_temporaries(int directory_fd)
{
    DIR *listing = listing_open(directory_fd, ".");
    if (!listing) {
        return;
    }
    const char *name;
    char identity[DIGEST_HEX_SIZE];
    while ((name = listing_next(listing))) {
        if (names_classify(name, identity) == NAME_TEMPORARY) {
            file_sweep_temporary(directory_fd, name);
        }
    }
    closedir(listing);
}
