// SPDX-License-Identifier: Apache-2.0
#include "common/base/digest.h"

#include <stdlib.h>

#include "common/base/bytes.h"
#include "common/base/text.h"

/* Inlined whole: the layer links no library, and exports no symbol of this one. */
#define XXH_INLINE_ALL
#include <xxhash.h>

struct digest digest_of(const void *data, size_t size)
{
    XXH128_hash_t hash = XXH3_128bits(data, size);
    return (struct digest){.low = hash.low64, .high = hash.high64};
}

int digest_order(const void *left, const void *right)
{
    return digest_compare(*(const struct digest *)left, *(const struct digest *)right);
}

size_t digest_sort(struct digest *digests, size_t count)
{
    array_sort(digests, count, sizeof *digests, digest_order);
    return array_unique(digests, count, sizeof *digests, digest_order);
}

static void digest_format_half(uint64_t half, char *ret_hex)
{
    for (int i = 0; i < 16; i++) {
        ret_hex[i] = "0123456789abcdef"[half >> (60 - 4 * i) & 0xf];
    }
}

__attribute__((cold)) void digest_format(struct digest digest, char ret_hex[DIGEST_HEX_SIZE])
{
    digest_format_half(digest.high, ret_hex);
    digest_format_half(digest.low, ret_hex + 16);
    ret_hex[32] = '\0';
}

__attribute__((cold)) bool digest_parse(const char *hex, struct digest *ret_digest)
{
    uint64_t halves[2] = {0, 0};
    for (int i = 0; i < 32; i++) {
        int value = text_hex_value(hex[i]);
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

/* The set. */

void digest_set_release(struct digest_set *set)
{
    if (set->slots != set->first) {
        free(set->slots);
    }
    set->slots = NULL;
    set->mask = 0;
    set->count = 0;
}

static uint64_t digest_set_storable(uint64_t value)
{
    return value ? value : 1;
}

static const struct digest *digest_set_pointed(uint64_t value)
{
    return (const struct digest *)(uintptr_t)value;
}

/* The slot from which on a value is looked for. Multiplied once, values of equal distance could
 * still meet. */
static size_t digest_set_home(const struct digest_set *set, uint64_t value)
{
    value *= set->factor;
    value = (value ^ value >> 32) * set->factor;
    return (size_t)(value >> 32) & set->mask;
}

static void digest_set_use(struct digest_set *set, uint64_t *slots, size_t mask)
{
    set->slots = slots;
    set->mask = mask;
    const uint64_t place = (uintptr_t)slots * UINT64_C(0x9E3779B97F4A7C15);
    set->factor = (place ^ place >> 32) | 1; /* the low bits of a place are often all 0 */
}

/* The slot that holds the value, or the free one where it would stand. The library is smaller
 * without copies of it. */
static __attribute__((noinline)) uint64_t *digest_set_place(const struct digest_set *set,
                                                            uint64_t value)
{
    size_t i = digest_set_home(set, set->of_pointers ? digest_set_pointed(value)->low : value);
    while (set->slots[i] != 0 && set->slots[i] != value) {
        i = (i + 1) & set->mask;
    }
    return &set->slots[i];
}

bool digest_set_has(const struct digest_set *set, uint64_t value)
{
    return set->slots && *digest_set_place(set, digest_set_storable(value)) != 0;
}

static __attribute__((cold)) bool digest_set_grow(struct digest_set *set)
{
    if (!set->slots) {
        for (size_t i = 0; i < DIGEST_SET_FIRST; i++) {
            set->first[i] = 0;
        }
        digest_set_use(set, set->first, DIGEST_SET_FIRST - 1);
        return true;
    }
    struct digest_set larger = {.of_pointers = set->of_pointers};
    const size_t mask = set->mask * 2 + 1;
    uint64_t *slots = calloc(mask + 1, sizeof *slots);
    if (!slots) {
        return false;
    }
    digest_set_use(&larger, slots, mask);
    for (size_t i = 0; i <= set->mask; i++) {
        if (set->slots[i] != 0) {
            *digest_set_place(&larger, set->slots[i]) = set->slots[i];
        }
    }
    if (set->slots != set->first) {
        free(set->slots);
    }
    digest_set_use(set, slots, mask);
    return true;
}

bool digest_set_add(struct digest_set *set, uint64_t value)
{
    const bool is_full = !set->slots || (set->count + 1) * 4 > (set->mask + 1) * 3;
    if (is_full && !digest_set_grow(set)) {
        return false;
    }
    value = digest_set_storable(value);
    uint64_t *place = digest_set_place(set, value);
    set->count += *place == 0;
    *place = value;
    return true;
}

void *digest_set_find(const struct digest_set *set, struct digest digest)
{
    size_t i = digest_set_home(set, digest.low);
    while (set->slots && set->slots[i] != 0) {
        if (digest_equal(*digest_set_pointed(set->slots[i]), digest)) {
            return (void *)(uintptr_t)set->slots[i];
        }
        i = (i + 1) & set->mask;
    }
    return NULL;
}

void *digest_set_next(const struct digest_set *set, size_t *at)
{
    uint64_t value = 0;
    while (value == 0 && set->slots && *at <= set->mask) {
        value = set->slots[(*at)++];
    }
    return (void *)(uintptr_t)value;
}
