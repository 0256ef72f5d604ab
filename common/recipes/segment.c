// SPDX-License-Identifier: Apache-2.0
#include "common/recipes/segment.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/files/file.h"
#include "common/recipes/segment_state.h"

/* The file. */

struct segment_file *segment_file_new(int fd, uint64_t size, int folder_fd, const char *name)
{
    const size_t name_size = strlen(name) + 1;
    struct segment_file *file = malloc(sizeof *file + name_size);
    if (!file) {
        close(fd);
        return NULL;
    }
    *file = (struct segment_file){.kept = file_keep(fd), .size = size, .folder_fd = folder_fd};
    memcpy(file->name, name, name_size);
    return file;
}

void segment_file_free(struct segment_file *file)
{
    if (file) {
        file_kept_close(&file->kept);
        free(file);
    }
}

/* -1: there is no such file any more. */
static int segment_file_reopen(const struct segment_file *file)
{
    struct file_kept again = file->kept;
    uint64_t size;
    if (file_open(file->folder_fd, file->name, &again.fd, &size) != STATUS_ok) {
        return -1;
    }
    if (!file_kept_is_ours(&again)) {
        close(again.fd);
        return -1;
    }
    return again.fd;
}

bool segment_file_read(struct segment_file *file, uint64_t offset, void *data, uint64_t size)
{
    if (offset > file->size || size > file->size - offset) {
        return false;
    }
    const bool is_closed = file->kept.fd < 0;
    const int fd = is_closed ? segment_file_reopen(file) : file->kept.fd;
    const bool whole = fd >= 0 && io_read(fd, data, (size_t)size, (off_t)offset) == (ssize_t)size;
    if (is_closed && fd >= 0) {
        close(fd);
    }
    if (!whole) {
        atomic_store(&file->failed, true);
    }
    return whole;
}

uint8_t *segment_file_read_new(struct segment_file *file, uint64_t offset, uint64_t size)
{
    uint8_t *data = malloc((size_t)size);
    if (!data) {
        atomic_store(&file->failed, true);
    } else if (!segment_file_read(file, offset, data, size)) {
        free(data);
        data = NULL;
    }
    return data;
}

bool segment_file_read_rest(struct segment_file *file, uint64_t offset, struct bytes *ret_rest)
{
    const size_t size = (size_t)(file->size - offset);
    if (!bytes_reserve(ret_rest, size) || !segment_file_read(file, offset, ret_rest->data, size)) {
        return false;
    }
    ret_rest->size = size;
    return true;
}

/* The segment. */

/* Frees all but the index. */
static void segment_free_records(struct recipe_segment *segment)
{
    for (size_t i = 0; segment->copies && i < segment->index.count; i++) {
        free((void *)(uintptr_t)atomic_load(&segment->copies[i].record));
    }
    free(segment->copies);
    segment->copies = NULL;
    free(segment->checks);
    segment->checks = NULL;
    segment_file_free(segment->file);
    segment->file = NULL;
    if (segment->is_mapped) {
        munmap((void *)(uintptr_t)segment->data, segment->size);
    } else {
        free((void *)(uintptr_t)segment->data);
    }
    segment->data = NULL;
}

void recipe_segment_close(struct recipe_segment *segment)
{
    segment_free_records(segment);
    bytes_free(&segment->own_index);
    *segment = (struct recipe_segment){0};
}

void recipe_segment_detach(struct recipe_segment *segment)
{
    struct bytes *own = &segment->own_index;
    if (segment->is_mapped) {
        return;
    }
    if (!own->data && segment->index.count > 0) {
        bytes_put(own, segment->index.entries, segment->index.count * RECIPE_INDEX_ENTRY);
        if (own->failed) {
            bytes_free(own);
            return;
        }
        segment->index.entries = own->data;
    }
    segment_free_records(segment);
}

/* Whether a record is the one that its entry describes. */
static bool segment_matches_entry(const struct recipe_record *record,
                                  const struct recipe_record *listed)
{
    return record->kind == listed->kind && digest_equal(record->digest, listed->digest);
}

/* Reads a record from the file into new memory. NULL: it is not there, or cannot be read. */
static const uint8_t *segment_read_record(const struct recipe_segment *segment,
                                          const struct recipe_record *listed)
{
    uint8_t header[RECIPE_RECORD_HEADER];
    struct recipe_record record;
    if (listed->offset % RECIPE_ALIGNMENT != 0 ||
        !segment_file_read(segment->file, listed->offset, header, sizeof header) ||
        !recipe_record_at(header, segment->size - (size_t)listed->offset, 0, &record) ||
        !segment_matches_entry(&record, listed)) {
        return NULL;
    }
    return segment_file_read_new(segment->file, listed->offset, recipe_record_extent(record.size));
}

/* Checks a record and notes the result. Of several threads that read the same record, the first
 * one's copy stays. */
static void segment_check_record(const struct recipe_segment *segment, size_t at,
                                 const struct recipe_record *listed)
{
    const uint64_t offset = listed->offset;
    const uint8_t *own = segment->file ? segment_read_record(segment, listed) : NULL;
    const uint8_t *place = segment->file             ? own
                           : offset <= segment->size ? segment->data + offset
                                                     : NULL;
    struct recipe_record record;
    const bool is_intact = place && offset % RECIPE_ALIGNMENT == 0 &&
                           recipe_record_at(place, segment->size - (size_t)offset, 0, &record) &&
                           segment_matches_entry(&record, listed) &&
                           recipe_record_is_intact(&record) &&
                           (record.kind != RECIPE_USES || recipe_uses_are_whole(record.size));
    const uint8_t *none = NULL;
    if (segment->file &&
        (!is_intact || !atomic_compare_exchange_strong(&segment->copies[at].record, &none, own))) {
        free((void *)(uintptr_t)own);
    }
    atomic_store(&segment->checks[at].verdict, is_intact ? RECORD_INTACT : RECORD_DAMAGED);
}

/* Where a record lies; NULL: it is damaged, or only the index is left. */
static const uint8_t *segment_place_of(const struct recipe_segment *segment, size_t at,
                                       const struct recipe_record *listed)
{
    if (!segment->checks) {
        return NULL;
    }
    if (atomic_load(&segment->checks[at].verdict) == RECORD_UNCHECKED) {
        segment_check_record(segment, at, listed);
    }
    if (segment->file) {
        return atomic_load(&segment->copies[at].record);
    }
    const bool is_intact = atomic_load(&segment->checks[at].verdict) == RECORD_INTACT;
    return is_intact ? segment->data + listed->offset : NULL;
}

static struct recipe_record segment_record_of(const struct recipe_segment *segment, size_t at)
{
    struct recipe_record record = recipe_index_record(&segment->index, at);
    const uint64_t offset = record.offset;
    const uint8_t *found = segment_place_of(segment, at, &record);
    if (found) {
        recipe_record_at(found, segment->size - (size_t)offset, 0, &record);
        record.offset = offset;
    }
    return record;
}

bool recipe_segment_has(const struct recipe_segment *segment, unsigned kind, struct digest digest)
{
    return recipe_index_matches(&segment->index, recipe_index_lower(&segment->index, kind, digest),
                                kind, digest);
}

/* Records of one digest that are tried: several processes that went on with one segment may each
 * have put it there. A hostile file may have millions, all damaged. */
#define MAX_TRIED 64

bool recipe_segment_find(const struct recipe_segment *segment, unsigned kind, struct digest digest,
                         struct recipe_record *ret_record)
{
    size_t at = recipe_index_lower(&segment->index, kind, digest);
    const size_t end = at + MAX_TRIED;
    for (; at < end && recipe_index_matches(&segment->index, at, kind, digest); at++) {
        const struct recipe_record record = segment_record_of(segment, at);
        if (record.data) {
            *ret_record = record;
            return true;
        }
    }
    return false;
}

bool recipe_segment_list(const struct recipe_segment *segment, unsigned kind, size_t *at,
                         struct recipe_record *ret_record)
{
    const struct recipe_index *index = &segment->index;
    *at = *at == SIZE_MAX ? recipe_index_lower(index, kind, (struct digest){0}) : *at + 1;
    if (*at >= index->count || recipe_index_record(index, *at).kind != kind) {
        return false;
    }
    *ret_record = recipe_index_record(index, *at);
    return true;
}

bool recipe_segment_next_of(const struct recipe_segment *segment, unsigned kind, size_t *at,
                            struct recipe_record *ret_record)
{
    const bool found = recipe_segment_list(segment, kind, at, ret_record);
    if (found) {
        *ret_record = segment_record_of(segment, *at);
    }
    return found;
}

void recipe_segment_add_uses(const struct recipe_segment *segment, struct recipe_uses *uses)
{
    struct recipe_record record;
    size_t at = SIZE_MAX;
    while (recipe_segment_next_of(segment, RECIPE_USES, &at, &record)) {
        if (record.data) {
            recipe_uses_add_record(uses, record.data, record.size);
        }
    }
}

uint64_t recipe_segment_damaged(const struct recipe_segment *segment)
{
    uint64_t count = segment->dropped;
    for (size_t i = 0; segment->checks && i < segment->index.count; i++) {
        count += atomic_load(&segment->checks[i].verdict) == RECORD_DAMAGED;
    }
    return count;
}

bool recipe_segment_failed(const struct recipe_segment *segment)
{
    return segment->file && atomic_load(&segment->file->failed);
}

bool recipe_segment_has_fd(const struct recipe_segment *segment)
{
    return segment->file && segment->file->kept.fd >= 0;
}

void recipe_segment_close_fd(struct recipe_segment *segment)
{
    if (segment->file) {
        file_kept_close(&segment->file->kept);
    }
}
