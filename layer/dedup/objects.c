// SPDX-License-Identifier: Apache-2.0
#include "layer/dedup/objects.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "layer/dedup/object_table.h"
#include "layer/worker/own_thread.h"
#include "layer/worker/sandbox.h"

/* How long a creation is assumed to take until one was timed. */
#define UNKNOWN_CREATION_NS CLOCK_S

/* A wait ends after this many times what a creation is likely to take, or after what a scheduler
 * may keep a thread from running, if that is longer. */
#define WAIT_FACTOR      4
#define SHORTEST_WAIT_NS (20 * CLOCK_MS)

struct objects {
    _Alignas(128) _Atomic uint64_t epoch; /* read on every creation, written when handles go */
    _Alignas(128) atomic_ullong next_serial;
    _Atomic uint64_t likely_ns[2]; /* what creations take on average: of pipelines, of all else */
    struct object_shard by_key[SHARD_COUNT];
    struct object_shard by_handle[SHARD_COUNT];
    pthread_cond_t settled[SHARD_COUNT]; /* a claim in by_key was published or abandoned; by the
                                          * monotonic clock */
};

__attribute__((cold)) struct objects *objects_new(void)
{
    struct objects *objects = aligned_alloc(_Alignof(struct objects), sizeof *objects);
    if (objects) {
        memset(objects, 0, sizeof *objects);
        atomic_init(&objects->next_serial, 1);
        shards_init(objects->by_key, false);
        shards_init(objects->by_handle, true);
        for (unsigned i = 0; i < SHARD_COUNT; i++) {
            clock_condition_init(&objects->settled[i]);
        }
    }
    return objects;
}

__attribute__((cold)) void objects_delete(struct objects *objects)
{
    if (objects) {
        shards_release(objects->by_key);
        shards_release(objects->by_handle);
        for (unsigned i = 0; i < SHARD_COUNT; i++) {
            pthread_cond_destroy(&objects->settled[i]);
        }
        free(objects);
    }
}

static uint64_t objects_new_serial(struct objects *objects)
{
    return atomic_fetch_add_explicit(&objects->next_serial, 1, memory_order_relaxed);
}

uint64_t object_handle(const struct object *object)
{
    return object->handle;
}

bool object_is_in_device_cache(const struct object *object)
{
    return atomic_load_explicit(&object->in_device_cache, memory_order_relaxed);
}

/* One reference more, unless the last one is just being dropped. */
static bool object_reference(struct object *object)
{
    unsigned references = atomic_load(&object->references);
    while (references > 0 &&
           !atomic_compare_exchange_weak(&object->references, &references, references + 1)) {
    }
    return references > 0;
}

/* The kernel is asked once for each thread. In a forked child this is still the parent's thread, of
 * about the same priority. */
static pid_t objects_thread_id(void)
{
    static _Thread_local pid_t id;
    if (id == 0) {
        id = gettid();
    }
    return id;
}

static _Atomic uint64_t *objects_likely_ns(struct objects *objects, uint32_t type)
{
    return &objects->likely_ns[type != VK_OBJECT_TYPE_PIPELINE];
}

/* Notes how long a creation took, in ticks of the coarse clock: the mean comes out right. What
 * another thread notes at the same time may be lost. */
static void objects_note_duration(struct objects *objects, const struct object *claim)
{
    _Atomic uint64_t *likely = objects_likely_ns(objects, claim->type);
    const uint64_t took_ns = clock_coarse_ns() - claim->claimed_ns + 1;
    const uint64_t old_ns = atomic_load_explicit(likely, memory_order_relaxed);
    const uint64_t new_ns = old_ns == 0 ? took_ns : old_ns - old_ns / 8 + took_ns / 8;
    atomic_store_explicit(likely, new_ns, memory_order_relaxed);
}

/* Under the key shard's lock: waits for a change of it, until `*until_ns` at most, which is set at
 * the first wait of a call. False: the claim is not worth a wait, or the time is over, or a sandbox
 * forbids to ask who would be waited for. */
static __attribute__((cold)) bool
objects_wait_for_claim(struct objects *objects, struct object_shard *shard, struct object *claim,
                       const struct objects_flight *flight, uint64_t *until_ns)
{
    if (!flight->waits || !claim->awaited ||
        (flight->needs_device_cache && !object_is_in_device_cache(claim))) {
        return false;
    }
    if (*until_ns == 0) {
        const uint64_t likely = atomic_load(objects_likely_ns(objects, claim->type));
        const uint64_t wait = WAIT_FACTOR * (likely ? likely : UNKNOWN_CREATION_NS);
        *until_ns = claim->claimed_ns + (wait > SHORTEST_WAIT_NS ? wait : SHORTEST_WAIT_NS);
    }
    if (clock_now_ns() >= *until_ns || sandbox_is_closed() ||
        own_thread_rank(claim->claimant) < own_thread_rank(0)) {
        return false;
    }
    /* Whoever publishes looks for this after it has changed the state. */
    atomic_store(&claim->has_waited, true);
    if (atomic_load(&claim->state) == OBJECT_CLAIMED) {
        const struct timespec until = clock_timespec(*until_ns);
        pthread_cond_timedwait(&objects->settled[shard - objects->by_key], &shard->lock, &until);
    }
    return true;
}

/* Under the key shard's lock: a claim of the key, found by others from now on. */
static __attribute__((cold)) struct object *
objects_new_claim(struct objects *objects, struct object_shard *shard, const struct object_key *key,
                  uint64_t hash, const struct canonical_object *facts,
                  const struct objects_flight *flight)
{
    struct object *claim = object_new(key->type, key->parts, key->part_count,
                                      objects_new_serial(objects), OBJECT_CLAIMED, facts);
    if (!claim) {
        return NULL;
    }
    claim->hash = hash;
    claim->awaited = flight->awaited;
    atomic_init(&claim->in_device_cache, flight->in_device_cache);
    if (flight->awaited) {
        claim->claimed_ns = clock_coarse_ns();
        claim->claimant = objects_thread_id();
    }
    if (!shard_add_key(shard, claim)) {
        free(claim);
        claim = NULL;
    }
    return claim;
}

enum objects_answer objects_claim(struct objects *objects, const struct object_key *key,
                                  const struct canonical_object *facts,
                                  const struct objects_flight *flight, struct object **ret_object)
{
    uint64_t until_ns = 0;
    uint64_t hash = object_hash_of_key(key->digest, key->type);
    struct object_shard *shard = shard_of(objects->by_key, hash);
    enum objects_answer answer = OBJECTS_ALONE;
    pthread_mutex_lock(&shard->lock);
    for (;;) {
        struct object *object = shard_find_key(shard, hash, key->type, key->parts, key->part_count);
        bool claimed = object && atomic_load(&object->state) == OBJECT_CLAIMED;
        if (claimed && objects_wait_for_claim(objects, shard, object, flight, &until_ns)) {
            continue;
        }
        if (claimed) {
            *ret_object = object;
            break;
        }
        if (object && object_reference(object)) {
            *ret_object = object;
            answer = OBJECTS_HIT;
            break;
        }
        if (object) {
            /* Its last reference is being dropped at this moment, by another thread. */
            shard_remove_key(shard, object);
        }
        struct object *claim = objects_new_claim(objects, shard, key, hash, facts, flight);
        if (claim) {
            *ret_object = claim;
            answer = OBJECTS_CREATE;
        }
        break;
    }
    pthread_mutex_unlock(&shard->lock);
    return answer;
}

/* Locks the shard of a handle; *ret_object: what is known by it, or NULL. */
static struct object_shard *objects_lock_handle(struct objects *objects, VkObjectType type,
                                                uint64_t handle, struct object **ret_object)
{
    uint64_t hash = object_hash_of_handle(handle);
    struct object_shard *shard = shard_of(objects->by_handle, hash);
    pthread_mutex_lock(&shard->lock);
    *ret_object = shard_find_handle(shard, hash, type, handle);
    return shard;
}

/* Makes the object findable by its handle; false if that handle is known already: it is counted
 * there. */
static bool objects_enter_handle(struct objects *objects, struct object *object)
{
    struct object *known;
    struct object_shard *shard =
        objects_lock_handle(objects, (VkObjectType)object->type, object->handle, &known);
    if (known) {
        known->driver_references++;
        atomic_fetch_add(&known->references, 1);
    } else {
        shard_add_handle(shard, object);
    }
    pthread_mutex_unlock(&shard->lock);
    return !known;
}

__attribute__((cold)) void objects_abandon(struct objects *objects, struct object *claim)
{
    struct object_shard *shard = shard_of(objects->by_key, claim->hash);
    pthread_mutex_lock(&shard->lock);
    shard_remove_key(shard, claim);
    pthread_cond_broadcast(&objects->settled[shard - objects->by_key]);
    pthread_mutex_unlock(&shard->lock);
    free(claim);
}

/* The lock is only taken for those who wait. */
static void objects_share_claim(struct objects *objects, struct object *claim, bool in_device_cache)
{
    atomic_store_explicit(&claim->in_device_cache, in_device_cache, memory_order_relaxed);
    atomic_store(&claim->state, OBJECT_SHARED);
    if (atomic_load(&claim->has_waited)) {
        struct object_shard *shard = shard_of(objects->by_key, claim->hash);
        pthread_mutex_lock(&shard->lock);
        pthread_cond_broadcast(&objects->settled[shard - objects->by_key]);
        pthread_mutex_unlock(&shard->lock);
    }
}

__attribute__((cold)) void objects_publish(struct objects *objects, struct object *claim,
                                           uint64_t handle, struct digest name,
                                           bool in_device_cache)
{
    if (claim->awaited) {
        objects_note_duration(objects, claim);
    }
    claim->handle = handle;
    claim->name = name;
    if (objects_enter_handle(objects, claim)) {
        objects_share_claim(objects, claim, in_device_cache);
    } else {
        objects_abandon(objects, claim);
    }
}

__attribute__((cold)) void objects_adopt(struct objects *objects, VkObjectType type,
                                         uint64_t handle, const struct canonical_object *facts,
                                         const struct iovec parts[2])
{
    const bool has_use = facts && type == VK_OBJECT_TYPE_RENDER_PASS;
    const struct iovec use = {has_use ? (void *)(uintptr_t)&facts->use : NULL, sizeof facts->use};
    struct object *object =
        object_new(type, parts ? parts : &use, parts ? 2 : has_use, objects_new_serial(objects),
                   facts ? OBJECT_UNSHARED : OBJECT_UNKNOWN, facts);
    if (object) {
        object->handle = handle;
        if (!objects_enter_handle(objects, object)) {
            free(object);
        }
    }
}

__attribute__((cold)) bool objects_borrow_module(struct objects *objects, uint64_t handle,
                                                 struct objects_module *ret_module)
{
    struct object *object;
    struct object_shard *shard =
        objects_lock_handle(objects, VK_OBJECT_TYPE_SHADER_MODULE, handle, &object);
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
    struct object *object;
    struct object_shard *shard = objects_lock_handle(objects, type, handle, &object);
    if (object) {
        atomic_fetch_add(&object->references, 1);
    }
    pthread_mutex_unlock(&shard->lock);
}

bool objects_release(struct objects *objects, VkObjectType type, uint64_t handle)
{
    struct object *object;
    struct object_shard *shard = objects_lock_handle(objects, type, handle, &object);
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
            struct object_shard *keys = shard_of(objects->by_key, object->hash);
            pthread_mutex_lock(&keys->lock);
            shard_remove_key(keys, object);
            pthread_mutex_unlock(&keys->lock);
        }
        free(object);
    }
    return call_down;
}

bool objects_resolve(struct objects *objects, VkObjectType type, uint64_t handle,
                     struct canonical_object *ret_facts)
{
    struct object *object;
    struct object_shard *shard = objects_lock_handle(objects, type, handle, &object);
    bool known = object && atomic_load(&object->state) != OBJECT_UNKNOWN;
    if (known) {
        ret_facts->content = object->content;
        ret_facts->name = object->name;
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
