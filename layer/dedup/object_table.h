// SPDX-License-Identifier: Apache-2.0
/* Storage for the live objects of a device: the object, and the shards in which objects are found
 * by key and by handle. A shard is an open-addressing hash table of pointers with its own lock.
 * Internal to objects.c; objects.h has the states of an object. */
#ifndef WARMPIPE_LAYER_DEDUP_OBJECT_TABLE_H
#define WARMPIPE_LAYER_DEDUP_OBJECT_TABLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/uio.h>

#include "common/codec/canonical.h"

#define SHARD_COUNT       32
#define SHARD_FIRST_SLOTS 16

/* Tests narrow the hash to show that equality never depends on it. */
#ifndef OBJECTS_HASH_MASK
#define OBJECTS_HASH_MASK UINT64_MAX
#endif

enum object_state { OBJECT_CLAIMED, OBJECT_SHARED, OBJECT_UNSHARED, OBJECT_UNKNOWN };

/* Who may change a member: `references` rises under the lock of either shard and falls under the
 * handle shard's; it never rises from 0. driver_references and next_unindexed belong to the handle
 * shard's lock. Of the others that are not atomic, handle and name are written before the object
 * can be found by its handle, the rest before another thread can find it at all. */
struct object {
    struct object *next_unindexed;
    uint64_t claimed_ns; /* OBJECT_CLAIMED: since when */
    uint64_t handle;
    uint64_t serial;
    uint64_t hash;         /* of the key */
    struct digest content; /* unless OBJECT_UNKNOWN */
    struct digest name;    /* likewise; zeros while OBJECT_CLAIMED */
    pid_t claimant;        /* OBJECT_CLAIMED: the thread that creates it */
    atomic_uint references;
    uint32_t driver_references;
    uint32_t key_size;
    uint32_t head_size; /* of the key's first part */
    uint32_t type;
    _Atomic uint8_t state;
    bool by_serial;
    atomic_bool in_device_cache; /* OBJECT_CLAIMED: what the driver compiles for it will be there */
    bool awaited;                /* OBJECT_CLAIMED: others may wait for it */
    atomic_bool has_waited;      /* a thread has begun to wait */
    uint8_t key[]; /* key_size bytes; of an adopted render pass, its struct render_pass_use */
};

/* All but the slots fits one cache line, because a creation finds each shard cold. */
struct object_shard {
    _Alignas(128) pthread_mutex_t lock;
    struct object **slots;    /* NULL where free */
    struct object *unindexed; /* objects without room in the table (handle shards only) */
    uint32_t mask;
    uint32_t count : 31;
    uint32_t by_handle : 1;
    struct object *first[SHARD_FIRST_SLOTS]; /* the slots while they suffice */
};

static inline uint64_t object_mix(uint64_t value)
{
    value ^= value >> 32;
    value *= UINT64_C(0xD6E8FEB86659FD93);
    value ^= value >> 32;
    return value;
}

static inline uint64_t object_hash_of_key(struct digest digest, VkObjectType type)
{
    return object_mix(digest.low ^ (uint64_t)type) & OBJECTS_HASH_MASK;
}

static inline uint64_t object_hash_of_handle(uint64_t handle)
{
    return object_mix(handle * UINT64_C(0x9E3779B97F4A7C15)) & OBJECTS_HASH_MASK;
}

static inline struct object_shard *shard_of(struct object_shard *shards, uint64_t hash)
{
    return &shards[hash % SHARD_COUNT];
}

/* Makes an object that no other thread knows yet, with one reference and a copy of its key, which
 * is given in parts. facts NULL: none are known. NULL: memory is out or the key is too long. */
struct object *object_new(VkObjectType type, const struct iovec *parts, unsigned part_count,
                          uint64_t serial, enum object_state state,
                          const struct canonical_object *facts);

/* For all SHARD_COUNT shards. Shards by handle own their objects, which are freed with them. */
void shards_init(struct object_shard *shards, bool by_handle);
void shards_release(struct object_shard *shards);

/* Call the following under the shard's lock. `hash` is that of the key or handle. */
struct object *shard_find_key(const struct object_shard *shard, uint64_t hash, VkObjectType type,
                              const struct iovec *parts, unsigned part_count);
struct object *shard_find_handle(const struct object_shard *shard, uint64_t hash, VkObjectType type,
                                 uint64_t handle);

/* False: out of memory, nothing has changed. */
bool shard_add_key(struct object_shard *shard, struct object *object);

/* A no-op where the object is not in the shard. */
void shard_remove_key(struct object_shard *shard, const struct object *object);

/* Never fails: a live handle must be found, because the program may hold it several times. */
void shard_add_handle(struct object_shard *shard, struct object *object);
void shard_remove_handle(struct object_shard *shard, const struct object *object);

#endif
