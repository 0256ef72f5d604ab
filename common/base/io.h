// SPDX-License-Identifier: Apache-2.0
/* Reads and writes. Nothing is allocated, so these functions work in any thread and at the end of
 * the process.
 *
 * io_read and io_write continue after a partial transfer or a signal. io_write_line and io_append
 * are for lines that people and scripts read, on standard error or at the end of a file. The
 * program under the layer must not notice them:
 *   - Neither SIGPIPE nor SIGXFSZ reaches it.
 *   - No descriptor stays open. (A program that closes every descriptor that it does not know would
 *     otherwise get the next line into a file of its own.)
 *   - They do not wait for a pipe without a reader. For a full one they wait a quarter of a second,
 *     once in a process: lines that find it full later are dropped.
 *
 * Thread-safe. */
#ifndef WARMPIPE_BASE_IO_H
#define WARMPIPE_BASE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

struct stat;

/* In place of an offset: the current file position, which is advanced. */
#define IO_HERE (~(off_t)0)

/* As openat, with the mode 0600, O_CLOEXEC, O_NOCTTY and O_NONBLOCK (it does not wait for a FIFO;
 * for writing, a FIFO without a reader gives ENXIO). It never returns the number of a standard
 * stream that the program has closed, because the program's output would go into the file. On our
 * own threads it returns a high number, if the limit of descriptors allows that: a program that
 * closes every descriptor that it does not know while we write a file would reuse a low number for
 * a file of its own, which we would then write to and close. -1: see errno; EBADF, EINTR: the
 * program has closed the descriptor meanwhile, or put another file in its place. */
int io_open(int directory_fd, const char *name, int flags);

/* The same with a high number on every thread, for descriptors that stay open while the program
 * goes on. */
int io_open_kept(int directory_fd, const char *name, int flags);

/* The calling thread is one of ours, which runs beside the program's. */
void io_set_own_thread(void);

/* Whether the open file belongs to the effective user, or to root. *status is its stat; flags of
 * the descriptor (O_NONBLOCK) may be lost. */
bool io_is_trusted_owner(int fd, const struct stat *status);

/* Reads `size` bytes, or fewer at the end of the file. Returns how many; -1: see errno. */
ssize_t io_read(int fd, void *data, size_t size, off_t offset);

/* Closes the descriptor; -1 is a no-op. errno may change. */
void io_close(int fd);

/* A variable whose scope owns it. At the end of the scope this function is called with the
 * variable's address: it releases, closes (a descriptor, -1: none; a stream, NULL: none) or frees
 * it. Initialize the variable where it is declared. */
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

/* One write(2). 0, or an errno value: EIO if only a part was written, EAGAIN if there was no room.
 */
int io_write_line(int fd, const void *data, size_t size);

/* Appends to the file at `path` with one write(2) of O_APPEND, so that lines of several processes
 * do not mix; a line that does not fit is taken back. A missing file is made 0600. A symbolic link
 * as the last part of the path is not followed (ELOOP), except /dev/stdout, /dev/stderr, /dev/fd/N
 * and /proc/self/fd/N; if these are files, the line goes where the program is writing. size 0 only
 * checks that the file can be opened. 0, or an errno value. */
int io_append(const char *path, const void *data, size_t size);

#endif
