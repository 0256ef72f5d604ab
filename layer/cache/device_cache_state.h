// SPDX-License-Identifier: Apache-2.0
/* What the files of device_cache.h share: device_cache.c (creations, saves, the end) and
 * cache_load.c (the blob is loaded, once, and watched as long as the driver has it). Nobody else
 * includes this.
 *
 * Loading:
 *
 *     1 NOT LOADED   nothing was read
 *     2 WANTED       the worker is to load it
 *     3 LOADING      a thread loads; the others wait for it rather than compile cold: 100 ms if
 *                    its priority is lower than theirs, 20 ms where there is a messenger
 *     4 LOADED       the device cache is set and stays: from the blob, empty, or none
 *
 *     arrow                               function
 *     1 NOT LOADED ──▶ 2 WANTED           device_cache_load_soon, device_cache_plan_load,
 *                                         device_cache_expect_pipelines
 *     1, 2 ──first creation──▶ 3 LOADING  device_cache_cache
 *     2 WANTED ──worker──▶ 3 LOADING      cache_load_run_ahead
 *     2 WANTED ──barred──▶ 1 NOT LOADED   cache_load_run_ahead, device_cache_settle_load: the
 *                                         worker must not call the driver
 *     3 LOADING ──▶ 4 LOADED              cache_load_once
 *
 * The guard (common/blobs/crash_page.h) tells later processes that a driver has died of the blob:
 *
 *     1 NO PAGE
 *     2 GUARDED   each call that uses what was loaded raises the guard; where a suspect blob was
 *                 skipped, what would have used it, and after CRASH_LIFE_NS the page is ended
 *     3 WATCHED   and the worker looks now and then, whether one takes long
 *
 *     arrow                                            function
 *     1 NO PAGE ──▶ 2 GUARDED                          cache_load_blob, by store_load
 *     2 GUARDED ──the driver refuses the blob──▶ 1     cache_load_blob
 *     2 ──a call that may compile, a suspicion──▶ 3    device_cache_watch_begin, cache_load_blob
 *     3 WATCHED ──no call for a while──▶ 2             cache_load_work_watch, on the worker
 *     2, 3 ──the device goes──▶ 1                      store_close
 *     2, 3 ──exit()──▶ ended                           driver_gate.c, crash_guard_end_all
 *     2, 3 ──the process dies──▶ judged                the next process, by store_load
 *
 * Thread-safe but for init, release and what the worker alone does. */
#ifndef WARMPIPE_LAYER_CACHE_DEVICE_CACHE_STATE_H
#define WARMPIPE_LAYER_CACHE_DEVICE_CACHE_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "layer/cache/device_cache.h"
#include "layer/worker/worker.h"

/* A load by the worker. */
enum cache_load_ahead {
    LOAD_UNASKED,
    LOAD_WANTED, /* device_cache_load_soon: the worker is to begin */
    LOAD_BEGUN,
    LOAD_ENDED,
    LOAD_BARRED /* the worker may not call the driver: whoever creates first loads */
};

struct cache_load {
    struct cache_writer *writer;
    struct worker_client *client; /* by which the worker is woken */

    pthread_mutex_t lock; /* over what follows; not held while a thread loads */
    pthread_cond_t ended;
    bool loading;
    pid_t loader; /* the thread, since begun_ns (monotonic) */
    uint64_t begun_ns;
    atomic_bool is_in_driver;
    atomic_bool loaded;    /* cache is set and stays */
    VkPipelineCache cache; /* VK_NULL_HANDLE: the driver is given none */
    bool is_withheld;      /* the file may be good, but has killed, or there is no memory for it */

    atomic_bool is_planned; /* the first device_cache_expect_pipelines has the worker load */
    _Atomic enum cache_load_ahead ahead;
    void (*tell_unusable)(void *user); /* the blob is of no use; NULL: nobody is told */
    void *unusable_user;
    atomic_bool has_record; /* of the marker: plain, and no creation has returned yet */

    atomic_bool watching;
    _Atomic uint64_t watch_due_ns;
    atomic_bool stored_is_slow;   /* what recipes say to be stored has taken long */
    struct crash_watch watch;     /* of the worker */
    _Atomic uint64_t lives_at_ns; /* when this start without a suspect blob has lived; 0: never */
};

struct device_cache {
    struct cache_setup setup;
    struct driver_identity identity;
    struct policy policy;
    struct driver_caches caches;
    pthread_mutex_t serialize; /* held across calls down, for drivers that ask for it */
    struct device_report report;
    struct cache_writer writer;
    struct cache_load load;
    struct worker_client client;
    bool worker_is_named;        /* in the trace */
    atomic_bool is_behind_exits; /* the gate's handler is registered behind the driver's own */
    atomic_bool has_deferred;
    atomic_bool has_deferred_of_blob;
};

/* Of a struct that is all zero. Both are borrowed. */
void cache_load_init(struct cache_load *load, struct cache_writer *writer,
                     struct worker_client *client);
void cache_load_release(struct cache_load *load);

/* The device cache if it has been loaded, else VK_NULL_HANDLE. */
static inline VkPipelineCache cache_load_loaded(const struct cache_load *load)
{
    return atomic_load_explicit(&load->loaded, memory_order_acquire) ? load->cache : VK_NULL_HANDLE;
}

/* On the worker: loads if it is wanted. */
void cache_load_run_ahead(struct cache_load *load);

/* A creation with the device cache has returned: with the first, the marker's plain record goes. */
void cache_load_return(struct cache_load *load);

/* On the worker: looks, if it is time to, and ends the page of a start that has lived, which needs
 * memory alone; when it is next (monotonic ns), or UINT64_MAX. */
void cache_load_work_watch(struct cache_load *load);
uint64_t cache_load_watch_due(const struct cache_load *load);

#endif
