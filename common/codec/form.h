/* What encoder and decoder of the canonical form agree on. Internal to the codec. */
#ifndef WARMPIPE_CODEC_FORM_H
#define WARMPIPE_CODEC_FORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "codec/rules.h"
#include "codec/table.h"

/* Stands after the last struct of a chain, where a sType would. */
#define FORM_CHAIN_END 0x7fffffffu

/* What stands before what a pointer leads to. DOUBTFUL: it may be ignored or not (hazard 16), so it
 * has not been read; such a form is not complete, and not decoded. */
enum form_presence { FORM_ABSENT, FORM_PRESENT, FORM_DOUBTFUL };

/* Flags that do not shape the pipeline, or that the form does without: whether the call may compile
 * (hazard 22), and derivation from a pipeline that the form does not name (hazard 24). */
#define FORM_OMITTED_FLAGS                                                                         \
    (RULES_PIPELINE_FAIL_ON_COMPILE_REQUIRED | RULES_PIPELINE_EARLY_RETURN_ON_FAILURE |            \
     RULES_PIPELINE_DERIVATIVE)

/* The form is little-endian. */
#define FORM_IS_NATIVE (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

static inline uint32_t form_u32(uint32_t value)
{
    return FORM_IS_NATIVE ? value : __builtin_bswap32(value);
}

static inline uint64_t form_u64(uint64_t value)
{
    return FORM_IS_NATIVE ? value : __builtin_bswap64(value);
}

/* Copies `count` values of `width` bytes from the form to memory, or from memory to the form. */
static inline void form_copy(void *to, const void *from, size_t count, size_t width)
{
    if (FORM_IS_NATIVE) {
        memcpy(to, from, count * width);
        return;
    }
    for (size_t i = 0; i < count * width; i++) {
        ((uint8_t *)to)[i] = ((const uint8_t *)from)[i - i % width + width - 1 - i % width];
    }
}

/* The create-info that a form of this sType stands for; false where it is none that we know. */
bool form_root(uint32_t stype, enum codec_id *ret_id);

/* Bytes of one element of an array of scalars, in memory and in the form. */
static inline size_t form_element_width(uint8_t kind)
{
    return kind == CODEC_BYTE_ARRAY || kind == CODEC_DATA ? 1 : 4;
}

/* How many elements a pointer leads to, as the struct that holds it says. */
static inline uint64_t form_count(const struct codec_member *member, const uint8_t *structure)
{
    uint32_t count;
    size_t size;
    switch (member->kind) {
    case CODEC_POINTER:
    case CODEC_WORD_POINTER:
        return 1;
    case CODEC_DATA:
        memcpy(&size, structure + member->count, sizeof(size));
        return size;
    case CODEC_SAMPLE_MASK:
        memcpy(&count, structure + member->count, sizeof(count));
        return ((uint64_t)count + 31) / 32;
    default:
        memcpy(&count, structure + member->count, sizeof(count));
        return count;
    }
}

#endif
