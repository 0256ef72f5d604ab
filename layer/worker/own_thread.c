// SPDX-License-Identifier: Apache-2.0
#include "layer/worker/own_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct own_thread_call {
    void *(*function)(void *argument);
    void *argument;
};

static void *own_thread_run(void *argument)
{
    const struct own_thread_call call = *(struct own_thread_call *)argument;
    free(argument);
    prctl(PR_SET_NAME, "warmpipe");
    const unsigned place = own_wait_enter();
    void *result = call.function(call.argument);
    own_wait_leave(place);
    return result;
}

static void own_thread_block_signals(sigset_t *ret_before)
{
    /* SIGSYS is a sandbox's answer to a system call; a blocked one kills the process. */
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    sigset_t blocked;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        sigdelset(&blocked, faults[i]);
    }
    pthread_sigmask(SIG_SETMASK, &blocked, ret_before);
}

bool own_thread_start(void *(*function)(void *argument), void *argument, size_t stack_size)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t before;
    struct own_thread_call *call = sandbox_is_closed() ? NULL : malloc(sizeof *call);
    if (!call) {
        return false;
    }
    *call = (struct own_thread_call){function, argument};
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, stack_size);
    own_thread_block_signals(&before); /* the new thread inherits the mask */
    const bool started = pthread_create(&thread, &attributes, own_thread_run, call) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (!started) {
        free(call);
    }
    return started;
}

int own_thread_rank(pid_t thread)
{
    enum { GONE_RANK = -1, IDLE_RANK, LOWEST_RANK = 20, REAL_TIME_RANK = 100 };
    errno = 0;
    const int policy = sched_getscheduler(thread);
    if (policy < 0 && errno == ESRCH) {
        return GONE_RANK;
    }
    if (policy == SCHED_IDLE) {
        return IDLE_RANK;
    }
    if (policy == SCHED_FIFO || policy == SCHED_RR) {
        return REAL_TIME_RANK;
    }
    return LOWEST_RANK - getpriority(PRIO_PROCESS, (id_t)thread);
}

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

/* What the kernel says of a thread: Linux, Documentation/scheduler/sched-stats.rst and
 * filesystems/proc.rst. All zero: not known. */
struct own_wait_look {
    pid_t thread;
    uint64_t ran_ns;
    uint64_t waited_ns; /* for a core, until it last had one */
};

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

static struct own_wait_look own_wait_look_at(pid_t thread)
{
    struct own_wait_look look = {.thread = thread};
    char text[128];
    if (thread != 0 && !sandbox_is_closed() &&
        own_wait_read(thread, "schedstat", text, sizeof text)) {
        sscanf(text, "%" SCNu64 " %" SCNu64, &look.ran_ns, &look.waited_ns);
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
    const struct own_wait_look look = own_wait_look_at((pid_t)syscall(SYS_gettid));
    return (struct own_wait_timer){
        .thread = look.thread,
        .start_ns = clock_now_ns(),
        .ran_ns = look.ran_ns,
        .waited_ns = look.waited_ns,
    };
}

struct own_wait_timer own_wait_timer_start_early(void)
{
    struct timespec ran;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ran);
    return (struct own_wait_timer){
        .thread = (pid_t)syscall(SYS_gettid),
        .start_ns = clock_now_ns(),
        .ran_ns = (uint64_t)ran.tv_sec * CLOCK_S + (uint64_t)ran.tv_nsec,
    };
}

uint64_t own_wait_timer_elapsed(const struct own_wait_timer *timer)
{
    const uint64_t elapsed_ns = clock_now_ns() - timer->start_ns;
    if (elapsed_ns < SHORT_NS) {
        return elapsed_ns;
    }
    const struct own_wait_look now = own_wait_look_at(timer->thread);
    const uint64_t ran_ns = now.ran_ns > timer->ran_ns ? now.ran_ns - timer->ran_ns : 0;
    const uint64_t waited_ns =
        now.waited_ns > timer->waited_ns ? now.waited_ns - timer->waited_ns : 0;
    const uint64_t idle_ns = elapsed_ns > ran_ns ? elapsed_ns - ran_ns : 0;
    return elapsed_ns - (waited_ns < idle_ns ? waited_ns : idle_ns);
}

/* Waits: in slices, so that what a thread is seen doing at the end of one is what it did in it. */

struct own_wait {
    uint64_t start_ns;
    struct own_wait_look before[THREAD_LIMIT + 1]; /* ours, and the one that waits */
};

static pid_t own_wait_thread(unsigned place)
{
    return place < THREAD_LIMIT ? atomic_load(&own_wait_threads[place])
                                : (pid_t)syscall(SYS_gettid);
}

static void own_wait_begin(struct own_wait *ret_wait)
{
    ret_wait->start_ns = clock_now_ns();
    for (unsigned i = 0; i <= THREAD_LIMIT && patience_is_limited(); i++) {
        ret_wait->before[i] = own_wait_look_at(own_wait_thread(i));
    }
}

/* For how much of that time a thread lacked a core. */
static uint64_t own_wait_starved_ns(const struct own_wait_look *before, bool is_other,
                                    uint64_t elapsed_ns)
{
    const struct own_wait_look now = own_wait_look_at(before->thread);
    if (now.ran_ns == 0) {
        return 0; /* there is none, or it is gone */
    }
    const uint64_t ran_ns = now.ran_ns - before->ran_ns;
    if (is_other && own_wait_is_runnable(before->thread)) {
        return elapsed_ns > ran_ns ? elapsed_ns - ran_ns : 0;
    }
    return now.waited_ns - before->waited_ns;
}

/* Of whom is waited for nothing is known but that it may be one of ours. Returns what is left of
 * left_ns. */
static uint64_t own_wait_end(const struct own_wait *wait, uint64_t left_ns)
{
    const uint64_t elapsed_ns = clock_now_ns() - wait->start_ns;
    uint64_t starved_ns = 0;
    for (unsigned i = 0; i <= THREAD_LIMIT && patience_is_limited() && elapsed_ns >= SHORT_NS;
         i++) {
        starved_ns += own_wait_starved_ns(&wait->before[i], i < THREAD_LIMIT, elapsed_ns);
    }
    const uint64_t spent_ns = patience_spend(wait->start_ns, starved_ns);
    return spent_ns < left_ns ? left_ns - spent_ns : 0;
}

static uint64_t own_wait_slice_end(const struct own_wait *wait, uint64_t left_ns)
{
    return wait->start_ns + (left_ns < SLICE_NS ? left_ns : SLICE_NS);
}

bool timed_lock(pthread_mutex_t *lock, uint64_t wait_ns)
{
    uint64_t left_ns = patience_limit(wait_ns);
    if (left_ns == WAIT_FOREVER) {
        return pthread_mutex_lock(lock) == 0;
    }
    const struct timespec pause = {0, (long)CLOCK_MS};
    bool taken = pthread_mutex_trylock(lock) == 0;
    while (!taken && left_ns > 0) {
        struct own_wait wait;
        own_wait_begin(&wait);
        do {
            nanosleep(&pause, NULL);
            taken = pthread_mutex_trylock(lock) == 0;
        } while (!taken && clock_now_ns() < own_wait_slice_end(&wait, left_ns));
        left_ns = own_wait_end(&wait, left_ns);
    }
    return taken;
}

bool timed_wait(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t wait_ns)
{
    uint64_t left_ns = patience_limit(wait_ns);
    if (left_ns == WAIT_FOREVER) {
        return pthread_cond_wait(condition, lock) == 0;
    }
    bool in_time = false;
    while (!in_time && left_ns > 0) {
        struct own_wait wait;
        own_wait_begin(&wait);
        const struct timespec until = clock_timespec(own_wait_slice_end(&wait, left_ns));
        in_time = pthread_cond_timedwait(condition, lock, &until) != ETIMEDOUT;
        left_ns = own_wait_end(&wait, left_ns);
    }
    return in_time;
}

/* Bytes; the status of a process has about 1,400, and some more for each group of its user. */
#define STATUS_SIZE 8192

static struct {
    pthread_mutex_t lock;
    bool prepared;
    atomic_int fd;        /* of /proc/self/status; -1: it cannot be told */
    unsigned long before; /* filters; set before fd is */
} sandbox = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

/* The number behind a heading of the status; false: there is none. */
static bool sandbox_find_number(const char *status, const char *heading, unsigned long *ret_number)
{
    const char *found = strstr(status, heading);
    if (found) {
        *ret_number = strtoul(found + strlen(heading), NULL, 10);
    }
    return found;
}

/* Linux counts filters since 5.9; before, it tells only whether there is one. False also where the
 * program has closed the descriptor and has another file by its number. */
static bool sandbox_count_filters(int fd, unsigned long *ret_count)
{
    char status[STATUS_SIZE];
    const int error = errno;
    const ssize_t size = pread(fd, status, sizeof status - 1, 0);
    errno = error;
    if (size <= 0) {
        return false;
    }
    status[size] = '\0';
    return strncmp(status, "Name:\t", 6) == 0 &&
           (sandbox_find_number(status, "\nSeccomp_filters:", ret_count) ||
            sandbox_find_number(status, "\nSeccomp:", ret_count));
}

/* The descriptor tells of the parent. */
static void sandbox_after_fork_in_child(void)
{
    pthread_mutex_init(&sandbox.lock, NULL);
    atomic_store(&sandbox.fd, -1);
}

bool sandbox_note_open(void)
{
    bool is_first = false;
    pthread_mutex_lock(&sandbox.lock);
    if (!sandbox.prepared) {
        pthread_atfork(NULL, NULL, sandbox_after_fork_in_child);
        sandbox.prepared = true;
    }
    if (atomic_load(&sandbox.fd) < 0) {
        const int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (fd >= 0 && sandbox_count_filters(fd, &sandbox.before)) {
            atomic_store_explicit(&sandbox.fd, fd, memory_order_release);
            is_first = true;
        } else if (fd >= 0) {
            close(fd);
        }
    }
    pthread_mutex_unlock(&sandbox.lock);
    return is_first || !sandbox_is_closed();
}

bool sandbox_is_closed(void)
{
    unsigned long now = 0;
    const int fd = atomic_load_explicit(&sandbox.fd, memory_order_acquire);
    return fd >= 0 && sandbox_count_filters(fd, &now) && now > sandbox.before;
}
