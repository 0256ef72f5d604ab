// SPDX-License-Identifier: Apache-2.0
/* The device cache of one device: a VkPipelineCache of the layer's own. It is loaded from disk at
 * the first pipeline creation, given to every creation that has no cache of its own, and saved in
 * the background and when the device is destroyed. device_cache_state.h has the states of the load
 * and of the crash guard; cache_writer.h has the saves.
 *
 *     device_cache_new → [device_cache_cache → device_cache_creating → create pipelines →
 *     device_cache_created → device_cache_called]… → device_cache_finish → device_cache_delete
 *
 * _new, _delete, _plan_load, _set_listener, _set_unusable, _finish and the functions of the
 * farewell are for one thread while no other uses the device. Any number of threads may call the
 * others; prewarm calls some of them beside the program. The device cache is never the destination
 * of a merge, so its users need no lock (creating and reading are internally synchronized). No
 * failure here reaches the program: without a device cache it runs as it would without the layer.
 */
#ifndef WARMPIPE_LAYER_CACHE_DEVICE_CACHE_H
#define WARMPIPE_LAYER_CACHE_DEVICE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/driver/identity.h"
#include "common/driver/policy.h"
#include "common/settings/config.h"
#include "layer/cache/cache_writer.h"
#include "layer/cache/driver_cache.h"
#include "layer/trace/stats.h"

struct device_cache;

/* NULL: out of memory. Reads nothing from disk yet. */
struct device_cache *device_cache_new(const struct cache_setup *setup,
                                      const struct driver_identity *identity);

/* Frees the memory; NULL is a no-op. _has_farewell: whether that, after device_cache_finish, uses
 * the disk (it counts this start and writes its statistics). */
void device_cache_delete(struct device_cache *device_cache);
bool device_cache_has_farewell(const struct device_cache *device_cache);

/* Writes that count and those statistics for a device cache that is never freed; an argument of
 * worker_do_behind. */
void device_cache_bid_farewell(void *device_cache);

/* Returns the device cache, or VK_NULL_HANDLE if the driver may be given none. The first call loads
 * the blob; threads that come meanwhile wait for it, without a lock. They wait 20 ms if the driver
 * may call the program back, and not for long if the load may end late or never; then they get
 * VK_NULL_HANDLE. */
VkPipelineCache device_cache_cache(struct device_cache *device_cache);

/* Reads what earlier processes have learnt of this driver (call_costs.h). Call it before the cache
 * is loaded; otherwise the first load does it. Uses the disk. */
void device_cache_recall(struct device_cache *device_cache);

/* Whether device_cache_cache would return at once. */
bool device_cache_is_loaded(const struct device_cache *device_cache);

/* Has the worker load the cache, for a caller that must not wait (a call that asks to fail rather
 * than compile, row 90). */
void device_cache_load_soon(struct device_cache *device_cache);

/* Call it once, when everything is set up: the worker is to load the present file, at once if that
 * takes long, else from the first device_cache_expect_pipelines on. Costs a system call. */
void device_cache_plan_load(struct device_cache *device_cache);

/* The program creates an object that pipelines are made of. The worker begins a planned load, so
 * that the cache is ready before the first creation; not if our thread would be the program's
 * second one. Cheap. */
void device_cache_expect_pipelines(struct device_cache *device_cache);

/* From now on the worker begins no load. Waits for a load under way: without bound if it is in the
 * driver. False: the disk has not answered for as long as this thread has patience. */
bool device_cache_settle_load(struct device_cache *device_cache);

/* Returns the device cache if it is loaded, else VK_NULL_HANDLE. Never loads. */
VkPipelineCache device_cache_loaded_cache(const struct device_cache *device_cache);

/* What is known of a creation that has returned. */
struct device_cache_creation {
    bool saved; /* with the device cache, or a collected one; else the rest is not read */
    bool hot;   /* it was the device cache, so the driver has survived the blob */
    enum device_cache_change change;
    uint32_t compiled; /* number of ordinary pipelines that were, or may have been, compiled */
    uint64_t took_ns;
};

/* Brackets a creation that uses loaded data, with this crash state. The worker watches creations
 * that may compile; once a pipeline that was said to be stored has taken as long as a compile, it
 * watches all. Cheap. */
void device_cache_watch_begin(struct device_cache *device_cache, enum crash_state state);
void device_cache_watch_end(struct device_cache *device_cache, enum crash_state state,
                            uint64_t took_ns);

/* Brackets every creation of pipelines that goes down the chain. Neither waits for a save. */
void device_cache_creating(struct device_cache *device_cache);
void device_cache_created(struct device_cache *device_cache,
                          const struct device_cache_creation *creation);

/* A deferred operation will compile into a cache that is saved, whenever a thread of the program
 * joins one; a join does not tell which operation it is for. is_of_blob: its cache may hold loaded
 * data. _has_deferred: whether this, and *ret_of_blob, has ever been so. */
void device_cache_defer(struct device_cache *device_cache, bool is_of_blob);
bool device_cache_has_deferred(const struct device_cache *device_cache, bool *ret_of_blob);

/* The program's call for pipelines is about to return, whatever the result; no lock is held. Has
 * statistics written once the program is quiet, unless a save writes them. If our threads must not
 * call the driver, the snapshot is taken here. */
void device_cache_called(struct device_cache *device_cache);

/* The counts of creations until now. */
struct cache_schedule_mark device_cache_count(const struct device_cache *device_cache);

/* This data of the device cache was read for the program, after the counts of `mark`. It is copied,
 * and saved if our threads must not read the cache themselves. */
void device_cache_was_read(struct device_cache *device_cache, const void *data, size_t size,
                           const struct cache_schedule_mark *mark);

/* Whether a creation in such a bracket is under way. */
bool device_cache_is_creating(const struct device_cache *device_cache);

/* Our own thread has created a pipeline with the device cache. compiled: by the driver's feedback
 * it was compiled into the cache, which is to be saved as for the program's own pipelines. */
void device_cache_prewarmed(struct device_cache *device_cache, bool compiled, uint64_t took_ns);

/* Whether a process has begun to compile recipes for this device's cache and has not finished
 * (blobs/identity_files.h); and setting that. Uses the disk. Thread-safe. */
bool device_cache_is_unfinished(const struct device_cache *device_cache);
void device_cache_set_unfinished(const struct device_cache *device_cache, bool is_unfinished);

/* Whether the cache was loaded without its file, because memory lacked (what is compiled then
 * cannot be saved), or because the file has killed processes. */
bool device_cache_is_withheld(const struct device_cache *device_cache);

/* Whether there is a file for this driver and device, valid or not. One system call. */
bool device_cache_has_file(const struct device_cache *device_cache);

/* About how many bytes were, or would be, loaded from the file. One system call. */
size_t device_cache_blob_bytes(const struct device_cache *device_cache);

/* The digest that names this driver and device. */
struct digest device_cache_identity(const struct device_cache *device_cache);

/* The collection of the program's own caches, for our saves. After something was queued in it,
 * device_cache_wake_worker has the worker collect it. */
struct cache_collection *device_cache_collection(struct device_cache *device_cache);
void device_cache_wake_worker(struct device_cache *device_cache);

/* How long the driver's last read of the cache took, in nanoseconds; 0: not known, too long for a
 * thread of the program, or such a thread must not read. */
uint64_t device_cache_read_ns(struct device_cache *device_cache);

/* What the driver may be given, and access to its caches. */
const struct policy *device_cache_policy(const struct device_cache *device_cache);
const struct driver_caches *device_cache_caches(const struct device_cache *device_cache);

/* The program has made a pipeline cache of its own: logs one line if nothing is kept. */
void device_cache_expected(const struct device_cache *device_cache);

/* Sets who is told of saves. Call it before anything is created on the device. */
void device_cache_set_listener(struct device_cache *device_cache,
                               const struct cache_listener *listener);

/* Sets the function that the loading thread calls if the blob is of no use to the driver; NULL:
 * none. It is not called for a blob that processes died of, nor if memory lacks for the blob: such
 * a start must do nothing that the program itself would not do. */
void device_cache_set_unusable(struct device_cache *device_cache, void (*tell)(void *user),
                               void *user);

/* Call it in vkDestroyDevice, before that goes down the chain: stops the background saves, saves
 * new data, destroys the device cache and the collected caches, writes the line of statistics.
 * False: a thread may still be using the device cache and what it was given (worker_remove says
 * when), which must never be freed. */
bool device_cache_finish(struct device_cache *device_cache);

#endif
