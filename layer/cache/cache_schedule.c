// SPDX-License-Identifier: Apache-2.0
#include "layer/cache/cache_schedule.h"

#include "common/base/machine.h"

/* Quiet time before a look, and least time between two steps in quiet. */
#define QUIET_NS   (50 * CLOCK_MS)
#define SPACING_NS (1000 * CLOCK_MS)

/* A creation that takes longer than this is no longer waited for. */
#define LONG_NS (200 * CLOCK_MS)

/* Under steady compiling: least time between two looks, and the longest wait for a look that costs
 * more than it may. */
#define STEADY_SPACING_NS (20 * CLOCK_MS)
#define STEADY_NS         (30000 * CLOCK_MS)

/* Two writes are as far apart as this part of WARMPIPE_FLUSH_IDLE_MS. */
#define STEADY_PART 4

/* A step that waits for quiet is not repeated before so many times its own length has passed; one
 * under steady compiling, before so many times its cost was spent in the program's creations. */
#define REST_FACTOR   50
#define STEADY_FACTOR 100

/* A write for who may be killed (cache_schedule_soon) is not made before so many times what the
 * last one cost, with what others had saved, was spent in creations. */
#define SOON_FACTOR 40

/* How crowded the cores are is told by at least so much time in creations. A driver that compiles
 * elsewhere looks like a crowd: no more than this is believed. */
#define CROWD_WINDOW_NS (20 * CLOCK_MS)
#define CROWD_MAX       4

/* What a byte costs on its way to disk (200 MB/s), and a save at least. */
#define BYTE_COST_NS   5
#define COMMIT_COST_NS (CLOCK_MS / 2)

/* A large file is not written behind each single pipeline: for each byte of a write beyond these,
 * the next one waits so long, or until so many times what it costs was spent in creations. */
#define PACE_FREE_BYTES (2 << 20)
#define PACE_BYTE_NS    1000
#define PACE_FACTOR     5

/* So many ordinary compiles must leave a cache empty before it is believed to stay so. */
#define INEFFECTIVE_AFTER 8

/* Failures in a row after which only the program's next creation, and the end, try again. */
#define MAX_FAILURES 6

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

void cache_schedule_init(struct cache_schedule *schedule, uint32_t flush_idle_ms)
{
    *schedule = (struct cache_schedule){
        .flush_idle_ns = flush_idle_ms * CLOCK_MS,
        .look_cost_ns = CACHE_LOOK_LEAST_NS,
        .crowd = 1,
        .crowd_last = 1,
    };
}

void cache_schedule_set_loaded(struct cache_schedule *schedule, size_t size)
{
    schedule->look_cost_ns = later(CACHE_LOOK_LEAST_NS, size); /* 1 GB/s */
}

void cache_schedule_know_machine(struct cache_schedule *schedule)
{
    if (atomic_load_explicit(&schedule->cores, memory_order_relaxed) == 0) {
        atomic_store_explicit(&schedule->cores, machine_cores(""), memory_order_relaxed);
    }
    const uint64_t busy_ns = atomic_load(&schedule->busy_ns);
    const uint64_t spent_ns = busy_ns - schedule->crowd_busy_ns;
    if (spent_ns >= CROWD_WINDOW_NS) {
        const uint64_t now_ns = clock_process_ran_ns();
        const uint64_t ran_ns = now_ns - schedule->crowd_ran_ns;
        /* The smaller one of two: a long creation counts when it returns, and has run before. */
        const uint64_t crowd = earlier(spent_ns / (ran_ns | 1), CROWD_MAX);
        atomic_store_explicit(&schedule->crowd, later(earlier(crowd, schedule->crowd_last), 1),
                              memory_order_relaxed);
        schedule->crowd_last = crowd;
        schedule->crowd_busy_ns = busy_ns;
        schedule->crowd_ran_ns = now_ns;
    }
}

void cache_schedule_begin(struct cache_schedule *schedule)
{
    atomic_fetch_add_explicit(&schedule->running, 1, memory_order_relaxed);
}

/* What one of more creations than there are cores has had of them. */
static uint64_t cache_schedule_share(const struct cache_schedule *schedule, uint64_t took_ns)
{
    const unsigned cores = atomic_load_explicit(&schedule->cores, memory_order_relaxed);
    const unsigned running = atomic_load_explicit(&schedule->running, memory_order_relaxed);
    return cores > 0 && running > cores ? took_ns / running * cores : took_ns;
}

void cache_schedule_note(struct cache_schedule *schedule, enum device_cache_change change,
                         uint32_t compiled, uint64_t took_ns)
{
    atomic_fetch_add_explicit(&schedule->busy_ns, cache_schedule_share(schedule, took_ns),
                              memory_order_relaxed);
    if (compiled > 0) {
        atomic_fetch_add_explicit(&schedule->compiled, compiled, memory_order_relaxed);
    }
    if (change != DEVICE_CACHE_UNCHANGED) {
        const uint64_t now_ns = clock_now_ns();
        atomic_store_explicit(&schedule->last_hint_ns, now_ns, memory_order_relaxed);
        if (atomic_load(&schedule->hinted) == atomic_load(&schedule->looked_hinted)) {
            atomic_store_explicit(&schedule->first_hint_ns, now_ns, memory_order_relaxed);
            if (atomic_load_explicit(&schedule->begun_ns, memory_order_relaxed) == 0) {
                atomic_store_explicit(&schedule->begun_ns, now_ns, memory_order_relaxed);
            }
        }
        atomic_fetch_add_explicit(&schedule->missed, change == DEVICE_CACHE_COMPILED,
                                  memory_order_relaxed);
        atomic_fetch_add(&schedule->hinted, 1);
    }
    atomic_fetch_add(&schedule->touched, 1);
}

void cache_schedule_end(struct cache_schedule *schedule)
{
    atomic_fetch_sub_explicit(&schedule->running, 1, memory_order_release);
}

bool cache_schedule_is_touched(const struct cache_schedule *schedule)
{
    return atomic_load(&schedule->touched) != atomic_load(&schedule->looked) ||
           atomic_load(&schedule->failures) > 0;
}

bool cache_schedule_is_hinted(const struct cache_schedule *schedule)
{
    return atomic_load(&schedule->hinted) != atomic_load(&schedule->looked_hinted);
}

/* When the program will have spent in creations `factor` times what a step costs, or more where its
 * creations wait for cores: 0 where it has, CACHE_SCHEDULE_NEVER where it creates nothing, else a
 * guess, since several threads may be creating. */
static __attribute__((noinline)) uint64_t
cache_schedule_earned_at(const struct cache_schedule *schedule, uint64_t now_ns,
                         uint64_t since_busy_ns, uint64_t cost_ns, unsigned factor)
{
    const uint64_t earned_ns = atomic_load(&schedule->busy_ns) - since_busy_ns;
    const uint64_t needed_ns = cost_ns * factor * atomic_load(&schedule->crowd);
    if (earned_ns >= needed_ns) {
        return 0;
    }
    const bool is_steady = atomic_load(&schedule->running) > 0 ||
                           now_ns < atomic_load(&schedule->last_hint_ns) + LONG_NS;
    return is_steady ? now_ns + later(STEADY_SPACING_NS, (needed_ns - earned_ns) / 8)
                     : CACHE_SCHEDULE_NEVER;
}

/* The earliest moment for another step that waits for quiet, by how long the last one took. None
 * has to wait behind one under steady compiling, which has been paid for, and has not seen the end.
 */
static uint64_t cache_schedule_rested_at(const struct cache_schedule *schedule)
{
    const unsigned failures = atomic_load(&schedule->failures);
    if (failures == 0 && !atomic_load(&schedule->last_was_quiet)) {
        return 0;
    }
    return atomic_load(&schedule->last_step_ns) +
           later(SPACING_NS << failures, atomic_load(&schedule->last_cost_ns) * REST_FACTOR);
}

static uint64_t cache_schedule_snapshot_due(const struct cache_schedule *schedule, uint64_t now_ns)
{
    const unsigned failures = atomic_load(&schedule->failures);
    if (!cache_schedule_is_hinted(schedule)) {
        return failures > 0 && failures < MAX_FAILURES ? cache_schedule_rested_at(schedule)
                                                       : CACHE_SCHEDULE_NEVER;
    }
    if (atomic_load(&schedule->compiled) < atomic_load(&schedule->empty_until)) {
        return CACHE_SCHEDULE_NEVER;
    }
    const bool is_running = atomic_load(&schedule->running) > 0;
    const uint64_t quiet =
        later(atomic_load(&schedule->last_hint_ns) + (is_running ? LONG_NS : QUIET_NS),
              cache_schedule_rested_at(schedule));
    const uint64_t earned =
        cache_schedule_earned_at(schedule, now_ns, atomic_load(&schedule->looked_busy_ns),
                                 atomic_load(&schedule->look_cost_ns), STEADY_FACTOR);
    const uint64_t steady =
        failures > 0 ? CACHE_SCHEDULE_NEVER
                     : later(earned, atomic_load(&schedule->last_step_ns) + STEADY_SPACING_NS);
    return earlier(quiet, earlier(steady, atomic_load(&schedule->first_hint_ns) + STEADY_NS));
}

/* For who never is quiet for long, and may be killed: the first write as soon as the first compile
 * is so old, each later one when twice the time has passed that the one before had; unless a save
 * is dear, as where it is merged with those of many processes. */
static uint64_t cache_schedule_soon(const struct cache_schedule *schedule, uint64_t now_ns)
{
    const uint64_t begun = atomic_load(&schedule->begun_ns);
    const uint64_t last = atomic_load(&schedule->last_commit_ns);
    const uint64_t first = atomic_load(&schedule->first_pending_ns);
    const uint64_t soon =
        later(first + schedule->flush_idle_ns, last > begun ? 2 * last - begun : 0);
    const uint64_t earned =
        cache_schedule_earned_at(schedule, now_ns, atomic_load(&schedule->committed_busy_ns),
                                 atomic_load(&schedule->commit_cost_ns), SOON_FACTOR);
    return later(soon, earned);
}

/* Under steady compiling, the wait begins with the last write, or before the first write with the
 * first compile. */
static uint64_t cache_schedule_commit_due(const struct cache_schedule *schedule, uint64_t now_ns)
{
    if (!atomic_load(&schedule->pending)) {
        return CACHE_SCHEDULE_NEVER;
    }
    const uint64_t first = atomic_load(&schedule->first_pending_ns);
    const uint64_t last = atomic_load(&schedule->last_commit_ns);
    const uint64_t cost =
        later(COMMIT_COST_NS + atomic_load(&schedule->pending_size) * BYTE_COST_NS,
              atomic_load(&schedule->commit_cost_ns));
    const uint64_t spent_ns =
        atomic_load(&schedule->busy_ns) - atomic_load(&schedule->committed_busy_ns);
    const uint64_t paced =
        spent_ns < cost * PACE_FACTOR ? atomic_load(&schedule->paced_until_ns) : 0;
    const uint64_t quiet =
        later(atomic_load(&schedule->last_hint_ns) + schedule->flush_idle_ns, paced);
    const uint64_t earned = cache_schedule_earned_at(
        schedule, now_ns, atomic_load(&schedule->committed_busy_ns), cost, STEADY_FACTOR);
    const uint64_t steady =
        later(earned, (last ? last : first) + schedule->flush_idle_ns / STEADY_PART);
    const uint64_t waited = later(first + later(STEADY_NS, schedule->flush_idle_ns), paced);
    return earlier(earlier(quiet, cache_schedule_soon(schedule, now_ns)), earlier(steady, waited));
}

uint64_t cache_schedule_due(const struct cache_schedule *schedule, uint64_t now_ns, bool may_look,
                            enum cache_schedule_step *ret_step)
{
    const uint64_t snapshot =
        may_look ? cache_schedule_snapshot_due(schedule, now_ns) : CACHE_SCHEDULE_NEVER;
    const uint64_t commit = cache_schedule_commit_due(schedule, now_ns);
    *ret_step = commit < snapshot ? CACHE_SCHEDULE_COMMIT : CACHE_SCHEDULE_SNAPSHOT;
    return earlier(commit, snapshot);
}

static uint64_t cache_schedule_note_step(struct cache_schedule *schedule, uint64_t start_ns,
                                         bool was_quiet)
{
    const uint64_t end_ns = clock_now_ns();
    atomic_store(&schedule->last_step_ns, end_ns);
    atomic_store(&schedule->last_cost_ns, end_ns - start_ns);
    atomic_store(&schedule->last_was_quiet, was_quiet);
    return end_ns;
}

bool cache_schedule_is_quiet(const struct cache_schedule *schedule)
{
    return clock_now_ns() >= atomic_load(&schedule->last_hint_ns) + QUIET_NS;
}

struct cache_schedule_mark cache_schedule_count(const struct cache_schedule *schedule)
{
    return (struct cache_schedule_mark){
        .touched = atomic_load(&schedule->touched),
        .hinted = atomic_load(&schedule->hinted),
        .missed = atomic_load(&schedule->missed),
        .busy_ns = atomic_load(&schedule->busy_ns),
    };
}

void cache_schedule_begin_look(struct cache_schedule *schedule, struct cache_schedule_mark *mark,
                               const struct own_wait_timer *timer)
{
    mark->timer = *timer;
    mark->start_ns = clock_now_ns();
    mark->is_quiet = cache_schedule_is_quiet(schedule);
    if (!atomic_load(&schedule->pending)) {
        atomic_store(&schedule->first_pending_ns, atomic_load(&schedule->first_hint_ns));
    }
}

void cache_schedule_note_read(struct cache_schedule *schedule, uint64_t took_ns)
{
    const uint64_t last_ns = atomic_exchange(&schedule->last_read_ns, took_ns);
    const uint64_t cost_ns = earlier(took_ns, last_ns ? last_ns : took_ns);
    atomic_store(&schedule->look_cost_ns, later(CACHE_LOOK_LEAST_NS, cost_ns));
}

void cache_schedule_end_look(struct cache_schedule *schedule,
                             const struct cache_schedule_mark *mark, bool failed, bool has_read)
{
    const unsigned failures = atomic_load(&schedule->failures);
    atomic_store(&schedule->failures, failed ? failures + (failures < MAX_FAILURES) : 0);
    /* Of what was compiled during the look; where that is nothing, the next creation sets it. */
    atomic_store_explicit(&schedule->first_hint_ns, mark->start_ns, memory_order_relaxed);
    atomic_store(&schedule->looked, mark->touched);
    atomic_store(&schedule->looked_hinted, mark->hinted);
    atomic_store(&schedule->looked_busy_ns, mark->busy_ns);
    /* The shorter one of two reads in a row tells the cost: the other one may have found a busy
     * machine. A look that asked for the size alone tells nothing of one that reads. */
    const uint64_t took_ns =
        earlier(cache_schedule_note_step(schedule, mark->start_ns, mark->is_quiet) - mark->start_ns,
                own_wait_timer_elapsed(&mark->timer));
    atomic_store(&schedule->last_look_ns, took_ns);
    if (has_read) {
        cache_schedule_note_read(schedule, took_ns);
    }
}

void cache_schedule_committed(struct cache_schedule *schedule, uint64_t start_ns, bool was_quiet,
                              uint64_t busy_ns, uint64_t cost_ns, size_t written)
{
    const uint64_t end_ns = cache_schedule_note_step(schedule, start_ns, was_quiet);
    const uint64_t large = later(written, PACE_FREE_BYTES) - PACE_FREE_BYTES;
    atomic_store(&schedule->commit_cost_ns, cost_ns);
    atomic_store(&schedule->last_commit_ns, end_ns);
    atomic_store(&schedule->paced_until_ns, end_ns + large * PACE_BYTE_NS);
    atomic_store(&schedule->committed_busy_ns, busy_ns);
}

bool cache_schedule_note_empty(struct cache_schedule *schedule, bool at_end)
{
    const uint64_t compiled = atomic_load(&schedule->compiled);
    atomic_store(&schedule->empty_until, later(2 * compiled, INEFFECTIVE_AFTER));
    return compiled >= (at_end ? 1 : INEFFECTIVE_AFTER);
}
