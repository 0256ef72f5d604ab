#include "settings_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "vk_layer_settings.txt"

/* NULL: no such regular file. */
static char *read_file(const char *path, size_t *ret_size)
{
    struct stat status;
    char *text = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_size <= SETTINGS_FILE_LIMIT) {
        text = malloc((size_t)status.st_size + 1);
    }
    ssize_t size = text ? read(fd, text, (size_t)status.st_size) : -1;
    if (fd >= 0) {
        close(fd);
    }
    if (size < 0) {
        free(text);
        return NULL;
    }
    *ret_size = (size_t)size;
    return text;
}

/* Takes `path`, which may be NULL. */
static bool try_file(char *path, struct settings_file *ret_file)
{
    size_t size = 0;
    char *text = path ? read_file(path, &size) : NULL;
    if (!text) {
        free(path);
        return false;
    }
    *ret_file = (struct settings_file){.path = path, .text = text, .size = size};
    return true;
}

static char *join(const char *first, const char *second)
{
    char *path;
    return asprintf(&path, "%s%s", first, second) < 0 ? NULL : path;
}

static const char *look_up(const char *(*lookup)(const char *name), const char *name)
{
    const char *value = lookup(name);
    return value && *value ? value : NULL;
}

/* Where Vulkan Configurator keeps it; to be freed, or NULL. */
static char *path_of_configurator(const char *(*lookup)(const char *name))
{
    const char *data = look_up(lookup, "XDG_DATA_HOME");
    if (data) {
        return join(data, "/vulkan/settings.d/" NAME);
    }
    const char *home = look_up(lookup, "HOME");
    return home ? join(home, "/.local/share/vulkan/settings.d/" NAME) : NULL;
}

bool settings_file_read(const char *(*lookup)(const char *name), struct settings_file *ret_file)
{
    if (try_file(path_of_configurator(lookup), ret_file)) {
        return true;
    }
    const char *named = look_up(lookup, "VK_LAYER_SETTINGS_PATH");
    struct stat status;
    if (named && stat(named, &status) == 0) {
        return try_file(join(named, S_ISDIR(status.st_mode) ? "/" NAME : ""), ret_file);
    }
    return try_file(strdup(NAME), ret_file);
}

void settings_file_free(struct settings_file *file)
{
    free(file->path);
    free(file->text);
    *file = (struct settings_file){0};
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

/* A piece of the text without the white space around it. False: it is too long for `ret_copy`, or
 * has a zero in it. */
static bool copy_trimmed(const char *start, const char *end, char *ret_copy, size_t size)
{
    while (start < end && is_space(*start)) {
        start++;
    }
    while (start < end && is_space(end[-1])) {
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
                        void (*visit)(const char *key, const char *value, void *user), void *user)
{
    const size_t prefix_length = strlen(prefix);
    const char *const text_end = text + size;
    while (text < text_end) {
        const char *newline = memchr(text, '\n', (size_t)(text_end - text));
        const char *line_end = newline ? newline : text_end;
        const char *comment = memchr(text, '#', (size_t)(line_end - text));
        const char *end = comment ? comment : line_end;
        const char *equals = memchr(text, '=', (size_t)(end - text));
        char key[SETTINGS_KEY_SIZE];
        char value[SETTINGS_VALUE_SIZE];
        if (equals && copy_trimmed(text, equals, key, sizeof key) &&
            strncmp(key, prefix, prefix_length) == 0 &&
            copy_trimmed(equals + 1, end, value, sizeof value)) {
            visit(key + prefix_length, value, user);
        }
        text = newline ? newline + 1 : text_end;
    }
}
