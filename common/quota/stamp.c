// SPDX-License-Identifier: Apache-2.0
#include "common/quota/stamp.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/text.h"
#include "common/files/file.h"

#define STAMP_PREFIX  ".limits."
#define STAMP_SIZE    64
#define STAMP_WAIT_MS 100

/* A number and then `stop`. */
static bool quota_parse_stamp_number(const char **text, char stop, uint64_t *ret_number)
{
    return text_parse_digits(text, UINT64_MAX, ret_number) && *(*text)++ == stop;
}

/* The root may be a volume where everybody can create files: never write through a link to another
 * file of this user. */
static bool quota_is_own_stamp(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
           status.st_nlink == 1;
}

bool quota_stamp_open(int root_fd, struct quota_stamp *ret_stamp)
{
    char name[32];
    snprintf(name, sizeof name, STAMP_PREFIX "%u", (unsigned)geteuid());
    struct quota_stamp stamp = {.fd = -1};
    if (file_lock(root_fd, name, STAMP_WAIT_MS, &stamp.fd) != STATUS_ok) {
        return false;
    }
    if (!quota_is_own_stamp(stamp.fd)) {
        file_unlock(stamp.fd);
        return false;
    }
    char text[STAMP_SIZE];
    ssize_t size = pread(stamp.fd, text, sizeof text - 1, 0);
    text[size > 0 ? size : 0] = '\0';
    const char *at = text;
    *ret_stamp = stamp;
    if (!quota_parse_stamp_number(&at, ' ', &ret_stamp->scanned_at) ||
        !quota_parse_stamp_number(&at, '\n', &ret_stamp->bytes) || *at != '\0') {
        *ret_stamp = (struct quota_stamp){.fd = stamp.fd};
    }
    return true;
}

void quota_stamp_close(struct quota_stamp *stamp, bool write)
{
    char text[STAMP_SIZE];
    int length =
        snprintf(text, sizeof text, "%" PRIu64 " %" PRIu64 "\n", stamp->scanned_at, stamp->bytes);
    /* A torn stamp has no newline at its end, so the next process scans. */
    if (write && file_size_allowed((uint64_t)length) && ftruncate(stamp->fd, 0) == 0) {
        write = pwrite(stamp->fd, text, (size_t)length, 0) == length;
    }
    file_unlock(stamp->fd);
}

void quota_forget(int root_fd)
{
    const size_t prefix = strlen(STAMP_PREFIX);
    AUTO_LISTING DIR *listing = listing_open(root_fd, ".");
    const char *name;
    while ((name = listing_next(listing))) {
        const bool has_prefix = strncmp(name, STAMP_PREFIX, prefix) == 0;
        const size_t digits = has_prefix ? strspn(name + prefix, "0123456789") : 0;
        if (digits > 0 && name[prefix + digits] == '\0') {
            unlinkat(root_fd, name, 0);
        }
    }
}
