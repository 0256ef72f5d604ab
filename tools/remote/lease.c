// SPDX-License-Identifier: Apache-2.0
#include "tools/remote/lease.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "tools/remote/local.h"

/* Milliseconds that a lease lasts. */
#define LEASE_MS 600000

#define LEASE_LIMIT 256

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
static enum lease_state lease_read(struct remote *remote, const struct leases *leases,
                                   const char *path, struct engine_value *ret_value)
{
    char text[LEASE_LIMIT + 1] = "";
    char number[UNIQUE_HEX_SIZE + 1];
    unsigned duration_s;
    *ret_value = (struct engine_value){0};
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
    return strcmp(number, leases->number) == 0 ? LEASE_OURS : LEASE_HELD;
}

/* `old`: the lease that is over, or an empty value. False: another run was first, or this server
 * cannot tell. */
static bool lease_swap(struct remote *remote, const struct leases *leases, const char *path,
                       const struct engine_value *old)
{
    struct engine *engine = remote->engine;
    struct engine_value value;
    char text[LEASE_LIMIT];
    if (remote_try_conditions(remote) != STATUS_ok) {
        return false;
    }
    const int size =
        snprintf(text, sizeof text, "warmpipe lease v1 %s %u\n", leases->number, LEASE_MS / 1000);
    engine->lifetime_ms = LEASE_MS;
    enum status reason =
        engine->operations->swap(engine, path, old->size ? old : NULL, text, (size_t)size);
    engine->lifetime_ms = 0;
    if (reason == STATUS_ok && engine->settle_ms > 0) {
        const struct timespec pause = clock_timespec(engine->settle_ms * CLOCK_MS);
        nanosleep(&pause, NULL);
        reason = lease_read(remote, leases, path, &value) == LEASE_OURS ? STATUS_ok
                                                                        : STATUS_remote_conflict;
        engine_value_free(&value);
    }
    return reason == STATUS_ok;
}

enum lease_state lease_try(struct remote *remote, struct leases *leases, const char *app,
                           const char *identity_hex)
{
    char path[HEAD_PATH_SIZE];
    struct engine_value value;
    lease_path(app, identity_hex, path);
    enum lease_state state = lease_read(remote, leases, path, &value);
    if (state == LEASE_FREE && remote->keys.can_sign && leases->count < LEASE_COUNT &&
        lease_swap(remote, leases, path, &value)) {
        struct lease *lease = &leases->held[leases->count++];
        snprintf(lease->app, sizeof lease->app, "%s", app);
        snprintf(lease->identity_hex, sizeof lease->identity_hex, "%s", identity_hex);
        state = LEASE_OURS;
    }
    engine_value_free(&value);
    return state;
}

void lease_give_back(struct remote *remote, struct leases *leases, const char *root)
{
    size_t kept = 0;
    for (size_t i = 0; i < leases->count; i++) {
        const struct lease lease = leases->held[i];
        char path[HEAD_PATH_SIZE];
        struct engine_value value;
        if (remote->gone || (root && !local_exists(root, lease.app, lease.identity_hex))) {
            leases->held[kept++] = lease;
            continue;
        }
        lease_path(lease.app, lease.identity_hex, path);
        if (lease_read(remote, leases, path, &value) == LEASE_OURS) {
            remote->engine->operations->remove(remote->engine, path);
        }
        engine_value_free(&value);
    }
    leases->count = kept;
}
