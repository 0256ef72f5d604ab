// SPDX-License-Identifier: Apache-2.0
#include "tools/remote/local.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/blobs/store.h"
#include "common/files/file.h"
#include "tools/remote/heads/minisign.h"

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

enum status local_read_part(int folder_fd, const char *identity_hex, const char *name,
                            struct local_blob *ret_blob)
{
    struct local_blob blob = {0};
    snprintf(blob.name, sizeof blob.name, "%s", name);
    enum status reason = file_read(folder_fd, name, OBJECT_LIMIT, &blob.memory, &blob.size);
    if (reason == STATUS_ok) {
        reason = envelope_validate(blob.memory, blob.size, NULL, &blob.envelope);
    }
    if (reason == STATUS_ok) {
        char found[DIGEST_HEX_SIZE];
        digest_format(identity_digest(&blob.envelope.identity), found);
        reason = strcmp(found, identity_hex) == 0 ? STATUS_ok : STATUS_renamed;
    }
    if (reason != STATUS_ok) {
        local_blob_free(&blob);
        return reason;
    }
    object_name(blob.envelope.blob, blob.envelope.blob_size, blob.payload);
    *ret_blob = blob;
    return STATUS_ok;
}

static enum status local_read_in(int folder_fd, const char *identity_hex,
                                 struct local_blob *ret_blob)
{
    char name[PART_NAME_SIZE];
    local_file_name(identity_hex, name);
    return local_read_part(folder_fd, identity_hex, name, ret_blob);
}

enum status local_read(const char *root, const char *app, const char *identity_hex,
                       struct local_blob *ret_blob)
{
    int folder_fd;
    enum status reason = file_open_directory(root, app, false, &folder_fd);
    if (reason == STATUS_ok) {
        reason = local_read_in(folder_fd, identity_hex, ret_blob);
        close(folder_fd);
    }
    return reason;
}

bool local_exists(const char *root, const char *app, const char *identity_hex)
{
    int folder_fd;
    char name[PART_NAME_SIZE];
    uint8_t head[ENVELOPE_HEADER_SIZE];
    size_t size;
    uint64_t file_size;
    struct envelope envelope;
    if (file_open_directory(root, app, false, &folder_fd) != STATUS_ok) {
        return false;
    }
    local_file_name(identity_hex, name);
    const bool exists =
        file_read_head(folder_fd, name, head, sizeof head, &size, &file_size) == STATUS_ok &&
        envelope_validate_header(head, size, file_size, NULL, &envelope) == STATUS_ok;
    close(folder_fd);
    return exists;
}

bool local_has_parts(const char *root, const char *app, const char *identity_hex)
{
    int folder_fd;
    struct parts parts = {0};
    if (file_open_directory(root, app, false, &folder_fd) != STATUS_ok) {
        return false;
    }
    const bool found = parts_list(folder_fd, identity_hex, &parts) && parts.count > 0;
    close(folder_fd);
    return found;
}

/* The lines of a note that name what was pulled. */
static void local_read_note(int quarantine_fd, const char *identity_hex, struct bytes *ret_names)
{
    char name[PART_NAME_SIZE + 4];
    uint8_t *text;
    size_t size;
    snprintf(name, sizeof name, "%s" CACHE_SUFFIX ".txt", identity_hex);
    if (file_read(quarantine_fd, name, LOCAL_NOTE_LIMIT, &text, &size) != STATUS_ok) {
        return;
    }
    const size_t begin = strlen(TRIAL_NOTE);
    for (size_t at = 0, length; at < size; at += length + 1) {
        const uint8_t *end = memchr(text + at, '\n', size - at);
        length = end ? (size_t)(end - (text + at)) : size - at;
        if (length == begin + TRIAL_PAYLOAD_DIGITS && memcmp(text + at, TRIAL_NOTE, begin) == 0) {
            char payload[OBJECT_NAME_SIZE] = "";
            memcpy(payload, text + at + begin, TRIAL_PAYLOAD_DIGITS);
            state_add(ret_names, payload);
        }
    }
    free(text);
}

void local_quarantined(const char *root, const char *app, const char *identity_hex,
                       struct bytes *ret_names)
{
    int folder_fd;
    int quarantine_fd;
    struct local_blob blob;
    *ret_names = (struct bytes){0};
    if (file_open_directory(root, app, false, &folder_fd) != STATUS_ok) {
        return;
    }
    if (file_open_subdirectory(folder_fd, QUARANTINE_FOLDER, false, &quarantine_fd) == STATUS_ok) {
        if (local_read_in(quarantine_fd, identity_hex, &blob) == STATUS_ok) {
            local_read_note(quarantine_fd, identity_hex, ret_names);
            if (ret_names->size == 0) {
                state_add(ret_names, blob.payload);
            }
            local_blob_free(&blob);
        }
        close(quarantine_fd);
    }
    close(folder_fd);
}

bool local_on_trial(const char *root, const char *app, const char *identity_hex,
                    uint64_t generation, struct trial *ret_trial)
{
    int folder_fd;
    char name[PART_NAME_SIZE];
    *ret_trial = (struct trial){.kept = ""};
    if (file_open_directory(root, app, false, &folder_fd) != STATUS_ok) {
        return false;
    }
    snprintf(name, sizeof name, "%s" LOADING_SUFFIX, identity_hex);
    const bool is = trial_read(folder_fd, name, generation, ret_trial);
    close(folder_fd);
    return is;
}

enum status local_take(const char *root, const char *app, const char *identity_hex,
                       const char *payload, const uint8_t *data, size_t size)
{
    struct envelope envelope;
    char found[OBJECT_NAME_SIZE];
    char hex[DIGEST_HEX_SIZE];
    enum status reason = envelope_validate(data, size, NULL, &envelope);
    if (reason != STATUS_ok) {
        return reason;
    }
    digest_format(identity_digest(&envelope.identity), hex);
    if (strcmp(hex, identity_hex) != 0) {
        return STATUS_renamed;
    }
    object_name(envelope.blob, envelope.blob_size, found);
    if (strcmp(found, payload) != 0) {
        return STATUS_remote_bad_object;
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
    int folder_fd;
    int lock_fd;
    enum status reason = file_open_directory(root, app, false, &folder_fd);
    if (reason != STATUS_ok) {
        return reason;
    }
    if (!identity_files_init(&files, root, app, &blob->envelope.identity, OBJECT_LIMIT)) {
        close(folder_fd);
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
            trial_restore(folder_fd, files.loading_name, now.generation, files.file_name);
        }
        file_unlock(lock_fd);
    }
    if (reason == STATUS_ok) {
        marker_forget(folder, blob->envelope.generation);
    }
    identity_files_free(&files);
    close(folder_fd);
    return reason;
}

/* Seconds for which a wish counts. */
#define WANTED_AGE_S (30 * 24 * 3600)

void local_identities_add(struct local_identities *identities, const char *hex)
{
    for (size_t i = 0; i < identities->count; i++) {
        if (strcmp(identities->hex[i], hex) == 0) {
            return;
        }
    }
    if (identities->count < LOCAL_IDENTITIES) {
        snprintf(identities->hex[identities->count++], DIGEST_HEX_SIZE, "%s", hex);
    }
}

void local_identities_add_wanted(const char *root, const char *app,
                                 struct local_identities *identities)
{
    int folder_fd;
    if (file_open_directory(root, app, false, &folder_fd) != STATUS_ok) {
        return;
    }
    DIR *listing = listing_open(folder_fd, ".");
    const time_t now = time(NULL);
    const char *name;
    while ((name = listing_next(listing))) {
        char hex[DIGEST_HEX_SIZE];
        struct stat status;
        if (names_classify(name, hex) == NAME_WANTED &&
            fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(status.st_mode) && now - status.st_mtime <= WANTED_AGE_S) {
            local_identities_add(identities, hex);
        }
    }
    listing_close(listing);
    close(folder_fd);
}

/* What is remembered. */

/* Bytes of a state file at most. */
#define STATE_LIMIT 65536

static void state_digest(const char *text, char ret_hex[17])
{
    char name[OBJECT_NAME_SIZE];
    object_name(text, strlen(text), name);
    memcpy(ret_hex, name, 16);
    ret_hex[16] = '\0';
}

void state_open(const char *url, const char *root, struct state *ret_state)
{
    const char *home = getenv("XDG_STATE_HOME");
    const char *below = "";
    char hex[17];
    *ret_state = (struct state){0};
    if (!home || home[0] != '/') {
        home = getenv("HOME");
        below = "/.local/state";
    }
    state_digest(url, hex);
    state_digest(root ? root : "", ret_state->root_hex);
    if (home && home[0] == '/' &&
        asprintf(&ret_state->folder, "%s%s/warmpipe/remote/%s", home, below, hex) < 0) {
        ret_state->folder = NULL;
    }
}

void state_free(struct state *state)
{
    free(state->folder);
    *state = (struct state){0};
}

/* The folder, opened; -1. */
static int state_open_folder(const struct state *state, bool create)
{
    int fd = -1;
    char *slash = state->folder ? strrchr(state->folder, '/') : NULL;
    if (!slash) {
        return -1;
    }
    *slash = '\0';
    const enum status reason = file_open_directory(state->folder, slash + 1, create, &fd);
    *slash = '/';
    return reason == STATUS_ok ? fd : -1;
}

/* A head's path as a file's name, with `suffix`. */
static void state_name(const char *path, const char *suffix, char ret_name[HEAD_PATH_SIZE + 40])
{
    snprintf(ret_name, HEAD_PATH_SIZE + 40, "%s.%s", path + strlen(HEAD_FOLDER), suffix);
    for (char *next = ret_name; *next; next++) {
        *next = *next == '/' ? '.' : *next;
    }
}

static void state_read(const struct state *state, const char *path, const char *suffix,
                       struct bytes *ret_text)
{
    char name[HEAD_PATH_SIZE + 40];
    uint8_t *data;
    size_t size;
    *ret_text = (struct bytes){0};
    const int folder_fd = state_open_folder(state, false);
    if (folder_fd < 0) {
        return;
    }
    state_name(path, suffix, name);
    if (file_read(folder_fd, name, STATE_LIMIT, &data, &size) == STATUS_ok) {
        bytes_put(ret_text, data, size);
        free(data);
    }
    close(folder_fd);
}

static void state_write(const struct state *state, const char *path, const char *suffix,
                        const void *data, size_t size)
{
    char name[HEAD_PATH_SIZE + 40];
    const int folder_fd = state_open_folder(state, true);
    if (folder_fd < 0) {
        return;
    }
    const struct iovec part = {(void *)(uintptr_t)data, size};
    state_name(path, suffix, name);
    file_replace_unsynced(folder_fd, name, &part, 1);
    close(folder_fd);
}

uint64_t state_serial(const struct state *state, const char *path)
{
    struct bytes text;
    uint64_t serial = 0;
    state_read(state, path, "serial", &text);
    for (size_t i = 0; i < text.size && text.data[i] >= '0' && text.data[i] <= '9'; i++) {
        serial = serial * 10 + (uint64_t)(text.data[i] - '0');
    }
    bytes_free(&text);
    return serial;
}

void state_see_serial(const struct state *state, const char *path, uint64_t serial)
{
    char text[24];
    if (serial > state_serial(state, path)) {
        const int length = snprintf(text, sizeof text, "%" PRIu64 "\n", serial);
        state_write(state, path, "serial", text, (size_t)length);
    }
}

void state_taken(const struct state *state, const char *path, struct bytes *ret_names)
{
    state_read(state, path, state->root_hex, ret_names);
}

void state_set_taken(const struct state *state, const char *path, const struct bytes *names)
{
    if (!names->failed) {
        state_write(state, path, state->root_hex, names->data, names->size);
    }
}

void state_bad(const struct state *state, const char *path, struct bytes *ret_names)
{
    state_read(state, path, "bad", ret_names);
}

void state_add_bad(const struct state *state, const char *path, const struct bytes *payloads)
{
    struct bytes names;
    state_bad(state, path, &names);
    for (size_t at = 0; at + OBJECT_NAME_SIZE <= payloads->size; at += OBJECT_NAME_SIZE) {
        char payload[OBJECT_NAME_SIZE] = "";
        memcpy(payload, payloads->data + at, OBJECT_NAME_SIZE - 1);
        state_add(&names, payload);
    }
    if (!names.failed) {
        state_write(state, path, "bad", names.data, names.size);
    }
    bytes_free(&names);
}

bool state_has(const struct bytes *names, const char *name)
{
    const size_t line = OBJECT_NAME_SIZE;
    for (size_t at = 0; at + line <= names->size; at += line) {
        if (memcmp(names->data + at, name, line - 1) == 0) {
            return true;
        }
    }
    return false;
}

void state_add(struct bytes *names, const char *name)
{
    if (!state_has(names, name) && names->size + OBJECT_NAME_SIZE <= STATE_LIMIT) {
        bytes_put(names, name, OBJECT_NAME_SIZE - 1);
        bytes_put_u8(names, '\n');
    }
}
