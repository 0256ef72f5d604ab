// SPDX-License-Identifier: Apache-2.0
#include "common/spirv/spirv.h"

#include <stdlib.h>

#include "common/base/bytes.h"

/* Far more than any device has; bounds the time that a hostile module takes. */
#define MAX_RESOURCES 4096

/* Instructions of a function with all that it calls, put in place of each call. Drivers do that,
 * and forty functions of which each calls the next one twice never come to an end. */
#define MAX_INLINED (UINT64_C(1) << 24)

/* SPIR-V specification, "Instructions". */
#define OP_FUNCTION_CALL 57

struct function {
    uint32_t id;
    bool is_reached;
    size_t calls;    /* to it, from functions that are reached, less those that were counted */
    uint64_t copies; /* of it, where calls are replaced by what they call */
};

struct walk {
    const struct spirv_module *module;
    struct spirv_usage *usage;
    struct function *functions; /* by id */
    size_t function_count;
    struct function **due; /* those that are reached and were not read yet; room for all */
    size_t due_count;
    size_t reached;
    bool is_lost; /* a function is called that there is not */
};

static bool usage_is_resource(const struct spirv_module *module, const struct spirv_instruction *i,
                              struct spirv_resource *ret_resource)
{
    struct spirv_instruction pointer;
    if (i->op != SPIRV_OP_VARIABLE || i->length < 3 ||
        (i->words[2] != SPIRV_STORAGE_UNIFORM_CONSTANT && i->words[2] != SPIRV_STORAGE_UNIFORM &&
         i->words[2] != SPIRV_STORAGE_PUSH_CONSTANT &&
         i->words[2] != SPIRV_STORAGE_STORAGE_BUFFER) ||
        !spirv_define(module, i->words[0], 3, &pointer) || pointer.op != SPIRV_OP_TYPE_POINTER) {
        return false;
    }
    *ret_resource = (struct spirv_resource){i->words[1], pointer.words[2], i->words[2], false};
    return true;
}

/* Notes resources and functions, or counts them where there is no room yet. */
static void usage_list_module(struct walk *walk)
{
    struct spirv_instruction i;
    struct spirv_resource resource;
    size_t resources = 0;
    size_t functions = 0;
    for (size_t at = SPIRV_FIRST_WORD; spirv_next(walk->module, &at, &i);) {
        if (functions == 0 && usage_is_resource(walk->module, &i, &resource)) {
            if (walk->usage->resources) {
                walk->usage->resources[resources] = resource;
            }
            resources++;
        } else if (i.op == SPIRV_OP_FUNCTION && i.length > 1) {
            if (walk->functions) {
                walk->functions[functions] = (struct function){.id = i.words[1]};
            }
            functions++;
        }
    }
    walk->usage->count = resources;
    walk->function_count = functions;
}

static enum status usage_read_module(struct walk *walk)
{
    usage_list_module(walk);
    if (walk->usage->count > MAX_RESOURCES) {
        return STATUS_bad_spirv;
    }
    walk->usage->resources = calloc(walk->usage->count + 1, sizeof *walk->usage->resources);
    walk->functions = calloc(walk->function_count + 1, sizeof *walk->functions);
    walk->due = calloc(walk->function_count + 1, sizeof *walk->due);
    if (!walk->usage->resources || !walk->functions || !walk->due) {
        return STATUS_out_of_memory;
    }
    usage_list_module(walk);
    qsort(walk->usage->resources, walk->usage->count, sizeof *walk->usage->resources,
          array_order_u32);
    qsort(walk->functions, walk->function_count, sizeof *walk->functions, array_order_u32);
    return STATUS_ok;
}

static struct function *usage_find_function(const struct walk *walk, uint32_t id)
{
    return bsearch(&id, walk->functions, walk->function_count, sizeof *walk->functions,
                   array_order_u32);
}

static void usage_reach_function(struct walk *walk, struct function *function)
{
    walk->is_lost = walk->is_lost || !function;
    if (function && !function->is_reached) {
        function->is_reached = true;
        walk->reached++;
        walk->due[walk->due_count++] = function;
    }
}

static void usage_use_resource(struct walk *walk, uint32_t id)
{
    struct spirv_resource *resource =
        bsearch(&id, walk->usage->resources, walk->usage->count, sizeof *resource, array_order_u32);
    if (resource) {
        resource->is_used = true;
    }
}

/* The operands that may be a pointer to a variable, from the first to the last; false: none. */
static bool usage_pointer_operands(uint32_t op, uint32_t length, uint32_t *ret_first,
                                   uint32_t *ret_last)
{
    static const struct {
        uint16_t op;
        uint16_t last_op;
        uint8_t first;
        uint8_t last;
    } rows[] = {
        {OP_FUNCTION_CALL, OP_FUNCTION_CALL, 3, UINT8_MAX},
        {60, 61, 2, 2}, /* OpImageTexelPointer, OpLoad */
        {62, 62, 0, 0}, /* OpStore */
        {63, 64, 0, 1}, /* OpCopyMemory, OpCopyMemorySized */
        {65, 68, 2, 2}, /* OpAccessChain, OpInBoundsAccessChain, OpPtrAccessChain, OpArrayLength */
        {70, 70, 2, 2}, /* OpInBoundsPtrAccessChain */
        {83, 83, 2, 2}, /* OpCopyObject */
        {169, 169, 3, 4},         /* OpSelect */
        {227, 227, 2, 2},         /* OpAtomicLoad */
        {228, 228, 0, 0},         /* OpAtomicStore */
        {229, 242, 2, 2},         /* OpAtomicExchange… OpAtomicXor */
        {245, 245, 2, UINT8_MAX}, /* OpPhi */
        {4457, 4457, 2, 2},       /* OpCooperativeMatrixLoadKHR */
        {4458, 4458, 0, 0},       /* OpCooperativeMatrixStoreKHR */
        {5614, 5615, 2, 2},       /* OpAtomicFMinEXT, OpAtomicFMaxEXT */
        {6035, 6035, 2, 2},       /* OpAtomicFAddEXT */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (op >= rows[i].op && op <= rows[i].last_op) {
            *ret_first = rows[i].first;
            *ret_last = rows[i].last < length ? rows[i].last : length - 1;
            return length > rows[i].first;
        }
    }
    return false;
}

/* The function of a call; NULL: it is no call, or one of what is no function. */
static struct function *usage_called_function(const struct walk *walk,
                                              const struct spirv_instruction *i)
{
    return i->op == OP_FUNCTION_CALL && i->length > 2 ? usage_find_function(walk, i->words[2])
                                                      : NULL;
}

static void usage_read_function(struct walk *walk, const struct function *function)
{
    struct spirv_instruction i = {0};
    size_t at = walk->module->defined[function->id];
    while (i.op != SPIRV_OP_FUNCTION_END && spirv_next(walk->module, &at, &i)) {
        uint32_t first;
        uint32_t last;
        if (i.op == OP_FUNCTION_CALL) {
            struct function *called = usage_called_function(walk, &i);
            usage_reach_function(walk, called);
            if (called) {
                called->calls++;
            }
        }
        if (usage_pointer_operands(i.op, i.length, &first, &last)) {
            for (uint32_t operand = first; operand <= last; operand++) {
                usage_use_resource(walk, i.words[operand]);
            }
        }
    }
}

/* Gives the function's copies on to those that it calls. One whose callers are all counted is due.
 * Returns its instructions, in all copies. */
static uint64_t usage_count_function(struct walk *walk, const struct function *function)
{
    struct spirv_instruction i = {0};
    uint64_t instructions = 0;
    size_t at = walk->module->defined[function->id];
    while (i.op != SPIRV_OP_FUNCTION_END && spirv_next(walk->module, &at, &i)) {
        struct function *called = usage_called_function(walk, &i);
        instructions += function->copies;
        if (called) {
            called->copies += function->copies;
            called->copies = called->copies < MAX_INLINED ? called->copies : MAX_INLINED;
            if (--called->calls == 0) {
                walk->due[walk->due_count++] = called;
            }
        }
    }
    return instructions;
}

/* After all functions were read, from callers to called. False: one calls itself, or they are too
 * many with all copies. */
static bool usage_calls_end(struct walk *walk, struct function *entry)
{
    uint64_t instructions = 0;
    size_t counted = 0;
    entry->copies = 1;
    walk->due_count = 0;
    if (entry->calls == 0) {
        walk->due[walk->due_count++] = entry;
    }
    for (; walk->due_count > 0 && instructions <= MAX_INLINED; counted++) {
        instructions += usage_count_function(walk, walk->due[--walk->due_count]);
    }
    return counted == walk->reached && instructions <= MAX_INLINED;
}

enum status spirv_usage_read(const struct spirv_module *module, uint32_t function,
                             struct spirv_usage *ret_usage)
{
    struct walk walk = {.module = module, .usage = ret_usage};
    *ret_usage = (struct spirv_usage){0};
    enum status status = usage_read_module(&walk);
    if (status == STATUS_ok) {
        struct function *entry = usage_find_function(&walk, function);
        usage_reach_function(&walk, entry);
        while (walk.due_count > 0) {
            usage_read_function(&walk, walk.due[--walk.due_count]);
        }
        status = walk.is_lost || !usage_calls_end(&walk, entry) ? STATUS_bad_spirv : STATUS_ok;
    }
    free(walk.functions);
    free(walk.due);
    return status;
}

void spirv_usage_free(struct spirv_usage *usage)
{
    free(usage->resources);
    *usage = (struct spirv_usage){0};
}
