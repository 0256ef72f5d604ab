// SPDX-License-Identifier: Apache-2.0
/* The device cache of one device: loaded from disk at the first pipeline creation, given to every
 * creation that has no cache of its own, saved in the background and when the device goes. How the
 * blob is loaded and watched, device_cache_state.h tells; how what is new is saved, cache_writer.h.
 *
 *     device_cache_new → [device_cache_cache → device_cache_creating → create pipelines →
 *     device_cache_created → device_cache_called]… → device_cache_finish → device_cache_delete
 *
 * device_cache_cache, _creating, _created and _called may be called by any number of threads at
 * once; the others by one thread while no other uses the device. The device cache is never the
 * destination of a merge, so its users need no lock (creating and reading are internally
 * synchronized). No failure here ever reaches the program: without a device cache it runs as it
 * would without us. */
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

/* Frees the memory; NULL is a no-op. _has_farewell: after device_cache_finish, whether that uses
 * the disk: to count this start, and to tell its statistics. */
void device_cache_delete(struct device_cache *device_cache);
bool device_cache_has_farewell(const struct device_cache *device_cache);

/* Does that alone, for a device cache that is never freed; an argument of worker_do_behind. */
void device_cache_bid_farewell(void *device_cache);

/* The device cache, or VK_NULL_HANDLE where the driver may be given none. The first call loads the
 * blob; threads that come meanwhile wait for it, without a lock. Where the driver may call the
 * program back they wait 20 ms, and not for long where its end may come late or never: then
 * VK_NULL_HANDLE. */
VkPipelineCache device_cache_cache(struct device_cache *device_cache);

/* Reads what earlier processes have learnt of this driver, before the cache is loaded; else the
 * first load does. Uses the disk. */
void device_cache_recall(struct device_cache *device_cache);

/* Whether a call of device_cache_cache would return at once. */
bool device_cache_is_loaded(const struct device_cache *device_cache);

/* Has the worker load, for a caller that must not wait (a call that asks to fail rather than
 * compile, row 90). */
void device_cache_load_soon(struct device_cache *device_cache);

/* Once, when all is set up: the worker is to load the file that is there, at once where that takes
 * long, else from the first device_cache_expect_pipelines on. A system call. */
void device_cache_plan_load(struct device_cache *device_cache);

/* The program makes what pipelines are made of: the worker begins a load that is planned, and is
 * ready sooner than the first creation would be, unless a thread of ours would be the program's
 * second one. Cheap. */
void device_cache_expect_pipelines(struct device_cache *device_cache);

/* From here on the worker loads no more; waits for a load that it has begun, for the driver however
 * long. False: the disk has not answered for as long as this thread has patience. */
bool device_cache_settle_load(struct device_cache *device_cache);

/* The device cache if it has been loaded, else VK_NULL_HANDLE: never loads. */
VkPipelineCache device_cache_loaded_cache(const struct device_cache *device_cache);

/* A creation that has returned. */
struct device_cache_creation {
    bool saved; /* with the device cache, or one that is collected; else the rest is not read */
    bool hot;   /* it was the device cache, and so the driver has survived the blob */
    enum device_cache_change change;
    uint32_t compiled; /* ordinary pipelines that were compiled, or may have been */
    uint64_t took_ns;
};

/* Brackets a creation that uses what was loaded, in this state: the worker is to watch one that may
 * compile, and all once one that was said to be stored has taken as long as a compile. Cheap. */
void device_cache_watch_begin(struct device_cache *device_cache, enum crash_state state);
void device_cache_watch_end(struct device_cache *device_cache, enum crash_state state,
                            uint64_t took_ns);

/* Brackets every creation of pipelines that goes down. Neither waits for a save. */
void device_cache_creating(struct device_cache *device_cache);
void device_cache_created(struct device_cache *device_cache,
                          const struct device_cache_creation *creation);

/* A deferred operation will compile into what is saved, whenever a thread of the program's joins
 * it; it is not known which one a join is of. is_of_blob: its cache may hold what was loaded.
 * _has_deferred: whether that, and *ret_of_blob, has ever been so. */
void device_cache_defer(struct device_cache *device_cache, bool is_of_blob);
bool device_cache_has_deferred(const struct device_cache *device_cache, bool *ret_of_blob);

/* A call of the program's for pipelines is about to return to it, whatever came of it; no lock is
 * held. Has statistics written once the program is quiet, unless a save writes them. Where our
 * threads must not call the driver, the snapshot is taken here. */
void device_cache_called(struct device_cache *device_cache);

/* What was counted of creations until now. */
struct cache_schedule_mark device_cache_count(const struct device_cache *device_cache);

/* These data of the device cache were read for the program, when at least so much was counted: they
 * are saved where our threads must not read it themselves. They are copied. */
void device_cache_was_read(struct device_cache *device_cache, const void *data, size_t size,
                           const struct cache_schedule_mark *mark);

/* Whether a creation so bracketed is under way. */
bool device_cache_is_creating(const struct device_cache *device_cache);

/* A thread of our own has created a pipeline with the device cache. compiled: into it, says the
 * driver, to be saved as the program's own. */
void device_cache_prewarmed(struct device_cache *device_cache, bool compiled, uint64_t took_ns);

/* Whether recipes were being compiled for this device's cache by a process that did not come to the
 * end (blobs/identity_files.h), and noting that. Uses the disk. Thread-safe. */
bool device_cache_is_unfinished(const struct device_cache *device_cache);
void device_cache_set_unfinished(const struct device_cache *device_cache, bool is_unfinished);

/* Whether it was loaded without its file, for which memory lacked, so that what is compiled cannot
 * be saved, or which has killed. */
bool device_cache_is_withheld(const struct device_cache *device_cache);

/* Whether there is a file for this driver and device, whole or not. One system call. */
bool device_cache_has_file(const struct device_cache *device_cache);

/* About how many bytes were or would be loaded from it. One system call. */
size_t device_cache_blob_bytes(const struct device_cache *device_cache);

/* The digest that names this driver and device. */
struct digest device_cache_identity(const struct device_cache *device_cache);

/* What the program's own caches are collected in, for our saves. Where something was queued in it,
 * device_cache_wake_worker has the worker collect it. */
struct cache_collection *device_cache_collection(struct device_cache *device_cache);
void device_cache_wake_worker(struct device_cache *device_cache);

/* What the driver has last taken to be read, in nanoseconds; 0: not known, or too long for a thread
 * of the program, or such a thread must not read. */
uint64_t device_cache_read_ns(struct device_cache *device_cache);

/* What the driver may be given, and the way to its caches. */
const struct policy *device_cache_policy(const struct device_cache *device_cache);
const struct driver_caches *device_cache_caches(const struct device_cache *device_cache);

/* The program has made a cache of its own for what it compiles: one line if nothing is kept. */
void device_cache_expected(const struct device_cache *device_cache);

/* Sets who is told of saves. Before anything is created on the device. */
void device_cache_set_listener(struct device_cache *device_cache,
                               const struct cache_listener *listener);

/* Sets what the thread that loads calls when the blob turns out to be of no use to the driver;
 * NULL: nothing. It is not called for a blob that processes died of, nor where memory lacks for it:
 * such a start must do nothing that the program itself would not do. */
void device_cache_set_unusable(struct device_cache *device_cache, void (*tell)(void *user),
                               void *user);

/* At vkDestroyDevice, before it goes down the chain: stops the background saves, saves what is new,
 * destroys the device cache and what was collected, writes the line of statistics. False: a thread
 * may still be using the device cache and what it was given (worker_remove says when): it must
 * never be freed. */
bool device_cache_finish(struct device_cache *device_cache);

#endif
