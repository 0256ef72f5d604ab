/* Going on with a segment that a dead process has left: else each process that records something
 * would leave a file, however little it is. Only small ones that are whole and have no index: such
 * a one is nobody's and, as long as it is not locked again, stays as it is. Thread-safe. */
#ifndef WARMPIPE_DISK_RECIPE_RESUME_H
#define WARMPIPE_DISK_RECIPE_RESUME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct recipe_resumed {
    int fd; /* for reading and writing, locked as its owner's */
    uint64_t size;
    struct bytes entries; /* of its index, in the order of the records */
};

/* Opens one in the folder that has less than `max_size` bytes. False: there is none. The descriptor
 * and the entries are the caller's. */
bool recipe_resume(int folder_fd, uint64_t max_size, struct recipe_resumed *ret_resumed);

#endif
