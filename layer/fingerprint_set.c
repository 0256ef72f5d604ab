#include "fingerprint_set.h"

#include <stdlib.h>

#define CAPACITY_MIN 16

void fingerprint_set_init(struct fingerprint_set *set)
{
    *set = (struct fingerprint_set){0};
    pthread_mutex_init(&set->lock, NULL);
}

void fingerprint_set_release(struct fingerprint_set *set)
{
    free(set->slots);
    pthread_mutex_destroy(&set->lock);
}

/* The slot that holds the fingerprint, or the free one where it would stand. */
static uint64_t *place_of(uint64_t *slots, size_t mask, uint64_t fingerprint)
{
    size_t i = (size_t)fingerprint & mask;
    while (slots[i] != 0 && slots[i] != fingerprint) {
        i = (i + 1) & mask;
    }
    return &slots[i];
}

/* 0 marks a free slot. */
static uint64_t storable(uint64_t fingerprint)
{
    return fingerprint ? fingerprint : 1;
}

bool fingerprint_set_has_settled(const struct fingerprint_set *set, uint64_t fingerprint)
{
    fingerprint = storable(fingerprint);
    return set->slots && *place_of(set->slots, set->mask, fingerprint) == fingerprint;
}

bool fingerprint_set_has(struct fingerprint_set *set, uint64_t fingerprint)
{
    pthread_mutex_lock(&set->lock);
    bool has = fingerprint_set_has_settled(set, fingerprint);
    pthread_mutex_unlock(&set->lock);
    return has;
}

static bool grow(struct fingerprint_set *set)
{
    size_t mask = set->slots ? set->mask * 2 + 1 : CAPACITY_MIN - 1;
    uint64_t *slots = calloc(mask + 1, sizeof *slots);
    if (!slots) {
        return false;
    }
    for (size_t i = 0; set->slots && i <= set->mask; ++i) {
        if (set->slots[i] != 0) {
            *place_of(slots, mask, set->slots[i]) = set->slots[i];
        }
    }
    free(set->slots);
    set->slots = slots;
    set->mask = mask;
    return true;
}

void fingerprint_set_add(struct fingerprint_set *set, uint64_t fingerprint)
{
    fingerprint = storable(fingerprint);
    pthread_mutex_lock(&set->lock);
    bool full = !set->slots || (set->count + 1) * 4 > (set->mask + 1) * 3;
    if (!full || grow(set)) {
        uint64_t *place = place_of(set->slots, set->mask, fingerprint);
        set->count += *place == 0;
        *place = fingerprint;
    }
    pthread_mutex_unlock(&set->lock);
}
