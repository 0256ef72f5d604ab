// SPDX-License-Identifier: Apache-2.0
/* The blob of one device in this process: loaded once, and watched as long as the driver has it.
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
 *     1 NOT LOADED ──▶ 2 WANTED           cache_load_soon, cache_load_plan, cache_load_expect
 *     1, 2 ──first creation──▶ 3 LOADING  cache_load_get
 *     2 WANTED ──worker──▶ 3 LOADING      cache_load_run_ahead
 *     2 WANTED ──barred──▶ 1 NOT LOADED   cache_load_run_ahead, cache_load_settle: the worker must
 *                                         not call the driver
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
 *     2 ──a call that may compile, a suspicion──▶ 3    cache_load_watch_begin, cache_load_blob
 *     3 WATCHED ──no call for a while──▶ 2             cache_load_work_watch, on the worker
 *     2, 3 ──the device goes──▶ 1                      store_close
 *     2, 3 ──exit()──▶ ended                           driver_gate.c, crash_guard_end_all
 *     2, 3 ──the process dies──▶ judged                the next process, by store_load
 *
 * A part of the device cache, which alone calls it. Thread-safe but for init, release, settle and
 * what the worker alone does. */
#ifndef WARMPIPE_LAYER_CACHE_CACHE_LOAD_H
#define WARMPIPE_LAYER_CACHE_CACHE_LOAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layer/cache/cache_writer.h"
#include "layer/worker/own_thread.h"
#include "layer/worker/worker.h"

/* A load by the worker. */
enum cache_load_ahead {
    LOAD_UNASKED,
    LOAD_WANTED, /* cache_load_soon: the worker is to begin */
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

    atomic_bool is_planned; /* the first cache_load_expect has the worker load */
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

/* Of a struct that is all zero. Both are borrowed. */
void cache_load_init(struct cache_load *load, struct cache_writer *writer,
                     struct worker_client *client);
void cache_load_release(struct cache_load *load);

/* Whether cache_load_get would return at once. */
static inline bool cache_load_is_done(const struct cache_load *load)
{
    return atomic_load_explicit(&load->loaded, memory_order_acquire);
}

/* The device cache if it has been loaded, else VK_NULL_HANDLE. */
static inline VkPipelineCache cache_load_loaded(const struct cache_load *load)
{
    return cache_load_is_done(load) ? load->cache : VK_NULL_HANDLE;
}

/* The device cache, or VK_NULL_HANDLE where the driver may be given none. The first call loads;
 * others wait for it, without a lock. Where the driver may call the program back they wait 20 ms,
 * and not for long where its end may come late or never: then VK_NULL_HANDLE. */
VkPipelineCache cache_load_get(struct cache_load *load);

/* Has the worker load. */
void cache_load_soon(struct cache_load *load);

/* Once, with the size of the file that is there, 0: there is none. The worker is to load it, at
 * once where that takes long, else from the first cache_load_expect on. */
void cache_load_plan(struct cache_load *load, size_t blob_bytes);

/* The program makes what pipelines are made of: begins what is planned, unless a thread of ours
 * would be the program's second one. Cheap. */
void cache_load_begin_planned(struct cache_load *load);
static inline void cache_load_expect(struct cache_load *load)
{
    if (atomic_load_explicit(&load->is_planned, memory_order_relaxed) &&
        own_thread_is_one_of_many()) {
        cache_load_begin_planned(load);
    }
}

/* On the worker: loads if it is wanted. */
void cache_load_run_ahead(struct cache_load *load);

/* From here on the worker loads no more; waits for a load that it has begun, for the driver however
 * long. False: the disk has not answered for as long as this thread has patience. */
bool cache_load_settle(struct cache_load *load);

/* A creation with the device cache has returned: with the first, the marker's plain record goes. */
void cache_load_return(struct cache_load *load);

/* A call that may take long is about to be made with what was loaded: the worker is to watch it.
 * Cheap where it does already, and where there is nothing to guard. */
void cache_load_begin_watch(struct cache_load *load);
static inline void cache_load_watch(struct cache_load *load)
{
    const struct crash_guard *guard = load->writer->caches->guard;
    if (guard && atomic_load_explicit(&guard->page, memory_order_relaxed) &&
        !atomic_load_explicit(&load->watching, memory_order_relaxed)) {
        cache_load_begin_watch(load);
    }
}

/* Brackets a creation that uses what was loaded, in this state: one that may compile is watched,
 * and all are once one that was said to be stored has taken as long as a compile. Cheap. */
static inline void cache_load_watch_begin(struct cache_load *load, enum crash_state state)
{
    if (state == CRASH_INSIDE_OTHER ||
        (state == CRASH_INSIDE &&
         atomic_load_explicit(&load->stored_is_slow, memory_order_relaxed))) {
        cache_load_watch(load);
    }
}
static inline void cache_load_watch_end(struct cache_load *load, enum crash_state state,
                                        uint64_t took_ns)
{
    if (state == CRASH_INSIDE && took_ns >= CRASH_COMPILE_NS) {
        atomic_store_explicit(&load->stored_is_slow, true, memory_order_relaxed);
    }
}

/* On the worker: looks, if it is time to, and ends the page of a start that has lived, which needs
 * memory alone; when it is next (monotonic ns), or UINT64_MAX. */
void cache_load_work_watch(struct cache_load *load);
uint64_t cache_load_watch_due(const struct cache_load *load);

#endif
