// SPDX-License-Identifier: Apache-2.0
/* What the files of app_caches.h share: app_caches.c (what becomes of a cache, creations),
 * app_caches_data.c (reading back, merging) and app_cache_history.c (what is learnt of the
 * program). Nobody else includes this, but their tests. */
#ifndef WARMPIPE_LAYER_CACHE_APP_CACHES_STATE_H
#define WARMPIPE_LAYER_CACHE_APP_CACHES_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "common/base/digest.h"
#include "layer/cache/app_caches.h"
#include "layer/cache/device_cache.h"
#include "layer/chain/handle_map.h"

/* What earlier runs have shown of a program's own pipeline caches (program.json), and what this run
 * shows. What counts is whether the program *keeps* them: whether a later process creates a cache
 * with what an earlier one has read back. Many programs read back and never do (Dawn, libplacebo).
 *
 *     habit          what becomes of a cache that is made empty (app_caches.c)
 *     1 UNKNOWN      passed on and collected
 *     2 NOT_READ     served
 *     3 READ_BACK    served; passed on and collected where its answer would exceed the budget
 *     4 SETTLED      the same, but beyond the budget served, and answered as the empty cache it is
 *     5 KEEPS        passed on, and seeded where the program makes few; served where it makes many
 *                    and reads few of them back
 *
 *     arrow                              function
 *     1 ──first run recorded──▶ 2        app_cache_history_made, then a write
 *     1, 2 ──read──▶ 3                   app_cache_history_read, app_cache_history_answered
 *     3 ──read in 3 runs, 2 days──▶ 4    app_cache_history_read, once a run; a write counts it
 *     any ──loaded──▶ 5, for good        app_cache_history_loads
 *
 * One history serves all devices of a process that belong to one program folder: what this process
 * has read back and loads again shows nothing. The worker writes it as soon as it would change how
 * a later run is treated; it is also written at the end of every device and of the process. Nothing
 * is read before the first question. Thread-safe; no lock that a question takes is held during a
 * write. */

struct app_cache_history;

enum app_cache_habit {
    APP_CACHE_UNKNOWN,
    APP_CACHE_NOT_READ,
    APP_CACHE_READ_BACK,
    APP_CACHE_SETTLED,
    APP_CACHE_KEEPS
};

/* The history of the program's folder `app`, made by the first call and never freed, since it is
 * written at the end of the process. Copies what it is given. NULL: nothing is kept of this
 * program, or memory is out. */
struct app_cache_history *app_cache_history_of(const struct config *config, const char *app);

struct app_cache_habits {
    enum app_cache_habit habit;
    bool rarely_reads; /* it makes many caches and reads almost none back: last run and this one */
    bool makes_few;    /* no more than a few caches in the last run */
};

/* What is known now, this run included. NULL, which all functions accept: UNKNOWN. */
struct app_cache_habits app_cache_history_habits(struct app_cache_history *history);

/* The program has made an empty cache. */
void app_cache_history_made(struct app_cache_history *history);

/* It has read one of these back, the first time for that cache. */
void app_cache_history_read(struct app_cache_history *history);

/* It was given data with this digest, of whichever cache. empty: they hold no pipeline. */
void app_cache_history_answered(struct app_cache_history *history, struct digest digest,
                                bool empty);

/* It creates a cache with these data. True: they are an answer without a pipeline, given by an
 * earlier process. */
bool app_cache_history_loads(struct app_cache_history *history, const void *data, size_t size);

/* At the end of a device: whether there is something new, and writing it; that waits 100 ms at most
 * for others. */
bool app_cache_history_is_due(struct app_cache_history *history);
void app_cache_history_write(struct app_cache_history *history);

/* A served cache that is read back is answered from a snapshot of the device cache, held in memory,
 * so that the size and the data are those of one moment. Of one served cache:
 *
 *     1 NO ANSWER   nothing was asked, or all was answered
 *     2 PINNED      its size was answered from a snapshot, which is kept for the data
 *
 *     arrow                            function
 *     1, 2 ──size query──▶ 2           app_caches_get_served_data, cache_snapshots_get
 *     2 ──data query──▶ 1              app_caches_get_served_data, app_cache_snapshot_for_data:
 *                                      from the pinned snapshot, or from a newer one that fits
 *     any ──merged into──▶ PASSED      app_caches_merge; see app_caches.h
 *
 * Thread-safe. No lock is held across a call down the chain. */

enum app_cache_state { APP_CACHE_ALONE, APP_CACHE_PASSED, APP_CACHE_SERVED };

struct seen_pipelines {
    pthread_mutex_t lock;
    struct digest_set set; /* halves of content digests */
};

/* There may be thousands of these: small. */
struct app_cache {
    struct app_caches *caches;
    VkPipelineCache handle;
    VkAllocationCallbacks *allocator; /* a copy of what it was made with; NULL: nothing */
    size_t reserved;                  /* bytes of the budget, for reading it back */
    struct cache_snapshot *pinned;    /* what a size query was answered from; under `lock` */
    _Atomic uint64_t needed;     /* a snapshot with this change in it holds what is in its name */
    _Atomic uint64_t first_seen; /* the first pipeline created in its name; 0: none */
    struct seen_pipelines *_Atomic further; /* and all others; NULL: none */
    struct passed_cache *_Atomic passed;    /* in the collection; NULL: it is not collected */
    _Atomic uint8_t state;                  /* enum app_cache_state */
    bool made_empty;                        /* by the program */
    bool answers_empty;    /* served, and read back as the empty cache that it is */
    atomic_bool used;      /* a creation has named it, or another cache was merged into it */
    atomic_bool own;       /* its driver object may hold something */
    atomic_bool of_blob;   /* its driver object may hold what was loaded from disk */
    atomic_bool deferred;  /* a deferred operation has named it: see needed */
    atomic_bool read_back; /* counted */
};

struct app_caches {
    VkDevice device;
    const device_table *table;
    struct device_cache *device_cache;
    enum app_cache_mode mode;
    struct stats *stats;
    struct app_cache_history *history; /* NULL: nothing is learnt */
    size_t device_cache_size;          /* when it was last read, 0: never; under `lock` */
    atomic_uint seeds;
    atomic_bool loads_data; /* the program has made a cache with data */
    atomic_bool is_logged;  /* that the program gets more than it made */

    pthread_mutex_t
        lock; /* over changes of by_handle, and as said above; never across a call down */
    struct handle_map by_handle;       /* VkPipelineCache → struct app_cache */
    struct cache_snapshots *snapshots; /* of the device cache */
};

static inline bool app_cache_is(const struct app_cache *cache, enum app_cache_state state)
{
    return atomic_load_explicit(&cache->state, memory_order_acquire) == (uint8_t)state;
}

/* For the guard, in calls on this cache (NULL: none of ours). */
static inline enum crash_state app_cache_state_of_call(const struct app_cache *cache)
{
    return cache && atomic_load_explicit(&cache->of_blob, memory_order_relaxed) ? CRASH_INSIDE
                                                                                : CRASH_OUTSIDE;
}

/* Something in the device cache, put there before now, is in the name of this cache. */
void app_cache_needs_all_until_now(struct app_cache *cache);

/* Something may have come into its driver object. */
void app_cache_compiled(struct app_cache *cache);

/* It is passed on from now on: what is compiled into it is collected for our saves, as far as it
 * was made without an allocator. externally_synchronized: it may be touched in the program's own
 * calls on it only. */
void app_cache_pass(struct app_cache *cache, bool externally_synchronized);

#endif
