/* One segment, open: where its records are. A mapping of a file, a file of which records are read
 * when they are asked for, or bytes in memory. Each record's digest is checked once. Thread-safe
 * once it is open. */
#ifndef WARMPIPE_DISK_RECIPE_SEGMENT_H
#define WARMPIPE_DISK_RECIPE_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "recipe_format.h"

struct recipe_file;

/* Bytes. A segment that has no more is read whole when it is opened, and needs no descriptor. */
#define RECIPE_SEGMENT_SMALL ((uint64_t)256 << 10)

/* What is known of a record in memory. */
enum recipe_verdict { RECIPE_VERDICT_UNKNOWN, RECIPE_VERDICT_INTACT, RECIPE_VERDICT_DAMAGED };

struct recipe_segment {
    const uint8_t *data; /* all of it; NULL: records are read from the file */
    size_t size;
    bool is_mapped;           /* else malloc'ed */
    struct recipe_file *file; /* NULL: all of the data is there */
    uint8_t *verdicts;        /* of each entry of the index, where all of the data is there; */
    const uint8_t **records;  /* else what each leads to, once it was read; both atomic */
    bool is_sealed;           /* it has an index of its own that checks out */
    struct recipe_index index;
    struct bytes own_index; /* where that does not lie in the data */
    uint64_t dropped;       /* damaged stretches that the walk has passed over */
};

/* Stands among the records for one that does not check out. */
extern const uint8_t recipe_segment_damaged[1];

/* Opens the file `name` of an open folder, as much of it as is committed, having checked what
 * file_open checks: maps it read-only, or reads from it (recipe_file.h; then the folder is to stay
 * open if the segment is to rest). Reasons also of recipe_check_header: bad_magic and
 * bad_format_version are those of others' or newer files; too_large; io_error; out_of_memory.
 * ret_segment is closed by the caller. */
enum reason recipe_segment_open(int folder_fd, const char *name, enum recipes_access access,
                                struct recipe_segment *ret_segment);

/* Whether a file that was not opened for this reason has lost something. Not so one that is gone,
 * newer, or of a process that has not yet written its first record. */
bool recipe_segment_is_damage(enum reason reason);

/* Takes bytes that were malloc'ed, whoever has made them: as recipe_segment_distrust; on failure
 * they stay the caller's. */
enum reason recipe_segment_take(uint8_t *data, size_t size, struct recipe_segment *ret_segment);

/* Looks through the index of a segment whose data is all there, while nobody else asks: in a file
 * of somebody else's many entries might lead to one record, or into one, and reading all that it
 * tells of would take any time. Such an index is damaged, and another is made of the records.
 * False: out of memory. */
bool recipe_segment_distrust(struct recipe_segment *segment);

void recipe_segment_close(struct recipe_segment *segment);

/* Whether a part of it could not be read: then what seems damaged may be whole. */
bool recipe_segment_failed(const struct recipe_segment *segment);

/* Whether it has a descriptor open. recipe_segment_rest: from now on only while it is read, and
 * what others remove is not read any more. */
bool recipe_segment_is_held(const struct recipe_segment *segment);
void recipe_segment_rest(struct recipe_segment *segment);

/* Gives back all but the index, which still answers. Not of a mapping. */
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
