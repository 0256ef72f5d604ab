/* The bytes of a recipe segment: docs/FORMAT.md, "Recipes". No I/O; everything that is read here
 * may come from a hostile file. Thread-safe as to different buffers. */
#ifndef WARMPIPE_DISK_RECIPE_FORMAT_H
#define WARMPIPE_DISK_RECIPE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/result.h"
#include "codec/digest.h"
#include "recipes.h"

#define RECIPE_FORMAT_VERSION 1

/* Bytes. All of them are multiples of the alignment of records. */
#define RECIPE_ALIGNMENT     8
#define RECIPE_HEADER_SIZE   32 /* of a segment */
#define RECIPE_RECORD_HEADER 32
#define RECIPE_INDEX_ENTRY   24

/* A record's data is no longer than this, a segment's index excepted. */
#define RECIPE_MAX_DATA ((size_t)64 << 20)

/* Kinds of records beside those of enum recipe_kind, which are content. */
enum {
    RECIPE_USES = 4,
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

/* What a record takes up with its header and padding. */
uint64_t recipe_record_extent(size_t size);

/* Appends a segment's header, or a record. The caller looks at out->failed. */
void recipe_put_header(struct bytes *out);
void recipe_put_record(struct bytes *out, unsigned kind, struct digest digest, const void *data,
                       size_t size);

/* REASON_ok, truncated, bad_magic, bad_format_version (also of the canonical form); or
 * bad_header_digest: it is damaged, but records follow it, so that what is left of them can be
 * read. */
enum reason recipe_check_header(const uint8_t *data, size_t size);

/* The whole record whose header lies at `offset`; false: there is none. */
bool recipe_record_at(const uint8_t *data, size_t size, uint64_t offset,
                      struct recipe_record *ret_record);

/* Whether the data is what the digest says, and its padding zeros. */
bool recipe_record_is_intact(const struct recipe_record *record);

/* A walk over records from `next` on. What is damaged is passed over and counted, each stretch of
 * it once; a torn tail is not counted. */
struct recipe_walk {
    const uint8_t *data;
    size_t size;
    uint64_t next;
    uint64_t dropped;
};

bool recipe_walk_next(struct recipe_walk *walk, struct recipe_record *ret_record);

/* Appends the entry of a record; entries are then sorted by recipe_index_sort. */
void recipe_index_put(struct bytes *entries, unsigned kind, struct digest digest, uint64_t offset);
void recipe_index_sort(uint8_t *entries, size_t count);

/* A sorted index, borrowed: one in a file, or one made by a walk. A file's may hold anything. */
struct recipe_index {
    const uint8_t *entries;
    size_t count;
};

/* Where the entries of a kind, or of a kind and digest, start. */
size_t recipe_index_lower(const struct recipe_index *index, unsigned kind, struct digest digest);

/* False, and nothing written: there is no such entry, or it is of another kind or digest. */
bool recipe_index_matches(const struct recipe_index *index, size_t at, unsigned kind,
                          struct digest digest, uint64_t *ret_offset);

/* The kind and place that an entry tells of. */
unsigned recipe_index_kind(const struct recipe_index *index, size_t at);
uint64_t recipe_index_offset(const struct recipe_index *index, size_t at);
struct digest recipe_index_digest(const struct recipe_index *index, size_t at);

/* Appends index and footer behind records that end at `offset` in the file. */
void recipe_put_index(struct bytes *out, const uint8_t *entries, size_t count, uint64_t offset);

/* Where the index of a sealed segment of `size` bytes begins, by the footer: the last
 * RECIPE_RECORD_HEADER bytes. False: there is none. */
bool recipe_index_begins(const uint8_t *footer, uint64_t size, uint64_t *ret_offset);

/* The index of a sealed segment, its digest checked, in the last bytes of the file: `data` holds
 * what lies from `from` to its end. Reads footer and index alone. False: there is none, or it is
 * damaged. */
bool recipe_find_index(const uint8_t *data, size_t size, uint64_t from,
                       struct recipe_index *ret_index);

#endif
