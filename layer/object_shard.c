#include "object_shard.h"

#include <stdlib.h>
#include <string.h>

struct wanted_handle {
    VkObjectType type;
    uint64_t handle;
};

struct wanted_key {
    const struct object_key *key;
    uint64_t hash;
};

static uint64_t item_key_hash(const void *item)
{
    return ((const struct object *)item)->hash / SHARD_COUNT;
}

static uint64_t item_handle_hash(const void *item)
{
    return object_hash_of_handle(((const struct object *)item)->handle) / SHARD_COUNT;
}

static bool matches_key(const void *item, const void *wanted)
{
    const struct object *object = item;
    const struct object_key *key = ((const struct wanted_key *)wanted)->key;
    if (object->hash != ((const struct wanted_key *)wanted)->hash ||
        object->type != (uint32_t)key->type) {
        return false;
    }
    size_t offset = 0;
    for (unsigned i = 0; i < key->part_count; ++i) {
        const struct iovec *part = &key->parts[i];
        if (part->iov_len > object->key_size - offset ||
            memcmp(object->key + offset, part->iov_base, part->iov_len) != 0) {
            return false;
        }
        offset += part->iov_len;
    }
    return offset == object->key_size;
}

static bool matches_handle(const void *item, const void *wanted)
{
    const struct object *object = item;
    const struct wanted_handle *handle = wanted;
    return object->handle == handle->handle && object->type == (uint32_t)handle->type;
}

struct object *shard_find_key(const struct shard *shard, uint64_t hash,
                              const struct object_key *key)
{
    struct wanted_key wanted = {.key = key, .hash = hash};
    return object_index_find(&shard->index, hash / SHARD_COUNT, matches_key, &wanted);
}

struct object *shard_find_handle(const struct shard *shard, uint64_t hash, VkObjectType type,
                                 uint64_t handle)
{
    struct wanted_handle wanted = {type, handle};
    struct object *object =
        object_index_find(&shard->index, hash / SHARD_COUNT, matches_handle, &wanted);
    for (struct object *next = shard->unindexed; !object && next; next = next->next_unindexed) {
        object = matches_handle(next, &wanted) ? next : NULL;
    }
    return object;
}

void shard_add_handle(struct shard *shard, struct object *object)
{
    if (!object_index_add(&shard->index, object)) {
        object->next_unindexed = shard->unindexed;
        shard->unindexed = object;
    }
}

void shard_remove_handle(struct shard *shard, const struct object *object)
{
    struct object **link = &shard->unindexed;
    while (*link && *link != object) {
        link = &(*link)->next_unindexed;
    }
    if (*link) {
        *link = object->next_unindexed;
    } else {
        object_index_remove(&shard->index, object);
    }
}

/* Held for nanoseconds: a thread that finds it taken spins before it sleeps, where that can be had.
 */
static void lock_init(pthread_mutex_t *lock)
{
#ifdef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
#else
    pthread_mutex_init(lock, NULL);
#endif
}

void shards_init(struct shard *shards, bool by_handle)
{
    for (unsigned i = 0; i < SHARD_COUNT; ++i) {
        lock_init(&shards[i].lock);
        pthread_cond_init(&shards[i].settled, NULL);
        shards[i].index.hash = by_handle ? item_handle_hash : item_key_hash;
    }
}

void shards_release(struct shard *shards, bool by_handle)
{
    for (unsigned i = 0; i < SHARD_COUNT; ++i) {
        struct object_index *index = &shards[i].index;
        for (size_t s = 0; by_handle && index->slots && s <= index->mask; ++s) {
            free(index->slots[s]);
        }
        while (shards[i].unindexed) {
            struct object *object = shards[i].unindexed;
            shards[i].unindexed = object->next_unindexed;
            free(object);
        }
        object_index_release(index);
        pthread_mutex_destroy(&shards[i].lock);
        pthread_cond_destroy(&shards[i].settled);
    }
}

static size_t key_size(const struct object_key *key)
{
    size_t size = 0;
    for (unsigned i = 0; i < key->part_count; ++i) {
        size += key->parts[i].iov_len;
    }
    return size;
}

struct object *object_new(const struct object_key *key, uint64_t hash, uint64_t serial,
                          enum object_state state, const struct canonical_object *facts)
{
    size_t size = key_size(key);
    struct object *object = size <= UINT32_MAX ? malloc(offsetof(struct object, key) + size) : NULL;
    if (!object) {
        return NULL;
    }
    object->handle = 0;
    object->serial = serial;
    object->hash = hash;
    object->content = facts ? facts->content : (struct digest){0};
    atomic_init(&object->references, 1);
    object->driver_references = 1;
    object->key_size = (uint32_t)size;
    object->head_size = key->part_count ? (uint32_t)key->parts[0].iov_len : 0;
    object->type = (uint32_t)key->type;
    atomic_init(&object->state, state);
    object->by_serial = facts && facts->by_serial;
    object->hot = false;
    size_t offset = 0;
    for (unsigned i = 0; i < key->part_count; ++i) {
        memcpy(object->key + offset, key->parts[i].iov_base, key->parts[i].iov_len);
        offset += key->parts[i].iov_len;
    }
    return object;
}
