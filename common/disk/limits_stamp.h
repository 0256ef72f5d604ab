/* How much lies in all folders of a root, as far as this user's processes know without looking: the
 * file .limits.<uid> in the root, "<seconds since the epoch of the last look> <bytes>\n". It is
 * locked while it is open, so that one process at a time looks. Where it cannot be written, nothing
 * in the root can be removed either. */
#ifndef WARMPIPE_DISK_LIMITS_STAMP_H
#define WARMPIPE_DISK_LIMITS_STAMP_H

#include <stdbool.h>
#include <stdint.h>

struct limits_stamp {
    int fd;
    uint64_t looked_at; /* seconds since the epoch; 0: never, or nothing that can be read says so */
    uint64_t bytes;     /* what the last look has found, and what was saved since */
};

/* Opens and locks it, waiting for a moment. False: another process has it, or it is not to be had.
 */
bool limits_stamp_open(int root_fd, struct limits_stamp *ret_stamp);

/* Writes both numbers if `write` says so, unlocks and closes. */
void limits_stamp_close(struct limits_stamp *stamp, bool write);

#endif
