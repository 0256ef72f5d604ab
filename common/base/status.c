// SPDX-License-Identifier: Apache-2.0
#include "common/base/status.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

/* Words by their places, not by pointers: those would be relocated at each start of a program. */
static const struct status_words {
#define REASON(id, text) char id##_id[sizeof #id], id##_text[sizeof text];
#include "common/base/reasons.def"
#undef REASON
} words = {
#define REASON(id, text) #id, text,
#include "common/base/reasons.def"
#undef REASON
};

_Static_assert(sizeof words <= UINT16_MAX, "a place has two bytes");

static const struct {
    uint16_t id;
    uint16_t text;
} places[] = {
#define REASON(id, text)                                                                           \
    {offsetof(struct status_words, id##_id), offsetof(struct status_words, id##_text)},
#include "common/base/reasons.def"
#undef REASON
};

const char *status_id(enum status reason)
{
    return reason == STATUS_ok ? "" : (const char *)&words + places[reason].id;
}

const char *status_text(enum status reason)
{
    return (const char *)&words + places[reason].text;
}

enum status status_from_errno(int error)
{
    static const struct {
        uint16_t error, reason;
    } reasons[] = {
        {ENOENT, STATUS_no_file},       {ENOSPC, STATUS_disk_full},
        {EDQUOT, STATUS_disk_full},     {EROFS, STATUS_read_only_disk},
        {EACCES, STATUS_unreadable},    {EPERM, STATUS_unreadable},
        {ELOOP, STATUS_symlink},        {EISDIR, STATUS_not_a_file},
        {ENXIO, STATUS_not_a_file}, /* a socket; a pipe that nobody reads */
        {ENOMEM, STATUS_out_of_memory}, {EMFILE, STATUS_out_of_memory},
        {ENFILE, STATUS_out_of_memory},
    };
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        if (reasons[i].error == error) {
            return (enum status)reasons[i].reason;
        }
    }
    return STATUS_io_error;
}
