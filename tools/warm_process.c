#include "warm_process.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "output.h"

pid_t warm_process_start(int *ret_fd)
{
    int ends[2];
    fflush(stdout);
    fflush(stderr);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        output_message("warm: cannot make a socket: %s", strerror(errno));
        return -1;
    }
    pid_t pid = fork();
    if (pid < 0) {
        output_message("warm: cannot start a process: %s", strerror(errno));
        close(ends[0]);
        close(ends[1]);
        return -1;
    }
    *ret_fd = ends[pid == 0];
    close(ends[pid != 0]);
    return pid;
}

int warm_process_wait(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

bool warm_process_write(int fd, const void *data, size_t size)
{
    for (const char *next = data; size > 0;) {
        ssize_t written = send(fd, next, size, MSG_NOSIGNAL);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        next += written > 0 ? written : 0;
        size -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

bool warm_process_read(int fd, void *data, size_t size)
{
    return io_read(fd, data, size, IO_HERE) == (ssize_t)size;
}
