// SPDX-License-Identifier: Apache-2.0
/* How a segment is opened: mapped, read whole, or read record by record, by an index that is found
 * or made. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/files/file.h"
#include "common/recipes/segment_state.h"

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
 * which needs all of the file in memory for a moment (out_of_memory: it does not fit). */
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
        if (!file_fits_memory(segment->size)) {
            return STATUS_out_of_memory;
        }
        AUTO(bytes_free) struct bytes whole = {0};
        status = STATUS_io_error;
        if (segment_file_read_rest(segment->file, 0, &whole)) {
            segment->data = whole.data;
            status = segment_make_index(segment) ? STATUS_ok : STATUS_out_of_memory;
            segment->data = NULL;
        }
    }
    return status == STATUS_ok ? segment_make_checks(segment) : status;
}

static enum status segment_read(int fd, int folder_fd, const char *name, bool is_whole,
                                struct recipe_segment *segment)
{
    segment->file = segment_file_new(fd, segment->size, folder_fd, name);
    if (!segment->file) {
        return STATUS_out_of_memory;
    }
    if (!is_whole) {
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
    const bool is_whole = access == RECIPES_WHOLE || size <= RECIPE_SEGMENT_WHOLE;
    status = access == RECIPES_MAP ? segment_map(fd, &segment)
                                   : segment_read(fd, folder_fd, name, is_whole, &segment);
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
