/* A growing hash index of pointers, for one shard under its owner's lock: open addressing, no
 * tombstones. What a slot's hash is and which one matches, the owner says. */
#ifndef WARMPIPE_LAYER_OBJECT_INDEX_H
#define WARMPIPE_LAYER_OBJECT_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OBJECT_INDEX_FIRST 16

struct object_index {
    void **slots; /* NULL: free; zero-initialize the struct, which must not be moved */
    size_t mask;
    size_t count;
    uint64_t (*hash)(const void *item); /* set by the owner, never changed */
    void *first[OBJECT_INDEX_FIRST];    /* the slots, as long as they are enough */
};

/* Frees the slots, not the items. */
void object_index_release(struct object_index *index);

/* The item of this hash for which `matches` holds, or NULL. */
void *object_index_find(const struct object_index *index, uint64_t hash,
                        bool (*matches)(const void *item, const void *wanted), const void *wanted);

/* Adds an item. False: out of memory, nothing has changed. */
bool object_index_add(struct object_index *index, void *item);

/* Takes this very item out, if it is there. */
void object_index_remove(struct object_index *index, const void *item);

#endif
