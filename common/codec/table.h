/* The generated tables: what each struct that a create-info can reach is made of. Written by
 * tools/codegen from the installed registry and rules.def; walked by the encoder, the decoder and
 * the rules. Constant, so thread-safe. Nothing outside this folder needs them. */
#ifndef WARMPIPE_CODEC_TABLE_H
#define WARMPIPE_CODEC_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    CODEC_POINTER,        /* to one struct, or NULL */
    CODEC_ARRAY,          /* to as many structs as the 32-bit member at `count` says, or NULL */
    CODEC_HANDLE_ARRAY,   /* likewise, handles */
    CODEC_WORD_ARRAY,     /* likewise, 32-bit values */
    CODEC_BYTE_ARRAY,     /* likewise, bytes */
    CODEC_DATA,           /* as many bytes as the size_t at `count` says */
    CODEC_WORD_POINTER,   /* to one 32-bit value, or NULL */
    CODEC_SAMPLE_MASK, /* to one word for each 32 of the samples that the member at `count` says */
    CODEC_STRING,      /* zero-terminated */
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

/* A member of which every bit must be known (hazard 17). */
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
    uint8_t flat; /* its canonical form is its memory, on a little-endian machine */
    uint8_t member_count;
    uint8_t check_count;
    uint8_t child_count; /* structs that its chain may hold; at most 64 */
    uint16_t first_member;
    uint16_t first_check;
    uint16_t first_child;
};

/* Size of the largest struct in the tables. */
#define CODEC_MAX_SIZE 256

extern const struct codec_struct codec_structs[CODEC_STRUCT_COUNT];
extern const struct codec_member codec_members[];
extern const struct codec_check codec_checks[];
extern const uint16_t codec_children[]; /* ids */

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

/* Whether the structure's own flag members hold known bits alone. */
bool codec_flags_known(const struct codec_struct *type, const void *structure);

#endif
