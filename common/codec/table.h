// SPDX-License-Identifier: Apache-2.0
/* The generated tables: what each struct that a create-info can reach is made of. Written by
 * tools/codegen from the installed registry and rules.def, walked by the encoder, the decoder and
 * the rules. Constant, so thread-safe. And what encoder and decoder of the canonical form agree on.
 * Internal to the codec. */
#ifndef WARMPIPE_CODEC_TABLE_H
#define WARMPIPE_CODEC_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "codec_ids.h"

/* What a member is, and so how it is written. Scalars that lie side by side are one member. */
enum codec_kind {
    CODEC_WORDS,          /* `count` 32-bit values: integers, floats, enumerants, flags, bools */
    CODEC_LONGS,          /* `count` 64-bit values */
    CODEC_HALF,           /* one 16-bit value */
    CODEC_BYTES,          /* `count` bytes */
    CODEC_SIZE,           /* one size_t */
    CODEC_HANDLE,         /* a handle; `type` is its VkObjectType */
    CODEC_EMBEDDED,       /* a struct with a chain of its own, in place; `type` is its id */
    CODEC_EMBEDDED_MAYBE, /* likewise, where it is live */
    CODEC_UNION,   /* in place; the 32-bit member at `count` says what it holds; `type` is its index
                    */
    CODEC_POINTER, /* to one struct, or NULL */
    CODEC_ARRAY,   /* to as many structs as the 32-bit member at `count` says, or NULL */
    CODEC_HANDLE_ARRAY, /* likewise, handles */
    CODEC_WORD_ARRAY,   /* likewise, 32-bit values */
    CODEC_BYTE_ARRAY,   /* likewise, bytes */
    CODEC_DATA,         /* as many bytes as the size_t at `count` says */
    CODEC_WORD_POINTER, /* to one 32-bit value, or NULL */
    CODEC_SAMPLE_MASK,  /* to one word for each 32 of the samples that the member at `count` says */
    CODEC_STRING,       /* zero-terminated */
    CODEC_PIPELINE_FLAGS,
    CODEC_STAGE_CODE,
    CODEC_MODULE_CODE,
    CODEC_IDENTITY_DATA /* a pointer that is NULL in every object without identity */
};

struct codec_member {
    uint8_t kind;
    uint8_t live;     /* enum live_condition */
    uint8_t optional; /* a pointer that may be NULL although it is live */
    uint16_t offset;
    uint16_t count;
    uint32_t type;
};

/* A member of which every bit must be known (hazard 17: unknown structs and flags). */
struct codec_check {
    uint16_t offset;
    uint16_t size; /* 4 or 8 bytes */
    uint64_t mask;
};

/* What rules.def says of a struct. */
enum codec_role { CODEC_ENCODED, CODEC_LEFT_OUT, CODEC_SIDE_EFFECT, CODEC_IDENTITY };

#define CODEC_NO_STYPE UINT32_MAX

struct codec_struct {
    uint32_t stype; /* CODEC_NO_STYPE: a plain struct, without a chain */
    uint16_t size;  /* in memory */
    uint8_t role;
    /* Bytes behind the struct's head, if it has one, that are the form of its members on a
     * little-endian machine; `size` where that is the whole struct; 0: none are. */
    uint8_t flat;
    uint8_t member_count;
    uint8_t check_count;
    uint8_t child_count; /* structs that its chain may hold; at most 64 */
    uint16_t first_member;
    uint16_t first_check;
    uint16_t first_child;
};

/* What a union holds where its selector has this value. */
struct codec_arm {
    uint32_t value;
    uint16_t type; /* id; CODEC_STRUCT_COUNT: one 32-bit value */
};

struct codec_union {
    uint16_t first_arm;
    uint16_t arm_count;
};

/* Structs in whose presence the pipelineCache of the whole call must be NULL, unless a count of
 * theirs is 0 (hazard 25). */
struct codec_cache_forbidding {
    uint32_t stype;
    uint16_t offset; /* of the count, 32 bits */
};

/* Size of the largest struct in the tables. */
#define CODEC_MAX_SIZE 256

extern const struct codec_struct codec_structs[CODEC_STRUCT_COUNT];
extern const struct codec_member codec_members[];
extern const struct codec_check codec_checks[];
extern const uint16_t codec_children[]; /* ids */
extern const struct codec_union codec_unions[];
extern const struct codec_arm codec_arms[];
extern const struct codec_cache_forbidding codec_cache_forbidding[];
extern const size_t codec_cache_forbidding_count;

/* Every field of every struct that is encoded, as the registry has it; not in the layer. */
struct codec_field {
    uint16_t type;    /* id */
    const char *name; /* "Struct.field" */
    uint16_t offset;
    uint16_t size;
    bool pointer;
    const char *vulkan_type; /* "VkFormat"; of a pointer: what it leads to */
};

extern const struct codec_field codec_fields[];
extern const size_t codec_field_count;

/* What the registry calls the values of an enum or flags type that a field has; not in the layer.
 */
struct codec_name {
    uint64_t value;
    const char *name; /* "VK_FORMAT_R8_UNORM" */
};

struct codec_names {
    const char *type; /* "VkFormat" */
    const struct codec_name *first;
    size_t count;
};

extern const struct codec_names codec_names[];
extern const size_t codec_names_count;

/* Every VkDynamicState that is known, ascending. */
extern const uint32_t codec_dynamic_states[];
extern const size_t codec_dynamic_state_count;

/* The struct of this sType that may stand in the chain of `parent`: its position among the parent's
 * children, or -1. */
static inline int codec_find_child(const struct codec_struct *parent, uint32_t stype)
{
    const uint16_t *children = &codec_children[parent->first_child];
    for (int i = 0; i < parent->child_count; i++) {
        if (codec_structs[children[i]].stype == stype) {
            return i;
        }
    }
    return -1;
}

/* What a member of kind CODEC_UNION holds, as the struct says; NULL: a value that is not known. */
static inline const struct codec_arm *codec_find_arm(const struct codec_member *member,
                                                     const void *structure)
{
    const struct codec_union *choices = &codec_unions[member->type];
    uint32_t value;
    memcpy(&value, (const uint8_t *)structure + member->count, sizeof value);
    for (int i = 0; i < choices->arm_count; i++) {
        const struct codec_arm *arm = &codec_arms[choices->first_arm + i];
        if (arm->value == value) {
            return arm;
        }
    }
    return NULL;
}

/* Stands after the last struct of a chain, where a sType would. */
#define FORM_CHAIN_END 0x7fffffffu

/* What stands before what a pointer leads to. DOUBTFUL: it may be ignored or not (hazard 16), so it
 * was not read; such a form is not complete, and not decoded. */
enum form_presence { FORM_ABSENT, FORM_PRESENT, FORM_DOUBTFUL };

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

/* A create-info that has a form. */
struct form_root {
    uint16_t id;
    uint32_t type; /* what it creates: canonical_type_of */
};

/* The create-info that a form of this sType stands for; NULL where it is none that we know. */
const struct form_root *form_find_root(uint32_t stype);

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
        memcpy(&size, structure + member->count, sizeof size);
        return size;
    case CODEC_SAMPLE_MASK:
        memcpy(&count, structure + member->count, sizeof count);
        return ((uint64_t)count + 31) / 32;
    default:
        memcpy(&count, structure + member->count, sizeof count);
        return count;
    }
}

#endif
