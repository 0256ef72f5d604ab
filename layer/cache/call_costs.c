// SPDX-License-Identifier: Apache-2.0
#include "layer/cache/call_costs.h"

#include "common/base/log.h"
#include "common/files/program.h"

static const char *const call_costs_names[SLOW_CALL_COUNT] = {
    [SLOW_LOAD] = "load",
    [SLOW_READ] = "read",
    [SLOW_MERGE] = "merge",
};

void call_costs_init(struct call_costs *costs, const char *root, const char *app,
                     struct digest identity, bool writes)
{
    *costs = (struct call_costs){
        .root = root,
        .app = app,
        .identity = identity,
        .writes = writes && root,
    };
    pthread_mutex_init(&costs->lock, NULL);
}

void call_costs_release(struct call_costs *costs)
{
    pthread_mutex_destroy(&costs->lock);
}

/* What was learnt in this process is newer than the file. */
void call_costs_recall(struct call_costs *costs)
{
    pthread_mutex_lock(&costs->lock);
    const bool recalls = !costs->recalled && costs->root;
    pthread_mutex_unlock(&costs->lock);
    struct program_facts facts;
    if (!recalls) {
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

static void call_costs_write(const struct call_costs *costs, const struct slow_calls *calls)
{
    if (costs->writes) {
        const enum status reason = program_note_slow(costs->root, costs->app, calls);
        if (reason != STATUS_ok) {
            log_info("what takes the driver long is not remembered (%s)", status_id(reason));
        }
    }
}

/* Under the lock. True: *ret_calls is to be written. */
static bool call_costs_set(struct call_costs *costs, enum slow_call kind, uint64_t ns,
                           struct slow_calls *ret_calls)
{
    const uint64_t before_ns = costs->ns[kind];
    if (ns <= CALL_LONG_NS) {
        /* Between half and the whole of what is long nothing is forgotten: it may come again. */
        ns = before_ns > 0 && ns > CALL_LONG_NS / 2 ? before_ns : 0;
    }
    costs->ns[kind] = ns;
    *ret_calls = (struct slow_calls){.identity = costs->identity};
    for (int i = 0; i < SLOW_CALL_COUNT; i++) {
        const uint64_t ms = costs->ns[i] / CLOCK_MS;
        ret_calls->ms[i] = ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX;
    }
    return ns / CLOCK_MS != before_ns / CLOCK_MS;
}

static void call_costs_note(struct call_costs *costs, enum slow_call kind, uint64_t ns)
{
    struct slow_calls calls;
    pthread_mutex_lock(&costs->lock);
    const bool changed = call_costs_set(costs, kind, ns, &calls);
    pthread_mutex_unlock(&costs->lock);
    if (changed) {
        log_info("the driver took %u ms for a %s: %s", (unsigned)(ns / CLOCK_MS),
                 call_costs_names[kind],
                 calls.ms[kind] > 0 ? "it is not begun in the background again"
                                    : "it may be begun in the background again");
        call_costs_write(costs, &calls);
    }
}

void call_costs_begin(struct call_costs *costs, enum slow_call kind)
{
    const struct own_thread_timer timer = own_thread_timer_start();
    pthread_mutex_lock(&costs->lock);
    costs->timer = timer;
    costs->kind = kind;
    costs->under_way = true;
    pthread_mutex_unlock(&costs->lock);
}

void call_costs_end(struct call_costs *costs, enum slow_call kind)
{
    pthread_mutex_lock(&costs->lock);
    const struct own_thread_timer timer = costs->timer;
    const bool is_ours = costs->under_way && costs->kind == kind;
    costs->under_way = false;
    pthread_mutex_unlock(&costs->lock);
    if (is_ours) {
        call_costs_note(costs, kind, own_thread_timer_elapsed(&timer));
    }
}

void call_costs_note_under_way(struct call_costs *costs)
{
    pthread_mutex_lock(&costs->lock);
    const struct own_thread_timer timer = costs->timer;
    const enum slow_call kind = costs->kind;
    const bool is_new = costs->under_way && costs->ns[kind] == 0;
    pthread_mutex_unlock(&costs->lock);
    const uint64_t ns = is_new ? own_thread_timer_elapsed(&timer) : 0;
    if (ns > CALL_LONG_NS) {
        call_costs_note(costs, kind, ns);
    }
}
