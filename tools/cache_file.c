#include "cache_file.h"

#include <string.h>

#include "disk/parts.h"

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

enum reason cache_file_check(const char *name, const void *data, size_t size,
                             struct envelope *ret_envelope)
{
    enum reason reason = envelope_validate(data, size, NULL, ret_envelope);
    if (reason == REASON_ok && !is_named_after(name, &ret_envelope->identity)) {
        reason = REASON_renamed;
    }
    return reason;
}
