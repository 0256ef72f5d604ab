// SPDX-License-Identifier: Apache-2.0
#include "tools/remote/local.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/files/file.h"
#include "tools/cli/output.h"
#include "tools/cli/verb.h"

#ifndef STATX_BTIME /* musl before 1.2.5 */
#include <linux/stat.h>
#include <sys/syscall.h>
#define statx(...) syscall(SYS_statx, __VA_ARGS__)
#endif

/* Bytes of a state file at most. */
#define STATE_LIMIT 65536

/* Longest wait for other processes that change it, milliseconds: then without, and one of two
 * changes may be lost. On a busy machine many that come at once have waited for longer than a
 * second. */
#define STATE_LOCK_MS 5000

static void state_digest(const char *text, char ret_hex[17])
{
    char name[OBJECT_NAME_SIZE];
    object_name(text, strlen(text), name);
    memcpy(ret_hex, name, 16);
    ret_hex[16] = '\0';
}

/* To be freed; NULL: there is none. */
static char *state_folder(const char *folder)
{
    if (folder && folder[0] == '/') {
        return output_format("%s/remote", folder);
    }
    AUTO_FREE char *base =
        folder ? getcwd(NULL, 0) : options_base("XDG_STATE_HOME", ".local/state");
    return base ? output_format("%s/%s/remote", base, folder ? folder : "warmpipe") : NULL;
}

void state_open(const char *url, const char *root, const char *folder, struct state *ret_state)
{
    *ret_state = (struct state){.root = root, .folder = state_folder(folder)};
    state_digest(url, ret_state->url_hex);
    state_digest(root ? root : "", ret_state->root_hex);
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
    if (state->folder) {
        file_open_directory(state->folder, state->url_hex, create, &fd);
    }
    return fd;
}

/* For a change of what is there: other processes end theirs first. -1: nothing can be remembered.
 */
static void state_lock(const struct state *state, int *ret_fd)
{
    *ret_fd = state_open_folder(state, true);
    if (*ret_fd >= 0) {
        file_lock_directory(*ret_fd, STATE_LOCK_MS);
    }
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
    AUTO_CLOSE const int folder_fd = state_open_folder(state, false);
    AUTO_FREE uint8_t *data = NULL;
    size_t size;
    *ret_text = (struct bytes){0};
    state_name(path, suffix, name);
    if (folder_fd >= 0 && file_read(folder_fd, name, STATE_LIMIT, &data, &size) == STATUS_ok) {
        bytes_put(ret_text, data, size);
    }
}

static void state_write(const struct state *state, const char *path, const char *suffix,
                        const void *data, size_t size)
{
    char name[HEAD_PATH_SIZE + 40];
    AUTO_CLOSE const int folder_fd = state_open_folder(state, true);
    const struct iovec part = {(void *)(uintptr_t)data, size};
    state_name(path, suffix, name);
    if (folder_fd >= 0) {
        file_replace_as(folder_fd, name, &part, 1, FILE_UNSYNCED);
    }
}

static uint64_t state_number(const struct state *state, const char *path, const char *suffix)
{
    AUTO(bytes_free) struct bytes text = {0};
    uint64_t number = 0;
    state_read(state, path, suffix, &text);
    for (size_t i = 0; i < text.size && text.data[i] >= '0' && text.data[i] <= '9'; i++) {
        number = number * 10 + (uint64_t)(text.data[i] - '0');
    }
    return number;
}

static void state_set_number(const struct state *state, const char *path, const char *suffix,
                             uint64_t number)
{
    char text[24];
    const int length = snprintf(text, sizeof text, "%" PRIu64 "\n", number);
    state_write(state, path, suffix, text, (size_t)length);
}

uint64_t state_serial(const struct state *state, const char *path)
{
    return state_number(state, path, "serial");
}

void state_see_serial(const struct state *state, const char *path, uint64_t serial)
{
    if (serial <= state_serial(state, path)) {
        return;
    }
    AUTO_UNLOCK int lock_fd = -1;
    state_lock(state, &lock_fd);
    if (serial > state_serial(state, path)) {
        state_set_number(state, path, "serial", serial);
    }
}

uint64_t state_deaths(const struct state *state, const char *path)
{
    return state_number(state, path, "deaths");
}

/* A name like a payload's for the program's folder as it is now: one that was removed and made
 * again has another, and so has one whose cache file was removed to make room, or begun anew: its
 * lock then is another, or of another time. False: there is no folder. */
static bool state_name_folder(const struct state *state, const char *path,
                              char ret_name[OBJECT_NAME_SIZE])
{
    char program[NAMES_APP_SIZE];
    char identity_hex[DIGEST_HEX_SIZE];
    char text[256];
    struct statx status;
    struct stat lock_status = {0};
    AUTO_FREE char *lock =
        state->root && head_split_path(path, program, identity_hex)
            ? output_format("%s/%s/%s" LOCK_SUFFIX, state->root, program, identity_hex)
            : NULL;
    if (!lock) {
        return false;
    }
    const bool has_lock = identity_hex[0] && stat(lock, &lock_status) == 0;
    *strrchr(lock, '/') = '\0';
    const bool found = statx(AT_FDCWD, lock, 0, STATX_INO | STATX_BTIME, &status) == 0;
    if (found) {
        const bool has_time = status.stx_mask & STATX_BTIME;
        int size =
            snprintf(text, sizeof text, "%" PRIu64 " %" PRId64 " %" PRIu32,
                     (uint64_t)status.stx_ino, has_time ? (int64_t)status.stx_btime.tv_sec : 0,
                     has_time ? status.stx_btime.tv_nsec : 0);
        if (has_lock) {
            size += snprintf(text + size, sizeof text - (size_t)size,
                             " %" PRIu64 " %" PRId64 " %ld", (uint64_t)lock_status.st_ino,
                             (int64_t)lock_status.st_mtim.tv_sec, lock_status.st_mtim.tv_nsec);
        }
        object_name(text, (size_t)size, ret_name);
    }
    return found;
}

void state_taken(const struct state *state, const char *path, struct bytes *ret_names)
{
    char folder[OBJECT_NAME_SIZE];
    state_read(state, path, state->root_hex, ret_names);
    if (ret_names->size > 0 &&
        (!state_name_folder(state, path, folder) || !state_has(ret_names, folder))) {
        bytes_free(ret_names);
    }
}

void state_set_taken(const struct state *state, const char *path, struct bytes *names)
{
    char folder[OBJECT_NAME_SIZE];
    if (state_name_folder(state, path, folder)) {
        state_add(names, folder);
    }
    if (!names->failed) {
        state_write(state, path, state->root_hex, names->data, names->size);
    }
}

bool state_is_united(const struct state *state, const char *path, const char *name)
{
    AUTO(bytes_free) struct bytes noted = {0};
    state_read(state, path, "united", &noted);
    return state_has(&noted, name);
}

void state_set_united(const struct state *state, const char *path, const char *name)
{
    AUTO(bytes_free) struct bytes noted = {0};
    state_add(&noted, name);
    if (!noted.failed && !state_is_united(state, path, name)) {
        state_write(state, path, "united", noted.data, noted.size);
    }
}

void state_bad(const struct state *state, const char *path, struct bytes *ret_names)
{
    state_read(state, path, "bad", ret_names);
}

void state_add_bad(const struct state *state, const char *path, const struct bytes *payloads,
                   unsigned deaths)
{
    AUTO(bytes_free) struct bytes names = {0};
    AUTO_UNLOCK int lock_fd = -1;
    state_lock(state, &lock_fd);
    state_bad(state, path, &names);
    for (size_t at = 0; at + OBJECT_NAME_SIZE <= payloads->size; at += OBJECT_NAME_SIZE) {
        state_add(&names, (const char *)payloads->data + at);
    }
    if (!names.failed) {
        state_write(state, path, "bad", names.data, names.size);
    }
    state_set_number(state, path, "deaths", state_deaths(state, path) + deaths);
}

void state_forget_bad(const struct state *state, const char *path, const struct bytes *but)
{
    AUTO(bytes_free) struct bytes names = {0};
    AUTO(bytes_free) struct bytes left = {0};
    state_bad(state, path, &names);
    for (size_t at = 0; at + OBJECT_NAME_SIZE <= names.size; at += OBJECT_NAME_SIZE) {
        const char *payload = (const char *)names.data + at;
        if (state_has(but, payload)) {
            state_add(&left, payload);
        }
    }
    if (names.size > 0 && !left.failed) {
        state_write(state, path, "bad", left.data, left.size);
    }
    if (state_deaths(state, path) > 0) {
        state_set_number(state, path, "deaths", 0);
    }
}

bool state_has(const struct bytes *names, const char *name)
{
    for (size_t at = 0; at + OBJECT_NAME_SIZE <= names->size; at += OBJECT_NAME_SIZE) {
        if (memcmp(names->data + at, name, OBJECT_NAME_SIZE - 1) == 0) {
            return true;
        }
    }
    return false;
}

void state_add(struct bytes *names, const char *name)
{
    if (state_has(names, name)) {
        return;
    }
    if (names->size + OBJECT_NAME_SIZE > STATE_LIMIT) { /* the oldest gives way */
        names->size -= OBJECT_NAME_SIZE;
        memmove(names->data, names->data + OBJECT_NAME_SIZE, names->size);
    }
    bytes_put(names, name, OBJECT_NAME_SIZE - 1);
    bytes_put_u8(names, '\n');
}
