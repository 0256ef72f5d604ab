#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "in_use.h"
#include "names.h"
#include "quarantine.h"
#include "store_private.h"

#define DEFAULT_LOCK_WAIT_MS 200

void store_blob_free(struct store_blob *blob)
{
    free(blob->memory);
    *blob = (struct store_blob){0};
}

bool store_is_ours(const struct store *store)
{
    return store->process == getpid();
}

enum reason store_lock(const struct store *store, int directory_fd, unsigned wait_ms, int *ret_fd)
{
    enum reason reason = file_lock(directory_fd, store->lock_name, wait_ms, ret_fd);
    if (reason == REASON_symlink && unlinkat(directory_fd, store->lock_name, 0) == 0) {
        reason = file_lock(directory_fd, store->lock_name, wait_ms, ret_fd);
    }
    return reason;
}

static char *join_path(const char *root, const char *app, const char *name)
{
    size_t size = strlen(root) + 1 + strlen(app) + 1 + strlen(name) + 1;
    char *path = malloc(size);
    if (path) {
        snprintf(path, size, "%s/%s/%s", root, app, name);
    }
    return path;
}

static void free_store(struct store *store)
{
    free(store->root);
    free(store->app);
    free(store->path);
    free(store->loading_path);
    for (size_t i = 0; i < store->foreign_count; i++) {
        store_blob_free(&store->foreign[i]);
    }
    free(store);
}

struct store *store_open(const struct store_options *options,
                         const struct driver_identity *identity)
{
    struct store *store = calloc(1, sizeof(*store));
    if (!store) {
        return NULL;
    }
    store->process = getpid();
    store->read_only = options->read_only;
    store->max_blob = options->max_blob;
    store->lock_wait_ms = options->lock_wait_ms ? options->lock_wait_ms : DEFAULT_LOCK_WAIT_MS;
    store->identity = *identity;
    store->lock_fd = -1;
    store->directory_fd = -1;

    digest_format(identity_digest(identity), store->identity_hex);
    snprintf(store->file_name, STORE_NAME_SIZE, "%s%s", store->identity_hex, ENVELOPE_SUFFIX);
    snprintf(store->lock_name, STORE_NAME_SIZE, "%s%s", store->identity_hex, LOCK_SUFFIX);
    snprintf(store->loading_name, STORE_NAME_SIZE, "%s%s", store->identity_hex, LOADING_SUFFIX);
    parts_name(store->identity_hex, unique_draw(), store->part_name);

    store->root = strdup(options->root);
    store->app = strdup(options->app);
    store->path = join_path(options->root, options->app, store->file_name);
    store->loading_path = join_path(options->root, options->app, store->loading_name);
    if (!store->root || !store->app || !store->path || !store->loading_path) {
        free_store(store);
        return NULL;
    }
    return store;
}

void store_close(struct store *store)
{
    if (!store) {
        return;
    }
    /* In a child these do nothing: lock and marker are its parent's, its copies of the descriptors
     * end with it. */
    store_abort(store);
    if (store_is_ours(store)) {
        store_drop_markers(store, &store->loading, false);
    }
    free_store(store);
}

const char *store_path(const struct store *store)
{
    return store->path;
}

bool store_has_part(const struct store *store)
{
    return store->has_part;
}

enum reason store_read_header(const struct store *store, int directory_fd, const char *name,
                              struct envelope *ret_envelope)
{
    uint8_t header[ENVELOPE_HEADER_SIZE];
    size_t size;
    uint64_t file_size;
    enum reason reason =
        file_read_head(directory_fd, name, header, sizeof(header), &size, &file_size);
    if (reason != REASON_ok) {
        return reason;
    }
    struct envelope envelope;
    reason = envelope_validate_header(header, size, file_size, &store->identity, &envelope);
    if (reason != REASON_ok) {
        return reason;
    }
    if (envelope.blob_size > store->max_blob) {
        return REASON_too_large;
    }
    *ret_envelope = envelope;
    return REASON_ok;
}

/* The lock must be held, so that the file is the one that was judged. */
static enum reason put_away(const struct store *store, const struct marker_folder *folder,
                            int directory_fd, const char *name, const struct envelope *envelope,
                            const struct marker_history *history)
{
    struct envelope current;
    if (store_read_header(store, directory_fd, name, &current) != REASON_ok ||
        current.generation != envelope->generation) {
        return REASON_suspect;
    }
    const struct quarantine_case the_case = {
        .identity = &store->identity,
        .generation = envelope->generation,
        .blob_size = envelope->blob_size,
        .blob_digest = envelope->blob_digest,
        .history = history,
    };
    struct bytes note = {0};
    quarantine_note(&the_case, &note);
    char as[STORE_NAME_SIZE];
    snprintf(as, sizeof(as), "%s%s", store->identity_hex,
             strcmp(name, store->file_name) == 0 ? ENVELOPE_SUFFIX : PARTS_SUFFIX);
    enum reason reason = quarantine_move(directory_fd, name, as, &note);
    bytes_free(&note);
    if (reason != REASON_ok) {
        return REASON_suspect;
    }
    marker_forget(folder, envelope->generation);
    return REASON_quarantined;
}

static enum reason condemn(struct store *store, const struct marker_folder *folder,
                           int directory_fd, const char *name, const struct envelope *envelope,
                           const struct marker_history *history)
{
    if (store->lock_fd >= 0) {
        return put_away(store, folder, directory_fd, name, envelope, history);
    }
    int lock_fd;
    /* Not to be had: the marks stand, so that the next start tries again. */
    if (store_lock(store, directory_fd, store->lock_wait_ms, &lock_fd) != REASON_ok) {
        return REASON_suspect;
    }
    enum reason reason = put_away(store, folder, directory_fd, name, envelope, history);
    file_unlock(lock_fd);
    return reason;
}

/* Whether the blob may be loaded; then its marker stands. Of blobs with a strike one is taken at a
 * time, so that a second death tells which of them it was. */
static enum reason judge(struct store *store, struct marker_folder *folder, int directory_fd,
                         const char *name, struct store_markers *markers,
                         const struct envelope *envelope)
{
    struct marker_history history;
    switch (marker_judge(folder, envelope->generation, &history)) {
    case MARKER_SUSPECT:
        return REASON_suspect;
    case MARKER_CONDEMNED:
        return condemn(store, folder, directory_fd, name, envelope, &history);
    case MARKER_CLEAR:
        break;
    }
    if (history.strike != 0 && (store->loading.struck || store->merging.struck)) {
        return REASON_suspect;
    }
    if (marker_take(folder, envelope->generation, history.strike,
                    &markers->markers[markers->count])) {
        markers->count++;
    }
    markers->struck = markers->struck || history.strike != 0;
    return REASON_ok;
}

enum reason store_read(struct store *store, struct marker_folder *folder, int directory_fd,
                       const char *name, struct store_markers *markers,
                       struct store_found *ret_found)
{
    uint64_t limit = store->max_blob <= UINT64_MAX - ENVELOPE_HEADER_SIZE
                         ? store->max_blob + ENVELOPE_HEADER_SIZE
                         : UINT64_MAX;
    uint8_t *data;
    size_t size;
    *ret_found = (struct store_found){0};
    enum reason reason = file_read(directory_fd, name, limit, &data, &size);
    if (reason != REASON_ok) {
        return reason;
    }
    struct envelope envelope;
    reason = envelope_validate(data, size, &store->identity, &envelope);
    if (reason == REASON_bad_section_digest || reason == REASON_bad_blob_header) {
        envelope_peek(data, size, &envelope);
        ret_found->generation = envelope.generation;
    } else if (reason == REASON_ok) {
        ret_found->generation = envelope.generation;
        if (folder) {
            reason = judge(store, folder, directory_fd, name, markers, &envelope);
        }
    }
    if (reason != REASON_ok) {
        free(data);
        return reason;
    }
    ret_found->blob = (struct store_blob){
        .memory = data,
        .data = envelope.blob,
        .size = envelope.blob_size,
        .digest = envelope.blob_digest,
    };
    return REASON_ok;
}

enum reason store_load(struct store *store, struct store_blob *ret_blob)
{
    if (!store_is_ours(store)) {
        return REASON_forked;
    }
    store_drop_markers(store, &store->loading, true);
    int directory_fd;
    enum reason reason = file_open_directory(store->root, store->app, false, &directory_fd);
    if (reason != REASON_ok) {
        return reason;
    }
    struct store_found found;
    if (store->read_only) {
        reason = store_read(store, NULL, directory_fd, store->file_name, &store->loading, &found);
    } else {
        struct marker_folder folder;
        marker_folder_open(directory_fd, store->loading_name, &folder);
        reason =
            store_read(store, &folder, directory_fd, store->file_name, &store->loading, &found);
        marker_folder_close(&folder);
    }
    close(directory_fd);
    if (reason == REASON_ok) {
        store->known = found.generation;
        store->loaded = true;
        in_use_add(store->path);
        *ret_blob = found.blob;
    } else if (reason == REASON_suspect) {
        store->skipped = found.generation;
    } else if (reason != REASON_quarantined) {
        store->known = found.generation; /* nothing in it is worth a merge */
    }
    return reason;
}

void store_drop_markers(const struct store *store, struct store_markers *markers, bool survived)
{
    while (markers->count > 0) {
        marker_drop(&markers->markers[--markers->count], store->loading_path, survived);
    }
    markers->struck = false;
}

bool store_is_on_probation(const struct store *store)
{
    return store->loading.struck;
}

void store_survived(struct store *store)
{
    if (store_is_ours(store)) {
        store_drop_markers(store, &store->loading, true);
        store_drop_markers(store, &store->merging, true);
    }
}
