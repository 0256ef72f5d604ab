// SPDX-License-Identifier: Apache-2.0
#include "layer/worker/own_thread.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "layer/worker/sandbox.h"

/* What takes no longer by the clock is short, whatever it waited for: /proc is not asked. */
#define SHORT_NS CLOCK_MS

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
    if (sandbox_is_closed()) {
        return false;
    }
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, stack_size);
    own_thread_block_signals(&before); /* the new thread inherits the mask */
    const bool started = pthread_create(&thread, &attributes, function, argument) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}

/* Linux, Documentation/scheduler/sched-stats.rst: time on a core, time spent waiting for one, both
 * in nanoseconds. 0: not known. */
static uint64_t own_thread_waited_ns(pid_t thread)
{
    if (sandbox_is_closed()) {
        return 0;
    }
    char text[128];
    snprintf(text, sizeof text, "/proc/self/task/%ld/schedstat", (long)thread);
    const int fd = open(text, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    const ssize_t size = read(fd, text, sizeof text - 1);
    close(fd);
    text[size > 0 ? size : 0] = '\0';
    uint64_t waited_ns = 0;
    return sscanf(text, "%*u %" SCNu64, &waited_ns) == 1 ? waited_ns : 0;
}

struct own_thread_timer own_thread_timer_start(void)
{
    const pid_t thread = (pid_t)syscall(SYS_gettid);
    return (struct own_thread_timer){
        .thread = thread,
        .start_ns = clock_now_ns(),
        .waited_ns = own_thread_waited_ns(thread),
    };
}

struct own_thread_timer own_thread_timer_start_early(void)
{
    return (struct own_thread_timer){
        .thread = (pid_t)syscall(SYS_gettid),
        .start_ns = clock_now_ns(),
    };
}

uint64_t own_thread_timer_elapsed(const struct own_thread_timer *timer)
{
    const uint64_t elapsed_ns = clock_now_ns() - timer->start_ns;
    if (elapsed_ns < SHORT_NS) {
        return elapsed_ns;
    }
    const uint64_t before_ns = timer->waited_ns;
    const uint64_t now_ns = own_thread_waited_ns(timer->thread);
    const uint64_t waited_ns = now_ns > before_ns ? now_ns - before_ns : 0;
    return elapsed_ns > waited_ns ? elapsed_ns - waited_ns : 0;
}
