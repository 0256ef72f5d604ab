#include "file_kept.h"

#include <sys/stat.h>
#include <unistd.h>

struct file_kept file_keep(int fd)
{
    struct stat status = {0};
    fstat(fd, &status);
    return (struct file_kept){.fd = fd, .device = status.st_dev, .inode = status.st_ino};
}

bool file_kept_is_ours(const struct file_kept *kept)
{
    struct stat status;
    return kept->fd >= 0 && fstat(kept->fd, &status) == 0 && status.st_dev == kept->device &&
           status.st_ino == kept->inode;
}

void file_kept_close(struct file_kept *kept)
{
    if (file_kept_is_ours(kept)) {
        close(kept->fd);
    }
    kept->fd = -1;
}
