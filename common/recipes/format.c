// SPDX-License-Identifier: Apache-2.0
#include "common/recipes/segment.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/base/io.h"
#include "common/codec/canonical.h"

/* Bytes of a header that its check covers: all before the check itself. */
#define CHECKED_SIZE 24

/* An index entry's last field: the kind above, the offset in the low bits. */
#define OFFSET_BITS 56

static const uint8_t magic[8] = {0x89, 'W', 'P', 'R', '\r', '\n', 0x1a, '\n'};

static uint64_t format_header_check(const uint8_t *header)
{
    return digest_of(header, CHECKED_SIZE).low;
}

/* Every record names the versions: where the segment's header is damaged, no record is read by the
 * rules of another version. */
static uint32_t format_record_tag(unsigned kind)
{
    return kind | RECIPE_FORMAT_VERSION << 8 | CANONICAL_VERSION << 16;
}

static uint64_t format_align_size(uint64_t size)
{
    return (size + RECIPE_ALIGNMENT - 1) / RECIPE_ALIGNMENT * RECIPE_ALIGNMENT;
}

uint64_t recipe_record_extent(size_t size)
{
    return RECIPE_RECORD_HEADER + format_align_size(size);
}

void recipe_put_header(struct bytes *out)
{
    const size_t start = out->size;
    bytes_put(out, magic, sizeof magic);
    bytes_put_u32(out, RECIPE_FORMAT_VERSION);
    bytes_put_u32(out, CANONICAL_VERSION);
    bytes_put_u64(out, 0);
    if (!out->failed) {
        bytes_put_u64(out, format_header_check(out->data + start));
    }
}

void recipe_put_record(struct bytes *out, unsigned kind, struct digest digest, const void *data,
                       size_t size)
{
    const size_t start = out->size;
    if (size > UINT32_MAX || !bytes_reserve(out, (size_t)recipe_record_extent(size))) {
        out->failed = true;
        return;
    }
    bytes_put_u32(out, format_record_tag(kind));
    bytes_put_u32(out, (uint32_t)size);
    digest_put(out, digest);
    bytes_put_u64(out, format_header_check(out->data + start));
    bytes_put(out, data, size);
    bytes_put_zeros(out, (size_t)(format_align_size(size) - size));
}

/* Reads a record's header. The record may still be cut short. */
static bool format_parse_record_header(const uint8_t *data, size_t size, uint64_t offset,
                                       struct recipe_record *ret_record)
{
    if (offset % RECIPE_ALIGNMENT != 0 || offset > size || size - offset < RECIPE_RECORD_HEADER) {
        return false;
    }
    const uint8_t *header = data + offset;
    const unsigned kind = header[0];
    if (kind < RECIPE_CODE || kind > RECIPE_FOOTER ||
        bytes_load_u32(header) != format_record_tag(kind) ||
        bytes_load_u64(header + CHECKED_SIZE) != format_header_check(header)) {
        return false;
    }
    *ret_record = (struct recipe_record){
        .kind = kind,
        .digest = {.low = bytes_load_u64(header + 8), .high = bytes_load_u64(header + 16)},
        .offset = offset,
        .data = header + RECIPE_RECORD_HEADER,
        .size = bytes_load_u32(header + 4),
    };
    return true;
}

static bool format_record_is_whole(const struct recipe_record *record, size_t size)
{
    return recipe_record_extent(record->size) <= size - record->offset &&
           (record->size <= RECIPE_MAX_DATA || record->kind == RECIPE_INDEX);
}

bool recipe_record_at(const uint8_t *data, size_t size, uint64_t offset,
                      struct recipe_record *ret_record)
{
    struct recipe_record record;
    if (!format_parse_record_header(data, size, offset, &record) ||
        !format_record_is_whole(&record, size)) {
        return false;
    }
    *ret_record = record;
    return true;
}

bool recipe_record_is_intact(const struct recipe_record *record)
{
    for (uint64_t i = record->size; i < format_align_size(record->size); i++) {
        if (record->data[i] != 0) {
            return false;
        }
    }
    return digest_equal(digest_of(record->data, record->size), record->digest);
}

enum status recipe_check_header(const uint8_t *data, size_t size)
{
    struct recipe_record first;
    const bool has_magic = memcmp(data, magic, size < sizeof magic ? size : sizeof magic) == 0;
    if (size < RECIPE_HEADER_SIZE) {
        return has_magic ? STATUS_truncated : STATUS_bad_magic;
    }
    const bool is_whole_header = bytes_load_u64(data + CHECKED_SIZE) == format_header_check(data);
    if (!has_magic || !is_whole_header) {
        const bool is_ours =
            has_magic || format_parse_record_header(data, size, RECIPE_HEADER_SIZE, &first);
        return is_ours ? STATUS_bad_header_digest : STATUS_bad_magic;
    }
    const bool is_this = bytes_load_u32(data + 8) == RECIPE_FORMAT_VERSION &&
                         bytes_load_u32(data + 12) == CANONICAL_VERSION &&
                         bytes_load_u64(data + 16) == 0;
    return is_this ? STATUS_ok : STATUS_bad_format_version;
}

/* Whether a write was cut short there, by a full disk or a crash: the start of a record, or zeros
 * where the file has grown but its bytes were never written. */
static bool format_is_torn_tail(const struct recipe_walk *walk, uint64_t from)
{
    struct recipe_record record;
    if (walk->size - from < RECIPE_RECORD_HEADER ||
        format_parse_record_header(walk->data, walk->size, from, &record)) {
        return true;
    }
    for (uint64_t i = from; i < walk->size; i++) {
        if (walk->data[i] != 0) {
            return false;
        }
    }
    return true;
}

bool recipe_walk_next(struct recipe_walk *walk, struct recipe_record *ret_record)
{
    const uint64_t from = walk->next;
    if (from >= walk->size) {
        return false;
    }
    for (uint64_t at = from; at < walk->size; at += RECIPE_ALIGNMENT) {
        if (recipe_record_at(walk->data, walk->size, at, ret_record)) {
            walk->dropped += at != from;
            walk->next = at + recipe_record_extent(ret_record->size);
            return true;
        }
    }
    walk->dropped += !format_is_torn_tail(walk, from);
    walk->next = walk->size;
    return false;
}

void recipe_index_put(struct bytes *entries, unsigned kind, struct digest digest, uint64_t offset)
{
    digest_put(entries, digest);
    bytes_put_u64(entries, (uint64_t)kind << OFFSET_BITS | offset);
}

void recipe_index_put_all(struct bytes *entries, const struct bytes *out, size_t from,
                          uint64_t base)
{
    struct recipe_walk walk = {.data = out->data, .size = out->size, .next = from};
    struct recipe_record record;
    while (recipe_walk_next(&walk, &record)) {
        recipe_index_put(entries, record.kind, record.digest, base + record.offset);
    }
}

struct recipe_record recipe_index_record(const struct recipe_index *index, size_t at)
{
    const uint8_t *entry = index->entries + at * RECIPE_INDEX_ENTRY;
    const uint64_t place = bytes_load_u64(entry + 16);
    return (struct recipe_record){
        .kind = (unsigned)(place >> OFFSET_BITS),
        .digest = {.low = bytes_load_u64(entry), .high = bytes_load_u64(entry + 8)},
        .offset = place & (((uint64_t)1 << OFFSET_BITS) - 1),
    };
}

/* By kind, then digest. */
static int format_compare_entry_to(const struct recipe_index *index, size_t at, unsigned kind,
                                   struct digest digest)
{
    const struct recipe_record entry = recipe_index_record(index, at);
    const int order = array_order_of(entry.kind, kind);
    return order ? order : digest_compare(entry.digest, digest);
}

static int format_compare_entries(const void *left, const void *right)
{
    const struct recipe_index a = {.entries = left, .count = 1};
    const struct recipe_index index = {.entries = right, .count = 1};
    const struct recipe_record b = recipe_index_record(&index, 0);
    const int order = format_compare_entry_to(&a, 0, b.kind, b.digest);
    return order ? order : array_order_of(recipe_index_record(&a, 0).offset, b.offset);
}

void recipe_index_sort(uint8_t *entries, size_t count)
{
    array_sort(entries, count, RECIPE_INDEX_ENTRY, format_compare_entries);
}

size_t recipe_index_lower(const struct recipe_index *index, unsigned kind, struct digest digest)
{
    size_t low = 0;
    size_t high = index->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (format_compare_entry_to(index, middle, kind, digest) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

bool recipe_index_matches(const struct recipe_index *index, size_t at, unsigned kind,
                          struct digest digest)
{
    return at < index->count && format_compare_entry_to(index, at, kind, digest) == 0;
}

void recipe_put_index(struct bytes *out, const uint8_t *entries, size_t count, uint64_t offset)
{
    const size_t size = count * RECIPE_INDEX_ENTRY;
    recipe_put_record(out, RECIPE_INDEX, digest_of(entries, size), entries, size);
    const uint64_t end = offset + recipe_record_extent(size) + RECIPE_RECORD_HEADER;
    recipe_put_record(out, RECIPE_FOOTER, (struct digest){.low = offset, .high = end}, NULL, 0);
}

bool recipe_index_begins(const uint8_t *footer, uint64_t size, uint64_t *ret_offset)
{
    struct recipe_record record;
    if (!recipe_record_at(footer, RECIPE_RECORD_HEADER, 0, &record) ||
        record.kind != RECIPE_FOOTER || record.digest.high != size || record.digest.low >= size) {
        return false;
    }
    *ret_offset = record.digest.low;
    return true;
}

bool recipe_find_index(const uint8_t *data, size_t size, uint64_t from,
                       struct recipe_index *ret_index)
{
    uint64_t offset;
    struct recipe_record index;
    if (size < RECIPE_RECORD_HEADER ||
        !recipe_index_begins(data + size - RECIPE_RECORD_HEADER, from + size, &offset) ||
        offset < from || offset % RECIPE_ALIGNMENT != from % RECIPE_ALIGNMENT ||
        !recipe_record_at(data, size, offset - from, &index) || index.kind != RECIPE_INDEX ||
        index.offset + recipe_record_extent(index.size) != size - RECIPE_RECORD_HEADER ||
        index.size % RECIPE_INDEX_ENTRY != 0 || !recipe_record_is_intact(&index)) {
        return false;
    }
    *ret_index = (struct recipe_index){
        .entries = index.data,
        .count = index.size / RECIPE_INDEX_ENTRY,
    };
    return true;
}

static int format_compare_offsets(const void *left, const void *right)
{
    return array_order_of(*(const uint64_t *)left, *(const uint64_t *)right);
}

bool recipe_index_overlaps(const struct recipe_index *index, const uint8_t *data, size_t size,
                           bool *ret_overlaps)
{
    AUTO_FREE uint64_t *offsets = calloc(index->count + 1, sizeof *offsets);
    if (!offsets) {
        return false;
    }
    for (size_t i = 0; i < index->count; i++) {
        offsets[i] = recipe_index_record(index, i).offset;
    }
    qsort(offsets, index->count, sizeof *offsets, format_compare_offsets);
    uint64_t end = 0;
    bool overlaps = false;
    for (size_t i = 0; !overlaps && i < index->count; i++) {
        struct recipe_record record;
        overlaps = offsets[i] < end;
        end = offsets[i] + (recipe_record_at(data, size, offsets[i], &record)
                                ? recipe_record_extent(record.size)
                                : 1);
    }
    *ret_overlaps = overlaps;
    return true;
}
