// SPDX-License-Identifier: Apache-2.0
#include "common/base/digest.h"

/* Inlined whole: the layer links no library, and exports no symbol of this one. */
#define XXH_INLINE_ALL
#include <xxhash.h>

struct digest digest_of(const void *data, size_t size)
{
    XXH128_hash_t hash = XXH3_128bits(data, size);
    return (struct digest){.low = hash.low64, .high = hash.high64};
}

static void digest_format_half(uint64_t half, char *ret_hex)
{
    for (int i = 0; i < 16; i++) {
        ret_hex[i] = "0123456789abcdef"[half >> (60 - 4 * i) & 0xf];
    }
}

void digest_format(struct digest digest, char ret_hex[DIGEST_HEX_SIZE])
{
    digest_format_half(digest.high, ret_hex);
    digest_format_half(digest.low, ret_hex + 16);
    ret_hex[32] = '\0';
}

static int digest_hex_value(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    if (digit >= 'a' && digit <= 'f') {
        return digit - 'a' + 10;
    }
    if (digit >= 'A' && digit <= 'F') {
        return digit - 'A' + 10;
    }
    return -1;
}

bool digest_parse(const char *hex, struct digest *ret_digest)
{
    uint64_t halves[2] = {0, 0};
    for (int i = 0; i < 32; i++) {
        int value = digest_hex_value(hex[i]);
        if (value < 0) {
            return false;
        }
        halves[i / 16] = halves[i / 16] << 4 | (uint64_t)value;
    }
    if (hex[32] != '\0') {
        return false;
    }
    *ret_digest = (struct digest){.low = halves[1], .high = halves[0]};
    return true;
}

void digest_put(struct bytes *bytes, struct digest digest)
{
    const uint64_t halves[] = {htole64(digest.low), htole64(digest.high)};
    bytes_put(bytes, halves, sizeof halves);
}

struct digest digest_get(struct bytes_reader *reader)
{
    struct digest digest;
    digest.low = bytes_get_u64(reader);
    digest.high = bytes_get_u64(reader);
    return digest;
}
