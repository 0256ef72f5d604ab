/* Reasons: why a cache was not used, or a step was not taken. One enum for the whole project. */
#ifndef WARMPIPE_BASE_RESULT_H
#define WARMPIPE_BASE_RESULT_H

/* REASON_ok is 0; every other value names one cause, listed in reasons.def. */
enum reason {
#define REASON(id, text) REASON_##id,
#include "reasons.def"
#undef REASON
    REASON_COUNT
};

/* The stable identifier ("bad_header_digest"); "" for REASON_ok. Static storage, thread-safe. */
const char *reason_id(enum reason reason);

/* One sentence for a person, lower case, no full stop. Static storage, thread-safe. */
const char *reason_text(enum reason reason);

/* What a failed system call means: maps an errno value to the nearest reason (ENOENT → no_file,
 * ENOSPC and EDQUOT → disk_full, EROFS → read_only_disk, EACCES and EPERM → unreadable, ELOOP →
 * symlink, ENOMEM → out_of_memory, anything else → io_error). Thread-safe. */
enum reason reason_from_errno(int error);

#endif
