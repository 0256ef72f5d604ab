#include "config_values.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

bool config_value_dir(const char *value, struct config *config)
{
    if (value[0] != '/') {
        return false;
    }
    config->root = strdup(value);
    return true;
}

bool config_value_app(const char *value, struct config *config)
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

bool config_value_readonly(const char *value, struct config *config)
{
    return read_flag(value, &config->read_only);
}

bool config_value_summary(const char *value, struct config *config)
{
    return read_flag(value, &config->summary);
}

bool config_value_dedup(const char *value, struct config *config)
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

bool config_value_app_cache(const char *value, struct config *config)
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

bool config_value_prewarm(const char *value, struct config *config)
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

bool config_value_flush_idle_ms(const char *value, struct config *config)
{
    uint64_t number;
    if (!read_digits(&value, &number) || *value || number > UINT32_MAX) {
        return false;
    }
    config->flush_idle_ms = (uint32_t)number;
    return true;
}

bool config_value_max_size(const char *value, struct config *config)
{
    return config_parse_size(value, &config->max_size);
}

bool config_value_max_total(const char *value, struct config *config)
{
    return config_parse_size(value, &config->max_total);
}

bool config_value_policy(const char *value, struct config *config)
{
    config->policy_none = strcmp(value, "none") == 0;
    config->policy_path = config->policy_none ? NULL : anchored(value);
    return true;
}

bool config_value_log(const char *value, struct config *config)
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

bool config_value_trace(const char *value, struct config *config)
{
    config->trace_path = anchored(value);
    return true;
}

bool config_value_stats(const char *value, struct config *config)
{
    config->stats_path = anchored(value);
    return true;
}
