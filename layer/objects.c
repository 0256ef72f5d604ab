#include "objects.h"

#include <stdlib.h>
#include <string.h>

#include "object_shard.h"

struct objects {
    _Alignas(128) _Atomic uint64_t epoch; /* read on every creation, written when handles go */
    _Alignas(128) atomic_ullong next_serial;
    struct shard by_key[SHARD_COUNT];
    struct shard by_handle[SHARD_COUNT];
};

struct objects *objects_new(void)
{
    struct objects *objects = aligned_alloc(_Alignof(struct objects), sizeof *objects);
    if (objects) {
        memset(objects, 0, sizeof *objects);
        atomic_init(&objects->next_serial, 1);
        shards_init(objects->by_key, false);
        shards_init(objects->by_handle, true);
    }
    return objects;
}

void objects_delete(struct objects *objects)
{
    if (objects) {
        shards_release(objects->by_key, false);
        shards_release(objects->by_handle, true);
        free(objects);
    }
}

static uint64_t new_serial(struct objects *objects)
{
    return atomic_fetch_add_explicit(&objects->next_serial, 1, memory_order_relaxed);
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
    struct object *claim = object_new(key, hash, new_serial(objects), OBJECT_CLAIMED, facts);
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
    uint64_t hash = object_hash_of_key(key);
    struct shard *shard = shard_of(objects->by_key, hash);
    enum objects_answer answer = OBJECTS_ALONE;
    pthread_mutex_lock(&shard->lock);
    for (;;) {
        struct object *object = shard_find_key(shard, hash, key);
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
        struct object *claim = claim_new(objects, shard, key, hash, facts);
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
    uint64_t hash = object_hash_of_handle(object->handle);
    struct shard *shard = shard_of(objects->by_handle, hash);
    pthread_mutex_lock(&shard->lock);
    struct object *known =
        shard_find_handle(shard, hash, (VkObjectType)object->type, object->handle);
    if (known) {
        ++known->driver_references;
        atomic_fetch_add(&known->references, 1);
    } else {
        shard_add_handle(shard, object);
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

static void adopt(struct objects *objects, const struct object_key *key, uint64_t handle,
                  const struct canonical_object *facts)
{
    struct object *object =
        object_new(key, 0, new_serial(objects), facts ? OBJECT_UNSHARED : OBJECT_UNKNOWN, facts);
    if (!object) {
        return;
    }
    object->handle = handle;
    if (!enter_handle(objects, object)) {
        free(object);
    }
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
    adopt(objects, &key, handle, facts);
}

void objects_adopt_module(struct objects *objects, uint64_t handle,
                          const struct canonical_object *facts, const struct iovec parts[2])
{
    struct object_key key = {
        .type = VK_OBJECT_TYPE_SHADER_MODULE,
        .parts = parts,
        .part_count = 2,
    };
    adopt(objects, &key, handle, facts);
}

bool objects_borrow_module(struct objects *objects, uint64_t handle,
                           struct objects_module *ret_module)
{
    uint64_t hash = object_hash_of_handle(handle);
    struct shard *shard = shard_of(objects->by_handle, hash);
    pthread_mutex_lock(&shard->lock);
    const struct object *object =
        shard_find_handle(shard, hash, VK_OBJECT_TYPE_SHADER_MODULE, handle);
    bool kept = object && object->key_size > object->head_size;
    if (kept) {
        *ret_module = (struct objects_module){
            .content = object->content,
            .form = object->key,
            .form_size = object->head_size,
            .code = object->key + object->head_size,
            .code_size = object->key_size - object->head_size,
        };
    }
    pthread_mutex_unlock(&shard->lock);
    return kept;
}

void objects_reference(struct objects *objects, VkObjectType type, uint64_t handle)
{
    uint64_t hash = object_hash_of_handle(handle);
    struct shard *shard = shard_of(objects->by_handle, hash);
    pthread_mutex_lock(&shard->lock);
    struct object *object = shard_find_handle(shard, hash, type, handle);
    if (object) {
        atomic_fetch_add(&object->references, 1);
    }
    pthread_mutex_unlock(&shard->lock);
}

bool objects_release(struct objects *objects, VkObjectType type, uint64_t handle)
{
    uint64_t hash = object_hash_of_handle(handle);
    struct shard *shard = shard_of(objects->by_handle, hash);
    pthread_mutex_lock(&shard->lock);
    struct object *object = shard_find_handle(shard, hash, type, handle);
    if (!object) {
        pthread_mutex_unlock(&shard->lock);
        return true;
    }
    unsigned left = atomic_fetch_sub(&object->references, 1) - 1;
    bool call_down = left < object->driver_references;
    object->driver_references -= call_down;
    if (left == 0) {
        shard_remove_handle(shard, object);
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
    uint64_t hash = object_hash_of_handle(handle);
    struct shard *shard = shard_of(objects->by_handle, hash);
    pthread_mutex_lock(&shard->lock);
    const struct object *object = shard_find_handle(shard, hash, type, handle);
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
