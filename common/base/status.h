// SPDX-License-Identifier: Apache-2.0
/* The result of a step: ok, or the reason why a cache was not used or a step not taken. One enum
 * for the whole project. */
#ifndef WARMPIPE_BASE_STATUS_H
#define WARMPIPE_BASE_STATUS_H

/* STATUS_ok is 0; reasons.def lists the others. */
enum status {
#define REASON(id, text) STATUS_##id,
#include "common/base/reasons.def"
#undef REASON
    STATUS_COUNT
};

/* The stable identifier ("bad_header_digest"); "" for STATUS_ok. Static storage, thread-safe. */
const char *status_id(enum status reason);

/* One sentence for people, lower case, no full stop. Static storage, thread-safe. */
const char *status_text(enum status reason);

/* Maps an errno value to the nearest reason (ENOENT → no_file,
 * ENOSPC and EDQUOT → disk_full, EROFS → read_only_disk, EACCES and EPERM → unreadable, ELOOP →
 * symlink, EISDIR and ENXIO → not_a_file, ENOMEM, EMFILE and ENFILE → out_of_memory, anything else
 * → io_error). Thread-safe. */
enum status status_from_errno(int error);

#endif
