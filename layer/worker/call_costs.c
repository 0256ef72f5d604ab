// SPDX-License-Identifier: Apache-2.0
#include "layer/worker/call_costs.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/files/program.h"
#include "layer/worker/own_thread.h"
#include "layer/worker/own_wait.h"

#define STACK_BYTES ((size_t)256 << 10)

static const char *const call_costs_names[SLOW_CALL_COUNT] = {
    [SLOW_LOAD] = "load",
    [SLOW_READ] = "read",
    [SLOW_MERGE] = "merge",
};

void call_costs_init(struct call_costs *costs, const char *root, const char *app,
                     struct digest identity, bool counts, bool writes)
{
    *costs = (struct call_costs){
        .root = counts ? root : NULL,
        .app = app,
        .identity = identity,
        .counts = counts,
        .writes = writes && root,
    };
    pthread_mutex_init(&costs->lock, NULL);
}

void call_costs_release(struct call_costs *costs)
{
    pthread_mutex_destroy(&costs->lock);
}

bool call_costs_is_recalled(struct call_costs *costs)
{
    pthread_mutex_lock(&costs->lock);
    const bool is_recalled = costs->recalled || !costs->root;
    pthread_mutex_unlock(&costs->lock);
    return is_recalled;
}

/* What was learnt in this process is newer than the file. */
void call_costs_recall(struct call_costs *costs)
{
    struct program_facts facts;
    if (call_costs_is_recalled(costs)) {
        return;
    }
    const struct slow_calls *calls = program_load(costs->root, costs->app, &facts) == STATUS_ok
                                         ? slow_calls_find(&facts.slow, costs->identity)
                                         : NULL;
    pthread_mutex_lock(&costs->lock);
    for (int i = 0; i < SLOW_CALL_COUNT && calls && !costs->recalled; i++) {
        const uint64_t ns = calls->ms[i] * CLOCK_MS;
        costs->ns[i] = costs->ns[i] ? costs->ns[i] : ns;
    }
    costs->recalled = true;
    pthread_mutex_unlock(&costs->lock);
}

static uint64_t call_costs_of(struct call_costs *costs, enum slow_call kind)
{
    pthread_mutex_lock(&costs->lock);
    const uint64_t ns = costs->ns[kind];
    pthread_mutex_unlock(&costs->lock);
    return ns;
}

bool call_costs_allow(struct call_costs *costs, enum slow_call kind)
{
    return call_costs_of(costs, kind) == 0;
}

bool call_costs_allow_at_end(struct call_costs *costs, enum slow_call kind, uint64_t compiled_ns)
{
    const uint64_t ns = call_costs_of(costs, kind);
    return ns <= CALL_END_NS && ns <= compiled_ns;
}

/* Under the lock. True: it is another time than before. */
static bool call_costs_set(struct call_costs *costs, enum slow_call kind, uint64_t ns)
{
    const uint64_t before_ns = costs->ns[kind];
    if (ns <= CALL_LONG_NS) {
        /* Between half and the whole of what is long nothing is forgotten: it may come again. */
        ns = before_ns > 0 && ns > CALL_LONG_NS / 2 ? before_ns : 0;
    }
    costs->ns[kind] = ns;
    return ns / CLOCK_MS != before_ns / CLOCK_MS;
}

static void call_costs_note(struct call_costs *costs, enum slow_call kind, uint64_t ns)
{
    pthread_mutex_lock(&costs->lock);
    const bool changed = costs->counts && call_costs_set(costs, kind, ns);
    const bool is_long = costs->ns[kind] > 0;
    pthread_mutex_unlock(&costs->lock);
    if (changed) {
        atomic_store(&costs->is_due, true);
        log_info("the driver took %u ms for a %s: %s", (unsigned)(ns / CLOCK_MS),
                 call_costs_names[kind],
                 is_long ? "it is not begun in the background again"
                         : "it may be begun in the background again");
    }
}

/* What is to be written. False: nothing new. */
static bool call_costs_take(struct call_costs *costs, struct slow_calls *ret_calls)
{
    if (!atomic_exchange(&costs->is_due, false) || !costs->writes) {
        return false;
    }
    *ret_calls = (struct slow_calls){.identity = costs->identity};
    pthread_mutex_lock(&costs->lock);
    for (int i = 0; i < SLOW_CALL_COUNT; i++) {
        const uint64_t ms = costs->ns[i] / CLOCK_MS;
        ret_calls->ms[i] = ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX;
    }
    pthread_mutex_unlock(&costs->lock);
    return true;
}

static void call_costs_write(const char *root, const char *app, const struct slow_calls *calls)
{
    const enum status reason = program_note_slow(root, app, calls);
    if (reason != STATUS_ok) {
        log_info("what takes the driver long is not remembered (%s)", status_id(reason));
    }
}

void call_costs_keep(struct call_costs *costs)
{
    struct slow_calls calls;
    if (call_costs_take(costs, &calls)) {
        call_costs_write(costs->root, costs->app, &calls);
    }
}

/* What a thread beside is given. */
struct call_costs_note {
    struct slow_calls calls;
    const char *app; /* in the same memory */
    char root[];
};

static void *call_costs_write_beside(void *argument)
{
    struct call_costs_note *note = argument;
    call_costs_write(note->root, note->app, &note->calls);
    free(note);
    return NULL;
}

void call_costs_keep_beside(struct call_costs *costs)
{
    struct slow_calls calls;
    if (!call_costs_take(costs, &calls)) {
        return;
    }
    const size_t root_size = strlen(costs->root) + 1;
    const size_t app_size = strlen(costs->app) + 1;
    struct call_costs_note *note = malloc(sizeof *note + root_size + app_size);
    if (note) {
        note->calls = calls;
        memcpy(note->root, costs->root, root_size);
        note->app = memcpy(note->root + root_size, costs->app, app_size);
    }
    if (!note || !own_thread_start(call_costs_write_beside, note, STACK_BYTES)) {
        free(note);
        atomic_store(&costs->is_due, true);
    }
}

struct own_wait_timer call_costs_begin(struct call_costs *costs, enum slow_call kind,
                                       struct own_wait_timer timer)
{
    pthread_mutex_lock(&costs->lock);
    costs->timer = timer;
    costs->kind = kind;
    costs->under_way = true;
    pthread_mutex_unlock(&costs->lock);
    return timer;
}

void call_costs_end(struct call_costs *costs, enum slow_call kind)
{
    pthread_mutex_lock(&costs->lock);
    const struct own_wait_timer timer = costs->timer;
    const bool is_ours = costs->under_way && costs->kind == kind;
    costs->under_way = false;
    pthread_mutex_unlock(&costs->lock);
    if (is_ours) {
        call_costs_note(costs, kind, own_wait_timer_elapsed(&timer));
    }
}

void call_costs_note_under_way(struct call_costs *costs)
{
    pthread_mutex_lock(&costs->lock);
    const struct own_wait_timer timer = costs->timer;
    const enum slow_call kind = costs->kind;
    const bool is_new = costs->under_way && costs->ns[kind] == 0;
    pthread_mutex_unlock(&costs->lock);
    const uint64_t ns = is_new ? own_wait_timer_elapsed(&timer) : 0;
    if (ns > CALL_LONG_NS) {
        call_costs_note(costs, kind, ns);
    }
}
