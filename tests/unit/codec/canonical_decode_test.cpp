// SPDX-License-Identifier: Apache-2.0
// What the decoder makes of canonical forms, and that it refuses whatever no encoder has written.
#include <gtest/gtest.h>

#include "create_infos.h"
#include "graphics_info.h"
#include "handles.h"

namespace {

class CanonicalDecode : public testing::Test {
  protected:
    Handles handles_;
    canonical form_ = {};

    ~CanonicalDecode() override
    {
        canonical_free(&form_);
    }

    std::string encode(const void *info)
    {
        canonical_encode(&handles_.context, info, &form_);
        EXPECT_NE(form_.verdict, CANONICAL_UNKNOWN) << form_.cause;
        if (form_.code) {
            handles_.keep_code(form_);
        }
        return std::string(reinterpret_cast<const char *>(form_.key.data), form_.size);
    }

    void *decode(const std::string &form)
    {
        return canonical_decode(form.data(), form.size(), &handles_.sources);
    }

    bool decodes(const std::string &form)
    {
        void *info = decode(form);
        free(info);
        return info != nullptr;
    }

    // The form with `value` in place of its little-endian bytes at `offset`.
    template <typename T> static std::string with(std::string form, size_t offset, T value)
    {
        std::memcpy(&form[offset], &value, sizeof(value));
        return form;
    }
};

// The form of this pipeline, by offsets: 0 sType; 4 flags; 12 stage: flags, stage bit; 20 code;
// 36 length of the name; 40 "main"; 44 specialization; 45 the stage's chain; 49 layout; 65 the
// chain.
constexpr size_t at_flags = 4, at_name_length = 36, at_name = 40, at_stage_chain = 45,
                 at_chain = 65, compute_size = 69;
constexpr uint32_t chain_end = FORM_CHAIN_END;

VkComputePipelineCreateInfo compute_info()
{
    VkComputePipelineCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = (VkShaderModule)11;
    info.stage.pName = "main";
    info.layout = (VkPipelineLayout)12;
    return info;
}

TEST_F(CanonicalDecode, CreateInfoComesBack)
{
    auto info = compute_info();
    std::string form = encode(&info);
    ASSERT_EQ(form.size(), compute_size);
    auto back = static_cast<VkComputePipelineCreateInfo *>(decode(form));
    ASSERT_NE(back, nullptr);
    EXPECT_EQ(back->sType, info.sType);
    EXPECT_EQ(back->pNext, nullptr);
    EXPECT_EQ(back->stage.sType, info.stage.sType);
    EXPECT_EQ(back->stage.module, info.stage.module);
    EXPECT_STREQ(back->stage.pName, "main");
    EXPECT_EQ(back->layout, info.layout);
    free(back);
}

TEST_F(CanonicalDecode, ChainsComeBackInTheirOrder)
{
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo subgroup = {};
    subgroup.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO;
    subgroup.requiredSubgroupSize = 32;
    VkPipelineRobustnessCreateInfoEXT robustness = {};
    robustness.sType = VK_STRUCTURE_TYPE_PIPELINE_ROBUSTNESS_CREATE_INFO_EXT;
    robustness.images = VK_PIPELINE_ROBUSTNESS_IMAGE_BEHAVIOR_DISABLED_EXT;
    robustness.pNext = &subgroup;
    auto info = compute_info();
    info.stage.pNext = &robustness;
    auto back = static_cast<VkComputePipelineCreateInfo *>(decode(encode(&info)));
    ASSERT_NE(back, nullptr);
    auto first = static_cast<const VkPipelineRobustnessCreateInfoEXT *>(back->stage.pNext);
    ASSERT_EQ(first->sType, robustness.sType);
    EXPECT_EQ(first->images, robustness.images);
    auto second =
        static_cast<const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo *>(first->pNext);
    ASSERT_EQ(second->sType, subgroup.sType);
    EXPECT_EQ(second->requiredSubgroupSize, 32u);
    EXPECT_EQ(second->pNext, nullptr);
    free(back);
}

TEST_F(CanonicalDecode, FlagsBeyond31BitsComeBackChained) // hazard 21
{
    struct CreateFlags2 {
        uint32_t stype = 1000470005;
        const void *next = nullptr;
        uint64_t flags = 1ull << 34;
    } flags;
    auto info = compute_info();
    info.pNext = &flags;
    auto back = static_cast<VkComputePipelineCreateInfo *>(decode(encode(&info)));
    ASSERT_NE(back, nullptr);
    auto chained = static_cast<const CreateFlags2 *>(back->pNext);
    ASSERT_NE(chained, nullptr);
    EXPECT_EQ(chained->stype, flags.stype);
    EXPECT_EQ(chained->flags, flags.flags);
    EXPECT_EQ(chained->next, nullptr);
    free(back);
}

TEST_F(CanonicalDecode, EveryTruncationAndExtensionIsRefused)
{
    CreateInfos infos(23);
    for (codec_id root : all_roots()) {
        std::string form = encode(infos.make_full(root));
        ASSERT_TRUE(decodes(form)) << "root " << root;
        for (size_t size = 0; size < form.size(); size += 1 + size / 512) {
            ASSERT_FALSE(decodes(form.substr(0, size))) << "root " << root << " at " << size;
        }
        ASSERT_FALSE(decodes(form + std::string(1, '\0')));
    }
}

TEST_F(CanonicalDecode, UnknownStructIsRefused)
{
    auto info = compute_info();
    std::string form = encode(&info);
    EXPECT_FALSE(decodes(with(form, 0, 0x7ffffff0u)));
    EXPECT_FALSE(decodes(with(form, at_chain, 0x7ffffff0u)));
    EXPECT_FALSE(decodes(
        with<uint32_t>(form, at_chain, VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO)));
}

TEST_F(CanonicalDecode, StructChainedTwiceIsRefused)
{
    const uint32_t subgroup[2] = {
        VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO, 32};
    auto info = compute_info();
    std::string form = encode(&info);
    std::string piece(reinterpret_cast<const char *>(subgroup), sizeof(subgroup));
    std::string once = form.substr(0, at_stage_chain) + piece + form.substr(at_stage_chain);
    EXPECT_TRUE(decodes(once));
    EXPECT_FALSE(decodes(once.substr(0, at_stage_chain) + piece + once.substr(at_stage_chain)));
}

TEST_F(CanonicalDecode, CodeInAStageIsRefused)
{
    VkShaderModuleCreateInfo module = {};
    const uint32_t code[1] = {0x07230203};
    module.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    module.codeSize = sizeof(code);
    module.pCode = code;
    std::string piece = encode(&module);
    piece.resize(piece.size() - sizeof(chain_end));
    auto info = compute_info();
    std::string form = encode(&info);
    EXPECT_FALSE(decodes(form.substr(0, at_stage_chain) + piece + form.substr(at_stage_chain)));
}

TEST_F(CanonicalDecode, FlagsThatNoFormHoldsAreRefused)
{
    auto info = compute_info();
    std::string form = encode(&info);
    EXPECT_TRUE(decodes(with(form, at_flags, 1ull)));
    for (uint64_t flags : {RULES_PIPELINE_FAIL_ON_COMPILE_REQUIRED, RULES_PIPELINE_DERIVATIVE,
                           RULES_PIPELINE_CAPTURE_DATA, 1ull << 28, 1ull << 63}) {
        EXPECT_FALSE(decodes(with(form, at_flags, flags))) << std::hex << flags;
    }
    EXPECT_FALSE(decodes(with(form, 12, 1u << 30))); // of the stage
}

TEST_F(CanonicalDecode, NamesEndAtTheirEnd)
{
    auto info = compute_info();
    std::string form = encode(&info);
    EXPECT_FALSE(decodes(with(form, at_name, '\0')));
    EXPECT_FALSE(decodes(with(form, at_name_length, ~0u)));
}

TEST_F(CanonicalDecode, ConstantsOutsideTheirDataAreRefused)
{
    VkSpecializationMapEntry entry = {0, 4, 4};
    uint32_t data[2] = {1, 2};
    VkSpecializationInfo constants = {1, &entry, sizeof(data), data};
    auto info = compute_info();
    info.stage.pSpecializationInfo = &constants;
    EXPECT_TRUE(decodes(encode(&info)));
    entry.offset = 5;
    EXPECT_FALSE(decodes(encode(&info)));
    entry = {0, 8, 0};
    EXPECT_FALSE(decodes(encode(&info)));
    entry = {0, 4, ~static_cast<size_t>(0)};
    EXPECT_FALSE(decodes(encode(&info)));
}

TEST_F(CanonicalDecode, CountsNeedTheirElements)
{
    VkDescriptorSetLayoutBinding binding = {};
    VkDescriptorSetLayoutCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    info.bindingCount = 1;
    info.pBindings = &binding;
    std::string form = encode(&info);
    const size_t at_count = 8, at_presence = 12;
    EXPECT_TRUE(decodes(form));
    EXPECT_FALSE(decodes(with(form, at_count, 2u)));
    EXPECT_FALSE(decodes(with(form, at_count, ~0u)));
    EXPECT_FALSE(decodes(with(form, at_count, 0u)));
    EXPECT_FALSE(decodes(with(form, at_presence, '\2')));
    // An array that must be there is not.
    std::string without = form.substr(0, at_presence) + std::string(1, '\0') +
                          form.substr(form.size() - sizeof(chain_end));
    EXPECT_FALSE(decodes(without));
    EXPECT_TRUE(decodes(with(without, at_count, 0u)));
}

// Elements may be NULL where the array itself may not.
TEST_F(CanonicalDecode, ArraysOfOptionalElementsAreThere)
{
    const VkDescriptorSetLayout none = VK_NULL_HANDLE;
    VkPipelineLayoutCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    info.setLayoutCount = 1;
    info.pSetLayouts = &none;
    const std::string form = encode(&info);
    const size_t at_count = 8, at_presence = 12, handle_size = 16;
    EXPECT_TRUE(decodes(form));
    const std::string without = form.substr(0, at_presence) + std::string(1, '\0') +
                                form.substr(at_presence + 1 + handle_size);
    EXPECT_FALSE(decodes(without));
    EXPECT_TRUE(decodes(with(without, at_count, 0u)));
}

TEST_F(CanonicalDecode, SourceWithoutAnAnswerEndsIt)
{
    auto info = compute_info();
    std::string form = encode(&info);
    canonical_sources sources = handles_.sources;
    sources.handle = [](void *, VkObjectType type, digest, uint64_t *handle) {
        *handle = 1;
        return type != VK_OBJECT_TYPE_PIPELINE_LAYOUT;
    };
    EXPECT_EQ(canonical_decode(form.data(), form.size(), &sources), nullptr);
    VkShaderModuleCreateInfo module = {};
    const uint32_t code[1] = {0x07230203};
    module.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    module.codeSize = sizeof(code);
    module.pCode = code;
    form = encode(&module);
    EXPECT_TRUE(decodes(form));
    handles_.codes.clear();
    EXPECT_FALSE(decodes(form));
}

TEST_F(CanonicalDecode, ReferencesAreTold)
{
    auto info = compute_info();
    std::string form = encode(&info);
    std::vector<VkObjectType> types;
    auto visit = [](void *user, VkObjectType type, digest) {
        static_cast<std::vector<VkObjectType> *>(user)->push_back(type);
        return true;
    };
    EXPECT_TRUE(canonical_references(form.data(), form.size(), visit, &types));
    EXPECT_EQ(types, (std::vector<VkObjectType>{VK_OBJECT_TYPE_SHADER_MODULE,
                                                VK_OBJECT_TYPE_PIPELINE_LAYOUT}));
    EXPECT_FALSE(canonical_references(form.data(), form.size() - 1, visit, &types));
    auto stop = [](void *, VkObjectType, digest) { return false; };
    EXPECT_FALSE(canonical_references(form.data(), form.size(), stop, nullptr));
}

TEST_F(CanonicalDecode, WhatIsTooLongIsRefused)
{
    std::string form(CANONICAL_MAX_SIZE + 1, '\0');
    auto info = compute_info();
    std::string small = encode(&info);
    std::copy(small.begin(), small.end(), form.begin());
    EXPECT_FALSE(decodes(form));
    EXPECT_EQ(canonical_stype("abc", 3), VK_STRUCTURE_TYPE_MAX_ENUM);
}

// A file that is mapped may change under the decoder: it ends, and writes nowhere outside. Here a
// name grows over what were handles, which take more room in the form than in memory.
TEST_F(CanonicalDecode, FormThatChangesMeanwhileIsRefused)
{
    std::vector<VkPipeline> pipelines(64, (VkPipeline)50);
    VkPipelineLibraryCreateInfoKHR libraries = {};
    libraries.sType = VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR;
    libraries.libraryCount = 64;
    libraries.pLibraries = pipelines.data();
    auto stage = compute_info().stage;
    VkRayTracingPipelineCreateInfoKHR info = {};
    info.sType = VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR;
    info.stageCount = 1;
    info.pStages = &stage;
    info.pLibraryInfo = &libraries;
    std::string form = encode(&info);
    ASSERT_EQ(form.substr(45, 4), "main");
    canonical_sources sources = {};
    sources.user = &form;
    sources.handle = [](void *user, VkObjectType, digest, uint64_t *handle) {
        auto bytes = &(*static_cast<std::string *>(user))[0];
        const uint32_t longer = 1000;
        std::memcpy(bytes + 41, &longer, sizeof(longer));
        std::memset(bytes + 45, 'x', longer);
        *handle = 1;
        return true;
    };
    EXPECT_EQ(canonical_decode(form.data(), form.size(), &sources), nullptr);
}

// 68: layers below read as many as a count promises.
TEST_F(CanonicalDecode, AnIgnoredArrayHasNoCount)
{
    const VkFormat formats[2] = {VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_R8G8B8A8_UNORM};
    VkPipelineRenderingCreateInfo rendering = {};
    rendering.sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO;
    rendering.viewMask = 1;
    rendering.colorAttachmentCount = 2;
    rendering.pColorAttachmentFormats = formats;
    VkGraphicsPipelineLibraryCreateInfoEXT subset = {};
    subset.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT;
    subset.pNext = &rendering;
    subset.flags = VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT;
    const VkDynamicState viewport_is_dynamic = VK_DYNAMIC_STATE_VIEWPORT;
    VkPipelineDynamicStateCreateInfo dynamic = {};
    dynamic.sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO;
    dynamic.dynamicStateCount = 1;
    dynamic.pDynamicStates = &viewport_is_dynamic;
    VkPipelineViewportStateCreateInfo viewport = {};
    viewport.sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO;
    viewport.viewportCount = 3;
    VkPipelineRasterizationStateCreateInfo rasterization = {};
    rasterization.sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO;
    VkGraphicsPipelineCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO;
    info.pNext = &subset;
    info.flags = VK_PIPELINE_CREATE_LIBRARY_BIT_KHR;
    info.pViewportState = &viewport;
    info.pRasterizationState = &rasterization;
    info.pDynamicState = &dynamic;
    auto back = static_cast<VkGraphicsPipelineCreateInfo *>(decode(encode(&info)));
    ASSERT_NE(back, nullptr);
    auto chained = static_cast<const VkBaseInStructure *>(back->pNext);
    while (chained->sType != VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO) {
        chained = chained->pNext;
    }
    auto decoded = reinterpret_cast<const VkPipelineRenderingCreateInfo *>(chained);
    EXPECT_EQ(decoded->viewMask, 1u);
    EXPECT_EQ(decoded->pColorAttachmentFormats, nullptr);
    EXPECT_EQ(decoded->colorAttachmentCount, 0u);
    EXPECT_EQ(back->pViewportState->pViewports, nullptr);
    EXPECT_EQ(back->pViewportState->viewportCount, 3u) << "so many are set dynamically";
    free(back);
}

// Drivers look at the count, or even at the values: the array is there, and holds nothing.
TEST_F(CanonicalDecode, AnIgnoredArrayThatCountsIsOfZeros)
{
    GraphicsInfo g;
    const VkDynamicState dynamic[4] = {
        VK_DYNAMIC_STATE_COLOR_BLEND_ENABLE_EXT, VK_DYNAMIC_STATE_COLOR_BLEND_EQUATION_EXT,
        VK_DYNAMIC_STATE_COLOR_WRITE_MASK_EXT, VK_DYNAMIC_STATE_COLOR_WRITE_ENABLE_EXT};
    std::copy(dynamic, dynamic + 4, g.dynamic_states);
    g.dynamic.dynamicStateCount = 4;
    g.viewport.viewportCount = g.viewport.scissorCount = 0;
    VkPipelineColorWriteCreateInfoEXT writes = {};
    writes.sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_WRITE_CREATE_INFO_EXT;
    for (const uint32_t count : {2u, 33u}) { // as many as no device has
        g.color_blend.pNext = &writes;
        g.color_blend.attachmentCount = writes.attachmentCount = count;
        g.color_blend.pAttachments = nowhere<VkPipelineColorBlendAttachmentState>();
        writes.pColorWriteEnables = nowhere<VkBool32>();
        auto back = static_cast<VkGraphicsPipelineCreateInfo *>(decode(encode(&g.info)));
        ASSERT_NE(back, nullptr);
        const VkPipelineColorBlendStateCreateInfo *blend = back->pColorBlendState;
        auto enables = static_cast<const VkPipelineColorWriteCreateInfoEXT *>(blend->pNext);
        EXPECT_EQ(blend->attachmentCount, count == 2 ? 2u : 0u);
        ASSERT_EQ(blend->pAttachments != nullptr, count == 2);
        ASSERT_EQ(enables->pColorWriteEnables != nullptr, count == 2);
        if (count == 2) {
            EXPECT_EQ(blend->pAttachments[1].colorWriteMask, 0u);
            EXPECT_EQ(enables->pColorWriteEnables[1], VK_FALSE);
        }
        free(back);
    }
}

} // namespace
