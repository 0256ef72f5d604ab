// SPDX-License-Identifier: Apache-2.0
#include "common/spirv/stage.h"

#include <stdlib.h>
#include <string.h>

/* VkSubpassShadingPipelineCreateInfoHUAWEI runs compute code in a stage of its own. */
#define STAGE_SUBPASS_SHADING 0x4000u

/* SPIR-V specification, "Execution Model". The mesh and task shaders of NV share the stages of
 * EXT. */
static const struct {
    VkFlags stage;
    uint32_t model;
} models[] = {
    {VK_SHADER_STAGE_VERTEX_BIT, 0},
    {VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT, 1},
    {VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT, 2},
    {VK_SHADER_STAGE_GEOMETRY_BIT, 3},
    {VK_SHADER_STAGE_FRAGMENT_BIT, 4},
    {VK_SHADER_STAGE_COMPUTE_BIT, 5},
    {STAGE_SUBPASS_SHADING, 5},
    {VK_SHADER_STAGE_TASK_BIT_EXT, 5267},
    {VK_SHADER_STAGE_TASK_BIT_EXT, 5364},
    {VK_SHADER_STAGE_MESH_BIT_EXT, 5268},
    {VK_SHADER_STAGE_MESH_BIT_EXT, 5365},
    {VK_SHADER_STAGE_RAYGEN_BIT_KHR, 5313},
    {VK_SHADER_STAGE_INTERSECTION_BIT_KHR, 5314},
    {VK_SHADER_STAGE_ANY_HIT_BIT_KHR, 5315},
    {VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR, 5316},
    {VK_SHADER_STAGE_MISS_BIT_KHR, 5317},
    {VK_SHADER_STAGE_CALLABLE_BIT_KHR, 5318},
};

/* Of a stage that is not known: *ret_known is false. */
static bool find_entry_point(const struct spirv_module *module,
                             const VkPipelineShaderStageCreateInfo *stage, uint32_t *ret_function,
                             bool *ret_known)
{
    bool found = false;
    *ret_known = false;
    for (size_t i = 0; !found && i < sizeof models / sizeof models[0]; i++) {
        if (models[i].stage == (VkFlags)stage->stage) {
            *ret_known = true;
            found = spirv_entry_point(module, models[i].model, stage->pName, ret_function);
        }
    }
    return found;
}

/* A constant that can be specialized: its id in the pipeline, and its bytes there. */
struct special {
    uint32_t constant;
    uint32_t size;
};

static int compare_specials(const void *left, const void *right)
{
    const struct special *a = left;
    const struct special *b = right;
    return (a->constant > b->constant) - (a->constant < b->constant);
}

/* 0: not a scalar that the reader knows. */
static uint32_t constant_size(const struct spirv_module *module, uint32_t id)
{
    struct spirv_instruction constant;
    struct spirv_instruction type;
    if (!spirv_define(module, id, 2, &constant)) {
        return 0;
    }
    if (constant.op == SPIRV_OP_SPEC_CONSTANT_TRUE || constant.op == SPIRV_OP_SPEC_CONSTANT_FALSE) {
        return sizeof(VkBool32);
    }
    const bool is_scalar = constant.op == SPIRV_OP_SPEC_CONSTANT &&
                           spirv_define(module, constant.words[0], 2, &type) &&
                           (type.op == SPIRV_OP_TYPE_INT || type.op == SPIRV_OP_TYPE_FLOAT);
    return is_scalar ? type.words[1] / 8 : 0;
}

/* The module's constants, sorted; freed by the caller. NULL: out of memory. */
static struct special *list_specials(const struct spirv_module *module, size_t *ret_count)
{
    struct special *specials = calloc(module->decoration_count + 1, sizeof *specials);
    size_t count = 0;
    for (size_t i = 0; specials && i < module->decoration_count; i++) {
        const struct spirv_decoration *decoration = &module->decorations[i];
        if (decoration->kind == SPIRV_SPEC_ID) {
            specials[count++] =
                (struct special){decoration->value, constant_size(module, decoration->id)};
        }
    }
    if (count > 0) {
        qsort(specials, count, sizeof *specials, compare_specials);
    }
    *ret_count = count;
    return specials;
}

static bool entry_fits(const VkSpecializationInfo *info, const VkSpecializationMapEntry *entry,
                       const struct special *specials, size_t count)
{
    const struct special key = {.constant = entry->constantID};
    const struct special *found =
        count > 0 ? bsearch(&key, specials, count, sizeof key, compare_specials) : NULL;
    return entry->offset < info->dataSize && entry->size <= info->dataSize - entry->offset &&
           (!found || found->size == 0 || found->size == entry->size);
}

/* False: out of memory, or an id is given twice. */
static bool are_different(const VkSpecializationInfo *info, bool *ret_enough_memory)
{
    struct special *given = calloc(info->mapEntryCount + 1u, sizeof *given);
    bool different = given;
    *ret_enough_memory = given;
    for (uint32_t i = 0; given && i < info->mapEntryCount; i++) {
        given[i].constant = info->pMapEntries[i].constantID;
    }
    if (given && info->mapEntryCount > 0) {
        qsort(given, info->mapEntryCount, sizeof *given, compare_specials);
    }
    for (uint32_t i = 1; different && i < info->mapEntryCount; i++) {
        different = given[i].constant != given[i - 1].constant;
    }
    free(given);
    return different;
}

static enum status check_specialization(const struct spirv_module *module,
                                        const VkSpecializationInfo *info)
{
    size_t count;
    bool enough_memory;
    if (!info || info->mapEntryCount == 0 || !info->pMapEntries) {
        return STATUS_ok;
    }
    struct special *specials = list_specials(module, &count);
    bool fits = are_different(info, &enough_memory);
    for (uint32_t i = 0; specials && fits && i < info->mapEntryCount; i++) {
        fits = entry_fits(info, &info->pMapEntries[i], specials, count);
    }
    free(specials);
    return !specials || !enough_memory ? STATUS_out_of_memory
           : fits                      ? STATUS_ok
                                       : STATUS_bad_specialization;
}

static bool has_workgroups(const VkPipelineShaderStageCreateInfo *stage)
{
    const VkFlags stages = VK_SHADER_STAGE_COMPUTE_BIT | STAGE_SUBPASS_SHADING |
                           VK_SHADER_STAGE_TASK_BIT_EXT | VK_SHADER_STAGE_MESH_BIT_EXT;
    return ((VkFlags)stage->stage & stages) != 0;
}

static enum status check_opened(const struct spirv_module *module,
                                const VkPipelineShaderStageCreateInfo *stage,
                                const struct spirv_layout *layout)
{
    uint32_t function;
    bool known;
    if (!find_entry_point(module, stage, &function, &known) && known) {
        return STATUS_bad_entry_point;
    }
    const enum status status = check_specialization(module, stage->pSpecializationInfo);
    if (status == STATUS_ok && known && has_workgroups(stage) &&
        spirv_workgroup_is_nothing(module, function, stage->pSpecializationInfo)) {
        return STATUS_bad_spirv;
    }
    return status == STATUS_ok && known
               ? spirv_check_interface(module, function, stage->stage, layout)
               : status;
}

enum status spirv_check_stage(const VkPipelineShaderStageCreateInfo *stage, const void *code,
                              size_t size, const struct spirv_layout *layout)
{
    struct spirv_module module;
    enum status status = STATUS_bad_spirv;
    switch (spirv_open(code, size, &module)) {
    case SPIRV_OPENED:
        status = check_opened(&module, stage, layout);
        break;
    case SPIRV_NO_MEMORY:
        status = STATUS_out_of_memory;
        break;
    case SPIRV_DAMAGED:
        break;
    }
    spirv_close(&module);
    return status;
}
