// SPDX-License-Identifier: Apache-2.0
/* The shared state of the watching and the replaying process of `warmpipe warm`.
 *
 * The watching process (warm_watch.c) never loads Vulkan. A driver may crash or hang, so another
 * process (warm_replay.c) replays. It reports in memory that both map, which outlives it. States of
 * one run, and which function moves it on:
 *
 *     1 probing     the probe process has the drivers loaded    warm_probe_start
 *     2 replaying   end = NONE, slots name the items at work    watch_start
 *     3 ended       end = DONE, INTERRUPTED or FAILED           warm_replay_run
 *     4 died        the process is gone, end is still NONE      the driver, or watch_check_hang
 *     5 isolating   one suspect alone in a process              watch_isolate
 *
 *     1 → 2   the probe process becomes the replaying one       warm_probe_send
 *     2 → 3   all items replayed, a signal, or a failure        replay_end
 *     2 → 4   a crash, or a kill because of a hang              watch_wait sees the socket close
 *     4 → 2   one item was at work: block it, start again       watch_recover, watch_block
 *             with the pending ones
 *     4 → 5   several were at work, or SIGKILL came from        watch_recover
 *             elsewhere: try each alone
 *     5 → 2   what died alone is blocked, but not by SIGKILL    watch_recover,
 *             from elsewhere; if none did, one thread           watch_judge_alone
 *             replays from now on
 *     3 → 2   all pending items are done after a crash: once    warm_watch_run
 *             more all, also what those that died had compiled
 *     4 → 3   no item was at work, twice with nothing done      watch_is_getting_on
 *             in between
 */
#ifndef WARMPIPE_TOOLS_WARM_WARM_H
#define WARMPIPE_TOOLS_WARM_WARM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <vulkan/vulkan.h>

#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/blobs/store.h"
#include "common/driver/environment.h"
#include "common/driver/identity.h"
#include "common/driver/policy.h"
#include "common/recipes/recipes.h"
#include "common/replay/replay.h"
#include "tools/cli/output.h"
#include "tools/vulkan/vulkan_loader.h"

#define WARM_MAX_JOBS 64

/* One program on one device: what a run is for. */
struct warm_target {
    const char *root;
    const char *app;
    const struct warm_recipes *recipes;
    struct driver_identity identity; /* names the program's caches */
    struct digest digest;            /* of the identity */
    uint32_t device;                 /* its place in the loader's order */
    struct policy policy;
    uint64_t max_blob;   /* bytes: the smaller of the policy's limit and the settings' */
    unsigned jobs;       /* threads */
    uint64_t timeout_ns; /* a pipeline that takes longer counts as a hang */
    bool any_key;        /* also where the driver's pipeline key is another */
    bool offer_only;     /* replay nothing: only find out what the device offers */
    bool pending_only;   /* not what a process that died has compiled, too: that comes last */
};

/* Whether a program with this environment has its caches named by the target's identity: a program
 * below Vulkan 1.1 sees less of the identity. */
bool warm_target_has(const struct warm_target *target, const struct environment *environment);

/* How many of the recipes' items are for the target. */
size_t warm_target_count(const struct warm_target *target);

/* The store of the target's blobs. NULL: out of memory. */
struct store *warm_target_store(const struct warm_target *target, bool read_only);

/* The identity as a program without vkGetPhysicalDeviceProperties2 sees it. */
struct driver_identity warm_basic_identity(const struct driver_identity *identity);

/* The result of an item: an outcome of replay, or one of these. */
enum warm_outcome {
    WARM_CRASHED = REPLAY_OUTCOME_COUNT, /* crashed or hung the driver, now or before */
    WARM_NOT_OFFERED,                    /* the device does not offer something that was enabled */
    WARM_OTHER_KEY, /* the driver would compile differently here than for the program */
    WARM_PENDING,
    WARM_OUTCOME_COUNT
};

/* How a process ended. */
enum warm_end {
    WARM_END_NONE, /* not reported */
    WARM_END_DONE,
    WARM_END_INTERRUPTED,
    WARM_END_FAILED /* `failure` says why */
};

/* What one worker is doing. */
struct warm_slot {
    _Atomic uint32_t item;     /* index + 1; 0: idle */
    _Atomic uint64_t since_ns; /* CLOCK_MONOTONIC */
};

/* Names of what the device lacks. */
#define WARM_MAX_LACKS 32
#define WARM_LACK_SIZE 256 /* a longer name is cut */

struct warm_lacks {
    _Atomic uint32_t count;
    char names[WARM_MAX_LACKS][WARM_LACK_SIZE];
};

struct warm_item_state {
    _Atomic uint8_t outcome; /* enum warm_outcome */
    _Atomic uint32_t lacks;  /* bit n: it needs the n-th name of the lacks */
};

struct warm_shared {
    size_t size; /* of this mapping, bytes */
    size_t item_count;
    struct warm_slot slots[WARM_MAX_JOBS];
    enum warm_end end;
    char failure[160];
    struct warm_lacks lacks;
    enum status save_reason; /* of the last save */
    uint64_t saved_bytes;    /* 0: nothing is saved */
    struct warm_item_state items[];
};

/* Maps it with all items pending. NULL: out of memory. */
struct warm_shared *warm_shared_new(size_t item_count);

/* NULL is a no-op. */
void warm_shared_delete(struct warm_shared *shared);

/* Resets it for another target. */
void warm_shared_reset(struct warm_shared *shared);

/* Call it before a process is started: clears the report of an earlier process. Outcomes stay. */
void warm_shared_restart(struct warm_shared *shared);

/* Items by outcome, and by what they need and the device lacks. */
struct warm_counts {
    size_t of[WARM_OUTCOME_COUNT];
    size_t lacking[WARM_MAX_LACKS];
};
struct warm_counts warm_shared_count(const struct warm_shared *shared);

/* The progress of a run, on standard error: a bar on a terminal, else a line from time to time. */
struct warm_progress {
    const struct warm_target *target;
    const struct warm_shared *shared;
    size_t total;
    bool terminal;
    bool shown; /* a bar is on the terminal */
    uint64_t begin_ns;
    uint64_t next_ns; /* write nothing before */
};

/* Borrows target and shared. */
void warm_progress_begin(struct warm_progress *progress, const struct warm_target *target,
                         const struct warm_shared *shared);

/* May be called as often as wanted. */
void warm_progress_show(struct warm_progress *progress);

/* Removes the bar, so that something else can be written. */
void warm_progress_clear(struct warm_progress *progress);

/* All items. */
#define WARM_ALL SIZE_MAX

/* The replaying process (warm_replay.c): replays the target's items, or only the one of index
 * `only`, saves, and reports in `shared`. Everything of Vulkan happens in it. SIGINT and SIGTERM
 * end it early; what is compiled is saved. Called in a child of fork that has one thread. Ends the
 * process. */
_Noreturn void warm_replay_run(const struct warm_target *target, struct warm_shared *shared,
                               size_t only);

/* The recipes of one run of `warmpipe warm`: those of a program's folder, or of files from
 * anywhere, whose SPIR-V is then validated before a driver gets it. */

/* One pipeline in one environment. */
struct warm_item {
    const struct recipe_use *use; /* borrowed from the files */
    uint32_t environment;         /* index: of the use's environment, or of an equal one */
};

struct warm_recipes {
    struct recipes *files;             /* all as one; NULL: there are none */
    struct spirv_validator *validator; /* NULL: they are the program's own, and trusted */
    struct environment **environments; /* each once; those that differ only in the device are one */
    struct digest *meanings;           /* of each environment: environment_meaning */
    size_t environment_count;
    struct warm_item *items; /* by environment, then the slowest first */
    size_t item_count;
    bool is_cut;     /* a file from elsewhere lacks its end */
    size_t unusable; /* uses whose environment is missing or does not decode */
};

/* Opens the recipes of the program `app` below the root, or, unless `paths` (NULL-terminated) is
 * NULL or empty, those files and the files in those folders. A program without recipes has no
 * items. False after a message. Freed with warm_recipes_close. */
bool warm_recipes_open(const char *root, const char *app, char **paths,
                       struct warm_recipes *ret_recipes);

void warm_recipes_close(struct warm_recipes *recipes);

/* Returns what the program has compiled on the target's device and no save has included since
 * (struct recipe_use), for example because it was killed; without what has crashed the driver.
 * Nothing for recipes from elsewhere: they do not tell what is in the caches here. To be freed;
 * NULL: out of memory, and the count is 0. */
struct recipe_use *warm_recipes_unsaved(const struct warm_target *target, size_t *ret_count);

/* Records that those of these that a run has replayed are saved now. */
void warm_recipes_note_saved(const struct warm_target *target, const struct warm_shared *shared,
                             const struct recipe_use *unsaved, size_t count);

/* Makes the source for a device with the environment of this index. Borrows the recipes. Any number
 * of threads may use it at once. */
struct replay_source warm_recipes_source(const struct warm_recipes *recipes, size_t environment);

/* The watching process: it starts the replaying process, and starts it again without the recipe
 * that crashed or hung the driver. It never loads Vulkan.
 *
 * SIGINT and SIGTERM end a run early and keep what is compiled. They are delivered only while this
 * process waits, so they interrupt nothing else. One thread. */

/* Handles SIGINT and SIGTERM from now on. Called once, before anything else here. */
void warm_watch_prepare(void);

/* Whether one of the signals has come. */
bool warm_watch_is_stopped(void);

/* The process that lists the devices. It keeps the drivers loaded and waits, because it may become
 * the process that replays: loading a driver again takes as long as tens of pipelines. */
struct warm_probe {
    pid_t pid;            /* 0: there is none (any more) */
    int fd;               /* our end of its socket */
    const char *settings; /* driver settings that it has made its own; "": it has this process's */
};

/* Lists the devices of this machine as vulkan_devices_list does, in the probe process, which makes
 * `settings` its own before (driver_settings_use; borrowed while there is a probe). Waits for at
 * most `timeout_ns`, or until a signal comes. False after a message, and then there is no probe.
 * Ended by warm_watch_run or warm_probe_end. */
bool warm_probe_start(struct warm_probe *ret_probe, struct warm_shared *shared,
                      const char *settings, uint64_t timeout_ns,
                      struct vulkan_devices *ret_devices);

/* Ends it and waits for that; a no-op where there is none. */
void warm_probe_end(struct warm_probe *probe);

/* Replays the target, whose items `shared` is for, in child processes; the first one is the probe,
 * if there is one: it must have been started with `shared`, after what the target points to was
 * made. Shows its progress. shared->end tells how it ended. */
void warm_watch_run(const struct warm_target *target, struct warm_shared *shared,
                    struct warm_probe *probe);

/* As recipe_crashes_are_many_of, but writes nothing. */
bool warm_many_have_died(const char *root, const char *app, struct digest identity);

/* Whether a replay for a target, by `warm` or ahead of a program, has finished:
 * common/blobs/identity_files.h. One thread. */

/* Whether a replay has begun and not finished. */
bool warm_unfinished_is(const struct warm_target *target);

/* Call it before a replay. Returns whether it has made the file. */
bool warm_unfinished_begin(const struct warm_target *target);

/* Call it after the replay. made: the result of warm_unfinished_begin. */
void warm_unfinished_end(const struct warm_target *target, bool made);

/* What recipes are replayed on: a device for one environment, equal to the program's as far as
 * pipelines are concerned, and the pipeline cache that one program on one device is warmed into.
 * The cache starts with what is on disk, and is saved from time to time and at the end. Its content
 * outlives the Vulkan devices that fill it one after the other:
 *
 *     warm_cache_attach      loads the file (the first time) and makes the cache object
 *     warm_cache_save        as often as wanted
 *     warm_cache_detach      destroys the object, keeps its data for the next device
 */

struct warm_vulkan {
    struct vulkan_loader loader;
    VkPhysicalDevice physical;
    VkDevice device;
    PFN_vkGetDeviceProcAddr get;
    struct replay_commands commands;
    struct replay_limits limits;
    bool feedback; /* creation feedback may be chained */
};

enum warm_made {
    WARM_MADE,
    WARM_NOT_MADE,     /* the device does not offer the environment, or refuses it */
    WARM_OTHER_DEVICE, /* the device is gone, is another one, or has another identity */
    WARM_NO_DEVICE     /* nothing will work, or memory lacks just now */
};

/* Makes an instance and, if the target's device offers all of the environment, the device; of a
 * target of offer_only not the device itself. WARM_NOT_MADE: `tell` was told what it lacks.
 * WARM_OTHER_DEVICE, WARM_NO_DEVICE: text (of `size` bytes) says why. Closed with
 * warm_vulkan_close, whatever the result. */
enum warm_made warm_vulkan_open(const struct environment *environment,
                                const struct warm_target *target, struct warm_vulkan *ret_vulkan,
                                char *text, size_t size, environment_tell *tell, void *user);

void warm_vulkan_close(struct warm_vulkan *vulkan);

struct warm_cache {
    struct store *store;    /* borrowed */
    bool may_merge;         /* the driver may be given a second cache object */
    uint64_t max_blob;      /* bytes */
    pthread_mutex_t *alone; /* held by each user of the cache; NULL: any number at once */
    /* Zero at first. */
    const struct warm_vulkan *vulkan;
    VkPipelineCache handle; /* NULL: not attached */
    bool loaded;            /* the file was read, if there is one */
    void *data;             /* of the last device, or of the file */
    size_t size;
    struct digest saved; /* of the data that is on disk */
};

/* Makes the cache object on this device with all data so far. The file's marker stays until the
 * driver has taken its data. False: the driver refuses. */
bool warm_cache_attach(struct warm_cache *cache, const struct warm_vulkan *vulkan);

/* Whether the cache object holds nothing but a header. Other threads may compile meanwhile. */
bool warm_cache_is_empty(struct warm_cache *cache);

/* Writes what the cache object holds, unless nothing is new. *ret_size: bytes of it, also on
 * failure. ineffective: the driver keeps nothing in it. Other threads may compile meanwhile. */
enum status warm_cache_save(struct warm_cache *cache, size_t *ret_size);

/* Destroys the cache object, and keeps what it holds. */
void warm_cache_detach(struct warm_cache *cache);

/* The result of a run for one program on one device: one row. */

enum warm_state {
    WARM_STATE_WARMED,
    WARM_STATE_READY,       /* there is a cache that lacks nothing */
    WARM_STATE_DENIED,      /* the driver policy forbids keeping anything */
    WARM_STATE_TO_DO,       /* a dry run */
    WARM_STATE_NOTHING,     /* no recipe could be replayed */
    WARM_STATE_INEFFECTIVE, /* the driver keeps nothing in its cache */
    WARM_STATE_NOT_SAVED,
    WARM_STATE_INTERRUPTED,
    WARM_STATE_FAILED
};

struct warm_report {
    const char *app;
    const char *device;
    enum warm_state state;
    size_t total;
    struct warm_counts counts;
    uint64_t saved_bytes;
    uint64_t time_ns;
};

/* Fills in the result of a run that has ended; prints messages for what needs words. */
void warm_report_take(struct warm_report *report, const struct warm_target *target,
                      const struct warm_shared *shared);

/* `detailed`: skipped recipes by their reasons. */
void warm_report_show(const struct warm_report *report, struct output *output, bool detailed);

/* Whether something went wrong. */
bool warm_report_is_finding(const struct warm_report *report);

/* Coverage: how many of a program's pipelines a device can have, and what the others need that
 * it lacks. Collected over the programs of `warmpipe warm`, shown at the end. */

struct warm_coverage_row;

/* Zero-initialize it. */
struct warm_coverage {
    struct warm_coverage_row *rows;
    size_t count;
};

/* Adds the result of a run that has ended. Copies; skips what there is no memory for. A dry run
 * knows extensions and features; only a replay knows limits. */
void warm_coverage_add(struct warm_coverage *coverage, const struct warm_report *report,
                       const struct warm_shared *shared);

/* Queries the drivers, in child processes, for what the recipes' devices had enabled, and adds the
 * result, as a dry run of `warmpipe warm` does: for verbs that replay nothing. Nothing is shown of
 * a program without recipes, or without devices here. Called with one thread. */
void warm_coverage_ask(struct warm_coverage *coverage, const char *root, const char *app,
                       const struct vulkan_devices *devices);

/* Two tables: the pipelines of each program and device, and what is lacking. Text: only if
 * something is, or `always`. */
void warm_coverage_show(const struct warm_coverage *coverage, struct output *output, bool always);

/* Frees the rows. */
void warm_coverage_free(struct warm_coverage *coverage);

#endif
