// SPDX-License-Identifier: Apache-2.0
#include "common/settings/config.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/text.h"

/* The layer's prefix in vk_layer_settings.txt: its name in lower case, without "VK_LAYER_". */
#define FILE_PREFIX "warmpipe_pipeline_cache."

/* Bytes for the source of a value: a path, a line and a key. */
#define SOURCE_SIZE 1024

/* -1: there is none. */
static int config_find_setting(const char *key)
{
    for (int id = 0; id < SETTING_COUNT; id++) {
        if (strcmp(config_table[id].key, key) == 0) {
            return id;
        }
    }
    return -1;
}

/* Whether only the variable may set this. The settings file may lie in whatever directory a program
 * runs in, and a program's own settings may come from anybody: neither may name the files that are
 * read or written, nor reach beyond this program. */
static bool config_is_of_environment(int id, const char *value)
{
    return config_table[id].from == FROM_environment ||
           (config_table[id].kind == KIND_log && strchr(value, ':'));
}

/* Names an invalid value, once in a process rather than once for each instance. `source` says where
 * the value is: a variable, or a line of a file. */
static void warn_of_value(atomic_bool *warned, const char *source, const char *value,
                          const char *expected, const char *fallback)
{
    if (!atomic_exchange(warned, true)) {
        log_warn("%s='%.256s': expected %s; using the default, %s (%s)", source, value, expected,
                 fallback, status_id(STATUS_bad_setting));
    }
}

/* Values from the settings file and from the program itself, for settings whose variable is not
 * set. */
struct other_values {
    struct settings_file file;
    struct other_value {
        char *text;    /* NULL: none */
        unsigned line; /* of the file; 0: from the program itself */
    } values[SETTING_COUNT];
};

/* A value of a settings file (`line` from 1), where the last line counts, or of the program (0),
 * where the first one counts. */
static void config_take_value(const char *key, const char *value, unsigned line, void *user)
{
    struct other_values *others = user;
    const int id = config_find_setting(key);
    if (id >= 0 && !config_is_of_environment(id, value) && (line || !others->values[id].text)) {
        free(others->values[id].text);
        others->values[id] = (struct other_value){*value ? strdup(value) : NULL, line};
    }
}

static void config_take_given_value(const char *key, const char *value, void *user)
{
    config_take_value(key, value, 0, user);
}

static void config_read_other_values(config_lookup_fn lookup, config_given_fn each,
                                     const void *given, struct other_values *ret_others)
{
    *ret_others = (struct other_values){0};
    struct settings_file *file = &ret_others->file;
    if (settings_file_read(lookup, file) && file->text) {
        settings_file_each(file->text, file->size, FILE_PREFIX, config_take_value, ret_others);
    }
    if (each) {
        each(given, config_take_given_value, ret_others);
    }
}

static void config_free_other_values(struct other_values *others)
{
    for (int id = 0; id < SETTING_COUNT; id++) {
        free(others->values[id].text);
    }
    settings_file_free(&others->file);
}

static void warn_of_environment(const char *source, const char *key, const char *value)
{
    const int id = config_find_setting(key);
    if (id >= 0 && config_is_of_environment(id, value)) {
        log_warn("%s: " FILE_PREFIX "%s=%.256s is ignored: only the variable %s can set it (%s)",
                 source, key, value, config_table[id].name, status_id(STATUS_bad_setting));
    }
}

static void config_format_source(const char *path, unsigned line, char ret_source[SOURCE_SIZE])
{
    snprintf(ret_source, SOURCE_SIZE, "'%s' line %u", path, line);
}

static void warn_of_line(const char *key, const char *value, unsigned line, void *user)
{
    char source[SOURCE_SIZE];
    config_format_source(user, line, source);
    if (config_find_setting(key) < 0) {
        log_warn("%s: no setting " FILE_PREFIX "%s (%s)", source, key,
                 status_id(STATUS_bad_setting));
    }
    warn_of_environment(source, key, value);
}

static void warn_of_given(const char *key, const char *value, void *user)
{
    (void)user;
    warn_of_environment("VkLayerSettingsCreateInfoEXT", key, value);
}

/* Once in a process. */
static void warn_of_other_values(const struct settings_file *file, config_given_fn each,
                                 const void *given)
{
    static atomic_bool warned[2];
    if (file->path && !atomic_exchange(&warned[0], true)) {
        if (file->text) {
            settings_file_each(file->text, file->size, FILE_PREFIX, warn_of_line, file->path);
        } else {
            log_warn("'%s' is not read: %s (%s)", file->path, status_text(file->reason),
                     status_id(file->reason));
        }
    }
    if (each && !atomic_exchange(&warned[1], true)) {
        each(given, warn_of_given, NULL);
    }
}

/* An empty variable is the same as one that is not set, as in the XDG specification. */
static void config_read_setting(enum setting_id id, config_lookup_fn lookup,
                                const struct other_values *others, struct config *config)
{
    static atomic_bool warned[SETTING_COUNT];
    const struct setting *setting = &config_table[id];
    const struct other_value *other = &others->values[id];
    const char *variable = text_or_null(lookup(setting->name));
    const char *value = variable ? variable : other->text;
    if (value && setting->read(value, config)) {
        return;
    }
    if (variable) {
        warn_of_value(&warned[id], setting->name, value, setting->values, setting->fallback);
    } else if (value) {
        char source[SOURCE_SIZE] = "VkLayerSettingsCreateInfoEXT";
        if (other->line) {
            config_format_source(others->file.path, other->line, source);
        }
        const size_t used = strlen(source);
        snprintf(source + used, sizeof source - used, ": " FILE_PREFIX "%s", setting->key);
        warn_of_value(&warned[id], source, value, setting->values, setting->fallback);
    }
    if (setting->kind != KIND_path && setting->kind != KIND_text) {
        setting->read(setting->fallback, config);
    }
}

bool config_is_of_sudo_caller(config_lookup_fn lookup, const char *path)
{
    struct stat folder;
    uint64_t user;
    const char *caller = geteuid() == 0 ? lookup("SUDO_UID") : NULL;
    return caller && path && text_parse_digits(&caller, UINT32_MAX, &user) && user != 0 &&
           fstatat(AT_FDCWD, path, &folder, 0) == 0 && folder.st_uid == user;
}

/* XDG base directory specification: "$HOME/.cache" where XDG_CACHE_HOME is not set; relative paths
 * are to be ignored. A home that is not there (Debian's /nonexistent) is not for us to make. NULL:
 * neither is an absolute path, or it is not for us, or memory is out. */
static char *config_default_root(config_lookup_fn lookup)
{
    static const struct {
        const char *name;
        const char *suffix;
        const char *fallback;
    } parents[] = {
        {"XDG_CACHE_HOME", "/warmpipe", "$HOME/.cache"},
        {"HOME", "/.cache/warmpipe", "no cache directory"},
    };
    static atomic_bool warned[2];
    for (int i = 0; i < 2; i++) {
        const char *parent = text_or_null(lookup(parents[i].name));
        if (parent && parent[0] == '/') {
            char *root;
            const bool is_there = faccessat(AT_FDCWD, parent, F_OK, 0) == 0;
            /* What is not there would be made, in the home. */
            if ((!is_there && i > 0) ||
                config_is_of_sudo_caller(lookup, is_there ? parent : lookup("HOME"))) {
                continue;
            }
            return asprintf(&root, "%s%s", parent, parents[i].suffix) >= 0 ? root : NULL;
        }
        if (parent) {
            warn_of_value(&warned[i], parents[i].name, parent, "an absolute path",
                          parents[i].fallback);
        }
    }
    return NULL;
}

void config_read_given(config_lookup_fn lookup, config_given_fn each, const void *given,
                       struct config *ret_config)
{
    struct config config = {0};
    AUTO(config_free_other_values) struct other_values others;
    config_read_other_values(lookup, each, given, &others);
    config_read_setting(SETTING_log, lookup, &others, &config);
    log_configure(config.log_level, config.log_path);
    warn_of_other_values(&others.file, each, given);
    for (int id = 0; id < SETTING_COUNT; id++) {
        if (id != SETTING_log) {
            config_read_setting((enum setting_id)id, lookup, &others, &config);
        }
    }
    const char *directory = text_or_null(lookup(config_table[SETTING_dir].name));
    if (!directory || directory[0] != '/') {
        config.root = config_default_root(lookup);
    }
    *ret_config = config;
}

void config_read(config_lookup_fn lookup, struct config *ret_config)
{
    config_read_given(lookup, NULL, NULL, ret_config);
}

const char *config_environment(const char *name)
{
    return secure_getenv(name);
}

const char *config_expected(const char *name, const char *value)
{
    for (int id = 0; *value && id < SETTING_COUNT; id++) {
        if (strcmp(config_table[id].name, name) == 0) {
            AUTO(config_free) struct config config = {0};
            return config_table[id].read(value, &config) ? NULL : config_table[id].values;
        }
    }
    return NULL;
}

void config_free(struct config *config)
{
    free(config->root);
    free(config->app);
    free(config->policy_path);
    free(config->log_path);
    free(config->stats_path);
    free(config->trace_path);
    *config = (struct config){0};
}

#define NAME "vk_layer_settings.txt"

/* The file may be in whatever directory a program runs in, so its owner must be trusted. */
static enum status settings_file_judge(int fd, const struct stat *status)
{
    if (status->st_size > SETTINGS_FILE_LIMIT) {
        return STATUS_too_large;
    }
    if (!io_is_trusted_owner(fd, status)) {
        return STATUS_file_owner;
    }
    return status->st_mode & (S_IWGRP | S_IWOTH) ? STATUS_file_mode : STATUS_ok;
}

/* False: no such regular file. */
static bool settings_file_read_path(struct settings_file *file)
{
    struct stat status;
    ssize_t size = -1;
    const int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        file->reason = settings_file_judge(fd, &status);
        file->text = file->reason == STATUS_ok ? malloc((size_t)status.st_size + 1) : NULL;
        size = file->text ? read(fd, file->text, (size_t)status.st_size) : -1;
    }
    io_close(fd);
    file->size = size > 0 ? (size_t)size : 0;
    return size >= 0 || file->reason != STATUS_ok;
}

/* Takes over `path`, which may be NULL. */
static bool settings_file_try(char *path, struct settings_file *ret_file)
{
    *ret_file = (struct settings_file){.path = path};
    if (path && settings_file_read_path(ret_file)) {
        return true;
    }
    settings_file_free(ret_file);
    return false;
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
    static const char byte_order_mark[] = "\xEF\xBB\xBF";
    const size_t prefix_length = strlen(prefix);
    const char *const text_end = text + size;
    if (size >= 3 && memcmp(text, byte_order_mark, 3) == 0) {
        text += 3;
    }
    for (unsigned line = 1; text < text_end; line++) {
        const char *newline = memchr(text, '\n', (size_t)(text_end - text));
        const char *line_end = newline ? newline : text_end;
        const char *comment = memchr(text, '#', (size_t)(line_end - text));
        const char *end = comment ? comment : line_end;
        const char *equals = memchr(text, '=', (size_t)(end - text));
        const char *key_end = equals ? equals : end;
        char key[SETTINGS_KEY_SIZE];
        char value[SETTINGS_VALUE_SIZE];
        if (settings_file_copy_trimmed(text, key_end, key, sizeof key) &&
            strncmp(key, prefix, prefix_length) == 0 &&
            settings_file_copy_trimmed(key_end + !!equals, end, value, sizeof value)) {
            visit(key + prefix_length, value, line, user);
        }
        text = newline ? newline + 1 : text_end;
    }
}
