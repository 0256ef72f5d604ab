// SPDX-License-Identifier: Apache-2.0
#include "layer/cache/device_cache.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/driver/policy.h"
#include "layer/worker/driver_gate.h"
#include "layer/worker/own_thread.h"
#include "layer/worker/sandbox.h"
#include "layer/worker/worker.h"

/* How often the worker looks at calls that may take long, while there are any. */
#define WATCH_POLL_NS (CRASH_COMPILE_NS / 2)

/* Reading and checking this much takes some milliseconds, and the driver takes longer. */
#define LARGE_BLOB_BYTES (8 << 20)

/* How often a thread that waits for the load checks whether there is a messenger now. */
#define LOAD_POLL_NS (10 * CLOCK_MS)

/* A load by the worker. */
enum device_cache_load_ahead {
    LOAD_UNASKED,
    LOAD_WANTED, /* device_cache_load_soon: the worker is to begin */
    LOAD_BEGUN,
    LOAD_ENDED,
    LOAD_BARRED /* the worker may not call the driver: whoever creates first loads */
};

struct device_cache {
    struct cache_setup setup;
    struct driver_identity identity;
    struct policy policy;
    struct driver_caches caches;
    pthread_mutex_t serialize; /* held across calls down, for drivers that ask for it */
    struct device_report report;
    struct cache_writer writer;
    struct worker_client client;
    bool worker_is_named; /* in the trace */

    pthread_mutex_t load_lock; /* over what follows; not held while a thread loads */
    pthread_cond_t load_ended;
    bool loading;
    atomic_bool load_is_in_driver;
    atomic_bool loaded;    /* cache is set and stays */
    VkPipelineCache cache; /* VK_NULL_HANDLE: the driver is given none */

    _Atomic enum device_cache_load_ahead load_ahead;
    void (*tell_unusable)(void *user); /* NULL: nobody is told */
    void *unusable_user;
    atomic_bool is_plain; /* the marker has no page, and no creation has returned yet */

    atomic_bool watching;
    _Atomic uint64_t watch_due_ns;
    atomic_bool stored_is_slow;   /* what recipes say to be stored has taken long */
    struct crash_watch watch;     /* of the worker */
    _Atomic uint64_t lives_at_ns; /* when this start without a suspect blob has lived; 0: never */
};

/* The policy as this device, these settings and this process narrow it. */
static void device_cache_narrow_policy(struct device_cache *device_cache)
{
    struct policy *policy = &device_cache->policy;
    policy_of_settings(device_cache->setup.config, &device_cache->identity, policy);
    if (!policy->inject || !policy->persist) {
        device_report_state(&device_cache->report,
                            policy->inject ? CACHE_STATE_DENIED : CACHE_STATE_OFF, STATUS_policy);
    }
    if (device_cache->setup.device_group) {
        policy->inject = policy->persist = policy->serve = false;
        device_report_state(&device_cache->report, CACHE_STATE_OFF, STATUS_device_group);
    }
    if (!device_cache->setup.config->root) {
        policy->persist = false;
        device_report_state(&device_cache->report, CACHE_STATE_OFF, STATUS_no_directory);
    }
    log_info("device %u, %s, driver %s %s: policy rule %s: persist=%d inject=%d serve=%d "
             "deduplicate=%d serialize=%d single_cache=%d strict=%d snapshot_at_exit=%d",
             device_cache->setup.device_index, device_cache->identity.device_name,
             device_cache->identity.driver_name, device_cache->identity.driver_info, policy->rule,
             policy->persist, policy->inject, policy->serve, policy->deduplicate, policy->serialize,
             policy->single_cache, policy->strict, policy->snapshot_at_exit);
}

static void device_cache_init_report(struct device_cache *device_cache)
{
    const struct cache_setup *setup = &device_cache->setup;
    device_cache->report = (struct device_report){
        .config = setup->config,
        .app = setup->app,
        .identity = &device_cache->identity,
        .stats = setup->stats,
        .trace = setup->trace,
        .device_index = setup->device_index,
    };
    device_report_init(&device_cache->report);
}

bool device_cache_is_loaded(const struct device_cache *device_cache)
{
    return atomic_load_explicit(&device_cache->loaded, memory_order_acquire);
}

VkPipelineCache device_cache_loaded_cache(const struct device_cache *device_cache)
{
    return device_cache_is_loaded(device_cache) ? device_cache->cache : VK_NULL_HANDLE;
}

/* Loading. */

static void device_cache_reject(struct device_cache *device_cache, enum status reason)
{
    if (device_cache->tell_unusable && reason != STATUS_suspect && reason != STATUS_quarantined) {
        device_cache->tell_unusable(device_cache->unusable_user);
    }
    device_report_rejected(&device_cache->report, reason, store_path(device_cache->writer.store));
}

/* Without a page the marker falls with the first creation that returns. */
static void device_cache_drop_plain_marker(struct device_cache *device_cache)
{
    if (atomic_load_explicit(&device_cache->is_plain, memory_order_relaxed) &&
        cache_writer_survived(&device_cache->writer, 0)) {
        atomic_store(&device_cache->is_plain, false);
    }
}

static void device_cache_watch(struct device_cache *device_cache)
{
    const struct crash_guard *guard = device_cache->caches.guard;
    if (guard && atomic_load_explicit(&guard->page, memory_order_relaxed) &&
        !atomic_load_explicit(&device_cache->watching, memory_order_relaxed)) {
        atomic_store(&device_cache->watch_due_ns, clock_now_ns());
        atomic_store(&device_cache->watching, true);
        worker_wake(&device_cache->client);
    }
}

void device_cache_watch_begin(struct device_cache *device_cache, enum crash_state state)
{
    if (state == CRASH_INSIDE_OTHER ||
        (state == CRASH_INSIDE &&
         atomic_load_explicit(&device_cache->stored_is_slow, memory_order_relaxed))) {
        device_cache_watch(device_cache);
    }
}

void device_cache_watch_end(struct device_cache *device_cache, enum crash_state state,
                            uint64_t took_ns)
{
    if (state == CRASH_INSIDE && took_ns >= CRASH_COMPILE_NS) {
        atomic_store_explicit(&device_cache->stored_is_slow, true, memory_order_relaxed);
    }
}

/* Looks once more after the end of the watch: a call may have begun that saw it going on. */
static void device_cache_work_watch(struct device_cache *device_cache)
{
    const uint64_t now_ns = clock_now_ns();
    if (!atomic_load(&device_cache->watching) ||
        now_ns < atomic_load(&device_cache->watch_due_ns)) {
        return;
    }
    struct crash_guard *guard = device_cache->caches.guard;
    atomic_store(&device_cache->watch_due_ns, now_ns + WATCH_POLL_NS);
    if (!crash_guard_watch(guard, &device_cache->watch, now_ns)) {
        atomic_store(&device_cache->watching, false);
        atomic_store(&device_cache->watching,
                     crash_guard_watch(guard, &device_cache->watch, now_ns));
    }
}

/* A start without a suspect blob shows whether the program lives. */
static void device_cache_watch_life(struct device_cache *device_cache)
{
    if (store_goes_without(device_cache->writer.store)) {
        atomic_store(&device_cache->lives_at_ns, clock_now_ns() + CRASH_LIFE_NS);
        worker_wake(&device_cache->client);
    }
}

static void device_cache_work_life(struct device_cache *device_cache)
{
    const uint64_t lives_at_ns = atomic_load(&device_cache->lives_at_ns);
    if (lives_at_ns != 0 && clock_now_ns() >= lives_at_ns) {
        store_live(device_cache->writer.store);
        atomic_store(&device_cache->lives_at_ns, 0);
    }
}

/* Brackets the driver calls of a load, by the worker or by a thread of the program. */
static bool device_cache_enter_load(struct device_cache *device_cache, bool is_worker)
{
    const bool entered = !is_worker || worker_enter_driver();
    if (entered) {
        atomic_store(&device_cache->load_is_in_driver, true);
        call_costs_begin(&device_cache->writer.costs, SLOW_LOAD);
    }
    return entered;
}

static void device_cache_leave_load(struct device_cache *device_cache, bool is_worker)
{
    if (is_worker) {
        worker_leave_driver();
    }
    atomic_store(&device_cache->load_is_in_driver, false);
    call_costs_end(&device_cache->writer.costs, SLOW_LOAD);
}

/* Creates the device cache from the blob on disk. *ret_barred: the worker must not call the driver.
 */
static bool device_cache_load_blob(struct device_cache *device_cache, bool is_worker,
                                   bool *ret_barred)
{
    struct store *store = device_cache->writer.store;
    struct store_blob blob;
    const enum status reason = cache_writer_load(&device_cache->writer, &blob);
    if (reason != STATUS_ok) {
        device_cache_watch_life(device_cache);
        device_cache_reject(device_cache, reason);
        return false;
    }
    if (!device_cache_enter_load(device_cache, is_worker)) {
        cache_writer_survived(&device_cache->writer, WAIT_FOREVER);
        store_blob_free(&blob);
        *ret_barred = true;
        return false;
    }
    if (store_failed_once(store) || blob.size >= LARGE_BLOB_BYTES) {
        device_cache_watch(device_cache);
    }
    device_cache->cache = driver_cache_create(&device_cache->caches, blob.data, blob.size);
    device_cache_leave_load(device_cache, is_worker);
    if (device_cache->cache == VK_NULL_HANDLE) {
        cache_writer_survived(&device_cache->writer, WAIT_FOREVER);
        device_cache_reject(device_cache, STATUS_driver_refused);
    } else {
        device_report_loaded(&device_cache->report, blob.size, store_path(store));
        cache_writer_set_loaded(&device_cache->writer, &blob);
        atomic_store(&device_cache->is_plain, store_has_plain_marker(store));
    }
    store_blob_free(&blob);
    return device_cache->cache != VK_NULL_HANDLE;
}

/* Whoever loads may be in a callback of the program's, which waits for a lock that this thread
 * holds: then this thread does not wait. A messenger may come while it waits. Under load_lock. */
static void device_cache_wait_for_load(struct device_cache *device_cache)
{
    while (device_cache->loading && !driver_permit_is_withdrawn(device_cache->setup.permit)) {
        const struct timespec until = clock_timespec(clock_now_ns() + LOAD_POLL_NS);
        pthread_cond_timedwait(&device_cache->load_ended, &device_cache->load_lock, &until);
    }
}

/* From the blob, or else empty. False: the worker must not call the driver. */
static bool device_cache_make(struct device_cache *device_cache, bool is_worker)
{
    bool barred = false;
    if (!device_cache->policy.inject ||
        (device_cache->writer.store && !sandbox_is_closed() &&
         device_cache_load_blob(device_cache, is_worker, &barred))) {
        return true;
    }
    if (barred || (is_worker && !worker_enter_driver())) {
        return false;
    }
    device_cache->cache = driver_cache_create(&device_cache->caches, NULL, 0);
    if (is_worker) {
        worker_leave_driver();
    }
    return true;
}

/* Waits for the load, or loads; the lock is not held meanwhile. */
static void device_cache_load(struct device_cache *device_cache, bool is_worker)
{
    pthread_mutex_lock(&device_cache->load_lock);
    device_cache_wait_for_load(device_cache);
    const bool is_ours = !device_cache->loading && !device_cache_is_loaded(device_cache);
    device_cache->loading |= is_ours;
    pthread_mutex_unlock(&device_cache->load_lock);
    if (!is_ours) {
        return;
    }
    const uint64_t start_ns = clock_now_ns();
    const bool made = device_cache_make(device_cache, is_worker);
    if (made) {
        device_report_load_ended(&device_cache->report, start_ns);
    }
    pthread_mutex_lock(&device_cache->load_lock);
    atomic_store_explicit(&device_cache->loaded, made, memory_order_release);
    device_cache->loading = false;
    pthread_cond_broadcast(&device_cache->load_ended);
    pthread_mutex_unlock(&device_cache->load_lock);
}

/* The users of a cache of such a driver are kept apart by a lock that is held across their calls;
 * none may be where the driver can call the program back. */
static bool device_cache_is_for_nobody(const struct device_cache *device_cache)
{
    return device_cache->caches.serialize && driver_permit_is_withdrawn(device_cache->setup.permit);
}

VkPipelineCache device_cache_cache(struct device_cache *device_cache)
{
    if (device_cache_is_for_nobody(device_cache)) {
        return VK_NULL_HANDLE;
    }
    if (!device_cache_is_loaded(device_cache)) {
        device_cache_load(device_cache, false);
    }
    return device_cache_loaded_cache(device_cache);
}

void device_cache_load_soon(struct device_cache *device_cache)
{
    enum device_cache_load_ahead unasked = LOAD_UNASKED;
    if (!device_cache_is_loaded(device_cache) &&
        atomic_compare_exchange_strong(&device_cache->load_ahead, &unasked, LOAD_WANTED)) {
        worker_wake(&device_cache->client);
    }
}

void device_cache_load_large(struct device_cache *device_cache)
{
    if (device_cache->policy.inject && device_cache_blob_bytes(device_cache) >= LARGE_BLOB_BYTES) {
        device_cache_load_soon(device_cache);
    }
}

/* On the worker. A driver that takes long for it is left to the thread that creates first: nobody
 * else should wait. */
static void device_cache_load_ahead(struct device_cache *device_cache)
{
    enum device_cache_load_ahead wanted = LOAD_WANTED;
    if (atomic_load(&device_cache->load_ahead) != LOAD_WANTED) {
        return;
    }
    call_costs_recall(&device_cache->writer.costs);
    const bool loads = call_costs_allow(&device_cache->writer.costs, SLOW_LOAD) &&
                       !device_cache_is_for_nobody(device_cache);
    if (!loads) {
        log_debug("device %u: not loaded ahead: the driver takes long for it",
                  device_cache->setup.device_index);
    }
    if (!atomic_compare_exchange_strong(&device_cache->load_ahead, &wanted,
                                        loads ? LOAD_BEGUN : LOAD_BARRED) ||
        !loads) {
        return;
    }
    if (!device_cache_is_loaded(device_cache)) {
        device_cache_load(device_cache, true);
    }
    pthread_mutex_lock(&device_cache->load_lock);
    atomic_store(&device_cache->load_ahead,
                 device_cache_is_loaded(device_cache) ? LOAD_ENDED : LOAD_BARRED);
    pthread_cond_broadcast(&device_cache->load_ended);
    pthread_mutex_unlock(&device_cache->load_lock);
}

/* Under load_lock: waits for the driver however long, for the disk as long as there is patience.
 * False: the disk has not answered. */
static bool device_cache_wait_for_load_ahead(struct device_cache *device_cache)
{
    bool answered = true;
    while (atomic_load(&device_cache->load_ahead) == LOAD_BEGUN && answered) {
        if (atomic_load(&device_cache->load_is_in_driver)) {
            const struct timespec until = clock_timespec(clock_now_ns() + LOAD_POLL_NS);
            pthread_cond_timedwait(&device_cache->load_ended, &device_cache->load_lock, &until);
        } else {
            answered = patience_limit(1) > 0;
            timed_wait(&device_cache->load_ended, &device_cache->load_lock, LOAD_POLL_NS);
        }
    }
    return answered;
}

bool device_cache_settle_load(struct device_cache *device_cache)
{
    enum device_cache_load_ahead before = atomic_load(&device_cache->load_ahead);
    while ((before == LOAD_UNASKED || before == LOAD_WANTED) &&
           !atomic_compare_exchange_weak(&device_cache->load_ahead, &before, LOAD_BARRED)) {
    }
    pthread_mutex_lock(&device_cache->load_lock);
    const bool answered = device_cache_wait_for_load_ahead(device_cache);
    pthread_mutex_unlock(&device_cache->load_lock);
    return answered;
}

/* The worker's client. */

static uint64_t device_cache_earlier(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

static uint64_t device_cache_due(struct worker_client *client, uint64_t now_ns)
{
    struct device_cache *device_cache = WORKER_OWNER(client, struct device_cache, client);
    if (atomic_load(&device_cache->load_ahead) == LOAD_WANTED) {
        return now_ns;
    }
    const uint64_t lives_at_ns = atomic_load(&device_cache->lives_at_ns);
    uint64_t due = cache_writer_due(&device_cache->writer, now_ns);
    if (atomic_load(&device_cache->watching)) {
        due = device_cache_earlier(due, atomic_load(&device_cache->watch_due_ns));
    }
    return lives_at_ns != 0 ? device_cache_earlier(due, lives_at_ns) : due;
}

static void device_cache_work(struct worker_client *client)
{
    struct device_cache *device_cache = WORKER_OWNER(client, struct device_cache, client);
    if (!device_cache->worker_is_named) {
        device_cache->worker_is_named = true;
        trace_thread(device_cache->setup.trace, "warmpipe worker");
    }
    device_cache_load_ahead(device_cache);
    device_cache_work_watch(device_cache);
    device_cache_work_life(device_cache);
    cache_writer_work(&device_cache->writer, device_cache_loaded_cache(device_cache));
}

static void device_cache_closing(struct worker_client *client)
{
    struct device_cache *device_cache = WORKER_OWNER(client, struct device_cache, client);
    cache_writer_look_last(&device_cache->writer, device_cache_loaded_cache(device_cache));
}

/* Whoever waits for it may be killed for that. */
static void device_cache_overdue(struct worker_client *client)
{
    call_costs_note_under_way(&WORKER_OWNER(client, struct device_cache, client)->writer.costs);
}

/* The process ends and the device was never destroyed. */
static void device_cache_last(struct worker_client *client)
{
    cache_writer_write_last(&WORKER_OWNER(client, struct device_cache, client)->writer);
}

struct device_cache *device_cache_new(const struct cache_setup *setup,
                                      const struct driver_identity *identity)
{
    struct device_cache *device_cache = calloc(1, sizeof *device_cache);
    if (!device_cache) {
        return NULL;
    }
    device_cache->setup = *setup;
    device_cache->identity = *identity;
    pthread_mutex_init(&device_cache->load_lock, NULL);
    clock_condition_init(&device_cache->load_ended);
    pthread_mutex_init(&device_cache->serialize, NULL);
    device_cache_init_report(device_cache);
    device_cache_narrow_policy(device_cache);
    device_cache->report.counts = device_cache->policy.persist && !setup->config->read_only;
    device_cache->caches = (struct driver_caches){
        .device = setup->device,
        .table = setup->table,
        .allocator = setup->has_allocator ? &driver_cache_allocator : NULL,
        .serialize = device_cache->policy.serialize ? &device_cache->serialize : NULL,
        .permit = setup->permit,
    };
    cache_writer_init(&device_cache->writer, &device_cache->setup, &device_cache->policy,
                      &device_cache->caches, &device_cache->report);
    if (device_cache->writer.store) {
        device_cache->caches.guard = store_guard(device_cache->writer.store);
    }
    device_cache->client = (struct worker_client){
        .due = device_cache_due,
        .work = device_cache_work,
        .closing = device_cache_closing,
        .last = device_cache_last,
        .overdue = device_cache_overdue,
        .permit = setup->permit,
    };
    worker_add(&device_cache->client);
    return device_cache;
}

void device_cache_delete(struct device_cache *device_cache)
{
    if (device_cache) {
        cache_writer_release(&device_cache->writer);
        device_report_release(&device_cache->report);
        pthread_mutex_destroy(&device_cache->load_lock);
        pthread_cond_destroy(&device_cache->load_ended);
        pthread_mutex_destroy(&device_cache->serialize);
        free(device_cache);
    }
}

bool device_cache_finish(struct device_cache *device_cache)
{
    if (!worker_remove(&device_cache->client)) {
        return false;
    }
    const bool finished =
        cache_writer_finish(&device_cache->writer, device_cache_loaded_cache(device_cache));
    driver_cache_destroy(&device_cache->caches, device_cache->cache);
    device_cache->cache = VK_NULL_HANDLE;
    return finished;
}

/* Creations. */

void device_cache_creating(struct device_cache *device_cache)
{
    cache_schedule_begin(&device_cache->writer.schedule);
}

/* Drivers register handlers with atexit when they first compile (Mesa's threads, for one); the gate
 * must be closed before those run. */
static void device_cache_register_gate_again(void)
{
    static atomic_bool done;
    if (!atomic_load_explicit(&done, memory_order_relaxed) && !atomic_exchange(&done, true)) {
        driver_gate_register();
    }
}

static void device_cache_wake_to_save(struct device_cache *device_cache)
{
    if (device_cache->writer.saves) {
        worker_wake(&device_cache->client);
    }
}

void device_cache_created(struct device_cache *device_cache,
                          const struct device_cache_creation *creation)
{
    if (creation->saved) {
        cache_schedule_note(&device_cache->writer.schedule, creation->change, creation->compiled,
                            creation->took_ns);
    }
    cache_schedule_end(&device_cache->writer.schedule);
    if (creation->saved && creation->change != DEVICE_CACHE_UNCHANGED) {
        device_cache_wake_to_save(device_cache);
    }
    if (creation->saved && creation->hot) {
        device_cache_drop_plain_marker(device_cache);
    }
    device_cache_register_gate_again();
}

void device_cache_called(struct device_cache *device_cache)
{
    const bool has_looked =
        cache_writer_look_here(&device_cache->writer, device_cache_loaded_cache(device_cache));
    if (device_report_called(&device_cache->report) || has_looked) {
        worker_wake(&device_cache->client);
    }
}

bool device_cache_is_creating(const struct device_cache *device_cache)
{
    return atomic_load_explicit(&device_cache->writer.schedule.running, memory_order_relaxed) > 0;
}

void device_cache_prewarmed(struct device_cache *device_cache, bool compiled, uint64_t took_ns)
{
    device_cache_drop_plain_marker(device_cache);
    cache_schedule_note(&device_cache->writer.schedule,
                        compiled ? DEVICE_CACHE_COMPILED : DEVICE_CACHE_UNKNOWN, compiled, took_ns);
    device_cache_wake_to_save(device_cache);
}

/* What others ask. */

void device_cache_set_listener(struct device_cache *device_cache,
                               const struct cache_listener *listener)
{
    device_cache->writer.listener = *listener;
}

void device_cache_set_unusable(struct device_cache *device_cache, void (*tell)(void *user),
                               void *user)
{
    device_cache->tell_unusable = tell;
    device_cache->unusable_user = user;
}

bool device_cache_has_file(const struct device_cache *device_cache)
{
    const struct store *store = device_cache->writer.store;
    return store && access(store_path(store), F_OK) == 0;
}

size_t device_cache_blob_bytes(const struct device_cache *device_cache)
{
    const struct store *store = device_cache->writer.store;
    struct stat status;
    const bool found = store && stat(store_path(store), &status) == 0;
    return found && status.st_size > 0 ? (size_t)status.st_size : 0;
}

struct digest device_cache_identity(const struct device_cache *device_cache)
{
    return identity_digest(&device_cache->identity);
}

const struct policy *device_cache_policy(const struct device_cache *device_cache)
{
    return &device_cache->policy;
}

const struct driver_caches *device_cache_caches(const struct device_cache *device_cache)
{
    return &device_cache->caches;
}

struct cache_collection *device_cache_collection(struct device_cache *device_cache)
{
    return &device_cache->writer.collection;
}

void device_cache_wake_worker(struct device_cache *device_cache)
{
    worker_wake(&device_cache->client);
}
