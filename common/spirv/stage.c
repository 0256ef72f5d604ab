// SPDX-License-Identifier: Apache-2.0
#include "common/spirv/spirv.h"

#include <stdlib.h>

#include "common/base/bytes.h"
#include "common/base/io.h"
#include "common/codec/canonical.h"

/* VK_SHADER_STAGE_SUBPASS_SHADING_BIT_HUAWEI, which runs compute code in a stage of its own, and
 * VK_SHADER_STAGE_CLUSTER_CULLING_BIT_HUAWEI, under one name whether headers know them or not. */
#define STAGE_SUBPASS_SHADING 0x00004000u
#define STAGE_CLUSTER_CULLING 0x00080000u

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
static bool stage_find_entry_point(const struct spirv_module *module,
                                   const VkPipelineShaderStageCreateInfo *stage,
                                   uint32_t *ret_function, bool *ret_known)
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

/* 0: not a scalar that the reader knows. */
static uint32_t stage_constant_size(const struct spirv_module *module, uint32_t id)
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
static struct special *stage_list_specials(const struct spirv_module *module, size_t *ret_count)
{
    struct special *specials = calloc(module->decoration_count + 1, sizeof *specials);
    size_t count = 0;
    for (size_t i = 0; specials && i < module->decoration_count; i++) {
        const struct spirv_decoration *decoration = &module->decorations[i];
        if (decoration->kind == SPIRV_SPEC_ID) {
            specials[count++] =
                (struct special){decoration->value, stage_constant_size(module, decoration->id)};
        }
    }
    array_sort(specials, count, sizeof *specials, array_order_u32);
    *ret_count = count;
    return specials;
}

static bool stage_entry_fits(const VkSpecializationInfo *info,
                             const VkSpecializationMapEntry *entry, const struct special *specials,
                             size_t count)
{
    const struct special key = {.constant = entry->constantID};
    const struct special *found =
        count > 0 ? bsearch(&key, specials, count, sizeof key, array_order_u32) : NULL;
    return entry->offset < info->dataSize && entry->size <= info->dataSize - entry->offset &&
           (!found || found->size == 0 || found->size == entry->size);
}

/* Sorts them. */
static bool stage_are_distinct(uint32_t *numbers, uint32_t count)
{
    array_sort(numbers, count, sizeof *numbers, array_order_u32);
    return array_unique(numbers, count, sizeof *numbers, array_order_u32) == count;
}

/* False: out of memory, or an id is given twice. */
static bool stage_are_different(const VkSpecializationInfo *info, bool *ret_enough_memory)
{
    AUTO_FREE uint32_t *given = calloc(info->mapEntryCount + 1u, sizeof *given);
    *ret_enough_memory = given;
    for (uint32_t i = 0; given && i < info->mapEntryCount; i++) {
        given[i] = info->pMapEntries[i].constantID;
    }
    return given && stage_are_distinct(given, info->mapEntryCount);
}

static enum status stage_check_specialization(const struct spirv_module *module,
                                              const VkSpecializationInfo *info)
{
    size_t count;
    bool enough_memory;
    if (!info || info->mapEntryCount == 0 || !info->pMapEntries) {
        return STATUS_ok;
    }
    AUTO_FREE struct special *specials = stage_list_specials(module, &count);
    bool fits = stage_are_different(info, &enough_memory);
    for (uint32_t i = 0; specials && fits && i < info->mapEntryCount; i++) {
        fits = stage_entry_fits(info, &info->pMapEntries[i], specials, count);
    }
    return !specials || !enough_memory ? STATUS_out_of_memory
           : fits                      ? STATUS_ok
                                       : STATUS_bad_specialization;
}

static bool stage_has_workgroups(const VkPipelineShaderStageCreateInfo *stage)
{
    const VkFlags stages = VK_SHADER_STAGE_COMPUTE_BIT | STAGE_SUBPASS_SHADING |
                           VK_SHADER_STAGE_TASK_BIT_EXT | VK_SHADER_STAGE_MESH_BIT_EXT;
    return ((VkFlags)stage->stage & stages) != 0;
}

static enum status stage_check_opened(const struct spirv_module *module,
                                      const VkPipelineShaderStageCreateInfo *stage,
                                      const struct spirv_layout *layout)
{
    uint32_t function;
    bool known;
    if (!stage_find_entry_point(module, stage, &function, &known) && known) {
        return STATUS_bad_entry_point;
    }
    const enum status status = stage_check_specialization(module, stage->pSpecializationInfo);
    if (status == STATUS_ok && known && stage_has_workgroups(stage) &&
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
    AUTO(spirv_close) struct spirv_module module = {0};
    const enum status status = spirv_open(code, size, &module);
    return status == STATUS_ok ? stage_check_opened(&module, stage, layout) : status;
}

/* Larger numbers are no program's, and drivers multiply them (VUID-VkDescriptorSetLayoutCreateInfo
 * has limits of each device for the sums). */
#define MAX_BINDING     (1u << 20)
#define MAX_DESCRIPTORS (1u << 24)
#define MAX_BINDINGS    4096u
#define MAX_SETS        1024u
#define MAX_RANGES      64u
#define MAX_PUSH_END    65536u

/* VK_PIPELINE_CREATE_2_DESCRIPTOR_HEAP_BIT_EXT: the code's bindings are those of a heap, or stand
 * in a mapping of each stage. */
#define FLAG_DESCRIPTOR_HEAP (UINT64_C(1) << 36)

enum status pipeline_check_set_layout(const VkDescriptorSetLayoutCreateInfo *info)
{
    if (info->bindingCount > MAX_BINDINGS) {
        return STATUS_bad_binding;
    }
    AUTO_FREE uint32_t *numbers = calloc(info->bindingCount + 1u, sizeof *numbers);
    if (!numbers) {
        return STATUS_out_of_memory;
    }
    const VkDescriptorSetLayoutBindingFlagsCreateInfo *flags = canonical_find_struct(
        info->pNext, VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO);
    bool fits = !flags || flags->bindingCount == 0 || flags->bindingCount == info->bindingCount;
    for (uint32_t i = 0; i < info->bindingCount; i++) {
        numbers[i] = info->pBindings[i].binding;
        fits = fits && numbers[i] <= MAX_BINDING &&
               info->pBindings[i].descriptorCount <= MAX_DESCRIPTORS;
    }
    return fits && stage_are_distinct(numbers, info->bindingCount) ? STATUS_ok : STATUS_bad_binding;
}

/* VUID-VkPushConstantRange-offset-00295, -size-00296, -size-00297,
 * VUID-VkPipelineLayoutCreateInfo-pPushConstantRanges-00292 */
static bool stage_are_ranges_valid(const VkPushConstantRange *ranges, uint32_t count)
{
    VkShaderStageFlags seen = 0;
    bool fits = count <= MAX_RANGES;
    for (uint32_t i = 0; fits && i < count; i++) {
        const VkPushConstantRange *range = &ranges[i];
        fits = range->size > 0 && range->size % 4 == 0 && range->offset % 4 == 0 &&
               range->offset < MAX_PUSH_END && range->size <= MAX_PUSH_END - range->offset &&
               (range->stageFlags & seen) == 0;
        seen |= range->stageFlags;
    }
    return fits;
}

enum status pipeline_check_layout(const VkPipelineLayoutCreateInfo *info)
{
    return !stage_are_ranges_valid(info->pPushConstantRanges, info->pushConstantRangeCount)
               ? STATUS_bad_push_constants
           : info->setLayoutCount > MAX_SETS ? STATUS_bad_binding
                                             : STATUS_ok;
}

/* Whether a graphics pipeline has pre-rasterization shaders of its own
 * (VkGraphicsPipelineLibraryCreateInfoEXT). */
static bool stage_makes_primitives(const VkGraphicsPipelineCreateInfo *info, bool is_library)
{
    const VkGraphicsPipelineLibraryCreateInfoEXT *subsets = canonical_find_struct(
        info->pNext, VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT);
    const VkPipelineLibraryCreateInfoKHR *libraries =
        canonical_find_struct(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR);
    return subsets ? subsets->flags & VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT
                   : !is_library && !(libraries && libraries->libraryCount > 0);
}

struct pipeline_parts pipeline_parts_of(const VkBaseInStructure *info)
{
    const VkShaderStageFlags ray_tracing =
        VK_SHADER_STAGE_RAYGEN_BIT_KHR | VK_SHADER_STAGE_ANY_HIT_BIT_KHR |
        VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR | VK_SHADER_STAGE_MISS_BIT_KHR |
        VK_SHADER_STAGE_INTERSECTION_BIT_KHR | VK_SHADER_STAGE_CALLABLE_BIT_KHR;
    const VkComputePipelineCreateInfo *compute = (const void *)info;
    const VkGraphicsPipelineCreateInfo *graphics = (const void *)info;
    const VkRayTracingPipelineCreateInfoKHR *rays = (const void *)info;
    const VkRayTracingPipelineCreateInfoNV *rays_nv = (const void *)info;
    struct pipeline_parts parts = {.allowed = ray_tracing, .repeats = true};
    struct pipeline_rules rules;
    canonical_rules(info, &rules);
    parts.is_library = rules.library;
    parts.by_heap = (rules.flags & FLAG_DESCRIPTOR_HEAP) != 0;
    switch (info->sType) {
    case VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO:
        parts.stages = &compute->stage;
        parts.stage_count = 1;
        parts.allowed = VK_SHADER_STAGE_COMPUTE_BIT | STAGE_SUBPASS_SHADING;
        parts.repeats = false;
        parts.layout = compute->layout;
        break;
    case VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO:
        parts.stages = graphics->pStages;
        parts.stage_count = graphics->stageCount;
        parts.allowed = ~(ray_tracing | VK_SHADER_STAGE_COMPUTE_BIT);
        parts.repeats = false;
        parts.is_whole = stage_makes_primitives(graphics, rules.library);
        parts.layout = graphics->layout;
        break;
    case VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR:
        parts.stages = rays->pStages;
        parts.stage_count = rays->stageCount;
        parts.layout = rays->layout;
        break;
    default:
        parts.stages = rays_nv->pStages;
        parts.stage_count = rays_nv->stageCount;
        parts.layout = rays_nv->layout;
        break;
    }
    return parts;
}

bool pipeline_has_valid_stages(const struct pipeline_parts *pipeline)
{
    const VkShaderStageFlags mesh = VK_SHADER_STAGE_MESH_BIT_EXT | VK_SHADER_STAGE_TASK_BIT_EXT;
    const VkShaderStageFlags tessellation =
        VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT | VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT;
    const VkShaderStageFlags primitives =
        VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_GEOMETRY_BIT | tessellation;
    VkShaderStageFlags seen = 0;
    for (uint32_t i = 0; i < pipeline->stage_count; i++) {
        const VkShaderStageFlags stage = (VkShaderStageFlags)pipeline->stages[i].stage;
        if (stage == 0 || (stage & (stage - 1)) != 0 || (stage & ~pipeline->allowed) != 0 ||
            (!pipeline->repeats && (stage & seen) != 0)) {
            return false;
        }
        seen |= stage;
    }
    const bool makes =
        seen & (VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_MESH_BIT_EXT | STAGE_CLUSTER_CULLING);
    return (makes || !pipeline->is_whole) && !((seen & mesh) && (seen & primitives)) &&
           ((seen & tessellation) == 0 || (seen & tessellation) == tessellation);
}
