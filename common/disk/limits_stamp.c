#include "limits_stamp.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "file.h"

#define TEXT_SIZE 64
#define WAIT_MS   100

/* "digits, stop": false for anything else, and for what does not fit 64 bits. */
static bool read_number(const char **text, char stop, uint64_t *ret_number)
{
    uint64_t number = 0;
    const char *at = *text;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(number, 10u, &number) ||
            __builtin_add_overflow(number, (unsigned)(*at - '0'), &number)) {
            return false;
        }
    }
    if (at == *text || *at != stop) {
        return false;
    }
    *text = at + 1;
    *ret_number = number;
    return true;
}

bool limits_stamp_open(int root_fd, struct limits_stamp *ret_stamp)
{
    char name[32];
    snprintf(name, sizeof name, ".limits.%u", (unsigned)geteuid());
    struct limits_stamp stamp = {.fd = -1};
    if (file_lock(root_fd, name, WAIT_MS, &stamp.fd) != REASON_ok) {
        return false;
    }
    char text[TEXT_SIZE];
    ssize_t size = pread(stamp.fd, text, sizeof text - 1, 0);
    text[size > 0 ? size : 0] = '\0';
    const char *at = text;
    uint64_t looked_at;
    uint64_t bytes;
    if (read_number(&at, ' ', &looked_at) && read_number(&at, '\n', &bytes) && *at == '\0') {
        stamp.looked_at = looked_at;
        stamp.bytes = bytes;
    }
    *ret_stamp = stamp;
    return true;
}

void limits_stamp_close(struct limits_stamp *stamp, bool write)
{
    char text[TEXT_SIZE];
    int length =
        snprintf(text, sizeof text, "%" PRIu64 " %" PRIu64 "\n", stamp->looked_at, stamp->bytes);
    /* Torn, it lacks its end, and the next process looks for itself. */
    if (write && file_size_allowed((uint64_t)length) && ftruncate(stamp->fd, 0) == 0) {
        write = pwrite(stamp->fd, text, (size_t)length, 0) == length;
    }
    file_unlock(stamp->fd);
}
