// SPDX-License-Identifier: Apache-2.0
#include "layer/cache/device_cache_state.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/driver/policy.h"
#include "common/driver/vulkan_names.h"
#include "layer/worker/driver_gate.h"
#include "layer/worker/worker.h"

/* RenderDoc below us shows a driver whose UUID is this and the time of the start, and whose cache
 * is empty. */
#define CAPTURE_UUID "rdoc"

/* The policy as this device, these settings and this process narrow it. */
static void device_cache_narrow_policy(struct device_cache *device_cache)
{
    struct policy *policy = &device_cache->policy;
    const struct driver_identity *identity = &device_cache->identity;
    policy_of_settings(device_cache->setup.config, identity, policy);
    if (!policy->inject || !policy->persist) {
        device_report_state(&device_cache->report,
                            policy->inject ? CACHE_STATE_DENIED : CACHE_STATE_OFF, STATUS_policy);
    }
    if (device_cache->setup.device_group) {
        policy->inject = policy->persist = policy->serve = false;
        device_report_state(&device_cache->report, CACHE_STATE_OFF, STATUS_device_group);
    }
    if (memcmp(identity->pipeline_cache_uuid, CAPTURE_UUID, strlen(CAPTURE_UUID)) == 0) {
        policy->persist = false;
        device_report_state(&device_cache->report, CACHE_STATE_DENIED, STATUS_capture_tool);
    }
    if (!device_cache->setup.config->root) {
        policy->persist = false;
        device_report_state(&device_cache->report, CACHE_STATE_OFF, STATUS_no_directory);
    }
    char version[VULKAN_VERSION_SIZE];
    vulkan_driver_version(identity, version);
    log_info("device %u, %s, driver %s %s: policy rule %s: persist=%d inject=%d serve=%d "
             "deduplicate=%d serialize=%d single_cache=%d strict=%d snapshot_at_exit=%d",
             device_cache->setup.device_index, identity->device_name, vulkan_driver_name(identity),
             identity->driver_info[0] ? identity->driver_info : version, policy->rule,
             policy->persist, policy->inject, policy->serve, policy->deduplicate, policy->serialize,
             policy->single_cache, policy->strict, policy->snapshot_at_exit);
}

/* The worker's client. */

static uint64_t device_cache_due(struct worker_client *client, uint64_t now_ns)
{
    struct device_cache *device_cache = WORKER_OWNER(client, struct device_cache, client);
    if (atomic_load(&device_cache->load.ahead) == LOAD_WANTED) {
        return now_ns;
    }
    const uint64_t watch = cache_load_watch_due(&device_cache->load);
    const uint64_t step = cache_writer_due(&device_cache->writer, now_ns);
    return watch < step ? watch : step;
}

static void device_cache_work(struct worker_client *client)
{
    struct device_cache *device_cache = WORKER_OWNER(client, struct device_cache, client);
    if (!device_cache->worker_is_named) {
        device_cache->worker_is_named = true;
        trace_thread(device_cache->setup.trace, "warmpipe worker");
    }
    cache_load_run_ahead(&device_cache->load);
    cache_writer_work(&device_cache->writer, cache_load_loaded(&device_cache->load));
}

/* Programs in sandboxes are ended like others: their pages have to be right. */
static uint64_t device_cache_in_memory(struct worker_client *client)
{
    struct cache_load *load = &WORKER_OWNER(client, struct device_cache, client)->load;
    cache_load_work_watch(load);
    return cache_load_watch_due(load);
}

static void device_cache_closing(struct worker_client *client)
{
    struct device_cache *device_cache = WORKER_OWNER(client, struct device_cache, client);
    cache_writer_look_last(&device_cache->writer, cache_load_loaded(&device_cache->load));
}

/* Whoever waits for it may be killed for that. */
static void device_cache_overdue(struct worker_client *client)
{
    struct call_costs *costs = &WORKER_OWNER(client, struct device_cache, client)->writer.costs;
    call_costs_note_under_way(costs);
    call_costs_keep_beside(costs);
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
    pthread_mutex_init(&device_cache->serialize, NULL);
    device_cache->report = (struct device_report){
        .config = setup->config,
        .app = setup->app,
        .identity = &device_cache->identity,
        .stats = setup->stats,
        .trace = setup->trace,
        .device_index = setup->device_index,
    };
    device_report_init(&device_cache->report);
    device_cache_narrow_policy(device_cache);
    device_cache->report.counts = device_cache->policy.persist && !setup->config->read_only;
    if (device_cache->report.counts) {
        driver_settings_of_process(device_cache->report.driver_settings);
    }
    device_cache->caches = (struct driver_caches){
        .device = setup->device,
        .table = setup->table,
        .serialize = device_cache->policy.serialize ? &device_cache->serialize : NULL,
        .permit = setup->permit,
    };
    cache_writer_init(&device_cache->writer, &device_cache->setup, &device_cache->policy,
                      &device_cache->caches, &device_cache->report);
    cache_load_init(&device_cache->load, &device_cache->writer, &device_cache->client);
    if (device_cache->writer.store) {
        device_cache->caches.guard = store_guard(device_cache->writer.store);
    }
    device_cache->client = (struct worker_client){
        .due = device_cache_due,
        .in_memory = device_cache_in_memory,
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
        cache_load_release(&device_cache->load);
        pthread_mutex_destroy(&device_cache->serialize);
        free(device_cache);
    }
}

bool device_cache_has_farewell(const struct device_cache *device_cache)
{
    return device_cache->writer.has_farewell;
}

void device_cache_bid_farewell(void *device_cache)
{
    cache_writer_bid_farewell(&((struct device_cache *)device_cache)->writer);
}

/* Of a cache that is never freed: what is not on disk, as far as is known while the worker is still
 * at it. By a thread that nobody waits for, since the log may be a file on the disk that has not
 * answered. What is written as the first file is there all the same (FILE_NAMED_FIRST). */
static void device_cache_tell_given_up(void *argument)
{
    struct device_cache *device_cache = argument;
    const struct cache_schedule *schedule = &device_cache->writer.schedule;
    const bool is_first =
        atomic_load(&schedule->last_commit_ns) == 0 && device_report_is_cold(&device_cache->report);
    if (cache_schedule_is_touched(schedule) ||
        (atomic_load(&schedule->pending) && !(is_first && device_cache_has_file(device_cache)))) {
        device_report_not_saved(&device_cache->report, STATUS_locked,
                                store_path(device_cache->writer.store));
    }
}

bool device_cache_finish(struct device_cache *device_cache)
{
    const bool removed = worker_remove(&device_cache->client);
    if (!removed && !worker_is_of_this_process(&device_cache->client)) {
        return false;
    }
    const bool finished = removed && cache_writer_finish(&device_cache->writer,
                                                         cache_load_loaded(&device_cache->load));
    /* Also beside a worker that is at the disk: it does not come to the driver any more. */
    cache_collection_finish(&device_cache->writer.collection);
    driver_cache_destroy(&device_cache->caches, device_cache->load.cache);
    if (finished) {
        cache_writer_end(&device_cache->writer);
    } else if (device_cache->writer.saves) {
        worker_do_behind(device_cache_tell_given_up, device_cache);
    }
    return finished;
}

/* Creations. */

void device_cache_creating(struct device_cache *device_cache)
{
    cache_schedule_begin(&device_cache->writer.schedule);
}

/* Drivers register handlers with atexit when they first compile (Mesa's threads, for one); the gate
 * must be closed before those run. A process may have several drivers. */
static void device_cache_register_gate_again(struct device_cache *device_cache)
{
    if (!atomic_load_explicit(&device_cache->is_behind_exits, memory_order_relaxed) &&
        !atomic_exchange(&device_cache->is_behind_exits, true)) {
        driver_gate_register_behind(identity_digest(&device_cache->identity).low);
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
        cache_load_return(&device_cache->load);
    }
    device_cache_register_gate_again(device_cache);
}

void device_cache_defer(struct device_cache *device_cache, bool is_of_blob)
{
    if (is_of_blob) {
        atomic_store(&device_cache->has_deferred_of_blob, true);
    }
    atomic_store(&device_cache->has_deferred, true);
}

bool device_cache_has_deferred(const struct device_cache *device_cache, bool *ret_of_blob)
{
    *ret_of_blob = atomic_load(&device_cache->has_deferred_of_blob);
    return atomic_load(&device_cache->has_deferred);
}

void device_cache_called(struct device_cache *device_cache)
{
    const bool has_looked =
        cache_writer_look_here(&device_cache->writer, cache_load_loaded(&device_cache->load));
    if (device_report_called(&device_cache->report) || has_looked) {
        worker_wake(&device_cache->client);
    }
}

struct cache_schedule_mark device_cache_count(const struct device_cache *device_cache)
{
    return cache_schedule_count(&device_cache->writer.schedule);
}

void device_cache_was_read(struct device_cache *device_cache, const void *data, size_t size,
                           const struct cache_schedule_mark *mark)
{
    if (cache_writer_take_copy(&device_cache->writer, data, size, mark)) {
        worker_wake(&device_cache->client);
    }
}

bool device_cache_is_creating(const struct device_cache *device_cache)
{
    return atomic_load_explicit(&device_cache->writer.schedule.running, memory_order_relaxed) > 0;
}

void device_cache_prewarmed(struct device_cache *device_cache, bool compiled, uint64_t took_ns)
{
    cache_load_return(&device_cache->load);
    cache_schedule_note(&device_cache->writer.schedule,
                        compiled ? DEVICE_CACHE_COMPILED : DEVICE_CACHE_UNKNOWN, compiled, took_ns);
    device_cache_wake_to_save(device_cache);
}

/* What others ask. */

VkPipelineCache device_cache_loaded_cache(const struct device_cache *device_cache)
{
    return cache_load_loaded(&device_cache->load);
}

bool device_cache_is_withheld(const struct device_cache *device_cache)
{
    return device_cache_is_loaded(device_cache) && device_cache->load.is_withheld;
}

void device_cache_set_unusable(struct device_cache *device_cache, void (*tell)(void *user),
                               void *user)
{
    device_cache->load.tell_unusable = tell;
    device_cache->load.unusable_user = user;
}

void device_cache_recall(struct device_cache *device_cache)
{
    call_costs_recall(&device_cache->writer.costs);
}

void device_cache_set_listener(struct device_cache *device_cache,
                               const struct cache_listener *listener)
{
    device_cache->writer.listener = *listener;
}

bool device_cache_has_file(const struct device_cache *device_cache)
{
    const struct store *store = device_cache->writer.store;
    return store && faccessat(AT_FDCWD, store_path(store), F_OK, 0) == 0;
}

bool device_cache_is_unfinished(const struct device_cache *device_cache)
{
    const struct store *store = device_cache->writer.store;
    return store && store_is_unfinished(store);
}

void device_cache_set_unfinished(const struct device_cache *device_cache, bool is_unfinished)
{
    if (device_cache->writer.saves) {
        store_set_unfinished(device_cache->writer.store, is_unfinished);
    }
}

struct digest device_cache_identity(const struct device_cache *device_cache)
{
    return identity_digest(&device_cache->identity);
}

void device_cache_expected(const struct device_cache *device_cache)
{
    device_report_expected(&device_cache->report);
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

uint64_t device_cache_read_ns(struct device_cache *device_cache)
{
    struct cache_writer *writer = &device_cache->writer;
    return writer->saves && !writer->caches->serialize &&
                   call_costs_allow(&writer->costs, SLOW_READ)
               ? atomic_load(&writer->schedule.last_read_ns)
               : 0;
}

void device_cache_wake_worker(struct device_cache *device_cache)
{
    worker_wake_now(&device_cache->client);
}
