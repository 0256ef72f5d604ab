// SPDX-License-Identifier: Apache-2.0
#include "layer/dedup/object_table.h"

#include <stdlib.h>
#include <string.h>

/* The low bits of a hash select the shard, the others the slot. */
static size_t shard_home(const struct object_shard *shard, const struct object *object)
{
    const uint64_t hash = shard->by_handle ? object_hash_of_handle(object->handle) : object->hash;
    return hash / SHARD_COUNT & shard->mask;
}

static bool object_has_key(const struct object *object, VkObjectType type,
                           const struct iovec *parts, unsigned part_count)
{
    size_t offset = 0;
    for (unsigned i = 0; i < part_count; i++) {
        if (parts[i].iov_len > object->key_size - offset ||
            memcmp(object->key + offset, parts[i].iov_base, parts[i].iov_len) != 0) {
            return false;
        }
        offset += parts[i].iov_len;
    }
    return offset == object->key_size && object->type == (uint32_t)type;
}

struct object *shard_find_key(const struct object_shard *shard, uint64_t hash, VkObjectType type,
                              const struct iovec *parts, unsigned part_count)
{
    struct object *object = NULL;
    for (size_t i = hash / SHARD_COUNT;
         shard->slots && (object = shard->slots[i & shard->mask]) != NULL; i++) {
        if (object->hash == hash && object_has_key(object, type, parts, part_count)) {
            break;
        }
    }
    return object;
}

static bool object_has_handle(const struct object *object, VkObjectType type, uint64_t handle)
{
    return object->handle == handle && object->type == (uint32_t)type;
}

struct object *shard_find_handle(const struct object_shard *shard, uint64_t hash, VkObjectType type,
                                 uint64_t handle)
{
    struct object *object = NULL;
    for (size_t i = hash / SHARD_COUNT;
         shard->slots && (object = shard->slots[i & shard->mask]) != NULL; i++) {
        if (object_has_handle(object, type, handle)) {
            return object;
        }
    }
    object = shard->unindexed;
    while (object && !object_has_handle(object, type, handle)) {
        object = object->next_unindexed;
    }
    return object;
}

static void shard_insert(struct object_shard *shard, struct object *object)
{
    size_t i = shard_home(shard, object);
    while (shard->slots[i]) {
        i = (i + 1) & shard->mask;
    }
    shard->slots[i] = object;
}

static __attribute__((cold)) bool shard_grow(struct object_shard *shard)
{
    struct object **old = shard->slots;
    const size_t old_count = old ? (size_t)shard->mask + 1 : 0;
    const size_t count = old ? old_count * 2 : SHARD_FIRST_SLOTS;
    struct object **slots = old ? calloc(count, sizeof *slots) : shard->first;
    if (!slots || count > UINT32_MAX) {
        return false;
    }
    shard->slots = slots;
    shard->mask = (uint32_t)(count - 1);
    for (size_t i = 0; i < old_count; i++) {
        if (old[i]) {
            shard_insert(shard, old[i]);
        }
    }
    if (old != shard->first) {
        free(old);
    }
    return true;
}

bool shard_add_key(struct object_shard *shard, struct object *object)
{
    const size_t slot_count = (size_t)shard->mask + 1;
    const bool full = !shard->slots || ((size_t)shard->count + 1) * 4 > slot_count * 3;
    if (full && !shard_grow(shard)) {
        return false;
    }
    shard_insert(shard, object);
    shard->count++;
    return true;
}

__attribute__((cold)) void shard_remove_key(struct object_shard *shard, const struct object *object)
{
    if (!shard->slots) {
        return;
    }
    size_t hole = shard_home(shard, object);
    while (shard->slots[hole] && shard->slots[hole] != object) {
        hole = (hole + 1) & shard->mask;
    }
    if (!shard->slots[hole]) {
        return;
    }
    /* Moves up what follows and may be nearer to its home there (linear probing, deletion by
     * shifting back). */
    for (size_t i = (hole + 1) & shard->mask; shard->slots[i]; i = (i + 1) & shard->mask) {
        const size_t home = shard_home(shard, shard->slots[i]);
        if (((i - home) & shard->mask) >= ((i - hole) & shard->mask)) {
            shard->slots[hole] = shard->slots[i];
            hole = i;
        }
    }
    shard->slots[hole] = NULL;
    shard->count--;
}

void shard_add_handle(struct object_shard *shard, struct object *object)
{
    if (!shard_add_key(shard, object)) {
        object->next_unindexed = shard->unindexed;
        shard->unindexed = object;
    }
}

void shard_remove_handle(struct object_shard *shard, const struct object *object)
{
    struct object **link = &shard->unindexed;
    while (*link && *link != object) {
        link = &(*link)->next_unindexed;
    }
    if (*link) {
        *link = object->next_unindexed;
    } else {
        shard_remove_key(shard, object);
    }
}

/* The lock is held for nanoseconds: a thread that finds it taken spins before it sleeps, where the
 * library offers that. */
static __attribute__((cold)) void shard_init_lock(pthread_mutex_t *lock)
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

__attribute__((cold)) void shards_init(struct object_shard *shards, bool by_handle)
{
    for (unsigned i = 0; i < SHARD_COUNT; i++) {
        shard_init_lock(&shards[i].lock);
        shards[i].by_handle = by_handle;
    }
}

__attribute__((cold)) void shards_release(struct object_shard *shards)
{
    for (struct object_shard *shard = shards; shard < shards + SHARD_COUNT; shard++) {
        for (size_t i = 0; shard->by_handle && shard->slots && i <= shard->mask; i++) {
            free(shard->slots[i]);
        }
        while (shard->unindexed) {
            struct object *object = shard->unindexed;
            shard->unindexed = object->next_unindexed;
            free(object);
        }
        if (shard->slots != shard->first) {
            free(shard->slots);
        }
        pthread_mutex_destroy(&shard->lock);
    }
}

__attribute__((cold)) struct object *object_new(VkObjectType type, const struct iovec *parts,
                                                unsigned part_count, uint64_t serial,
                                                enum object_state state,
                                                const struct canonical_object *facts)
{
    size_t size = 0;
    for (unsigned i = 0; i < part_count; i++) {
        size += parts[i].iov_len;
    }
    struct object *object = size <= UINT32_MAX ? malloc(offsetof(struct object, key) + size) : NULL;
    if (!object) {
        return NULL;
    }
    memset(object, 0, offsetof(struct object, key));
    object->serial = serial;
    if (facts) {
        object->content = facts->content;
        object->name = facts->name;
        object->by_serial = facts->by_serial;
    }
    atomic_init(&object->references, 1);
    object->driver_references = 1;
    object->key_size = (uint32_t)size;
    object->head_size = part_count ? (uint32_t)parts[0].iov_len : 0;
    object->type = (uint32_t)type;
    atomic_init(&object->state, state);
    uint8_t *next = object->key;
    for (unsigned i = 0; i < part_count; i++) {
        memcpy(next, parts[i].iov_base, parts[i].iov_len);
        next += parts[i].iov_len;
    }
    return object;
}
