// SPDX-License-Identifier: Apache-2.0
/* A settings file as hostile as it likes: what comes out of it is text, within its bounds, without
 * line ends and without white space around it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/settings/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "does not hold: %s\n", what);
        abort();
    }
}

static void check(const char *text, size_t limit)
{
    const size_t length = strlen(text);
    require(length < limit, "bounded");
    require(!strpbrk(text, "\n#"), "one line, without its comment");
    require(length == 0 || (!strchr(" \t\r", text[0]) && !strchr(" \t\r", text[length - 1])),
            "trimmed");
}

static void visit(const char *key, const char *value, unsigned line, void *user)
{
    require(line > 0, "lines count from 1");
    check(value, SETTINGS_VALUE_SIZE);
    require(strlen(key) < SETTINGS_KEY_SIZE && !strchr(key, '='), "a key ends at the first '='");
    ++*(size_t *)user;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t all = 0;
    size_t some = 0;
    settings_file_each((const char *)data, size, "", visit, &all);
    settings_file_each((const char *)data, size, "warmpipe_pipeline_cache.", visit, &some);
    require(some <= all, "a prefix only narrows");
    return 0;
}
