// SPDX-License-Identifier: Apache-2.0
#include "tools/remote/local.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/blobs/quarantine.h"
#include "common/blobs/store.h"
#include "common/files/file.h"

/* The caches. */

/* Longest wait for other processes, milliseconds. */
#define LOCAL_LOCK_MS 1000

/* Bytes of a note in quarantine at most. */
#define LOCAL_NOTE_LIMIT 65536

static void local_file_name(const char *identity_hex, char ret_name[PART_NAME_SIZE])
{
    snprintf(ret_name, PART_NAME_SIZE, "%s" CACHE_SUFFIX, identity_hex);
}

void local_blob_free(struct local_blob *blob)
{
    free(blob->memory);
    *blob = (struct local_blob){0};
}

/* Makes every check of what is in memory; fills in the envelope and the payload. */
static enum status local_check(const uint8_t *data, size_t size, const char *identity_hex,
                               struct envelope *ret_envelope, char ret_payload[OBJECT_NAME_SIZE])
{
    char found[DIGEST_HEX_SIZE];
    const enum status reason = envelope_validate(data, size, NULL, ret_envelope);
    if (reason != STATUS_ok) {
        return reason;
    }
    digest_format(identity_digest(&ret_envelope->identity), found);
    object_name(ret_envelope->blob, ret_envelope->blob_size, ret_payload);
    return strcmp(found, identity_hex) == 0 ? STATUS_ok : STATUS_renamed;
}

enum status local_read_part(int folder_fd, const char *identity_hex, const char *name,
                            struct local_blob *ret_blob)
{
    struct local_blob blob = {0};
    if (name) {
        snprintf(blob.name, sizeof blob.name, "%s", name);
    } else {
        local_file_name(identity_hex, blob.name);
    }
    enum status reason = file_read(folder_fd, blob.name, OBJECT_LIMIT, &blob.memory, &blob.size);
    if (reason == STATUS_ok) {
        reason = local_check(blob.memory, blob.size, identity_hex, &blob.envelope, blob.payload);
    }
    if (reason == STATUS_ok) {
        *ret_blob = blob;
    } else {
        local_blob_free(&blob);
    }
    return reason;
}

enum status local_read(const char *root, const char *app, const char *identity_hex,
                       struct local_blob *ret_blob)
{
    AUTO_CLOSE int folder_fd = -1;
    const enum status reason = file_open_directory(root, app, false, &folder_fd);
    return reason == STATUS_ok ? local_read_part(folder_fd, identity_hex, NULL, ret_blob) : reason;
}

bool local_exists(const char *root, const char *app, const char *identity_hex)
{
    AUTO_CLOSE int folder_fd = -1;
    char name[PART_NAME_SIZE];
    struct envelope envelope;
    local_file_name(identity_hex, name);
    return file_open_directory(root, app, false, &folder_fd) == STATUS_ok &&
           blob_read_header(folder_fd, name, NULL, &envelope) == STATUS_ok;
}

size_t local_count_parts(const char *root, const char *app, const char *identity_hex)
{
    AUTO_CLOSE int folder_fd = -1;
    struct parts parts = {0};
    if (file_open_directory(root, app, false, &folder_fd) == STATUS_ok) {
        parts_list(folder_fd, identity_hex, false, &parts);
    }
    return parts.count;
}

/* The lines of a note that name what was pulled. */
static void local_read_note(int quarantine_fd, const char *identity_hex, struct bytes *ret_names)
{
    char name[PART_NAME_SIZE + 4];
    AUTO_FREE uint8_t *text = NULL;
    size_t size = 0;
    snprintf(name, sizeof name, "%s" CACHE_SUFFIX ".txt", identity_hex);
    file_read(quarantine_fd, name, LOCAL_NOTE_LIMIT, &text, &size);
    const size_t begin = strlen(TRIAL_NOTE);
    for (size_t at = 0, length; at < size; at += length + 1) {
        const uint8_t *end = memchr(text + at, '\n', size - at);
        length = end ? (size_t)(end - (text + at)) : size - at;
        if (length == begin + TRIAL_PAYLOAD_DIGITS && memcmp(text + at, TRIAL_NOTE, begin) == 0) {
            state_add(ret_names, (const char *)text + at + begin);
        }
    }
}

void local_quarantined(const char *root, const char *app, const char *identity_hex,
                       struct bytes *ret_names)
{
    AUTO_CLOSE int folder_fd = -1;
    AUTO_CLOSE int quarantine_fd = -1;
    AUTO(local_blob_free) struct local_blob blob = {0};
    *ret_names = (struct bytes){0};
    if (file_open_directory(root, app, false, &folder_fd) == STATUS_ok &&
        file_open_subdirectory(folder_fd, QUARANTINE_FOLDER, false, &quarantine_fd) == STATUS_ok &&
        local_read_part(quarantine_fd, identity_hex, NULL, &blob) == STATUS_ok) {
        local_read_note(quarantine_fd, identity_hex, ret_names);
        if (ret_names->size == 0) {
            state_add(ret_names, blob.payload);
        }
    }
}

/* Whether the file or a part holds it: another process may have taken it meanwhile. */
static bool local_has_payload(const char *root, const char *app, const char *identity_hex,
                              const struct envelope *envelope, const char *payload)
{
    AUTO_CLOSE int folder_fd = -1;
    struct parts parts = {0};
    char file_name[PART_NAME_SIZE];
    bool found = false;
    if (file_open_directory(root, app, false, &folder_fd) != STATUS_ok) {
        return false;
    }
    local_file_name(identity_hex, file_name);
    parts_list(folder_fd, identity_hex, false, &parts);
    for (size_t i = 0; i <= parts.count && !found; i++) {
        const char *name = i < parts.count ? parts.names[i] : file_name;
        struct envelope header;
        AUTO(local_blob_free) struct local_blob blob = {0};
        /* The header tells most apart. */
        found = blob_read_header(folder_fd, name, NULL, &header) == STATUS_ok &&
                header.blob_size == envelope->blob_size &&
                digest_equal(header.blob_digest, envelope->blob_digest) &&
                local_read_part(folder_fd, identity_hex, name, &blob) == STATUS_ok &&
                strcmp(blob.payload, payload) == 0;
    }
    return found;
}

enum status local_take(const char *root, const char *app, const char *identity_hex,
                       const char *payload, const uint8_t *data, size_t size)
{
    struct envelope envelope;
    char found[OBJECT_NAME_SIZE];
    enum status reason = local_check(data, size, identity_hex, &envelope, found);
    if (reason != STATUS_ok) {
        return reason;
    }
    if (strcmp(found, payload) != 0) {
        return STATUS_remote_bad_object;
    }
    if (local_has_payload(root, app, identity_hex, &envelope, payload)) {
        return STATUS_ok;
    }
    const struct store_options options = {
        .root = root, .app = app, .max_blob = OBJECT_LIMIT, .pulled = payload};
    struct store *store = store_open(&options, &envelope.identity);
    if (!store) {
        return STATUS_out_of_memory;
    }
    reason = store_commit_unmerged(store, envelope.blob, envelope.blob_size);
    store_close(store);
    return reason;
}

enum status local_put_away(const char *root, const char *app, const struct local_blob *blob,
                           const struct marker_folder *folder, const struct bytes *note)
{
    struct identity_files files;
    struct envelope now;
    AUTO_CLOSE int folder_fd = -1;
    int lock_fd;
    enum status reason = file_open_directory(root, app, false, &folder_fd);
    if (reason != STATUS_ok) {
        return reason;
    }
    if (!identity_files_init(&files, root, app, &blob->envelope.identity, OBJECT_LIMIT)) {
        return STATUS_out_of_memory;
    }
    reason = identity_files_lock(&files, folder_fd, LOCAL_LOCK_MS, &lock_fd);
    if (reason == STATUS_ok) {
        reason = identity_files_read_header(&files, folder_fd, blob->name, &now);
        if (reason == STATUS_ok && now.generation != blob->envelope.generation) {
            reason = STATUS_renamed;
        }
        if (reason == STATUS_ok) {
            reason = quarantine_move(folder_fd, blob->name, files.file_name, note);
        }
        if (reason == STATUS_ok && strcmp(blob->name, files.file_name) == 0) {
            trial_end(folder_fd, files.loading_name, now.generation, files.file_name);
        }
        file_unlock(lock_fd);
    }
    if (reason == STATUS_ok) {
        marker_forget(folder, blob->envelope.generation);
    }
    identity_files_free(&files);
    return reason;
}

bool local_identities_have(const struct local_identities *identities, const char *hex)
{
    for (size_t i = 0; i < identities->count; i++) {
        if (strcmp(identities->hex[i], hex) == 0) {
            return true;
        }
    }
    return false;
}

void local_identities_add(struct local_identities *identities, const char *hex)
{
    if (!local_identities_have(identities, hex) && identities->count < LOCAL_IDENTITIES) {
        snprintf(identities->hex[identities->count++], DIGEST_HEX_SIZE, "%s", hex);
    }
}

void local_identities_add_wanted(const char *root, const char *app, time_t age_s,
                                 struct local_identities *identities)
{
    AUTO_CLOSE int folder_fd = -1;
    if (file_open_directory(root, app, false, &folder_fd) != STATUS_ok) {
        return;
    }
    AUTO_LISTING DIR *listing = listing_open(folder_fd, ".");
    const time_t now = time(NULL);
    const char *name;
    while ((name = listing_next(listing))) {
        char hex[DIGEST_HEX_SIZE];
        struct stat status;
        if (names_classify(name, hex) == NAME_WANTED &&
            fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(status.st_mode) && now - status.st_mtime <= age_s) {
            local_identities_add(identities, hex);
        }
    }
}
