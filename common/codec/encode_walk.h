// SPDX-License-Identifier: Apache-2.0
/* The walker that writes canonical forms by table. Internal to the codec: canonical_encode sets an
 * encoder up, encodes one struct, and finishes the key.
 *
 * States:
 *
 *     WRITING  the verdict is not CANONICAL_UNKNOWN: the form is written
 *     DRY      only the rules of a pipeline are read
 *     ended    no rule can change any more
 *
 *     WRITING ── encode_give_up ──▶ DRY       for a pipeline
 *     WRITING ── encode_give_up ──▶ ended     for anything else
 *     DRY ── a flag bit is unknown ──▶ ended
 *
 * Functions that return bool return false once the walk has ended. */
#ifndef WARMPIPE_CODEC_ENCODE_WALK_H
#define WARMPIPE_CODEC_ENCODE_WALK_H

#include <string.h>

#include "common/codec/canonical.h"
#include "common/codec/liveness.h"
#include "common/codec/table.h"

struct encoder {
    uint8_t *next; /* where the next byte goes, in canonical->key; NULL at first */
    uint8_t *end;
    const struct canonical_context *context;
    struct canonical *canonical;
    struct live_context live;
    bool goes_on;        /* a pipeline: the walk goes on after the form is given up */
    uint8_t none[1];     /* where `next` points when nothing is written */
    const void *checked; /* the create-info of a pipeline, whose own chain was checked */
    uint64_t pipeline_flags;
    uint64_t render_pass; /* the handle that `render_pass_object` is about, 0 for none */
    struct canonical_object render_pass_object;
};

/* Encodes a struct with everything that it points to. A struct with a sType must have the right
 * one. */
bool encode_struct(struct encoder *encoder, const struct codec_struct *type, const void *structure);

/* The create-info is not known, or too long, or memory is out: nothing more is written of the form.
 */
bool encode_give_up(struct encoder *encoder, enum canonical_cause cause);

/* Goes on, but the object must not be shared. */
void encode_keep_apart(struct encoder *encoder, enum canonical_cause cause);

/* Looks up a handle that is not null; gives up, and returns false, if it is unknown. */
bool encode_resolve(struct encoder *encoder, VkObjectType type, uint64_t handle,
                    struct canonical_object *ret_object);

static inline bool encode_is_dry(const struct encoder *encoder)
{
    return encoder->canonical->verdict == CANONICAL_UNKNOWN;
}

/* Moves the key to memory with room for `size` more bytes and some more; also before the first put.
 * False: nothing is written (any more). */
bool encode_grow(struct encoder *encoder, size_t size);

static inline bool encode_room(struct encoder *encoder, size_t size)
{
    return (size_t)(encoder->end - encoder->next) >= size || encode_grow(encoder, size);
}

/* memcpy, without a call for the few words that most members have. */
static inline void encode_copy(uint8_t *to, const uint8_t *from, size_t size)
{
    if (size > 128) {
        memcpy(to, from, size);
    } else if (size >= 64) {
        memcpy(to, from, 64);
        memcpy(to + size - 64, from + size - 64, 64);
    } else if (size >= 32) {
        memcpy(to, from, 32);
        memcpy(to + size - 32, from + size - 32, 32);
    } else if (size >= 16) {
        memcpy(to, from, 16);
        memcpy(to + size - 16, from + size - 16, 16);
    } else if (size >= 8) {
        memcpy(to, from, 8);
        memcpy(to + size - 8, from + size - 8, 8);
    } else if (size >= 4) {
        memcpy(to, from, 4);
        memcpy(to + size - 4, from + size - 4, 4);
    } else {
        for (size_t i = 0; i < size; i++) {
            to[i] = from[i];
        }
    }
}

static inline bool encode_put_raw(struct encoder *encoder, const void *data, size_t size)
{
    if (!encode_room(encoder, size)) {
        return encoder->goes_on;
    }
    encode_copy(encoder->next, data, size);
    encoder->next += size;
    return true;
}

static inline bool encode_put_u8(struct encoder *encoder, uint8_t value)
{
    return encode_put_raw(encoder, &value, sizeof value);
}

static inline bool encode_put_u32(struct encoder *encoder, uint32_t value)
{
    value = form_u32(value);
    return encode_put_raw(encoder, &value, sizeof value);
}

static inline bool encode_put_u64(struct encoder *encoder, uint64_t value)
{
    value = form_u64(value);
    return encode_put_raw(encoder, &value, sizeof value);
}

static inline bool encode_put_digest(struct encoder *encoder, struct digest digest)
{
    const uint64_t halves[2] = {form_u64(digest.low), form_u64(digest.high)};
    return encode_put_raw(encoder, halves, sizeof halves);
}

#endif
