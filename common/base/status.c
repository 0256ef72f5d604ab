// SPDX-License-Identifier: Apache-2.0
#include "common/base/status.h"

#include <errno.h>

/* The id stands in the table itself: a pointer would be relocated at each start of a program. */
static const struct {
    char id[24];
    const char *text;
} reasons[] = {
#define REASON(id, text) {#id, text},
#include "common/base/reasons.def"
#undef REASON
};

const char *status_id(enum status reason)
{
    return reason == STATUS_ok ? "" : reasons[reason].id;
}

const char *status_text(enum status reason)
{
    return reasons[reason].text;
}

enum status status_from_errno(int error)
{
    switch (error) {
    case ENOENT:
        return STATUS_no_file;
    case ENOSPC:
    case EDQUOT:
        return STATUS_disk_full;
    case EROFS:
        return STATUS_read_only_disk;
    case EACCES:
    case EPERM:
        return STATUS_unreadable;
    case ELOOP:
        return STATUS_symlink;
    case ENOMEM:
        return STATUS_out_of_memory;
    default:
        return STATUS_io_error;
    }
}
