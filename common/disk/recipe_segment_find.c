/* Records of a segment that is open. */
#include <stdlib.h>

#include "recipe_file.h"
#include "recipe_segment.h"

const uint8_t recipe_segment_damaged[1] = {0};

bool recipe_segment_has(const struct recipe_segment *segment, unsigned kind, struct digest digest)
{
    uint64_t offset;
    const size_t at = recipe_index_lower(&segment->index, kind, digest);
    return recipe_index_matches(&segment->index, at, kind, digest, &offset);
}

/* Whether a record that is whole is the one that the entry tells of. */
static bool is_meant(const struct recipe_segment *segment, size_t at,
                     const struct recipe_record *record)
{
    return record->kind == recipe_index_kind(&segment->index, at) &&
           digest_equal(record->digest, recipe_index_digest(&segment->index, at));
}

/* Reads what the entry leads to. NULL: that is not there, or cannot be read. */
static const uint8_t *read_record(const struct recipe_segment *segment, size_t at, uint64_t offset)
{
    uint8_t header[RECIPE_RECORD_HEADER];
    struct recipe_record record;
    if (offset % RECIPE_ALIGNMENT != 0 ||
        !recipe_file_read(segment->file, offset, header, sizeof header) ||
        !recipe_record_at(header, segment->size - (size_t)offset, 0, &record) ||
        !is_meant(segment, at, &record)) {
        return NULL;
    }
    return recipe_file_read_new(segment->file, offset, recipe_record_extent(record.size));
}

/* Where a record lies in memory, if it checks out. */
static const uint8_t *check_record(const struct recipe_segment *segment, size_t at,
                                   const uint8_t *data, size_t size, uint64_t offset)
{
    struct recipe_record record;
    return data && recipe_record_at(data, size, offset, &record) &&
                   is_meant(segment, at, &record) && recipe_record_is_intact(&record)
               ? data + offset
               : NULL;
}

/* In a segment whose data is all in memory. */
static const uint8_t *find_in_memory(const struct recipe_segment *segment, size_t at,
                                     uint64_t offset)
{
    uint8_t verdict = __atomic_load_n(&segment->verdicts[at], __ATOMIC_RELAXED);
    if (verdict == RECIPE_VERDICT_UNKNOWN) {
        verdict = check_record(segment, at, segment->data, segment->size, offset)
                      ? RECIPE_VERDICT_INTACT
                      : RECIPE_VERDICT_DAMAGED;
        __atomic_store_n(&segment->verdicts[at], verdict, __ATOMIC_RELAXED);
    }
    return verdict == RECIPE_VERDICT_INTACT ? segment->data + offset : recipe_segment_damaged;
}

/* In a file, of which what is read is kept; several threads may ask at once. */
static const uint8_t *find_in_file(const struct recipe_segment *segment, size_t at, uint64_t offset)
{
    const uint8_t *known = __atomic_load_n(&segment->records[at], __ATOMIC_ACQUIRE);
    if (known) {
        return known;
    }
    const uint8_t *own = read_record(segment, at, offset);
    const uint8_t *found = check_record(segment, at, own, segment->size - (size_t)offset, 0);
    const uint8_t *verdict = found ? found : recipe_segment_damaged;
    const bool is_first = __atomic_compare_exchange_n(&segment->records[at], &known, verdict, false,
                                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    if (!is_first || !found) {
        free((void *)(uintptr_t)own);
    }
    return is_first ? verdict : known;
}

/* What an entry leads to. */
static struct recipe_record record_of(const struct recipe_segment *segment, size_t at)
{
    struct recipe_record record = {
        .kind = recipe_index_kind(&segment->index, at),
        .digest = recipe_index_digest(&segment->index, at),
        .offset = recipe_index_offset(&segment->index, at),
    };
    const uint64_t offset = record.offset;
    const uint8_t *found = segment->verdicts  ? find_in_memory(segment, at, offset)
                           : segment->records ? find_in_file(segment, at, offset)
                                              : recipe_segment_damaged;
    if (found != recipe_segment_damaged) {
        recipe_record_at(found, segment->size - (size_t)offset, 0, &record);
        record.offset = offset;
    }
    return record;
}

bool recipe_segment_next(const struct recipe_segment *segment, unsigned kind, struct digest digest,
                         size_t *at, struct recipe_record *ret_record)
{
    uint64_t offset;
    *at = *at == SIZE_MAX ? recipe_index_lower(&segment->index, kind, digest) : *at + 1;
    if (!recipe_index_matches(&segment->index, *at, kind, digest, &offset)) {
        return false;
    }
    *ret_record = record_of(segment, *at);
    return true;
}

/* The next entry of the kind. False: there are no more. */
static bool next_entry(const struct recipe_index *index, unsigned kind, size_t *at)
{
    const struct digest least = {0};
    *at = *at == SIZE_MAX ? recipe_index_lower(index, kind, least) : *at + 1;
    return *at < index->count && recipe_index_kind(index, *at) == kind;
}

bool recipe_segment_next_of(const struct recipe_segment *segment, unsigned kind, size_t *at,
                            struct recipe_record *ret_record)
{
    if (!next_entry(&segment->index, kind, at)) {
        return false;
    }
    *ret_record = record_of(segment, *at);
    return true;
}

bool recipe_segment_list(const struct recipe_segment *segment, unsigned kind, size_t *at,
                         struct recipe_record *ret_record)
{
    if (!next_entry(&segment->index, kind, at)) {
        return false;
    }
    *ret_record = (struct recipe_record){
        .kind = kind,
        .digest = recipe_index_digest(&segment->index, *at),
        .offset = recipe_index_offset(&segment->index, *at),
    };
    return true;
}
