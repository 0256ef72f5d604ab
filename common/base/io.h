// SPDX-License-Identifier: Apache-2.0
/* Reads and writes. Nothing is allocated, so these work in any thread and at the end of the
 * process.
 *
 * io_read and io_write continue after a partial transfer or a signal. io_write_line and io_append
 * are for lines that people and scripts read, on standard error or at the end of a file. The
 * program under the layer must not notice them: neither SIGPIPE nor SIGXFSZ reaches it, no
 * descriptor stays open (a program that closes every descriptor it does not know would otherwise
 * get the next line into a file of its own), and they never wait for a pipe that has no reader, nor
 * longer than a quarter of a second for one that is full. Thread-safe. */
#ifndef WARMPIPE_BASE_IO_H
#define WARMPIPE_BASE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

struct stat;

/* Instead of an offset: the current file position, which is advanced. */
#define IO_HERE (~(off_t)0)

/* As openat, with the mode 0600, O_CLOEXEC, O_NOCTTY and O_NONBLOCK (a FIFO is not waited for; for
 * writing, one without a reader is ENXIO), but never one of the standard streams of a program
 * that has closed them: what it prints would stand in the file. A thread of ours gets a high
 * number, where the limit of descriptors allows it: a program that closes every descriptor it does
 * not know, while a file is being written, gives the low numbers to files of its own, which would
 * be written and closed next. -1: see errno; EBADF, EINTR: the program has closed it meanwhile, or
 * put another file in its place. */
int io_open(int directory_fd, const char *name, int flags);

/* The same with a high number on each thread, for what stays open while the program goes on. */
int io_open_kept(int directory_fd, const char *name, int flags);

/* The calling thread is one of ours, which runs beside the program. */
void io_set_own_thread(void);

/* Whether what was opened belongs to the effective user, or to root. *status is of it; its flags
 * (O_NONBLOCK) may be lost. */
bool io_is_trusted_owner(int fd, const struct stat *status);

/* Reads `size` bytes, or fewer at the end of the file. Returns how many; -1: see errno. */
ssize_t io_read(int fd, void *data, size_t size, off_t offset);

/* Closes it; of -1 a no-op. errno may change. */
void io_close(int fd);

/* What a scope owns: released at its end by this function, which takes the variable's address;
 * closed (a descriptor, -1: none; a stream, NULL: none); freed. It is initialized where it is
 * declared. */
#define AUTO(release) __attribute__((cleanup(release)))
#define AUTO_CLOSE    AUTO(io_auto_close)
#define AUTO_FCLOSE   AUTO(io_auto_fclose)
#define AUTO_FREE     AUTO(io_auto_free)

static inline void io_auto_close(const int *fd)
{
    io_close(*fd);
}

static inline void io_auto_fclose(FILE *const *stream)
{
    if (*stream) {
        fclose(*stream);
    }
}

static inline void io_auto_free(void *pointer)
{
    void *memory;
    memcpy(&memory, pointer, sizeof memory);
    free(memory);
}

/* Writes everything. False: see errno; a part may be written. */
bool io_write(int fd, const void *data, size_t size, off_t offset);

/* One write(2). 0, or an errno value: EIO if only a part was written, EAGAIN if there was no room
 * for a quarter of a second. */
int io_write_line(int fd, const void *data, size_t size);

/* Appends to the file at `path` with one write(2) of O_APPEND, so that lines of several processes
 * do not mix, and a line that does not fit is taken back; made 0600 if missing. A symbolic link as
 * the last part of the path is not followed (ELOOP), except /dev/stdout, /dev/stderr,
 * /dev/fd/N and /proc/self/fd/N: where these are files, it is written where the program is writing.
 * size 0 only checks that the file can be opened. 0, or an errno value. */
int io_append(const char *path, const void *data, size_t size);

#endif
