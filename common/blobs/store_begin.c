// SPDX-License-Identifier: Apache-2.0
/* A commit begins: the lock, and what is on disk that our data do not hold. */
#include <string.h>
#include <unistd.h>

#include "common/blobs/quarantine.h"
#include "common/blobs/store_state.h"
#include "common/files/file.h"

/* The cache file. STATUS_ok: the commit may replace it. */
static enum status store_collect_file(struct store *store, struct marker_folder *folder,
                                      uint64_t *ret_generation)
{
    const char *name = store->files.file_name;
    struct envelope header;
    *ret_generation = 0;
    store->is_file_on_trial = false;
    store->takes_file_trial = false;
    enum status reason =
        identity_files_read_header(&store->files, store->directory_fd, name, &header);
    if (reason != STATUS_ok) {
        /* There is no file, or nothing in it can be used; or nobody can tell now. */
        return store_is_useless(store, reason) ? STATUS_ok : STATUS_suspect;
    }
    *ret_generation = header.generation;
    if (header.generation == store->skipped) {
        return STATUS_suspect;
    }
    trial_free(&store->file_trial);
    const enum status trial = trial_find(store->directory_fd, store->files.loading_name,
                                         header.generation, &store->file_trial);
    if (trial != STATUS_ok && trial != STATUS_no_file) {
        return STATUS_suspect; /* nobody can tell now */
    }
    store->is_file_on_trial = trial == STATUS_ok;
    if (header.generation == store->known) {
        store->trying = store->is_file_on_trial ? store->trying : 0;
        return STATUS_ok;
    }
    if (store->is_file_on_trial && header.generation != store->merged) {
        return STATUS_suspect; /* only who has it alone tries it */
    }
    store->takes_file_trial = store->is_file_on_trial;
    struct found_blob found;
    reason = store_read_blob(store, folder, store->directory_fd, name, &store->merging, &found);
    if (reason == STATUS_ok) {
        store->foreign[store->foreign_count++] = store_blob_of(&found);
        store->holds_file = true;
        store->is_unreadable = false;
    } else if (reason == STATUS_suspect) {
        identity_files_skip(&store->skipped, found.generation);
    }
    return reason == STATUS_ok || store_is_useless(store, reason) ? STATUS_ok : STATUS_suspect;
}

bool store_may_read_later(enum status reason)
{
    return reason == STATUS_io_error || reason == STATUS_unreadable ||
           reason == STATUS_out_of_memory || reason == STATUS_suspect;
}

bool store_is_useless(const struct store *store, enum status reason)
{
    const bool is_disk = reason == STATUS_io_error || reason == STATUS_unreadable;
    return !store_may_read_later(reason) || (is_disk && store->is_unreadable);
}

static uint64_t store_foreign_bytes(const struct store *store)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < store->foreign_count; i++) {
        bytes += store->foreign[i].size;
    }
    return bytes;
}

/* The file as it is stays beside the one that is merged with what is on trial, as a part that
 * store_end_commit removes if nothing was. False: there would be no way back. */
static bool store_keep_file(struct store *store)
{
    char name[PART_NAME_SIZE];
    if (store->pulled.kept[0]) {
        return true;
    }
    parts_name(store->files.identity_hex, unique_draw(), name);
    const enum status reason = file_link(store->directory_fd, store->files.file_name, name,
                                         store->files.max_blob + ENVELOPE_HEADER_SIZE);
    if (reason == STATUS_ok) {
        memcpy(store->pulled.kept, name, sizeof name);
    }
    return reason == STATUS_ok || reason == STATUS_no_file;
}

/* generation: 0 of one that is damaged. */
static void store_take_part(struct store *store, const char *name, uint64_t generation)
{
    store->taken_generations[store->taken.count] = generation;
    memcpy(store->taken.names[store->taken.count++], name, PART_NAME_SIZE);
}

static void store_collect_part(struct store *store, struct marker_folder *folder, const char *name,
                               const struct envelope *header)
{
    enum status reason = STATUS_ok;
    AUTO(trial_free) struct trial trial = {.kept = ""};
    const enum status known =
        trial_find(store->directory_fd, store->files.loading_name, header->generation, &trial);
    const bool is_on_trial = known != STATUS_no_file;
    const bool is_own = (store->has_part && strcmp(name, store->part_name) == 0) ||
                        (store->known != 0 && header->generation == store->known);
    if (!is_own) {
        const bool waits =
            store->is_file_on_trial && (is_on_trial || strcmp(name, store->file_trial.kept) == 0);
        if (waits || store->foreign_count == MARKERS_MAX ||
            store_foreign_bytes(store) > store->files.max_blob - header->blob_size ||
            (is_on_trial && (known != STATUS_ok || !store_keep_file(store)))) {
            return; /* left for the next commit */
        }
        struct found_blob found;
        reason = store_read_blob(store, folder, store->directory_fd, name, &store->merging, &found);
        if (reason == STATUS_ok) {
            store->foreign[store->foreign_count++] = store_blob_of(&found);
            trial_unite(&store->pulled, &trial);
        }
    }
    if (reason != STATUS_quarantined && !store_may_read_later(reason)) {
        store_take_part(store, name, header->generation);
    }
}

static void store_collect_parts(struct store *store, struct marker_folder *folder,
                                uint64_t generation)
{
    struct parts parts;
    uint64_t generations[1 + PARTS_MAX] = {generation};
    size_t generation_count = 1;
    store->taken.count = 0;
    if (!parts_list(store->directory_fd, store->files.identity_hex, true, &parts)) {
        return;
    }
    bool are_known = parts.count < PARTS_MAX; /* the generations of all that there is */
    for (size_t i = 0; i < parts.count; i++) {
        struct envelope header;
        const enum status reason =
            identity_files_read_header(&store->files, store->directory_fd, parts.names[i], &header);
        if (reason == STATUS_ok) {
            generations[generation_count++] = header.generation;
            store_collect_part(store, folder, parts.names[i], &header);
        } else if (!store_may_read_later(reason)) {
            store_take_part(store, parts.names[i], 0);
        } else {
            are_known = false;
        }
    }
    if (are_known) {
        marker_sweep(folder, generations, generation_count);
    }
}

enum status store_may_save(const struct store *store)
{
    if (!store_is_ours(store)) {
        return STATUS_forked;
    }
    return store->read_only      ? STATUS_read_only
           : store->lacks_memory ? STATUS_out_of_memory
                                 : STATUS_ok;
}

enum status store_open_to_save(const struct store *store, int *ret_fd)
{
    int fd;
    enum status reason = store_may_save(store);
    if (reason == STATUS_ok) {
        reason = store_open_folder(store, true, &fd);
    }
    if (reason == STATUS_ok && quarantine_is_full(fd, store->files.identity_hex)) {
        close(fd);
        reason = STATUS_quarantined;
    }
    if (reason == STATUS_ok) {
        *ret_fd = fd;
    }
    return reason;
}

enum status store_begin(struct store *store, struct store_foreign *ret_foreign)
{
    int directory_fd;
    int lock_fd;
    enum status reason = store_open_to_save(store, &directory_fd);
    if (reason != STATUS_ok) {
        return reason;
    }
    reason = identity_files_lock(&store->files, directory_fd, store->lock_wait_ms, &lock_fd);
    if (reason != STATUS_ok) {
        close(directory_fd);
        return reason;
    }
    store->directory_fd = directory_fd;
    store->lock_fd = lock_fd;

    struct marker_folder folder;
    uint64_t generation;
    marker_folder_open(directory_fd, store->files.loading_name, &folder);
    reason = store_collect_file(store, &folder, &generation);
    if (reason == STATUS_ok) {
        store_collect_parts(store, &folder, generation);
        store->has_others = false;
    }
    marker_folder_close(&folder);
    if (reason != STATUS_ok) {
        store_end_commit(store, false);
        return reason;
    }
    *ret_foreign = (struct store_foreign){
        .blobs = store->foreign,
        .count = store->foreign_count,
        .is_file = store->foreign_count == 1 && store->taken.count == 0,
    };
    return STATUS_ok;
}
