// SPDX-License-Identifier: Apache-2.0
#include "layer/worker/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/text.h"

/* Bytes; the status of a process has about 1,400, and some more for each group of its user. It is
 * read in pieces of this size, for a thread that ends the process may have a small stack: that of a
 * handler of a signal has 8 KiB. */
#define STATUS_SIZE 2048

/* More than a line that is looked for. */
#define STATUS_OVERLAP 64

static struct {
    pthread_mutex_t lock;
    bool prepared;
    atomic_int fd;   /* of /proc/self/status; -1: it cannot be told */
    uint64_t before; /* filters; set before fd is */
} sandbox = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

/* The number behind a heading of the status; false: there is none, or it is cut. (Of musl, strstr
 * takes 2 KiB of the stack, and strtoul half of one.) */
static bool sandbox_find_number(const char *status, const char *heading, uint64_t *ret_number)
{
    const size_t length = strlen(heading);
    const char *line = strchr(status, '\n');
    while (line && strncmp(line, heading, length) != 0) {
        line = strchr(line + 1, '\n');
    }
    if (line && strchr(line + 1, '\n')) {
        line += length;
        return text_parse_digits(&line, UINT64_MAX, ret_number);
    }
    return false;
}

/* Linux counts filters since 5.9; before, it tells only whether there is one. False also where the
 * program has closed the descriptor, or has another file by its number. */
static bool sandbox_count_filters(int fd, uint64_t *ret_count)
{
    char status[STATUS_SIZE];
    bool is_told = false;
    bool is_counted = false;
    off_t at = 0;
    ssize_t size = STATUS_OVERLAP + 1;
    for (; size > STATUS_OVERLAP && !is_counted; at += size - STATUS_OVERLAP) {
        const int error = errno;
        size = pread(fd, status, sizeof status - 1, at);
        errno = error;
        status[size > 0 ? size : 0] = '\0';
        if (at == 0 && strncmp(status, "Name:\t", 6) != 0) {
            return false;
        }
        is_counted = sandbox_find_number(status, "\nSeccomp_filters:\t", ret_count);
        is_told |= is_counted || sandbox_find_number(status, "\nSeccomp:\t", ret_count);
    }
    return is_told;
}

/* The descriptor tells of the parent. */
static void sandbox_after_fork_in_child(void)
{
    pthread_mutex_init(&sandbox.lock, NULL);
    atomic_store(&sandbox.fd, -1);
}

bool sandbox_note_open(void)
{
    pthread_mutex_lock(&sandbox.lock);
    if (!sandbox.prepared) {
        pthread_atfork(NULL, NULL, sandbox_after_fork_in_child);
        sandbox.prepared = true;
    }
    uint64_t now = 0;
    int fd = atomic_load(&sandbox.fd);
    const bool is_first = fd < 0;
    if (is_first || !sandbox_count_filters(fd, &now)) {
        fd = io_open_kept(AT_FDCWD, "/proc/self/status", O_RDONLY);
        if (fd >= 0 && !sandbox_count_filters(fd, &now)) {
            close(fd);
            fd = -1;
        }
        sandbox.before = is_first ? now : sandbox.before;
        if (is_first || fd >= 0) { /* else the program is taken for shut in, as before */
            atomic_store_explicit(&sandbox.fd, fd, memory_order_release);
        }
    }
    pthread_mutex_unlock(&sandbox.lock);
    return is_first || !sandbox_is_closed();
}

bool sandbox_is_closed(void)
{
    uint64_t now = 0;
    const int fd = atomic_load_explicit(&sandbox.fd, memory_order_acquire);
    return fd >= 0 && (!sandbox_count_filters(fd, &now) || now > sandbox.before);
}
