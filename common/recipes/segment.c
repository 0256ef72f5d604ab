// SPDX-License-Identifier: Apache-2.0
#include "common/recipes/segment.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/files/file.h"

enum segment_verdict { RECORD_UNCHECKED, RECORD_INTACT, RECORD_DAMAGED };

/* A byte for each record: what processes share of a mapping are its pages, and nothing that they
 * write. */
struct segment_check {
    _Atomic uint8_t verdict;
};

/* A record that was read from the file; NULL: nobody has asked for it, or it is damaged. */
struct segment_copy {
    _Atomic(const uint8_t *) record;
};

/* The file of a segment that is read record by record: ranges of it, whether its descriptor is open
 * or not. Thread-safe, but for new and free. */
struct segment_file {
    struct file_kept kept; /* fd -1: opened by its name for each read */
    uint64_t size;         /* what was committed when the segment was opened */
    int folder_fd;         /* borrowed */
    atomic_bool failed;    /* a read within the size has failed */
    char name[];
};

/* Takes fd over, also on failure; folder_fd is borrowed. NULL: out of memory. */
static struct segment_file *segment_file_new(int fd, uint64_t size, int folder_fd, const char *name)
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

/* NULL is a no-op. */
static void segment_file_free(struct segment_file *file)
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

/* Reads a range. False: it lies outside, or cannot be read. */
static bool segment_file_read(struct segment_file *file, uint64_t offset, void *data, uint64_t size)
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

/* The same into new memory. NULL: also out of memory. */
static uint8_t *segment_file_read_new(struct segment_file *file, uint64_t offset, uint64_t size)
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

/* The same from `offset` to the end, into bytes that are empty. */
static bool segment_file_read_rest(struct segment_file *file, uint64_t offset,
                                   struct bytes *ret_rest)
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

/* The record that an entry describes, not read. */
static struct recipe_record segment_listed_record(const struct recipe_index *index, size_t at)
{
    return (struct recipe_record){
        .kind = recipe_index_kind(index, at),
        .digest = recipe_index_digest(index, at),
        .offset = recipe_index_offset(index, at),
    };
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
    struct recipe_record record = segment_listed_record(&segment->index, at);
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

bool recipe_segment_find(const struct recipe_segment *segment, unsigned kind, struct digest digest,
                         struct recipe_record *ret_record)
{
    size_t at = recipe_index_lower(&segment->index, kind, digest);
    for (; recipe_index_matches(&segment->index, at, kind, digest); at++) {
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
    if (*at >= index->count || recipe_index_kind(index, *at) != kind) {
        return false;
    }
    *ret_record = segment_listed_record(index, *at);
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

/* How a segment is opened: mapped, read whole, or read record by record, by an index that is found
 * or made. */
/* Largest segment: 32-bit programs are short of address space. */
#define MAX_SIZE (sizeof(void *) > 4 ? (uint64_t)4 << 30 : (uint64_t)256 << 20)

/* Makes an index by walking over the records. False: out of memory. */
static bool segment_make_index(struct recipe_segment *segment)
{
    struct recipe_walk walk = {
        .data = segment->data, .size = segment->size, .next = RECIPE_HEADER_SIZE};
    struct recipe_record record;
    while (recipe_walk_next(&walk, &record)) {
        if (record.kind < RECIPE_INDEX) {
            recipe_index_put(&segment->own_index, record.kind, record.digest, record.offset);
        } else if (record.kind == RECIPE_INDEX && !recipe_record_is_intact(&record)) {
            segment->dropped++;
        }
    }
    if (segment->own_index.failed) {
        bytes_free(&segment->own_index);
        return false;
    }
    segment->dropped += walk.dropped;
    segment->index = (struct recipe_index){
        .entries = segment->own_index.data,
        .count = segment->own_index.size / RECIPE_INDEX_ENTRY,
    };
    recipe_index_sort(segment->own_index.data, segment->index.count);
    return true;
}

/* A damaged header is counted and passed over. */
static enum status segment_check_header(struct recipe_segment *segment, const uint8_t *data,
                                        size_t size)
{
    const enum status status = recipe_check_header(data, size);
    segment->dropped = status == STATUS_bad_header_digest;
    return status == STATUS_bad_header_digest ? STATUS_ok : status;
}

/* A file with a damaged header and no record of ours is not ours. */
static enum status segment_make_checks(struct recipe_segment *segment)
{
    if (segment->dropped && segment->index.count == 0) {
        return STATUS_bad_header_digest;
    }
    const size_t count = segment->index.count + 1;
    segment->checks = calloc(count, sizeof *segment->checks);
    segment->copies = segment->file ? calloc(count, sizeof *segment->copies) : NULL;
    return segment->checks && (segment->copies || !segment->file) ? STATUS_ok
                                                                  : STATUS_out_of_memory;
}

/* Opens a segment whose data is all in memory. */
static enum status segment_index_data(struct recipe_segment *segment)
{
    const enum status status = segment_check_header(segment, segment->data, segment->size);
    if (status != STATUS_ok) {
        return status;
    }
    segment->is_sealed = recipe_find_index(segment->data, segment->size, 0, &segment->index);
    return segment->is_sealed || segment_make_index(segment) ? segment_make_checks(segment)
                                                             : STATUS_out_of_memory;
}

/* A segment is never cut short: its process appends to it, then it is removed or stays as it is. So
 * the pages that are mapped now stay valid. */
static enum status segment_map(int fd, struct recipe_segment *segment)
{
    void *data = mmap(NULL, segment->size, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (data == MAP_FAILED) {
        return status_from_errno(errno);
    }
    segment->data = data;
    segment->is_mapped = true;
    return segment_index_data(segment);
}

/* Reads the index at the end of the file. Without one that is intact, makes one from the records,
 * which needs all of the file in memory for a moment. */
static enum status segment_index_file(struct recipe_segment *segment)
{
    uint8_t start[RECIPE_HEADER_SIZE + RECIPE_RECORD_HEADER];
    uint8_t footer[RECIPE_RECORD_HEADER];
    uint64_t offset;
    struct bytes *own = &segment->own_index;
    if (!segment_file_read(segment->file, 0, start, sizeof start) ||
        !segment_file_read(segment->file, segment->size - sizeof footer, footer, sizeof footer)) {
        return STATUS_io_error;
    }
    enum status status = segment_check_header(segment, start, sizeof start);
    if (status != STATUS_ok) {
        return status;
    }
    if (recipe_index_begins(footer, segment->size, &offset) &&
        segment_file_read_rest(segment->file, offset, own)) {
        segment->is_sealed = recipe_find_index(own->data, own->size, offset, &segment->index);
    }
    if (!segment->is_sealed) {
        bytes_free(own);
        struct bytes whole = {0};
        status = STATUS_io_error;
        if (segment_file_read_rest(segment->file, 0, &whole)) {
            segment->data = whole.data;
            status = segment_make_index(segment) ? STATUS_ok : STATUS_out_of_memory;
            segment->data = NULL;
        }
        bytes_free(&whole);
    }
    return status == STATUS_ok ? segment_make_checks(segment) : status;
}

/* A small file is read whole. */
static enum status segment_read(int fd, int folder_fd, const char *name,
                                struct recipe_segment *segment)
{
    segment->file = segment_file_new(fd, segment->size, folder_fd, name);
    if (!segment->file) {
        return STATUS_out_of_memory;
    }
    if (segment->size > RECIPE_SEGMENT_WHOLE) {
        return segment_index_file(segment);
    }
    segment->data = segment_file_read_new(segment->file, 0, segment->size);
    segment_file_free(segment->file);
    segment->file = NULL;
    return segment->data ? segment_index_data(segment) : STATUS_io_error;
}

enum status recipe_segment_open(int folder_fd, const char *name, enum recipes_access access,
                                struct recipe_segment *ret_segment)
{
    int fd;
    uint64_t size;
    enum status status = file_open(folder_fd, name, &fd, &size);
    if (status != STATUS_ok) {
        return status;
    }
    if (size == 0 || size > MAX_SIZE) {
        close(fd);
        return size == 0 ? STATUS_truncated : STATUS_too_large;
    }
    struct recipe_segment segment = {.size = (size_t)size};
    status = access == RECIPES_MAP ? segment_map(fd, &segment)
                                   : segment_read(fd, folder_fd, name, &segment);
    if (status == STATUS_ok) {
        *ret_segment = segment;
    } else {
        recipe_segment_close(&segment);
    }
    return status;
}

bool recipe_segment_is_damage(enum status status)
{
    return status != STATUS_ok && status != STATUS_no_file && status != STATUS_truncated &&
           status != STATUS_bad_format_version;
}

/* Replaces an index whose entries lead to overlapping records by one made from the records. False:
 * out of memory. */
static bool segment_validate_index(struct recipe_segment *segment)
{
    bool overlaps = false;
    if (segment->is_sealed &&
        !recipe_index_overlaps(&segment->index, segment->data, segment->size, &overlaps)) {
        return false;
    }
    if (!overlaps) {
        return true;
    }
    segment->is_sealed = false;
    segment->dropped++;
    free(segment->checks);
    segment->checks = NULL;
    return segment_make_index(segment) && segment_make_checks(segment) == STATUS_ok;
}

enum status recipe_segment_take(uint8_t *data, size_t size, struct recipe_segment *ret_segment)
{
    struct recipe_segment segment = {.data = data, .size = size};
    enum status status = size == 0 ? STATUS_truncated : segment_index_data(&segment);
    if (status == STATUS_ok && !segment_validate_index(&segment)) {
        status = STATUS_out_of_memory;
    }
    if (status == STATUS_ok) {
        *ret_segment = segment;
    } else {
        recipe_segment_close(&segment);
    }
    return status;
}

enum status recipe_segment_read_any(const char *path, struct recipe_segment *ret_segment)
{
    uint8_t *data;
    size_t size;
    const enum status status = file_read_any(path, RECIPES_MAX_FILE, &data, &size);
    return status == STATUS_ok ? recipe_segment_take(data, size, ret_segment) : status;
}
