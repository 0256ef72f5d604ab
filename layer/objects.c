#include "objects.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "object_index.h"

#define SHARD_COUNT 256

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

struct objects {
    _Alignas(128) _Atomic uint64_t epoch; /* read on every creation, written when handles go */
    _Alignas(128) atomic_ullong next_serial;
    struct shard by_key[SHARD_COUNT];
    struct shard by_handle[SHARD_COUNT];
};

struct wanted_handle {
    VkObjectType type;
    uint64_t handle;
};

struct wanted_key {
    const struct object_key *key;
    uint64_t hash;
};

static uint64_t mix(uint64_t value)
{
    value ^= value >> 32;
    value *= UINT64_C(0xD6E8FEB86659FD93);
    value ^= value >> 32;
    return value;
}

static uint64_t hash_of_key(const struct object_key *key)
{
    return mix(key->digest.low ^ (uint64_t)key->type) & OBJECTS_HASH_MASK;
}

static uint64_t hash_of_handle(uint64_t handle)
{
    return mix(handle * UINT64_C(0x9E3779B97F4A7C15)) & OBJECTS_HASH_MASK;
}

static uint64_t item_key_hash(const void *item)
{
    return ((const struct object *)item)->hash / SHARD_COUNT;
}

static uint64_t item_handle_hash(const void *item)
{
    return hash_of_handle(((const struct object *)item)->handle) / SHARD_COUNT;
}

static struct shard *shard_of(struct shard *shards, uint64_t hash)
{
    return &shards[hash % SHARD_COUNT];
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

static struct object *find_handle(const struct shard *shard, uint64_t hash, VkObjectType type,
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

/* A live handle is found in any case: the program may have been given it several times. */
static void add_handle(struct shard *shard, struct object *object)
{
    if (!object_index_add(&shard->index, object)) {
        object->next_unindexed = shard->unindexed;
        shard->unindexed = object;
    }
}

static void remove_handle(struct shard *shard, const struct object *object)
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

static void shards_init(struct shard *shards, uint64_t (*hash)(const void *item))
{
    for (unsigned i = 0; i < SHARD_COUNT; ++i) {
        lock_init(&shards[i].lock);
        pthread_cond_init(&shards[i].settled, NULL);
        shards[i].index.hash = hash;
    }
}

struct objects *objects_new(void)
{
    struct objects *objects = aligned_alloc(_Alignof(struct objects), sizeof *objects);
    if (objects) {
        memset(objects, 0, sizeof *objects);
        atomic_init(&objects->next_serial, 1);
        shards_init(objects->by_key, item_key_hash);
        shards_init(objects->by_handle, item_handle_hash);
    }
    return objects;
}

static void shards_release(struct shard *shards, bool free_items)
{
    for (unsigned i = 0; i < SHARD_COUNT; ++i) {
        struct object_index *index = &shards[i].index;
        for (size_t s = 0; free_items && index->slots && s <= index->mask; ++s) {
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

void objects_delete(struct objects *objects)
{
    if (objects) {
        shards_release(objects->by_key, false);
        shards_release(objects->by_handle, true);
        free(objects);
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

/* An object that nobody else knows yet; NULL when memory is out or the key is beyond bounds. */
static struct object *object_new(struct objects *objects, const struct object_key *key,
                                 uint64_t hash, enum object_state state,
                                 const struct canonical_object *facts)
{
    size_t size = key_size(key);
    struct object *object = size <= UINT32_MAX ? malloc(offsetof(struct object, key) + size) : NULL;
    if (!object) {
        return NULL;
    }
    object->handle = 0;
    object->serial = atomic_fetch_add_explicit(&objects->next_serial, 1, memory_order_relaxed);
    object->hash = hash;
    object->content = facts ? facts->content : (struct digest){0};
    atomic_init(&object->references, 1);
    object->driver_references = 1;
    object->key_size = (uint32_t)size;
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

uint64_t object_handle(const struct object *object)
{
    return object->handle;
}

bool object_is_in_hot_cache(const struct object *object)
{
    return object->hot;
}

/* One reference more, unless the last one is just being dropped. */
static bool reference(struct object *object)
{
    unsigned references = atomic_load(&object->references);
    while (references > 0 &&
           !atomic_compare_exchange_weak(&object->references, &references, references + 1)) {
    }
    return references > 0;
}

/* Under the key shard's lock: a claim of the key, found by others from now on. */
static struct object *claim_new(struct objects *objects, struct shard *shard,
                                const struct object_key *key, uint64_t hash,
                                const struct canonical_object *facts)
{
    struct object *claim = object_new(objects, key, hash, OBJECT_CLAIMED, facts);
    if (claim && !object_index_add(&shard->index, claim)) {
        free(claim);
        claim = NULL;
    }
    return claim;
}

enum objects_answer objects_claim(struct objects *objects, const struct object_key *key,
                                  const struct canonical_object *facts, bool wait,
                                  struct object **ret_object)
{
    struct wanted_key wanted = {.key = key, .hash = hash_of_key(key)};
    struct shard *shard = shard_of(objects->by_key, wanted.hash);
    enum objects_answer answer = OBJECTS_ALONE;
    pthread_mutex_lock(&shard->lock);
    for (;;) {
        struct object *object =
            object_index_find(&shard->index, wanted.hash / SHARD_COUNT, matches_key, &wanted);
        bool claimed = object && atomic_load(&object->state) == OBJECT_CLAIMED;
        if (claimed && wait) {
            pthread_cond_wait(&shard->settled, &shard->lock);
            continue;
        }
        if (claimed) {
            *ret_object = object;
            break;
        }
        if (object && reference(object)) {
            *ret_object = object;
            answer = OBJECTS_HIT;
            break;
        }
        if (object) {
            /* Its last reference is being dropped at this moment, by another thread. */
            object_index_remove(&shard->index, object);
        }
        struct object *claim = claim_new(objects, shard, key, wanted.hash, facts);
        if (claim) {
            *ret_object = claim;
            answer = OBJECTS_CREATE;
        }
        break;
    }
    pthread_mutex_unlock(&shard->lock);
    return answer;
}

/* Makes the object findable by its handle; false if that handle is known already: it is counted
 * there. */
static bool enter_handle(struct objects *objects, struct object *object)
{
    uint64_t hash = hash_of_handle(object->handle);
    struct shard *shard = shard_of(objects->by_handle, hash);
    pthread_mutex_lock(&shard->lock);
    struct object *known = find_handle(shard, hash, (VkObjectType)object->type, object->handle);
    if (known) {
        ++known->driver_references;
        atomic_fetch_add(&known->references, 1);
    } else {
        add_handle(shard, object);
    }
    pthread_mutex_unlock(&shard->lock);
    return !known;
}

/* Ends a claim: keep it as shared, or take it out of the index. */
static void settle(struct objects *objects, struct object *claim, bool shared)
{
    struct shard *shard = shard_of(objects->by_key, claim->hash);
    pthread_mutex_lock(&shard->lock);
    if (shared) {
        atomic_store(&claim->state, OBJECT_SHARED);
    } else {
        object_index_remove(&shard->index, claim);
    }
    pthread_cond_broadcast(&shard->settled);
    pthread_mutex_unlock(&shard->lock);
}

void objects_publish(struct objects *objects, struct object *claim, uint64_t handle, bool hot)
{
    claim->handle = handle;
    claim->hot = hot;
    bool entered = enter_handle(objects, claim);
    settle(objects, claim, entered);
    if (!entered) {
        free(claim);
    }
}

void objects_abandon(struct objects *objects, struct object *claim)
{
    settle(objects, claim, false);
    free(claim);
}

void objects_adopt(struct objects *objects, VkObjectType type, uint64_t handle,
                   const struct canonical_object *facts)
{
    struct object_key key = {.type = type};
    struct iovec use;
    if (facts && type == VK_OBJECT_TYPE_RENDER_PASS) {
        use = (struct iovec){(void *)(uintptr_t)&facts->use, sizeof facts->use};
        key.parts = &use;
        key.part_count = 1;
    }
    struct object *object =
        object_new(objects, &key, 0, facts ? OBJECT_UNSHARED : OBJECT_UNKNOWN, facts);
    if (!object) {
        return;
    }
    object->handle = handle;
    if (!enter_handle(objects, object)) {
        free(object);
    }
}

void objects_reference(struct objects *objects, VkObjectType type, uint64_t handle)
{
    uint64_t hash = hash_of_handle(handle);
    struct shard *shard = shard_of(objects->by_handle, hash);
    pthread_mutex_lock(&shard->lock);
    struct object *object = find_handle(shard, hash, type, handle);
    if (object) {
        atomic_fetch_add(&object->references, 1);
    }
    pthread_mutex_unlock(&shard->lock);
}

bool objects_release(struct objects *objects, VkObjectType type, uint64_t handle)
{
    uint64_t hash = hash_of_handle(handle);
    struct shard *shard = shard_of(objects->by_handle, hash);
    pthread_mutex_lock(&shard->lock);
    struct object *object = find_handle(shard, hash, type, handle);
    if (!object) {
        pthread_mutex_unlock(&shard->lock);
        return true;
    }
    unsigned left = atomic_fetch_sub(&object->references, 1) - 1;
    bool call_down = left < object->driver_references;
    object->driver_references -= call_down;
    if (left == 0) {
        remove_handle(shard, object);
        atomic_fetch_add(&objects->epoch, 1);
    }
    pthread_mutex_unlock(&shard->lock);
    if (left == 0) {
        if (atomic_load(&object->state) == OBJECT_SHARED) {
            struct shard *keys = shard_of(objects->by_key, object->hash);
            pthread_mutex_lock(&keys->lock);
            object_index_remove(&keys->index, object);
            pthread_mutex_unlock(&keys->lock);
        }
        free(object);
    }
    return call_down;
}

bool objects_resolve(struct objects *objects, VkObjectType type, uint64_t handle,
                     struct canonical_object *ret_facts)
{
    uint64_t hash = hash_of_handle(handle);
    struct shard *shard = shard_of(objects->by_handle, hash);
    pthread_mutex_lock(&shard->lock);
    const struct object *object = find_handle(shard, hash, type, handle);
    bool known = object && atomic_load(&object->state) != OBJECT_UNKNOWN;
    if (known) {
        ret_facts->content = object->content;
        ret_facts->serial = object->serial;
        ret_facts->by_serial = object->by_serial;
        ret_facts->use = (struct render_pass_use){0};
        if (type == VK_OBJECT_TYPE_RENDER_PASS) {
            memcpy(&ret_facts->use, object->key, sizeof ret_facts->use);
        }
    }
    pthread_mutex_unlock(&shard->lock);
    return known;
}

uint64_t objects_epoch(const struct objects *objects)
{
    return atomic_load_explicit(&objects->epoch, memory_order_acquire);
}

size_t objects_count(struct objects *objects)
{
    size_t count = 0;
    for (unsigned i = 0; i < SHARD_COUNT; ++i) {
        pthread_mutex_lock(&objects->by_handle[i].lock);
        count += objects->by_handle[i].index.count;
        pthread_mutex_unlock(&objects->by_handle[i].lock);
    }
    return count;
}
