// SPDX-License-Identifier: Apache-2.0
/* A commit ends: the file is written, or a part beside it. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/blobs/store_state.h"
#include "common/files/file.h"

/* How long what was begun anew is kept, though it is outgrown again. */
#define ANEW_SECONDS (7 * 24 * 3600)

static enum status store_check_data(const struct store *store, const void *data, size_t size)
{
    if (size > store->files.max_blob) {
        return STATUS_too_large;
    }
    return identity_matches_blob(&store->files.identity, data, size) ? STATUS_ok
                                                                     : STATUS_bad_blob_header;
}

/* Unless its owner, who writes it without the lock, has saved more in it meanwhile. False: it
 * stays, for nobody can tell now, or it cannot be removed. */
static bool store_remove_part(const struct store *store, int directory_fd, const char *name,
                              uint64_t generation)
{
    struct envelope header;
    const enum status reason =
        identity_files_read_header(&store->files, directory_fd, name, &header);
    if (store_may_read_later(reason)) {
        return false;
    }
    return (reason == STATUS_ok && header.generation != generation) ||
           unlinkat(directory_fd, name, 0) == 0 || errno == ENOENT;
}

/* With the marks of those that were on trial. Gives how many are gone. */
static size_t store_remove_taken(struct store *store)
{
    size_t removed = 0;
    for (size_t i = 0; i < store->taken.count; i++) {
        const uint64_t generation = store->taken_generations[i];
        if (store_remove_part(store, store->directory_fd, store->taken.names[i], generation)) {
            trial_remove(store->directory_fd, store->files.loading_name, generation);
            removed++;
        }
    }
    store->taken.count = 0;
    store->has_part = false;
    return removed;
}

/* What was loaded is about to be in the file of this generation as well, or is; 0: in none. */
static void store_note_generation(const struct store *store, bool is_saved, uint64_t generation)
{
    for (size_t i = 0; i < store->loading.count && !store_goes_without(store); i++) {
        struct crash_page *page = atomic_load(&store->loading.markers[i].guard.page);
        if (page) {
            atomic_store(is_saved ? &page->saved : &page->saving, generation);
        }
    }
}

/* What is about to be written holds what this store tries, and what it has merged, or was given: it
 * is on trial as those are. Other than STATUS_ok: why it cannot be marked. */
static enum status store_mark_trial(struct store *store, int directory_fd, const char *of,
                                    uint64_t generation)
{
    AUTO(trial_free) struct trial trial = {.kept = ""};
    const char *name = store->files.loading_name;
    const enum status reason =
        store->trying == 0 ? STATUS_no_file : trial_find(directory_fd, name, store->trying, &trial);
    if (reason != STATUS_ok && reason != STATUS_no_file) {
        return reason;
    }
    if (store->takes_file_trial) {
        trial_unite(&trial, &store->file_trial);
    }
    trial_unite(&trial, &store->pulled);
    if (strcmp(of, store->files.file_name) != 0) {
        trial.kept[0] = '\0';
    }
    return trial.payloads.size == 0 && !trial.payloads.failed
               ? STATUS_ok
               : trial_begin(directory_fd, name, generation, &trial);
}

/* Writes a file. The page names its generation before it is there, since the process may die at any
 * moment. */
static enum status store_write_noted(struct store *store, int directory_fd, const char *name,
                                     const void *data, size_t size, uint64_t generation)
{
    enum status reason = store_mark_trial(store, directory_fd, name, generation);
    if (reason != STATUS_ok) {
        return reason;
    }
    store_note_generation(store, false, generation);
    const bool is_alone = store->taken.count == 0 && !store->has_part && !store->loaded_part[0];
    reason =
        identity_files_write(&store->files, directory_fd, name, data, size, generation, is_alone);
    if (reason == STATUS_ok) {
        store_note_generation(store, true, generation);
    }
    store_note_generation(store, false, 0);
    return reason;
}

/* The file of this generation holds what that one held, or what was merged does: what is known of
 * deaths goes along, before it stands. */
static void store_copy_strikes(const struct store *store, int directory_fd, uint64_t to)
{
    const char *name = store->files.loading_name;
    for (size_t i = 0; i < store->merging.count; i++) {
        const struct marker *marker = &store->merging.markers[i];
        if (marker->failure != 0 && !crash_guard_has_passed(&marker->guard)) {
            marker_follow(directory_fd, name, marker->generation, to);
        }
    }
    if (store->known != 0) {
        marker_follow(directory_fd, name, store->known, to);
    }
}

/* What begins a file holds nothing of what was pulled for the one before, if there was one: the
 * lock tells it to the tool (docs/decisions/0356). */
static enum status store_write_file(struct store *store, int directory_fd, int lock_fd,
                                    const void *data, size_t size)
{
    const uint64_t generation = unique_draw();
    if (!store->holds_file) {
        futimens(lock_fd, NULL);
    }
    store_copy_strikes(store, directory_fd, generation);
    const enum status reason =
        store_write_noted(store, directory_fd, store->files.file_name, data, size, generation);
    const uint64_t gone = reason == STATUS_ok ? store->known : generation;
    if (gone != 0) {
        marker_forget_failure(directory_fd, store->files.loading_name, gone);
        trial_remove(directory_fd, store->files.loading_name, gone);
    }
    if (reason == STATUS_ok) {
        store->holds_file = true;
        const bool is_tried = store->trying != 0 && store->trying == store->known;
        store->trying = is_tried ? generation : store->trying;
        store->known = generation;
        for (size_t i = 0; i < store->loading.count && !store_goes_without(store); i++) {
            store->loading.markers[i].generation = generation;
        }
    }
    return reason;
}

enum status store_commit(struct store *store, const void *data, size_t size)
{
    if (!store_is_ours(store)) {
        return STATUS_forked;
    }
    const bool merged = store->foreign_count > 0;
    store_free_foreign(store);
    enum status reason = store_check_data(store, data, size);
    if (reason == STATUS_ok) {
        reason = store_write_file(store, store->directory_fd, store->lock_fd, data, size);
        if (reason == STATUS_ok) {
            store_remove_taken(store);
            if (store->pulled.payloads.size > 0) {
                store->pulled.kept[0] = '\0'; /* it stays */
            }
            if (store->takes_file_trial) {
                trial_remove(store->directory_fd, store->files.loading_name, store->merged);
            }
            /* The file now contains more than the caller's next data may. */
            store->merged = merged ? store->known : 0;
            store->known = merged ? 0 : store->known;
        }
    }
    store_end_commit(store, true);
    return reason;
}

/* Whether the file is what this store knows, or is of no use to anybody. */
static bool store_is_file_known(const struct store *store, int directory_fd, bool or_unusable)
{
    struct envelope header;
    const enum status found =
        identity_files_read_header(&store->files, directory_fd, store->files.file_name, &header);
    return found == STATUS_ok ? header.generation == store->known
                              : or_unusable && store_is_useless(store, found);
}

bool store_end_outgrown(struct store *store, bool merged)
{
    struct stat lock;
    if (!store_is_ours(store)) {
        return false;
    }
    size_t removed = 0;
    if (merged) {
        removed = store_remove_taken(store);
    } else if (store_is_file_known(store, store->directory_fd, false) &&
               fstat(store->lock_fd, &lock) == 0 && /* by a server's clock, which may be ahead */
               (uint64_t)(time(NULL) - lock.st_mtime + ANEW_SECONDS) > 2 * ANEW_SECONDS) {
        futimens(store->lock_fd, NULL);
        unlinkat(store->directory_fd, store->files.file_name, 0);
        store_remove_taken(store);
    }
    store_end_commit(store, merged);
    return removed > 0;
}

/* Commit without a merge. */

static enum status store_write_part(struct store *store, int directory_fd, const void *data,
                                    size_t size)
{
    struct parts parts;
    if (!store->has_part && parts_list(directory_fd, store->files.identity_hex, false, &parts) &&
        (parts.count >= PARTS_MAX ||
         (parts.count > 1 && size > store->files.max_blob / (parts.count + 1)))) {
        return STATUS_too_many_parts;
    }
    /* Under a new name: what another process is about to remove is the one before. */
    char name[PART_NAME_SIZE];
    const uint64_t generation = unique_draw();
    parts_name(store->files.identity_hex, unique_draw(), name);
    const enum status reason = store_write_noted(store, directory_fd, name, data, size, generation);
    if (reason == STATUS_ok) {
        if (store->has_part) {
            unlinkat(directory_fd, store->part_name, 0);
        }
        memcpy(store->part_name, name, sizeof name);
        store->part = generation;
        store->has_part = true;
    }
    return reason;
}

static enum status store_write_unmerged(struct store *store, int directory_fd, const void *data,
                                        size_t size)
{
    AUTO_UNLOCK int lock_fd = -1;
    if (identity_files_lock(&store->files, directory_fd, 0, &lock_fd) != STATUS_ok ||
        !store_is_file_known(store, directory_fd, true)) {
        return store_write_part(store, directory_fd, data, size);
    }
    const uint64_t known = store->known;
    const enum status reason = store_write_file(store, directory_fd, lock_fd, data, size);
    if (reason == STATUS_ok && store->loaded_part[0] && known != 0) {
        store_remove_part(store, directory_fd, store->loaded_part, known);
        store->loaded_part[0] = '\0';
    }
    if (reason == STATUS_ok && store->has_part) {
        unlinkat(directory_fd, store->part_name, 0);
        store->has_part = false;
    }
    return reason;
}

enum status store_commit_unmerged(struct store *store, const void *data, size_t size)
{
    AUTO_CLOSE int directory_fd = -1;
    enum status reason = store_may_save(store);
    if (reason == STATUS_ok) {
        reason = store_check_data(store, data, size);
    }
    if (reason == STATUS_ok) {
        reason = store_open_to_save(store, &directory_fd);
    }
    return reason == STATUS_ok ? store_write_unmerged(store, directory_fd, data, size) : reason;
}
