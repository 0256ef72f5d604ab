// SPDX-License-Identifier: Apache-2.0
/* The collection: what the program compiled into caches of its own that are passed on, gathered for
 * our saves in one driver cache of ours. A passed cache is in one of these states:
 *
 *     1 LIVING   the program uses it
 *     2 PINNED   a save will read it: its driver object is not destroyed
 *     3 READING  a save is reading it: a merge into it waits for the end of this read
 *     4 MERGING  the program is merging into it: no read begins
 *     5 QUEUED   destroyed by the program and not by the driver: read and then destroyed by us
 *
 *     arrow                              function
 *     ──▶ 1 LIVING                       cache_collection_add
 *     1 LIVING ──▶ 2 PINNED              cache_collection_pin, what a thread of ours may read; at
 *                                        the end of the device what is the program's to guard, too
 *     2 PINNED ──▶ 3 READING ──▶ 2, 1    cache_collection_read_pinned
 *     2 PINNED ──not now──▶ 1            cache_collection_read_pinned, of one that is merged into
 *     2, 3 ──destroyed──▶ read, gone     cache_collection_remove, cache_collection_read_pinned
 *     1, 2, 3 ──merged into──▶ 4         cache_collection_begin_merge
 *     4 MERGING ──▶ 1, 2                 cache_collection_end_merge
 *     1 LIVING ──merged from──▶ 1        cache_collection_copy: its data are queued
 *     1 LIVING ──not to be read──▶ 1     cache_collection_claim: never pinned again
 *     1 LIVING ──destroyed──▶ 5 QUEUED   cache_collection_remove
 *     5 QUEUED ──▶ read, gone            cache_collection_collect, cache_collection_pin
 *
 * Bounded: a collection of COLLECTION_BYTES_MAX takes nothing more until a save is about to write
 * it, and the queue holds COLLECTION_QUEUE_MAX caches. What does not fit is lost, and is compiled
 * into the device cache in a later run.
 *
 * Functions of the program's threads never wait for the driver, but for cache_collection_copy,
 * which is bounded, and for cache_collection_claim and _begin_merge: for one read, of whatever
 * length where nothing was merged into that cache before. No lock that they take is held across a
 * call down.
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

/* One cache of the program's. */
struct passed_cache {
    struct passed_cache *next, **place; /* in the list, with where it is linked from */
    VkPipelineCache handle;
    atomic_bool unread;           /* it may hold what no save has */
    atomic_bool deferred;         /* a deferred operation has named it: never known to be read */
    atomic_bool merged_from;      /* what it held may be in another cache */
    bool externally_synchronized; /* may be touched in the program's own calls on it only */
    bool counted;                 /* as harvested; by whoever reads or queues it */
    bool destination;             /* these under `lock`: the program has merged into it */
    bool merging;                 /* it does so now */
    bool claimed;                 /* not to be read as long as it lives */
    bool pinned;
    pid_t reader; /* the process whose thread reads it: not this one in a forked child; 0: none */
    bool gone;    /* the program has destroyed it while it was pinned */
};

struct cache_collection {
    const struct driver_caches *driver;
    struct stats *stats;
    bool enabled;           /* what is collected can be merged and saved */
    atomic_bool is_used;    /* the program has passed a cache, once */
    atomic_bool is_due;     /* there is something in the queue for the worker */
    atomic_bool has_lost;   /* a cache holds what no save of this process has, or will have */
    atomic_bool has_hidden; /* likewise what no look could read yet, or a look is under way */
    atomic_bool finishing;  /* the device goes: no thread of the program uses it */
    _Atomic uint64_t merges_begun; /* the program's, into whatever cache */
    _Atomic uint64_t merges_ended;
    pthread_mutex_t lock;       /* over the list and the queue; never held across a call down */
    pthread_cond_t read_done;   /* a `reader` has done */
    struct passed_cache *first; /* of the list */
    uint32_t queued;
    VkPipelineCache queue[COLLECTION_QUEUE_MAX];
    _Atomic uint64_t copy_ns;   /* what the last copy took; 0: there was none */
    _Atomic uint64_t copies_ns; /* what all of these have cost */

    pthread_mutex_t collect_lock; /* over all below; never taken by a program's command */
    VkPipelineCache cache;        /* VK_NULL_HANDLE: nothing is collected */
    size_t bytes;                 /* of the data that went into it: no less than it holds */
    bool grown;                   /* since a look has last taken it */
    bool has_unread;              /* the last look could not read everything */
    bool has_put_off;             /* likewise, but a look in a few seconds can */
    size_t quick_size;            /* the largest read that took hardly any time; 0: none */
    unsigned tried_reads;         /* to know what is quick */
    size_t slow_size;             /* a target so large took too long, ... */
    uint64_t slow_until_ns;       /* ... and none as large is read before this time */
    unsigned followed;            /* looks that came by themselves, since a read was put off */
};

/* `driver` and `stats` are borrowed. enabled false: nothing is ever collected. */
void cache_collection_init(struct cache_collection *collection, const struct driver_caches *driver,
                           struct stats *stats, bool enabled);

/* Destroys the driver objects that are left; at the end of the device, after the last save, or
 * beside a worker that is at the disk: it pins nothing there. */
void cache_collection_finish(struct cache_collection *collection);

/* Frees the memory; calls nothing down. */
void cache_collection_release(struct cache_collection *collection);

/* The program has a passed cache, made without an allocator. NULL: it is not collected, or memory
 * is out; all functions below accept NULL. */
struct passed_cache *cache_collection_add(struct cache_collection *collection,
                                          VkPipelineCache handle, bool externally_synchronized);

/* Something may have been compiled into it; deferred: from now on at any time. */
void passed_cache_compiled(struct passed_cache *cache);
void passed_cache_deferred(struct passed_cache *cache);

/* Whether a thread of ours may read it beside the program. */
bool passed_cache_is_readable(const struct passed_cache *cache);
bool passed_cache_is_unread(const struct passed_cache *cache);

/* Brackets a merge of the program's into it, from before its sources are copied; NULL: into one
 * that is not collected, which is to be known all the same. Waits for a read of it that is under
 * way, since nobody else may use the destination of a merge
 * (VUID-vkMergePipelineCaches-dstCache-10202). Of a cache that was merged into once, reads are
 * begun only where earlier ones promise that they take less than 4 ms. */
void cache_collection_begin_merge(struct cache_collection *collection, struct passed_cache *cache);
void cache_collection_end_merge(struct cache_collection *collection, struct passed_cache *cache);

/* From now on no thread of ours reads it before the program has destroyed it; waits for a read that
 * is under way. */
void cache_collection_claim(struct cache_collection *collection, struct passed_cache *cache);

/* The program is about to merge from it, perhaps into a cache that no thread of ours reads: queues
 * a copy of what no save has, since there are drivers that move the entries, also away from who is
 * reading them just now. Calls down, on the program's thread, as long as that takes less than a
 * fiftieth of the time that the program spends in creations. read_ns: what the driver is known to
 * take for a read; 0: not known, so that nothing is read. True: is_due is set, the worker is to be
 * woken. */
bool cache_collection_copy(struct cache_collection *collection, struct passed_cache *cache,
                           uint64_t read_ns);

/* The program destroys the cache; the entry is gone after this. True: its driver object is ours
 * now, and if is_due is set, the worker is to be woken. may_queue false: it is not to be queued. */
bool cache_collection_remove(struct cache_collection *collection, struct passed_cache *cache,
                             bool may_queue);

/* By whoever reads or queues it: it is harvested. */
void cache_collection_count(struct cache_collection *collection, struct passed_cache *cache);

/* Whether something waits in the queue. */
bool cache_collection_has_queued(struct cache_collection *collection);

/* The worker empties the queue as far as there is room: what waits in it is memory. Calls down. */
void cache_collection_collect(struct cache_collection *collection);

/* For a save: everything that was passed on, in one cache, which stays until it is unpinned;
 * VK_NULL_HANDLE: there is nothing, and nothing to unpin. *ret_rest: what is missing. Unpinning
 * tells whether it was taken. Calls down. */
enum collection_rest {
    REST_NONE,
    REST_NEXT,  /* a merge has come in between, or a read is put off: a next look will have it */
    REST_HIDDEN /* something cannot be read now */
};
VkPipelineCache cache_collection_pin(struct cache_collection *collection,
                                     enum collection_rest *ret_rest);
void cache_collection_unpin(struct cache_collection *collection, bool is_taken);

/* What was pinned last is on disk. True: it was dropped, since it was large and has not grown
 * since; the next save must then merge the file, even if nobody else has changed it. Calls down. */
bool cache_collection_saved(struct cache_collection *collection);

#endif
