// SPDX-License-Identifier: Apache-2.0
/* What a SPIR-V module says of itself: its instructions, what defines an id, decorations, entry
 * points. A reader for recipes, which may come from a hostile file: nothing outside the code is
 * read, and time and memory are in proportion to its size (memory also to its bound of ids, which
 * is limited). It is no validator; `warmpipe import` has SPIRV-Tools for that. Only the layout of
 * instructions is checked, and that the module is one for Vulkan.
 *
 * No I/O. Thread-safe for different modules. */
#ifndef WARMPIPE_SPIRV_SPIRV_H
#define WARMPIPE_SPIRV_SPIRV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* SPIR-V specification, "Instructions", "Storage Class", "Decoration": what more than one file
 * here looks at. */
enum {
    SPIRV_OP_TYPE_BOOL = 20,
    SPIRV_OP_TYPE_INT = 21,
    SPIRV_OP_TYPE_FLOAT = 22,
    SPIRV_OP_TYPE_VECTOR = 23,
    SPIRV_OP_TYPE_MATRIX = 24,
    SPIRV_OP_TYPE_IMAGE = 25,
    SPIRV_OP_TYPE_SAMPLER = 26,
    SPIRV_OP_TYPE_SAMPLED_IMAGE = 27,
    SPIRV_OP_TYPE_ARRAY = 28,
    SPIRV_OP_TYPE_RUNTIME_ARRAY = 29,
    SPIRV_OP_TYPE_STRUCT = 30,
    SPIRV_OP_TYPE_POINTER = 32,
    SPIRV_OP_CONSTANT = 43,
    SPIRV_OP_CONSTANT_COMPOSITE = 44,
    SPIRV_OP_SPEC_CONSTANT_TRUE = 48,
    SPIRV_OP_SPEC_CONSTANT_FALSE = 49,
    SPIRV_OP_SPEC_CONSTANT = 50,
    SPIRV_OP_SPEC_CONSTANT_COMPOSITE = 51,
    SPIRV_OP_FUNCTION = 54,
    SPIRV_OP_FUNCTION_END = 56,
    SPIRV_OP_VARIABLE = 59,
    SPIRV_OP_TYPE_ACCELERATION_STRUCTURE = 5341,

    SPIRV_SPEC_ID = 1,
    SPIRV_BUFFER_BLOCK = 3,
    SPIRV_ARRAY_STRIDE = 6,
    SPIRV_MATRIX_STRIDE = 7,
    SPIRV_BUILT_IN = 11,
    SPIRV_BINDING = 33,
    SPIRV_DESCRIPTOR_SET = 34,
    SPIRV_OFFSET = 35,
};

struct spirv_instruction {
    uint32_t op;
    uint32_t length;       /* operands */
    const uint32_t *words; /* operands; result type and id are among them */
};

/* Of an id, or of a member of a struct. */
struct spirv_decoration {
    uint32_t id;
    uint32_t member; /* SPIRV_NO_MEMBER: of the id itself */
    uint32_t kind;
    uint32_t value; /* the first literal; 0: there is none */
};

#define SPIRV_NO_MEMBER UINT32_MAX

struct spirv_module {
    const uint32_t *words; /* the code, borrowed */
    size_t count;
    uint32_t bound;    /* ids are below it */
    uint32_t *defined; /* of each id: the word of the type, constant, global variable or function
                        * that defines it; 0: none does */
    struct spirv_decoration *decorations; /* those named above, sorted */
    size_t decoration_count;
};

enum spirv_opened {
    SPIRV_OPENED,
    SPIRV_DAMAGED, /* or not for Vulkan, or of another endianness */
    SPIRV_NO_MEMORY,
};

/* Reads a module. `code` is aligned at 4 and must live as long as the module, which is freed with
 * spirv_close in any case. `size` in bytes. */
enum spirv_opened spirv_open(const void *code, size_t size, struct spirv_module *ret_module);
void spirv_close(struct spirv_module *module);

/* The word at which the instructions begin. */
#define SPIRV_FIRST_WORD 5

/* The instruction at word `*at`, which moves to the next. False at the end. */
bool spirv_next(const struct spirv_module *module, size_t *at,
                struct spirv_instruction *ret_instruction);

/* The type, constant, global variable or function of this id, with at least `length` operands.
 * False: there is none. */
bool spirv_define(const struct spirv_module *module, uint32_t id, uint32_t length,
                  struct spirv_instruction *ret_instruction);

/* False: it is not decorated so. */
bool spirv_decorated(const struct spirv_module *module, uint32_t id, uint32_t member, uint32_t kind,
                     uint32_t *ret_value);

/* The value of a 32-bit constant that nothing can specialize. */
bool spirv_constant(const struct spirv_module *module, uint32_t id, uint32_t *ret_value);

/* The function of the entry point of this execution model and name. */
bool spirv_entry_point(const struct spirv_module *module, uint32_t model, const char *name,
                       uint32_t *ret_function);

#endif
