// SPDX-License-Identifier: Apache-2.0
#include "common/spirv/stage.h"

#include <string.h>

/* SPIR-V specification, "Instructions", "Execution Model", "Execution Mode", "BuiltIn". */
enum {
    OP_EXECUTION_MODE = 16,
    OP_EXECUTION_MODE_ID = 331,
    MODEL_GL_COMPUTE = 5,
    MODE_LOCAL_SIZE = 17,
    MODE_LOCAL_SIZE_ID = 38,
    BUILT_IN_WORKGROUP_SIZE = 25,
};

/* Replaces *value by the one that the program gives, if it does. False: of another width. */
static bool workgroup_specialize(const VkSpecializationInfo *info, uint32_t constant,
                                 uint32_t *value)
{
    for (uint32_t i = 0; info && i < info->mapEntryCount; i++) {
        const VkSpecializationMapEntry *entry = &info->pMapEntries[i];
        if (entry->constantID != constant) {
            continue;
        }
        if (entry->size != sizeof *value || entry->offset > info->dataSize ||
            info->dataSize - entry->offset < sizeof *value) {
            return false;
        }
        memcpy(value, (const uint8_t *)info->pData + entry->offset, sizeof *value);
    }
    return true;
}

static bool workgroup_read_constants(const struct spirv_module *module,
                                     const VkSpecializationInfo *info, const uint32_t ids[3],
                                     uint32_t ret_size[3])
{
    for (int axis = 0; axis < 3; axis++) {
        struct spirv_instruction i;
        uint32_t constant;
        if (!spirv_define(module, ids[axis], 3, &i) || i.length != 3 ||
            (i.op != SPIRV_OP_CONSTANT && i.op != SPIRV_OP_SPEC_CONSTANT)) {
            return false;
        }
        ret_size[axis] = i.words[2];
        if (i.op == SPIRV_OP_SPEC_CONSTANT &&
            spirv_decorated(module, ids[axis], SPIRV_NO_MEMBER, SPIRV_SPEC_ID, &constant) &&
            !workgroup_specialize(info, constant, &ret_size[axis])) {
            return false;
        }
    }
    return true;
}

/* The constant that is the size of all workgroups. False: there is none. */
static bool workgroup_built_in(const struct spirv_module *module, uint32_t *ret_id)
{
    for (size_t i = 0; i < module->decoration_count; i++) {
        const struct spirv_decoration *decoration = &module->decorations[i];
        if (decoration->kind == SPIRV_BUILT_IN && decoration->member == SPIRV_NO_MEMBER &&
            decoration->value == BUILT_IN_WORKGROUP_SIZE) {
            *ret_id = decoration->id;
            return true;
        }
    }
    return false;
}

static bool workgroup_read_mode(const struct spirv_module *module, const VkSpecializationInfo *info,
                                uint32_t entry, uint32_t ret_size[3])
{
    struct spirv_instruction i;
    for (size_t at = SPIRV_FIRST_WORD; spirv_next(module, &at, &i) && i.op != SPIRV_OP_FUNCTION;) {
        if (i.length != 5 || i.words[0] != entry) {
            continue;
        }
        if (i.op == OP_EXECUTION_MODE && i.words[1] == MODE_LOCAL_SIZE) {
            memcpy(ret_size, &i.words[2], 3 * sizeof(uint32_t));
            return true;
        }
        if (i.op == OP_EXECUTION_MODE_ID && i.words[1] == MODE_LOCAL_SIZE_ID) {
            return workgroup_read_constants(module, info, &i.words[2], ret_size);
        }
    }
    return false;
}

static bool workgroup_read(const struct spirv_module *module, uint32_t entry,
                           const VkSpecializationInfo *info, uint32_t ret_size[3])
{
    struct spirv_instruction i;
    uint32_t built_in;
    if (!workgroup_built_in(module, &built_in)) {
        return workgroup_read_mode(module, info, entry, ret_size);
    }
    return spirv_define(module, built_in, 5, &i) && i.length == 5 &&
           (i.op == SPIRV_OP_CONSTANT_COMPOSITE || i.op == SPIRV_OP_SPEC_CONSTANT_COMPOSITE) &&
           workgroup_read_constants(module, info, &i.words[2], ret_size);
}

bool spirv_workgroup_is_nothing(const struct spirv_module *module, uint32_t entry,
                                const VkSpecializationInfo *specialization)
{
    uint32_t size[3];
    return workgroup_read(module, entry, specialization, size) &&
           (size[0] == 0 || size[1] == 0 || size[2] == 0);
}

bool spirv_workgroup_size(const void *code, size_t size, const char *name,
                          const VkSpecializationInfo *specialization, uint32_t ret_size[3])
{
    struct spirv_module module;
    uint32_t entry;
    uint32_t found[3];
    const bool read = spirv_open(code, size, &module) == SPIRV_OPENED &&
                      spirv_entry_point(&module, MODEL_GL_COMPUTE, name, &entry) &&
                      workgroup_read(&module, entry, specialization, found);
    spirv_close(&module);
    if (read) {
        memcpy(ret_size, found, sizeof found);
    }
    return read;
}
