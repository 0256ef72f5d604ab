// SPDX-License-Identifier: Apache-2.0
/* A module as hostile as it likes: read within its bounds, and in little time, whatever stage is to
 * run it and whatever the layout has; and the size of its workgroups. */
#include <stdlib.h>
#include <string.h>

#include "common/spirv/spirv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const uint32_t *code, size_t size, VkShaderStageFlagBits bit)
{
    const VkSpecializationMapEntry entries[] = {{0, 0, 4}, {1, 4, 4}, {7, 8, 1}};
    const uint8_t values[12] = {0};
    const VkSpecializationInfo constants = {3, entries, sizeof values, values};
    const VkDescriptorSetLayoutBinding bindings[] = {
        {0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 4, VK_SHADER_STAGE_ALL, NULL},
        {2, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1, VK_SHADER_STAGE_ALL, NULL},
    };
    const VkDescriptorSetLayoutCreateInfo set = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = 2,
        .pBindings = bindings,
    };
    const VkDescriptorSetLayoutCreateInfo *const sets[] = {&set, NULL, &set};
    const VkPushConstantRange range = {VK_SHADER_STAGE_ALL, 0, 128};
    const struct spirv_layout layout = {sets, 3, &range, 1};
    const VkPipelineShaderStageCreateInfo stage = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
        .stage = bit,
        .pName = "main",
        .pSpecializationInfo = &constants,
    };
    spirv_check_stage(&stage, code, size, &layout);
    spirv_check_stage(&stage, code, size, NULL);
    uint32_t workgroup[3];
    spirv_workgroup_size(code, size, stage.pName, &constants, workgroup);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t *code = malloc(size + 1);
    if (!code) {
        return 0;
    }
    memcpy(code, data, size);
    check(code, size, VK_SHADER_STAGE_COMPUTE_BIT);
    check(code, size, VK_SHADER_STAGE_FRAGMENT_BIT);
    free(code);
    return 0;
}
