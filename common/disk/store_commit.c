#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "file.h"
#include "in_use.h"
#include "quarantine.h"
#include "store.h"
#include "store_private.h"

/* Begin: what is on disk that we lack. */

static void add_foreign(struct store *store, const struct store_blob *blob)
{
    store->foreign[store->foreign_count++] = *blob;
}

/* The file itself. REASON_ok if the commit may replace it. */
static enum reason take_up_file(struct store *store, struct marker_folder *folder,
                                uint64_t *ret_generation)
{
    struct envelope header;
    *ret_generation = 0;
    if (store_read_header(store, store->directory_fd, store->file_name, &header) != REASON_ok) {
        return REASON_ok; /* there is none, or nothing in it can be used */
    }
    *ret_generation = header.generation;
    if (header.generation == store->skipped) {
        return REASON_suspect;
    }
    if (header.generation == store->known) {
        return REASON_ok;
    }
    struct store_found found;
    enum reason reason =
        store_read(store, folder, store->directory_fd, store->file_name, &store->merging, &found);
    if (reason == REASON_ok) {
        add_foreign(store, &found.blob);
    } else if (reason == REASON_suspect) {
        store->skipped = found.generation;
        return reason;
    } else if (reason == REASON_out_of_memory) {
        return reason;
    }
    return REASON_ok;
}

/* Whether a part that could not be read may be there, whole, at another time. */
static bool may_recover(enum reason reason)
{
    return reason == REASON_io_error || reason == REASON_unreadable ||
           reason == REASON_out_of_memory || reason == REASON_suspect;
}

static uint64_t foreign_bytes(const struct store *store)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < store->foreign_count; i++) {
        bytes += store->foreign[i].size;
    }
    return bytes;
}

static void add_taken(struct store *store, const char *name)
{
    memcpy(store->taken.names[store->taken.count++], name, PARTS_NAME_SIZE);
}

static void take_up_part(struct store *store, struct marker_folder *folder, const char *name,
                         const struct envelope *header)
{
    enum reason reason = REASON_ok;
    if (!store->has_part || strcmp(name, store->part_name) != 0) {
        if (store->foreign_count == STORE_MAX_FOREIGN ||
            foreign_bytes(store) > store->max_blob - header->blob_size) {
            return; /* the next commit's */
        }
        struct store_found found;
        reason = store_read(store, folder, store->directory_fd, name, &store->merging, &found);
        if (reason == REASON_ok) {
            add_foreign(store, &found.blob);
        }
    }
    if (reason != REASON_quarantined && !may_recover(reason)) {
        add_taken(store, name);
    }
}

static void take_up_parts(struct store *store, struct marker_folder *folder, uint64_t generation)
{
    struct parts parts;
    uint64_t generations[1 + PARTS_MAX] = {generation};
    size_t generation_count = 1;
    store->taken.count = 0;
    if (!parts_list(store->directory_fd, store->identity_hex, &parts)) {
        return;
    }
    for (size_t i = 0; i < parts.count; i++) {
        struct envelope header;
        enum reason reason = store_read_header(store, store->directory_fd, parts.names[i], &header);
        if (reason == REASON_ok) {
            generations[generation_count++] = header.generation;
            take_up_part(store, folder, parts.names[i], &header);
        } else if (!may_recover(reason)) {
            add_taken(store, parts.names[i]);
        }
    }
    marker_sweep(folder, generations, generation_count);
}

static void free_foreign(struct store *store)
{
    while (store->foreign_count > 0) {
        store_blob_free(&store->foreign[--store->foreign_count]);
    }
}

static void end_commit(struct store *store, bool survived)
{
    free_foreign(store);
    store_drop_markers(store, &store->merging, survived);
    file_unlock(store->lock_fd);
    close(store->directory_fd);
    store->lock_fd = -1;
    store->directory_fd = -1;
}

enum reason store_begin(struct store *store, struct store_foreign *ret_foreign)
{
    if (!store_is_ours(store)) {
        return REASON_forked;
    }
    if (store->read_only) {
        return REASON_read_only;
    }
    int directory_fd;
    enum reason reason = file_open_directory(store->root, store->app, true, &directory_fd);
    if (reason != REASON_ok) {
        return reason;
    }
    int lock_fd;
    reason = store_lock(store, directory_fd, store->lock_wait_ms, &lock_fd);
    if (reason != REASON_ok) {
        close(directory_fd);
        return reason;
    }
    store->directory_fd = directory_fd;
    store->lock_fd = lock_fd;

    struct marker_folder folder;
    uint64_t generation;
    marker_folder_open(directory_fd, store->loading_name, &folder);
    reason = take_up_file(store, &folder, &generation);
    if (reason == REASON_ok) {
        take_up_parts(store, &folder, generation);
    }
    marker_folder_close(&folder);
    if (reason != REASON_ok) {
        end_commit(store, false);
        return reason;
    }
    *ret_foreign = (struct store_foreign){
        .blobs = store->foreign,
        .count = store->foreign_count,
    };
    return REASON_ok;
}

/* Commit. */

static enum reason check_data(const struct store *store, const void *data, size_t size)
{
    if (size > store->max_blob) {
        return REASON_too_large;
    }
    return identity_matches_blob(&store->identity, data, size) ? REASON_ok : REASON_bad_blob_header;
}

static enum reason write_envelope(const struct store *store, int directory_fd, const char *name,
                                  const void *data, size_t size, uint64_t *ret_generation)
{
    const struct envelope envelope = {
        .identity = store->identity,
        .generation = unique_draw(),
        .saved_at = (uint64_t)time(NULL),
        .blob = data,
        .blob_size = size,
    };
    uint8_t memory[ENVELOPE_HEADER_SIZE];
    struct bytes header = {.data = memory, .capacity = sizeof(memory)};
    envelope_encode_header(&envelope, &header);
    const struct iovec parts[] = {
        {.iov_base = memory, .iov_len = sizeof(memory)},
        {.iov_base = (void *)(uintptr_t)data, .iov_len = size},
    };
    enum reason reason = file_replace(directory_fd, name, parts, 2);
    if (reason == REASON_ok) {
        *ret_generation = envelope.generation;
        in_use_add(store->path);
    }
    return reason;
}

/* A directory in the file's place cannot be renamed over: it is moved out of the way, once. */
static enum reason write_file(struct store *store, int directory_fd, const void *data, size_t size)
{
    enum reason reason =
        write_envelope(store, directory_fd, store->file_name, data, size, &store->known);
    if (reason != REASON_not_a_file) {
        return reason;
    }
    char digits[UNIQUE_HEX_SIZE];
    char as[STORE_NAME_SIZE];
    unique_format(unique_draw(), digits);
    snprintf(as, sizeof(as), "%s.%s", store->identity_hex, digits);
    if (quarantine_move(directory_fd, store->file_name, as, NULL) != REASON_ok) {
        return reason;
    }
    return write_envelope(store, directory_fd, store->file_name, data, size, &store->known);
}

static void remove_taken(struct store *store)
{
    for (size_t i = 0; i < store->taken.count; i++) {
        unlinkat(store->directory_fd, store->taken.names[i], 0);
    }
    store->taken.count = 0;
    store->has_part = false;
}

static void restart_from_empty(struct store *store)
{
    unlinkat(store->directory_fd, store->file_name, 0);
    remove_taken(store);
    store->known = 0;
    store->loaded = false;
}

enum reason store_commit(struct store *store, const void *data, size_t size)
{
    if (!store_is_ours(store)) {
        return REASON_forked;
    }
    const bool merged = store->foreign_count > 0;
    free_foreign(store);
    enum reason reason = check_data(store, data, size);
    if (reason == REASON_ok) {
        reason = write_file(store, store->directory_fd, data, size);
        if (reason == REASON_ok) {
            remove_taken(store);
            /* The file then holds more than the caller's next data may. */
            store->known = merged ? 0 : store->known;
        }
    } else if (reason == REASON_too_large && store->loaded) {
        restart_from_empty(store);
    }
    end_commit(store, true);
    return reason;
}

void store_abort(struct store *store)
{
    if (store_is_ours(store) && store->lock_fd >= 0) {
        end_commit(store, false);
    }
}

/* Unmerged. */

/* Whether the file may be replaced by data that has grown from what this store knows. */
static bool file_is_known(const struct store *store, int directory_fd)
{
    struct envelope header;
    return store_read_header(store, directory_fd, store->file_name, &header) != REASON_ok ||
           header.generation == store->known;
}

static enum reason write_part(struct store *store, int directory_fd, const void *data, size_t size)
{
    struct parts parts;
    if (!store->has_part && parts_list(directory_fd, store->identity_hex, &parts) &&
        parts.count >= PARTS_MAX) {
        return REASON_too_many_parts;
    }
    uint64_t generation;
    enum reason reason =
        write_envelope(store, directory_fd, store->part_name, data, size, &generation);
    store->has_part = store->has_part || reason == REASON_ok;
    return reason;
}

static enum reason write_unmerged(struct store *store, int directory_fd, const void *data,
                                  size_t size)
{
    int lock_fd;
    if (store_lock(store, directory_fd, 0, &lock_fd) != REASON_ok) {
        return write_part(store, directory_fd, data, size);
    }
    enum reason reason;
    if (file_is_known(store, directory_fd)) {
        reason = write_file(store, directory_fd, data, size);
        if (reason == REASON_ok && store->has_part) {
            unlinkat(directory_fd, store->part_name, 0);
            store->has_part = false;
        }
    } else {
        reason = write_part(store, directory_fd, data, size);
    }
    file_unlock(lock_fd);
    return reason;
}

enum reason store_commit_unmerged(struct store *store, const void *data, size_t size)
{
    if (!store_is_ours(store)) {
        return REASON_forked;
    }
    if (store->read_only) {
        return REASON_read_only;
    }
    enum reason reason = check_data(store, data, size);
    if (reason != REASON_ok) {
        return reason;
    }
    int directory_fd;
    reason = file_open_directory(store->root, store->app, true, &directory_fd);
    if (reason != REASON_ok) {
        return reason;
    }
    reason = write_unmerged(store, directory_fd, data, size);
    close(directory_fd);
    return reason;
}
