// SPDX-License-Identifier: Apache-2.0
#include "layer/worker/maintenance.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "common/quota/quota.h"
#include "common/recipes/merge.h"
#include "common/settings/config.h"
#include "layer/worker/own_thread.h"
#include "layer/worker/own_wait.h"
#include "layer/worker/sandbox.h"

#define STACK_BYTES ((size_t)256 << 10)

/* From a save to the work, but for the first: another save, or the end of the device, may follow
 * soon. The first is not put off, for there are programs that end within a second, and never
 * destroy their devices. */
#define REST_NS CLOCK_S

struct maintenance {
    atomic_uint users; /* the device, and the thread */
    pid_t process;
    uint64_t max_size;
    uint64_t max_total;
    pthread_mutex_t lock;   /* over what follows */
    pthread_cond_t changed; /* by the monotonic clock */
    bool is_due;
    bool is_ending;
    bool has_thread;
    uint64_t written;
    const char *app; /* in the same memory */
    char root[];
};

struct maintenance *maintenance_new(const struct config *config, const char *app)
{
    if (!config->root || config->read_only) {
        return NULL;
    }
    const size_t root_size = strlen(config->root) + 1;
    const size_t app_size = strlen(app) + 1;
    struct maintenance *maintenance = calloc(1, sizeof *maintenance + root_size + app_size);
    if (!maintenance) {
        return NULL;
    }
    maintenance->users = 1;
    maintenance->process = getpid();
    maintenance->max_size = config->max_size;
    maintenance->max_total = config->max_total;
    memcpy(maintenance->root, config->root, root_size);
    maintenance->app = memcpy(maintenance->root + root_size, app, app_size);
    clock_condition_init(&maintenance->changed);
    pthread_mutex_init(&maintenance->lock, NULL);
    return maintenance;
}

static void maintenance_release(struct maintenance *maintenance)
{
    if (atomic_fetch_sub(&maintenance->users, 1) == 1) {
        pthread_cond_destroy(&maintenance->changed);
        pthread_mutex_destroy(&maintenance->lock);
        free(maintenance);
    }
}

/* Joins the recipes' files first, so that the limits apply to the result. */
static void maintenance_run(const struct maintenance *maintenance, uint64_t written)
{
    const struct quota_limits limits = {
        .root = maintenance->root,
        .app = maintenance->app,
        .max_size = maintenance->max_size,
        .max_total = maintenance->max_total,
    };
    struct quota_outcome outcome;
    if (sandbox_is_closed()) {
        return;
    }
    const enum status reason = recipe_compact(maintenance->root, maintenance->app, NULL);
    if (reason != STATUS_ok && reason != STATUS_locked && reason != STATUS_no_file) {
        log_info("recipes stay in many files (%s)", status_id(reason));
    }
    quota_enforce(&limits, written, &outcome);
    if (outcome.identities > 0) {
        char size[TEXT_BYTES_SIZE];
        text_bytes(outcome.bytes, size);
        log_info("removed %s: %" PRIu64 " %s, the longest unused", size, outcome.identities,
                 text_noun(outcome.identities, "cache", "caches"));
    }
}

/* Under the lock, which is released while it works. */
static void maintenance_run_due(struct maintenance *maintenance)
{
    if (maintenance->is_due) {
        const uint64_t written = maintenance->written;
        maintenance->is_due = false;
        maintenance->written = 0;
        pthread_mutex_unlock(&maintenance->lock);
        maintenance_run(maintenance, written);
        pthread_mutex_lock(&maintenance->lock);
    }
}

/* Under the lock. At the end of the device there is no rest. */
static void maintenance_rest(struct maintenance *maintenance)
{
    const uint64_t end_ns = clock_now_ns() + REST_NS;
    for (uint64_t now_ns = clock_now_ns(); !maintenance->is_ending && now_ns < end_ns;
         now_ns = clock_now_ns()) {
        timed_wait(&maintenance->changed, &maintenance->lock, end_ns - now_ns);
    }
}

static void *maintenance_thread(void *argument)
{
    struct maintenance *maintenance = argument;
    pthread_mutex_lock(&maintenance->lock);
    if (!maintenance->is_ending) {
        own_thread_give_way();
    }
    maintenance_run_due(maintenance);
    while (maintenance->is_due || !maintenance->is_ending) {
        if (maintenance->is_due) {
            maintenance_rest(maintenance);
            maintenance_run_due(maintenance);
        } else {
            pthread_cond_wait(&maintenance->changed, &maintenance->lock);
        }
    }
    maintenance->has_thread = false;
    pthread_cond_broadcast(&maintenance->changed);
    pthread_mutex_unlock(&maintenance->lock);
    maintenance_release(maintenance);
    return NULL;
}

void maintenance_wrote(struct maintenance *maintenance, uint64_t bytes)
{
    if (maintenance) {
        pthread_mutex_lock(&maintenance->lock);
        maintenance->is_due = true;
        maintenance->written += bytes;
        pthread_mutex_unlock(&maintenance->lock);
    }
}

/* Under the lock. The thread stays until the end of the device: signals are blocked while a thread
 * is made, and a sandbox that was closed meanwhile answers by a signal, which would then kill the
 * process. */
static void maintenance_start_locked(struct maintenance *maintenance)
{
    if (maintenance->has_thread) {
        pthread_cond_broadcast(&maintenance->changed);
    } else if (maintenance->is_due) {
        atomic_fetch_add(&maintenance->users, 1);
        maintenance->has_thread = own_thread_start(maintenance_thread, maintenance, STACK_BYTES);
        if (!maintenance->has_thread) {
            atomic_fetch_sub(&maintenance->users, 1);
        }
    }
}

void maintenance_start(struct maintenance *maintenance)
{
    if (maintenance) {
        pthread_mutex_lock(&maintenance->lock);
        maintenance_start_locked(maintenance);
        pthread_mutex_unlock(&maintenance->lock);
    }
}

void maintenance_finish(struct maintenance *maintenance, bool is_unused)
{
    /* In the child of a fork the lock may be held by a thread that does not exist. */
    if (!maintenance || maintenance->process != getpid()) {
        return;
    }
    pthread_mutex_lock(&maintenance->lock);
    maintenance->is_ending = true;
    maintenance_start_locked(maintenance);
    if (!maintenance->has_thread) {
        maintenance_run_due(maintenance);
    }
    while (maintenance->has_thread &&
           timed_wait(&maintenance->changed, &maintenance->lock, WAIT_FOREVER)) {
    }
    pthread_mutex_unlock(&maintenance->lock);
    if (is_unused) {
        maintenance_release(maintenance);
    }
}
