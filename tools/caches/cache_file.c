// SPDX-License-Identifier: Apache-2.0
#include "tools/caches/cache_file.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/base/io.h"
#include "common/base/text.h"
#include "common/blobs/identity_files.h"
#include "common/files/file.h"

#define SIZE_LIMIT ((uint64_t)1 << 30)
#define PIECE_SIZE ((size_t)1 << 18) /* fits the processor's cache between read and digest */

bool cache_file_has_our_name(const char *name)
{
    return text_ends_in(name, CACHE_SUFFIX) || text_ends_in(name, PART_SUFFIX);
}

bool cache_file_has_our_magic(const void *data, size_t size)
{
    struct envelope_layout layout;
    struct envelope envelope;
    /* The magic is the first check of all, so its first bytes are enough. */
    return envelope_peek_layout(data, size, &layout) &&
           envelope_validate_header(data, sizeof(layout.magic), size, NULL, &envelope) !=
               STATUS_bad_magic;
}

/* Checks the blob, which is next in the file: its digest, and the driver's header at its start. */
static enum status cache_file_check_blob(int fd, const struct envelope *envelope, uint8_t *buffer)
{
    /* The content digest (base/digest.h) over one piece after the other. */
    XXH3_state_t *state = XXH3_createState();
    if (!state) {
        return STATUS_out_of_memory;
    }
    XXH3_128bits_reset(state);
    bool header_matches = true;
    ssize_t count = 1;
    for (uint64_t done = 0; count > 0 && done < envelope->blob_size; done += (uint64_t)count) {
        const uint64_t left = envelope->blob_size - done;
        count = io_read(fd, buffer, left < PIECE_SIZE ? (size_t)left : PIECE_SIZE, IO_HERE);
        if (count > 0) {
            XXH3_128bits_update(state, buffer, (size_t)count);
        }
        if (done == 0) {
            header_matches =
                count > 0 && identity_matches_blob(&envelope->identity, buffer, (size_t)count);
        }
    }
    const XXH128_hash_t hash = XXH3_128bits_digest(state);
    const struct digest digest = {.low = hash.low64, .high = hash.high64};
    XXH3_freeState(state);
    if (count < 0) {
        return STATUS_io_error;
    }
    return !digest_equal(digest, envelope->blob_digest) ? STATUS_bad_section_digest
           : header_matches                             ? STATUS_ok
                                                        : STATUS_bad_blob_header;
}

static enum status cache_file_check_open(int fd, uint64_t size, const char *name,
                                         struct cache_file *file)
{
    AUTO_FREE uint8_t *buffer = aligned_alloc(64, PIECE_SIZE);
    if (!buffer) {
        return STATUS_out_of_memory;
    }
    ssize_t head = io_read(fd, buffer, ENVELOPE_HEADER_SIZE, IO_HERE);
    enum status reason = STATUS_io_error;
    if (head >= 0) {
        file->ours |= cache_file_has_our_magic(buffer, (size_t)head);
        reason = envelope_validate_header(buffer, (size_t)head, size, NULL, &file->envelope);
        file->known = reason == STATUS_ok;
    }
    if (reason == STATUS_ok) {
        reason = cache_file_check_blob(fd, &file->envelope, buffer);
    }
    if (reason != STATUS_ok) {
        return reason;
    }
    char hex[DIGEST_HEX_SIZE];
    digest_format(identity_digest(&file->envelope.identity), hex);
    const size_t length = strlen(hex);
    return strncmp(name, hex, length) == 0 && name[length] == '.' ? STATUS_ok : STATUS_renamed;
}

enum status cache_file_check(int directory_fd, const char *name, struct cache_file *ret_file)
{
    struct cache_file file = {.ours = cache_file_has_our_name(name)};
    AUTO_CLOSE int fd = -1;
    uint64_t size = 0;
    enum status reason = file_open(directory_fd, name, &fd, &size);
    if (reason == STATUS_ok) {
        reason =
            size > SIZE_LIMIT ? STATUS_too_large : cache_file_check_open(fd, size, name, &file);
    }
    *ret_file = file;
    return reason;
}
