// SPDX-License-Identifier: Apache-2.0
/* Items, and what pipelines are made of. */
#include <string.h>

#include "random.h"
#include "spirv/control_tesc.h"
#include "spirv/evaluation_tese.h"
#include "spirv/fragment_frag.h"
#include "spirv/geometry_geom.h"
#include "spirv/group_comp.h"
#include "spirv/input_frag.h"
#include "spirv/tile_comp.h"
#include "spirv/vertex_vert.h"

void item_begin(struct item *item, uint32_t number, uint64_t seed)
{
    memset(item->arena, 0, item->used);
    item->used = 0;
    item->number = number;
    item->rows = 0;
    item->random = seed * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u;
    for (int i = 0; i < 8; i++) {
        item_draw(item, 2);
    }
}

/* xorshift64* */
uint32_t item_draw(struct item *item, uint32_t below)
{
    item->random ^= item->random >> 12;
    item->random ^= item->random << 25;
    item->random ^= item->random >> 27;
    return (uint32_t)((item->random * 0x2545f4914f6cdd1du) >> 32) % below;
}

bool item_chance(struct item *item, uint32_t percent)
{
    return item_draw(item, 100) < percent;
}

void *item_take(struct item *item, size_t size)
{
    void *memory = item->arena + item->used;
    item->used += (size + 15) / 16 * 16;
    must(item->used <= ARENA_SIZE ? VK_SUCCESS : VK_ERROR_OUT_OF_HOST_MEMORY, "arena");
    return memory;
}

void *item_chain(struct item *item, const void **next, uint32_t stype, size_t size)
{
    VkBaseInStructure *head = item_take(item, size);
    head->sType = (VkStructureType)stype;
    head->pNext = *next;
    *next = head;
    return head;
}

void item_own(struct item *item, enum object_kind kind, uint64_t handle)
{
    must(item->object_count < MAX_OBJECTS ? VK_SUCCESS : VK_ERROR_OUT_OF_HOST_MEMORY, "objects");
    item->objects[item->object_count++] = (struct object){kind, handle};
}

static void destroy(VkDevice device, struct object object)
{
    switch (object.kind) {
    case OBJECT_MODULE:
        vkDestroyShaderModule(device, (VkShaderModule)object.handle, NULL);
        break;
    case OBJECT_SET_LAYOUT:
        vkDestroyDescriptorSetLayout(device, (VkDescriptorSetLayout)object.handle, NULL);
        break;
    case OBJECT_LAYOUT:
        vkDestroyPipelineLayout(device, (VkPipelineLayout)object.handle, NULL);
        break;
    case OBJECT_TEMPLATE:
        vkDestroyDescriptorUpdateTemplate(device, (VkDescriptorUpdateTemplate)object.handle, NULL);
        break;
    case OBJECT_RENDER_PASS:
        vkDestroyRenderPass(device, (VkRenderPass)object.handle, NULL);
        break;
    case OBJECT_PIPELINE:
        vkDestroyPipeline(device, (VkPipeline)object.handle, NULL);
        break;
    case OBJECT_CACHE:
        vkDestroyPipelineCache(device, (VkPipelineCache)object.handle, NULL);
        break;
    case OBJECT_SAMPLER:
        vkDestroySampler(device, (VkSampler)object.handle, NULL);
        break;
    case OBJECT_CONVERSION:
        vkDestroySamplerYcbcrConversion(device, (VkSamplerYcbcrConversion)object.handle, NULL);
        break;
    }
}

static void drop(struct item *item, enum object_kind first, enum object_kind last, uint32_t percent)
{
    uint32_t kept = 0;
    const uint64_t random =
        item->random; /* what items left behind makes no other ones of the next */
    for (uint32_t i = item->object_count; i > 1; i--) { /* in any order */
        const uint32_t other = item_draw(item, i);
        const struct object object = item->objects[other];
        item->objects[other] = item->objects[i - 1];
        item->objects[i - 1] = object;
    }
    for (uint32_t i = 0; i < item->object_count; i++) {
        const struct object object = item->objects[i];
        if (object.kind >= first && object.kind <= last && item_chance(item, percent)) {
            destroy(item->device->device, object);
        } else {
            item->objects[kept++] = object;
        }
    }
    item->object_count = kept;
    item->random = random;
    item_draw(item, 2);
}

void item_drop(struct item *item, enum object_kind kind, uint32_t percent)
{
    /* Validation complains where the set layouts of a pipeline layout are gone; Vulkan does not. */
    const bool stays = item->device->strict && kind == OBJECT_SET_LAYOUT;
    drop(item, kind, kind, stays ? 0 : percent);
}

void item_drop_all(struct item *item)
{
    drop(item, OBJECT_MODULE, OBJECT_CACHE, 100);
    drop(item, OBJECT_SAMPLER, OBJECT_SAMPLER, 100);
    drop(item, OBJECT_CONVERSION, OBJECT_CONVERSION, 100);
}

static VkSampler create_sampler(struct item *item)
{
    const struct features *features = &item->device->features;
    VkSamplerCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
                                .magFilter = (VkFilter)item_draw(item, 2),
                                .addressModeU = (VkSamplerAddressMode)item_draw(item, 4),
                                .borderColor = (VkBorderColor)item_draw(item, 6),
                                .compareEnable = item_chance(item, 20),
                                .maxLod = (float)item_draw(item, 3)};
    VkFormatProperties planes;
    vkGetPhysicalDeviceFormatProperties(item->device->physical, VK_FORMAT_G8_B8R8_2PLANE_420_UNORM,
                                        &planes);
    if (features->v11.samplerYcbcrConversion && item_chance(item, 25) &&
        planes.optimalTilingFeatures & VK_FORMAT_FEATURE_MIDPOINT_CHROMA_SAMPLES_BIT) {
        const VkSamplerYcbcrConversionCreateInfo conversion = {
            .sType = VK_STRUCTURE_TYPE_SAMPLER_YCBCR_CONVERSION_CREATE_INFO,
            .format = VK_FORMAT_G8_B8R8_2PLANE_420_UNORM,
            .ycbcrModel = (VkSamplerYcbcrModelConversion)item_draw(item, 5),
            .ycbcrRange = (VkSamplerYcbcrRange)item_draw(item, 2),
            .xChromaOffset = VK_CHROMA_LOCATION_MIDPOINT,
            .yChromaOffset = VK_CHROMA_LOCATION_MIDPOINT};
        VkSamplerYcbcrConversionInfo *use =
            CHAIN(item, &info.pNext, VK_STRUCTURE_TYPE_SAMPLER_YCBCR_CONVERSION_INFO,
                  VkSamplerYcbcrConversionInfo);
        must(vkCreateSamplerYcbcrConversion(item->device->device, &conversion, NULL,
                                            &use->conversion),
             "vkCreateSamplerYcbcrConversion");
        OWN(item, OBJECT_CONVERSION, use->conversion);
        info.magFilter = VK_FILTER_NEAREST;
        info.compareEnable = VK_FALSE;
        info.addressModeU = info.addressModeV = info.addressModeW =
            VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE;
    }
    VkSampler sampler;
    must(vkCreateSampler(item->device->device, &info, NULL, &sampler), "vkCreateSampler");
    OWN(item, OBJECT_SAMPLER, sampler);
    return sampler;
}

static VkDescriptorSetLayout create_set(struct item *item, uint32_t set)
{
    const struct features *features = &item->device->features;
    VkDescriptorSetLayoutBinding *bindings = TAKE(item, VkDescriptorSetLayoutBinding, 8);
    VkDescriptorBindingFlags *flags = TAKE(item, VkDescriptorBindingFlags, 8);
    VkDescriptorSetLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .pBindings = bindings};
    uint32_t count = 0;
#define BIND(number, type, size)                                                                   \
    bindings[count++] = (VkDescriptorSetLayoutBinding)                                             \
    {                                                                                              \
        number, VK_DESCRIPTOR_TYPE_##type, size, VK_SHADER_STAGE_ALL, NULL                         \
    }
    if (set == 0) {
        BIND(0, STORAGE_BUFFER, 1 + item_draw(item, 2));
        if (item_chance(item, 10)) {
            bindings[0].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC;
        }
        BIND(1, COMBINED_IMAGE_SAMPLER, 1);
        if (item_chance(item, 40)) {
            VkSampler *sampler = TAKE(item, VkSampler, 1);
            *sampler = create_sampler(item);
            bindings[1].pImmutableSamplers = sampler;
        }
        BIND(2, INPUT_ATTACHMENT, 1);
        bindings[2].stageFlags = VK_SHADER_STAGE_FRAGMENT_BIT;
    } else if (features->v13.inlineUniformBlock && item_chance(item, 20)) {
        BIND(0, INLINE_UNIFORM_BLOCK, 64);
    } else {
        BIND(0, UNIFORM_BUFFER, 1);
    }
    if (item_chance(item, 30)) { /* which no shader looks at */
        BIND(4, STORAGE_IMAGE, item_draw(item, 3));
    }
    if (features->mutable_types.mutableDescriptorType && item_chance(item, 15)) {
        BIND(5, MUTABLE_EXT, 2);
        VkMutableDescriptorTypeListEXT *lists = TAKE(item, VkMutableDescriptorTypeListEXT, count);
        VkDescriptorType *types = TAKE(item, VkDescriptorType, 2);
        types[0] = VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE;
        types[1] = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        lists[count - 1] = (VkMutableDescriptorTypeListEXT){1 + item_draw(item, 2), types};
        VkMutableDescriptorTypeCreateInfoEXT *chained =
            CHAIN(item, &info.pNext, VK_STRUCTURE_TYPE_MUTABLE_DESCRIPTOR_TYPE_CREATE_INFO_EXT,
                  VkMutableDescriptorTypeCreateInfoEXT);
        chained->mutableDescriptorTypeListCount = count;
        chained->pMutableDescriptorTypeLists = lists;
    }
    if (features->v12.descriptorBindingPartiallyBound && item_chance(item, 30)) {
        flags[0] = item_draw(item, 2) ? VK_DESCRIPTOR_BINDING_PARTIALLY_BOUND_BIT : 0;
        if (features->v12.descriptorBindingVariableDescriptorCount && item_chance(item, 50)) {
            flags[count] = VK_DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT;
            BIND(7, SAMPLED_IMAGE, 8 << item_draw(item, 3));
        }
        VkDescriptorSetLayoutBindingFlagsCreateInfo *chained = CHAIN(
            item, &info.pNext, VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO,
            VkDescriptorSetLayoutBindingFlagsCreateInfo);
        chained->bindingCount = count;
        chained->pBindingFlags = flags;
    }
    if (item_chance(item, 30)) { /* the order is no part of it */
        const VkDescriptorSetLayoutBinding first = bindings[0];
        if (!info.pNext && count > 1) {
            bindings[0] = bindings[count - 1];
            bindings[count - 1] = first;
        }
    }
    info.bindingCount = count;
    VkDescriptorSetLayout layout;
    must(vkCreateDescriptorSetLayout(item->device->device, &info, NULL, &layout), "set layout");
    OWN(item, OBJECT_SET_LAYOUT, layout);
    if (set == 1 && bindings[0].descriptorType == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER &&
        item_chance(item, 20)) {
        const VkDescriptorUpdateTemplateEntry entry = {
            0, 0, 1, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 16 * item_draw(item, 2), 32};
        const VkDescriptorUpdateTemplateCreateInfo update = {
            .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO,
            .descriptorUpdateEntryCount = 1,
            .pDescriptorUpdateEntries = &entry,
            .descriptorSetLayout = layout};
        VkDescriptorUpdateTemplate handle;
        must(vkCreateDescriptorUpdateTemplate(item->device->device, &update, NULL, &handle),
             "update template");
        OWN(item, OBJECT_TEMPLATE, handle);
    }
    return layout;
}

struct layouts create_sets(struct item *item, bool independent)
{
    return (struct layouts){{create_set(item, 0), create_set(item, 1)}, independent};
}

VkPipelineLayout create_layout(struct item *item, const struct layouts *layouts, bool whole)
{
    const VkDescriptorSetLayout sets[2] = {layouts->sets[0],
                                           whole ? layouts->sets[1] : VK_NULL_HANDLE};
    const VkPushConstantRange push = {VK_SHADER_STAGE_ALL, 0, 16};
    const VkPipelineLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .flags = layouts->independent ? VK_PIPELINE_LAYOUT_CREATE_INDEPENDENT_SETS_BIT_EXT : 0,
        .setLayoutCount = 2,
        .pSetLayouts = sets,
        .pushConstantRangeCount = 1,
        .pPushConstantRanges = &push};
    VkPipelineLayout layout;
    must(vkCreatePipelineLayout(item->device->device, &info, NULL, &layout), "pipeline layout");
    OWN(item, OBJECT_LAYOUT, layout);
    return layout;
}

#define SHADER(kind, code) VK_SHADER_STAGE_##kind##_BIT, code, sizeof code

static const struct {
    VkShaderStageFlagBits stage;
    const uint32_t *code;
    size_t size;
} shaders[] = {
    [SHADER_TILE] = {SHADER(COMPUTE, tile_comp)},
    [SHADER_GROUP] = {SHADER(COMPUTE, group_comp)},
    [SHADER_VERTEX] = {SHADER(VERTEX, vertex_vert)},
    [SHADER_CONTROL] = {SHADER(TESSELLATION_CONTROL, control_tesc)},
    [SHADER_EVALUATION] = {SHADER(TESSELLATION_EVALUATION, evaluation_tese)},
    [SHADER_GEOMETRY] = {SHADER(GEOMETRY, geometry_geom)},
    [SHADER_FRAGMENT] = {SHADER(FRAGMENT, fragment_frag)},
    [SHADER_INPUT] = {SHADER(FRAGMENT, input_frag)},
};

static const VkSpecializationInfo *draw_constants(struct item *item, bool with_size)
{
    const uint32_t words[] = {item_draw(item, 5), item_draw(item, 3) ? 0x3f800000 : 0x40000000,
                              item_draw(item, 2), 32u << item_draw(item, 2), 7};
    const uint32_t ids[] = {0, 1, 2, 10, 77};
    VkSpecializationMapEntry *entries = TAKE(item, VkSpecializationMapEntry, 5);
    char *data = TAKE(item, char, 64);
    VkSpecializationInfo *info = TAKE(item, VkSpecializationInfo, 1);
    uint32_t at = item_draw(item, 3); /* the data may have holes */
    for (uint32_t i = 0; i < COUNT_OF(ids); i++) {
        if (item_chance(item, i < 3 ? 50 : 10) || (ids[i] == 10 && with_size)) {
            entries[info->mapEntryCount++] = (VkSpecializationMapEntry){ids[i], at, 4};
            memcpy(data + at, &words[i], 4);
            at += 4 + item_draw(item, 3);
        }
    }
    info->pMapEntries = entries;
    info->dataSize = at;
    info->pData = data;
    return info->mapEntryCount ? info : NULL;
}

VkPipelineShaderStageCreateInfo create_stage(struct item *item, enum shader shader)
{
    const struct features *features = &item->device->features;
    VkPipelineShaderStageCreateInfo stage = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
        .stage = shaders[shader].stage,
        .pName = "main",
        .pSpecializationInfo = draw_constants(item, shader == SHADER_TILE)};
    const void *none = NULL;
    VkShaderModuleCreateInfo *code =
        CHAIN(item, &none, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, VkShaderModuleCreateInfo);
    code->codeSize = shaders[shader].size;
    code->pCode = shaders[shader].code;
    const bool may_be_inline =
        features->maintenance5.supported[0] || features->libraries.graphicsPipelineLibrary;
    if (item_chance(item, 30) && may_be_inline) {
        stage.pNext = code;
    } else {
        must(vkCreateShaderModule(item->device->device, code, NULL, &stage.module), "module");
        OWN(item, OBJECT_MODULE, stage.module);
    }
    if (item_chance(item, 15)) {
        draw_robustness(item, &stage.pNext);
    }
    return stage;
}

bool identify_stage(struct item *item, VkPipelineShaderStageCreateInfo *stage)
{
    const PFN_vkGetShaderModuleIdentifierEXT get =
        (PFN_vkGetShaderModuleIdentifierEXT)vkGetDeviceProcAddr(item->device->device,
                                                                "vkGetShaderModuleIdentifierEXT");
    if (!stage->module || !get) {
        return false;
    }
    VkShaderModuleIdentifierEXT identifier = {.sType =
                                                  VK_STRUCTURE_TYPE_SHADER_MODULE_IDENTIFIER_EXT};
    get(item->device->device, stage->module, &identifier);
    VkPipelineShaderStageModuleIdentifierCreateInfoEXT *chained =
        CHAIN(item, &stage->pNext,
              VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_MODULE_IDENTIFIER_CREATE_INFO_EXT,
              VkPipelineShaderStageModuleIdentifierCreateInfoEXT);
    uint8_t *bytes = TAKE(item, uint8_t, identifier.identifierSize);
    memcpy(bytes, identifier.identifier, identifier.identifierSize);
    chained->identifierSize = identifier.identifierSize;
    chained->pIdentifier = bytes;
    stage->module = VK_NULL_HANDLE;
    return true;
}
