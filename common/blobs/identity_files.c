// SPDX-License-Identifier: Apache-2.0
#include "common/blobs/identity_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/bytes.h"
#include "common/base/io.h"
#include "common/blobs/quarantine.h"
#include "common/blobs/trial.h"
#include "common/files/file.h"
#include "common/files/names.h"

static char *identity_files_join_path(const char *root, const char *app, const char *name)
{
    char *path;
    return asprintf(&path, "%s/%s/%s", root, app, name) < 0 ? NULL : path;
}

static void identity_files_format_name(const struct identity_files *files, const char *suffix,
                                       char ret_name[NAMES_SIZE])
{
    snprintf(ret_name, NAMES_SIZE, "%s%s", files->identity_hex, suffix);
}

bool identity_files_init(struct identity_files *files, const char *root, const char *app,
                         const struct driver_identity *identity, uint64_t max_blob)
{
    *files = (struct identity_files){.identity = *identity, .max_blob = max_blob};
    digest_format(identity_digest(identity), files->identity_hex);
    identity_files_format_name(files, CACHE_SUFFIX, files->file_name);
    identity_files_format_name(files, LOCK_SUFFIX, files->lock_name);
    identity_files_format_name(files, LOADING_SUFFIX, files->loading_name);
    files->root = strdup(root);
    files->app = strdup(app);
    files->path = identity_files_join_path(root, app, files->file_name);
    files->loading_path = identity_files_join_path(root, app, files->loading_name);
    if (!files->root || !files->app || !files->path || !files->loading_path) {
        identity_files_free(files);
        return false;
    }
    return true;
}

void identity_files_free(struct identity_files *files)
{
    free(files->root);
    free(files->app);
    free(files->path);
    free(files->loading_path);
}

enum status identity_files_lock(const struct identity_files *files, int directory_fd,
                                unsigned wait_ms, int *ret_fd)
{
    enum status reason = file_lock(directory_fd, files->lock_name, wait_ms, ret_fd);
    if (reason == STATUS_symlink && unlinkat(directory_fd, files->lock_name, 0) == 0) {
        reason = file_lock(directory_fd, files->lock_name, wait_ms, ret_fd);
    }
    return reason;
}

enum status blob_read_header(int directory_fd, const char *name,
                             const struct driver_identity *expected, struct envelope *ret_envelope)
{
    uint8_t header[ENVELOPE_HEADER_SIZE];
    size_t size;
    uint64_t file_size;
    const enum status reason =
        file_read_head(directory_fd, name, header, sizeof header, &size, &file_size);
    return reason == STATUS_ok
               ? envelope_validate_header(header, size, file_size, expected, ret_envelope)
               : reason;
}

enum status identity_files_read_header(const struct identity_files *files, int directory_fd,
                                       const char *name, struct envelope *ret_envelope)
{
    struct envelope envelope;
    enum status reason = blob_read_header(directory_fd, name, &files->identity, &envelope);
    if (reason == STATUS_ok && envelope.blob_size > files->max_blob) {
        reason = STATUS_too_large;
    }
    if (reason == STATUS_ok) {
        *ret_envelope = envelope;
    }
    return reason;
}

static enum status identity_files_write_envelope(const struct identity_files *files,
                                                 int directory_fd, const char *name,
                                                 const void *data, size_t size, uint64_t generation,
                                                 bool is_alone)
{
    const struct envelope envelope = {
        .identity = files->identity,
        .generation = generation,
        .saved_at = (uint64_t)time(NULL),
        .blob = data,
        .blob_size = size,
    };
    uint8_t memory[ENVELOPE_HEADER_SIZE];
    struct bytes header = {.data = memory, .capacity = sizeof memory};
    envelope_encode_header(&envelope, &header);
    const struct iovec parts[] = {
        {.iov_base = memory, .iov_len = sizeof memory},
        {.iov_base = (void *)(uintptr_t)data, .iov_len = size},
    };
    const bool is_synced = !files->is_pulled || strcmp(name, files->file_name) != 0;
    const enum status reason = file_replace_as(directory_fd, name, parts, 2,
                                               !is_synced ? FILE_UNSYNCED
                                               : is_alone ? FILE_NAMED_FIRST
                                                          : FILE_SYNCED);
    if (reason == STATUS_ok) {
        in_use_add(files->path);
    }
    return reason;
}

/* Rename cannot replace a directory: it is moved out of the way. */
static enum status identity_files_move_directory_away(const struct identity_files *files,
                                                      int directory_fd)
{
    char as[NAMES_SIZE];
    snprintf(as, sizeof as, "%s.%016" PRIx64, files->identity_hex, unique_draw());
    return quarantine_move(directory_fd, files->file_name, as, NULL);
}

enum status identity_files_write(const struct identity_files *files, int directory_fd,
                                 const char *name, const void *data, size_t size,
                                 uint64_t generation, bool is_alone)
{
    enum status reason =
        identity_files_write_envelope(files, directory_fd, name, data, size, generation, is_alone);
    if (reason == STATUS_not_a_file && strcmp(name, files->file_name) == 0 &&
        identity_files_move_directory_away(files, directory_fd) == STATUS_ok) {
        reason = identity_files_write_envelope(files, directory_fd, name, data, size, generation,
                                               is_alone);
    }
    return reason;
}

/* Parts. */

void parts_name(const char identity[DIGEST_HEX_SIZE], uint64_t number,
                char ret_name[PART_NAME_SIZE])
{
    snprintf(ret_name, PART_NAME_SIZE, "%s.%016" PRIx64 PART_SUFFIX, identity, number);
}

bool parts_list(int directory_fd, const char identity[DIGEST_HEX_SIZE], bool sweeps,
                struct parts *ret_parts)
{
    AUTO_LISTING DIR *listing = listing_open(directory_fd, ".");
    if (!listing) {
        return false;
    }
    ret_parts->count = 0;
    const char *name;
    while ((name = listing_next(listing))) {
        char of[DIGEST_HEX_SIZE];
        enum name_kind kind = names_classify(name, of);
        if (sweeps && kind == NAME_TEMPORARY) {
            file_sweep_temporary(directory_fd, name);
        } else if (kind == NAME_PART && strcmp(of, identity) == 0 && ret_parts->count < PARTS_MAX) {
            memcpy(ret_parts->names[ret_parts->count++], name, PART_NAME_SIZE);
        }
    }
    return errno == 0;
}

/* Reading and judging. */

/* The lock must be held, so that the file is still the one that was judged. */
static enum status identity_files_move_to_quarantine(const struct identity_files *files,
                                                     const struct marker_folder *folder,
                                                     int directory_fd, const char *name,
                                                     const struct envelope *envelope,
                                                     const struct marker_history *history)
{
    struct envelope current;
    if (identity_files_read_header(files, directory_fd, name, &current) != STATUS_ok ||
        current.generation != envelope->generation) {
        return STATUS_suspect;
    }
    AUTO(bytes_free) struct bytes note = {0};
    AUTO(trial_free) struct trial trial = {.kept = ""};
    const bool is_pulled =
        trial_find(directory_fd, files->loading_name, envelope->generation, &trial) == STATUS_ok;
    quarantine_note(directory_fd, files->identity_hex, envelope, history, is_pulled, &note);
    if (is_pulled) {
        trial_put_note(&trial, &note);
    }
    const bool is_part = strcmp(name, files->file_name) != 0;
    char as[NAMES_SIZE];
    identity_files_format_name(files, is_part ? PART_SUFFIX : CACHE_SUFFIX, as);
    if (quarantine_move(directory_fd, name, as, &note) != STATUS_ok) {
        return STATUS_suspect;
    }
    if (!is_part) {
        trial_end(directory_fd, files->loading_name, envelope->generation, name);
    }
    marker_forget(folder, envelope->generation);
    return STATUS_quarantined;
}

static enum status identity_files_block_blob(const struct identity_files *files,
                                             const struct blob_judge *judge, int directory_fd,
                                             const char *name, const struct envelope *envelope,
                                             const struct marker_history *history)
{
    AUTO_UNLOCK int lock_fd = -1;
    /* Without the lock the markers stay, so that the next start tries again. */
    if (!judge->has_lock &&
        identity_files_lock(files, directory_fd, judge->lock_wait_ms, &lock_fd) != STATUS_ok) {
        return STATUS_suspect;
    }
    return identity_files_move_to_quarantine(files, judge->folder, directory_fd, name, envelope,
                                             history);
}

static enum status identity_files_judge_blob(const struct identity_files *files,
                                             const struct blob_judge *judge, int directory_fd,
                                             const char *name, const struct envelope *envelope)
{
    struct loading_markers *markers = judge->markers;
    struct marker_history history;
    if (identity_files_skips(envelope->generation)) {
        return STATUS_suspect;
    }
    switch (marker_judge(judge->folder, envelope->generation, &history)) {
    case MARKER_FAILED_ONCE:
        if (judge->is_load && marker_take(judge->folder, envelope->generation, &history, true,
                                          &markers->markers[markers->count])) {
            markers->count++;
        }
        return STATUS_suspect;
    case MARKER_BLOCKED:
        return identity_files_block_blob(files, judge, directory_fd, name, envelope, &history);
    case MARKER_CLEAR:
        break;
    }
    const bool failed_once = history.failure != 0;
    if (failed_once && judge->failed_once) {
        return STATUS_suspect;
    }
    if (marker_take(judge->folder, envelope->generation, &history, false,
                    &markers->markers[markers->count])) {
        markers->count++;
    }
    markers->failed_once = markers->failed_once || failed_once;
    return STATUS_ok;
}

enum status identity_files_read(const struct identity_files *files, const struct blob_judge *judge,
                                int directory_fd, const char *name, struct found_blob *ret_found)
{
    const uint64_t limit = files->max_blob <= UINT64_MAX - ENVELOPE_HEADER_SIZE
                               ? files->max_blob + ENVELOPE_HEADER_SIZE
                               : UINT64_MAX;
    uint8_t *data;
    size_t size;
    *ret_found = (struct found_blob){0};
    enum status reason = file_read_large(directory_fd, name, limit, &data, &size);
    if (reason != STATUS_ok) {
        return reason;
    }
    struct envelope envelope;
    reason = envelope_validate(data, size, &files->identity, &envelope);
    if (reason == STATUS_bad_section_digest || reason == STATUS_bad_blob_header) {
        envelope_peek(data, size, &envelope);
        ret_found->generation = envelope.generation;
    } else if (reason == STATUS_ok) {
        ret_found->generation = envelope.generation;
        reason = judge ? identity_files_judge_blob(files, judge, directory_fd, name, &envelope)
                       : STATUS_ok;
    }
    if (reason == STATUS_ok) {
        ret_found->memory = data;
        ret_found->envelope = envelope;
    } else {
        large_free(data);
    }
    return reason;
}

bool unfinished_is(int folder_fd, const char identity[DIGEST_HEX_SIZE])
{
    char name[NAMES_SIZE];
    struct stat status;
    snprintf(name, sizeof name, "%s" WANTED_SUFFIX, identity);
    return fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode) &&
           status.st_size > 0;
}

void unfinished_set(int folder_fd, const char identity[DIGEST_HEX_SIZE], bool is_unfinished)
{
    static const char note[] = "unfinished\n";
    char name[NAMES_SIZE];
    snprintf(name, sizeof name, "%s" WANTED_SUFFIX, identity);
    AUTO_CLOSE const int fd =
        io_open(folder_fd, name, O_WRONLY | O_NOFOLLOW | (is_unfinished ? O_CREAT : 0));
    if (fd >= 0) {
        fchmod(fd, 0600); /* a umask may have taken our own bits */
        const ssize_t done =
            is_unfinished ? pwrite(fd, note, sizeof note - 1, 0) : ftruncate(fd, 0);
        (void)done; /* a full disk, say */
    }
}
