// The canonical form by hand-written create-infos: one test for each rule (hazards in the names'
// comments), and what the decoder refuses.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "create_infos.h"
#include "graphics_info.h"

namespace {

// VkPipelineCreateFlags2CreateInfo and VkPipelineBinaryInfoKHR, which older headers lack.
struct CreateFlags2 {
    uint32_t stype = 1000470005;
    const void *next = nullptr;
    uint64_t flags = 0;
};

struct BinaryInfo {
    uint32_t stype = 1000483002;
    const void *next = nullptr;
    uint32_t count = 0;
    const void *binaries = nowhere<void>();
};

class Canonical : public testing::Test {
  protected:
    Handles handles_;
    canonical form_ = {};
    const uint32_t code_[4] = {0x07230203, 0x00010000, 7, 8};

    ~Canonical() override
    {
        canonical_free(&form_);
    }

    const canonical &encode(const void *info)
    {
        canonical_encode(&handles_.context, info, &form_);
        return form_;
    }

    digest content(const void *info)
    {
        EXPECT_NE(encode(info).verdict, CANONICAL_UNKNOWN) << canonical_cause_id(form_.cause);
        return form_.digest;
    }

    std::string bytes(const void *info)
    {
        encode(info);
        return std::string(reinterpret_cast<const char *>(form_.key.data), form_.size);
    }

    bool same(const void *a, const void *b)
    {
        digest first = content(a);
        return digest_equal(first, content(b));
    }

    // The serials in the tail.
    std::vector<uint64_t> tail(const void *info)
    {
        encode(info);
        std::vector<uint64_t> serials((form_.key.size - form_.size) / 8);
        if (!serials.empty()) {
            std::memcpy(serials.data(), form_.key.data + form_.size, serials.size() * 8);
        }
        return serials;
    }

    template <typename T> T *decode(const std::string &form)
    {
        return static_cast<T *>(canonical_decode(form.data(), form.size(), &handles_.sources));
    }

    VkShaderModuleCreateInfo module_info() const
    {
        VkShaderModuleCreateInfo info = {};
        info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
        info.codeSize = sizeof(code_);
        info.pCode = code_;
        return info;
    }

    static VkComputePipelineCreateInfo compute_info()
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

    void expect(const void *info, canonical_verdict verdict, canonical_cause cause)
    {
        encode(info);
        EXPECT_EQ(form_.verdict, verdict);
        EXPECT_EQ(form_.cause, cause) << canonical_cause_id(form_.cause);
        if (verdict == CANONICAL_UNKNOWN) {
            EXPECT_EQ(form_.key.size, 0u);
            EXPECT_EQ(form_.size, 0u);
        }
    }
};

TEST_F(Canonical, plain_pipeline_is_shared_and_complete)
{
    auto info = compute_info();
    expect(&info, CANONICAL_SHARE, CANONICAL_CAUSE_NONE);
    EXPECT_TRUE(form_.complete);
    EXPECT_EQ(form_.size, form_.key.size);
    EXPECT_TRUE(digest_equal(form_.digest, form_.key_digest));
    EXPECT_TRUE(digest_equal(form_.digest, digest_of(form_.key.data, form_.size)));
    EXPECT_EQ(canonical_stype(form_.key.data, form_.size), info.sType);
}

TEST_F(Canonical, memory_is_used_again)
{
    auto info = compute_info();
    encode(&info);
    const uint8_t *memory = form_.key.data;
    for (int i = 0; i < 100; i++) {
        encode(&info);
    }
    EXPECT_EQ(form_.key.data, memory);
}

TEST_F(Canonical, handle_that_nobody_knows_passes)
{
    auto info = compute_info();
    handles_.unknown_handle = 12;
    expect(&info, CANONICAL_UNKNOWN, CANONICAL_CAUSE_HANDLE);
}

TEST_F(Canonical, unknown_struct_passes) // 17
{
    VkBaseInStructure unknown = {};
    unknown.sType = (VkStructureType)0x7ffffff0;
    unknown.pNext = &unknown; // and a cycle ends
    auto info = compute_info();
    info.pNext = &unknown;
    expect(&info, CANONICAL_UNKNOWN, CANONICAL_CAUSE_STRUCT);
    info.pNext = nullptr;
    info.stage.pNext = &unknown;
    expect(&info, CANONICAL_UNKNOWN, CANONICAL_CAUSE_STRUCT);
    expect(&unknown, CANONICAL_UNKNOWN, CANONICAL_CAUSE_STRUCT);
}

TEST_F(Canonical, unknown_flag_passes) // 17
{
    auto info = compute_info();
    info.flags = 1u << 28;
    expect(&info, CANONICAL_UNKNOWN, CANONICAL_CAUSE_FLAG);
    info.flags = 0;
    info.stage.flags = 1u << 30;
    expect(&info, CANONICAL_UNKNOWN, CANONICAL_CAUSE_FLAG);
}

TEST_F(Canonical, wrong_stype_passes)
{
    auto info = compute_info();
    info.stage.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    expect(&info, CANONICAL_UNKNOWN, CANONICAL_CAUSE_INVALID);
}

TEST_F(Canonical, effective_flags_alone_count) // 21
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

TEST_F(Canonical, whether_it_may_compile_is_no_part_of_it) // 22
{
    auto info = compute_info();
    auto impatient = info;
    impatient.flags = VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT |
                      VK_PIPELINE_CREATE_EARLY_RETURN_ON_FAILURE_BIT;
    EXPECT_TRUE(same(&info, &impatient));
    impatient.flags = VK_PIPELINE_CREATE_ALLOW_DERIVATIVES_BIT;
    EXPECT_FALSE(same(&info, &impatient));
}

TEST_F(Canonical, derivatives_are_kept_apart) // 24
{
    auto info = compute_info();
    info.flags = VK_PIPELINE_CREATE_DERIVATIVE_BIT;
    info.basePipelineHandle = (VkPipeline)99;
    expect(&info, CANONICAL_NODEDUPE, CANONICAL_CAUSE_DERIVATIVE);
    EXPECT_TRUE(form_.complete);
    auto plain = compute_info();
    EXPECT_TRUE(same(&info, &plain)); // as a recipe it stands for itself
}

TEST_F(Canonical, deferred_compilation_is_kept_apart) // 24
{
    VkRayTracingPipelineCreateInfoNV info = {};
    info.sType = VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_NV;
    info.flags = VK_PIPELINE_CREATE_DEFER_COMPILE_BIT_NV;
    expect(&info, CANONICAL_NODEDUPE, CANONICAL_CAUSE_DEFERRED);
}

TEST_F(Canonical, binaries_pass) // 25
{
    BinaryInfo binaries;
    auto plain = compute_info();
    auto info = compute_info();
    info.pNext = &binaries;
    EXPECT_TRUE(same(&plain, &info)); // an empty list is none, and is not read
    binaries.count = 1;
    expect(&info, CANONICAL_UNKNOWN, CANONICAL_CAUSE_CACHE_FORBIDDEN);
    CreateFlags2 flags;
    flags.flags = RULES_PIPELINE_CAPTURE_DATA;
    info.pNext = &flags;
    expect(&info, CANONICAL_UNKNOWN, CANONICAL_CAUSE_CACHE_FORBIDDEN);
}

TEST_F(Canonical, capture_and_replay_give_identity) // 6
{
    VkRayTracingShaderGroupCreateInfoKHR group = {};
    group.sType = VK_STRUCTURE_TYPE_RAY_TRACING_SHADER_GROUP_CREATE_INFO_KHR;
    VkRayTracingPipelineCreateInfoKHR info = {};
    info.sType = VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR;
    info.groupCount = 1;
    info.pGroups = &group;
    expect(&info, CANONICAL_SHARE, CANONICAL_CAUSE_NONE);
    std::string plain = bytes(&info);
    group.pShaderGroupCaptureReplayHandle = nowhere<void>();
    expect(&info, CANONICAL_NODEDUPE, CANONICAL_CAUSE_IDENTITY);
    EXPECT_FALSE(form_.complete);
    EXPECT_NE(bytes(&info), plain);
    EXPECT_EQ(decode<void>(bytes(&info)), nullptr);
    group.pShaderGroupCaptureReplayHandle = nullptr;
    info.flags = VK_PIPELINE_CREATE_RAY_TRACING_SHADER_GROUP_HANDLE_CAPTURE_REPLAY_BIT_KHR;
    expect(&info, CANONICAL_NODEDUPE, CANONICAL_CAUSE_IDENTITY);
}

TEST_F(Canonical, captured_descriptor_data_gives_identity) // 6
{
    VkOpaqueCaptureDescriptorDataCreateInfoEXT data = {};
    data.sType = VK_STRUCTURE_TYPE_OPAQUE_CAPTURE_DESCRIPTOR_DATA_CREATE_INFO_EXT;
    data.opaqueCaptureDescriptorData = nowhere<void>();
    VkSamplerCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO;
    info.pNext = &data;
    expect(&info, CANONICAL_NODEDUPE, CANONICAL_CAUSE_IDENTITY);
    EXPECT_FALSE(form_.complete);
}

TEST_F(Canonical, shader_groups_are_kept_apart) // 13
{
    VkGraphicsPipelineShaderGroupsCreateInfoNV groups = {};
    groups.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_SHADER_GROUPS_CREATE_INFO_NV;
    groups.groupCount = 3;
    groups.pGroups = nowhere<VkGraphicsShaderGroupCreateInfoNV>();
    VkGraphicsPipelineCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO;
    info.pNext = &groups;
    expect(&info, CANONICAL_NODEDUPE, CANONICAL_CAUSE_IDENTITY);
    EXPECT_FALSE(form_.complete);
}

TEST_F(Canonical, side_effects_happen_each_time) // 32
{
    VkShaderModuleValidationCacheCreateInfoEXT cache = {};
    cache.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_VALIDATION_CACHE_CREATE_INFO_EXT;
    cache.validationCache = (VkValidationCacheEXT)77;
    auto plain = module_info();
    auto info = module_info();
    info.pNext = &cache;
    EXPECT_TRUE(same(&plain, &info));
    expect(&info, CANONICAL_NODEDUPE, CANONICAL_CAUSE_SIDE_EFFECT);
    EXPECT_TRUE(form_.complete);
}

TEST_F(Canonical, names_and_outputs_are_left_out) // 28, 32
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

TEST_F(Canonical, module_form_holds_the_digest_of_the_code)
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

TEST_F(Canonical, inline_code_is_the_module_of_it) // 31
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

TEST_F(Canonical, stage_without_any_code_passes)
{
    auto info = compute_info();
    info.stage.module = VK_NULL_HANDLE;
    expect(&info, CANONICAL_UNKNOWN, CANONICAL_CAUSE_INVALID);
}

TEST_F(Canonical, module_identifiers_are_no_code) // 30
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

TEST_F(Canonical, specialization_data_is_kept_as_it_is)
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

TEST_F(Canonical, floats_count_by_their_bits) // 15
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

TEST_F(Canonical, pointer_with_a_count_of_zero_is_not_read) // 15
{
    VkDescriptorSetLayoutCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    digest empty = content(&info);
    info.pBindings = nowhere<VkDescriptorSetLayoutBinding>();
    EXPECT_TRUE(digest_equal(empty, content(&info)));
}

TEST_F(Canonical, immutable_samplers_are_named_by_serial) // 12
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

TEST_F(Canonical, conversion_of_a_sampler_is_named_by_serial) // 12
{
    VkSamplerYcbcrConversionInfo conversion = {};
    conversion.sType = VK_STRUCTURE_TYPE_SAMPLER_YCBCR_CONVERSION_INFO;
    conversion.conversion = (VkSamplerYcbcrConversion)31;
    VkSamplerCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO;
    info.pNext = &conversion;
    EXPECT_EQ(tail(&info), std::vector<uint64_t>{32});
}

TEST_F(Canonical, layouts_are_named_by_serial_where_drivers_may_keep_them) // 11
{
    auto info = compute_info();
    EXPECT_EQ(tail(&info), std::vector<uint64_t>());
    handles_.context.layouts_by_serial = true;
    EXPECT_EQ(tail(&info), std::vector<uint64_t>{13});
}

TEST_F(Canonical, what_has_a_tail_of_its_own_is_named_by_serial) // 12
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

TEST_F(Canonical, libraries_are_named_by_serial) // 13
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

TEST_F(Canonical, what_is_too_long_passes)
{
    std::vector<char> name(CANONICAL_MAX_SIZE, 'x');
    name.push_back(0);
    auto info = compute_info();
    info.stage.pName = name.data();
    expect(&info, CANONICAL_UNKNOWN, CANONICAL_CAUSE_SIZE);
    info.stage.pName = "main";
    expect(&info, CANONICAL_SHARE, CANONICAL_CAUSE_NONE);
}

TEST_F(Canonical, causes_have_ids_of_their_own)
{
    std::map<std::string, int> ids;
    for (int cause = CANONICAL_CAUSE_NONE; cause <= CANONICAL_CAUSE_DOUBT; cause++) {
        ids[canonical_cause_id(static_cast<canonical_cause>(cause))]++;
    }
    EXPECT_EQ(ids.size(), static_cast<size_t>(CANONICAL_CAUSE_DOUBT) + 1);
}

} // namespace
