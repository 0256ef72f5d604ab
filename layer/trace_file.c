#include "trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "disk/file.h"

#define LOCK_WAIT_MS 200

/* Bytes: a trace that nobody looks after does not fill a disk. */
#define MAX_SIZE ((uint64_t)256 << 20)

/* How a trace begins and ends. */
static const char head[] = "[\n{\"ph\":\"M\",\"name\":\"process_name\",";
static const char tail[] = "\n]\n";
#define HEAD_SIZE (sizeof head - 1)
#define TAIL_SIZE (sizeof tail - 1)

/* Longer than any event. */
#define WINDOW_SIZE 8192

static bool read_at(int fd, void *buffer, size_t size, uint64_t offset)
{
    return pread(fd, buffer, size, (off_t)offset) == (ssize_t)size;
}

/* Where the next event goes. False: it is no trace. */
static bool find_end(int fd, uint64_t size, uint64_t *ret_end)
{
    char window[WINDOW_SIZE];
    size_t left = size < sizeof window ? (size_t)size : sizeof window;
    if (size < HEAD_SIZE || !read_at(fd, window, HEAD_SIZE, 0) ||
        memcmp(window, head, HEAD_SIZE) != 0 || !read_at(fd, window, left, size - left)) {
        return false;
    }
    if (memcmp(window + left - TAIL_SIZE, tail, TAIL_SIZE) == 0) {
        *ret_end = size - TAIL_SIZE;
        return true;
    }
    /* Cut short: the last event that has another behind it is whole. */
    const uint64_t start = size - left;
    while (left >= 3 && memcmp(window + left - 3, "},\n", 3) != 0) {
        --left;
    }
    *ret_end = start + left - 2;
    return left >= 3;
}

static enum reason write_at(int fd, const struct bytes *bytes, uint64_t offset)
{
    ssize_t written;
    do {
        written = pwrite(fd, bytes->data, bytes->size, (off_t)offset);
    } while (written < 0 && errno == EINTR);
    if (written < 0) {
        return reason_from_errno(errno);
    }
    if ((size_t)written == bytes->size) {
        return REASON_ok;
    }
    /* The array ends again where it did; of a new file nothing is left. */
    bool restored = offset == 0 || pwrite(fd, tail, TAIL_SIZE, (off_t)offset) == TAIL_SIZE;
    restored &= ftruncate(fd, (off_t)(offset ? offset + TAIL_SIZE : 0)) == 0;
    return restored ? REASON_disk_full : REASON_io_error;
}

/* Under the lock. */
static enum reason append_locked(int fd, struct bytes *events)
{
    struct stat status;
    uint64_t end = 0;
    if (fstat(fd, &status) != 0) {
        return reason_from_errno(errno);
    }
    if (!S_ISREG(status.st_mode)) {
        return REASON_not_a_file;
    }
    uint64_t size = (uint64_t)status.st_size;
    if (size > 0 && !find_end(fd, size, &end)) {
        return REASON_not_a_trace;
    }
    bytes_put(events, tail, TAIL_SIZE);
    if (events->failed) {
        return REASON_out_of_memory;
    }
    if (size == 0) {
        events->data[0] = '[';
    }
    if (end + events->size > MAX_SIZE || !file_size_allowed(end + events->size)) {
        return REASON_too_large;
    }
    if (end > 0 && end + TAIL_SIZE != size && ftruncate(fd, (off_t)end) != 0) {
        return reason_from_errno(errno);
    }
    return write_at(fd, events, end);
}

enum reason trace_file_append(const char *path, struct bytes *events)
{
    /* O_NONBLOCK: a FIFO is opened and found to be none, and not waited for. */
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0600);
    if (fd < 0) {
        return reason_from_errno(errno);
    }
    enum reason reason = file_lock_directory(fd, LOCK_WAIT_MS);
    if (reason != REASON_ok) {
        close(fd);
        return reason;
    }
    reason = append_locked(fd, events);
    file_unlock(fd);
    return reason;
}
