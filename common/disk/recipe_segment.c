#include "recipe_segment.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "file.h"

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

enum reason recipe_segment_map(int folder_fd, const char *name, struct recipe_segment *ret_segment)
{
    int fd;
    uint64_t size;
    enum reason reason = file_open(folder_fd, name, &fd, &size);
    if (reason != REASON_ok) {
        return reason;
    }
    void *data = MAP_FAILED;
    if (size == 0) {
        reason = REASON_truncated;
    } else if (size > MAX_SIZE) {
        reason = REASON_too_large;
    } else {
        /* Touching what lies behind the end of a file that was cut short would be SIGBUS. Segments
         * never are: their process appends to them, then they are removed or stay as they are. So
         * what stands there now will stand there as long as the mapping does. */
        data = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, 0);
        reason = data != MAP_FAILED ? REASON_ok : reason_from_errno(errno);
    }
    close(fd);
    if (reason != REASON_ok) {
        return reason;
    }
    struct recipe_segment segment = {.data = data, .size = (size_t)size, .is_mapped = true};
    reason = read_index(&segment);
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
    if (segment->is_mapped) {
        munmap((void *)(uintptr_t)segment->data, segment->size);
    } else {
        free((void *)(uintptr_t)segment->data);
    }
    *segment = (struct recipe_segment){0};
}

bool recipe_segment_has(const struct recipe_segment *segment, unsigned kind, struct digest digest)
{
    uint64_t offset;
    const size_t at = recipe_index_lower(&segment->index, kind, digest);
    return recipe_index_matches(&segment->index, at, kind, digest, &offset);
}

/* What an entry leads to. */
static struct recipe_record record_of(const struct recipe_segment *segment, size_t at)
{
    const unsigned kind = recipe_index_kind(&segment->index, at);
    const struct digest digest = recipe_index_digest(&segment->index, at);
    const uint64_t offset = recipe_index_offset(&segment->index, at);
    struct recipe_record record;
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

bool recipe_segment_next_of(const struct recipe_segment *segment, unsigned kind, size_t *at,
                            struct recipe_record *ret_record)
{
    const struct digest least = {0};
    *at = *at == SIZE_MAX ? recipe_index_lower(&segment->index, kind, least) : *at + 1;
    if (*at >= segment->index.count || recipe_index_kind(&segment->index, *at) != kind) {
        return false;
    }
    *ret_record = record_of(segment, *at);
    return true;
}
