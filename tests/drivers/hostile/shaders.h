// SPDX-License-Identifier: Apache-2.0
// Compute pipelines as no program makes them: what they are, and what must be said of each.
#ifndef WARMPIPE_TESTS_DRIVERS_HOSTILE_SHADERS_H
#define WARMPIPE_TESTS_DRIVERS_HOSTILE_SHADERS_H

#include <cstdint>
#include <string>
#include <vector>

#include <vulkan/vulkan.h>

using Words = std::vector<uint32_t>;

struct HostilePipeline {
    std::string name;
    // The outcome of its replay, whatever the driver; empty: a driver may see it, and may die.
    std::string outcome;
    Words code;
    std::string entry = "main";
    VkShaderStageFlagBits stage = VK_SHADER_STAGE_COMPUTE_BIT;
    std::vector<VkDescriptorSetLayoutBinding> bindings = {
        {0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr}};
    uint32_t sets = 1; // of these bindings
    std::vector<VkPushConstantRange> ranges;
    std::vector<VkSpecializationMapEntry> constants; // of 8 bytes of data
};

std::vector<HostilePipeline> hostile_pipelines();

#endif
