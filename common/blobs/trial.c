// SPDX-License-Identifier: Apache-2.0
#include "common/blobs/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/files/file.h"

/* Bytes of a mark at most. */
#define TRIAL_LIMIT 65536

#define TRIAL_KEPT "kept "

/* A mark is that old before its file is missed, seconds. */
#define TRIAL_NEW_S 60

/* Of a payload. */
#define TRIAL_LINE_SIZE ((size_t)TRIAL_PAYLOAD_DIGITS + 1)

void trial_free(struct trial *trial)
{
    bytes_free(&trial->payloads);
    *trial = (struct trial){.kept = ""};
}

static bool trial_has(const struct trial *trial, const void *line)
{
    for (size_t at = 0; at + TRIAL_LINE_SIZE <= trial->payloads.size; at += TRIAL_LINE_SIZE) {
        if (memcmp(trial->payloads.data + at, line, TRIAL_LINE_SIZE) == 0) {
            return true;
        }
    }
    return false;
}

void trial_unite(struct trial *trial, const struct trial *other)
{
    for (size_t at = 0; at + TRIAL_LINE_SIZE <= other->payloads.size; at += TRIAL_LINE_SIZE) {
        if (!trial_has(trial, other->payloads.data + at)) {
            bytes_put(&trial->payloads, other->payloads.data + at, TRIAL_LINE_SIZE);
        }
    }
    trial->payloads.failed = trial->payloads.failed || other->payloads.failed;
    if (!trial->kept[0] && other->payloads.size > 0) {
        memcpy(trial->kept, other->kept, sizeof trial->kept);
    }
}

enum status trial_begin(int directory_fd, const char *name, uint64_t generation,
                        const struct trial *trial)
{
    char file_name[NAMES_SIZE];
    AUTO(bytes_free) struct bytes text = {0};
    AUTO_CLOSE const int folder_fd =
        file_make_directory(directory_fd, name) ? file_open_folder(directory_fd, name) : -1;
    bytes_put(&text, trial->payloads.data, trial->payloads.size);
    if (trial->kept[0]) {
        bytes_put_text(&text, TRIAL_KEPT);
        bytes_put_text(&text, trial->kept);
        bytes_put_u8(&text, '\n');
    }
    unique_name(generation, TRIAL_SUFFIX, file_name);
    AUTO_CLOSE const int fd =
        folder_fd < 0 ? -1
                      : io_open(folder_fd, file_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
    if (fd >= 0 && (text.failed || trial->payloads.failed)) {
        return STATUS_out_of_memory;
    }
    if (fd >= 0 && !file_size_allowed(text.size)) {
        return STATUS_disk_full;
    }
    if (fd < 0 || !io_write(fd, text.data, text.size, IO_HERE)) {
        return errno == ENOENT ? STATUS_directory_unusable : status_from_errno(errno);
    }
    fchmod(fd, 0600); /* a umask may have taken our own bits */
    return STATUS_ok;
}

static void trial_parse(const char *text, size_t size, struct trial *ret_trial)
{
    const size_t kept = strlen(TRIAL_KEPT);
    while (size > 0) {
        const char *end = memchr(text, '\n', size);
        const size_t length = end ? (size_t)(end - text) : size;
        if (end && length == TRIAL_PAYLOAD_DIGITS && names_is_hex(text, length)) {
            bytes_put(&ret_trial->payloads, text, length + 1);
        } else if (length > kept && length - kept < sizeof ret_trial->kept &&
                   memcmp(text, TRIAL_KEPT, kept) == 0) {
            char identity[DIGEST_HEX_SIZE];
            memcpy(ret_trial->kept, text + kept, length - kept);
            ret_trial->kept[length - kept] = '\0';
            if (names_classify(ret_trial->kept, identity) != NAME_PART) {
                ret_trial->kept[0] = '\0';
            }
        }
        text += length + (end ? 1 : 0);
        size -= length + (end ? 1 : 0);
    }
}

enum status trial_find(int directory_fd, const char *name, uint64_t generation,
                       struct trial *ret_trial)
{
    char file_name[NAMES_SIZE];
    AUTO_FREE uint8_t *data = NULL;
    size_t size;
    *ret_trial = (struct trial){.kept = ""};
    AUTO_CLOSE const int folder_fd = file_open_folder(directory_fd, name);
    if (folder_fd < 0) {
        return errno == ENOTDIR || errno == ELOOP ? STATUS_no_file : status_from_errno(errno);
    }
    unique_name(generation, TRIAL_SUFFIX, file_name);
    enum status reason = file_read(folder_fd, file_name, TRIAL_LIMIT, &data, &size);
    if (reason == STATUS_ok) {
        trial_parse((const char *)data, size, ret_trial);
        if (ret_trial->payloads.failed) {
            trial_free(ret_trial);
            reason = STATUS_out_of_memory;
        }
    } else if (reason != STATUS_io_error && reason != STATUS_out_of_memory &&
               reason != STATUS_unreadable) {
        reason = STATUS_no_file;
    }
    return reason;
}

void trial_forget(int folder_fd, uint64_t generation)
{
    char name[NAMES_SIZE];
    unique_name(generation, TRIAL_SUFFIX, name);
    unlinkat(folder_fd, name, 0);
}

bool trial_is_new(int folder_fd, uint64_t generation)
{
    char name[NAMES_SIZE];
    struct stat status;
    unique_name(generation, TRIAL_SUFFIX, name);
    return fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           llabs((long long)time(NULL) - (long long)status.st_mtim.tv_sec) < TRIAL_NEW_S;
}

void trial_remove(int directory_fd, const char *name, uint64_t generation)
{
    AUTO_CLOSE const int folder_fd = file_open_folder(directory_fd, name);
    if (folder_fd >= 0) {
        trial_forget(folder_fd, generation);
    }
}

void trial_end(int directory_fd, const char *name, uint64_t generation, const char *gone)
{
    AUTO(trial_free) struct trial trial = {.kept = ""};
    if (trial_find(directory_fd, name, generation, &trial) != STATUS_ok) {
        return;
    }
    if (trial.kept[0] && !gone) {
        unlinkat(directory_fd, trial.kept, 0);
    } else if (trial.kept[0] && renameat(directory_fd, trial.kept, directory_fd, gone) != 0) {
        /* It stays a part, which the next save takes up. */
    }
    trial_remove(directory_fd, name, generation);
}

void trial_put_note(const struct trial *trial, struct bytes *note)
{
    for (size_t at = 0; at + TRIAL_LINE_SIZE <= trial->payloads.size; at += TRIAL_LINE_SIZE) {
        bytes_put_text(note, TRIAL_NOTE);
        bytes_put(note, trial->payloads.data + at, TRIAL_LINE_SIZE);
    }
}
