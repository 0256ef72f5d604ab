#include "object_index.h"

#include <stdlib.h>
#include <string.h>

static void free_slots(struct object_index *index)
{
    if (index->slots != index->first) {
        free(index->slots);
    }
}

void object_index_release(struct object_index *index)
{
    free_slots(index);
    index->slots = NULL;
    index->mask = 0;
    index->count = 0;
}

void *object_index_find(const struct object_index *index, uint64_t hash,
                        bool (*matches)(const void *item, const void *wanted), const void *wanted)
{
    if (!index->slots) {
        return NULL;
    }
    for (size_t i = hash & index->mask; index->slots[i]; i = (i + 1) & index->mask) {
        if (matches(index->slots[i], wanted)) {
            return index->slots[i];
        }
    }
    return NULL;
}

static void insert(struct object_index *index, void *item)
{
    size_t i = index->hash(item) & index->mask;
    while (index->slots[i]) {
        i = (i + 1) & index->mask;
    }
    index->slots[i] = item;
}

static bool grow(struct object_index *index)
{
    if (!index->slots) {
        memset(index->first, 0, sizeof index->first);
        index->slots = index->first;
        index->mask = OBJECT_INDEX_FIRST - 1;
        return true;
    }
    struct object_index larger = {.mask = index->mask * 2 + 1, .hash = index->hash};
    larger.slots = calloc(larger.mask + 1, sizeof(void *));
    if (!larger.slots) {
        return false;
    }
    for (size_t i = 0; i <= index->mask; ++i) {
        if (index->slots[i]) {
            insert(&larger, index->slots[i]);
        }
    }
    free_slots(index);
    index->slots = larger.slots;
    index->mask = larger.mask;
    return true;
}

bool object_index_add(struct object_index *index, void *item)
{
    bool full = !index->slots || (index->count + 1) * 4 > (index->mask + 1) * 3;
    if (full && !grow(index)) {
        return false;
    }
    insert(index, item);
    ++index->count;
    return true;
}

void object_index_remove(struct object_index *index, const void *item)
{
    if (!index->slots) {
        return;
    }
    size_t i = index->hash(item) & index->mask;
    while (index->slots[i] && index->slots[i] != item) {
        i = (i + 1) & index->mask;
    }
    if (!index->slots[i]) {
        return;
    }
    /* Moves up what follows and may stand nearer to its own place (linear probing, deletion by
     * shifting back). */
    size_t hole = i;
    for (size_t j = (i + 1) & index->mask; index->slots[j]; j = (j + 1) & index->mask) {
        size_t home = index->hash(index->slots[j]) & index->mask;
        if (((j - home) & index->mask) >= ((j - hole) & index->mask)) {
            index->slots[hole] = index->slots[j];
            hole = j;
        }
    }
    index->slots[hole] = NULL;
    --index->count;
}
