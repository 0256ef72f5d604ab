// SPDX-License-Identifier: Apache-2.0
/* How the blob is loaded, and watched from then on: device_cache_state.h has the states. */
#include "layer/cache/device_cache_state.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "layer/worker/driver_gate.h"
#include "layer/worker/own_thread.h"
#include "layer/worker/own_wait.h"
#include "layer/worker/sandbox.h"

/* How often a thread that waits for the load checks whether there is a messenger now. */
#define LOAD_POLL_NS (10 * CLOCK_MS)

/* How long a load takes at most that nobody doubts; and how long it is waited for where whoever
 * loads may be in a callback of the program's, which waits for a lock that the waiting thread
 * holds. */
#define USUAL_LOAD_NS    (100 * CLOCK_MS)
#define CALLBACK_LOAD_NS (20 * CLOCK_MS)

/* How often the worker looks at calls that may take long, while there are any. */
#define WATCH_POLL_NS (CRASH_COMPILE_NS / 2)

void cache_load_init(struct cache_load *load, struct cache_writer *writer,
                     struct worker_client *client)
{
    load->writer = writer;
    load->client = client;
    pthread_mutex_init(&load->lock, NULL);
    clock_condition_init(&load->ended);
}

void cache_load_release(struct cache_load *load)
{
    pthread_mutex_destroy(&load->lock);
    pthread_cond_destroy(&load->ended);
}

bool device_cache_is_loaded(const struct device_cache *device_cache)
{
    return atomic_load_explicit(&device_cache->load.loaded, memory_order_acquire);
}

/* What was loaded is watched. */

/* A call that may take long is about to be made with what was loaded. Cheap where the worker
 * watches already, and where there is nothing to guard. */
static void cache_load_watch(struct cache_load *load)
{
    const struct crash_guard *guard = load->writer->caches->guard;
    if (guard && atomic_load_explicit(&guard->page, memory_order_relaxed) &&
        !atomic_load_explicit(&load->watching, memory_order_relaxed)) {
        atomic_store(&load->watch_due_ns, clock_now_ns());
        atomic_store(&load->watching, true);
        worker_wake_now(load->client);
    }
}

void device_cache_watch_begin(struct device_cache *device_cache, enum crash_state state)
{
    struct cache_load *load = &device_cache->load;
    if (state == CRASH_INSIDE_OTHER ||
        (state == CRASH_INSIDE && atomic_load_explicit(&load->watches_all, memory_order_relaxed))) {
        cache_load_watch(load);
    }
}

void device_cache_watch_end(struct device_cache *device_cache, enum crash_state state,
                            uint64_t took_ns)
{
    if (state == CRASH_INSIDE && took_ns >= CRASH_COMPILE_NS) {
        atomic_store_explicit(&device_cache->load.watches_all, true, memory_order_relaxed);
    }
}

/* A start without a suspect blob shows whether the program lives. */
static void cache_load_watch_life(struct cache_load *load)
{
    if (store_goes_without(load->writer->store)) {
        atomic_store(&load->lives_at_ns, clock_now_ns() + CRASH_LIFE_NS);
        worker_wake_now(load->client);
    }
}

uint64_t cache_load_watch_due(const struct cache_load *load)
{
    const uint64_t lives_at_ns = atomic_load(&load->lives_at_ns);
    const uint64_t life = lives_at_ns ? lives_at_ns : UINT64_MAX;
    const uint64_t watch = atomic_load(&load->watching) ? atomic_load(&load->watch_due_ns) : life;
    return watch < life ? watch : life;
}

/* Looks once more after the end of the watch: a call may have begun that saw it going on. */
void cache_load_work_watch(struct cache_load *load)
{
    const uint64_t now_ns = clock_now_ns();
    const uint64_t lives_at_ns = atomic_load(&load->lives_at_ns);
    if (lives_at_ns != 0 && now_ns >= lives_at_ns) {
        store_live(load->writer->store);
        atomic_store(&load->lives_at_ns, 0);
    }
    if (!atomic_load(&load->watching) || now_ns < atomic_load(&load->watch_due_ns)) {
        return;
    }
    struct crash_guard *guard = load->writer->caches->guard;
    atomic_store(&load->watch_due_ns, now_ns + WATCH_POLL_NS);
    if (!crash_guard_watch(guard, &load->watch, now_ns)) {
        atomic_store(&load->watching, false);
        if (crash_guard_watch(guard, &load->watch, now_ns)) {
            atomic_store(&load->watching, true);
        }
    }
}

/* It is loaded. */

static void cache_load_reject(struct cache_load *load, enum status reason)
{
    load->is_withheld =
        reason == STATUS_suspect || reason == STATUS_quarantined || reason == STATUS_out_of_memory;
    if (load->tell_unusable && !load->is_withheld) {
        load->tell_unusable(load->unusable_user);
    }
    device_report_rejected(load->writer->report, reason, store_path(load->writer->store));
}

void cache_load_return(struct cache_load *load)
{
    if (atomic_load_explicit(&load->has_record, memory_order_relaxed) &&
        cache_writer_tell_store(load->writer, 0, store_return)) {
        atomic_store(&load->has_record, false);
    }
}

/* Brackets the driver calls of a load, by the worker or by a thread of the program. */
static bool cache_load_enter_driver(struct cache_load *load, bool is_worker)
{
    const bool entered = !is_worker || worker_enter_driver();
    if (entered) {
        atomic_store(&load->is_in_driver, true);
        /* Somebody waits for a thread of the program: its timer is started without a read. */
        call_costs_begin(&load->writer->costs, SLOW_LOAD,
                         is_worker ? own_wait_timer_start() : own_wait_timer_start_early());
    }
    return entered;
}

static void cache_load_leave_driver(struct cache_load *load, bool is_worker)
{
    if (is_worker) {
        worker_leave_driver();
    }
    atomic_store(&load->is_in_driver, false);
    call_costs_end(&load->writer->costs, SLOW_LOAD);
    if (atomic_load(&load->writer->costs.is_due)) {
        worker_wake_now(load->client);
    }
}

/* Creates the device cache from the blob on disk. *ret_barred: the worker must not call the driver.
 */
static bool cache_load_blob(struct cache_load *load, bool is_worker, bool *ret_barred)
{
    struct store *store = load->writer->store;
    struct store_blob blob;
    /* While the disk is asked anyway: else the end of the device has to wait for it. */
    call_costs_recall(&load->writer->costs);
    const enum status reason = cache_writer_load(load->writer, &blob);
    if (reason != STATUS_ok) {
        cache_load_watch_life(load);
        cache_load_reject(load, reason);
        return false;
    }
    if (!cache_load_enter_driver(load, is_worker)) {
        cache_writer_tell_store(load->writer, CACHE_STEP_WAIT_NS, store_survived);
        store_blob_free(&blob);
        *ret_barred = true;
        return false;
    }
    const bool is_suspect = store_failed_once(store);
    atomic_store_explicit(&load->watches_all, is_suspect, memory_order_relaxed);
    if (is_suspect || blob.size >= DRIVER_CACHE_LARGE_SIZE) {
        cache_load_watch(load);
    }
    load->cache = driver_cache_create(load->writer->caches, blob.data, blob.size);
    cache_load_leave_driver(load, is_worker);
    if (load->cache == VK_NULL_HANDLE) {
        /* Out of memory, says the specification. What is saved keeps the file's, unless the driver
         * does not take that then either. */
        load->writer->is_refused = true;
        cache_writer_tell_store(load->writer, CACHE_STEP_WAIT_NS, store_survived);
        cache_writer_tell_store(load->writer, CACHE_STEP_WAIT_NS, store_forget);
        cache_load_reject(load, STATUS_driver_refused);
    } else {
        device_report_loaded(load->writer->report, blob.size, store_path(store));
        if (cache_writer_set_loaded(load->writer, &blob)) {
            worker_wake_now(load->client);
        }
        atomic_store(&load->has_record, store_has_record(store));
    }
    store_blob_free(&blob);
    return load->cache != VK_NULL_HANDLE;
}

/* Whoever loads may be in a callback of the program's; may not be in this process, after a fork;
 * may have been ended alone by a sandbox, in which nothing is asked; and a thread of lower priority
 * may lack a core for seconds (hazard 66). Under the lock. */
static bool cache_load_is_waited_for(const struct cache_load *load)
{
    if (!worker_is_of_this_process(load->client)) {
        return false;
    }
    if (driver_permit_is_withdrawn(load->writer->setup->permit)) {
        return clock_now_ns() < load->begun_ns + CALLBACK_LOAD_NS;
    }
    return clock_now_ns() < load->begun_ns + USUAL_LOAD_NS ||
           (!sandbox_is_closed() && own_thread_rank(load->loader) >= own_thread_rank(0));
}

/* A messenger may come while it waits. Under the lock. */
static void cache_load_wait(struct cache_load *load)
{
    while (load->loading && cache_load_is_waited_for(load)) {
        const struct timespec until = clock_timespec(clock_now_ns() + LOAD_POLL_NS);
        pthread_cond_timedwait(&load->ended, &load->lock, &until);
    }
}

/* From the blob, or else empty. False: the worker must not call the driver. */
static bool cache_load_make(struct cache_load *load, bool is_worker)
{
    bool barred = false;
    if (!load->writer->policy->inject || (load->writer->store && !sandbox_is_closed() &&
                                          cache_load_blob(load, is_worker, &barred))) {
        return true;
    }
    if (barred || (is_worker && !worker_enter_driver())) {
        return false;
    }
    load->cache = driver_cache_create(load->writer->caches, NULL, 0);
    if (is_worker) {
        worker_leave_driver();
    }
    return true;
}

/* Waits for the load, or loads; the lock is not held meanwhile. */
static void cache_load_once(struct cache_load *load, bool is_worker)
{
    pthread_mutex_lock(&load->lock);
    cache_load_wait(load);
    const bool is_ours = !load->loading && !atomic_load(&load->loaded);
    if (is_ours) {
        load->loading = true;
        load->loader = gettid();
        load->begun_ns = clock_now_ns();
    }
    pthread_mutex_unlock(&load->lock);
    if (!is_ours) {
        return;
    }
    const bool made = cache_load_make(load, is_worker);
    if (made) {
        device_report_load_ended(load->writer->report, load->begun_ns);
    }
    pthread_mutex_lock(&load->lock);
    atomic_store_explicit(&load->loaded, made, memory_order_release);
    load->loading = false;
    pthread_cond_broadcast(&load->ended);
    pthread_mutex_unlock(&load->lock);
}

/* The users of a cache of such a driver are kept apart by a lock that is held across their calls;
 * none may be where the driver can call the program back. */
static bool cache_load_is_for_nobody(const struct cache_load *load)
{
    return load->writer->caches->serialize &&
           driver_permit_is_withdrawn(load->writer->setup->permit);
}

VkPipelineCache device_cache_cache(struct device_cache *device_cache)
{
    struct cache_load *load = &device_cache->load;
    if (cache_load_is_for_nobody(load)) {
        return VK_NULL_HANDLE;
    }
    if (!atomic_load(&load->loaded)) {
        cache_load_once(load, false);
    }
    return cache_load_loaded(load);
}

void device_cache_load_soon(struct device_cache *device_cache)
{
    enum cache_load_ahead unasked = LOAD_UNASKED;
    if (!device_cache_is_loaded(device_cache) &&
        atomic_compare_exchange_strong(&device_cache->load.ahead, &unasked, LOAD_WANTED)) {
        worker_wake_now(&device_cache->client);
    }
}

size_t device_cache_blob_bytes(const struct device_cache *device_cache)
{
    const struct store *store = device_cache->writer.store;
    struct stat status;
    const bool found = store && fstatat(AT_FDCWD, store_path(store), &status, 0) == 0;
    return found && status.st_size > 0 ? (size_t)status.st_size : 0;
}

void device_cache_plan_load(struct device_cache *device_cache)
{
    const size_t blob_bytes =
        device_cache->policy.inject ? device_cache_blob_bytes(device_cache) : 0;
    if (blob_bytes >= DRIVER_CACHE_LARGE_SIZE) {
        device_cache_load_soon(device_cache);
    } else if (blob_bytes > 0) {
        atomic_store(&device_cache->load.is_planned, true);
    }
}

/* Not by a thread of ours that would be the program's second one; and where the worker must not
 * call the driver, it does not read the file in vain. */
void device_cache_expect_pipelines(struct device_cache *device_cache)
{
    atomic_bool *is_planned = &device_cache->load.is_planned;
    if (atomic_load_explicit(is_planned, memory_order_relaxed) && own_thread_is_one_of_many() &&
        atomic_exchange(is_planned, false) &&
        !driver_permit_is_withdrawn(device_cache->setup.permit)) {
        device_cache_load_soon(device_cache);
    }
}

/* Whether the worker should: others wait for it. (It would read the file, not be let into the
 * driver, and a creation meanwhile would go without the cache.) */
static bool cache_load_is_for_worker(struct cache_load *load)
{
    const char *against = NULL;
    if (!call_costs_allow(&load->writer->costs, SLOW_LOAD) || cache_load_is_for_nobody(load)) {
        against = "the driver takes long for it";
    } else if (driver_permit_is_withdrawn(load->writer->setup->permit)) {
        against = "the driver may call the program back";
    } else if (own_thread_rank(0) < own_thread_rank(getpid())) {
        against = "the worker has the low priority of the thread that has started it";
    }
    if (against) {
        log_debug("device %u: not loaded ahead: %s", load->writer->setup->device_index, against);
    }
    return !against;
}

/* What it should not is left to the thread that creates first. */
void cache_load_run_ahead(struct cache_load *load)
{
    enum cache_load_ahead wanted = LOAD_WANTED;
    if (atomic_load(&load->ahead) != LOAD_WANTED) {
        return;
    }
    call_costs_recall(&load->writer->costs);
    const bool loads = cache_load_is_for_worker(load);
    if (!atomic_compare_exchange_strong(&load->ahead, &wanted, loads ? LOAD_BEGUN : LOAD_BARRED) ||
        !loads) {
        return;
    }
    if (!atomic_load(&load->loaded)) {
        cache_load_once(load, true);
    }
    pthread_mutex_lock(&load->lock);
    atomic_store(&load->ahead, atomic_load(&load->loaded) ? LOAD_ENDED : LOAD_BARRED);
    pthread_cond_broadcast(&load->ended);
    pthread_mutex_unlock(&load->lock);
}

/* Under the lock: waits for the driver however long, for the disk as long as there is patience.
 * False: the disk has not answered. */
static bool cache_load_wait_for_ahead(struct cache_load *load)
{
    bool answered = true;
    while (atomic_load(&load->ahead) == LOAD_BEGUN && answered) {
        if (atomic_load(&load->is_in_driver)) {
            const struct timespec until = clock_timespec(clock_now_ns() + LOAD_POLL_NS);
            pthread_cond_timedwait(&load->ended, &load->lock, &until);
        } else {
            answered = patience_limit(1) > 0;
            timed_wait(&load->ended, &load->lock, LOAD_POLL_NS);
        }
    }
    return answered;
}

bool device_cache_settle_load(struct device_cache *device_cache)
{
    struct cache_load *load = &device_cache->load;
    enum cache_load_ahead before = atomic_load(&load->ahead);
    while ((before == LOAD_UNASKED || before == LOAD_WANTED) &&
           !atomic_compare_exchange_weak(&load->ahead, &before, LOAD_BARRED)) {
    }
    pthread_mutex_lock(&load->lock);
    const bool answered = cache_load_wait_for_ahead(load);
    pthread_mutex_unlock(&load->lock);
    return answered;
}
