// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/output.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/text.h"

#define PROGRESS_FIRST_NS (2 * CLOCK_S)
#define PROGRESS_NEXT_NS  (250 * CLOCK_MS)

static struct {
    pthread_mutex_t lock; /* of shown and ended */
    pthread_cond_t changed;
    pthread_t thread;
    const char *verb;
    const char *doing;
    pid_t process; /* 0: not begun */
    uint64_t begin_ns;
    bool shown;
    bool ended;
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER};

static atomic_uint_fast64_t progress_done;
static _Atomic(const char *) progress_unit;

static void progress_write(const char *text, size_t size)
{
    /* Of a terminal that has gone there is nothing to be told. */
    if (write(STDERR_FILENO, text, size) < 0) {
        progress.ended = true;
    }
}

static void progress_clear(void)
{
    static const char clear[] = "\r\033[K";
    if (progress.shown) {
        progress_write(clear, sizeof clear - 1);
        progress.shown = false;
    }
}

static void progress_draw(void)
{
    char text[160];
    char count[48] = "";
    const char *unit = atomic_load(&progress_unit);
    const uint64_t seconds = (clock_now_ns() - progress.begin_ns) / CLOCK_S;
    if (unit) {
        const uint64_t done = atomic_load(&progress_done);
        snprintf(count, sizeof count, ", %" PRIu64 " %s%s", done, unit, text_noun(done, "", "s"));
    }
    const int length =
        snprintf(text, sizeof text, "\r\033[Kwarmpipe %s: %s%s, %" PRIu64 ":%02" PRIu64,
                 progress.verb, progress.doing, count, seconds / 60, seconds % 60);
    progress_write(text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
    progress.shown = true;
}

static void *progress_main(void *unused)
{
    (void)unused;
    uint64_t next_ns = progress.begin_ns + PROGRESS_FIRST_NS;
    pthread_mutex_lock(&progress.lock);
    while (!progress.ended) {
        const struct timespec until = clock_timespec(next_ns);
        pthread_cond_timedwait(&progress.changed, &progress.lock, &until);
        if (!progress.ended && clock_now_ns() >= next_ns) {
            progress_draw();
            next_ns = clock_now_ns() + PROGRESS_NEXT_NS;
        }
    }
    pthread_mutex_unlock(&progress.lock);
    return NULL;
}

void progress_begin(const char *verb, const char *doing)
{
    const char *terminal = getenv("TERM");
    if (!isatty(STDERR_FILENO) || !terminal || strcmp(terminal, "dumb") == 0) {
        return;
    }
    progress.verb = verb;
    progress.doing = doing;
    progress.begin_ns = clock_now_ns();
    clock_condition_init(&progress.changed);
    /* Signals are for the threads that do the work. */
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&progress.thread, NULL, progress_main, NULL) == 0) {
        progress.process = getpid();
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void progress_add(const char *unit)
{
    atomic_store_explicit(&progress_unit, unit, memory_order_relaxed);
    atomic_fetch_add_explicit(&progress_done, 1, memory_order_relaxed);
}

void progress_hide(void)
{
    if (progress.process == getpid()) {
        pthread_mutex_lock(&progress.lock);
        progress_clear();
        pthread_mutex_unlock(&progress.lock);
    }
}

void progress_end(void)
{
    if (progress.process != getpid()) {
        return;
    }
    pthread_mutex_lock(&progress.lock);
    progress.ended = true;
    progress_clear();
    pthread_cond_signal(&progress.changed);
    pthread_mutex_unlock(&progress.lock);
    pthread_join(progress.thread, NULL);
    progress.process = 0;
}
