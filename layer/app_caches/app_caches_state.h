// SPDX-License-Identifier: Apache-2.0
/* What the files of app_caches.h share: app_caches.c (the state of a cache), app_caches_choice.c
 * (creations) and app_caches_data.c (reading back, merging). No other file includes this. */
#ifndef WARMPIPE_LAYER_APP_CACHES_APP_CACHES_STATE_H
#define WARMPIPE_LAYER_APP_CACHES_APP_CACHES_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "layer/app_caches/app_cache_history.h"
#include "layer/app_caches/app_caches.h"
#include "layer/app_caches/seen_pipelines.h"
#include "layer/cache/cache_snapshots.h"
#include "layer/cache/device_cache.h"
#include "layer/chain/handle_map.h"

/* A served cache that is read back is answered from a snapshot of the device cache, held in memory,
 * so that size and data are of one moment. States of one served cache:
 *
 *     1 NO ANSWER   nothing was asked, or all was answered
 *     2 PINNED      its size was answered from a snapshot, which is kept for the data while the
 *                   budget has room (cache_snapshots.h)
 *
 *     arrow                            function
 *     1, 2 ──size query──▶ 2           app_caches_get_served_data, cache_snapshots_get
 *     2 ──data query──▶ 1              app_caches_get_served_data, app_cache_snapshot_for_data:
 *                                      from the pinned snapshot, or from a newer one that fits
 *     any ──merged into──▶ PASSED      app_caches_merge; see app_caches.h
 *
 * Thread-safe. No lock is held across a call down the chain. */

enum app_cache_state { APP_CACHE_ALONE, APP_CACHE_PASSED, APP_CACHE_SERVED };

/* Kept small, because there may be thousands. */
struct app_cache {
    struct app_caches *caches;
    VkPipelineCache handle;
    VkAllocationCallbacks *allocator; /* a copy, after the struct, of the allocator that it was made
                                         with; NULL: none */
    _Atomic size_t reserved;          /* bytes of the budget, for reading it back */
    struct cache_snapshot *pinned;    /* the snapshot that answered a size query; under `lock` */
    _Atomic uint64_t merged;    /* half of the digest of the copy of the device cache that was last
                                   merged into it, and is there; 0: none */
    _Atomic uint64_t needed;    /* a snapshot with this change holds all that is in its name */
    struct seen_pipelines seen; /* created in its name */
    struct passed_cache *_Atomic passed; /* in the collection; NULL: it is not collected */
    _Atomic uint8_t state;               /* enum app_cache_state */
    bool made_empty;                     /* by the program */
    bool answers_empty;                  /* served, and answered as the empty cache that it is */
    atomic_bool used;      /* a creation has named it, or another cache was merged into it */
    atomic_bool own;       /* its driver object may hold something */
    atomic_bool of_blob;   /* its driver object may hold what was loaded from disk */
    atomic_bool deferred;  /* a deferred operation has named it: see needed */
    atomic_bool read_back; /* counted */
};

struct app_caches {
    struct device_cache *device_cache;
    const struct driver_caches *driver;  /* access to the caches of its device */
    struct cache_collection *collection; /* of the device cache */
    enum app_cache_mode mode;
    struct stats *stats;
    struct app_cache_history *history; /* NULL: nothing is learnt */
    _Atomic size_t device_cache_size;  /* when it was last read; 0: never */
    atomic_uint seeds;
    atomic_uint first;      /* cache of the program's: FIRST_GUARDED, FIRST_OTHER; 0: none yet */
    atomic_bool loads_data; /* the program has made a cache with data */
    atomic_bool is_logged;  /* the log says that the program gets more than it made */

    pthread_mutex_t lock; /* over changes of by_handle, and as said above; not across a call down */
    struct handle_map by_handle;       /* VkPipelineCache → struct app_cache */
    struct cache_snapshots *snapshots; /* of the device cache */
};

static inline bool app_cache_is(const struct app_cache *cache, enum app_cache_state state)
{
    return atomic_load_explicit(&cache->state, memory_order_acquire) == (uint8_t)state;
}

/* The guard's state in calls on this cache (NULL: none of ours). */
static inline enum crash_state app_cache_state_of_call(const struct app_cache *cache)
{
    return cache && atomic_load_explicit(&cache->of_blob, memory_order_relaxed) ? CRASH_INSIDE
                                                                                : CRASH_OUTSIDE;
}

/* The device cache holds, since before now, something in the name of this cache. */
void app_cache_needs_all_until_now(struct app_cache *cache);

/* Its driver object may hold something new. */
void app_cache_compiled(struct app_cache *cache);

/* The program's caches of its first run hold something that nobody can read: it is compiled ahead
 * in the next run, in which they are served. */
void app_caches_note_lost(struct app_caches *caches);

/* From now on the cache is passed on: what is compiled into it is collected for our saves, if it
 * was made without an allocator. externally_synchronized: it may be used only inside the program's
 * own calls on it. */
void app_cache_pass(struct app_cache *cache, bool externally_synchronized);

#endif
