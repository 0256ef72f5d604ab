// SPDX-License-Identifier: Apache-2.0
#include "common/spirv/spirv.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/bytes.h"

#define MAGIC 0x07230203u

/* SPIR-V specification, "Universal Limits": ids are below 4,194,304. */
#define MAX_BOUND (1u << 22)

enum {
    OP_MEMORY_MODEL = 14,
    OP_ENTRY_POINT = 15,
    OP_CAPABILITY = 17,
    OP_TYPE_FIRST = 19,
    OP_TYPE_LAST = 38,
    OP_CONSTANT_FIRST = 41,
    OP_SPEC_CONSTANT_OP = 52,
    OP_DECORATE = 71,
    OP_MEMBER_DECORATE = 72,
    ADDRESSING_LOGICAL = 0,
    ADDRESSING_PHYSICAL_STORAGE_BUFFER = 5348,
    CAPABILITY_KERNEL = 6,
};

static int spirv_compare_decorations(const void *left, const void *right)
{
    const struct spirv_decoration *a = left;
    const struct spirv_decoration *b = right;
    int order = array_order_of(a->id, b->id);
    order = order ? order : array_order_of(a->member, b->member);
    return order ? order : array_order_of(a->kind, b->kind);
}

static bool spirv_is_wanted(uint32_t kind)
{
    return kind == SPIRV_SPEC_ID || kind == SPIRV_BUFFER_BLOCK || kind == SPIRV_ARRAY_STRIDE ||
           kind == SPIRV_MATRIX_STRIDE || kind == SPIRV_BUILT_IN || kind == SPIRV_BINDING ||
           kind == SPIRV_DESCRIPTOR_SET || kind == SPIRV_OFFSET;
}

/* The operand that is the id, of what is defined outside functions; UINT32_MAX: this defines
 * nothing of interest. */
static uint32_t spirv_result_operand(uint32_t op)
{
    if ((op >= OP_TYPE_FIRST && op <= OP_TYPE_LAST) || op == SPIRV_OP_TYPE_ACCELERATION_STRUCTURE) {
        return 0;
    }
    return (op >= OP_CONSTANT_FIRST && op <= OP_SPEC_CONSTANT_OP) || op == SPIRV_OP_VARIABLE ||
                   op == SPIRV_OP_FUNCTION
               ? 1
               : UINT32_MAX;
}

/* The instruction at `at`, wherever it ends. False: it does not fit. */
static bool spirv_read_instruction(const struct spirv_module *module, size_t at,
                                   struct spirv_instruction *ret_instruction)
{
    const uint32_t length = module->words[at] >> 16;
    if (length == 0 || length > module->count - at) {
        return false;
    }
    *ret_instruction =
        (struct spirv_instruction){module->words[at] & 0xffff, length - 1, &module->words[at + 1]};
    return true;
}

bool spirv_next(const struct spirv_module *module, size_t *at,
                struct spirv_instruction *ret_instruction)
{
    if (*at >= module->count || !spirv_read_instruction(module, *at, ret_instruction)) {
        return false;
    }
    *at += ret_instruction->length + 1;
    return true;
}

/* What is met on the way through all instructions. */
struct spirv_survey {
    size_t decorations;
    bool in_function;
    bool is_kernel;
    bool has_memory_model;
    bool is_whole; /* no id is defined twice or beyond the bound, functions do not overlap */
};

static void survey_definition(struct spirv_module *module, struct spirv_survey *survey, size_t at,
                              const struct spirv_instruction *i)
{
    const uint32_t operand = spirv_result_operand(i->op);
    if (operand == UINT32_MAX || (survey->in_function && i->op != SPIRV_OP_FUNCTION)) {
        return;
    }
    const uint32_t id = operand < i->length ? i->words[operand] : 0;
    if (id == 0 || id >= module->bound || module->defined[id] != 0) {
        survey->is_whole = false;
    } else {
        module->defined[id] = (uint32_t)at;
    }
}

static void survey_function(struct spirv_survey *survey, uint32_t op)
{
    if (op == SPIRV_OP_FUNCTION || op == SPIRV_OP_FUNCTION_END) {
        const bool begins = op == SPIRV_OP_FUNCTION;
        survey->is_whole = survey->is_whole && survey->in_function != begins;
        survey->in_function = begins;
    }
}

/* Chapter "Vulkan Environment for SPIR-V": a shader, of logical addressing or with pointers to
 * storage buffers. */
static void survey_kind(struct spirv_survey *survey, const struct spirv_instruction *i)
{
    survey->is_kernel = survey->is_kernel || (i->op == OP_CAPABILITY && i->length == 1 &&
                                              i->words[0] == CAPABILITY_KERNEL);
    if (i->op == OP_MEMORY_MODEL) {
        survey->has_memory_model =
            i->length == 2 && (i->words[0] == ADDRESSING_LOGICAL ||
                               i->words[0] == ADDRESSING_PHYSICAL_STORAGE_BUFFER);
    }
}

static bool spirv_is_decoration(const struct spirv_instruction *i,
                                struct spirv_decoration *ret_decoration)
{
    const bool of_member = i->op == OP_MEMBER_DECORATE;
    const uint32_t kind_at = of_member ? 2 : 1;
    if ((!of_member && i->op != OP_DECORATE) || i->length <= kind_at ||
        !spirv_is_wanted(i->words[kind_at])) {
        return false;
    }
    *ret_decoration = (struct spirv_decoration){
        .id = i->words[0],
        .member = of_member ? i->words[1] : SPIRV_NO_MEMBER,
        .kind = i->words[kind_at],
        .value = i->length > kind_at + 1 ? i->words[kind_at + 1] : 0,
    };
    return true;
}

/* False: the module is damaged. */
static bool survey_module(struct spirv_module *module, size_t *ret_decorations)
{
    struct spirv_survey survey = {.is_whole = true};
    struct spirv_decoration decoration;
    struct spirv_instruction i;
    size_t at = SPIRV_FIRST_WORD;
    size_t begin = at;
    for (; spirv_next(module, &at, &i); begin = at) {
        survey_definition(module, &survey, begin, &i);
        survey_function(&survey, i.op);
        survey_kind(&survey, &i);
        survey.decorations += spirv_is_decoration(&i, &decoration);
    }
    *ret_decorations = survey.decorations;
    return at == module->count && survey.is_whole && !survey.in_function && !survey.is_kernel &&
           survey.has_memory_model;
}

static void spirv_read_decorations(struct spirv_module *module)
{
    struct spirv_instruction i;
    for (size_t at = SPIRV_FIRST_WORD; spirv_next(module, &at, &i);) {
        module->decoration_count +=
            spirv_is_decoration(&i, &module->decorations[module->decoration_count]);
    }
    array_sort(module->decorations, module->decoration_count, sizeof *module->decorations,
               spirv_compare_decorations);
}

enum status spirv_open(const void *code, size_t size, struct spirv_module *ret_module)
{
    struct spirv_module *module = ret_module;
    size_t decorations;
    *module = (struct spirv_module){.words = code, .count = size / sizeof(uint32_t)};
    if (size % sizeof(uint32_t) != 0 || module->count < SPIRV_FIRST_WORD ||
        module->count > UINT32_MAX || module->words[0] != MAGIC || module->words[3] == 0 ||
        module->words[3] > MAX_BOUND) {
        return STATUS_bad_spirv;
    }
    module->bound = module->words[3];
    module->defined = calloc(module->bound, sizeof *module->defined);
    if (!module->defined) {
        return STATUS_out_of_memory;
    }
    if (!survey_module(module, &decorations)) {
        return STATUS_bad_spirv;
    }
    module->decorations = calloc(decorations + 1, sizeof *module->decorations);
    if (!module->decorations) {
        return STATUS_out_of_memory;
    }
    spirv_read_decorations(module);
    return STATUS_ok;
}

void spirv_close(struct spirv_module *module)
{
    free(module->defined);
    free(module->decorations);
    *module = (struct spirv_module){0};
}

bool spirv_define(const struct spirv_module *module, uint32_t id, uint32_t length,
                  struct spirv_instruction *ret_instruction)
{
    return id < module->bound && module->defined[id] != 0 &&
           spirv_read_instruction(module, module->defined[id], ret_instruction) &&
           ret_instruction->length >= length;
}

bool spirv_decorated(const struct spirv_module *module, uint32_t id, uint32_t member, uint32_t kind,
                     uint32_t *ret_value)
{
    const struct spirv_decoration key = {.id = id, .member = member, .kind = kind};
    const struct spirv_decoration *found =
        module->decoration_count > 0 ? bsearch(&key, module->decorations, module->decoration_count,
                                               sizeof key, spirv_compare_decorations)
                                     : NULL;
    if (found) {
        *ret_value = found->value;
    }
    return found;
}

bool spirv_constant(const struct spirv_module *module, uint32_t id, uint32_t *ret_value)
{
    struct spirv_instruction i;
    if (!spirv_define(module, id, 3, &i) || i.op != SPIRV_OP_CONSTANT) {
        return false;
    }
    *ret_value = i.words[2];
    return true;
}

/* Whether the operands from `from` on begin with this string: its first byte is the lowest of the
 * first word, whatever the machine's byte order is. */
static bool spirv_is_literal(const struct spirv_instruction *i, uint32_t from, const char *text)
{
    const size_t room = (i->length - from) * sizeof(uint32_t);
    const size_t size = strlen(text) + 1;
    bool is_equal = size <= room;
    for (size_t at = 0; is_equal && at < size; at++) {
        is_equal = (uint8_t)(i->words[from + at / 4] >> at % 4 * 8) == (uint8_t)text[at];
    }
    return is_equal;
}

bool spirv_entry_point(const struct spirv_module *module, uint32_t model, const char *name,
                       uint32_t *ret_function)
{
    struct spirv_instruction i;
    for (size_t at = SPIRV_FIRST_WORD; spirv_next(module, &at, &i) && i.op != SPIRV_OP_FUNCTION;) {
        if (i.op == OP_ENTRY_POINT && i.length > 2 && i.words[0] == model &&
            spirv_is_literal(&i, 2, name)) {
            *ret_function = i.words[1];
            return true;
        }
    }
    return false;
}
