#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

static int write_once(int fd, const void *data, size_t size)
{
    ssize_t written;
    do {
        written = write(fd, data, size);
    } while (written < 0 && errno == EINTR);
    if (written < 0) {
        return errno;
    }
    return (size_t)written == size ? 0 : EIO;
}

int sink_write(int fd, const void *data, size_t size)
{
    sigset_t sigpipe;
    sigset_t before;
    sigset_t pending;
    sigemptyset(&sigpipe);
    sigaddset(&sigpipe, SIGPIPE);
    sigpending(&pending);
    bool was_pending = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &sigpipe, &before);

    int error = write_once(fd, data, size);

    /* The signal of our own write is taken back before the program can see it. */
    if (error == EPIPE && !was_pending) {
        const struct timespec at_once = {0};
        while (sigtimedwait(&sigpipe, NULL, &at_once) < 0 && errno == EINTR) {
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

int sink_append(const char *path, int flags, const void *data, size_t size)
{
    /* O_NONBLOCK: a FIFO that nobody reads fails instead of stopping the program. */
    int fd =
        open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | flags, 0600);
    if (fd < 0) {
        return errno;
    }
    int error = size ? sink_write(fd, data, size) : 0;
    close(fd);
    return error;
}
