// SPDX-License-Identifier: Apache-2.0
/* What the files of device_cache.h share: device_cache.c (creations, saves, the end) and
 * cache_load.c (the blob is loaded once, and watched as long as the driver has it). No other file
 * includes this.
 *
 * States of the load:
 *
 *     1 NOT LOADED   nothing was read
 *     2 WANTED       the worker is to load it
 *     3 LOADING      a thread loads; the others wait for it rather than compile cold: 100 ms if
 *                    its priority is lower than theirs or the process is in a sandbox, 20 ms if
 *                    there is a messenger
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
 * States of the guard (common/blobs/crash_page.h), which tells later processes whether the driver
 * has died of the blob:
 *
 *     1 NO PAGE
 *     2 GUARDED   each call that uses loaded data raises the guard. If a suspect blob was skipped,
 *                 each call that would have used it does, and the page ends after CRASH_LIFE_NS
 *     3 WATCHED   the worker also checks from time to time whether a call takes long
 *
 *     arrow                                            function
 *     1 NO PAGE ──▶ 2 GUARDED                          cache_load_blob, by store_load
 *     2 GUARDED ──the driver refuses the blob──▶ 1     cache_load_blob
 *     2 ──a call that may compile──▶ 3                 device_cache_watch_begin
 *     2 ──a large or suspect blob is loaded──▶ 3       cache_load_blob
 *     3 WATCHED ──no call for a while──▶ 2             cache_load_work_watch, on the worker
 *     2, 3 ──the device goes──▶ 1                      store_close
 *     2, 3 ──exit()──▶ ended                           driver_gate.c, crash_guard_end_all
 *     2, 3 ──the process dies──▶ judged                the next process, by store_load
 *
 * Thread-safe except init, release and what only the worker calls. */
#ifndef WARMPIPE_LAYER_CACHE_DEVICE_CACHE_STATE_H
#define WARMPIPE_LAYER_CACHE_DEVICE_CACHE_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "layer/cache/device_cache.h"
#include "layer/worker/worker.h"

/* The state of a load by the worker. */
enum cache_load_ahead {
    LOAD_UNASKED,
    LOAD_WANTED, /* device_cache_load_soon: the worker is to begin */
    LOAD_BEGUN,
    LOAD_ENDED,
    LOAD_BARRED /* the worker may not call the driver: the first creation loads */
};

struct cache_load {
    struct cache_writer *writer;
    struct worker_client *client; /* for waking the worker */

    pthread_mutex_t lock; /* over the rest; not held while a thread loads */
    pthread_cond_t ended;
    bool loading;
    pid_t loader; /* the thread, since begun_ns (monotonic) */
    uint64_t begun_ns;
    atomic_bool is_in_driver;
    atomic_bool loaded;    /* cache is set and stays */
    VkPipelineCache cache; /* VK_NULL_HANDLE: the driver is given none */
    bool is_withheld; /* the file may be valid, but has killed processes, or memory lacks for it */

    atomic_bool is_planned; /* the first device_cache_expect_pipelines starts the load */
    _Atomic enum cache_load_ahead ahead;
    void (*tell_unusable)(void *user); /* called if the blob is of no use; NULL: nothing */
    void *unusable_user;
    atomic_bool has_record; /* the marker has a plain record, and no creation has returned yet */

    atomic_bool watching;
    _Atomic uint64_t watch_due_ns;
    atomic_bool watches_all;  /* a pipeline that recipes call stored has taken long, or a suspect */
    struct crash_watch watch; /* used by the worker */
    _Atomic uint64_t lives_at_ns; /* when a start without a suspect blob has survived; 0: never */
};

struct device_cache {
    struct cache_setup setup;
    struct driver_identity identity;
    struct policy policy;
    struct driver_caches caches;
    pthread_mutex_t serialize; /* held across calls down, for drivers that require it */
    struct device_report report;
    struct cache_writer writer;
    struct cache_load load;
    struct worker_client client;
    bool worker_is_named;        /* in the trace */
    atomic_bool is_behind_exits; /* the gate's handler is registered behind the driver's own */
    atomic_bool has_deferred;
    atomic_bool has_deferred_of_blob;
};

/* For a zeroed struct. Both are borrowed. */
void cache_load_init(struct cache_load *load, struct cache_writer *writer,
                     struct worker_client *client);
void cache_load_release(struct cache_load *load);

/* The device cache if it has been loaded, else VK_NULL_HANDLE. */
static inline VkPipelineCache cache_load_loaded(const struct cache_load *load)
{
    return atomic_load_explicit(&load->loaded, memory_order_acquire) ? load->cache : VK_NULL_HANDLE;
}

/* On the worker: loads the cache if that is wanted. */
void cache_load_run_ahead(struct cache_load *load);

/* A creation with the device cache has returned. The first one removes the marker's plain record.
 */
void cache_load_return(struct cache_load *load);

/* On the worker: checks for long calls if that is due, and ends the page of a start that has
 * survived; both need memory alone. _due: when that is due next (monotonic ns), or UINT64_MAX. */
void cache_load_work_watch(struct cache_load *load);
uint64_t cache_load_watch_due(const struct cache_load *load);

#endif
