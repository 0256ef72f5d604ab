// SPDX-License-Identifier: Apache-2.0
/* When the driver's caches are looked at, and when a snapshot of them is written (cache_writer.h).
 *
 * When a look is due depends on the cost of creations and on the driver's feedback. It is due after
 * 50 ms without a compile (200 ms while a creation goes on). Under steady compiling it is due once
 * creations have taken a hundred times what a look costs, every 20 ms at most, after 30 s at the
 * latest.
 *
 * A write is due WARMPIPE_FLUSH_IDLE_MS after the last compile, later after a write of more than 2
 * MiB. Under steady compiling it is due a fourth of that time after the last write, once creations
 * have taken a hundred times what a write of this size costs. However little was compiled, it is
 * also due WARMPIPE_FLUSH_IDLE_MS after the first compile, and then at twice the age of the last
 * write, once creations have taken forty times what that write cost.
 *
 * A look or a write that these rules put off is due 30 s after the first compile that it is for, a
 * write WARMPIPE_FLUSH_IDLE_MS after it if that is longer; after a write of more than 2 MiB later.
 *
 * If creations take longer than the process runs, because others want the cores, all these amounts
 * of time in creations are up to four times as large.
 *
 * Nothing here takes a lock. The program's threads call cache_schedule_begin, _note and
 * _end; the threads that make the steps call the rest. What is written under the cache writer's
 * lock is marked below; cache_schedule_note_read writes two of these members without it. */
#ifndef WARMPIPE_LAYER_CACHE_CACHE_SCHEDULE_H
#define WARMPIPE_LAYER_CACHE_CACHE_SCHEDULE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/clock.h"
#include "layer/worker/own_wait.h"

#define CACHE_SCHEDULE_NEVER UINT64_MAX

/* The cost of a look is taken as at least this. */
#define CACHE_LOOK_LEAST_NS (CLOCK_MS / 5)

enum cache_schedule_step { CACHE_SCHEDULE_SNAPSHOT, CACHE_SCHEDULE_COMMIT };

/* What a creation has done to the device cache, or to a collected one, as far as known. */
enum device_cache_change {
    DEVICE_CACHE_UNCHANGED, /* hits by the driver's feedback, or nothing that it keeps: read when
                               the device ends */
    DEVICE_CACHE_UNKNOWN,   /* no feedback, or a hit that took as long as a compile */
    DEVICE_CACHE_COMPILED   /* at least one pipeline was compiled, by the driver's feedback */
};

struct cache_schedule {
    uint64_t flush_idle_ns;

    /* written by the program's threads */
    atomic_uint running;       /* creations under way */
    _Atomic uint64_t touched;  /* counts creations that may have changed the caches */
    _Atomic uint64_t hinted;   /* of these, those that are not UNCHANGED */
    _Atomic uint64_t missed;   /* those that were compiled, by the driver's feedback */
    _Atomic uint64_t compiled; /* counts ordinary pipelines that were compiled, or may have been */
    _Atomic uint64_t last_hint_ns;  /* monotonic, as all times here */
    _Atomic uint64_t first_hint_ns; /* since the last look */
    _Atomic uint64_t begun_ns;      /* the first of all; 0: there was none */
    _Atomic uint64_t busy_ns; /* spent in creations, by all threads together, but by no more at once
                                 than there are cores */

    /* written by the worker */
    atomic_uint cores;      /* 0: not queried yet */
    _Atomic uint64_t crowd; /* time in creations / CPU time of the process: 1 to 4 */
    uint64_t crowd_last;    /* used by the worker alone: the last measurement, 0 to 4, … */
    uint64_t crowd_busy_ns; /* … and its inputs */
    uint64_t crowd_ran_ns;

    /* written under the cache writer's lock; cache_schedule_due reads it without */
    _Atomic uint64_t looked;        /* `touched` at the last look */
    _Atomic uint64_t looked_hinted; /* `hinted` likewise */
    _Atomic uint64_t looked_busy_ns;
    _Atomic uint64_t empty_until; /* an empty cache is not read before so many compiles */
    atomic_uint failures;         /* in a row */
    _Atomic uint64_t last_step_ns;
    _Atomic uint64_t last_cost_ns; /* how long the last snapshot or commit took */
    atomic_bool last_was_quiet;    /* whether nothing had been compiled for a while before */
    _Atomic uint64_t look_cost_ns; /* the cost of a look that nothing else delays */
    atomic_bool pending;           /* a snapshot is not on disk, or one was too large */
    _Atomic size_t pending_size;
    _Atomic uint64_t first_pending_ns; /* when the first pipeline in it was compiled */
    _Atomic uint64_t last_commit_ns;
    _Atomic uint64_t paced_until_ns; /* no commit in quiet before, unless creations pay for it */
    _Atomic uint64_t committed_busy_ns;
    _Atomic uint64_t commit_cost_ns; /* the worker's CPU time for its last commit */
    _Atomic uint64_t last_look_ns;   /* duration of the last look; 0: there was none */
    _Atomic uint64_t last_read_ns;   /* of the last one that read more than the size; likewise */
};

/* The counts from before a look, which covers them. */
struct cache_schedule_mark {
    struct own_wait_timer timer;
    uint64_t start_ns;
    bool is_quiet; /* when the look began */
    uint64_t touched;
    uint64_t hinted;
    uint64_t missed;
    uint64_t busy_ns;
};

void cache_schedule_init(struct cache_schedule *schedule, uint32_t flush_idle_ms);

/* A blob of so many bytes was loaded; its size is a first estimate of the cost of a look. */
void cache_schedule_set_loaded(struct cache_schedule *schedule, size_t size);

/* On the worker, before each look or save: queries the number of cores (which reads files, once),
 * and measures how crowded they are. */
void cache_schedule_know_machine(struct cache_schedule *schedule);

/* A creation of the program begins, or has returned. */
void cache_schedule_begin(struct cache_schedule *schedule);
void cache_schedule_end(struct cache_schedule *schedule);

/* Notes what a creation, by the program or by us, may have done to the caches, in took_ns. For the
 * program's, call it before cache_schedule_end. `compiled`: the number of ordinary pipelines that
 * were compiled, or may have been. (An ordinary pipeline is one that a cache stores.) */
void cache_schedule_note(struct cache_schedule *schedule, enum device_cache_change change,
                         uint32_t compiled, uint64_t took_ns);

/* Returns when the next step is due, or CACHE_SCHEDULE_NEVER; *ret_step says which step. may_look
 * false: no snapshot. */
uint64_t cache_schedule_due(const struct cache_schedule *schedule, uint64_t now_ns, bool may_look,
                            enum cache_schedule_step *ret_step);

/* Whether anything is new since the last look; for the end of a device or process. */
bool cache_schedule_is_touched(const struct cache_schedule *schedule);

/* Whether anything calls for another look. */
bool cache_schedule_is_hinted(const struct cache_schedule *schedule);

/* Returns the counts; call it before anything is read. */
struct cache_schedule_mark cache_schedule_count(const struct cache_schedule *schedule);

/* Brackets a look. mark: the counts; timer: of the look, without the time in which it lacked a
 * core. failed: the driver has refused; has_read: more than the size was read. */
void cache_schedule_begin_look(struct cache_schedule *schedule, struct cache_schedule_mark *mark,
                               const struct own_wait_timer *timer);
void cache_schedule_end_look(struct cache_schedule *schedule,
                             const struct cache_schedule_mark *mark, bool failed, bool has_read);

/* A read of the driver's data took so long, inside a look or beside a step. Needs no lock. */
void cache_schedule_note_read(struct cache_schedule *schedule, uint64_t took_ns);

/* Whether nothing has been compiled for a while. Call it when a look or a save begins: a compile
 * during the step is no reason for the next step to come at once. */
bool cache_schedule_is_quiet(const struct cache_schedule *schedule);

/* A commit has ended. start_ns, was_quiet and busy_ns are from its begin; cost_ns: the worker's CPU
 * time for it (0: it was not the worker). written: bytes that hold new pipelines of this process
 * (0: none, or it has failed). */
void cache_schedule_committed(struct cache_schedule *schedule, uint64_t start_ns, bool was_quiet,
                              uint64_t busy_ns, uint64_t cost_ns, size_t written);

/* The cache is empty: no look before twice as much was compiled. False: too little was compiled to
 * conclude that it stays empty. */
bool cache_schedule_note_empty(struct cache_schedule *schedule, bool at_end);

#endif
