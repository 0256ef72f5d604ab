// SPDX-License-Identifier: Apache-2.0
#include "common/blobs/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/bytes.h"
#include "common/blobs/identity_files.h"
#include "common/blobs/quarantine.h"
#include "common/blobs/store_state.h"
#include "common/files/file.h"

#define DEFAULT_LOCK_WAIT_MS 200

void store_blob_free(struct store_blob *blob)
{
    large_free(blob->memory);
    *blob = (struct store_blob){0};
}

bool store_is_ours(const struct store *store)
{
    return store->process == getpid();
}

void store_free_foreign(struct store *store)
{
    while (store->foreign_count > 0) {
        store_blob_free(&store->foreign[--store->foreign_count]);
    }
}

struct store *store_open(const struct store_options *options,
                         const struct driver_identity *identity)
{
    struct store *store = calloc(1, sizeof *store);
    if (!store || !identity_files_init(&store->files, options->root, options->app, identity,
                                       options->max_blob)) {
        free(store);
        return NULL;
    }
    store->process = getpid();
    store->read_only = options->read_only;
    store->lock_wait_ms = options->lock_wait_ms ? options->lock_wait_ms : DEFAULT_LOCK_WAIT_MS;
    store->lock_fd = -1;
    store->directory_fd = -1;
    if (options->pulled) {
        store->files.is_pulled = true;
        bytes_put(&store->pulled.payloads, options->pulled, TRIAL_PAYLOAD_DIGITS);
        bytes_put_u8(&store->pulled.payloads, '\n');
    }
    return store;
}

static void store_drop_markers(const struct store *store, struct loading_markers *markers,
                               bool survived)
{
    while (markers->count > 0) {
        marker_drop(&markers->markers[--markers->count], store->files.loading_path, survived);
    }
    markers->failed_once = false;
}

/* The process has used what was loaded, and ends in order, or the device does. */
static void store_prove(struct store *store)
{
    AUTO_CLOSE int directory_fd = -1;
    if (store->trying == 0 || store_open_folder(store, false, &directory_fd) != STATUS_ok) {
        return;
    }
    trial_end(directory_fd, store->files.loading_name, store->trying, NULL);
    if (store->has_part) {
        trial_end(directory_fd, store->files.loading_name, store->part, NULL);
    }
    store->trying = 0;
}

void store_end_commit(struct store *store, bool survived)
{
    store_free_foreign(store);
    if (store->pulled.kept[0]) {
        unlinkat(store->directory_fd, store->pulled.kept, 0);
    }
    trial_free(&store->pulled);
    store->takes_file_trial = false;
    store_drop_markers(store, &store->merging, survived);
    file_unlock(store->lock_fd);
    close(store->directory_fd);
    store->lock_fd = -1;
    store->directory_fd = -1;
}

void store_abort(struct store *store)
{
    if (store_is_ours(store) && store->lock_fd >= 0) {
        store_end_commit(store, false);
    }
}

void store_unload(struct store *store)
{
    if (store_is_ours(store)) {
        store_prove(store);
        store_drop_markers(store, &store->loading, false);
    }
}

/* In the child of a fork: the markers are its parent's, but this memory is known as theirs. */
static void store_leave_markers(struct loading_markers *markers)
{
    while (markers->count > 0) {
        crash_guard_close(&markers->markers[--markers->count].guard);
    }
}

void store_close(struct store *store)
{
    if (!store) {
        return;
    }
    identity_files_skip(&store->skipped, 0);
    /* In a child these do nothing: lock and marker belong to its parent, and its copies of the
     * descriptors end with it. */
    store_abort(store);
    store_unload(store);
    store_leave_markers(&store->loading);
    store_leave_markers(&store->merging);
    store_free_foreign(store);
    trial_free(&store->pulled);
    trial_free(&store->file_trial);
    identity_files_free(&store->files);
    free(store);
}

const char *store_path(const struct store *store)
{
    return store->files.path;
}

bool store_has_others(const struct store *store)
{
    return store->has_others;
}

bool store_has_part(const struct store *store)
{
    return store->has_part;
}

bool store_has_loaded(const struct store *store)
{
    return store->loading.count > 0 || store->trying != 0;
}

bool store_failed_once(const struct store *store)
{
    return store->loading.failed_once;
}

void store_survived(struct store *store)
{
    if (store_is_ours(store)) {
        store_drop_markers(store, &store->loading, true);
        store_drop_markers(store, &store->merging, true);
    }
}

bool store_goes_without(const struct store *store)
{
    return store->loading.count > 0 && store->loading.markers[0].guard.without;
}

void store_live(struct store *store)
{
    if (store_goes_without(store)) {
        crash_guard_end(&store->loading.markers[0].guard);
    }
}

struct crash_guard *store_guard(struct store *store)
{
    return &store->loading.markers[0].guard;
}

bool store_has_record(const struct store *store)
{
    return store->loading.count > 0 && store->loading.markers[0].has_record;
}

void store_return(struct store *store)
{
    if (marker_is_plain(&store->loading.markers[0])) {
        store_survived(store);
    }
    for (size_t i = 0; store_is_ours(store) && i < store->loading.count; i++) {
        marker_empty(&store->loading.markers[i]);
    }
}

void store_merging(struct store *store)
{
    for (size_t i = 0; i < store->merging.count; i++) {
        store->merge_calls[i] =
            crash_guard_raise(&store->merging.markers[i].guard, CRASH_KEY_MERGE, CRASH_INSIDE);
    }
}

void store_merged(struct store *store)
{
    for (size_t i = store->merging.count; i-- > 0;) {
        crash_guard_lower(&store->merging.markers[i].guard, &store->merge_calls[i]);
    }
}

void store_leave(struct store *store)
{
    const struct crash_page *page =
        store->loading.count > 0 ? atomic_load(&store->loading.markers[0].guard.page) : NULL;
    if (store_is_ours(store) && (!page || atomic_load(&page->ended))) {
        store_prove(store);
    }
    for (size_t i = 0; store_is_ours(store) && i < store->loading.count; i++) {
        marker_leave(&store->loading.markers[i], store->files.loading_path);
    }
}

void store_forget(struct store *store)
{
    store->known = 0;
}

enum status store_open_folder(const struct store *store, bool create, int *ret_fd)
{
    return file_open_directory(store->files.root, store->files.app, create, ret_fd);
}

enum status store_read_blob(const struct store *store, struct marker_folder *folder,
                            int directory_fd, const char *name, struct loading_markers *markers,
                            struct found_blob *ret_found)
{
    const struct blob_judge judge = {
        .folder = folder,
        .markers = markers,
        .is_load = markers == &store->loading,
        .failed_once = store->loading.failed_once || store->merging.failed_once,
        .has_lock = store->lock_fd >= 0,
        .lock_wait_ms = store->lock_wait_ms,
    };
    return identity_files_read(&store->files, folder ? &judge : NULL, directory_fd, name,
                               ret_found);
}

struct store_blob store_blob_of(const struct found_blob *found)
{
    return (struct store_blob){
        .memory = found->memory,
        .data = found->envelope.blob,
        .size = found->envelope.blob_size,
        .digest = found->envelope.blob_digest,
    };
}

/* Loading. */

/* Also where nobody can tell now: the save looks again. */
static bool store_may_be_on_trial(const struct store *store, int directory_fd, uint64_t generation)
{
    AUTO(trial_free) struct trial trial = {.kept = ""};
    return trial_find(directory_fd, store->files.loading_name, generation, &trial) !=
           STATUS_no_file;
}

/* The cache file, or the part that is loaded in its place. */
static enum status store_load_file(struct store *store, int directory_fd, const char *name,
                                   struct found_blob *ret_found)
{
    if (store->read_only) {
        return store_read_blob(store, NULL, directory_fd, name, &store->loading, ret_found);
    }
    AUTO(marker_folder_close) struct marker_folder folder;
    marker_folder_open(directory_fd, store->files.loading_name, &folder);
    const enum status reason =
        store_read_blob(store, &folder, directory_fd, name, &store->loading, ret_found);
    store->trying =
        reason == STATUS_ok && store_may_be_on_trial(store, directory_fd, ret_found->generation)
            ? ret_found->generation
            : 0;
    return reason;
}

/* The largest part, and its bytes of data. Of what is on trial there may be several, and only one
 * that is alone is tried. 0: there is none. */
static uint64_t store_find_part(const struct store *store, int directory_fd,
                                char ret_name[PART_NAME_SIZE])
{
    struct parts parts;
    uint64_t largest = 0;
    if (!parts_list(directory_fd, store->files.identity_hex, false, &parts)) {
        return 0;
    }
    for (size_t i = 0; i < parts.count; i++) {
        struct envelope header;
        if (identity_files_read_header(&store->files, directory_fd, parts.names[i], &header) ==
                STATUS_ok &&
            header.blob_size > largest &&
            !store_may_be_on_trial(store, directory_fd, header.generation)) {
            largest = header.blob_size;
            memcpy(ret_name, parts.names[i], PART_NAME_SIZE);
        }
    }
    return largest;
}

/* Whether there are memory, and addresses, for a file of so many bytes. */
static bool store_can_hold(uint64_t size)
{
    void *memory = file_fits_memory(2 * size) ? large_new((size_t)size) : NULL;
    large_free(memory);
    return memory;
}

enum status store_load(struct store *store, struct store_blob *ret_blob)
{
    if (!store_is_ours(store)) {
        return STATUS_forked;
    }
    if (store_goes_without(store)) {
        return STATUS_suspect; /* asked again: this start goes without it all the same */
    }
    store_drop_markers(store, &store->loading, true);
    AUTO_CLOSE int directory_fd = -1;
    enum status reason = store_open_folder(store, false, &directory_fd);
    if (reason == STATUS_ok && !store->read_only &&
        quarantine_is_full(directory_fd, store->files.identity_hex)) {
        reason = STATUS_quarantined;
    }
    if (reason != STATUS_ok) {
        return reason;
    }
    struct found_blob found;
    reason = store_load_file(store, directory_fd, store->files.file_name, &found);
    char part[PART_NAME_SIZE];
    store->loaded_part[0] = '\0';
    if (reason == STATUS_no_file && store_find_part(store, directory_fd, part)) {
        reason = store_load_file(store, directory_fd, part, &found);
        memcpy(store->loaded_part, part, sizeof part);
    }
    store->is_unreadable = reason == STATUS_io_error || reason == STATUS_unreadable;
    struct envelope header;
    store->lacks_memory =
        reason == STATUS_out_of_memory && /* or descriptors lack, perhaps for that moment alone */
        identity_files_read_header(&store->files, directory_fd, store->files.file_name, &header) ==
            STATUS_ok &&
        !store_can_hold(header.blob_size);
    const uint64_t beside = reason == STATUS_ok && !store->loaded_part[0]
                                ? store_find_part(store, directory_fd, part)
                                : 0;
    store->has_others = beside > 0 && beside <= store->files.max_blob - found.envelope.blob_size;
    if (reason == STATUS_ok) {
        store->known = found.generation;
        store->holds_file |= !store->loaded_part[0];
        in_use_add(store->files.path);
        *ret_blob = store_blob_of(&found);
    } else if (reason == STATUS_suspect) {
        identity_files_skip(&store->skipped, found.generation);
    } else if (reason != STATUS_quarantined) {
        store->known = found.generation; /* nothing in it is worth a merge */
    }
    return reason;
}

void store_want(const struct store *store)
{
    AUTO_CLOSE int directory_fd = -1;
    if (store_is_ours(store) && !store->read_only &&
        store_open_folder(store, true, &directory_fd) == STATUS_ok) {
        char name[NAMES_SIZE];
        snprintf(name, sizeof name, "%s" WANTED_SUFFIX, store->files.identity_hex);
        file_touch(directory_fd, name);
    }
}

bool store_is_unfinished(const struct store *store)
{
    AUTO_CLOSE int directory_fd = -1;
    return store_open_folder(store, false, &directory_fd) == STATUS_ok &&
           unfinished_is(directory_fd, store->files.identity_hex);
}

void store_set_unfinished(const struct store *store, bool is_unfinished)
{
    AUTO_CLOSE int directory_fd = -1;
    if (!store->read_only && store_open_folder(store, true, &directory_fd) == STATUS_ok) {
        unfinished_set(directory_fd, store->files.identity_hex, is_unfinished);
    }
}

enum status store_load_again(struct store *store, struct store_blob *ret_blob)
{
    if (!store_is_ours(store)) {
        return STATUS_forked;
    }
    AUTO_CLOSE int directory_fd = -1;
    struct envelope header;
    struct found_blob found;
    const char *name = store->files.file_name;
    enum status reason = store_open_folder(store, false, &directory_fd);
    if (reason == STATUS_ok) {
        reason = identity_files_read_header(&store->files, directory_fd, name, &header);
    }
    if (reason == STATUS_ok && (store->known == 0 || header.generation != store->known)) {
        reason = STATUS_no_file;
    }
    if (reason == STATUS_ok) {
        reason = store_read_blob(store, NULL, directory_fd, name, NULL, &found);
    }
    if (reason == STATUS_ok) {
        *ret_blob = store_blob_of(&found);
    }
    return reason;
}
