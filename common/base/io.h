/* Reads and writes that go on where the kernel has done a part, or a signal came. Nothing is
 * allocated, and nothing but the descriptor is touched: for any thread, and for the end of the
 * process. */
#ifndef WARMPIPE_BASE_IO_H
#define WARMPIPE_BASE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* In place of an offset: where the descriptor stands, which moves it on. */
#define IO_HERE ((off_t)-1)

/* Reads `size` bytes, or fewer where the file ends. How many; -1: errno tells why. */
ssize_t io_read(int fd, void *data, size_t size, off_t offset);

/* Writes all of it. False: errno tells why; some of it may be written. */
bool io_write(int fd, const void *data, size_t size, off_t offset);

#endif
