/* One segment, open: where its records are. A mapping of a file, a window on one, or bytes in
 * memory. Thread-safe once it is open. */
#ifndef WARMPIPE_DISK_RECIPE_SEGMENT_H
#define WARMPIPE_DISK_RECIPE_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "recipe_format.h"

struct recipe_window;

struct recipe_segment {
    const uint8_t *data;
    size_t size;
    bool is_mapped;               /* else malloc'ed, or a window's */
    struct recipe_window *window; /* NULL: all of the data is there */
    uint8_t *states;              /* of a window: for each entry of the index, atomic */
    bool is_sealed;               /* it has an index of its own that checks out */
    struct recipe_index index;
    struct bytes own_index; /* of one that is not sealed */
    uint64_t dropped;       /* damaged stretches that the walk has passed over */
};

/* Opens the file `name` of an open folder, as much of it as is committed, having checked what
 * file_open checks: maps it read-only, or looks at it through a window (recipe_window.h). Reasons
 * also of recipe_check_header: bad_magic and bad_format_version are those of others' or newer
 * files; too_large; io_error; out_of_memory. ret_segment is closed by the caller. */
enum reason recipe_segment_open(int folder_fd, const char *name, enum recipes_access access,
                                struct recipe_segment *ret_segment);

/* Takes bytes that were malloc'ed; on failure they stay the caller's. */
enum reason recipe_segment_take(uint8_t *data, size_t size, struct recipe_segment *ret_segment);

void recipe_segment_close(struct recipe_segment *segment);

/* Whether a part of it could not be read: then what seems damaged may be whole. */
bool recipe_segment_failed(const struct recipe_segment *segment);

/* Of a window, closes the file: its index answers, records that were not read are not found. */
void recipe_segment_detach(struct recipe_segment *segment);

/* Whether it has a record of this kind and digest, by the index alone. */
bool recipe_segment_has(const struct recipe_segment *segment, unsigned kind, struct digest digest);

/* The next record of this kind and digest from the entry *at (start with SIZE_MAX) on; *ret_record
 * has offset only (data NULL) where it is damaged. False: there are no more. */
bool recipe_segment_next(const struct recipe_segment *segment, unsigned kind, struct digest digest,
                         size_t *at, struct recipe_record *ret_record);

/* Likewise, all records of a kind. */
bool recipe_segment_next_of(const struct recipe_segment *segment, unsigned kind, size_t *at,
                            struct recipe_record *ret_record);

/* Likewise, by the index alone: data is NULL, and nothing is read or checked. */
bool recipe_segment_list(const struct recipe_segment *segment, unsigned kind, size_t *at,
                         struct recipe_record *ret_record);

#endif
