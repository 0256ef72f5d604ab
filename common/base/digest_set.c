// SPDX-License-Identifier: Apache-2.0
#include "common/base/digest_set.h"

#include <stdlib.h>

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

static uint64_t digest_set_hash(const struct digest_set *set, uint64_t value)
{
    return set->hash ? set->hash(value) : value;
}

/* The slot that holds the value, or the free one where it would stand. */
static uint64_t *digest_set_place(const struct digest_set *set, uint64_t value)
{
    size_t i = (size_t)digest_set_hash(set, value) & set->mask;
    while (set->slots[i] != 0 && set->slots[i] != value) {
        i = (i + 1) & set->mask;
    }
    return &set->slots[i];
}

bool digest_set_has(const struct digest_set *set, uint64_t value)
{
    return set->slots && *digest_set_place(set, digest_set_storable(value)) != 0;
}

static bool digest_set_grow(struct digest_set *set)
{
    if (!set->slots) {
        for (size_t i = 0; i < DIGEST_SET_FIRST; i++) {
            set->first[i] = 0;
        }
        set->slots = set->first;
        set->mask = DIGEST_SET_FIRST - 1;
        return true;
    }
    struct digest_set larger = {.mask = set->mask * 2 + 1, .hash = set->hash};
    larger.slots = calloc(larger.mask + 1, sizeof(uint64_t));
    if (!larger.slots) {
        return false;
    }
    for (size_t i = 0; i <= set->mask; i++) {
        if (set->slots[i] != 0) {
            *digest_set_place(&larger, set->slots[i]) = set->slots[i];
        }
    }
    if (set->slots != set->first) {
        free(set->slots);
    }
    set->slots = larger.slots;
    set->mask = larger.mask;
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

uint64_t digest_set_find(const struct digest_set *set, uint64_t hash,
                         bool (*matches)(uint64_t value, const void *wanted), const void *wanted)
{
    size_t i = (size_t)hash & set->mask;
    while (set->slots && set->slots[i] != 0) {
        if (matches(set->slots[i], wanted)) {
            return set->slots[i];
        }
        i = (i + 1) & set->mask;
    }
    return 0;
}
