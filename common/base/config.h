/* The settings: read once for each instance, from one table (settings.def) that also makes
 * docs/SETTINGS.md. Names, meanings and defaults are outward interface. */
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
    char *root;        /* root of the caches, absolute; NULL: none, nothing is read or written */
    char *app;         /* WARMPIPE_APP as it was set, NULL if not */
    char *policy_path; /* user's policy file, NULL if not set */
    char *log_path;    /* NULL: standard error */
    char *stats_path;  /* NULL: no statistics are written */
    bool policy_none;  /* WARMPIPE_POLICY=none: the built-in table is off */
    bool read_only;
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

/* Reads every setting through `lookup`; a value that cannot be read is named in one log line and
 * its default used. A relative WARMPIPE_DIR or XDG_CACHE_HOME is unusable (the XDG base directory
 * specification asks for absolute paths) and named likewise. Calls log_configure first of all.
 * On a lack of memory the paths concerned are NULL (nothing is read or written). ret_config is
 * freed with config_free. */
void config_read(config_lookup_fn lookup, struct config *ret_config);

/* Frees what config_read allocated and zeroes the struct. */
void config_free(struct config *config);

/* Parses "512M", "2G", "65536", "1.5G" is not a size. Binary multiples of K, M, G, T; a trailing
 * "iB" or "B" is allowed. False, and *ret_size untouched, for anything else or on overflow. */
bool config_parse_size(const char *text, uint64_t *ret_size);

#endif
