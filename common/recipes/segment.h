// SPDX-License-Identifier: Apache-2.0
/* The bytes of a recipe segment (docs/FORMAT.md, "Recipes"): a header, records, and, in a sealed
 * segment, an index and a footer.
 *
 *     write:  recipe_put_header → [recipe_put_record, recipe_index_put]…
 *                 → recipe_index_sort → recipe_put_index
 *     read:   recipe_check_header → recipe_find_index, or recipe_walk_next until it is false
 *                 → recipe_record_at → recipe_record_is_intact
 *
 * A record of uses is put with recipe_uses_put and read with recipe_uses_add_record.
 *
 * No I/O. Any input may come from a hostile file. Thread-safe for different buffers. */
#ifndef WARMPIPE_RECIPES_SEGMENT_H
#define WARMPIPE_RECIPES_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/base/digest.h"
#include "common/base/status.h"

#define RECIPE_FORMAT_VERSION 1

/* Bytes. All of them are multiples of the alignment of records. */
#define RECIPE_ALIGNMENT     8
#define RECIPE_HEADER_SIZE   32 /* of a segment */
#define RECIPE_RECORD_HEADER 32
#define RECIPE_INDEX_ENTRY   24
#define RECIPE_USE_SIZE      28 /* one use in a record of uses */

/* Largest data of a record, in bytes; only a segment's index may be larger. */
#define RECIPE_MAX_DATA ((size_t)64 << 20)

/* What a record holds. The first three kinds are content, named by their digest. */
enum recipe_kind {
    RECIPE_CODE = 1,        /* SPIR-V; digest: XXH3-128 of it */
    RECIPE_FORM = 2,        /* a canonical form of any object; digest: its content digest */
    RECIPE_ENVIRONMENT = 3, /* driver/environment.h; digest: XXH3-128 of it */
    RECIPE_USES = 4,        /* uses of pipelines in one environment */
    RECIPE_INDEX = 5,
    RECIPE_FOOTER = 6, /* no data; in place of the digest: offset of the index, size of the file */
};

struct recipe_record {
    unsigned kind;
    struct digest digest; /* XXH3-128 of the data, not checked yet (a footer has none) */
    uint64_t offset;      /* of its header */
    const uint8_t *data;
    size_t size;
};

/* Bytes that a record takes with its header and padding. */
uint64_t recipe_record_extent(size_t size);

/* Appends a segment's header, or a record. The caller checks out->failed. */
void recipe_put_header(struct bytes *out);
void recipe_put_record(struct bytes *out, unsigned kind, struct digest digest, const void *data,
                       size_t size);

/* STATUS_ok, truncated, bad_magic, bad_format_version (also of the canonical form); or
 * bad_header_digest: the header is damaged, but a record follows it, so the records can be read. */
enum status recipe_check_header(const uint8_t *data, size_t size);

/* Reads the record whose header lies at `offset`. False: there is no whole record there. */
bool recipe_record_at(const uint8_t *data, size_t size, uint64_t offset,
                      struct recipe_record *ret_record);

/* Whether the data matches the digest and the padding is zero. */
bool recipe_record_is_intact(const struct recipe_record *record);

/* A walk over the records from `next` on. Skips what is damaged and counts each damaged stretch
 * once. A torn tail is not counted. */
struct recipe_walk {
    const uint8_t *data;
    size_t size;
    uint64_t next;
    uint64_t dropped;
};

bool recipe_walk_next(struct recipe_walk *walk, struct recipe_record *ret_record);

/* Appends the index entry of a record. recipe_index_put_all: the entries of all records in `out`
 * from `from` on; out's first byte lies at `base` in the file. */
void recipe_index_put(struct bytes *entries, unsigned kind, struct digest digest, uint64_t offset);
void recipe_index_put_all(struct bytes *entries, const struct bytes *out, size_t from,
                          uint64_t base);

/* Sorts entries by kind, digest and offset. */
void recipe_index_sort(uint8_t *entries, size_t count);

/* A sorted index, borrowed. An index read from a file may hold anything. */
struct recipe_index {
    const uint8_t *entries;
    size_t count;
};

/* The first entry that is not less than this kind and digest. */
size_t recipe_index_lower(const struct recipe_index *index, unsigned kind, struct digest digest);

/* Whether there is an entry at `at`, of this kind and digest. */
bool recipe_index_matches(const struct recipe_index *index, size_t at, unsigned kind,
                          struct digest digest);

/* The record that an entry describes, as far as it does: without data and size. */
struct recipe_record recipe_index_record(const struct recipe_index *index, size_t at);

/* Appends index and footer behind records that end at `offset` in the file. */
void recipe_put_index(struct bytes *out, const uint8_t *entries, size_t count, uint64_t offset);

/* Reads the footer, the last RECIPE_RECORD_HEADER bytes of a sealed segment of `size` bytes: the
 * offset of its index. False: this is no footer. */
bool recipe_index_begins(const uint8_t *footer, uint64_t size, uint64_t *ret_offset);

/* Finds the index in the end of a file: `data` holds the bytes from `from` to the end. Reads footer
 * and index only and checks the index's digest. False: there is none, or it is damaged. */
bool recipe_find_index(const uint8_t *data, size_t size, uint64_t from,
                       struct recipe_index *ret_index);

/* Whether entries lead to overlapping records of the segment `data`. False: out of memory. */
bool recipe_index_overlaps(const struct recipe_index *index, const uint8_t *data, size_t size,
                           bool *ret_overlaps);

/* One pipeline in one environment. */
struct recipe_use {
    struct digest pipeline; /* content digest; its form is a RECIPE_FORM; first, for digest_order */
    struct digest environment; /* of the device that it was created on */
    uint32_t last_day;         /* of its last use: days since 1970-01-01 UTC */
    uint16_t days;             /* on how many days it was used */
    uint16_t inline_stages;    /* canonical_inline_bit of each stage that brought its code along */
    uint32_t compile_us;       /* how long the driver compiled it, microseconds; 0: unknown */
    bool unsaved;              /* it was compiled into a cache that was to be saved */
    bool saved;                /* that cache, or a later one that held it, was saved */
};

/* Whether no save has included it: the program was killed, for example. */
static inline bool recipe_use_is_unsaved(const struct recipe_use *use)
{
    return use->unsaved && !use->saved;
}

/* A list of uses. Zero-initialize; free with recipe_uses_free. Belongs to one thread at a time. */
struct recipe_uses {
    struct recipe_use *uses;
    size_t count;
    bool failed; /* out of memory: the list is not complete */
};

void recipe_uses_free(struct recipe_uses *uses);

/* Whether a record of uses may have this size, in bytes. */
bool recipe_uses_are_whole(size_t size);

/* Adds the uses of a record's data. False: the data is malformed. */
bool recipe_uses_add_record(struct recipe_uses *uses, const void *data, size_t size);

/* Sorts by environment and pipeline, and adds up the uses that have both in common: the sum of the
 * days (a last day in common counts once), the last day, and the longest compile time. */
void recipe_uses_fold(struct recipe_uses *uses);

/* The use of a folded list, or NULL. */
const struct recipe_use *recipe_uses_find(const struct recipe_uses *uses, struct digest environment,
                                          struct digest pipeline);

/* Appends the uses of a folded list as records, one for each environment. */
void recipe_uses_put(struct bytes *out, const struct recipe_uses *uses);

/* Appends a record of one use. */
void recipe_put_use(struct bytes *out, const struct recipe_use *use);

/* One segment, open: finds its records and checks the digest of each once.
 *
 *     recipe_segment_open (a file), or recipe_segment_take (bytes in memory)
 *         → recipe_segment_has, _find, _next_of, _list, _add_uses → recipe_segment_close
 *
 * The records lie in a mapping of the file, in memory, or in the file, from which each is read when
 * it is first asked for. Thread-safe once it is open, but for close_fd, detach and close. */
struct segment_file;
struct segment_check;
struct segment_copy;

/* Bytes. A segment that is not larger is read whole when it is opened, and keeps no descriptor:
 * reading its records of uses one by one would cost more. */
#define RECIPE_SEGMENT_WHOLE ((uint64_t)256 << 10)

/* Bytes. A smaller one is left open, for the next process to go on with. */
#define RECIPE_SEGMENT_OPEN ((uint64_t)32 << 10)

/* Bytes; a file from elsewhere that is larger is not read (too_large). */
#define RECIPES_MAX_FILE ((uint64_t)1 << 30)

/* How files are read. READ reads the requested records; WHOLE reads all at once, for callers that
 * request most of them. MAP maps the files, so that the child processes of `warmpipe warm` share
 * their pages. In a mapping, a truncated file or a failing disk means SIGBUS, so the layer never
 * maps. */
enum recipes_access { RECIPES_MAP, RECIPES_READ, RECIPES_WHOLE };

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

/* The first intact record of this kind and digest, of 64 at most. The data is borrowed until the
 * segment is closed. */
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
