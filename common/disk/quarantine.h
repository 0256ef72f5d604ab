/* Where a file goes that killed the processes which loaded it: quarantine/ in the program's folder,
 * one file for each identity (a later one replaces it), with a note for people beside it. */
#ifndef WARMPIPE_DISK_QUARANTINE_H
#define WARMPIPE_DISK_QUARANTINE_H

#include "base/bytes.h"
#include "base/result.h"
#include "codec/digest.h"
#include "driver/identity.h"
#include "marker.h"

#define QUARANTINE_FOLDER "quarantine"

/* What a note tells. */
struct quarantine_case {
    const struct driver_identity *identity;
    uint64_t generation;
    size_t blob_size;
    struct digest blob_digest;
    const struct marker_history *history; /* the two processes that died */
};

/* Appends the note, lines of "name: value", to `note`. Thread-safe. */
void quarantine_note(const struct quarantine_case *the_case, struct bytes *note);

/* Moves `name` to quarantine/`as`. note (NULL: none) is written to `as`.txt; whether that worked
 * does not change the result. not_a_file: something that cannot be replaced stands there. */
enum reason quarantine_move(int directory_fd, const char *name, const char *as,
                            const struct bytes *note);

#endif
