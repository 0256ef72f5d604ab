// SPDX-License-Identifier: Apache-2.0
#include "tools/warm/warm_shared.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "common/blobs/store.h"

struct driver_identity warm_basic_identity(const struct driver_identity *identity)
{
    struct driver_identity basic = *identity;
    basic.driver_id = 0;
    memset(basic.conformance, 0, sizeof basic.conformance);
    memset(basic.driver_name, 0, sizeof basic.driver_name);
    memset(basic.driver_info, 0, sizeof basic.driver_info);
    return basic;
}

bool warm_target_has(const struct warm_target *target, const struct environment *environment)
{
    const struct driver_identity basic = warm_basic_identity(&target->identity);
    const bool is_basic = digest_equal(identity_digest(&basic), target->digest);
    return environment_device_of(environment).has_properties2 == !is_basic;
}

size_t warm_target_count(const struct warm_target *target)
{
    const struct warm_recipes *recipes = target->recipes;
    size_t count = 0;
    for (size_t i = 0; i < recipes->item_count; i++) {
        count += warm_target_has(target, recipes->environments[recipes->items[i].environment]);
    }
    return count;
}

struct store *warm_target_store(const struct warm_target *target, bool read_only)
{
    const struct store_options options = {
        .root = target->root,
        .app = target->app,
        .max_blob = target->max_blob,
        .read_only = read_only,
    };
    return store_open(&options, &target->identity);
}

struct warm_shared *warm_shared_new(size_t item_count)
{
    const size_t size = sizeof(struct warm_shared) + item_count * sizeof(struct warm_item_state);
    struct warm_shared *shared =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        return NULL;
    }
    shared->size = size;
    shared->item_count = item_count;
    warm_shared_reset(shared);
    return shared;
}

void warm_shared_delete(struct warm_shared *shared)
{
    if (shared) {
        munmap(shared, shared->size);
    }
}

void warm_shared_reset(struct warm_shared *shared)
{
    warm_shared_restart(shared);
    atomic_store(&shared->lacks.count, 0);
    shared->save_reason = STATUS_ok;
    shared->saved_bytes = 0;
    for (size_t i = 0; i < shared->item_count; i++) {
        atomic_store(&shared->items[i].outcome, WARM_PENDING);
        atomic_store(&shared->items[i].lacks, 0);
    }
}

void warm_shared_restart(struct warm_shared *shared)
{
    for (int i = 0; i < WARM_MAX_JOBS; i++) {
        atomic_store(&shared->slots[i].item, 0);
    }
    shared->end = WARM_END_NONE;
    shared->failure[0] = '\0';
}

uint32_t warm_lacks_bit(struct warm_lacks *lacks, const char *name)
{
    const uint32_t count = atomic_load(&lacks->count);
    for (uint32_t i = 0; i < count; i++) {
        if (strncmp(lacks->names[i], name, WARM_LACK_SIZE - 1) == 0) {
            return 1u << i;
        }
    }
    if (count == WARM_MAX_LACKS) {
        return 0;
    }
    /* The name first: a process may die in between. */
    snprintf(lacks->names[count], WARM_LACK_SIZE, "%s", name);
    atomic_store(&lacks->count, count + 1);
    return 1u << count;
}

struct warm_counts warm_shared_count(const struct warm_shared *shared)
{
    struct warm_counts counts = {0};
    for (size_t i = 0; i < shared->item_count; i++) {
        const uint32_t lacks = atomic_load_explicit(&shared->items[i].lacks, memory_order_relaxed);
        counts.of[atomic_load_explicit(&shared->items[i].outcome, memory_order_relaxed)]++;
        for (uint32_t name = 0; name < WARM_MAX_LACKS && lacks >> name != 0; name++) {
            counts.lacking[name] += lacks >> name & 1;
        }
    }
    return counts;
}
