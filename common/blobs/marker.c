// SPDX-License-Identifier: Apache-2.0
#include "common/blobs/marker.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/blobs/trial.h"
#include "common/files/file.h"

/* A marker of this process. */

static bool marker_write(int fd, const void *data, size_t size)
{
    return file_size_allowed(size) && pwrite(fd, data, size, 0) == (ssize_t)size;
}

/* A page or, unless only that is wanted, a plain record or both. */
static bool marker_fill(int fd, struct marker_record *record, const struct crash_keys *known,
                        bool only_page, struct marker *marker)
{
    uint8_t memory[CRASH_RECORD_SIZE];
    struct bytes bytes = {.data = memory, .capacity = sizeof memory};
    record->is_page = true;
    marker_record_put(&bytes, record);
    const bool has_page = crash_guard_open(&marker->guard, fd, record->id, &bytes, known);
    if (only_page || (has_page && !marker->guard.is_elsewhere)) {
        return has_page;
    }
    /* The next start may not find the page: in another container, or after a logout. */
    bytes.size = 0;
    record->is_page = false;
    marker_record_put(&bytes, record);
    marker->has_record = ftruncate(fd, 0) == 0 && marker_write(fd, memory, bytes.size);
    if (!has_page && marker->has_record) {
        marker->file = file_keep(fd);
    }
    return has_page || marker->has_record;
}

bool marker_take(struct marker_folder *folder, uint64_t generation,
                 const struct marker_history *history, bool without, struct marker *ret_marker)
{
    static const struct crash_keys none;
    const uint64_t failure = history->failure;
    const struct marker_record *first = failure ? &history->first : NULL;
    struct file_owned file;
    if (!marker_folder_make(folder) || !file_create_owned(folder->fd, NULL, "", &file)) {
        return false;
    }
    struct marker_record record = marker_record_of(file.number, generation, failure);
    record.deaths = first ? first->deaths : 0;
    ret_marker->id = file.number;
    ret_marker->generation = generation;
    ret_marker->failure = failure;
    ret_marker->has_record = false;
    /* Without locks others would take the marker for a dead process's. */
    if (!file.locked ||
        !marker_fill(file.fd, &record, first ? &first->finding.keys : &none, without, ret_marker)) {
        unlinkat(folder->fd, file.name, 0);
        close(file.fd);
        *ret_marker = (struct marker){.generation = 0};
        return false;
    }
    if (without) {
        crash_guard_go_without(&ret_marker->guard);
    }
    return true;
}

bool marker_is_plain(const struct marker *marker)
{
    return !atomic_load(&marker->guard.page);
}

static bool marker_remove_path(const char *folder_path, const char *name)
{
    char *path;
    if (asprintf(&path, "%s/%s", folder_path, name) < 0) {
        return false;
    }
    bool removed = unlinkat(AT_FDCWD, path, 0) == 0;
    free(path);
    return removed;
}

static void marker_remove_own(struct marker *marker, const char *folder_path, bool survived)
{
    static const uint8_t nothing[MARKER_RECORD_SIZE];
    char name[NAMES_SIZE];
    unique_name(marker->id, "", name);
    const struct file_kept *file = marker_is_plain(marker) ? &marker->file : &marker->guard.file;
    if (!marker_remove_path(folder_path, name) && marker->has_record && file_kept_is_ours(file)) {
        /* If this fails too, the next start skips the blob once. */
        marker_write(file->fd, nothing, sizeof nothing);
    }
    if (marker->guard.is_elsewhere) {
        crash_page_remove_elsewhere(marker->id);
    }
    if (survived && marker->failure != 0) {
        unique_name(marker->generation, MARKER_FAILURE_SUFFIX, name);
        marker_remove_path(folder_path, name);
    }
}

void marker_drop(struct marker *marker, const char *folder_path, bool survived)
{
    if (marker_is_plain(marker)) {
        marker_remove_own(marker, folder_path, survived);
        file_kept_close(&marker->file);
    } else {
        crash_guard_end(&marker->guard);
        marker_remove_own(marker, folder_path, crash_guard_has_passed(&marker->guard));
        crash_guard_close(&marker->guard);
    }
}

void marker_empty(struct marker *marker)
{
    if (marker->has_record && file_kept_is_ours(&marker->guard.file) &&
        ftruncate(marker->guard.file.fd, 0) != 0) {
        /* A death is then one in the load, where the page is not found. */
    }
    marker->has_record = false;
}

void marker_leave(struct marker *marker, const char *folder_path)
{
    const struct crash_page *page = atomic_load(&marker->guard.page);
    if (!page) {
        marker_drop(marker, folder_path, false);
    } else if (atomic_load(&page->ended)) {
        marker_remove_own(marker, folder_path, crash_guard_has_passed(&marker->guard));
    }
}

/* What the markers of the dead say of a blob (marker.h has the states). */

/* After so many repetitions of a death at one pipeline no further one is a chance; where the blob
 * holds it, and each took long with the blob alone, after these. */
#define MANY_DEATHS      4
#define MANY_LONG_DEATHS 2

static bool marker_is_same_pipeline(const struct marker_record *first,
                                    const struct marker_record *second)
{
    return crash_keys_share(&first->finding.keys, &second->finding.keys);
}

/* A long call for what the blob is not known to hold is a compile. */
static bool marker_has_died(const struct marker_record *record)
{
    return record->finding.died && (!record->finding.is_long || record->finding.stored);
}

/* Whether what died there counts as use of the blob. Of one on trial nobody here knows what it
 * holds: another machine has compiled it. */
static bool marker_is_of_blob(const struct marker_record *record, bool is_on_trial)
{
    return !record->finding.is_long && (record->finding.stored || is_on_trial);
}

/* What a death makes of the count. It begins anew with one that did not know of the last, and where
 * the program is killed at every start: with the blob and without. */
static uint32_t marker_count_death(const struct marker_record *first,
                                   const struct marker_record *second, bool is_on_trial)
{
    const bool is_same = first && marker_is_same_pipeline(first, second);
    const bool continues = first && (first->finding.without == CRASH_NOT_WITHOUT ||
                                     (first->finding.without == CRASH_WITHOUT_PASSED && is_same));
    return (continues ? first->deaths : 0) + (marker_is_of_blob(second, is_on_trial) || is_same);
}

/* Whether the second death is one too many. What died at pipelines that the blob was not known to
 * hold says nothing of what it holds. */
static bool marker_is_blocking(const struct marker_record *first,
                               const struct marker_record *second, bool is_on_trial)
{
    const bool is_same = marker_is_same_pipeline(first, second);
    if (first->finding.without == CRASH_WITHOUT) {
        return false;
    }
    if (!marker_is_of_blob(second, is_on_trial) || first->finding.without != CRASH_NOT_WITHOUT) {
        const bool is_long = second->finding.is_long && first->finding.without == CRASH_NOT_WITHOUT;
        return is_same && first->deaths >= (is_long ? MANY_LONG_DEATHS : MANY_DEATHS);
    }
    return marker_is_of_blob(first, is_on_trial) &&
           (is_same || first->deaths >= 2 || (first->deaths >= 1 && !second->finding.returned));
}

/* What a process without the blob, which is dead or has not lived for long, says of this death. */
static uint32_t marker_say_without(const struct marker_record *first,
                                   const struct marker_record *other, uint64_t generation)
{
    const bool is_of_this =
        other->finding.killed && other->generation == generation && other->failure == first->id;
    if (!is_of_this) {
        return CRASH_NOT_WITHOUT;
    }
    return other->finding.passed ? CRASH_WITHOUT_PASSED : CRASH_WITHOUT;
}

/* Notes in the strike that a process without the blob did not live either. */
static void marker_judge_without(const struct marker_folder *folder, uint64_t generation,
                                 struct marker_record *first)
{
    for (size_t i = 0; i < folder->dead_count && first->finding.without != CRASH_WITHOUT; i++) {
        const uint32_t without = marker_say_without(first, &folder->dead[i], generation);
        if (first->is_page && without != CRASH_NOT_WITHOUT) {
            first->finding.without = without;
            marker_folder_note_without(folder, generation, without);
        }
    }
    if (first->finding.without == CRASH_NOT_WITHOUT && marker_folder_killed_lately(folder)) {
        first->finding.without = CRASH_WITHOUT_PASSED;
    }
}

/* The same of one that is still alive: nobody knows yet for how long. */
static void marker_ask_the_living(const struct marker_folder *folder, uint64_t generation,
                                  struct marker_record *first)
{
    AUTO_LISTING DIR *listing = listing_open(folder->fd, ".");
    const char *name;
    while ((name = listing_next(listing))) {
        struct marker_record record;
        const uint32_t without = names_is_hex(name, UNIQUE_HEX_SIZE - 1) &&
                                         name[UNIQUE_HEX_SIZE - 1] == '\0' &&
                                         marker_folder_read(folder, name, &record)
                                     ? marker_say_without(first, &record, generation)
                                     : CRASH_NOT_WITHOUT;
        if (without != CRASH_NOT_WITHOUT) {
            first->finding.without = without;
        }
    }
}

/* The death that is one too many after the first; NULL: there is none. */
static const struct marker_record *marker_find_blocking(const struct marker_folder *folder,
                                                        uint64_t generation,
                                                        const struct marker_record *first)
{
    const bool is_on_trial = marker_folder_tries(folder, generation);
    for (size_t i = 0; i < folder->dead_count; i++) {
        const struct marker_record *dead = &folder->dead[i];
        if (marker_is_about(folder, dead, generation) && dead->failure == first->id &&
            marker_has_died(dead) && marker_is_blocking(first, dead, is_on_trial)) {
            return dead;
        }
    }
    return NULL;
}

enum marker_verdict marker_judge(const struct marker_folder *folder, uint64_t generation,
                                 struct marker_history *ret_history)
{
    struct marker_history history = {0};
    bool failed = marker_folder_read_failure(folder, generation, &history.first);
    const uint64_t failure = failed ? history.first.id : 0;
    const struct marker_record *blocking = NULL;
    if (failed) {
        marker_judge_without(folder, generation, &history.first);
        blocking = marker_find_blocking(folder, generation, &history.first);
    }
    if (blocking) {
        marker_ask_the_living(folder, generation, &history.first);
        blocking = marker_find_blocking(folder, generation, &history.first);
    }
    if (blocking) {
        history.second = *blocking;
        *ret_history = history;
        return MARKER_BLOCKED;
    }
    enum marker_verdict verdict = MARKER_CLEAR;
    uint64_t stands = failure; /* id of the strike that there is */
    const struct marker_record before = history.first;
    const bool is_on_trial = marker_folder_tries(folder, generation);
    for (size_t i = 0; i < folder->dead_count; i++) {
        const struct marker_record *dead = &folder->dead[i];
        if (!marker_is_about(folder, dead, generation)) {
            continue;
        }
        const bool knew = failure != 0 && stands == failure && dead->failure == failure;
        const bool died = marker_has_died(dead);
        uint32_t deaths = 0;
        if (died && (stands == 0 || knew)) {
            deaths = marker_count_death(knew ? &before : NULL, dead, is_on_trial);
            marker_folder_make_failure(folder, dead, generation, deaths);
            stands = dead->id;
            history.first = *dead;
            history.first.deaths = deaths;
        } else {
            if (knew && dead->finding.passed && !dead->finding.without) {
                marker_folder_remove_failure(folder, generation);
                stands = 0;
            }
            /* Who has saved this generation may have merged into it what it did not use. */
            if (dead->generation == generation && !dead->finding.died && !dead->finding.without &&
                dead->finding.returned) {
                trial_end(folder->directory_fd, folder->name, generation, NULL);
            }
            marker_folder_remove(folder, dead);
        }
        verdict = (died && !dead->finding.is_long) || deaths > 0 ? MARKER_FAILED_ONCE : verdict;
    }
    history.failure = stands;
    *ret_history = history;
    return verdict;
}
