#include "driver/spirv_workgroup.h"

#include <string.h>

#define MAGIC        0x07230203u
#define HEADER_WORDS 5

/* SPIR-V specification, "Instructions", "Execution Mode", "Decoration", "BuiltIn". */
enum {
    OP_ENTRY_POINT = 15,
    OP_EXECUTION_MODE = 16,
    OP_CONSTANT = 43,
    OP_CONSTANT_COMPOSITE = 44,
    OP_SPEC_CONSTANT = 50,
    OP_SPEC_CONSTANT_COMPOSITE = 51,
    OP_FUNCTION = 54,
    OP_DECORATE = 71,
    OP_EXECUTION_MODE_ID = 331,
    MODEL_GL_COMPUTE = 5,
    MODE_LOCAL_SIZE = 17,
    MODE_LOCAL_SIZE_ID = 38,
    DECORATION_SPEC_ID = 1,
    DECORATION_BUILT_IN = 11,
    BUILT_IN_WORKGROUP_SIZE = 25
};

/* What stands before the first function; modes, decorations and constants all do. */
struct module {
    const uint32_t *words;
    size_t count;
    const VkSpecializationInfo *specialization;
};

struct instruction {
    uint32_t op;
    uint32_t length;       /* operands */
    const uint32_t *words; /* operands */
};

/* Steps from one instruction to the next; false at the end, and where none is whole. */
static bool next(const struct module *module, size_t *at, struct instruction *ret_instruction)
{
    if (*at >= module->count) {
        return false;
    }
    uint32_t head = module->words[*at];
    uint32_t length = head >> 16;
    if (length == 0 || length > module->count - *at || (head & 0xffff) == OP_FUNCTION) {
        return false;
    }
    *ret_instruction = (struct instruction){head & 0xffff, length - 1, &module->words[*at + 1]};
    *at += length;
    return true;
}

static bool literal_is(const struct instruction *instruction, uint32_t from, const char *text)
{
    size_t room = (instruction->length - from) * sizeof(uint32_t);
    size_t size = strlen(text) + 1;
    return size <= room && memcmp(&instruction->words[from], text, size) == 0;
}

static bool find_entry(const struct module *module, const char *name, uint32_t *ret_id)
{
    struct instruction i;
    for (size_t at = HEADER_WORDS; next(module, &at, &i);) {
        if (i.op == OP_ENTRY_POINT && i.length > 2 && i.words[0] == MODEL_GL_COMPUTE &&
            literal_is(&i, 2, name)) {
            *ret_id = i.words[1];
            return true;
        }
    }
    return false;
}

static bool find_spec_id(const struct module *module, uint32_t id, uint32_t *ret_spec_id)
{
    struct instruction i;
    for (size_t at = HEADER_WORDS; next(module, &at, &i);) {
        if (i.op == OP_DECORATE && i.length == 3 && i.words[0] == id &&
            i.words[1] == DECORATION_SPEC_ID) {
            *ret_spec_id = i.words[2];
            return true;
        }
    }
    return false;
}

static bool find_built_in(const struct module *module, uint32_t *ret_id)
{
    struct instruction i;
    for (size_t at = HEADER_WORDS; next(module, &at, &i);) {
        if (i.op == OP_DECORATE && i.length == 3 && i.words[1] == DECORATION_BUILT_IN &&
            i.words[2] == BUILT_IN_WORKGROUP_SIZE) {
            *ret_id = i.words[0];
            return true;
        }
    }
    return false;
}

/* The constant that the program gives; it stays what it is where it gives none. False: of another
 * width. */
static bool specialize(const struct module *module, uint32_t id, uint32_t *value)
{
    const VkSpecializationInfo *info = module->specialization;
    uint32_t spec_id;
    if (!info || !find_spec_id(module, id, &spec_id)) {
        return true;
    }
    for (uint32_t i = 0; i < info->mapEntryCount; i++) {
        const VkSpecializationMapEntry *entry = &info->pMapEntries[i];
        if (entry->constantID != spec_id) {
            continue;
        }
        if (entry->size != sizeof(*value) || entry->offset > info->dataSize ||
            info->dataSize - entry->offset < sizeof(*value)) {
            return false;
        }
        memcpy(value, (const uint8_t *)info->pData + entry->offset, sizeof(*value));
    }
    return true;
}

/* The instruction that makes `id`, of a constant. */
static bool find_constant(const struct module *module, uint32_t id,
                          struct instruction *ret_instruction)
{
    struct instruction i;
    for (size_t at = HEADER_WORDS; next(module, &at, &i);) {
        if (i.op >= OP_CONSTANT && i.op <= OP_SPEC_CONSTANT_COMPOSITE && i.length >= 3 &&
            i.words[1] == id) {
            *ret_instruction = i;
            return true;
        }
    }
    return false;
}

static bool read_constant(const struct module *module, uint32_t id, uint32_t *ret_value)
{
    struct instruction i;
    if (!find_constant(module, id, &i) || i.length != 3 ||
        (i.op != OP_CONSTANT && i.op != OP_SPEC_CONSTANT)) {
        return false;
    }
    *ret_value = i.words[2];
    return i.op == OP_CONSTANT || specialize(module, id, ret_value);
}

static bool read_constants(const struct module *module, const uint32_t ids[3], uint32_t ret_size[3])
{
    return read_constant(module, ids[0], &ret_size[0]) &&
           read_constant(module, ids[1], &ret_size[1]) &&
           read_constant(module, ids[2], &ret_size[2]);
}

static bool read_built_in(const struct module *module, uint32_t id, uint32_t ret_size[3])
{
    struct instruction i;
    return find_constant(module, id, &i) && i.length == 5 &&
           (i.op == OP_CONSTANT_COMPOSITE || i.op == OP_SPEC_CONSTANT_COMPOSITE) &&
           read_constants(module, &i.words[2], ret_size);
}

static bool read_mode(const struct module *module, uint32_t entry, uint32_t ret_size[3])
{
    struct instruction i;
    for (size_t at = HEADER_WORDS; next(module, &at, &i);) {
        if (i.length != 5 || i.words[0] != entry) {
            continue;
        }
        if (i.op == OP_EXECUTION_MODE && i.words[1] == MODE_LOCAL_SIZE) {
            memcpy(ret_size, &i.words[2], 3 * sizeof(uint32_t));
            return true;
        }
        if (i.op == OP_EXECUTION_MODE_ID && i.words[1] == MODE_LOCAL_SIZE_ID) {
            return read_constants(module, &i.words[2], ret_size);
        }
    }
    return false;
}

bool spirv_workgroup_size(const void *code, size_t size, const char *name,
                          const VkSpecializationInfo *specialization, uint32_t ret_size[3])
{
    const struct module module = {code, size / sizeof(uint32_t), specialization};
    uint32_t entry;
    uint32_t built_in;
    uint32_t found[3];
    if (module.count < HEADER_WORDS || module.words[0] != MAGIC ||
        !find_entry(&module, name, &entry)) {
        return false;
    }
    if (find_built_in(&module, &built_in) ? !read_built_in(&module, built_in, found)
                                          : !read_mode(&module, entry, found)) {
        return false;
    }
    memcpy(ret_size, found, sizeof(found));
    return true;
}
