#include "housekeeper.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "disk/limits.h"
#include "disk/recipe_compact.h"
#include "own_thread.h"

/* Longest wait at the end of a device. */
#define WAIT_NS CLOCK_S

#define STACK_BYTES ((size_t)256 << 10)

struct housekeeper {
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

struct housekeeper *housekeeper_new(const struct config *config, const char *app)
{
    if (!config->root || config->read_only) {
        return NULL;
    }
    const size_t root_size = strlen(config->root) + 1;
    const size_t app_size = strlen(app) + 1;
    struct housekeeper *keeper = calloc(1, sizeof *keeper + root_size + app_size);
    if (!keeper) {
        return NULL;
    }
    keeper->users = 1;
    keeper->process = getpid();
    keeper->max_size = config->max_size;
    keeper->max_total = config->max_total;
    memcpy(keeper->root, config->root, root_size);
    keeper->app = memcpy(keeper->root + root_size, app, app_size);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&keeper->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&keeper->lock, NULL);
    return keeper;
}

static void release(struct housekeeper *keeper)
{
    if (atomic_fetch_sub(&keeper->users, 1) == 1) {
        pthread_cond_destroy(&keeper->changed);
        pthread_mutex_destroy(&keeper->lock);
        free(keeper);
    }
}

/* First one file of many: what goes for the limits is then chosen of all. */
static void keep_house(const struct housekeeper *keeper, uint64_t written)
{
    const struct limits limits = {
        .root = keeper->root,
        .app = keeper->app,
        .max_size = keeper->max_size,
        .max_total = keeper->max_total,
    };
    struct limits_outcome outcome;
    const enum reason reason = recipe_compact(keeper->root, keeper->app, NULL);
    if (reason != REASON_ok && reason != REASON_locked && reason != REASON_no_file) {
        log_info("recipes stay in many files (%s)", reason_id(reason));
    }
    limits_enforce(&limits, written, &outcome);
    if (outcome.identities > 0) {
        log_info("removed %" PRIu64 " bytes of %" PRIu64 " caches that were not used for longest",
                 outcome.bytes, outcome.identities);
    }
}

/* Under the lock, which it lets go meanwhile. */
static void work_off(struct housekeeper *keeper)
{
    while (keeper->is_due) {
        const uint64_t written = keeper->written;
        keeper->is_due = false;
        keeper->written = 0;
        pthread_mutex_unlock(&keeper->lock);
        keep_house(keeper, written);
        pthread_mutex_lock(&keeper->lock);
    }
}

static void *work(void *argument)
{
    struct housekeeper *keeper = argument;
    pthread_mutex_lock(&keeper->lock);
    if (!keeper->is_ending) {
        setpriority(PRIO_PROCESS, 0, OWN_THREAD_NICE); /* of this thread alone, on Linux */
    }
    work_off(keeper);
    while (!keeper->is_ending) {
        pthread_cond_wait(&keeper->changed, &keeper->lock);
        work_off(keeper);
    }
    keeper->has_thread = false;
    pthread_cond_broadcast(&keeper->changed);
    pthread_mutex_unlock(&keeper->lock);
    release(keeper);
    return NULL;
}

void housekeeper_wrote(struct housekeeper *keeper, uint64_t bytes)
{
    if (keeper) {
        pthread_mutex_lock(&keeper->lock);
        keeper->is_due = true;
        keeper->written += bytes;
        pthread_mutex_unlock(&keeper->lock);
    }
}

/* Under the lock. The thread stays until the end: in a sandbox that is closed meanwhile, which
 * answers by a signal, making another would be the death of the process, for signals are blocked
 * while a thread is made. */
static void start(struct housekeeper *keeper)
{
    if (keeper->has_thread) {
        pthread_cond_broadcast(&keeper->changed);
    } else if (keeper->is_due) {
        atomic_fetch_add(&keeper->users, 1);
        keeper->has_thread = own_thread_start(work, keeper, STACK_BYTES);
        if (!keeper->has_thread) {
            atomic_fetch_sub(&keeper->users, 1);
        }
    }
}

void housekeeper_start(struct housekeeper *keeper)
{
    if (keeper) {
        pthread_mutex_lock(&keeper->lock);
        start(keeper);
        pthread_mutex_unlock(&keeper->lock);
    }
}

void housekeeper_finish(struct housekeeper *keeper)
{
    /* In the child of a fork the lock may be held by a thread that does not exist. */
    if (!keeper || keeper->process != getpid()) {
        return;
    }
    const struct timespec until = clock_timespec(clock_now_ns() + WAIT_NS);
    pthread_mutex_lock(&keeper->lock);
    keeper->is_ending = true;
    start(keeper);
    if (!keeper->has_thread) {
        work_off(keeper);
    }
    while (keeper->has_thread &&
           pthread_cond_timedwait(&keeper->changed, &keeper->lock, &until) != ETIMEDOUT) {
    }
    pthread_mutex_unlock(&keeper->lock);
    release(keeper);
}
