// SPDX-License-Identifier: Apache-2.0
/* One segment, open: finds its records and checks the digest of each once.
 *
 *     recipe_segment_open (a file), or recipe_segment_take (bytes in memory)
 *         → recipe_segment_has, _find, _next_of, _list, _add_uses → recipe_segment_close
 *
 * The records lie in a mapping of the file, in memory, or in the file, from which each is read when
 * it is first asked for. Thread-safe once it is open, but for close_fd, detach and close. */
#ifndef WARMPIPE_RECIPES_SEGMENT_H
#define WARMPIPE_RECIPES_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/recipes/format.h"

struct segment_file;
struct segment_check;
struct segment_copy;

/* Bytes. A segment that is not larger is read whole when it is opened, and keeps no descriptor:
 * that is less than its records of uses, one by one, where a program has recorded for a while. */
#define RECIPE_SEGMENT_WHOLE ((uint64_t)256 << 10)

/* Bytes. A smaller one is left open, for the next process to go on with. */
#define RECIPE_SEGMENT_OPEN ((uint64_t)32 << 10)

/* Bytes; a file from elsewhere that is larger is not read (too_large). */
#define RECIPES_MAX_FILE ((uint64_t)1 << 30)

/* How files are read. READ reads the records that are asked for. MAP maps the files, so that the
 * child processes of `warmpipe warm` share their pages; in a mapping, a file that somebody cuts
 * short and a disk that fails are SIGBUS, so the layer never maps. */
enum recipes_access { RECIPES_MAP, RECIPES_READ };

struct recipe_segment {
    const uint8_t *data; /* all of it; NULL: records are read from the file */
    size_t size;
    bool is_mapped;               /* else malloc'ed */
    struct segment_file *file;    /* NULL: all of the data is in memory */
    struct segment_check *checks; /* of each index entry's record */
    struct segment_copy *copies;  /* likewise, where they are read from the file */
    bool is_sealed;               /* it has an index of its own that is intact */
    struct recipe_index index;
    struct bytes own_index; /* the index, where it does not lie in the data */
    uint64_t dropped;       /* damaged stretches that were skipped */
};

/* Opens the file `name` of a folder with the checks of file_open; reads what is committed now.
 * folder_fd must stay open if recipe_segment_close_fd is called. Also the statuses of
 * recipe_check_header (bad_magic and bad_format_version: a foreign or newer file), too_large,
 * io_error, out_of_memory. ret_segment is closed by the caller. */
enum status recipe_segment_open(int folder_fd, const char *name, enum recipes_access access,
                                struct recipe_segment *ret_segment);

/* Takes over malloc'ed bytes from anywhere, also on failure. An index whose entries lead to
 * overlapping records is damaged: reading all of it could take any time. It is then made anew from
 * the records. */
enum status recipe_segment_take(uint8_t *data, size_t size, struct recipe_segment *ret_segment);

/* Reads a file wherever it lies, whoever may write it, into memory (as recipe_segment_take). Also
 * no_file, not_a_file, too_large (RECIPES_MAX_FILE). */
enum status recipe_segment_read_any(const char *path, struct recipe_segment *ret_segment);

void recipe_segment_close(struct recipe_segment *segment);

/* Whether a file that recipe_segment_open refused has lost something. Not so one that is gone,
 * newer, or whose process has not written its first record yet. */
bool recipe_segment_is_damage(enum status status);

/* Whether reading a part of it failed: a record that seems damaged may be intact. */
bool recipe_segment_failed(const struct recipe_segment *segment);

/* Whether it has a descriptor open. close_fd closes it: from then on each read opens the file by
 * its name, and fails if the file was removed or replaced. */
bool recipe_segment_has_fd(const struct recipe_segment *segment);
void recipe_segment_close_fd(struct recipe_segment *segment);

/* Frees all but the index, which still answers. Does nothing to a mapping. */
void recipe_segment_detach(struct recipe_segment *segment);

/* Whether the index has a record of this kind and digest, intact or not. */
bool recipe_segment_has(const struct recipe_segment *segment, unsigned kind, struct digest digest);

/* The first intact record of this kind and digest. The data is borrowed until the segment is
 * closed. */
bool recipe_segment_find(const struct recipe_segment *segment, unsigned kind, struct digest digest,
                         struct recipe_record *ret_record);

/* The next record of a kind. *at is its index entry; start with SIZE_MAX. A damaged record has
 * kind, digest and offset only (data is NULL). False: there are no more. */
bool recipe_segment_next_of(const struct recipe_segment *segment, unsigned kind, size_t *at,
                            struct recipe_record *ret_record);

/* The same from the index only: data is NULL, nothing is read or checked. */
bool recipe_segment_list(const struct recipe_segment *segment, unsigned kind, size_t *at,
                         struct recipe_record *ret_record);

/* Adds all uses of the segment, not folded. */
void recipe_segment_add_uses(const struct recipe_segment *segment, struct recipe_uses *uses);

/* How many damaged stretches and records were found: when it was opened, and since then among the
 * records that were asked for. Each counts once. */
uint64_t recipe_segment_damaged(const struct recipe_segment *segment);

#endif
