#include "cache_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "digest_stream.h"
#include "disk/file.h"
#include "disk/parts.h"

#define SIZE_LIMIT ((uint64_t)1 << 30)
#define PIECE_SIZE ((size_t)1 << 18) /* stays in the processor's cache between copy and digest */

static bool ends_in(const char *name, const char *suffix)
{
    size_t length = strlen(name);
    size_t suffix_length = strlen(suffix);
    return length > suffix_length && strcmp(name + length - suffix_length, suffix) == 0;
}

bool cache_file_has_our_name(const char *name)
{
    return ends_in(name, ENVELOPE_SUFFIX) || ends_in(name, PARTS_SUFFIX);
}

bool cache_file_has_our_magic(const void *data, size_t size)
{
    struct envelope_layout layout;
    struct envelope envelope;
    /* Judged by the header's first bytes alone: they come first in every refusal. */
    return envelope_peek_layout(data, size, &layout) &&
           envelope_validate_header(data, sizeof(layout.magic), size, NULL, &envelope) !=
               REASON_bad_magic;
}

static bool is_named_after(const char *name, const struct driver_identity *identity)
{
    char hex[DIGEST_HEX_SIZE];
    digest_format(identity_digest(identity), hex);
    size_t length = strlen(hex);
    return strncmp(name, hex, length) == 0 && name[length] == '.';
}

/* The blob, which follows: its digest, and the driver's own header at its start. */
static enum reason check_blob(int fd, const struct envelope *envelope, uint8_t *buffer)
{
    struct digest_stream *stream = digest_stream_new();
    if (!stream) {
        return REASON_out_of_memory;
    }
    bool header_matches = true;
    ssize_t count = 1;
    for (size_t done = 0; count > 0 && done < envelope->blob_size; done += (size_t)count) {
        const size_t left = envelope->blob_size - done;
        count = io_read(fd, buffer, left < PIECE_SIZE ? left : PIECE_SIZE, IO_HERE);
        if (count > 0) {
            digest_stream_add(stream, buffer, (size_t)count);
        }
        if (done == 0) {
            header_matches =
                count > 0 && identity_matches_blob(&envelope->identity, buffer, (size_t)count);
        }
    }
    const struct digest digest = digest_stream_end(stream);
    if (count < 0) {
        return REASON_io_error;
    }
    return !digest_equal(digest, envelope->blob_digest) ? REASON_bad_section_digest
           : header_matches                             ? REASON_ok
                                                        : REASON_bad_blob_header;
}

static enum reason check_open(int fd, uint64_t size, const char *name, struct cache_file *file)
{
    uint8_t *buffer = aligned_alloc(64, PIECE_SIZE);
    if (!buffer) {
        return REASON_out_of_memory;
    }
    ssize_t head = io_read(fd, buffer, ENVELOPE_HEADER_SIZE, IO_HERE);
    enum reason reason = REASON_io_error;
    if (head >= 0) {
        file->ours |= cache_file_has_our_magic(buffer, (size_t)head);
        reason = envelope_validate_header(buffer, (size_t)head, size, NULL, &file->envelope);
        file->known = reason == REASON_ok;
    }
    if (reason == REASON_ok) {
        reason = check_blob(fd, &file->envelope, buffer);
    }
    if (reason == REASON_ok && !is_named_after(name, &file->envelope.identity)) {
        reason = REASON_renamed;
    }
    free(buffer);
    return reason;
}

enum reason cache_file_check(int directory_fd, const char *name, struct cache_file *ret_file)
{
    struct cache_file file;
    memset(&file, 0, sizeof file);
    file.ours = cache_file_has_our_name(name);
    int fd = -1;
    uint64_t size = 0;
    enum reason reason = file_open(directory_fd, name, &fd, &size);
    if (reason == REASON_ok) {
        reason = size > SIZE_LIMIT ? REASON_too_large : check_open(fd, size, name, &file);
        close(fd);
    }
    *ret_file = file;
    return reason;
}
