// SPDX-License-Identifier: Apache-2.0
#include "common/files/pipeline_keys.h"

#include <stdbool.h>
#include <string.h>

#define HEX_DIGITS (DIGEST_HEX_SIZE - 1)
#define ENTRY_SIZE (2 * HEX_DIGITS + 1)

static size_t pipeline_keys_position(const struct pipeline_keys *keys, struct digest device)
{
    size_t at = 0;
    while (at < keys->count && !digest_equal(keys->keys[at].device, device)) {
        at++;
    }
    return at;
}

const struct pipeline_key *pipeline_keys_find(const struct pipeline_keys *keys,
                                              struct digest device)
{
    const size_t at = pipeline_keys_position(keys, device);
    return at < keys->count ? &keys->keys[at] : NULL;
}

void pipeline_keys_set(struct pipeline_keys *keys, const struct pipeline_key *key)
{
    size_t at = pipeline_keys_position(keys, key->device);
    if (at == PIPELINE_KEYS_MAX) {
        at = 0;
    }
    if (at < keys->count) {
        keys->count--;
        memmove(keys->keys + at, keys->keys + at + 1, (keys->count - at) * sizeof *keys->keys);
    }
    keys->keys[keys->count++] = *key;
}

static bool pipeline_keys_parse_digest(const char *digits, struct digest *ret_digest)
{
    char hex[DIGEST_HEX_SIZE] = {0};
    memcpy(hex, digits, HEX_DIGITS);
    return digest_parse(hex, ret_digest);
}

void pipeline_keys_parse(struct json_text text, struct pipeline_keys *keys)
{
    const char *const end = text.size ? text.data + text.size : text.data; /* NULL: none */
    keys->count = 0;
    for (const char *at = text.data; at < end;) {
        const char *space = memchr(at, ' ', (size_t)(end - at));
        const char *entry_end = space ? space : end;
        struct pipeline_key key;
        if (entry_end - at == ENTRY_SIZE && at[HEX_DIGITS] == '-' &&
            pipeline_keys_parse_digest(at, &key.device) &&
            pipeline_keys_parse_digest(at + HEX_DIGITS + 1, &key.key)) {
            pipeline_keys_set(keys, &key);
        }
        at = entry_end + 1;
    }
}

void pipeline_keys_put(const struct pipeline_keys *keys, struct bytes *out)
{
    for (size_t i = 0; i < keys->count; i++) {
        char hex[DIGEST_HEX_SIZE];
        bytes_put(out, " ", i > 0);
        digest_format(keys->keys[i].device, hex);
        bytes_put(out, hex, HEX_DIGITS);
        bytes_put(out, "-", 1);
        digest_format(keys->keys[i].key, hex);
        bytes_put(out, hex, HEX_DIGITS);
    }
}
