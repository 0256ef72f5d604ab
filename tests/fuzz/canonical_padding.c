// SPDX-License-Identifier: Apache-2.0
/* Under MemorySanitizer: create-infos in memory that nobody has initialized but for their members,
 * so that padding is poisoned. No byte of it may reach a form or decide anything (hazard 15). */
#include <sanitizer/msan_interface.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/codec/canonical.h"

/* malloc'ed, so poisoned. */
#define NEW(type) ((type *)allocate(sizeof(type)))

static void *allocate(size_t size)
{
    void *memory = malloc(size);
    if (!memory) {
        abort();
    }
    return memory;
}

static bool resolve(void *user, VkObjectType type, uint64_t handle,
                    struct canonical_object *ret_object)
{
    (void)user;
    *ret_object = (struct canonical_object){
        .content = {handle, (uint64_t)type},
        .serial = handle,
    };
    return true;
}

static void expect_initialized(const char *name, const void *info)
{
    const struct canonical_context context = {.resolve = resolve};
    struct canonical form = {0};
    canonical_encode(&context, info, &form);
    if (form.verdict != CANONICAL_SHARE) {
        fprintf(stderr, "%s: cause %d\n", name, (int)form.cause);
        exit(1);
    }
    __msan_check_mem_is_initialized(form.key.data, form.key.size);
    __msan_check_mem_is_initialized(&form.digest, sizeof(form.digest));
    canonical_free(&form);
}

static void set_stage(VkPipelineShaderStageCreateInfo *stage, VkShaderStageFlagBits bit)
{
    VkSpecializationMapEntry *entry = NEW(VkSpecializationMapEntry);
    entry->constantID = 0;
    entry->offset = 0;
    entry->size = 4;
    uint32_t *data = NEW(uint32_t);
    *data = 5;
    VkSpecializationInfo *constants = NEW(VkSpecializationInfo);
    constants->mapEntryCount = 1;
    constants->pMapEntries = entry;
    constants->dataSize = sizeof(*data);
    constants->pData = data;
    stage->sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    stage->pNext = NULL;
    stage->flags = 0;
    stage->stage = bit;
    stage->module = (VkShaderModule)(uintptr_t)1;
    stage->pName = "main";
    stage->pSpecializationInfo = constants;
}

static void check_compute(void)
{
    VkComputePipelineCreateInfo *info = NEW(VkComputePipelineCreateInfo);
    info->sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info->pNext = NULL;
    info->flags = 0;
    set_stage(&info->stage, VK_SHADER_STAGE_COMPUTE_BIT);
    info->layout = (VkPipelineLayout)(uintptr_t)2;
    expect_initialized("compute", info);
}

/* Rasterization is off: the states that are ignored then are not even initialized pointers. */
static void check_graphics(void)
{
    VkPipelineRasterizationLineStateCreateInfoEXT *line =
        NEW(VkPipelineRasterizationLineStateCreateInfoEXT);
    line->sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_LINE_STATE_CREATE_INFO_EXT;
    line->pNext = NULL;
    line->lineRasterizationMode = VK_LINE_RASTERIZATION_MODE_DEFAULT_EXT;
    line->stippledLineEnable = VK_FALSE;
    line->lineStippleFactor = 1;
    line->lineStipplePattern = 1;
    VkPipelineRasterizationStateCreateInfo *rasterization =
        NEW(VkPipelineRasterizationStateCreateInfo);
    memset(&rasterization->flags, 0,
           sizeof(*rasterization) - offsetof(VkPipelineRasterizationStateCreateInfo, flags));
    rasterization->sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO;
    rasterization->pNext = line;
    rasterization->rasterizerDiscardEnable = VK_TRUE;
    VkPipelineVertexInputStateCreateInfo *input = NEW(VkPipelineVertexInputStateCreateInfo);
    input->sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO;
    input->pNext = NULL;
    input->flags = 0;
    input->vertexBindingDescriptionCount = 0;
    input->vertexAttributeDescriptionCount = 0;
    VkPipelineShaderStageCreateInfo *stage = NEW(VkPipelineShaderStageCreateInfo);
    set_stage(stage, VK_SHADER_STAGE_VERTEX_BIT);
    VkGraphicsPipelineCreateInfo *info = NEW(VkGraphicsPipelineCreateInfo);
    info->sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO;
    info->pNext = NULL;
    info->flags = 0;
    info->stageCount = 1;
    info->pStages = stage;
    info->pVertexInputState = input;
    info->pInputAssemblyState = NULL;
    info->pRasterizationState = rasterization;
    info->pDynamicState = NULL;
    info->layout = VK_NULL_HANDLE;
    info->renderPass = VK_NULL_HANDLE;
    info->subpass = 0;
    expect_initialized("graphics", info);
}

static void check_set_layout(void)
{
    VkDescriptorSetLayoutBinding *binding = NEW(VkDescriptorSetLayoutBinding);
    binding->binding = 0;
    binding->descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    binding->descriptorCount = 1;
    binding->stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
    VkDescriptorSetLayoutCreateInfo *info = NEW(VkDescriptorSetLayoutCreateInfo);
    info->sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    info->pNext = NULL;
    info->flags = 0;
    info->bindingCount = 1;
    info->pBindings = binding;
    expect_initialized("set layout", info);
}

static void check_template(void)
{
    VkDescriptorUpdateTemplateCreateInfo *info = NEW(VkDescriptorUpdateTemplateCreateInfo);
    info->sType = VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO;
    info->pNext = NULL;
    info->flags = 0;
    info->descriptorUpdateEntryCount = 0;
    info->templateType = VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET;
    info->descriptorSetLayout = (VkDescriptorSetLayout)(uintptr_t)3;
    info->pipelineBindPoint = VK_PIPELINE_BIND_POINT_COMPUTE;
    info->set = 0;
    expect_initialized("template", info);
}

int main(void)
{
    check_compute();
    check_graphics();
    check_set_layout();
    check_template();
    return 0;
}
