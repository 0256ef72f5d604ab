#include "served_cache.h"

#define UNDER_WAY_ONE  UINT64_C(1)
#define UNDER_WAY_MASK ((UINT64_C(1) << 24) - 1)
#define BEGUN_ONE      (UINT64_C(1) << 24)
#define PASSED         (UINT64_C(1) << 63)

#define NEVER UINT64_MAX

/* How often a cache that is to be passed is filled again because creations came in between. */
#define PASS_ATTEMPTS 4

static uint64_t begun(uint64_t word)
{
    return (word & ~PASSED) >> 24;
}

static bool any_under_way(uint64_t word)
{
    return (word & UNDER_WAY_MASK) != 0;
}

void served_cache_init(struct served_cache *cache, bool passed)
{
    __atomic_store_n(&cache->word, passed ? PASSED : 0, __ATOMIC_SEQ_CST);
    cache->filled_begun = NEVER;
    cache->filled = false;
}

bool served_cache_is_filled(const struct served_cache *cache)
{
    return cache->filled;
}

bool served_cache_begin(struct served_cache *cache)
{
    if (served_cache_is_passed(cache)) {
        return false;
    }
    if (__atomic_fetch_add(&cache->word, BEGUN_ONE | UNDER_WAY_ONE, __ATOMIC_SEQ_CST) & PASSED) {
        served_cache_end(cache);
        return false;
    }
    return true;
}

void served_cache_end(struct served_cache *cache)
{
    __atomic_fetch_sub(&cache->word, UNDER_WAY_ONE, __ATOMIC_SEQ_CST);
}

bool served_cache_is_passed(const struct served_cache *cache)
{
    return (__atomic_load_n(&cache->word, __ATOMIC_ACQUIRE) & PASSED) != 0;
}

void served_cache_fill(struct served_cache *cache, const struct driver_caches *caches,
                       VkPipelineCache handle, VkPipelineCache hot)
{
    uint64_t word = __atomic_load_n(&cache->word, __ATOMIC_SEQ_CST);
    cache->filled = true;
    if (cache->filled_begun == begun(word) || hot == VK_NULL_HANDLE) {
        return; /* without a hot cache nothing has been created yet: empty is what it is */
    }
    VkPipelineCache copy = driver_cache_copy(caches, hot);
    if (copy == VK_NULL_HANDLE) {
        return;
    }
    driver_cache_merge(caches, handle, 1, &copy);
    driver_cache_destroy(caches, copy);
    /* What was under way may have reached the hot cache too late for this merge. */
    cache->filled_begun = any_under_way(word) ? NEVER : begun(word);
}

void served_cache_pass(struct served_cache *cache, const struct driver_caches *caches,
                       VkPipelineCache handle, VkPipelineCache hot)
{
    for (int attempt = 0; attempt < PASS_ATTEMPTS; ++attempt) {
        uint64_t word = __atomic_load_n(&cache->word, __ATOMIC_SEQ_CST);
        if (any_under_way(word)) {
            return;
        }
        served_cache_fill(cache, caches, handle, hot);
        if (__atomic_compare_exchange_n(&cache->word, &word, word | PASSED, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST)) {
            return;
        }
    }
}

void served_cache_pass_now(struct served_cache *cache, const struct driver_caches *caches,
                           VkPipelineCache handle, VkPipelineCache hot)
{
    served_cache_fill(cache, caches, handle, hot);
    __atomic_fetch_or(&cache->word, PASSED, __ATOMIC_SEQ_CST);
}
