// SPDX-License-Identifier: Apache-2.0
#include "common/settings/settings_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/text.h"

#define NAME "vk_layer_settings.txt"

/* The file may be in whatever directory a program runs in, so its owner must be trusted. */
static enum status settings_file_judge_owner(int fd, const struct stat *status)
{
    if (!io_is_trusted_owner(fd, status)) {
        return STATUS_file_owner;
    }
    return status->st_mode & (S_IWGRP | S_IWOTH) ? STATUS_file_mode : STATUS_ok;
}

/* False: no such regular file. */
static bool settings_file_read_path(const char *path, struct settings_file *file)
{
    struct stat status;
    ssize_t size = -1;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_size <= SETTINGS_FILE_LIMIT) {
        file->reason = settings_file_judge_owner(fd, &status);
        file->text = file->reason == STATUS_ok ? malloc((size_t)status.st_size + 1) : NULL;
        size = file->text ? read(fd, file->text, (size_t)status.st_size) : -1;
    }
    io_close(fd);
    if (size < 0) {
        free(file->text);
        file->text = NULL;
        return file->reason != STATUS_ok;
    }
    file->size = (size_t)size;
    return true;
}

/* Takes over `path`, which may be NULL. */
static bool settings_file_try(char *path, struct settings_file *ret_file)
{
    struct settings_file file = {.path = path};
    if (!path || !settings_file_read_path(path, &file)) {
        free(path);
        return false;
    }
    *ret_file = file;
    return true;
}

static char *settings_file_concatenate(const char *first, const char *second)
{
    char *path;
    return asprintf(&path, "%s%s", first, second) < 0 ? NULL : path;
}

/* Where Vulkan Configurator keeps the file; freed by the caller. NULL: nowhere. */
static char *settings_file_configurator_path(const char *(*lookup)(const char *name))
{
    const char *data = text_or_null(lookup("XDG_DATA_HOME"));
    if (data) {
        return settings_file_concatenate(data, "/vulkan/settings.d/" NAME);
    }
    const char *home = text_or_null(lookup("HOME"));
    return home ? settings_file_concatenate(home, "/.local/share/vulkan/settings.d/" NAME) : NULL;
}

bool settings_file_read(const char *(*lookup)(const char *name), struct settings_file *ret_file)
{
    if (settings_file_try(settings_file_configurator_path(lookup), ret_file)) {
        return true;
    }
    const char *named = text_or_null(lookup("VK_LAYER_SETTINGS_PATH"));
    struct stat status;
    if (named && fstatat(AT_FDCWD, named, &status, 0) == 0) {
        return settings_file_try(
            settings_file_concatenate(named, S_ISDIR(status.st_mode) ? "/" NAME : ""), ret_file);
    }
    return settings_file_try(strdup(NAME), ret_file);
}

void settings_file_free(struct settings_file *file)
{
    free(file->path);
    free(file->text);
    *file = (struct settings_file){0};
}

static bool settings_file_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

/* Copies a piece of the text without the white space around it. False: it is too long for
 * `ret_copy`, or contains a zero. */
static bool settings_file_copy_trimmed(const char *start, const char *end, char *ret_copy,
                                       size_t size)
{
    while (start < end && settings_file_is_space(*start)) {
        start++;
    }
    while (start < end && settings_file_is_space(end[-1])) {
        end--;
    }
    const size_t length = (size_t)(end - start);
    if (length >= size || memchr(start, '\0', length)) {
        return false;
    }
    memcpy(ret_copy, start, length);
    ret_copy[length] = '\0';
    return true;
}

void settings_file_each(const char *text, size_t size, const char *prefix,
                        settings_file_visit_fn visit, void *user)
{
    const size_t prefix_length = strlen(prefix);
    const char *const text_end = text + size;
    for (unsigned line = 1; text < text_end; line++) {
        const char *newline = memchr(text, '\n', (size_t)(text_end - text));
        const char *line_end = newline ? newline : text_end;
        const char *comment = memchr(text, '#', (size_t)(line_end - text));
        const char *end = comment ? comment : line_end;
        const char *equals = memchr(text, '=', (size_t)(end - text));
        char key[SETTINGS_KEY_SIZE];
        char value[SETTINGS_VALUE_SIZE];
        if (equals && settings_file_copy_trimmed(text, equals, key, sizeof key) &&
            strncmp(key, prefix, prefix_length) == 0 &&
            settings_file_copy_trimmed(equals + 1, end, value, sizeof value)) {
            visit(key + prefix_length, value, line, user);
        }
        text = newline ? newline + 1 : text_end;
    }
}
