// SPDX-License-Identifier: Apache-2.0
#include "layer/worker/own_thread.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/io.h"
#include "layer/worker/own_wait.h"
#include "layer/worker/sandbox.h"

/* The niceness, as of setpriority(2), of threads that nobody waits for. */
#define OWN_THREAD_NICE 10

struct own_thread_call {
    void *(*function)(void *argument);
    void *argument;
};

static void *own_thread_run(void *argument)
{
    const struct own_thread_call call = *(struct own_thread_call *)argument;
    free(argument);
    io_set_own_thread();
    if (!sandbox_is_closed()) { /* it may begin late */
        prctl(PR_SET_NAME, "warmpipe");
    }
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

/* glibc takes what a program and its libraries keep for each thread from the stack (its bug 11787).
 */
static int own_thread_add_locals(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        *(size_t *)user += part->p_type == PT_TLS ? part->p_memsz : 0;
    }
    return 0;
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
    dl_iterate_phdr(own_thread_add_locals, &stack_size);
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

enum { GONE_RANK = -1, IDLE_RANK, LOWEST_RANK = 20, REAL_TIME_RANK = 100 };

/* The kernel is asked: musl's functions of these names do nothing, for POSIX means processes. */
int own_thread_rank(pid_t thread)
{
    errno = 0;
    const int policy = (int)syscall(SYS_sched_getscheduler, thread);
    if (policy < 0 && errno == ESRCH) {
        return GONE_RANK;
    }
    switch (policy & ~SCHED_RESET_ON_FORK) {
    case SCHED_IDLE:
        return IDLE_RANK;
    case SCHED_FIFO:
    case SCHED_RR:
        return REAL_TIME_RANK;
    default:
        return LOWEST_RANK - getpriority(PRIO_PROCESS, (id_t)thread);
    }
}

void own_thread_give_way(void)
{
    if (sandbox_is_closed()) {
        return;
    }
    if (own_thread_rank(0) == REAL_TIME_RANK) {
        syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &(struct sched_param){0});
    }
    if (getpriority(PRIO_PROCESS, 0) < OWN_THREAD_NICE) { /* of this thread alone, on Linux */
        setpriority(PRIO_PROCESS, 0, OWN_THREAD_NICE);
    }
}

__attribute__((noinline)) int own_thread_bar_cancel(void)
{
    int before = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

__attribute__((noinline)) void own_thread_let_cancel(int before)
{
    pthread_setcancelstate(before, NULL);
}
