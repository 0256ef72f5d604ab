// SPDX-License-Identifier: Apache-2.0
#include "tools/remote/remote.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"

/* Milliseconds that a lease lasts. */
#define LEASE_MS 600000

/* The same of a turn to push, which is a few requests. */
#define LEASE_PUSH_MS 20000

/* Longest wait for it. */
#define LEASE_PUSH_WAIT_MS 60000

/* Milliseconds between two looks of who waits for a turn, at random, longer each time. */
#define LEASE_PUSH_LEAST_MS 10
#define LEASE_PUSH_STEP_MS  50
#define LEASE_PUSH_DOUBLES  3

#define LEASE_LIMIT 256

/* Tries to change a head. */
#define LEASE_TRIES 24

void leases_init(struct leases *ret_leases)
{
    *ret_leases = (struct leases){.count = 0};
    unique_format(unique_draw(), ret_leases->number);
}

static void lease_path(const char *app, const char *identity_hex, char ret_path[HEAD_PATH_SIZE])
{
    snprintf(ret_path, HEAD_PATH_SIZE, "v1/lease/%s/%s", app, identity_hex);
}

/* *ret_value is what a swap replaces; size 0: there is none. It is freed by the caller. */
static enum lease_state lease_read(struct remote *remote, const char *own_number, const char *path,
                                   struct engine_value *ret_value)
{
    char text[LEASE_LIMIT + 1] = "";
    char number[UNIQUE_HEX_SIZE + 1];
    unsigned duration_s;
    const enum status reason =
        remote->engine->operations->get(remote->engine, path, LEASE_LIMIT, ret_value);
    if (reason != STATUS_ok) {
        return reason == STATUS_no_file ? LEASE_FREE : LEASE_UNKNOWN;
    }
    memcpy(text, ret_value->data, ret_value->size);
    _Static_assert(UNIQUE_HEX_SIZE == 17, "the width below");
    if (sscanf(text, "warmpipe lease v1 %16s %6u", number, &duration_s) != 2 ||
        duration_s * UINT64_C(1000) > LEASE_MS || ret_value->age_s > duration_s) {
        return LEASE_FREE;
    }
    if (strcmp(number, own_number) == 0) {
        return LEASE_OURS;
    }
    /* Of which the server does not say how old it is, its holder may have died long ago. */
    return ret_value->has_age || remote->engine->expires ? LEASE_HELD : LEASE_UNKNOWN;
}

/* `old`: the lease that is over, or an empty value. remote_conflict: another run was first. */
static enum status lease_swap(struct remote *remote, const char *number, const char *path,
                              const struct engine_value *old, unsigned duration_ms)
{
    struct engine *engine = remote->engine;
    AUTO(engine_value_free) struct engine_value value = {0};
    char text[LEASE_LIMIT];
    enum status reason = remote_try_conditions(remote);
    if (reason != STATUS_ok) {
        return reason;
    }
    const int size =
        snprintf(text, sizeof text, "warmpipe lease v1 %s %u\n", number, duration_ms / 1000);
    engine->lifetime_ms = duration_ms;
    reason = engine->operations->swap(engine, path, old->size ? old : NULL, text, (size_t)size);
    engine->lifetime_ms = 0;
    if (reason == STATUS_ok && engine->settle_ms > 0) {
        clock_pause(engine->settle_ms * CLOCK_MS);
        reason = lease_read(remote, number, path, &value) == LEASE_OURS ? STATUS_ok
                                                                        : STATUS_remote_conflict;
    }
    return reason;
}

/* Takes it if it is free. Who cannot write here need not wait for it. */
static enum lease_state lease_take(struct remote *remote, const char *number, const char *path,
                                   unsigned duration_ms)
{
    AUTO(engine_value_free) struct engine_value value = {0};
    enum lease_state state = lease_read(remote, number, path, &value);
    if (state == LEASE_FREE) {
        const enum status reason = lease_swap(remote, number, path, &value, duration_ms);
        state = reason == STATUS_ok                ? LEASE_OURS
                : reason == STATUS_remote_conflict ? LEASE_HELD
                                                   : LEASE_UNKNOWN;
    }
    return state;
}

static void lease_remove(struct remote *remote, const char *number, const char *path)
{
    AUTO(engine_value_free) struct engine_value value = {0};
    if (lease_read(remote, number, path, &value) == LEASE_OURS) {
        remote->engine->operations->remove(remote->engine, path);
    }
}

/* Notes it before it is taken: who is killed meanwhile may have it. */
static void lease_note(struct leases *leases, const char *app, const char *identity_hex)
{
    for (size_t i = 0; i < leases->count; i++) {
        if (strcmp(leases->held[i].app, app) == 0 &&
            strcmp(leases->held[i].identity_hex, identity_hex) == 0) {
            return;
        }
    }
    struct lease *lease = &leases->held[leases->count];
    snprintf(lease->app, sizeof lease->app, "%s", app);
    snprintf(lease->identity_hex, sizeof lease->identity_hex, "%s", identity_hex);
    leases->count++;
}

void lease_make_room(struct remote *remote, struct leases *leases)
{
    size_t kept = 0;
    if (!remote->keys.can_sign || leases->count < LEASE_COUNT) {
        return;
    }
    for (size_t i = 0; i < leases->count; i++) {
        const struct lease lease = leases->held[i];
        char path[HEAD_PATH_SIZE];
        AUTO(engine_value_free) struct engine_value value = {0};
        lease_path(lease.app, lease.identity_hex, path);
        const enum lease_state state = lease_read(remote, leases->number, path, &value);
        if (state == LEASE_OURS || state == LEASE_UNKNOWN) {
            leases->held[kept++] = lease;
        }
    }
    leases->count = kept;
}

enum lease_state lease_try(struct remote *remote, struct leases *leases, const char *app,
                           const char *identity_hex)
{
    char path[HEAD_PATH_SIZE];
    AUTO(engine_value_free) struct engine_value value = {0};
    lease_path(app, identity_hex, path);
    if (!remote->keys.can_sign || leases->count == LEASE_COUNT) {
        return lease_read(remote, leases->number, path, &value);
    }
    const size_t before = leases->count;
    lease_note(leases, app, identity_hex);
    const enum lease_state state = lease_take(remote, leases->number, path, LEASE_MS);
    if (state == LEASE_HELD) {
        leases->count = before;
    }
    return state;
}

void lease_give_back(struct remote *remote, struct leases *leases, const char *root)
{
    size_t kept = 0;
    for (size_t i = 0; i < leases->count; i++) {
        const struct lease lease = leases->held[i];
        char path[HEAD_PATH_SIZE];
        if (remote->gone || (root && !local_exists(root, lease.app, lease.identity_hex))) {
            leases->held[kept++] = lease;
            continue;
        }
        lease_path(lease.app, lease.identity_hex, path);
        lease_remove(remote, leases->number, path);
    }
    leases->count = kept;
}

/* Turns to push. */

/* Waits for `least_ms`, and some of `more_ms`. */
static void lease_pause(uint64_t least_ms, uint64_t more_ms)
{
    clock_pause((least_ms + unique_draw() % more_ms) * CLOCK_MS);
}

static void lease_push_path(const char *head_path, char ret_path[ENGINE_PATH_SIZE])
{
    snprintf(ret_path, ENGINE_PATH_SIZE, "v1/lease/%s-push", head_path + strlen(HEAD_FOLDER));
}

/* Waits until it is this process's turn, but leaves half of the time for the push. Who pushes
 * without it loses nothing. */
static void lease_queue(struct remote *remote, struct lease_queue *queue, const char *head_path)
{
    const unsigned left_ms = engine_time_left(remote->engine, 2 * LEASE_PUSH_WAIT_MS);
    const uint64_t until_ns = clock_now_ns() + left_ms / 2 * CLOCK_MS;
    char path[ENGINE_PATH_SIZE];
    unique_format(unique_draw(), queue->number);
    lease_push_path(head_path, path);
    for (unsigned look = 0;; look++) {
        const enum lease_state state = lease_take(remote, queue->number, path, LEASE_PUSH_MS);
        if (state == LEASE_OURS || state == LEASE_UNKNOWN || clock_now_ns() >= until_ns ||
            engine_time_left(remote->engine, 1) == 0) {
            queue->is_ours = state == LEASE_OURS;
            return;
        }
        const unsigned doubles = look < LEASE_PUSH_DOUBLES ? look : LEASE_PUSH_DOUBLES;
        const uint64_t more_ms = (uint64_t)LEASE_PUSH_STEP_MS << doubles;
        lease_pause(LEASE_PUSH_LEAST_MS, more_ms);
    }
}

bool lease_wait_for_try(struct remote *remote, struct lease_queue *queue, const char *head_path,
                        unsigned try)
{
    if (!queue->number[0]) {
        lease_queue(remote, queue, head_path);
        return true;
    }
    if (try >= LEASE_TRIES) {
        return false;
    }
    lease_pause(1, UINT64_C(10) << (try < 7 ? try : 7));
    return true;
}

void lease_leave(struct remote *remote, struct lease_queue *queue, const char *head_path)
{
    char path[ENGINE_PATH_SIZE];
    if (queue->is_ours && !remote->gone) {
        lease_push_path(head_path, path);
        lease_remove(remote, queue->number, path);
    }
    queue->is_ours = false;
}
