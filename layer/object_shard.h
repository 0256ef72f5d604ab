/* What the table of objects is made of: one live object, and the shards in which objects are found
 * by key and by handle. Only objects.c includes this. */
#ifndef WARMPIPE_LAYER_OBJECT_SHARD_H
#define WARMPIPE_LAYER_OBJECT_SHARD_H

#include <pthread.h>
#include <stdatomic.h>

#include "object_index.h"
#include "objects.h"

#define SHARD_COUNT 128

/* Tests narrow the hash to show that equality never rests on it. */
#ifndef OBJECTS_HASH_MASK
#define OBJECTS_HASH_MASK UINT64_MAX
#endif

enum object_state { OBJECT_CLAIMED, OBJECT_SHARED, OBJECT_UNSHARED, OBJECT_UNKNOWN };

/* Who may change what: `references` rises under the key shard's lock and falls under the handle
 * shard's; it never rises from 0. driver_references is the handle shard's. The rest is written
 * before the object is found by anybody. */
struct object {
    struct object *next_unindexed;
    uint64_t handle;
    uint64_t serial;
    uint64_t hash;         /* of the key */
    struct digest content; /* unless OBJECT_UNKNOWN */
    atomic_uint references;
    uint32_t driver_references;
    uint32_t key_size;
    uint32_t head_size; /* of the key's first part */
    uint32_t type;
    _Atomic uint8_t state;
    bool by_serial;
    bool hot;
    uint8_t key[]; /* key_size bytes; of an adopted render pass its struct render_pass_use */
};

struct shard {
    _Alignas(128) pthread_mutex_t lock;
    pthread_cond_t settled; /* a claim has been published or abandoned (key shards only) */
    struct object_index index;
    struct object *unindexed; /* for whose place memory was out (handle shards only) */
};

static inline uint64_t object_mix(uint64_t value)
{
    value ^= value >> 32;
    value *= UINT64_C(0xD6E8FEB86659FD93);
    value ^= value >> 32;
    return value;
}

static inline uint64_t object_hash_of_key(const struct object_key *key)
{
    return object_mix(key->digest.low ^ (uint64_t)key->type) & OBJECTS_HASH_MASK;
}

static inline uint64_t object_hash_of_handle(uint64_t handle)
{
    return object_mix(handle * UINT64_C(0x9E3779B97F4A7C15)) & OBJECTS_HASH_MASK;
}

static inline struct shard *shard_of(struct shard *shards, uint64_t hash)
{
    return &shards[hash % SHARD_COUNT];
}

/* An object that nobody else knows yet, with one reference and `serial`; facts NULL: none are
 * known. NULL when memory is out or the key is beyond bounds. */
struct object *object_new(const struct object_key *key, uint64_t hash, uint64_t serial,
                          enum object_state state, const struct canonical_object *facts);

/* Of all SHARD_COUNT shards; by_handle: they own their objects, which are freed with them. */
void shards_init(struct shard *shards, bool by_handle);
void shards_release(struct shard *shards, bool by_handle);

/* All below under the shard's lock. `hash` is that of the key or handle. */
struct object *shard_find_key(const struct shard *shard, uint64_t hash,
                              const struct object_key *key);
struct object *shard_find_handle(const struct shard *shard, uint64_t hash, VkObjectType type,
                                 uint64_t handle);

/* A live handle is found in any case: the program may have been given it several times. */
void shard_add_handle(struct shard *shard, struct object *object);
void shard_remove_handle(struct shard *shard, const struct object *object);

#endif
