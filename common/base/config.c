#include "config.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "result.h"

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

/* Each reads one value into its field: false, and the field as it was, if it is none. */
#define SETTING(id, ...) static bool read_##id(const char *value, struct config *config);
#include "settings.def"
#undef SETTING

static const struct setting {
    enum setting_kind kind;
    const char *name;
    const char *values;
    const char *fallback;
    bool (*read)(const char *value, struct config *config);
} settings[] = {
#define SETTING(id, kind, name, values, fallback, meaning)                                         \
    {KIND_##kind, name, values, fallback, read_##id},
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

/* A path that stays good when the program changes its working directory. */
static char *anchored(const char *path)
{
    if (path[0] == '/') {
        return strdup(path);
    }
    char *directory = getcwd(NULL, 0);
    char *whole = NULL;
    if (!directory || asprintf(&whole, "%s/%s", directory, path) < 0) {
        whole = NULL;
    }
    free(directory);
    return whole;
}

/* `words` ends with NULL. */
static bool read_word(const char *value, const char *const *words, int *ret_index)
{
    for (int i = 0; words[i]; i++) {
        if (strcmp(value, words[i]) == 0) {
            *ret_index = i;
            return true;
        }
    }
    return false;
}

/* Decimal digits at the start of *text, which moves behind them. */
static bool read_digits(const char **text, uint64_t *ret_value)
{
    const char *at = *text;
    uint64_t value = 0;
    if (*at < '0' || *at > '9') {
        return false;
    }
    for (; *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (unsigned)(*at - '0'), &value)) {
            return false;
        }
    }
    *text = at;
    *ret_value = value;
    return true;
}

bool config_parse_size(const char *text, uint64_t *ret_size)
{
    static const char units[] = "KMGT";
    uint64_t size;
    if (!read_digits(&text, &size)) {
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

static bool read_dir(const char *value, struct config *config)
{
    if (value[0] != '/') {
        return false;
    }
    config->root = strdup(value);
    return true;
}

static bool read_app(const char *value, struct config *config)
{
    config->app = strdup(value);
    return true;
}

static bool read_flag(const char *value, bool *ret_flag)
{
    static const char *const words[] = {"0", "1", NULL};
    int index;
    if (!read_word(value, words, &index)) {
        return false;
    }
    *ret_flag = index == 1;
    return true;
}

static bool read_readonly(const char *value, struct config *config)
{
    return read_flag(value, &config->read_only);
}

static bool read_summary(const char *value, struct config *config)
{
    return read_flag(value, &config->summary);
}

static bool read_dedup(const char *value, struct config *config)
{
    static const char *const words[] = {"modules",   "set_layouts", "pipeline_layouts",
                                        "templates", "pipelines",   NULL};
    unsigned dedup = 0;
    if (strcmp(value, "all") == 0) {
        dedup = DEDUP_ALL;
    } else if (strcmp(value, "none") != 0) {
        for (const char *at = value;; at++) {
            char word[sizeof "pipeline_layouts"];
            size_t length = strcspn(at, ",");
            int index;
            if (length >= sizeof word) {
                return false;
            }
            memcpy(word, at, length);
            word[length] = '\0';
            if (!read_word(word, words, &index)) {
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
    if (!read_word(value, words, &index)) {
        return false;
    }
    config->app_cache = (enum app_cache_mode)index;
    return true;
}

static bool read_prewarm(const char *value, struct config *config)
{
    static const char *const words[] = {
        [PREWARM_AUTO] = "auto", [PREWARM_ON] = "on", [PREWARM_OFF] = "off", NULL};
    int index;
    if (!read_word(value, words, &index)) {
        return false;
    }
    config->prewarm = (enum prewarm_mode)index;
    return true;
}

static bool read_flush_idle_ms(const char *value, struct config *config)
{
    uint64_t number;
    if (!read_digits(&value, &number) || *value || number > UINT32_MAX) {
        return false;
    }
    config->flush_idle_ms = (uint32_t)number;
    return true;
}

static bool read_max_size(const char *value, struct config *config)
{
    return config_parse_size(value, &config->max_size);
}

static bool read_max_total(const char *value, struct config *config)
{
    return config_parse_size(value, &config->max_total);
}

static bool read_policy(const char *value, struct config *config)
{
    config->policy_none = strcmp(value, "none") == 0;
    config->policy_path = config->policy_none ? NULL : anchored(value);
    return true;
}

static bool read_log(const char *value, struct config *config)
{
    static const char *const words[] = {
        [LOG_LEVEL_OFF] = "off",   [LOG_LEVEL_ERROR] = "error", [LOG_LEVEL_WARN] = "warn",
        [LOG_LEVEL_INFO] = "info", [LOG_LEVEL_DEBUG] = "debug", NULL,
    };
    size_t length = strcspn(value, ":");
    const char *path = value[length] ? value + length + 1 : NULL;
    char word[sizeof "error"];
    int index;
    if (length >= sizeof word || (path && !*path)) {
        return false;
    }
    memcpy(word, value, length);
    word[length] = '\0';
    if (!read_word(word, words, &index)) {
        return false;
    }
    config->log_level = (enum log_level)index;
    config->log_path = path ? anchored(path) : NULL;
    return true;
}

static bool read_stats(const char *value, struct config *config)
{
    config->stats_path = anchored(value);
    return true;
}

/* The value of a variable; an empty one counts as not set, as the XDG specification has it. */
static const char *look_up(config_lookup_fn lookup, const char *name)
{
    const char *value = lookup(name);
    return value && *value ? value : NULL;
}

static void read_setting(enum setting_id id, config_lookup_fn lookup, struct config *config)
{
    static atomic_bool told[SETTING_COUNT];
    const struct setting *setting = &settings[id];
    const char *value = look_up(lookup, setting->name);
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

void config_read(config_lookup_fn lookup, struct config *ret_config)
{
    struct config config = {0};
    read_setting(SETTING_log, lookup, &config);
    log_configure(config.log_level, config.log_path);
    for (int id = 0; id < SETTING_COUNT; id++) {
        if (id != SETTING_log) {
            read_setting((enum setting_id)id, lookup, &config);
        }
    }
    const char *directory = look_up(lookup, settings[SETTING_dir].name);
    if (!directory || directory[0] != '/') {
        config.root = default_root(lookup);
    }
    *ret_config = config;
}

void config_free(struct config *config)
{
    free(config->root);
    free(config->app);
    free(config->policy_path);
    free(config->log_path);
    free(config->stats_path);
    *config = (struct config){0};
}
