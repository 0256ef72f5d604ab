#include "recipe_segment.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "file.h"
#include "recipe_file.h"

/* Address space is what 32-bit programs are short of. */
#define MAX_SIZE (sizeof(void *) > 4 ? (uint64_t)4 << 30 : (uint64_t)256 << 20)

/* Makes an index by walking from record to record. False: out of memory. */
static bool make_index(struct recipe_segment *segment)
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

/* By a header that may be damaged, and the bytes from it on. */
static enum reason check_header(const uint8_t *data, size_t size, struct recipe_segment *segment)
{
    const enum reason reason = recipe_check_header(data, size);
    segment->dropped = reason == REASON_bad_header_digest;
    return reason == REASON_bad_header_digest ? REASON_ok : reason;
}

/* Where the file's header is damaged and nothing of ours is in it, it is not ours. */
static enum reason finish_opening(struct recipe_segment *segment)
{
    if (segment->dropped && segment->index.count == 0) {
        return REASON_bad_header_digest;
    }
    const size_t count = segment->index.count + 1;
    if (segment->data) {
        segment->verdicts = calloc(count, sizeof *segment->verdicts);
    } else {
        segment->records = calloc(count, sizeof *segment->records);
    }
    return segment->verdicts || segment->records ? REASON_ok : REASON_out_of_memory;
}

/* Of a segment whose data is all there. */
static enum reason read_index(struct recipe_segment *segment)
{
    const enum reason reason = check_header(segment->data, segment->size, segment);
    if (reason != REASON_ok) {
        return reason;
    }
    segment->is_sealed = recipe_find_index(segment->data, segment->size, 0, &segment->index);
    return segment->is_sealed || make_index(segment) ? finish_opening(segment)
                                                     : REASON_out_of_memory;
}

static enum reason map_file(int fd, struct recipe_segment *segment)
{
    /* Touching what lies behind the end of a file that was cut short would be SIGBUS. Segments
     * never are: their process appends to them, then they are removed or stay as they are. So what
     * stands there now will stand there as long as the mapping does. */
    void *data = mmap(NULL, segment->size, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (data == MAP_FAILED) {
        return reason_from_errno(errno);
    }
    segment->data = data;
    segment->is_mapped = true;
    return read_index(segment);
}

/* From `offset` to the end; NULL: it cannot be read. */
static uint8_t *read_rest(const struct recipe_segment *segment, uint64_t offset)
{
    return recipe_file_read_new(segment->file, offset, segment->size - offset);
}

/* Reads the index that the file has. False: it has none that is whole. */
static bool read_own_index(struct recipe_segment *segment)
{
    uint8_t footer[RECIPE_RECORD_HEADER];
    uint64_t offset;
    struct bytes *own = &segment->own_index;
    if (!recipe_file_read(segment->file, segment->size - sizeof footer, footer, sizeof footer) ||
        !recipe_index_begins(footer, segment->size, &offset)) {
        return false;
    }
    own->data = read_rest(segment, offset);
    if (!own->data) {
        return false;
    }
    own->size = own->capacity = segment->size - (size_t)offset;
    segment->is_sealed = recipe_find_index(own->data, own->size, offset, &segment->index);
    if (!segment->is_sealed) {
        bytes_free(own);
    }
    return segment->is_sealed;
}

static enum reason make_index_of_file(struct recipe_segment *segment)
{
    uint8_t *data = read_rest(segment, 0);
    segment->data = data;
    const enum reason reason = !data                 ? REASON_io_error
                               : make_index(segment) ? REASON_ok
                                                     : REASON_out_of_memory;
    segment->data = NULL;
    free(data);
    return reason;
}

static enum reason look_at_file(struct recipe_segment *segment)
{
    uint8_t start[RECIPE_HEADER_SIZE + RECIPE_RECORD_HEADER];
    if (!recipe_file_read(segment->file, 0, start, sizeof start)) {
        return REASON_io_error;
    }
    enum reason reason = check_header(start, sizeof start, segment);
    if (reason == REASON_ok && !read_own_index(segment)) {
        reason = make_index_of_file(segment);
    }
    return reason == REASON_ok ? finish_opening(segment) : reason;
}

/* Small ones are read whole, and then are bytes in memory. */
static enum reason read_file(int fd, int folder_fd, const char *name,
                             struct recipe_segment *segment)
{
    segment->file = recipe_file_new(fd, segment->size, folder_fd, name);
    if (!segment->file) {
        return REASON_out_of_memory;
    }
    if (segment->size > RECIPE_SEGMENT_SMALL) {
        return look_at_file(segment);
    }
    segment->data = read_rest(segment, 0);
    recipe_file_close(segment->file);
    segment->file = NULL;
    return segment->data ? read_index(segment) : REASON_io_error;
}

enum reason recipe_segment_open(int folder_fd, const char *name, enum recipes_access access,
                                struct recipe_segment *ret_segment)
{
    int fd;
    uint64_t size;
    enum reason reason = file_open(folder_fd, name, &fd, &size);
    if (reason != REASON_ok) {
        return reason;
    }
    if (size == 0 || size > MAX_SIZE) {
        close(fd);
        return size == 0 ? REASON_truncated : REASON_too_large;
    }
    struct recipe_segment segment = {.size = (size_t)size};
    reason =
        access == RECIPES_MAP ? map_file(fd, &segment) : read_file(fd, folder_fd, name, &segment);
    if (reason == REASON_ok) {
        *ret_segment = segment;
    } else {
        recipe_segment_close(&segment);
    }
    return reason;
}

bool recipe_segment_is_damage(enum reason reason)
{
    return reason != REASON_ok && reason != REASON_no_file && reason != REASON_truncated &&
           reason != REASON_bad_format_version;
}

enum reason recipe_segment_take(uint8_t *data, size_t size, struct recipe_segment *ret_segment)
{
    struct recipe_segment segment = {.data = data, .size = size};
    enum reason reason = size == 0 ? REASON_truncated : read_index(&segment);
    if (reason == REASON_ok && !recipe_segment_distrust(&segment)) {
        reason = REASON_out_of_memory;
    }
    if (reason == REASON_ok) {
        *ret_segment = segment;
    } else {
        segment.data = NULL;
        recipe_segment_close(&segment);
    }
    return reason;
}

static int compare_offsets(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left;
    const uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Whether records that the index leads to have bytes in common. */
static bool records_overlap(const struct recipe_segment *segment, const uint64_t *offsets)
{
    uint64_t end = 0;
    bool overlap = false;
    for (size_t i = 0; !overlap && i < segment->index.count; i++) {
        struct recipe_record record;
        overlap = offsets[i] < end;
        end = offsets[i] + (recipe_record_at(segment->data, segment->size, offsets[i], &record)
                                ? recipe_record_extent(record.size)
                                : 1);
    }
    return overlap;
}

bool recipe_segment_distrust(struct recipe_segment *segment)
{
    if (!segment->is_sealed) {
        return true;
    }
    const size_t count = segment->index.count;
    uint64_t *offsets = calloc(count + 1, sizeof *offsets);
    if (!offsets) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        offsets[i] = recipe_index_offset(&segment->index, i);
    }
    qsort(offsets, count, sizeof *offsets, compare_offsets);
    segment->is_sealed = !records_overlap(segment, offsets);
    free(offsets);
    if (segment->is_sealed) {
        return true;
    }
    segment->dropped++;
    free(segment->verdicts);
    segment->verdicts = NULL;
    return make_index(segment) && finish_opening(segment) == REASON_ok;
}

/* All but the index. */
static void give_back(struct recipe_segment *segment)
{
    for (size_t i = 0; segment->file && segment->records && i < segment->index.count; i++) {
        if (segment->records[i] != recipe_segment_damaged) {
            free((void *)(uintptr_t)segment->records[i]);
        }
    }
    free(segment->records);
    free(segment->verdicts);
    segment->records = NULL;
    segment->verdicts = NULL;
    recipe_file_close(segment->file);
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
    give_back(segment);
    bytes_free(&segment->own_index);
    *segment = (struct recipe_segment){0};
}

bool recipe_segment_failed(const struct recipe_segment *segment)
{
    return segment->file && recipe_file_failed(segment->file);
}

bool recipe_segment_is_held(const struct recipe_segment *segment)
{
    return segment->file;
}

void recipe_segment_rest(struct recipe_segment *segment)
{
    recipe_file_rest(segment->file);
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
    give_back(segment);
}
