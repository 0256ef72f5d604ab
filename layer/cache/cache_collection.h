// SPDX-License-Identifier: Apache-2.0
/* The collection: what the program has compiled into its own, passed-on caches, merged into one
 * driver cache of ours for our saves.
 *
 * States of a passed cache:
 *
 *     1 LIVING   the program uses it
 *     2 PINNED   a save will read it: its driver object is not destroyed
 *     3 READING  a save is reading it: a merge into it waits for the end of this read
 *     4 MERGING  the program is merging into it: no read begins
 *     5 QUEUED   destroyed by the program, but not by the driver: we read and then destroy it
 *
 *     arrow                              function
 *     ──▶ 1 LIVING                       cache_collection_add
 *     1 LIVING ──▶ 2 PINNED              cache_collection_pin: caches that our threads may read; at
 *                                        the end of the device also externally synchronized ones
 *     2 PINNED ──▶ 3 READING ──▶ 2, 1    cache_collection_read_pinned
 *     2 PINNED ──not now──▶ 1            cache_collection_read_pinned, of one that is merged into
 *     2, 3 ──destroyed──▶ read, gone     cache_collection_remove, cache_collection_read_pinned
 *     1, 2, 3 ──merged into──▶ 4         cache_collection_begin_merge
 *     4 MERGING ──▶ 1, 2                 cache_collection_end_merge
 *     1 LIVING ──merged from──▶ 1        cache_collection_copy: its data is queued
 *     1 LIVING ──not to be read──▶ 1     cache_collection_claim: never pinned again
 *     1 LIVING ──destroyed──▶ 5 QUEUED   cache_collection_remove
 *     5 QUEUED ──▶ read, gone            cache_collection_collect, cache_collection_pin
 *
 * Bounds: a collection of COLLECTION_BYTES_MAX takes nothing more until a save is about to write
 * it, and the queue holds COLLECTION_QUEUE_MAX caches. What does not fit is lost, and is compiled
 * into the device cache in a later run.
 *
 * The program's threads wait for the driver only in cache_collection_copy, which is bounded, and in
 * cache_collection_claim and _begin_merge, for one read, however long if nothing was merged into
 * that cache before. No lock that they take is held across a call down.
 *
 * collection_reads.c has the reads. */
#ifndef WARMPIPE_LAYER_CACHE_CACHE_COLLECTION_H
#define WARMPIPE_LAYER_CACHE_CACHE_COLLECTION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "layer/cache/driver_cache.h"
#include "layer/trace/stats.h"

#define COLLECTION_QUEUE_MAX  64
#define COLLECTION_BYTES_MAX  ((size_t)256 << 10)
#define COLLECTION_BYTES_KEPT ((size_t)64 << 10) /* a collection so small stays after a save */

/* One of the program's caches. */
struct passed_cache {
    struct passed_cache *next, **place; /* the list, and the pointer to this item in it */
    VkPipelineCache handle;
    atomic_bool unread;           /* it may hold what no save has taken */
    atomic_bool deferred;         /* a deferred operation has named it: it never counts as read */
    atomic_bool merged_from;      /* what it held may be in another cache */
    bool externally_synchronized; /* may be used only inside the program's own calls on it */
    bool counted;                 /* as harvested, by the thread that reads or queues it */
    bool destination; /* the program has merged into it; this and the rest under `lock` */
    bool merging;     /* it is merging now */
    bool claimed;     /* not to be read while it lives */
    bool pinned;
    pid_t reader; /* process of the reading thread: another one in a forked child; 0: none */
    bool gone;    /* the program has destroyed it while it was pinned */
};

struct cache_collection {
    const struct driver_caches *driver;
    struct stats *stats;
    bool enabled;           /* collected data can be merged and saved */
    atomic_bool is_used;    /* the program has had a passed cache */
    atomic_bool is_due;     /* the queue has something for the worker */
    atomic_bool has_lost;   /* a cache holds what no save of this process has, or will have */
    atomic_bool has_hidden; /* likewise what no look could read yet; also set during a look */
    atomic_bool finishing;  /* the device is being destroyed: no thread of the program uses it */
    _Atomic uint64_t merges_begun; /* merges by the program, into any cache */
    _Atomic uint64_t merges_ended;
    pthread_mutex_t lock;       /* over the list and the queue; never held across a call down */
    pthread_cond_t read_done;   /* a reader has finished */
    struct passed_cache *first; /* of the list */
    uint32_t queued;
    VkPipelineCache queue[COLLECTION_QUEUE_MAX];
    _Atomic uint64_t copy_ns;   /* duration of the last copy; 0: there was none */
    _Atomic uint64_t copies_ns; /* duration of all copies */

    pthread_mutex_t collect_lock; /* over all below; never taken by a program's command */
    VkPipelineCache cache;        /* VK_NULL_HANDLE: nothing is collected */
    size_t bytes;                 /* of the data merged into it: at least what it holds */
    bool grown;                   /* since the last look */
    bool has_unread;              /* the last look could not read everything */
    bool has_put_off;             /* likewise, but a look in a few seconds can */
    size_t quick_size;            /* the largest read that took almost no time; 0: none */
    unsigned tried_reads;         /* reads made to learn what is quick */
    size_t slow_size;             /* the size of a target that took too long, ... */
    uint64_t slow_until_ns;       /* ... and none as large is read before this time */
    unsigned followed;            /* looks made only because a read was put off */
};

/* `driver` and `stats` are borrowed. enabled false: nothing is ever collected. */
void cache_collection_init(struct cache_collection *collection, const struct driver_caches *driver,
                           struct stats *stats, bool enabled);

/* Destroys the remaining driver objects, at the end of the device, after the last save, or while
 * the worker is at the disk, where it pins nothing. */
void cache_collection_finish(struct cache_collection *collection);

/* Frees the memory; makes no call down. */
void cache_collection_release(struct cache_collection *collection);

/* The program has made a passed cache, without an allocator. NULL: it is not collected, or memory
 * is out. All functions below accept NULL. */
struct passed_cache *cache_collection_add(struct cache_collection *collection,
                                          VkPipelineCache handle, bool externally_synchronized);

/* Something may have been compiled into it. _deferred: from now on at any time. */
void passed_cache_compiled(struct passed_cache *cache);
void passed_cache_deferred(struct passed_cache *cache);

/* Whether our threads may read it while the program uses it. */
bool passed_cache_is_readable(const struct passed_cache *cache);
bool passed_cache_is_unread(const struct passed_cache *cache);

/* Brackets a merge by the program into this cache, from before its sources are copied; NULL: into
 * one that is not collected, which must be counted all the same. Waits for a read of the cache that
 * is under way, because nobody else may use the destination of a merge
 * (VUID-vkMergePipelineCaches-dstCache-10202). After the first merge into a cache, a read of it
 * is begun only if earlier reads promise less than 4 ms. */
void cache_collection_begin_merge(struct cache_collection *collection, struct passed_cache *cache);
void cache_collection_end_merge(struct cache_collection *collection, struct passed_cache *cache);

/* From now on our threads read it only after the program has destroyed it. Waits for a read that is
 * under way. */
void cache_collection_claim(struct cache_collection *collection, struct passed_cache *cache);

/* The program is about to merge from this cache, perhaps into one that our threads do not read.
 * Queues a copy of what no save has, because some drivers move the entries, even from a reader.
 * Calls down, on the program's thread, as long as that takes less than a fiftieth of the time that
 * the program spends in creations. read_ns: how long the driver takes for a read; 0: not known, so
 * nothing is read. True: is_due is set, wake the worker. */
bool cache_collection_copy(struct cache_collection *collection, struct passed_cache *cache,
                           uint64_t read_ns);

/* The program destroys the cache, and the entry is gone. True: we own its driver object now; if
 * is_due is set, wake the worker. may_queue false: it must not be queued. */
bool cache_collection_remove(struct cache_collection *collection, struct passed_cache *cache,
                             bool may_queue);

/* Called by the thread that reads or queues the cache: counts it as harvested. */
void cache_collection_count(struct cache_collection *collection, struct passed_cache *cache);

/* Whether the queue has something. */
bool cache_collection_has_queued(struct cache_collection *collection);

/* On the worker: empties the queue as far as the collection has room, because queued caches take
 * memory. Calls down. */
void cache_collection_collect(struct cache_collection *collection);

/* For a save: returns everything that was passed on, in one cache that stays until it is unpinned;
 * VK_NULL_HANDLE: there is nothing, and nothing to unpin. *ret_rest: what is missing. _unpin:
 * whether the save has taken it. Calls down. */
enum collection_rest {
    REST_NONE,
    REST_NEXT,  /* a merge came in between, or a read is put off: the next look has it */
    REST_HIDDEN /* something cannot be read now */
};
VkPipelineCache cache_collection_pin(struct cache_collection *collection,
                                     enum collection_rest *ret_rest);
void cache_collection_unpin(struct cache_collection *collection, bool is_taken);

/* What was pinned last is on disk. True: the collection was dropped, because it was large and has
 * not grown since; the next save must then merge the file, even if nobody else has changed it.
 * Calls down. */
bool cache_collection_saved(struct cache_collection *collection);

#endif
