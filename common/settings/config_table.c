// SPDX-License-Identifier: Apache-2.0
#include "common/settings/config.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/text.h"

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
    AUTO_FREE char *directory = getcwd(NULL, 0);
    if (!directory || asprintf(ret_path, "%s/%s", directory, value) < 0) {
        *ret_path = NULL;
    }
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
        for (const char *at = value;; at += 1 + strspn(at + 1, " ")) {
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

const struct setting config_table[] = {
#define SETTING(id, kind, from, name, values, fallback, meaning)                                   \
    {KIND_##kind, FROM_##from, #id, name, values, fallback, read_##id},
#include "common/settings/settings.def"
#undef SETTING
};
