#include "own_thread.h"

#include <pthread.h>
#include <signal.h>

static void block_signals(sigset_t *ret_before)
{
    sigset_t blocked;
    sigfillset(&blocked);
    sigdelset(&blocked, SIGSEGV);
    sigdelset(&blocked, SIGBUS);
    sigdelset(&blocked, SIGFPE);
    sigdelset(&blocked, SIGILL);
    sigdelset(&blocked, SIGABRT);
    sigdelset(&blocked, SIGTRAP);
    sigdelset(&blocked, SIGSYS); /* a sandbox's answer to a system call; blocked, it kills */
    pthread_sigmask(SIG_SETMASK, &blocked, ret_before);
}

bool own_thread_start(void *(*function)(void *argument), void *argument, size_t stack_size)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t before;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, stack_size);
    /* The new thread inherits the mask. */
    block_signals(&before);
    bool started = pthread_create(&thread, &attributes, function, argument) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}
