// SPDX-License-Identifier: Apache-2.0
// What is in the canonical form and what is not, what names an object beside it, by hand-written
// create-infos (hazards in comments).
#include <limits>

#include "canonical_fixture.h"

namespace {

TEST_F(Canonical, PlainPipelineIsSharedAndComplete)
{
    auto info = compute_info();
    expect(&info, CANONICAL_SHARE, CANONICAL_CAUSE_NONE);
    EXPECT_TRUE(form_.complete);
    EXPECT_EQ(form_.size, form_.key.size);
    EXPECT_TRUE(digest_equal(form_.digest, form_.key_digest));
    EXPECT_TRUE(digest_equal(form_.digest, digest_of(form_.key.data, form_.size)));
    EXPECT_EQ(canonical_stype(form_.key.data, form_.size), info.sType);
}

TEST_F(Canonical, MemoryIsUsedAgain)
{
    auto info = compute_info();
    encode(&info);
    const uint8_t *memory = form_.key.data;
    for (int i = 0; i < 100; i++) {
        encode(&info);
    }
    EXPECT_EQ(form_.key.data, memory);
}

TEST_F(Canonical, EffectiveFlagsAloneCount) // 21
{
    CreateFlags2 flags;
    flags.flags = VK_PIPELINE_CREATE_DISABLE_OPTIMIZATION_BIT;
    auto legacy = compute_info();
    legacy.flags = VK_PIPELINE_CREATE_DISABLE_OPTIMIZATION_BIT;
    auto chained = compute_info();
    chained.flags = VK_PIPELINE_CREATE_DISPATCH_BASE;
    chained.pNext = &flags;
    EXPECT_TRUE(same(&legacy, &chained));
    flags.flags |= 1ull << 34;
    EXPECT_FALSE(same(&legacy, &chained));
}

TEST_F(Canonical, WhetherItMayCompileIsNoPartOfIt) // 22
{
    auto info = compute_info();
    auto impatient = info;
    impatient.flags = VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT |
                      VK_PIPELINE_CREATE_EARLY_RETURN_ON_FAILURE_BIT;
    EXPECT_TRUE(same(&info, &impatient));
    impatient.flags = VK_PIPELINE_CREATE_ALLOW_DERIVATIVES_BIT;
    EXPECT_FALSE(same(&info, &impatient));
}

TEST_F(Canonical, NamesAndOutputsAreLeftOut) // 28, 32
{
    VkDebugUtilsObjectNameInfoEXT name = {};
    name.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT;
    name.pObjectName = nowhere<char>();
    VkPipelineCreationFeedbackCreateInfo feedback = {};
    feedback.sType = VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO;
    feedback.pPipelineStageCreationFeedbacks = (VkPipelineCreationFeedback *)0xdead0;
    feedback.pipelineStageCreationFeedbackCount = 1;
    auto plain = compute_info();
    auto info = compute_info();
    info.pNext = &feedback;
    info.stage.pNext = &name;
    EXPECT_TRUE(same(&plain, &info));
    expect(&info, CANONICAL_SHARE, CANONICAL_CAUSE_NONE);
}

TEST_F(Canonical, ModuleFormHoldsTheDigestOfTheCode)
{
    auto info = module_info();
    expect(&info, CANONICAL_SHARE, CANONICAL_CAUSE_NONE);
    EXPECT_EQ(form_.code, code_);
    EXPECT_EQ(form_.code_size, sizeof(code_));
    EXPECT_TRUE(digest_equal(form_.code_digest, digest_of(code_, sizeof(code_))));
    EXPECT_LT(form_.size, 64u);
    digest whole = form_.digest;
    info.codeSize -= 4;
    EXPECT_FALSE(digest_equal(whole, content(&info)));
}

TEST_F(Canonical, InlineCodeIsTheModuleOfIt) // 31
{
    auto code = module_info();
    auto with_module = compute_info();
    uint64_t module = handles_.handle_of(content(&code));
    std::memcpy(&with_module.stage.module, &module, sizeof(module));
    auto with_code = compute_info();
    with_code.stage.module = VK_NULL_HANDLE;
    with_code.stage.pNext = &code;
    EXPECT_TRUE(same(&with_module, &with_code));
    EXPECT_EQ(form_.code, nullptr);
    // A module wins over code that is chained beside it.
    with_module.stage.pNext = &code;
    code.pCode = nowhere<uint32_t>();
    EXPECT_EQ(encode(&with_module).verdict, CANONICAL_SHARE);
    EXPECT_EQ(rules_inline_module(&with_module.stage), nullptr);
}

TEST_F(Canonical, ModuleIdentifiersAreNoCode) // 30
{
    uint8_t bytes[2] = {1, 2};
    VkPipelineShaderStageModuleIdentifierCreateInfoEXT identifier = {};
    identifier.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_MODULE_IDENTIFIER_CREATE_INFO_EXT;
    identifier.identifierSize = 2;
    identifier.pIdentifier = bytes;
    auto info = compute_info();
    info.stage.module = VK_NULL_HANDLE;
    info.stage.pNext = &identifier;
    expect(&info, CANONICAL_SHARE, CANONICAL_CAUSE_NONE);
    EXPECT_FALSE(form_.complete);
    digest one = form_.digest;
    bytes[1] = 3;
    EXPECT_FALSE(digest_equal(one, content(&info)));
}

TEST_F(Canonical, SpecializationDataIsKeptAsItIs)
{
    VkSpecializationMapEntry entry = {0, 4, 4};
    uint32_t data[2] = {1, 2};
    VkSpecializationInfo constants = {1, &entry, sizeof(data), data};
    auto info = compute_info();
    digest without = content(&info);
    info.stage.pSpecializationInfo = &constants;
    digest with = content(&info);
    EXPECT_FALSE(digest_equal(without, with));
    auto decoded = decode<VkComputePipelineCreateInfo>(bytes(&info));
    ASSERT_NE(decoded, nullptr);
    auto copy = decoded->stage.pSpecializationInfo;
    EXPECT_EQ(copy->dataSize, sizeof(data));
    EXPECT_EQ(std::memcmp(copy->pData, data, sizeof(data)), 0);
    EXPECT_EQ(copy->pMapEntries[0].offset, 4u);
    free(decoded);
    data[0] = 9; // no entry names it, but drivers may hash it
    EXPECT_FALSE(digest_equal(with, content(&info)));
}

TEST_F(Canonical, FloatsCountByTheirBits) // 15
{
    VkSamplerCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO;
    digest zero = content(&info);
    info.mipLodBias = -0.0f;
    EXPECT_FALSE(digest_equal(zero, content(&info)));
    info.mipLodBias = std::numeric_limits<float>::quiet_NaN();
    digest nan = content(&info);
    EXPECT_TRUE(digest_equal(nan, content(&info)));
}

TEST_F(Canonical, PointerWithACountOfZeroIsNotRead) // 15
{
    VkDescriptorSetLayoutCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    digest empty = content(&info);
    info.pBindings = nowhere<VkDescriptorSetLayoutBinding>();
    EXPECT_TRUE(digest_equal(empty, content(&info)));
}

TEST_F(Canonical, ImmutableSamplersAreNamedBySerial) // 12
{
    VkSampler samplers[2] = {(VkSampler)21, (VkSampler)22};
    VkDescriptorSetLayoutBinding binding = {};
    binding.descriptorType = VK_DESCRIPTOR_TYPE_SAMPLER;
    binding.descriptorCount = 2;
    binding.pImmutableSamplers = samplers;
    VkDescriptorSetLayoutCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    info.bindingCount = 1;
    info.pBindings = &binding;
    EXPECT_EQ(tail(&info), (std::vector<uint64_t>{22, 23}));
    EXPECT_FALSE(digest_equal(form_.digest, form_.key_digest));
    binding.descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER; // ignored now (16)
    binding.pImmutableSamplers = nowhere<VkSampler>();
    EXPECT_EQ(tail(&info), std::vector<uint64_t>());
}

TEST_F(Canonical, ConversionOfASamplerIsNamedBySerial) // 12
{
    VkSamplerYcbcrConversionInfo conversion = {};
    conversion.sType = VK_STRUCTURE_TYPE_SAMPLER_YCBCR_CONVERSION_INFO;
    conversion.conversion = (VkSamplerYcbcrConversion)31;
    VkSamplerCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO;
    info.pNext = &conversion;
    EXPECT_EQ(tail(&info), std::vector<uint64_t>{32});
}

TEST_F(Canonical, LayoutsAreNamedBySerialWhereDriversMayKeepThem) // 11
{
    auto info = compute_info();
    EXPECT_EQ(tail(&info), std::vector<uint64_t>());
    handles_.context.layouts_by_serial = true;
    EXPECT_EQ(tail(&info), std::vector<uint64_t>{13});
}

TEST_F(Canonical, WhatHasATailOfItsOwnIsNamedBySerial) // 12
{
    VkDescriptorSetLayout layouts[2] = {(VkDescriptorSetLayout)41, VK_NULL_HANDLE};
    VkPipelineLayoutCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    info.setLayoutCount = 2;
    info.pSetLayouts = layouts;
    EXPECT_EQ(tail(&info), std::vector<uint64_t>());
    digest before = form_.digest;
    handles_.by_serial = true;
    EXPECT_EQ(tail(&info), std::vector<uint64_t>{42});
    EXPECT_TRUE(digest_equal(before, form_.digest));
}

// 61: what is made of objects of equal public digest is told apart by their names.
TEST_F(Canonical, ContentIsNamedByKeyedHashInLiveKeys)
{
    const live_key key = {{1, 2}};
    handles_.context.live_key = &key;
    const auto compute = compute_info();
    EXPECT_EQ(tail(&compute), (std::vector<uint64_t>{11, ~11ull, 12, ~12ull}));
    EXPECT_FALSE(form_.by_serial);
    EXPECT_FALSE(digest_equal(form_.digest, form_.key_digest));
    const digest before = form_.digest;
    handles_.context.live_key = nullptr;
    EXPECT_EQ(tail(&compute), std::vector<uint64_t>());
    EXPECT_TRUE(digest_equal(before, form_.digest)) << "recipes keep the public one";
    handles_.by_serial = true;
    handles_.context.live_key = &key;
    EXPECT_EQ(tail(&compute), (std::vector<uint64_t>{12, 13}));
    EXPECT_TRUE(form_.by_serial);
}

TEST_F(Canonical, InlineCodeIsNamedAsItsModule)
{
    const live_key key = {{1, 2}};
    handles_.context.live_key = &key;
    const uint32_t code[] = {0x07230203, 1, 2, 3};
    VkShaderModuleCreateInfo module = {};
    module.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    module.codeSize = sizeof(code);
    module.pCode = code;
    EXPECT_EQ(tail(&module), std::vector<uint64_t>());
    const digest name =
        live_name(&key, form_.key.data, form_.key.size, form_.code, form_.code_size);
    auto compute = compute_info();
    compute.stage.module = VK_NULL_HANDLE;
    compute.stage.pNext = &module;
    EXPECT_EQ(tail(&compute), (std::vector<uint64_t>{name.low, name.high, 12, ~12ull}));
}

// A digest of zeros in a form means VK_NULL_HANDLE.
TEST_F(Canonical, AnObjectWhoseDigestIsZeroIsNotKnown)
{
    auto compute = compute_info();
    compute.layout = (VkPipelineLayout)handles_.handle_of({0, 0});
    EXPECT_EQ(encode(&compute).verdict, CANONICAL_UNKNOWN);
}

TEST_F(Canonical, LibrariesAreNamedBySerial) // 13
{
    VkPipeline library = (VkPipeline)51;
    VkPipelineLibraryCreateInfoKHR libraries = {};
    libraries.sType = VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR;
    libraries.libraryCount = 1;
    libraries.pLibraries = &library;
    VkGraphicsPipelineCreateInfo graphics = {};
    graphics.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO;
    graphics.pNext = &libraries;
    EXPECT_EQ(tail(&graphics), std::vector<uint64_t>{52});
    VkRayTracingPipelineCreateInfoKHR ray_tracing = {};
    ray_tracing.sType = VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR;
    ray_tracing.pLibraryInfo = &libraries;
    EXPECT_EQ(tail(&ray_tracing), std::vector<uint64_t>{52});
}

} // namespace
