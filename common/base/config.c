#include "config.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_values.h"
#include "result.h"
#include "settings_file.h"

/* Of a layer's keys in vk_layer_settings.txt: its name in lower case, without "VK_LAYER_". */
#define FILE_PREFIX "warmpipe_pipeline_cache."

enum setting_id {
#define SETTING(id, ...) SETTING_##id,
#include "settings.def"
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

static const struct setting {
    enum setting_kind kind;
    const char *key; /* in a settings file, behind FILE_PREFIX */
    const char *name;
    const char *values;
    const char *fallback;
    bool (*read)(const char *value, struct config *config);
} settings[] = {
#define SETTING(id, kind, name, values, fallback, meaning)                                         \
    {KIND_##kind, #id, name, values, fallback, config_value_##id},
#include "settings.def"
#undef SETTING
};

/* Once a process, not once for each instance. */
static void complain(atomic_bool *told, const char *name, const char *value, const char *expected,
                     const char *fallback)
{
    if (!atomic_exchange(told, true)) {
        log_warn("%s='%.256s': expected %s; used is the default, %s (%s)", name, value, expected,
                 fallback, reason_id(REASON_bad_setting));
    }
}

/* The value of a variable; an empty one counts as not set, as the XDG specification has it. */
static const char *look_up(config_lookup_fn lookup, const char *name)
{
    const char *value = lookup(name);
    return value && *value ? value : NULL;
}

/* What variables do not say. */
struct unset {
    struct settings_file file;
    char *values[SETTING_COUNT]; /* NULL: nothing */
};

/* -1: there is none. */
static int find_key(const char *key)
{
    for (int id = 0; id < SETTING_COUNT; id++) {
        if (strcmp(settings[id].key, key) == 0) {
            return id;
        }
    }
    return -1;
}

/* A settings file may lie in the directory that a program happens to run in, and a program may be
 * told by anybody what to set: neither says where files are read or written. */
static bool names_a_path(int id, const char *value)
{
    return settings[id].kind == KIND_path || (settings[id].kind == KIND_log && strchr(value, ':'));
}

/* -1: it is not taken. */
static int find_taken(const char *key, const char *value)
{
    int id = find_key(key);
    return id >= 0 && !names_a_path(id, value) ? id : -1;
}

static void take_value(int id, const char *value, struct unset *unset)
{
    if (settings[id].kind == KIND_flag) {
        /* As Vulkan Configurator writes them. */
        value = strcmp(value, "true") == 0 ? "1" : strcmp(value, "false") == 0 ? "0" : value;
    }
    free(unset->values[id]);
    unset->values[id] = *value ? strdup(value) : NULL;
}

/* Of a file the last line counts. */
static void take_line(const char *key, const char *value, void *user)
{
    int id = find_taken(key, value);
    if (id >= 0) {
        take_value(id, value, user);
    }
}

/* Of a program's settings the first. */
static void take_given(const char *key, const char *value, void *user)
{
    struct unset *unset = user;
    int id = find_taken(key, value);
    if (id >= 0 && !unset->values[id]) {
        take_value(id, value, unset);
    }
}

static void complain_of_path(const char *source, const char *key, const char *value)
{
    int id = find_key(key);
    if (id >= 0 && names_a_path(id, value)) {
        log_warn("'%s': " FILE_PREFIX "%s names a path: only the variable %s can set it (%s)",
                 source, key, settings[id].name, reason_id(REASON_bad_setting));
    }
}

static void complain_of_line(const char *key, const char *value, void *user)
{
    const char *path = user;
    if (find_key(key) < 0) {
        log_warn("'%s': no setting " FILE_PREFIX "%s (%s)", path, key,
                 reason_id(REASON_bad_setting));
    }
    complain_of_path(path, key, value);
}

static void complain_of_given(const char *key, const char *value, void *user)
{
    (void)user;
    complain_of_path("VkLayerSettingsCreateInfoEXT", key, value);
}

static void read_unset(config_lookup_fn lookup, config_given_fn each, const void *given,
                       struct unset *ret_unset)
{
    *ret_unset = (struct unset){0};
    struct settings_file *file = &ret_unset->file;
    if (settings_file_read(lookup, file)) {
        settings_file_each(file->text, file->size, FILE_PREFIX, take_line, ret_unset);
    }
    if (each) {
        each(given, take_given, ret_unset);
    }
}

/* Once a process. */
static void complain_of_unset(const struct settings_file *file, config_given_fn each,
                              const void *given)
{
    static atomic_bool told[2];
    if (file->text && !atomic_exchange(&told[0], true)) {
        settings_file_each(file->text, file->size, FILE_PREFIX, complain_of_line, file->path);
    }
    if (each && !atomic_exchange(&told[1], true)) {
        each(given, complain_of_given, NULL);
    }
}

static void free_unset(struct unset *unset)
{
    for (int id = 0; id < SETTING_COUNT; id++) {
        free(unset->values[id]);
    }
    settings_file_free(&unset->file);
}

static void read_setting(enum setting_id id, config_lookup_fn lookup, const struct unset *unset,
                         struct config *config)
{
    static atomic_bool told[SETTING_COUNT];
    const struct setting *setting = &settings[id];
    const char *value = look_up(lookup, setting->name);
    if (!value) {
        value = unset->values[id];
    }
    if (value && setting->read(value, config)) {
        return;
    }
    if (value) {
        complain(&told[id], setting->name, value, setting->values, setting->fallback);
    }
    if (setting->kind != KIND_path && setting->kind != KIND_text) {
        setting->read(setting->fallback, config);
    }
}

/* XDG base directory specification: "$HOME/.cache" where XDG_CACHE_HOME is not set; relative paths
 * are to be ignored. NULL: neither gives an absolute path, or memory is out. */
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
    static atomic_bool told[2];
    for (int i = 0; i < 2; i++) {
        const char *parent = look_up(lookup, parents[i].name);
        if (parent && parent[0] == '/') {
            char *root = NULL;
            return asprintf(&root, "%s%s", parent, parents[i].suffix) < 0 ? NULL : root;
        }
        if (parent) {
            complain(&told[i], parents[i].name, parent, "an absolute path", parents[i].fallback);
        }
    }
    return NULL;
}

void config_read_given(config_lookup_fn lookup, config_given_fn each, const void *given,
                       struct config *ret_config)
{
    struct config config = {0};
    struct unset unset;
    read_unset(lookup, each, given, &unset);
    read_setting(SETTING_log, lookup, &unset, &config);
    log_configure(config.log_level, config.log_path);
    complain_of_unset(&unset.file, each, given);
    for (int id = 0; id < SETTING_COUNT; id++) {
        if (id != SETTING_log) {
            read_setting((enum setting_id)id, lookup, &unset, &config);
        }
    }
    free_unset(&unset);
    const char *directory = look_up(lookup, settings[SETTING_dir].name);
    if (!directory || directory[0] != '/') {
        config.root = default_root(lookup);
    }
    *ret_config = config;
}

void config_read(config_lookup_fn lookup, struct config *ret_config)
{
    config_read_given(lookup, NULL, NULL, ret_config);
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
