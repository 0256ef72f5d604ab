// SPDX-License-Identifier: Apache-2.0
#include "layer/app_caches/app_cache_history.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/files/program.h"
#include "layer/worker/own_wait.h"
#include "layer/worker/sandbox.h"
#include "layer/worker/worker.h"

/* What makes a reader that keeps nothing SETTLED. */
#define SETTLED_RUNS 3
#define SETTLED_DAYS 2

/* No more caches than that are few; of many, no more than one in so many may be read back. */
#define FEW_CACHES  8
#define MANY_CACHES 64
#define RARELY_ONE  50

/* That a program makes a cache is written the sooner, for one that is killed after each start's few
 * compiles would else be unknown for ever. Several readings follow each other: they are written
 * together. */
#define MADE_WRITE_NS  (10 * CLOCK_MS)
#define FIRST_WRITE_NS (100 * CLOCK_MS)
#define LATER_WRITE_NS CLOCK_S
#define NO_WRITE_NS    UINT64_MAX

/* A lock whose holder may be gone: of another thread at the end, of a parent before a fork. */
#define LOCK_WAIT_NS (100 * CLOCK_MS)

#define SECONDS_A_DAY 86400

struct app_cache_history {
    struct app_cache_history *next;
    struct worker_client client;
    pid_t process; /* a forked child has a history of its own */
    bool read_only;

    pthread_mutex_t lock; /* over all below; never held over I/O but that of the first question */
    bool loaded;
    struct program_facts facts;    /* of earlier runs */
    struct program_app_caches own; /* of this run: kept, made, read, and the answers */
    bool reads;                    /* this run: as struct program_learnt */
    bool read_run_is_counted;
    bool changed;              /* something of this is not written */
    bool is_client;            /* the worker knows of it: there was something to write */
    bool recorded;             /* this run has written */
    bool recorded_reads;       /* that, and not only since it has made a cache */
    bool writes_made;          /* the next write comes early, since it has made a cache */
    bool wakes;                /* the worker is to be woken when the lock is released */
    _Atomic uint64_t write_ns; /* when the worker is to write; NO_WRITE_NS: not at all */

    pthread_mutex_t write_lock; /* over a write; taken before `lock` */
    const char *app;            /* in the same memory */
    char root[];
};

static struct {
    pthread_mutex_t lock;
    struct app_cache_history *first;
} histories = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t history_today(void)
{
    return (uint64_t)time(NULL) / SECONDS_A_DAY;
}

/* Under the lock. A file that is damaged is one line, and nothing is known. */
static void history_load(struct app_cache_history *history)
{
    if (history->loaded) {
        return;
    }
    history->loaded = true;
    enum status reason = sandbox_is_closed()
                             ? STATUS_no_file
                             : program_load(history->root, history->app, &history->facts);
    if (reason != STATUS_ok && reason != STATUS_no_file) {
        log_warn("what was learnt of the program is lost (%s): %s", status_id(reason),
                 status_text(reason));
    }
}

/* Under the lock: whether a run that reads back today still shows something. */
static bool history_counts_readers(const struct app_cache_history *history)
{
    const struct program_app_caches *known = &history->facts.app_caches;
    return !history->own.kept && !known->kept &&
           (known->read_runs < SETTLED_RUNS ||
            (known->read_days < SETTLED_DAYS && known->last_day != history_today()));
}

/* Under the lock: what this run has to add. *ret_own is scratch that it refers to. */
static struct program_learnt history_learnt(const struct app_cache_history *history,
                                            struct program_app_caches *ret_own)
{
    *ret_own = history->own;
    struct program_learnt learnt = {
        .kept = ret_own->kept,
        .count_read_run =
            history->reads && !history->read_run_is_counted && history_counts_readers(history),
        .day = history_today(),
        .made = ret_own->made,
        .read = ret_own->read,
        .answers = ret_own->answers,
        .answer_count = ret_own->answer_count,
    };
    if (history->reads) {
        learnt.caches = PROGRAM_CACHES_READ_BACK;
    } else if (history->own.made > 0) {
        learnt.caches = PROGRAM_CACHES_NOT_READ;
    }
    return learnt;
}

static bool history_is_known_to_keep(const struct app_cache_history *history)
{
    return history->own.kept || history->facts.app_caches.kept;
}

static void history_enter(struct app_cache_history *history)
{
    pthread_mutex_lock(&history->lock);
    history_load(history);
}

/* Under the lock: something was learnt, which is to be written after so long if a later run is
 * treated in another way for it. */
static void history_changed(struct app_cache_history *history, uint64_t after_ns)
{
    history->changed = true;
    if (!history->is_client) {
        history->is_client = true;
        worker_add(&history->client);
    }
    if (after_ns != NO_WRITE_NS && !history->read_only &&
        atomic_load(&history->write_ns) == NO_WRITE_NS) {
        atomic_store(&history->write_ns, clock_now_ns() + after_ns);
        history->wakes = true;
    }
}

/* Under the lock. */
static uint64_t history_reads_after(const struct app_cache_history *history, bool urgent)
{
    const uint64_t after_ns = history->recorded_reads ? LATER_WRITE_NS : FIRST_WRITE_NS;
    return urgent ? after_ns : NO_WRITE_NS;
}

static void history_leave(struct app_cache_history *history)
{
    const bool wakes = history->wakes;
    history->wakes = false;
    pthread_mutex_unlock(&history->lock);
    if (wakes) {
        worker_wake(&history->client);
    }
}

/* Waits so long for whoever writes, and then for who reads or changes it. */
static void history_write(struct app_cache_history *history, uint64_t write_wait_ns,
                          uint64_t wait_ns)
{
    struct program_app_caches own;
    if (sandbox_is_closed() || !timed_lock(&history->write_lock, write_wait_ns)) {
        return;
    }
    if (timed_lock(&history->lock, wait_ns)) {
        atomic_store(&history->write_ns, NO_WRITE_NS);
        const bool writes = history->changed && !history->read_only && history->process == getpid();
        const struct program_learnt learnt = history_learnt(history, &own);
        if (writes) {
            history->changed = false;
            history->recorded = true;
            history->recorded_reads |=
                !history->writes_made && (history->reads || history->own.answer_count > 0);
            history->writes_made = false;
            history->read_run_is_counted |= learnt.count_read_run;
        }
        pthread_mutex_unlock(&history->lock);
        const enum status reason =
            writes ? program_learn(history->root, history->app, &learnt) : STATUS_ok;
        if (reason != STATUS_ok) {
            log_info("what was learnt of the program is not kept (%s)", status_id(reason));
        }
    }
    pthread_mutex_unlock(&history->write_lock);
}

bool app_cache_history_is_due(struct app_cache_history *history)
{
    if (!history || !timed_lock(&history->lock, LOCK_WAIT_NS)) {
        return history;
    }
    const bool is_due = history->changed;
    pthread_mutex_unlock(&history->lock);
    return is_due;
}

void app_cache_history_write(void *history)
{
    history_write(history, LOCK_WAIT_NS, WAIT_FOREVER);
}

uint64_t app_cache_history_write_due(const struct app_cache_history *history)
{
    return atomic_load(&history->write_ns);
}

static uint64_t history_due(struct worker_client *client, uint64_t now_ns)
{
    (void)now_ns;
    return app_cache_history_write_due(WORKER_OWNER(client, struct app_cache_history, client));
}

static void history_work(struct worker_client *client)
{
    if (history_due(client, 0) <= clock_now_ns()) {
        history_write(WORKER_OWNER(client, struct app_cache_history, client), WAIT_FOREVER,
                      WAIT_FOREVER);
    }
}

/* The process ends: others may be in the middle of anything. */
static void history_last(struct worker_client *client)
{
    history_write(WORKER_OWNER(client, struct app_cache_history, client), LOCK_WAIT_NS,
                  LOCK_WAIT_NS);
}

static struct app_cache_history *history_new(const struct config *config, const char *app)
{
    const size_t root_size = strlen(config->root) + 1;
    const size_t app_size = strlen(app) + 1;
    struct app_cache_history *history = calloc(1, sizeof *history + root_size + app_size);
    if (!history) {
        return NULL;
    }
    memcpy(history->root, config->root, root_size);
    history->app = memcpy(history->root + root_size, app, app_size);
    history->process = getpid();
    history->read_only = config->read_only;
    atomic_init(&history->write_ns, NO_WRITE_NS);
    pthread_mutex_init(&history->lock, NULL);
    pthread_mutex_init(&history->write_lock, NULL);
    history->client.due = history_due;
    history->client.work = history_work;
    history->client.last = history_last;
    history->client.outlives_devices = true;
    return history;
}

struct app_cache_history *app_cache_history_of(const struct config *config, const char *app)
{
    if (!config->root || !timed_lock(&histories.lock, LOCK_WAIT_NS)) {
        return NULL;
    }
    const pid_t process = getpid();
    struct app_cache_history *history = histories.first;
    while (history && !(history->process == process && strcmp(history->root, config->root) == 0 &&
                        strcmp(history->app, app) == 0)) {
        history = history->next;
    }
    if (!history) {
        history = history_new(config, app);
        if (history) {
            history->next = histories.first;
            histories.first = history;
        }
    }
    pthread_mutex_unlock(&histories.lock);
    return history;
}

static enum app_cache_habit history_habit(const struct app_cache_history *history)
{
    const struct program_app_caches *known = &history->facts.app_caches;
    if (history_is_known_to_keep(history)) {
        return APP_CACHE_KEEPS;
    }
    if (history->facts.caches == PROGRAM_CACHES_UNKNOWN) {
        return APP_CACHE_UNKNOWN;
    }
    if (history->facts.caches == PROGRAM_CACHES_NOT_READ && !history->reads) {
        return APP_CACHE_NOT_READ;
    }
    return known->read_runs >= SETTLED_RUNS && known->read_days >= SETTLED_DAYS
               ? APP_CACHE_SETTLED
               : APP_CACHE_READ_BACK;
}

static bool history_is_rare(uint64_t made, uint64_t read)
{
    return read <= 1 || read <= made / RARELY_ONE;
}

struct app_cache_habits app_cache_history_habits(struct app_cache_history *history)
{
    struct app_cache_habits habits = {.habit = APP_CACHE_UNKNOWN};
    if (history) {
        const struct program_app_caches *known = &history->facts.app_caches;
        history_enter(history);
        habits.habit = history_habit(history);
        habits.rarely_reads = known->made >= MANY_CACHES &&
                              history_is_rare(known->made, known->read) &&
                              history_is_rare(history->own.made, history->own.read);
        habits.makes_few = known->made <= FEW_CACHES;
        history_leave(history);
    }
    return habits;
}

void app_cache_history_made(struct app_cache_history *history)
{
    if (history) {
        history_enter(history);
        history->own.made++;
        const bool is_new = history->facts.caches == PROGRAM_CACHES_UNKNOWN && !history->recorded;
        history->writes_made |= is_new;
        history_changed(history, is_new ? MADE_WRITE_NS : NO_WRITE_NS);
        history_leave(history);
    }
}

void app_cache_history_read(struct app_cache_history *history)
{
    if (history) {
        history_enter(history);
        const bool is_first = !history->reads;
        history->reads = true;
        history->own.read++;
        const bool urgent = is_first && history_counts_readers(history);
        history_changed(history, history_reads_after(history, urgent));
        history_leave(history);
    }
}

void app_cache_history_answered(struct app_cache_history *history, struct digest digest, bool empty)
{
    if (history) {
        history_enter(history);
        if (!history_is_known_to_keep(history) && !program_find_answer(&history->own, digest)) {
            program_add_answer(&history->own, (struct program_answer){digest, empty});
            const bool urgent = !program_find_answer(&history->facts.app_caches, digest);
            history_changed(history, history_reads_after(history, urgent));
        }
        history_leave(history);
    }
}

bool app_cache_history_loads(struct app_cache_history *history, const void *data, size_t size)
{
    bool is_empty = false;
    if (!history) {
        return false;
    }
    history_enter(history);
    if (history->facts.app_caches.answer_count > 0) {
        const struct digest digest = digest_of(data, size);
        const struct program_answer *answer =
            program_find_answer(&history->facts.app_caches, digest);
        if (answer && !program_find_answer(&history->own, digest)) {
            is_empty = answer->empty;
            if (!history_is_known_to_keep(history)) {
                history->own.kept = true;
                history_changed(history, history_reads_after(history, true));
            }
        }
    }
    history_leave(history);
    return is_empty;
}
