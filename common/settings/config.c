// SPDX-License-Identifier: Apache-2.0
#include "common/settings/config.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/base/text.h"

/* The layer's prefix in vk_layer_settings.txt: its name in lower case, without "VK_LAYER_". */
#define FILE_PREFIX "warmpipe_pipeline_cache."

/* Bytes for the source of a value: a path, a line and a key. */
#define SOURCE_SIZE 1024

/* Values. Each function reads one value: false, and the field unchanged, if it is not valid. */

static bool copy_text(const char *value, char **ret_text)
{
    *ret_text = strdup(value);
    return true;
}

/* Makes a relative path absolute, for programs that change their working directory. */
static bool copy_path(const char *value, char **ret_path)
{
    if (value[0] == '/') {
        return copy_text(value, ret_path);
    }
    char *directory = getcwd(NULL, 0);
    if (!directory || asprintf(ret_path, "%s/%s", directory, value) < 0) {
        *ret_path = NULL;
    }
    free(directory);
    return true;
}

static bool copy_absolute_path(const char *value, char **ret_path)
{
    return value[0] == '/' && copy_text(value, ret_path);
}

/* Whether the first `length` bytes of `value` are one of the words, which end with NULL. */
static bool parse_word(const char *value, size_t length, const char *const *words, int *ret_index)
{
    for (int i = 0; words[i]; i++) {
        if (strlen(words[i]) == length && memcmp(value, words[i], length) == 0) {
            *ret_index = i;
            return true;
        }
    }
    return false;
}

/* Yes and no in the usual spellings, in any case. */
static bool parse_flag(const char *value, bool *ret_flag)
{
    static const char *const words[] = {"0", "1", "false", "true", "no", "yes", "off", "on"};
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcasecmp(value, words[i]) == 0) {
            *ret_flag = i % 2 == 1;
            return true;
        }
    }
    return false;
}

static bool parse_number(const char *value, uint32_t *ret_number)
{
    uint64_t number;
    if (!text_parse_digits(&value, UINT32_MAX, &number) || *value) {
        return false;
    }
    *ret_number = (uint32_t)number;
    return true;
}

bool config_parse_size(const char *text, uint64_t *ret_size)
{
    static const char units[] = "KMGT";
    uint64_t size;
    if (!text_parse_digits(&text, UINT64_MAX, &size)) {
        return false;
    }
    const char *unit = *text ? strchr(units, *text) : NULL;
    if (unit) {
        uint64_t factor = UINT64_C(1) << (10 * (unit - units + 1));
        if (__builtin_mul_overflow(size, factor, &size)) {
            return false;
        }
        text++;
    }
    if (unit && text[0] == 'i' && text[1] == 'B') {
        text += 2;
    } else if (text[0] == 'B') {
        text++;
    }
    if (*text) {
        return false;
    }
    *ret_size = size;
    return true;
}

/* One function for each setting. */

#define READ_FIELD(id, field, parse)                                                               \
    static bool read_##id(const char *value, struct config *config)                                \
    {                                                                                              \
        return parse(value, &config->field);                                                       \
    }
READ_FIELD(dir, root, copy_absolute_path)
READ_FIELD(app, app, copy_text)
READ_FIELD(readonly, read_only, parse_flag)
READ_FIELD(summary, summary, parse_flag)
READ_FIELD(flush_idle_ms, flush_idle_ms, parse_number)
READ_FIELD(max_size, max_size, config_parse_size)
READ_FIELD(max_total, max_total, config_parse_size)
READ_FIELD(trace, trace_path, copy_path)
READ_FIELD(stats, stats_path, copy_path)
#undef READ_FIELD

static bool read_dedup(const char *value, struct config *config)
{
    static const char *const words[] = {"modules",   "set_layouts", "pipeline_layouts",
                                        "templates", "pipelines",   NULL};
    unsigned dedup = 0;
    if (strcmp(value, "all") == 0) {
        dedup = DEDUP_ALL;
    } else if (strcmp(value, "none") != 0) {
        for (const char *at = value;; at++) {
            const size_t length = strcspn(at, ",");
            int index;
            if (!parse_word(at, length, words, &index)) {
                return false;
            }
            dedup |= 1u << index;
            at += length;
            if (!*at) {
                break;
            }
        }
    }
    config->dedup = dedup;
    return true;
}

static bool read_app_cache(const char *value, struct config *config)
{
    static const char *const words[] = {
        [APP_CACHE_AUTO] = "auto",
        [APP_CACHE_SERVE] = "serve",
        [APP_CACHE_HARVEST] = "harvest",
        [APP_CACHE_IGNORE] = "ignore",
        NULL,
    };
    int index;
    if (!parse_word(value, strlen(value), words, &index)) {
        return false;
    }
    config->app_cache = (enum app_cache_mode)index;
    return true;
}

static bool read_prewarm(const char *value, struct config *config)
{
    bool on;
    if (strcmp(value, "auto") == 0) {
        config->prewarm = PREWARM_AUTO;
    } else if (parse_flag(value, &on)) {
        config->prewarm = on ? PREWARM_ON : PREWARM_OFF;
    } else {
        return false;
    }
    return true;
}

static bool read_policy(const char *value, struct config *config)
{
    config->policy_none = strcmp(value, "none") == 0;
    return config->policy_none || copy_path(value, &config->policy_path);
}

static bool read_log(const char *value, struct config *config)
{
    static const char *const words[] = {
        [LOG_LEVEL_OFF] = "off",   [LOG_LEVEL_ERROR] = "error", [LOG_LEVEL_WARN] = "warn",
        [LOG_LEVEL_INFO] = "info", [LOG_LEVEL_DEBUG] = "debug", NULL,
    };
    const size_t length = strcspn(value, ":");
    const char *path = value[length] ? value + length + 1 : NULL;
    int index;
    if ((path && !*path) || !parse_word(value, length, words, &index)) {
        return false;
    }
    config->log_level = (enum log_level)index;
    return !path || copy_path(path, &config->log_path);
}

/* The table of settings. */

enum setting_id {
#define SETTING(id, ...) SETTING_##id,
#include "common/settings/settings.def"
#undef SETTING
    SETTING_COUNT
};

enum setting_kind {
    KIND_path,
    KIND_text,
    KIND_flag,
    KIND_list,
    KIND_choice,
    KIND_number,
    KIND_size,
    KIND_log
};

enum setting_from { FROM_environment, FROM_anywhere };

static const struct setting {
    enum setting_kind kind;
    enum setting_from from;
    const char *key; /* in a settings file, after FILE_PREFIX */
    const char *name;
    const char *values;
    const char *fallback;
    bool (*read)(const char *value, struct config *config);
} settings[] = {
#define SETTING(id, kind, from, name, values, fallback, meaning)                                   \
    {KIND_##kind, FROM_##from, #id, name, values, fallback, read_##id},
#include "common/settings/settings.def"
#undef SETTING
};

/* -1: there is none. */
static int find_setting(const char *key)
{
    for (int id = 0; id < SETTING_COUNT; id++) {
        if (strcmp(settings[id].key, key) == 0) {
            return id;
        }
    }
    return -1;
}

/* Whether only the variable may set this. The settings file may lie in whatever directory a program
 * runs in, and a program's own settings may come from anybody: neither may name the files that are
 * read or written, nor reach beyond this program. */
static bool is_of_environment(int id, const char *value)
{
    return settings[id].from == FROM_environment ||
           (settings[id].kind == KIND_log && strchr(value, ':'));
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

/* The value of a variable; an empty one counts as not set, as in the XDG specification. */
static const char *look_up_variable(config_lookup_fn lookup, const char *name)
{
    const char *value = lookup(name);
    return value && *value ? value : NULL;
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
static void take_value(const char *key, const char *value, unsigned line, void *user)
{
    struct other_values *others = user;
    const int id = find_setting(key);
    if (id >= 0 && !is_of_environment(id, value) && (line || !others->values[id].text)) {
        free(others->values[id].text);
        others->values[id] = (struct other_value){*value ? strdup(value) : NULL, line};
    }
}

static void take_given_value(const char *key, const char *value, void *user)
{
    take_value(key, value, 0, user);
}

static void read_other_values(config_lookup_fn lookup, config_given_fn each, const void *given,
                              struct other_values *ret_others)
{
    *ret_others = (struct other_values){0};
    struct settings_file *file = &ret_others->file;
    if (settings_file_read(lookup, file) && file->text) {
        settings_file_each(file->text, file->size, FILE_PREFIX, take_value, ret_others);
    }
    if (each) {
        each(given, take_given_value, ret_others);
    }
}

static void free_other_values(struct other_values *others)
{
    for (int id = 0; id < SETTING_COUNT; id++) {
        free(others->values[id].text);
    }
    settings_file_free(&others->file);
}

static void warn_of_environment(const char *source, const char *key, const char *value)
{
    const int id = find_setting(key);
    if (id >= 0 && is_of_environment(id, value)) {
        log_warn("%s: " FILE_PREFIX "%s=%.256s is ignored: only the variable %s can set it (%s)",
                 source, key, value, settings[id].name, status_id(STATUS_bad_setting));
    }
}

static void format_source(const char *path, unsigned line, char ret_source[SOURCE_SIZE])
{
    snprintf(ret_source, SOURCE_SIZE, "'%s' line %u", path, line);
}

static void warn_of_line(const char *key, const char *value, unsigned line, void *user)
{
    char source[SOURCE_SIZE];
    format_source(user, line, source);
    if (find_setting(key) < 0) {
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

static void read_setting(enum setting_id id, config_lookup_fn lookup,
                         const struct other_values *others, struct config *config)
{
    static atomic_bool warned[SETTING_COUNT];
    const struct setting *setting = &settings[id];
    const struct other_value *other = &others->values[id];
    const char *variable = look_up_variable(lookup, setting->name);
    const char *value = variable ? variable : other->text;
    if (value && setting->read(value, config)) {
        return;
    }
    if (variable) {
        warn_of_value(&warned[id], setting->name, value, setting->values, setting->fallback);
    } else if (value) {
        char source[SOURCE_SIZE] = "VkLayerSettingsCreateInfoEXT";
        if (other->line) {
            format_source(others->file.path, other->line, source);
        }
        const size_t used = strlen(source);
        snprintf(source + used, sizeof source - used, ": " FILE_PREFIX "%s", setting->key);
        warn_of_value(&warned[id], source, value, setting->values, setting->fallback);
    }
    if (setting->kind != KIND_path && setting->kind != KIND_text) {
        setting->read(setting->fallback, config);
    }
}

/* XDG base directory specification: "$HOME/.cache" where XDG_CACHE_HOME is not set; relative paths
 * are to be ignored. NULL: neither is an absolute path, or memory is out. */
static char *default_root(config_lookup_fn lookup)
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
        const char *parent = look_up_variable(lookup, parents[i].name);
        if (parent && parent[0] == '/') {
            char *root = NULL;
            return asprintf(&root, "%s%s", parent, parents[i].suffix) < 0 ? NULL : root;
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
    struct other_values others;
    read_other_values(lookup, each, given, &others);
    read_setting(SETTING_log, lookup, &others, &config);
    log_configure(config.log_level, config.log_path);
    warn_of_other_values(&others.file, each, given);
    for (int id = 0; id < SETTING_COUNT; id++) {
        if (id != SETTING_log) {
            read_setting((enum setting_id)id, lookup, &others, &config);
        }
    }
    free_other_values(&others);
    const char *directory = look_up_variable(lookup, settings[SETTING_dir].name);
    if (!directory || directory[0] != '/') {
        config.root = default_root(lookup);
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
        if (strcmp(settings[id].name, name) == 0) {
            struct config config = {0};
            const bool valid = settings[id].read(value, &config);
            config_free(&config);
            return valid ? NULL : settings[id].values;
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
