// SPDX-License-Identifier: Apache-2.0
/* The settings: read once for each instance, by one table (settings.def) that docs/SETTINGS.md is
 * checked against. Names, meanings and defaults are outward interface. */
#ifndef WARMPIPE_SETTINGS_CONFIG_H
#define WARMPIPE_SETTINGS_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/log.h"
#include "common/base/status.h"

enum app_cache_mode { APP_CACHE_AUTO, APP_CACHE_SERVE, APP_CACHE_HARVEST, APP_CACHE_IGNORE };

enum prewarm_mode { PREWARM_AUTO, PREWARM_ON, PREWARM_OFF };

/* Bits of config.dedup. */
enum dedup_kind {
    DEDUP_MODULES = 1 << 0,
    DEDUP_SET_LAYOUTS = 1 << 1,
    DEDUP_PIPELINE_LAYOUTS = 1 << 2,
    DEDUP_TEMPLATES = 1 << 3,
    DEDUP_PIPELINES = 1 << 4,
    DEDUP_ALL = (1 << 5) - 1
};

struct config {
    char *root;        /* root of the caches; NULL: none, nothing is read or written */
    char *app;         /* WARMPIPE_APP as it was set, NULL if not */
    char *policy_path; /* user's policy file, NULL if not set */
    char *log_path;    /* NULL: standard error */
    char *stats_path;  /* NULL: no statistics are written (every path is absolute) */
    char *trace_path;  /* NULL: no trace is written */
    bool policy_none;  /* WARMPIPE_POLICY=none: the built-in table is off */
    bool read_only;
    bool summary;   /* log at the end what was hit and saved */
    unsigned dedup; /* of enum dedup_kind */
    enum app_cache_mode app_cache;
    enum prewarm_mode prewarm;
    uint32_t flush_idle_ms;
    uint64_t max_size;  /* bytes, one program folder */
    uint64_t max_total; /* bytes, all folders */
    enum log_level log_level;
};

/* Looks up one variable: its value, which stays as it is while others are looked up, or NULL. */
typedef const char *(*config_lookup_fn)(const char *name);

/* The process's environment; nothing under elevated privileges (secure_getenv). */
const char *config_environment(const char *name);

/* Reads every setting through `lookup`, and those that are not set there from vk_layer_settings.txt
 * (below), except the settings that only the environment may set. An empty value counts
 * as not set. An invalid value is named in one log line (once in a process, reason bad_setting),
 * and the default is used. A relative WARMPIPE_DIR, XDG_CACHE_HOME or HOME is invalid (the XDG base
 * directory specification requires absolute paths); other relative paths start at the current
 * working directory. Calls log_configure first of all. If memory is out the path is NULL (nothing
 * is read or written). Free *ret_config with config_free. Thread-safe if `lookup` is. */
void config_read(config_lookup_fn lookup, struct config *ret_config);

/* Whether this process is root by sudo (SUDO_UID of `lookup`), and the folder belongs to the
 * calling user: that user's own programs could not use what root makes in it. False if `path` is
 * NULL or missing. Thread-safe if `lookup` is. */
bool config_is_of_sudo_caller(config_lookup_fn lookup, const char *path);

/* Takes one setting of the program itself; the key is that of a settings file without its prefix
 * ("dedup"). */
typedef void (*config_take_fn)(const char *key, const char *value, void *user);

/* Calls `take` for each of a program's settings; called more than once. */
typedef void (*config_given_fn)(const void *given, config_take_fn take, void *user);

/* As config_read; settings that neither a variable nor the file sets are taken from the program's
 * own (the first of a key), except those that only the environment may set. Unknown keys are
 * ignored silently (VkLayerSettingEXT::pSettingName). `each` NULL: the program has none. */
void config_read_given(config_lookup_fn lookup, config_given_fn each, const void *given,
                       struct config *ret_config);

/* Checks a value of the variable `name`: NULL if it is valid, or if there is no such setting; else
 * a description of the expected values. Nothing is logged. Thread-safe. */
const char *config_expected(const char *name, const char *value);

/* Frees what config_read allocated and zeroes the struct. */
void config_free(struct config *config);

/* Parses a size in bytes: digits, then one of K, M, G, T (binary multiples) or nothing, then "iB"
 * (after such a letter only), "B" or nothing: "65536", "512M", "2GiB". False, and *ret_size
 * untouched, for anything else ("1.5G", "-1", "1 G", "1g") or on overflow. Thread-safe. */
bool config_parse_size(const char *text, uint64_t *ret_size);

/* The table of settings, made of settings.def: for config.c, which says where values come from. */

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

struct setting {
    enum setting_kind kind;
    enum setting_from from;
    char key[16];  /* in a settings file, behind the layer's prefix */
    char name[24]; /* an array, as the key: a pointer would be relocated at every start */
    const char *values;
    const char *fallback;
    /* Reads a value. False, and the config unchanged: it is not valid. */
    bool (*read)(const char *value, struct config *config);
};
extern const struct setting config_table[SETTING_COUNT];

/* vk_layer_settings.txt, found and read as the layers of Khronos do it (Vulkan-Utility-Libraries,
 * docs/layer_configuration.md): one file, the first of
 *
 *     $XDG_DATA_HOME/vulkan/settings.d/vk_layer_settings.txt   else in $HOME/.local/share
 *     $VK_LAYER_SETTINGS_PATH                                  the file, or the folder it lies in
 *     vk_layer_settings.txt                                    in the working directory
 *
 * Lines of "key = value"; a '#' starts a comment, the last line of a key counts; a line without
 * '=' has no value. Thread-safe. */

/* Longer files, keys and values are ignored. */
#define SETTINGS_FILE_LIMIT (1u << 20)
#define SETTINGS_KEY_SIZE   128
#define SETTINGS_VALUE_SIZE 512

struct settings_file {
    char *path;
    char *text; /* NULL: the file is refused */
    size_t size;
    enum status reason; /* why it is refused: file_owner, file_mode or too_large */
};

/* Finds and reads the file; `lookup` gives the value of a variable, or NULL. A file that belongs
 * neither to the effective user nor to root, that group or others may write, or that has more than
 * SETTINGS_FILE_LIMIT bytes, is refused, and no other is searched. False: there is none, or it is
 * not a readable regular file. Free with settings_file_free. */
bool settings_file_read(const char *(*lookup)(const char *name), struct settings_file *ret_file);
void settings_file_free(struct settings_file *file);

/* Takes one line: its key after the prefix, its value, its number from 1. Both texts are valid
 * during the call only. */
typedef void (*settings_file_visit_fn)(const char *key, const char *value, unsigned line,
                                       void *user);

/* Calls `visit` for each line whose key begins with `prefix`, in order. */
void settings_file_each(const char *text, size_t size, const char *prefix,
                        settings_file_visit_fn visit, void *user);

#endif
