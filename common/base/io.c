#include "io.h"

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

ssize_t io_read(int fd, void *data, size_t size, off_t offset)
{
    size_t done = 0;
    while (done < size) {
        uint8_t *next = (uint8_t *)data + done;
        const ssize_t count = offset == IO_HERE
                                  ? read(fd, next, size - done)
                                  : pread(fd, next, size - done, offset + (off_t)done);
        if (count == 0) {
            break;
        }
        if (count < 0 && errno != EINTR) {
            return -1;
        }
        done += count > 0 ? (size_t)count : 0;
    }
    return (ssize_t)done;
}

bool io_write(int fd, const void *data, size_t size, off_t offset)
{
    size_t done = 0;
    while (done < size) {
        const uint8_t *next = (const uint8_t *)data + done;
        const ssize_t count = offset == IO_HERE
                                  ? write(fd, next, size - done)
                                  : pwrite(fd, next, size - done, offset + (off_t)done);
        if (count == 0) {
            errno = EIO;
            return false;
        }
        if (count < 0 && errno != EINTR) {
            return false;
        }
        done += count > 0 ? (size_t)count : 0;
    }
    return true;
}
