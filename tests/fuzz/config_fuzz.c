// SPDX-License-Identifier: Apache-2.0
/* An environment as hostile as it likes: lines of NAME=value. Whatever they say, the settings that
 * come out are ones that the rest of the program may rely on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/settings/config.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *environment;

/* The value of `name`, which ends at a newline: in a copy, for the caller wants a string. */
static const char *look_up(const char *name)
{
    static char values[32][4096]; /* more than one reading looks up */
    static unsigned count;
    char *value = values[count++ % 32];
    size_t length = strlen(name);
    for (const char *line = environment; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, length) == 0 && line[length] == '=') {
            snprintf(value, sizeof values[0], "%.*s", (int)strcspn(line + length + 1, "\n"),
                     line + length + 1);
            return value;
        }
    }
    return NULL;
}

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "does not hold: %s\n", what);
        abort();
    }
}

static void require_absolute(const char *path)
{
    require(!path || path[0] == '/', "paths are absolute");
}

/* What the number should be, by another way of reckoning. */
static void check_size(const char *text)
{
    static const char units[] = "KMGT";
    const uint64_t untouched = 0x5555aaaa5555aaaa;
    uint64_t size = untouched;
    if (!config_parse_size(text, &size)) {
        require(size == untouched, "a refused size changes nothing");
        return;
    }
    char *end;
    long double expected = strtold(text, &end);
    const char *unit = *end ? strchr(units, *end) : NULL;
    for (const char *at = units; unit && at <= unit; at++) {
        expected *= 1024;
    }
    require((long double)size == expected, "a size is its digits times its unit");
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    /* The first call decides: no input can send the log elsewhere. */
    log_configure(LOG_LEVEL_DEBUG, "/dev/null");
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    environment = malloc(size + 1);
    if (!environment) {
        return 0;
    }
    memcpy(environment, data, size);
    environment[size] = '\0';

    check_size(environment);
    log_warn("%s", environment);

    struct config config;
    config_read(look_up, &config);
    require_absolute(config.root);
    require_absolute(config.policy_path);
    require_absolute(config.log_path);
    require_absolute(config.stats_path);
    require_absolute(config.trace_path);
    require(!config.app || *config.app, "a name is not empty");
    require(!(config.policy_none && config.policy_path), "no policy file with none");
    require((config.dedup & ~(unsigned)DEDUP_ALL) == 0, "only known kinds are shared");
    require(config.app_cache >= APP_CACHE_AUTO && config.app_cache <= APP_CACHE_IGNORE,
            "a known mode for the program's caches");
    require(config.prewarm >= PREWARM_AUTO && config.prewarm <= PREWARM_OFF,
            "a known mode of prewarming");
    require(config.log_level >= LOG_LEVEL_OFF && config.log_level <= LOG_LEVEL_DEBUG,
            "a known log level");
    config_free(&config);
    free(environment);
    return 0;
}
