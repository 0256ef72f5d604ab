#include "result.h"

#include <errno.h>

static const struct {
    const char *id;
    const char *text;
} reasons[] = {
#define REASON(id, text) {#id, text},
#include "reasons.def"
#undef REASON
};

const char *reason_id(enum reason reason)
{
    return reason == REASON_ok ? "" : reasons[reason].id;
}

const char *reason_text(enum reason reason)
{
    return reasons[reason].text;
}

enum reason reason_from_errno(int error)
{
    switch (error) {
    case ENOENT:
        return REASON_no_file;
    case ENOSPC:
    case EDQUOT:
        return REASON_disk_full;
    case EROFS:
        return REASON_read_only_disk;
    case EACCES:
    case EPERM:
        return REASON_unreadable;
    case ELOOP:
        return REASON_symlink;
    case ENOMEM:
        return REASON_out_of_memory;
    default:
        return REASON_io_error;
    }
}
