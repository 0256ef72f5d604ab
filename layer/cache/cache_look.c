// SPDX-License-Identifier: Apache-2.0
/* A look at the driver's caches: what is a change, and becomes the snapshot (docs/decisions/0085).
 */
#include <stdlib.h>

#include "layer/cache/cache_writer.h"

/* Order and padding change a blob's size by no more than this part of it. */
#define WANDERING_PART 16

/* What a driver leaves of its stack in the entries is less than this part of the bytes; and where
 * the driver may have compiled without a word, no more bytes than these: a new pipeline brings
 * more.
 */
#define STACK_BYTES_PART 128
#define STACK_BYTES_MAX  128

void cache_writer_set_snapshot(struct cache_writer *writer, uint8_t *data, size_t size)
{
    free(writer->snapshot);
    writer->snapshot = data;
    atomic_store(&writer->schedule.pending_size, size);
    atomic_store(&writer->schedule.pending, size > 0);
}

/* Data that may not be saved: the store is told once. */
static void cache_writer_note_outgrown(struct cache_writer *writer, size_t size)
{
    if (!writer->is_outgrown && !writer->snapshot) {
        cache_writer_set_snapshot(writer, NULL, size);
    }
    writer->is_outgrown = true;
}

/* How many bytes are not zero. Drivers write the entries of their hash tables in an order that
 * changes from process to process (all of Mesa's, once graphics pipeline libraries are used), pad
 * between them with zeros, and write a few bytes of each entry as they found them on their stack
 * (RADV). A cache only gains entries, and each brings its key and its code along: so blobs of
 * nearly the same size and of the same weight hold the same entries. */
static size_t cache_writer_weight(const uint8_t *data, size_t size)
{
    size_t weight = 0;
    for (size_t i = 0; i < size; i++) {
        weight += data[i] != 0;
    }
    return weight;
}

/* Whether the file holds the same data already, in another order. Reads it again only where that is
 * possible. Bytes of a stack may be zero in one process and not in the next: unless the driver says
 * that it compiled, a small difference in weight is no new entry either. */
static bool cache_writer_is_in_file(struct cache_writer *writer, const uint8_t *data, size_t size,
                                    size_t known_size, bool has_missed)
{
    const size_t difference = size > known_size ? size - known_size : known_size - size;
    struct store_blob blob;
    if (difference > known_size / WANDERING_PART ||
        store_load_again(writer->store, &blob) != STATUS_ok) {
        return false;
    }
    const bool is_quiet =
        atomic_load(&writer->schedule.hinted) == atomic_load(&writer->schedule.looked_hinted);
    const size_t before = cache_writer_weight(blob.data, blob.size);
    const size_t now = cache_writer_weight(data, size);
    store_blob_free(&blob);
    size_t allowed = has_missed ? 0 : before / STACK_BYTES_PART;
    if (!is_quiet && allowed > STACK_BYTES_MAX) {
        allowed = STACK_BYTES_MAX;
    }
    return (now > before ? now - before : before - now) <= allowed;
}

/* Data as it came from the driver: becomes the snapshot if it is new. */
static void cache_writer_judge(struct cache_writer *writer, uint8_t *data, size_t size,
                               bool has_missed)
{
    const struct digest digest = digest_of(data, size);
    const size_t known_size = writer->seen_size;
    const bool is_known = size == known_size && digest_equal(digest, writer->seen);
    writer->seen = digest;
    writer->seen_size = size;
    if (is_known || cache_writer_is_in_file(writer, data, size, known_size, has_missed)) {
        free(data);
    } else {
        cache_writer_set_snapshot(writer, data, size);
    }
}

/* The size decides without the data where it can: no pipeline in it, too large, or not changed. */
static bool cache_writer_is_decided(struct cache_writer *writer, size_t size, bool at_end,
                                    enum status *ret_reason)
{
    *ret_reason = STATUS_ok;
    if (size > writer->max_blob) {
        cache_writer_note_outgrown(writer, size);
    } else if (size <= DRIVER_CACHE_HEADER_SIZE &&
               cache_schedule_note_empty(&writer->schedule, at_end)) {
        *ret_reason = STATUS_ineffective;
    }
    return size > writer->max_blob || size <= DRIVER_CACHE_HEADER_SIZE;
}

enum status cache_writer_look(struct cache_writer *writer, VkPipelineCache device_cache,
                              VkPipelineCache collected, bool at_end)
{
    const bool has_missed = atomic_load(&writer->schedule.missed) != writer->seen_missed;
    const struct driver_caches *caches = writer->caches;
    enum status reason;
    uint8_t *data = NULL;
    size_t size = 0;
    if (collected != VK_NULL_HANDLE) {
        if (!driver_cache_read_both(caches, device_cache, collected, &data, &size)) {
            return STATUS_driver_refused;
        }
    } else {
        if (device_cache == VK_NULL_HANDLE) {
            return STATUS_ok;
        }
        if (!driver_cache_query_size(caches, device_cache, &size)) {
            return STATUS_driver_refused;
        }
        if (cache_writer_is_decided(writer, size, at_end, &reason)) {
            return reason;
        }
        if (size == writer->seen_size && !has_missed) {
            return STATUS_ok;
        }
        if (!driver_cache_read(caches, device_cache, &data, &size)) {
            return STATUS_driver_refused;
        }
    }
    if (cache_writer_is_decided(writer, size, at_end, &reason)) {
        free(data);
        return reason;
    }
    writer->is_outgrown = false;
    cache_writer_judge(writer, data, size, has_missed);
    return STATUS_ok;
}
