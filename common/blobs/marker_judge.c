// SPDX-License-Identifier: Apache-2.0
/* What the markers of the dead say of a blob (marker.h has the states). */
#include <dirent.h>
#include <stddef.h>

#include "common/blobs/marker_folder.h"
#include "common/blobs/trial.h"
#include "common/files/file.h"

/* After so many repetitions of a death at one pipeline no further one is a chance. */
#define MANY_DEATHS 4

static bool is_same_pipeline(const struct marker_record *first, const struct marker_record *second)
{
    return crash_keys_share(&first->finding.keys, &second->finding.keys);
}

/* Whether what died there counts as use of the blob. Of one on trial nobody here knows what it
 * holds: another machine has compiled it. */
static bool is_of_blob(const struct marker_record *record, bool is_on_trial)
{
    return record->finding.stored || is_on_trial;
}

/* What a death makes of the count. It begins anew with one that did not know of the last, and where
 * the program is killed at every start: with the blob and without. */
static uint32_t count_death(const struct marker_record *first, const struct marker_record *second,
                            bool is_on_trial)
{
    const bool is_same = first && is_same_pipeline(first, second);
    const bool continues = first && (first->finding.without == CRASH_NOT_WITHOUT ||
                                     (first->finding.without == CRASH_WITHOUT_PASSED && is_same));
    return (continues ? first->deaths : 0) + (is_of_blob(second, is_on_trial) || is_same);
}

/* Whether the second death is one too many. What died at pipelines that the blob was not known to
 * hold says nothing of what it holds. */
static bool is_blocking(const struct marker_record *first, const struct marker_record *second,
                        bool is_on_trial)
{
    const bool is_same = is_same_pipeline(first, second);
    if (first->finding.without == CRASH_WITHOUT) {
        return false;
    }
    if (!is_of_blob(second, is_on_trial) || first->finding.without != CRASH_NOT_WITHOUT) {
        return is_same && first->deaths >= MANY_DEATHS;
    }
    return is_of_blob(first, is_on_trial) &&
           (is_same || first->deaths >= 2 || (first->deaths >= 1 && !second->finding.returned));
}

/* What a process without the blob, which is dead or has not lived for long, says of this death. */
static uint32_t say_without(const struct marker_record *first, const struct marker_record *other,
                            uint64_t generation)
{
    const bool is_of_this =
        other->finding.killed && other->generation == generation && other->failure == first->id;
    if (!is_of_this) {
        return CRASH_NOT_WITHOUT;
    }
    return other->finding.passed ? CRASH_WITHOUT_PASSED : CRASH_WITHOUT;
}

/* Notes in the strike that a process without the blob did not live either. */
static void judge_without(const struct marker_folder *folder, uint64_t generation,
                          struct marker_record *first)
{
    for (size_t i = 0; i < folder->dead_count && first->finding.without != CRASH_WITHOUT; i++) {
        const uint32_t without = say_without(first, &folder->dead[i], generation);
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
static void ask_the_living(const struct marker_folder *folder, uint64_t generation,
                           struct marker_record *first)
{
    DIR *listing = listing_open(folder->fd, ".");
    const char *name;
    while ((name = listing_next(listing))) {
        struct marker_record record;
        const uint32_t without = names_is_hex(name, UNIQUE_HEX_SIZE - 1) &&
                                         name[UNIQUE_HEX_SIZE - 1] == '\0' &&
                                         marker_folder_read(folder, name, &record)
                                     ? say_without(first, &record, generation)
                                     : CRASH_NOT_WITHOUT;
        if (without != CRASH_NOT_WITHOUT) {
            first->finding.without = without;
        }
    }
    listing_close(listing);
}

/* The death that is one too many after the first; NULL: there is none. */
static const struct marker_record *find_blocking(const struct marker_folder *folder,
                                                 uint64_t generation,
                                                 const struct marker_record *first)
{
    const bool is_on_trial = marker_folder_tries(folder, generation);
    for (size_t i = 0; i < folder->dead_count; i++) {
        const struct marker_record *dead = &folder->dead[i];
        if (marker_is_about(dead, generation) && dead->failure == first->id && dead->finding.died &&
            is_blocking(first, dead, is_on_trial)) {
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
        judge_without(folder, generation, &history.first);
        blocking = find_blocking(folder, generation, &history.first);
    }
    if (blocking) {
        ask_the_living(folder, generation, &history.first);
        blocking = find_blocking(folder, generation, &history.first);
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
        if (!marker_is_about(dead, generation)) {
            continue;
        }
        const bool knew = failure != 0 && stands == failure && dead->failure == failure;
        if (dead->finding.died && (stands == 0 || knew)) {
            const uint32_t deaths = count_death(knew ? &before : NULL, dead, is_on_trial);
            marker_folder_make_failure(folder, dead, generation, deaths);
            stands = dead->id;
            history.first = *dead;
            history.first.deaths = deaths;
        } else {
            if (knew && dead->finding.passed && !dead->finding.without) {
                marker_folder_remove_failure(folder, generation);
                stands = 0;
            }
            if (!dead->finding.died && !dead->finding.without && dead->finding.returned) {
                trial_end(folder->directory_fd, folder->name, generation);
            }
            marker_folder_remove(folder, dead);
        }
        verdict = dead->finding.died ? MARKER_FAILED_ONCE : verdict;
    }
    history.failure = stands;
    *ret_history = history;
    return verdict;
}
