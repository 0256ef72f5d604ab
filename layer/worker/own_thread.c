// SPDX-License-Identifier: Apache-2.0
#include "layer/worker/own_thread.h"

#include <signal.h>

#include "layer/worker/sandbox.h"

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
