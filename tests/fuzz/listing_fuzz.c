// SPDX-License-Identifier: Apache-2.0
/* What servers answer to a listing, and URLs as users write them: nothing is read outside of the
 * text, and what is given back is a string within its bounds. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/remote/engines/engine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "does not hold: %s\n", what);
        abort();
    }
}

static void read_elements(const uint8_t *data, size_t size, const char *name)
{
    struct listing listing = listing_over(data, size);
    char text[64];
    while (listing_element(&listing, name, text, sizeof text)) {
        const size_t length = strnlen(text, sizeof text);
        require(length < sizeof text, "it ends");
        if (listing_decode_url(text)) {
            require(strlen(text) <= length, "decoding only shortens");
        }
    }
}

static void read_url(const uint8_t *data, size_t size)
{
    char text[URL_SIZE * 2];
    char shown[URL_SIZE * 2];
    char value[16];
    struct url url;
    if (size >= sizeof text) {
        return;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    if (url_parse(text, &url) == STATUS_ok) {
        url_show(&url, shown);
        require(strlen(shown) < sizeof shown, "it fits");
        url_query(&url, "endpoint", value, sizeof value);
        require(!strchr(shown, '@') || strchr(url.path, '@') || strchr(url.host, '@'), "no user");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Memory of just this size, so that a read beyond is seen. */
    uint8_t *copy = malloc(size ? size : 1);
    if (copy) {
        memcpy(copy, data, size);
        read_elements(copy, size, "href");
        read_elements(copy, size, "Key");
        free(copy);
    }
    read_url(data, size);
    return 0;
}
