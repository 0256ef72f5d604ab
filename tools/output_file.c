#include "output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "disk/file.h"
#include "output.h"

bool output_file_is_standard(const char *path)
{
    struct stat named;
    struct stat standard;
    return strcmp(path, "-") == 0 ||
           (stat(path, &named) == 0 && fstat(STDOUT_FILENO, &standard) == 0 &&
            named.st_dev == standard.st_dev && named.st_ino == standard.st_ino);
}

/* 0, or errno. */
static int write_parts(int fd, const struct iovec *parts, int count)
{
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < count; i++) {
        if (!io_write(fd, parts[i].iov_base, parts[i].iov_len, IO_HERE)) {
            return errno == EPIPE ? 0 : errno;
        }
    }
    return 0;
}

/* `flags`: O_CREAT for a link to nothing, but not where it may be refused (sysctl
 * fs.protected_fifos).
 */
static int write_special(const char *path, int flags, const struct iovec *parts, int count)
{
    const int fd = open(path, O_WRONLY | flags | O_CLOEXEC | O_NOCTTY, 0666);
    const int error = fd < 0 ? errno : write_parts(fd, parts, count);
    if (fd >= 0) {
        close(fd);
    }
    return error;
}

static mode_t mode_of_new_files(void)
{
    const mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

static bool complain(const char *verb, const char *path, const char *text)
{
    output_message("%s: cannot write '%s': %s", verb, path, text);
    return false;
}

static bool replace(const char *verb, const char *path, mode_t mode, const struct iovec *parts,
                    int count)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    char *directory = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    const int fd = directory ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    free(directory);
    if (fd < 0) {
        return complain(verb, path, strerror(errno));
    }
    const enum reason reason = file_replace(fd, name, parts, count);
    if (reason == REASON_ok) {
        fchmodat(fd, name, mode, 0);
    } else {
        output_message("%s: cannot write '%s': %s (%s)", verb, path, reason_text(reason),
                       reason_id(reason));
    }
    close(fd);
    return reason == REASON_ok;
}

bool output_file_write(const char *verb, const char *path, const struct iovec *parts, int count)
{
    struct stat named;
    struct stat link;
    int error = 0;
    if (output_file_is_standard(path)) {
        error = write_parts(STDOUT_FILENO, parts, count);
        return error == 0 || complain(verb, "standard output", strerror(error));
    }
    const bool exists = stat(path, &named) == 0;
    if (exists ? !S_ISREG(named.st_mode) : lstat(path, &link) == 0) {
        error = write_special(path, exists ? 0 : O_CREAT, parts, count);
        return error == 0 || complain(verb, path, strerror(error));
    }
    const mode_t mode = exists ? named.st_mode & 07777 : mode_of_new_files();
    char *target = exists ? realpath(path, NULL) : NULL;
    const bool written = replace(verb, target ? target : path, mode, parts, count);
    free(target);
    return written;
}
