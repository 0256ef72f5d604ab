/* The settings: read once for each instance, by one table (settings.def) that docs/SETTINGS.md is
 * checked against. Names, meanings and defaults are outward interface. */
#ifndef WARMPIPE_BASE_CONFIG_H
#define WARMPIPE_BASE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "log.h"

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
    bool summary;   /* tell at the end what was hit and saved */
    unsigned dedup; /* of enum dedup_kind */
    enum app_cache_mode app_cache;
    enum prewarm_mode prewarm;
    uint32_t flush_idle_ms;
    uint64_t max_size;  /* bytes, one program folder */
    uint64_t max_total; /* bytes, all folders */
    enum log_level log_level;
};

/* A look-up of one variable: its value, or NULL. The layer passes secure_getenv. */
typedef const char *(*config_lookup_fn)(const char *name);

/* Reads every setting through `lookup`, and what it does not have from vk_layer_settings.txt
 * (settings_file.h), but for what names a path; an empty value counts as not set. A value that
 * cannot be read is named in one log line (once a process, reason bad_setting) and its default
 * used. A relative WARMPIPE_DIR, XDG_CACHE_HOME or HOME is unusable (the XDG base directory
 * specification asks for absolute paths) and named likewise; other relative paths start at the
 * working directory of this moment. Calls log_configure first of all. On a lack of memory the paths
 * concerned are NULL (nothing is read or written). ret_config is freed with config_free.
 * Thread-safe if `lookup` is. */
void config_read(config_lookup_fn lookup, struct config *ret_config);

/* What a program sets itself, by the key of a settings file without its prefix ("dedup"). */
typedef void (*config_take_fn)(const char *key, const char *value, void *user);

/* Gives each of a program's settings to `take`; called more than once. */
typedef void (*config_given_fn)(const void *given, config_take_fn take, void *user);

/* As config_read; what neither a variable nor the file says is taken from the program's own
 * settings, the first of a key, but for what names a path. Keys that are not known are passed over
 * without a word (VkLayerSettingEXT::pSettingName). `each` NULL: there are none. */
void config_read_given(config_lookup_fn lookup, config_given_fn each, const void *given,
                       struct config *ret_config);

/* Frees what config_read allocated and zeroes the struct. */
void config_free(struct config *config);

/* Parses a size in bytes: digits, then one of K, M, G, T (binary multiples) or nothing, then "iB"
 * (after such a letter only), "B" or nothing: "65536", "512M", "2GiB". False, and *ret_size
 * untouched, for anything else ("1.5G", "-1", "1 G", "1g") or on overflow. Thread-safe. */
bool config_parse_size(const char *text, uint64_t *ret_size);

#endif
