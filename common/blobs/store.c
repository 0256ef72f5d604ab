// SPDX-License-Identifier: Apache-2.0
#include "common/blobs/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/blobs/identity_files.h"
#include "common/files/file.h"

#define DEFAULT_LOCK_WAIT_MS 200

struct store {
    pid_t process;
    bool read_only;
    unsigned lock_wait_ms;
    struct identity_files files;
    char part_name[PART_NAME_SIZE]; /* of this store's own part */

    uint64_t known;   /* generation of the file that our data contains; 0: of none */
    uint64_t skipped; /* generation of the file that is suspect; 0: none */
    bool loaded;      /* our data began with that of a file */
    bool has_part;
    struct loading_markers loading; /* of store_load */
    struct loading_markers merging; /* of store_begin */

    /* Between begin and commit; lock_fd is -1 otherwise. */
    int lock_fd;
    int directory_fd;
    size_t foreign_count;
    struct store_blob foreign[MARKERS_MAX];
    struct crash_call merge_calls[MARKERS_MAX]; /* between store_merging and store_merged */
    struct parts taken;                         /* parts that the commit makes superfluous */
};

void store_blob_free(struct store_blob *blob)
{
    free(blob->memory);
    *blob = (struct store_blob){0};
}

/* False in the child of a fork. */
static bool store_is_ours(const struct store *store)
{
    return store->process == getpid();
}

static void free_foreign(struct store *store)
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
    parts_name(store->files.identity_hex, unique_draw(), store->part_name);
    return store;
}

static void drop_markers(const struct store *store, struct loading_markers *markers, bool survived)
{
    while (markers->count > 0) {
        marker_drop(&markers->markers[--markers->count], store->files.loading_path, survived);
    }
    markers->failed_once = false;
}

void store_close(struct store *store)
{
    if (!store) {
        return;
    }
    /* In a child these do nothing: lock and marker belong to its parent, and its copies of the
     * descriptors end with it. */
    store_abort(store);
    if (store_is_ours(store)) {
        drop_markers(store, &store->loading, false);
    }
    free_foreign(store);
    identity_files_free(&store->files);
    free(store);
}

const char *store_path(const struct store *store)
{
    return store->files.path;
}

bool store_has_part(const struct store *store)
{
    return store->has_part;
}

bool store_failed_once(const struct store *store)
{
    return store->loading.failed_once;
}

void store_survived(struct store *store)
{
    if (store_is_ours(store)) {
        drop_markers(store, &store->loading, true);
        drop_markers(store, &store->merging, true);
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

bool store_has_plain_marker(const struct store *store)
{
    return store->loading.count > 0 && marker_is_plain(&store->loading.markers[0]);
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
    for (size_t i = 0; store_is_ours(store) && i < store->loading.count; i++) {
        marker_leave(&store->loading.markers[i], store->files.loading_path);
    }
}

void store_forget(struct store *store)
{
    store->known = 0;
}

static enum status open_program_folder(const struct store *store, bool create, int *ret_fd)
{
    return file_open_directory(store->files.root, store->files.app, create, ret_fd);
}

static enum status read_store_header(const struct store *store, int directory_fd, const char *name,
                                     struct envelope *ret_envelope)
{
    return identity_files_read_header(&store->files, directory_fd, name, ret_envelope);
}

static enum status read_blob(const struct store *store, struct marker_folder *folder,
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

static struct store_blob store_blob_of(const struct found_blob *found)
{
    return (struct store_blob){
        .memory = found->memory,
        .data = found->envelope.blob,
        .size = found->envelope.blob_size,
        .digest = found->envelope.blob_digest,
    };
}

/* Loading. */

enum status store_load(struct store *store, struct store_blob *ret_blob)
{
    if (!store_is_ours(store)) {
        return STATUS_forked;
    }
    drop_markers(store, &store->loading, true);
    int directory_fd;
    enum status reason = open_program_folder(store, false, &directory_fd);
    if (reason != STATUS_ok) {
        return reason;
    }
    const char *name = store->files.file_name;
    struct found_blob found;
    if (store->read_only) {
        reason = read_blob(store, NULL, directory_fd, name, &store->loading, &found);
    } else {
        struct marker_folder folder;
        marker_folder_open(directory_fd, store->files.loading_name, &folder);
        reason = read_blob(store, &folder, directory_fd, name, &store->loading, &found);
        marker_folder_close(&folder);
    }
    close(directory_fd);
    if (reason == STATUS_ok) {
        store->known = found.generation;
        store->loaded = true;
        in_use_add(store->files.path);
        *ret_blob = store_blob_of(&found);
    } else if (reason == STATUS_suspect) {
        store->skipped = found.generation;
    } else if (reason != STATUS_quarantined) {
        store->known = found.generation; /* nothing in it is worth a merge */
    }
    return reason;
}

void store_want(const struct store *store)
{
    int directory_fd;
    if (store_is_ours(store) && !store->read_only &&
        open_program_folder(store, true, &directory_fd) == STATUS_ok) {
        identity_files_want(&store->files, directory_fd);
        close(directory_fd);
    }
}

enum status store_load_again(struct store *store, struct store_blob *ret_blob)
{
    if (!store_is_ours(store)) {
        return STATUS_forked;
    }
    int directory_fd;
    enum status reason = open_program_folder(store, false, &directory_fd);
    if (reason != STATUS_ok) {
        return reason;
    }
    struct envelope header;
    struct found_blob found = {0};
    reason = read_store_header(store, directory_fd, store->files.file_name, &header);
    if (reason == STATUS_ok && (store->known == 0 || header.generation != store->known)) {
        reason = STATUS_no_file;
    }
    if (reason == STATUS_ok) {
        reason = read_blob(store, NULL, directory_fd, store->files.file_name, NULL, &found);
    }
    close(directory_fd);
    if (reason == STATUS_ok) {
        *ret_blob = store_blob_of(&found);
    }
    return reason;
}

/* Begin: what is on disk and not in our data. */

/* The cache file. STATUS_ok: the commit may replace it. */
static enum status collect_file(struct store *store, struct marker_folder *folder,
                                uint64_t *ret_generation)
{
    const char *name = store->files.file_name;
    struct envelope header;
    *ret_generation = 0;
    if (read_store_header(store, store->directory_fd, name, &header) != STATUS_ok) {
        return STATUS_ok; /* there is no file, or nothing in it can be used */
    }
    *ret_generation = header.generation;
    if (header.generation == store->skipped) {
        return STATUS_suspect;
    }
    if (header.generation == store->known) {
        return STATUS_ok;
    }
    struct found_blob found;
    const enum status reason =
        read_blob(store, folder, store->directory_fd, name, &store->merging, &found);
    if (reason == STATUS_ok) {
        store->foreign[store->foreign_count++] = store_blob_of(&found);
    } else if (reason == STATUS_suspect) {
        store->skipped = found.generation;
    }
    return reason == STATUS_suspect || reason == STATUS_out_of_memory ? reason : STATUS_ok;
}

/* Whether a part that could not be read may be readable at another time. */
static bool may_be_readable_later(enum status reason)
{
    return reason == STATUS_io_error || reason == STATUS_unreadable ||
           reason == STATUS_out_of_memory || reason == STATUS_suspect;
}

static uint64_t foreign_bytes(const struct store *store)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < store->foreign_count; i++) {
        bytes += store->foreign[i].size;
    }
    return bytes;
}

static void add_taken_part(struct store *store, const char *name)
{
    memcpy(store->taken.names[store->taken.count++], name, PART_NAME_SIZE);
}

static void collect_part(struct store *store, struct marker_folder *folder, const char *name,
                         const struct envelope *header)
{
    enum status reason = STATUS_ok;
    if (!store->has_part || strcmp(name, store->part_name) != 0) {
        if (store->foreign_count == MARKERS_MAX ||
            foreign_bytes(store) > store->files.max_blob - header->blob_size) {
            return; /* left for the next commit */
        }
        struct found_blob found;
        reason = read_blob(store, folder, store->directory_fd, name, &store->merging, &found);
        if (reason == STATUS_ok) {
            store->foreign[store->foreign_count++] = store_blob_of(&found);
        }
    }
    if (reason != STATUS_quarantined && !may_be_readable_later(reason)) {
        add_taken_part(store, name);
    }
}

static void collect_parts(struct store *store, struct marker_folder *folder, uint64_t generation)
{
    struct parts parts;
    uint64_t generations[1 + PARTS_MAX] = {generation};
    size_t generation_count = 1;
    store->taken.count = 0;
    if (!parts_list(store->directory_fd, store->files.identity_hex, &parts)) {
        return;
    }
    for (size_t i = 0; i < parts.count; i++) {
        struct envelope header;
        const enum status reason =
            read_store_header(store, store->directory_fd, parts.names[i], &header);
        if (reason == STATUS_ok) {
            generations[generation_count++] = header.generation;
            collect_part(store, folder, parts.names[i], &header);
        } else if (!may_be_readable_later(reason)) {
            add_taken_part(store, parts.names[i]);
        }
    }
    marker_sweep(folder, generations, generation_count);
}

static void store_end_commit(struct store *store, bool survived)
{
    free_foreign(store);
    drop_markers(store, &store->merging, survived);
    file_unlock(store->lock_fd);
    close(store->directory_fd);
    store->lock_fd = -1;
    store->directory_fd = -1;
}

static enum status store_may_save(const struct store *store)
{
    if (!store_is_ours(store)) {
        return STATUS_forked;
    }
    return store->read_only ? STATUS_read_only : STATUS_ok;
}

enum status store_begin(struct store *store, struct store_foreign *ret_foreign)
{
    int directory_fd;
    int lock_fd;
    enum status reason = store_may_save(store);
    if (reason == STATUS_ok) {
        reason = open_program_folder(store, true, &directory_fd);
    }
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
    reason = collect_file(store, &folder, &generation);
    if (reason == STATUS_ok) {
        collect_parts(store, &folder, generation);
    }
    marker_folder_close(&folder);
    if (reason != STATUS_ok) {
        store_end_commit(store, false);
        return reason;
    }
    *ret_foreign = (struct store_foreign){
        .blobs = store->foreign,
        .count = store->foreign_count,
    };
    return STATUS_ok;
}

/* Commit. */

static enum status check_blob_data(const struct store *store, const void *data, size_t size)
{
    if (size > store->files.max_blob) {
        return STATUS_too_large;
    }
    return identity_matches_blob(&store->files.identity, data, size) ? STATUS_ok
                                                                     : STATUS_bad_blob_header;
}

static void remove_taken_parts(struct store *store)
{
    for (size_t i = 0; i < store->taken.count; i++) {
        unlinkat(store->directory_fd, store->taken.names[i], 0);
    }
    store->taken.count = 0;
    store->has_part = false;
}

static void restart_from_empty(struct store *store)
{
    unlinkat(store->directory_fd, store->files.file_name, 0);
    remove_taken_parts(store);
    store->known = 0;
    store->loaded = false;
}

/* What was loaded is about to be in the file of this generation as well, or is; 0: in none. */
static void note_generation(const struct store *store, bool is_saved, uint64_t generation)
{
    for (size_t i = 0; i < store->loading.count && !store_goes_without(store); i++) {
        struct crash_page *page = atomic_load(&store->loading.markers[i].guard.page);
        if (page) {
            atomic_store(is_saved ? &page->saved : &page->saving, generation);
        }
    }
}

/* Writes a file. The page names its generation before it is there, since the process may die at any
 * moment. */
static enum status write_noted(struct store *store, int directory_fd, const char *name,
                               const void *data, size_t size, uint64_t generation)
{
    note_generation(store, false, generation);
    const enum status reason =
        identity_files_write(&store->files, directory_fd, name, data, size, generation);
    if (reason == STATUS_ok) {
        note_generation(store, true, generation);
    }
    note_generation(store, false, 0);
    return reason;
}

/* The file of this generation holds what that one held, or what was merged does: what is known of
 * deaths goes along, before it stands. */
static void copy_strikes(const struct store *store, int directory_fd, uint64_t to)
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

static enum status write_cache_file(struct store *store, int directory_fd, const void *data,
                                    size_t size)
{
    const uint64_t generation = unique_draw();
    copy_strikes(store, directory_fd, generation);
    const enum status reason =
        write_noted(store, directory_fd, store->files.file_name, data, size, generation);
    const uint64_t gone = reason == STATUS_ok ? store->known : generation;
    if (gone != 0) {
        marker_forget_failure(directory_fd, store->files.loading_name, gone);
    }
    if (reason == STATUS_ok) {
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
    free_foreign(store);
    enum status reason = check_blob_data(store, data, size);
    if (reason == STATUS_ok) {
        reason = write_cache_file(store, store->directory_fd, data, size);
        if (reason == STATUS_ok) {
            remove_taken_parts(store);
            /* The file now contains more than the caller's next data may. */
            store->known = merged ? 0 : store->known;
        }
    } else if (reason == STATUS_too_large && store->loaded) {
        restart_from_empty(store);
    }
    store_end_commit(store, true);
    return reason;
}

void store_abort(struct store *store)
{
    if (store_is_ours(store) && store->lock_fd >= 0) {
        store_end_commit(store, false);
    }
}

/* Commit without a merge. */

/* Whether the file may be replaced by data that has grown from what this store knows. */
static bool is_file_known(const struct store *store, int directory_fd)
{
    struct envelope header;
    return read_store_header(store, directory_fd, store->files.file_name, &header) != STATUS_ok ||
           header.generation == store->known;
}

static enum status write_own_part(struct store *store, int directory_fd, const void *data,
                                  size_t size)
{
    struct parts parts;
    if (!store->has_part && parts_list(directory_fd, store->files.identity_hex, &parts) &&
        parts.count >= PARTS_MAX) {
        return STATUS_too_many_parts;
    }
    const enum status reason =
        write_noted(store, directory_fd, store->part_name, data, size, unique_draw());
    store->has_part = store->has_part || reason == STATUS_ok;
    return reason;
}

static enum status write_unmerged(struct store *store, int directory_fd, const void *data,
                                  size_t size)
{
    int lock_fd;
    if (identity_files_lock(&store->files, directory_fd, 0, &lock_fd) != STATUS_ok) {
        return write_own_part(store, directory_fd, data, size);
    }
    enum status reason;
    if (is_file_known(store, directory_fd)) {
        reason = write_cache_file(store, directory_fd, data, size);
        if (reason == STATUS_ok && store->has_part) {
            unlinkat(directory_fd, store->part_name, 0);
            store->has_part = false;
        }
    } else {
        reason = write_own_part(store, directory_fd, data, size);
    }
    file_unlock(lock_fd);
    return reason;
}

enum status store_commit_unmerged(struct store *store, const void *data, size_t size)
{
    int directory_fd;
    enum status reason = store_may_save(store);
    if (reason == STATUS_ok) {
        reason = check_blob_data(store, data, size);
    }
    if (reason == STATUS_ok) {
        reason = open_program_folder(store, true, &directory_fd);
    }
    if (reason == STATUS_ok) {
        reason = write_unmerged(store, directory_fd, data, size);
        close(directory_fd);
    }
    return reason;
}
