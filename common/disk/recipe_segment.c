#include "recipe_segment.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "file.h"
#include "recipe_window.h"

/* Address space is what 32-bit programs are short of. */
#define MAX_SIZE (sizeof(void *) > 4 ? (uint64_t)4 << 30 : (uint64_t)256 << 20)

/* Of a window's records. */
enum { UNREAD, READING, READ };

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

static enum reason read_index(struct recipe_segment *segment)
{
    const enum reason reason =
        segment->size == 0 ? REASON_truncated : recipe_check_header(segment->data, segment->size);
    if (reason != REASON_ok && reason != REASON_bad_header_digest) {
        return reason;
    }
    segment->dropped = reason != REASON_ok;
    segment->is_sealed = recipe_find_index(segment->data, segment->size, &segment->index);
    if (!segment->is_sealed && !make_index(segment)) {
        return REASON_out_of_memory;
    }
    /* Where the file's header is damaged and nothing of ours is in it, it is not ours. */
    return reason != REASON_ok && segment->index.count == 0 ? reason : REASON_ok;
}

static enum reason map_file(int fd, size_t size, struct recipe_segment *segment)
{
    /* Touching what lies behind the end of a file that was cut short would be SIGBUS. Segments
     * never are: their process appends to them, then they are removed or stay as they are. So what
     * stands there now will stand there as long as the mapping does. */
    void *data = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED) {
        return reason_from_errno(errno);
    }
    *segment = (struct recipe_segment){.data = data, .size = size, .is_mapped = true};
    return read_index(segment);
}

/* What read_index will look at: the header with that of the first record, and the index, or else
 * everything. */
static bool read_what_is_needed(struct recipe_window *window, const uint8_t *data, size_t size)
{
    const size_t start = RECIPE_HEADER_SIZE + RECIPE_RECORD_HEADER;
    const size_t head = size < start ? size : start;
    const size_t tail = size < RECIPE_RECORD_HEADER ? size : RECIPE_RECORD_HEADER;
    struct recipe_record footer;
    struct recipe_index index;
    if (!recipe_window_read(window, 0, head) || !recipe_window_read(window, size - tail, tail)) {
        return false;
    }
    if (recipe_record_at(data, size, size - tail, &footer) && footer.kind == RECIPE_FOOTER &&
        footer.digest.low < size &&
        recipe_window_read(window, footer.digest.low, size - footer.digest.low) &&
        recipe_find_index(data, size, &index)) {
        return true;
    }
    return recipe_window_read(window, 0, size);
}

/* The descriptor is the segment's. */
static enum reason look_at_file(int fd, size_t size, struct recipe_segment *segment)
{
    struct recipe_window *window = recipe_window_open(fd, size);
    if (!window) {
        return REASON_out_of_memory;
    }
    *segment =
        (struct recipe_segment){.data = recipe_window_data(window), .size = size, .window = window};
    if (!read_what_is_needed(window, segment->data, size)) {
        return REASON_io_error;
    }
    enum reason reason = read_index(segment);
    if (reason == REASON_ok && !segment->is_sealed) {
        recipe_window_forget(window);
    }
    segment->states = calloc(segment->index.count + 1, 1);
    return segment->states ? reason : REASON_out_of_memory;
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
    struct recipe_segment segment = {0};
    if (size == 0 || size > MAX_SIZE) {
        reason = size == 0 ? REASON_truncated : REASON_too_large;
        close(fd);
    } else if (access == RECIPES_MAP) {
        reason = map_file(fd, (size_t)size, &segment);
        close(fd);
    } else {
        reason = look_at_file(fd, (size_t)size, &segment);
    }
    if (reason == REASON_ok) {
        *ret_segment = segment;
    } else {
        recipe_segment_close(&segment);
    }
    return reason;
}

enum reason recipe_segment_take(uint8_t *data, size_t size, struct recipe_segment *ret_segment)
{
    struct recipe_segment segment = {.data = data, .size = size};
    const enum reason reason = read_index(&segment);
    if (reason == REASON_ok) {
        *ret_segment = segment;
    } else {
        bytes_free(&segment.own_index);
    }
    return reason;
}

void recipe_segment_close(struct recipe_segment *segment)
{
    bytes_free(&segment->own_index);
    free(segment->states);
    if (segment->window) {
        recipe_window_close(segment->window);
    } else if (segment->is_mapped) {
        munmap((void *)(uintptr_t)segment->data, segment->size);
    } else {
        free((void *)(uintptr_t)segment->data);
    }
    *segment = (struct recipe_segment){0};
}

bool recipe_segment_failed(const struct recipe_segment *segment)
{
    return segment->window && recipe_window_failed(segment->window);
}

void recipe_segment_detach(struct recipe_segment *segment)
{
    if (segment->window) {
        recipe_window_detach(segment->window);
    }
}

bool recipe_segment_has(const struct recipe_segment *segment, unsigned kind, struct digest digest)
{
    uint64_t offset;
    const size_t at = recipe_index_lower(&segment->index, kind, digest);
    return recipe_index_matches(&segment->index, at, kind, digest, &offset);
}

/* Of a window, brings what the entry leads to into memory; what cannot be read stays zeros, which
 * no digest fits. */
static void read_record(const struct recipe_segment *segment, size_t at, uint64_t offset)
{
    struct recipe_record record;
    uint8_t state = UNREAD;
    if (!segment->window) {
        return;
    }
    if (!__atomic_compare_exchange_n(&segment->states[at], &state, READING, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_ACQUIRE)) {
        while (__atomic_load_n(&segment->states[at], __ATOMIC_ACQUIRE) != READ) {
            sched_yield();
        }
        return;
    }
    if (recipe_window_read(segment->window, offset, RECIPE_RECORD_HEADER) &&
        recipe_record_at(segment->data, segment->size, offset, &record)) {
        recipe_window_read(segment->window, offset, recipe_record_extent(record.size));
    }
    __atomic_store_n(&segment->states[at], READ, __ATOMIC_RELEASE);
}

/* What an entry leads to. */
static struct recipe_record record_of(const struct recipe_segment *segment, size_t at)
{
    const unsigned kind = recipe_index_kind(&segment->index, at);
    const struct digest digest = recipe_index_digest(&segment->index, at);
    const uint64_t offset = recipe_index_offset(&segment->index, at);
    struct recipe_record record;
    read_record(segment, at, offset);
    if (recipe_record_at(segment->data, segment->size, offset, &record) && record.kind == kind &&
        digest_equal(record.digest, digest) && recipe_record_is_intact(&record)) {
        return record;
    }
    return (struct recipe_record){.kind = kind, .digest = digest, .offset = offset};
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
