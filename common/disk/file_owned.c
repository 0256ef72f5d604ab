#include "file_owned.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unique.h"

#define MAX_ATTEMPTS 16

static bool draw_name(const char *prefix, const char *suffix, struct file_owned *file)
{
    char digits[UNIQUE_HEX_SIZE];
    file->number = unique_draw();
    unique_format(file->number, digits);
    int length = snprintf(file->name, sizeof(file->name), "%s%s%s%s", prefix ? prefix : "",
                          prefix ? "." : "", digits, suffix);
    return length >= 0 && (size_t)length < sizeof(file->name);
}

/* False if somebody looks at the file just now, or has removed it for abandoned. */
static bool become_owner(struct file_owned *file)
{
    file->locked = flock(file->fd, LOCK_EX | LOCK_NB) == 0;
    if (!file->locked) {
        return errno != EWOULDBLOCK;
    }
    struct stat status;
    return fstat(file->fd, &status) == 0 && status.st_nlink > 0;
}

bool file_create_owned(int directory_fd, const char *prefix, const char *suffix,
                       struct file_owned *ret_file)
{
    for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        struct file_owned file;
        if (!draw_name(prefix, suffix, &file)) {
            errno = ENAMETOOLONG;
            return false;
        }
        file.fd = openat(directory_fd, file.name,
                         O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (file.fd < 0) {
            if (errno == EEXIST || errno == EINTR) {
                continue;
            }
            return false;
        }
        if (become_owner(&file)) {
            *ret_file = file;
            return true;
        }
        unlinkat(directory_fd, file.name, 0);
        close(file.fd);
    }
    errno = EAGAIN;
    return false;
}

int file_open_abandoned(int directory_fd, const char *name)
{
    int fd = openat(directory_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0) {
        close(fd);
        errno = EWOULDBLOCK;
        return -1;
    }
    return fd;
}
