#include "report_write.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "disk/file.h"
#include "output.h"

/* 0, or errno. A reader that has closed its pipe is no error. */
static int write_all(int fd, const char *data, size_t size)
{
    signal(SIGPIPE, SIG_IGN);
    while (size > 0) {
        const ssize_t written = write(fd, data, size);
        if (written < 0 && errno != EINTR) {
            return errno == EPIPE ? 0 : errno;
        }
        data += written > 0 ? written : 0;
        size -= written > 0 ? (size_t)written : 0;
    }
    return 0;
}

static int write_special(const char *path, const void *data, size_t size)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    const int error = fd < 0 ? errno : write_all(fd, data, size);
    if (fd >= 0) {
        close(fd);
    }
    return error;
}

static bool complain(const char *path, const char *text)
{
    output_message("report: cannot write '%s': %s", path, text);
    return false;
}

static bool replace(const char *path, const void *data, size_t size)
{
    const char *slash = strrchr(path, '/');
    char *directory = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    const int fd = directory ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    free(directory);
    if (fd < 0) {
        return complain(path, strerror(errno));
    }
    const struct iovec part = {.iov_base = (void *)data, .iov_len = size};
    const enum reason reason = file_replace(fd, slash ? slash + 1 : path, &part, 1);
    close(fd);
    return reason == REASON_ok || complain(path, reason_text(reason));
}

bool report_write(const char *path, const void *data, size_t size)
{
    struct stat status;
    if (strcmp(path, "-") == 0) {
        const int error = write_all(STDOUT_FILENO, data, size);
        return error == 0 || complain("standard output", strerror(error));
    }
    const bool exists = stat(path, &status) == 0;
    if (exists && !S_ISREG(status.st_mode)) {
        const int error = write_special(path, data, size);
        return error == 0 || complain(path, strerror(error));
    }
    char *target = exists ? realpath(path, NULL) : NULL;
    const bool written = replace(target ? target : path, data, size);
    free(target);
    return written;
}
