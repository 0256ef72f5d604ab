// SPDX-License-Identifier: Apache-2.0
#include "layer/worker/own_wait.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "layer/worker/sandbox.h"

/* What takes no longer by the clock is short, whatever it waited for: /proc is not asked. */
#define SHORT_NS CLOCK_MS

#define SLICE_NS (25 * CLOCK_MS)

/* More than these are not looked at where one is waited for. */
#define THREAD_LIMIT 8

static _Atomic(pid_t) own_wait_threads[THREAD_LIMIT]; /* those that run; 0: a free place */

unsigned own_wait_enter(void)
{
    const pid_t thread = (pid_t)syscall(SYS_gettid);
    unsigned place = 0;
    pid_t none = 0;
    while (place < THREAD_LIMIT &&
           !atomic_compare_exchange_strong(&own_wait_threads[place], &none, thread)) {
        none = 0;
        place++;
    }
    return place;
}

void own_wait_leave(unsigned place)
{
    if (place < THREAD_LIMIT) {
        atomic_store(&own_wait_threads[place], 0);
    }
}

void own_wait_after_fork_in_child(void)
{
    for (unsigned i = 0; i < THREAD_LIMIT; i++) {
        atomic_store(&own_wait_threads[i], 0);
    }
}

/* False: it cannot be read. */
static bool own_wait_read(pid_t thread, const char *name, char *ret_text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%ld/%s", (long)thread, name);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    const ssize_t length = read(fd, ret_text, size - 1);
    close(fd);
    ret_text[length > 0 ? length : 0] = '\0';
    return length > 0;
}

/* The clock that pthread_getcpuclockid gives for a thread: what it has run until now, where
 * schedstat (Linux, Documentation/scheduler/sched-stats.rst) has the last tick, which may be 10 ms
 * ago. */
#define THREAD_CLOCK(thread) ((clockid_t)(~(unsigned)(thread) << 3 | 6))

/* What the kernel says of a thread: a timer that is not started. Times of zero: not known. It has
 * waited for a core until it last had one. The clock, for which a sandbox may end the process, is
 * asked behind sandbox_is_closed alone. */
static struct own_wait_timer own_wait_look_at(pid_t thread)
{
    struct own_wait_timer look = {.thread = thread};
    uint64_t until_tick_ns;
    char text[128];
    if (thread != 0 && !sandbox_is_closed() &&
        own_wait_read(thread, "schedstat", text, sizeof text) &&
        text_parse_two(text, &until_tick_ns, &look.waited_ns)) {
        look.ran_ns = clock_read_ns(THREAD_CLOCK(thread));
    }
    return look;
}

/* It has a core, or waits for one. */
static bool own_wait_is_runnable(pid_t thread)
{
    char text[128];
    const char *name_end =
        own_wait_read(thread, "stat", text, sizeof text) ? strrchr(text, ')') : NULL;
    return name_end && strncmp(name_end, ") R", 3) == 0;
}

struct own_wait_timer own_wait_timer_start(void)
{
    struct own_wait_timer timer = own_wait_look_at((pid_t)syscall(SYS_gettid));
    timer.start_ns = clock_now_ns();
    return timer;
}

struct own_wait_timer own_wait_timer_start_early(void)
{
    return (struct own_wait_timer){
        .thread = (pid_t)syscall(SYS_gettid),
        .start_ns = clock_now_ns(),
        .ran_ns = clock_thread_ran_ns(),
    };
}

uint64_t own_wait_timer_elapsed(const struct own_wait_timer *timer)
{
    const uint64_t elapsed_ns = clock_now_ns() - timer->start_ns;
    if (elapsed_ns < SHORT_NS) {
        return elapsed_ns;
    }
    const struct own_wait_timer now = own_wait_look_at(timer->thread);
    const uint64_t ran_ns = now.ran_ns > timer->ran_ns ? now.ran_ns - timer->ran_ns : 0;
    const uint64_t waited_ns =
        now.waited_ns > timer->waited_ns ? now.waited_ns - timer->waited_ns : 0;
    const uint64_t idle_ns = elapsed_ns > ran_ns ? elapsed_ns - ran_ns : 0;
    return elapsed_ns - (waited_ns < idle_ns ? waited_ns : idle_ns);
}

/* Waits: in slices, so that what a thread is seen doing at the end of one is what it did in it, and
 * so that who waits looks for what it waits for between them: a signal that comes when a slice is
 * over and the thread has no core yet wakes nobody. The first millisecond of a thread's patience is
 * a slice of its own, for which nobody is looked at. */

struct own_wait {
    uint64_t start_ns;
    uint64_t end_ns;
    bool looks;
    struct own_wait_timer before[THREAD_LIMIT + 1]; /* ours, and the one that waits */
};

static pid_t own_wait_thread(unsigned place)
{
    return place < THREAD_LIMIT ? atomic_load(&own_wait_threads[place])
                                : (pid_t)syscall(SYS_gettid);
}

static void own_wait_begin(struct own_wait *wait, uint64_t left_ns)
{
    const uint64_t slice_ns = patience_spent() < SHORT_NS ? SHORT_NS : SLICE_NS;
    const bool is_whole = left_ns < slice_ns || !patience_is_limited();
    wait->start_ns = clock_now_ns();
    wait->end_ns = wait->start_ns + (is_whole ? left_ns : slice_ns);
    wait->looks = slice_ns == SLICE_NS;
    for (unsigned i = 0; i <= THREAD_LIMIT && wait->looks; i++) {
        wait->before[i] = own_wait_look_at(own_wait_thread(i));
    }
}

/* For how much of that time a thread had a core, if it is another one, or lacked one: it was at no
 * disk. */
static uint64_t own_wait_busy_ns(const struct own_wait_timer *before, bool is_other,
                                 uint64_t elapsed_ns)
{
    const struct own_wait_timer now = own_wait_look_at(before->thread);
    if (now.ran_ns == 0) {
        return 0; /* there is none, or it is gone */
    }
    if (is_other && own_wait_is_runnable(before->thread)) {
        return elapsed_ns;
    }
    return now.waited_ns - before->waited_ns + (is_other ? now.ran_ns - before->ran_ns : 0);
}

/* Of whom is waited for nothing is known but that it may be one of ours. Returns what counts. By
 * how much this thread came late counts no more than another slice: it lacked a core itself, or the
 * process was stopped, or the whole machine. */
static uint64_t own_wait_end(const struct own_wait *wait)
{
    const uint64_t elapsed_ns = clock_now_ns() - wait->start_ns;
    const uint64_t most_ns = wait->end_ns - wait->start_ns + SLICE_NS;
    uint64_t busy_ns = 0;
    for (unsigned i = 0; i <= THREAD_LIMIT && wait->looks && elapsed_ns >= SHORT_NS; i++) {
        busy_ns += own_wait_busy_ns(&wait->before[i], i < THREAD_LIMIT, elapsed_ns);
    }
    return patience_spend(elapsed_ns < most_ns ? elapsed_ns : most_ns, busy_ns);
}

bool timed_lock(pthread_mutex_t *lock, uint64_t wait_ns)
{
    uint64_t left_ns = patience_limit(wait_ns);
    if (left_ns == WAIT_FOREVER) {
        return pthread_mutex_lock(lock) == 0;
    }
    bool taken = pthread_mutex_trylock(lock) == 0;
    while (!taken && left_ns > 0) {
        struct own_wait wait;
        own_wait_begin(&wait, left_ns);
        do {
            clock_pause(CLOCK_MS);
            taken = pthread_mutex_trylock(lock) == 0;
        } while (!taken && clock_now_ns() < wait.end_ns);
        const uint64_t spent_ns = own_wait_end(&wait);
        left_ns -= spent_ns < left_ns ? spent_ns : left_ns;
    }
    return taken;
}

bool timed_wait(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t wait_ns)
{
    const uint64_t left_ns = patience_limit(wait_ns);
    if (left_ns == WAIT_FOREVER) {
        return pthread_cond_wait(condition, lock) == 0;
    }
    if (left_ns == 0) {
        return false;
    }
    struct own_wait wait;
    own_wait_begin(&wait, left_ns);
    const struct timespec until = clock_timespec(wait.end_ns);
    pthread_cond_timedwait(condition, lock, &until);
    own_wait_end(&wait);
    return patience_limit(1) > 0;
}
