// SPDX-License-Identifier: Apache-2.0
#include "things.hpp"

#include <cstdlib>

const ThingFacts &facts_of(Thing thing)
{
    static const ThingFacts facts[] = {
        {"module", "vkCreateShaderModule", "vkDestroyShaderModule", "modules",
         VK_OBJECT_TYPE_SHADER_MODULE},
        {"set_layout", "vkCreateDescriptorSetLayout", "vkDestroyDescriptorSetLayout", "set_layouts",
         VK_OBJECT_TYPE_DESCRIPTOR_SET_LAYOUT},
        {"pipeline_layout", "vkCreatePipelineLayout", "vkDestroyPipelineLayout", "pipeline_layouts",
         VK_OBJECT_TYPE_PIPELINE_LAYOUT},
        {"update_template", "vkCreateDescriptorUpdateTemplate", "vkDestroyDescriptorUpdateTemplate",
         "templates", VK_OBJECT_TYPE_DESCRIPTOR_UPDATE_TEMPLATE},
        {"pipeline", "vkCreateComputePipelines", "vkDestroyPipeline", "pipelines",
         VK_OBJECT_TYPE_PIPELINE},
        {"sampler", "vkCreateSampler", "vkDestroySampler", "", VK_OBJECT_TYPE_SAMPLER},
        {"conversion", "vkCreateSamplerYcbcrConversion", "vkDestroySamplerYcbcrConversion", "",
         VK_OBJECT_TYPE_SAMPLER_YCBCR_CONVERSION},
        {"render_pass", "vkCreateRenderPass", "vkDestroyRenderPass", "",
         VK_OBJECT_TYPE_RENDER_PASS},
        {"render_pass_2", "vkCreateRenderPass2", "vkDestroyRenderPass", "",
         VK_OBJECT_TYPE_RENDER_PASS},
    };
    return facts[static_cast<int>(thing)];
}

void PrintTo(Thing thing, std::ostream *stream)
{
    *stream << facts_of(thing).name;
}

namespace {

// Calls down with a create-info, and tells the handle as a number.
template <typename Info, typename Handle, typename Command>
VkResult create_with(Command command, VkDevice device, Info &info, const void *chain,
                     const VkAllocationCallbacks *allocator, uint64_t *ret_handle)
{
    info.pNext = chain;
    Handle handle = VK_NULL_HANDLE;
    const VkResult result = command(device, &info, allocator, &handle);
    *ret_handle = value_of(handle);
    return result;
}

#define CREATE(Name, info)                                                                         \
    create_with<Vk##Name##CreateInfo, Vk##Name>(vkCreate##Name, device, info, chain, allocator,    \
                                                ret_handle)

VkResult create_module(VkDevice device, unsigned number, const void *chain,
                       const VkAllocationCallbacks *allocator, uint64_t *ret_handle)
{
    const std::vector<uint32_t> code = shader_code(Kind::compute, number);
    VkShaderModuleCreateInfo info = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
    info.codeSize = code.size() * sizeof code[0];
    info.pCode = code.data();
    return CREATE(ShaderModule, info);
}

VkResult create_set_layout(VkDevice device, unsigned number, const void *chain,
                           const VkAllocationCallbacks *allocator, uint64_t *ret_handle)
{
    VkDescriptorSetLayoutBinding binding = {};
    binding.binding = number;
    binding.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    binding.descriptorCount = 1;
    binding.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
    VkDescriptorSetLayoutCreateInfo info = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
    info.bindingCount = 1;
    info.pBindings = &binding;
    return CREATE(DescriptorSetLayout, info);
}

VkResult create_pipeline_layout(VkDevice device, unsigned number, const void *chain,
                                const VkAllocationCallbacks *allocator, uint64_t *ret_handle)
{
    const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, 4 * number + 4};
    VkPipelineLayoutCreateInfo info = {VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
    info.pushConstantRangeCount = 1;
    info.pPushConstantRanges = &range;
    return CREATE(PipelineLayout, info);
}

VkResult create_template(VkDevice device, VkDescriptorSetLayout layout, unsigned number,
                         const void *chain, const VkAllocationCallbacks *allocator,
                         uint64_t *ret_handle)
{
    VkDescriptorUpdateTemplateEntry entry = {};
    entry.descriptorCount = 1;
    entry.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    entry.offset = 8 * number;
    VkDescriptorUpdateTemplateCreateInfo info = {
        VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO};
    info.descriptorUpdateEntryCount = 1;
    info.pDescriptorUpdateEntries = &entry;
    info.templateType = VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET;
    info.descriptorSetLayout = layout;
    return CREATE(DescriptorUpdateTemplate, info);
}

VkResult create_sampler(VkDevice device, unsigned number, const void *chain,
                        const VkAllocationCallbacks *allocator, uint64_t *ret_handle)
{
    VkSamplerCreateInfo info = {VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
    info.maxLod = static_cast<float>(number);
    return CREATE(Sampler, info);
}

VkResult create_conversion(VkDevice device, unsigned number, const void *chain,
                           const VkAllocationCallbacks *allocator, uint64_t *ret_handle)
{
    VkSamplerYcbcrConversionCreateInfo info = {
        VK_STRUCTURE_TYPE_SAMPLER_YCBCR_CONVERSION_CREATE_INFO};
    info.format = VK_FORMAT_G8_B8R8_2PLANE_420_UNORM;
    info.chromaFilter = number % 2 == 0 ? VK_FILTER_NEAREST : VK_FILTER_LINEAR;
    return CREATE(SamplerYcbcrConversion, info);
}

VkResult create_render_pass(VkDevice device, unsigned number, const void *chain,
                            const VkAllocationCallbacks *allocator, uint64_t *ret_handle)
{
    const std::vector<VkSubpassDescription> subpasses(number + 1);
    VkRenderPassCreateInfo info = {VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO};
    info.subpassCount = number + 1;
    info.pSubpasses = subpasses.data();
    return CREATE(RenderPass, info);
}

VkResult create_render_pass_2(VkDevice device, unsigned number, const void *chain,
                              const VkAllocationCallbacks *allocator, uint64_t *ret_handle)
{
    const std::vector<VkSubpassDescription2> subpasses(number + 1,
                                                       {VK_STRUCTURE_TYPE_SUBPASS_DESCRIPTION_2});
    VkRenderPassCreateInfo2 info = {VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO_2};
    info.subpassCount = number + 1;
    info.pSubpasses = subpasses.data();
    return create_with<VkRenderPassCreateInfo2, VkRenderPass>(vkCreateRenderPass2, device, info,
                                                              chain, allocator, ret_handle);
}

} // namespace

Things::Things(Program &program) : device_(program.device), layout_(program.layout)
{
    uint64_t handle = 0;
    EXPECT_EQ(create_set_layout(device_, 1000, nullptr, nullptr, &handle), VK_SUCCESS);
    set_layout_ = handle_of<VkDescriptorSetLayout>(handle);
    for (unsigned i = 0; i < 4; ++i) {
        EXPECT_EQ(create_module(device_, 1000 + i, nullptr, nullptr, &handle), VK_SUCCESS);
        modules_[i] = handle_of<VkShaderModule>(handle);
    }
}

Things::~Things()
{
    vkDestroyDescriptorSetLayout(device_, set_layout_, nullptr);
    for (VkShaderModule module : modules_) {
        vkDestroyShaderModule(device_, module, nullptr);
    }
}

VkResult Things::create_pipeline(unsigned number, const VkAllocationCallbacks *allocator,
                                 const void *chain, uint64_t *ret_handle)
{
    VkComputePipelineCreateInfo info = {VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
    info.pNext = chain;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = modules_[number % 4];
    info.stage.pName = "main";
    info.layout = layout_;
    VkPipeline pipeline = VK_NULL_HANDLE;
    const VkResult created =
        vkCreateComputePipelines(device_, VK_NULL_HANDLE, 1, &info, allocator, &pipeline);
    *ret_handle = value_of(pipeline);
    return created;
}

uint64_t Things::create(Thing thing, unsigned number, const VkAllocationCallbacks *allocator,
                        const void *chain)
{
    uint64_t handle = 0;
    switch (thing) {
    case Thing::module:
        result = create_module(device_, number, chain, allocator, &handle);
        break;
    case Thing::set_layout:
        result = create_set_layout(device_, number, chain, allocator, &handle);
        break;
    case Thing::pipeline_layout:
        result = create_pipeline_layout(device_, number, chain, allocator, &handle);
        break;
    case Thing::update_template:
        result = create_template(device_, set_layout_, number, chain, allocator, &handle);
        break;
    case Thing::pipeline:
        result = create_pipeline(number, allocator, chain, &handle);
        break;
    case Thing::sampler:
        result = create_sampler(device_, number, chain, allocator, &handle);
        break;
    case Thing::conversion:
        result = create_conversion(device_, number, chain, allocator, &handle);
        break;
    case Thing::render_pass:
        result = create_render_pass(device_, number, chain, allocator, &handle);
        break;
    case Thing::render_pass_2:
        result = create_render_pass_2(device_, number, chain, allocator, &handle);
        break;
    }
    return result == VK_SUCCESS ? handle : 0;
}

void Things::destroy(Thing thing, uint64_t handle, const VkAllocationCallbacks *allocator)
{
    switch (thing) {
    case Thing::module:
        return vkDestroyShaderModule(device_, handle_of<VkShaderModule>(handle), allocator);
    case Thing::set_layout:
        return vkDestroyDescriptorSetLayout(device_, handle_of<VkDescriptorSetLayout>(handle),
                                            allocator);
    case Thing::pipeline_layout:
        return vkDestroyPipelineLayout(device_, handle_of<VkPipelineLayout>(handle), allocator);
    case Thing::update_template:
        return vkDestroyDescriptorUpdateTemplate(
            device_, handle_of<VkDescriptorUpdateTemplate>(handle), allocator);
    case Thing::pipeline:
        return vkDestroyPipeline(device_, handle_of<VkPipeline>(handle), allocator);
    case Thing::sampler:
        return vkDestroySampler(device_, handle_of<VkSampler>(handle), allocator);
    case Thing::conversion:
        return vkDestroySamplerYcbcrConversion(device_, handle_of<VkSamplerYcbcrConversion>(handle),
                                               allocator);
    case Thing::render_pass:
    case Thing::render_pass_2:
        return vkDestroyRenderPass(device_, handle_of<VkRenderPass>(handle), allocator);
    }
}

CountingAllocator *CountingAllocator::of(void *user)
{
    auto *allocator = static_cast<CountingAllocator *>(user);
    EXPECT_EQ(std::this_thread::get_id(), allocator->thread_) << "called by another thread";
    return allocator;
}

CountingAllocator::CountingAllocator()
{
    callbacks_.pUserData = this;
    callbacks_.pfnAllocation = [](void *user, size_t size, size_t, VkSystemAllocationScope) {
        ++of(user)->live_;
        return std::malloc(size);
    };
    callbacks_.pfnReallocation = [](void *user, void *old, size_t size, size_t,
                                    VkSystemAllocationScope) {
        of(user);
        return std::realloc(old, size);
    };
    callbacks_.pfnFree = [](void *user, void *memory) {
        of(user)->live_ -= memory != nullptr;
        std::free(memory);
    };
}
