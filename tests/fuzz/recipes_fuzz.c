// SPDX-License-Identifier: Apache-2.0
/* A recipe file as hostile as it likes: as it comes, and as records that the input tells of, with
 * checks and digests made right (a mutator finds none by itself), sealed or not. Nothing is read
 * outside of it, what is found is what its digest says, and what is left when it is merged is
 * whole: merged again it stays as it is, byte by byte. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/recipes/merge.h"
#include "common/recipes/segment.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "does not hold: %s\n", what);
        abort();
    }
}

static struct bytes merge(const struct recipe_segment *segment, struct recipe_merge_counts *counts)
{
    const struct recipe_merge_input input = {.segment = segment};
    const struct recipe_merge_limits limits = {.max_size = UINT64_MAX};
    struct recipe_merged merged;
    struct bytes file = {0};
    require(recipe_merge(&input, 1, &limits, &merged) == STATUS_ok, "memory");
    for (size_t i = 0; i < merged.part_count; i++) {
        bytes_put(&file, merged.parts[i].iov_base, merged.parts[i].iov_len);
    }
    require(file.size == (merged.size ? merged.size : file.size), "the size that was told");
    *counts = merged.counts;
    recipe_merge_free(&merged);
    return file;
}

static void check_records(const struct recipe_segment *segment)
{
    for (unsigned kind = RECIPE_CODE; kind <= RECIPE_USES; kind++) {
        struct recipe_record record;
        size_t at = SIZE_MAX;
        struct recipe_uses uses = {0};
        while (recipe_segment_next_of(segment, kind, &at, &record)) {
            struct recipe_record again;
            /* Of an index that a hostile file has, and that is not sorted, some are not found. */
            const bool has = recipe_segment_has(segment, kind, record.digest);
            const bool found = recipe_segment_find(segment, kind, record.digest, &again);
            require(has || !found, "it is there or not");
            require(has || segment->is_sealed, "what is listed is there");
            require(found || !record.data || segment->is_sealed, "what is intact is found");
            if (record.data) {
                require(record.data >= segment->data &&
                            record.size <= (size_t)(segment->data + segment->size - record.data),
                        "inside the file");
                require(digest_equal(digest_of(record.data, record.size), record.digest),
                        "by its digest");
                recipe_uses_add_record(&uses, record.data, record.size);
            }
        }
        recipe_uses_fold(&uses);
        recipe_uses_free(&uses);
    }
}

static void check_merged(const struct recipe_segment *segment)
{
    struct recipe_merge_counts counts;
    struct bytes once = merge(segment, &counts);
    if (once.size == 0) {
        return;
    }
    struct recipe_segment whole;
    uint8_t *copy = malloc(once.size);
    require(copy != NULL, "memory");
    memcpy(copy, once.data, once.size);
    require(recipe_segment_take(copy, once.size, &whole) == STATUS_ok && whole.is_sealed,
            "what is written can be read");
    struct recipe_merge_counts again;
    struct bytes twice = merge(&whole, &again);
    require(again.damaged == 0 && again.incomplete == 0 && again.pipelines == counts.pipelines,
            "nothing is wrong with it");
    require(once.size == twice.size && memcmp(once.data, twice.data, once.size) == 0,
            "nothing is left to be done");
    recipe_segment_close(&whole);
    bytes_free(&once);
    bytes_free(&twice);
}

static void check(const uint8_t *data, size_t size)
{
    struct recipe_segment segment;
    uint8_t *copy = malloc(size + !size);
    require(copy != NULL, "memory");
    if (size) {
        memcpy(copy, data, size);
    }
    if (recipe_segment_take(copy, size, &segment) != STATUS_ok) {
        return;
    }
    check_records(&segment);
    check_merged(&segment);
    recipe_segment_close(&segment);
}

/* Kind, flags, and two bytes of size stand before the data of each record. Flags: 1: uses of the
 * record before, and no data; 2: a wrong digest; 4: cut short; 8: seal here. */
static void make_file(const uint8_t *data, size_t size, struct bytes *file)
{
    struct bytes_reader reader = bytes_reader_over(data, size);
    struct bytes entries = {0};
    struct digest last = {0};
    struct digest environment = {0};
    recipe_put_header(file);
    while (bytes_left(&reader) > 0) {
        const unsigned kind = bytes_get_u8(&reader) % 7;
        const unsigned flags = bytes_get_u8(&reader);
        const unsigned low = bytes_get_u8(&reader);
        size_t length = low | (size_t)bytes_get_u8(&reader) << 8;
        length = length < bytes_left(&reader) ? length : bytes_left(&reader);
        const uint8_t *content = bytes_get(&reader, length);
        struct digest digest = digest_of(content, length);
        const size_t offset = file->size;
        if (flags & 1) {
            struct recipe_use use = {.pipeline = last, .environment = environment, .days = flags};
            const struct recipe_uses uses = {.uses = &use, .count = 1};
            recipe_uses_put(file, &uses);
            digest = digest_of(file->data + offset + RECIPE_RECORD_HEADER, 44);
            recipe_index_put(&entries, RECIPE_USES, digest, offset);
            continue;
        }
        last = kind == RECIPE_FORM ? digest : last;
        environment = kind == RECIPE_ENVIRONMENT ? digest : environment;
        digest.low ^= (flags & 2) != 0;
        recipe_put_record(file, kind, digest, content, length);
        recipe_index_put(&entries, kind, digest, offset);
        file->size -= flags & 4 ? RECIPE_ALIGNMENT : 0;
        if (flags & 8) {
            if (!(flags & 16)) {
                recipe_index_sort(entries.data, entries.size / RECIPE_INDEX_ENTRY);
            }
            recipe_put_index(file, entries.data, entries.size / RECIPE_INDEX_ENTRY, file->size);
        }
    }
    bytes_free(&entries);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes file = {0};
    check(data, size);
    make_file(data, size, &file);
    check(file.data, file.size);
    bytes_free(&file);
    return 0;
}
