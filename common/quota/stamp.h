// SPDX-License-Identifier: Apache-2.0
/* The stamp: the file .limits.<uid> in the root, "<seconds since the epoch of the last scan>
 * <bytes>", says how much is in all folders, as far as this user's processes know without a scan.
 * It is locked while it is open, so that one process at a time scans. If it cannot be written,
 * nothing in the root can be removed either. */
#ifndef WARMPIPE_QUOTA_STAMP_H
#define WARMPIPE_QUOTA_STAMP_H

#include <stdbool.h>
#include <stdint.h>

struct quota_stamp {
    int fd;
    uint64_t scanned_at; /* seconds since the epoch; 0: never, or the file cannot be read */
    uint64_t bytes;      /* found by the last scan, and saved since */
};

/* Opens and locks the stamp, after a wait of 100 ms at most. False: another process has it, or it
 * cannot be created. */
bool quota_stamp_open(int root_fd, struct quota_stamp *ret_stamp);

/* Writes both numbers if `write` is true, unlocks and closes. */
void quota_stamp_close(struct quota_stamp *stamp, bool write);

/* Removes what processes, of each user, remember of the total size of a root that was emptied. */
void quota_forget(int root_fd);

#endif
