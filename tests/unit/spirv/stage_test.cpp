// SPDX-License-Identifier: Apache-2.0
// What a shader stage names is in its code, and what its code uses is in the layout.
#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "faults.h"
#include "shader_words.h"

extern "C" {
#include "common/spirv/spirv.h"
}

namespace {

class ShaderStage : public testing::Test {
  protected:
    Shader shader;
    VkPipelineShaderStageCreateInfo stage = {};
    VkSpecializationInfo constants = {};
    std::vector<VkSpecializationMapEntry> entries;
    VkDescriptorSetLayoutBinding binding = {};
    VkDescriptorSetLayoutCreateInfo set = {};
    std::vector<const VkDescriptorSetLayoutCreateInfo *> sets = {nullptr, &set};
    VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 16, 16};
    spirv_layout layout = {};

    // A compute shader with a uniform buffer, and a layout that has it.
    ShaderStage()
    {
        stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
        stage.pName = "main";
        binding.binding = 2;
        binding.descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
        binding.descriptorCount = 1;
        binding.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
        set.bindingCount = 1;
        set.pBindings = &binding;
        layout.ranges = &range;
        layout.range_count = 1;
    }

    std::string check(bool with_layout = true)
    {
        return check(shader.words(), with_layout);
    }

    std::string check(const Words &words, bool with_layout = true)
    {
        layout.sets = sets.data();
        layout.set_count = static_cast<uint32_t>(sets.size());
        const std::string id = status_id(spirv_check_stage(&stage, words.data(), words.size() * 4,
                                                           with_layout ? &layout : nullptr));
        return id.empty() ? "ok" : id;
    }

    void specialize(std::vector<VkSpecializationMapEntry> with)
    {
        entries = std::move(with);
        static const uint8_t data[8] = {};
        constants.mapEntryCount = static_cast<uint32_t>(entries.size());
        constants.pMapEntries = entries.data();
        constants.dataSize = sizeof data;
        constants.pData = data;
        stage.pSpecializationInfo = &constants;
    }
};

TEST_F(ShaderStage, WhatFitsIsSound)
{
    EXPECT_EQ(check(), "ok");
    shader.name = "a name of several words";
    stage.pName = "a name of several words";
    EXPECT_EQ(check(), "ok");
}

TEST_F(ShaderStage, NamesAnEntryPointOfItsModel)
{
    for (const char *name : {"main2", "mai", "", "Main"}) {
        stage.pName = name;
        EXPECT_EQ(check(), "bad_entry_point") << name;
    }
    stage.pName = "main";
    stage.stage = VK_SHADER_STAGE_FRAGMENT_BIT;
    EXPECT_EQ(check(), "bad_entry_point");
    shader.model = 4;
    EXPECT_EQ(check(false), "ok");
    const std::map<VkShaderStageFlagBits, std::vector<uint32_t>> models = {
        {VK_SHADER_STAGE_VERTEX_BIT, {0}},
        {VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT, {1}},
        {VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT, {2}},
        {VK_SHADER_STAGE_GEOMETRY_BIT, {3}},
        {VK_SHADER_STAGE_MESH_BIT_EXT, {5268, 5365}},
        {VK_SHADER_STAGE_TASK_BIT_EXT, {5267, 5364}},
        {VK_SHADER_STAGE_RAYGEN_BIT_KHR, {5313}},
        {VK_SHADER_STAGE_INTERSECTION_BIT_KHR, {5314}},
        {VK_SHADER_STAGE_ANY_HIT_BIT_KHR, {5315}},
        {VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR, {5316}},
        {VK_SHADER_STAGE_MISS_BIT_KHR, {5317}},
        {VK_SHADER_STAGE_CALLABLE_BIT_KHR, {5318}},
    };
    for (const auto &[bit, all] : models) {
        stage.stage = bit;
        for (const uint32_t model : all) {
            shader.model = model;
            EXPECT_EQ(check(false), "ok") << model;
        }
        shader.model = 5;
        EXPECT_EQ(check(false), "bad_entry_point") << bit;
    }
}

// Drivers divide by the size of a workgroup.
TEST_F(ShaderStage, WorkgroupsHaveAnInvocation)
{
    const Words decorations = shader.decorations;
    const auto check_of = [&](const Words &size) {
        shader.decorations = instruction(16, Words{Shader::main, 17} + size) + decorations;
        return check(false);
    };
    const auto stages = {std::pair(VK_SHADER_STAGE_COMPUTE_BIT, 5u),
                         std::pair(static_cast<VkShaderStageFlagBits>(0x4000), 5u),
                         std::pair(VK_SHADER_STAGE_TASK_BIT_EXT, 5364u),
                         std::pair(VK_SHADER_STAGE_MESH_BIT_EXT, 5365u)};
    for (const auto &[bit, model] : stages) {
        stage.stage = bit;
        shader.model = model;
        EXPECT_EQ(check_of({8, 1, 1}), "ok") << model;
        for (const Words &nothing : {Words{0, 1, 1}, Words{8, 0, 1}, Words{8, 8, 0}}) {
            EXPECT_EQ(check_of(nothing), "bad_spirv") << model;
        }
    }
    stage.stage = VK_SHADER_STAGE_VERTEX_BIT;
    shader.model = 0;
    EXPECT_EQ(check_of({0, 1, 1}), "ok") << "it has none";
}

TEST_F(ShaderStage, WorkgroupsAreSpecializedToHaveAnInvocation)
{
    shader.decorations =
        instruction(331, {Shader::main, 38, Shader::specified, Shader::three, Shader::three}) +
        shader.decorations;
    EXPECT_EQ(check(), "ok");
    specialize({{7, 0, 4}});
    EXPECT_EQ(check(), "bad_spirv") << "the data are zeros";
}

TEST_F(ShaderStage, StagesOfTomorrowPass)
{
    stage.stage = static_cast<VkShaderStageFlagBits>(0x40000000);
    EXPECT_EQ(check(), "ok");
}

TEST_F(ShaderStage, ConstantsAreWithinTheirDataAndAsLargeAsInTheCode)
{
    specialize({{7, 4, 4}, {8, 0, 1}});
    EXPECT_EQ(check(), "ok");
    for (const VkSpecializationMapEntry &entry : std::vector<VkSpecializationMapEntry>{
             {7, 5, 4}, {7, 8, 4}, {7, 0, 8}, {7, 0, 2}, {7, UINT32_MAX, 4}, {7, 0, SIZE_MAX}}) {
        specialize({entry});
        EXPECT_EQ(check(), "bad_specialization") << entry.offset << " " << entry.size;
    }
    specialize({{8, 0, 4}, {7, 0, 4}, {8, 4, 4}});
    EXPECT_EQ(check(), "bad_specialization") << "one is given twice";
}

TEST_F(ShaderStage, ConstantsOfAnyTypeHaveItsSize)
{
    const auto check_size = [&](const Words &types, uint32_t id, size_t size) {
        shader.types = Shader::block() + types;
        shader.decorations = Shader::decorated(Shader::variable, 34, 1) +
                             Shader::decorated(Shader::variable, 33, 2) +
                             Shader::decorated(id, 1, 9);
        specialize({{9, 0, size}});
        return check();
    };
    const Words boolean =
        instruction(20, {30}) + instruction(48, {30, 31}) + instruction(49, {30, 32});
    EXPECT_EQ(check_size(boolean, 31, 4), "ok");
    EXPECT_EQ(check_size(boolean, 32, 1), "bad_specialization");
    const Words half = instruction(22, {30, 16}) + instruction(50, {30, 31, 0});
    EXPECT_EQ(check_size(half, 31, 2), "ok");
    EXPECT_EQ(check_size(half, 31, 4), "bad_specialization");
    EXPECT_EQ(check_size({}, 33, 1), "ok") << "nothing is known of it";
    EXPECT_EQ(check_size(instruction(50, {34, 33, 0}), 33, 1), "ok") << "nor of its type";
    EXPECT_EQ(check_size(instruction(43, {Shader::number, 33, 0}), 33, 1), "ok")
        << "no special one";
    EXPECT_EQ(check_size(instruction(20, {30}) + instruction(50, {30, 31, 0}), 31, 1), "ok");
    constants.pMapEntries = nullptr;
    EXPECT_EQ(check(), "ok");
    constants.mapEntryCount = 0;
    EXPECT_EQ(check(), "ok");
}

TEST_F(ShaderStage, WithoutMemoryNothingIsSaid)
{
    const Words words = shader.words();
    specialize({{7, 0, 4}});
    int failures = 0;
    for (int index = 0; index < 20; index++) {
        std::string result;
        {
            const Starve starve(index);
            result = check(words);
        }
        failures += result == "out_of_memory";
        EXPECT_TRUE(result == "ok" || result == "out_of_memory") << result;
    }
    EXPECT_EQ(failures, 7);
}

TEST_F(ShaderStage, DescriptorsAreInTheLayout)
{
    binding.binding = 3;
    EXPECT_EQ(check(), "bad_binding");
    EXPECT_EQ(check(false), "ok") << "not asked";
    binding.binding = 2;
    binding.descriptorCount = 0;
    EXPECT_EQ(check(), "bad_binding");
    binding.descriptorCount = 1;
    binding.stageFlags = VK_SHADER_STAGE_VERTEX_BIT;
    EXPECT_EQ(check(), "bad_binding");
    binding.stageFlags = VK_SHADER_STAGE_ALL;
    EXPECT_EQ(check(), "ok");
    sets = {&set};
    EXPECT_EQ(check(), "bad_binding");
    sets = {&set, nullptr};
    EXPECT_EQ(check(), "bad_binding");
}

TEST_F(ShaderStage, WhatIsNotUsedNeedNotBeThere)
{
    sets = {};
    EXPECT_EQ(check(), "bad_binding");
    shader.calls = false;
    EXPECT_EQ(check(), "ok");
}

TEST_F(ShaderStage, ArraysAreNoLongerThanTheLayoutHas)
{
    shader.types = Shader::array_of(Shader::block(30), Shader::three);
    EXPECT_EQ(check(), "bad_binding");
    binding.descriptorCount = 3;
    EXPECT_EQ(check(), "ok");
    binding.descriptorCount = 1;
    shader.types = Shader::array_of(Shader::block(30), Shader::specified);
    EXPECT_EQ(check(), "ok") << "a specialization may make it longer or shorter";
    shader.types = Shader::block(30) + instruction(29, {Shader::pointee, 30});
    EXPECT_EQ(check(), "ok") << "of any length";
    shader.types = Shader::array_of(Shader::block(30), Shader::three);
    binding.descriptorType = VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK;
    EXPECT_EQ(check(), "ok") << "its count is of bytes";
}

TEST_F(ShaderStage, DescriptorsAreOfTheTypeThatTheCodeHas)
{
    struct Case {
        const char *what;
        uint32_t storage;
        Words types;
        std::vector<VkDescriptorType> fit;
    };
    const uint32_t constant = 0, uniform = 2, buffer = 12;
    const Words combined = Shader::image(1, 1, 30) + instruction(27, {Shader::pointee, 30});
    const Words texels = Shader::image(5, 1, 30) + instruction(27, {Shader::pointee, 30});
    const std::vector<Case> cases = {
        {"uniform block",
         uniform,
         Shader::block(),
         {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC,
          VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK}},
        {"storage block",
         buffer,
         Shader::block(),
         {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC}},
        {"sampler",
         constant,
         instruction(26, {Shader::pointee}),
         {VK_DESCRIPTOR_TYPE_SAMPLER, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER}},
        {"sampled image",
         constant,
         Shader::image(1, 1),
         {VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER}},
        {"storage image", constant, Shader::image(1, 2), {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE}},
        {"combined", constant, combined, {VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER}},
        {"uniform texels",
         constant,
         Shader::image(5, 1),
         {VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER}},
        {"sampled texels", constant, texels, {VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER}},
        {"storage texels",
         constant,
         Shader::image(5, 2),
         {VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER}},
        {"subpass input", constant, Shader::image(6, 2), {VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT}},
        {"acceleration structure",
         constant,
         instruction(5341, {Shader::pointee}),
         {VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR,
          VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_NV}},
    };
    std::vector<VkDescriptorType> all = {VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK,
                                         VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR,
                                         VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_NV};
    for (int type = 0; type <= VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT; type++) {
        all.push_back(static_cast<VkDescriptorType>(type));
    }
    for (const Case &each : cases) {
        shader.storage = each.storage;
        shader.types = each.types;
        for (const VkDescriptorType type : all) {
            binding.descriptorType = type;
            const bool fits = std::find(each.fit.begin(), each.fit.end(), type) != each.fit.end();
            EXPECT_EQ(check(), fits ? "ok" : "bad_binding") << each.what << ": " << type;
        }
        for (const VkDescriptorType type :
             {VK_DESCRIPTOR_TYPE_MUTABLE_EXT, static_cast<VkDescriptorType>(1999999000)}) {
            binding.descriptorType = type;
            EXPECT_EQ(check(), "ok") << each.what << ": " << type;
        }
    }
    shader.storage = uniform;
    shader.types = Shader::block();
    shader.decorations = shader.decorations + instruction(71, {Shader::pointee, 3});
    binding.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    EXPECT_EQ(check(), "ok") << "BufferBlock";
}

TEST_F(ShaderStage, PushConstantsAreWithinARange)
{
    const auto member = [&](uint32_t offset) {
        shader.storage = 9;
        shader.decorations = instruction(72, {Shader::pointee, 0, 35, offset});
        return check();
    };
    EXPECT_EQ(member(16), "ok");
    EXPECT_EQ(member(28), "ok");
    EXPECT_EQ(member(12), "bad_push_constants");
    EXPECT_EQ(member(29), "bad_push_constants");
    EXPECT_EQ(member(UINT32_MAX), "bad_push_constants");
    range.stageFlags = VK_SHADER_STAGE_VERTEX_BIT;
    EXPECT_EQ(member(16), "bad_push_constants");
    layout.range_count = 0;
    EXPECT_EQ(member(16), "bad_push_constants");
    shader.calls = false;
    EXPECT_EQ(member(16), "ok") << "not used";
}

TEST_F(ShaderStage, PushConstantsAreAsLargeAsTheirParts)
{
    // Three times a matrix, 48 bytes apart, from 16 on: it ends behind byte 128.
    shader.storage = 9;
    shader.types = instruction(23, {31, Shader::number, 4}) + instruction(24, {32, 31, 2}) +
                   instruction(28, {33, 32, Shader::three}) +
                   instruction(30, {Shader::pointee, 33});
    shader.decorations = Shader::decorated(33, 6, 48) +
                         instruction(72, {Shader::pointee, 0, 35, 16}) +
                         instruction(72, {Shader::pointee, 0, 7, 16});
    range = {VK_SHADER_STAGE_ALL, 0, 128};
    EXPECT_EQ(check(), "ok");
    range.size = 124;
    EXPECT_EQ(check(), "bad_push_constants");
}

TEST_F(ShaderStage, PushConstantsOfWhatCannotBeMeasuredFit)
{
    shader.storage = 9;
    shader.decorations = {};
    range = {VK_SHADER_STAGE_ALL, 0, 8};
    const auto check_member = [&](const Words &types, uint32_t id) {
        shader.types = types + instruction(30, {Shader::pointee, id});
        return check();
    };
    const Words vector = instruction(23, {31, Shader::number, 2});
    EXPECT_EQ(check_member(vector, 31), "ok");
    EXPECT_EQ(check_member(instruction(23, {31, Shader::number, 3}), 31), "bad_push_constants");
    EXPECT_EQ(check_member(instruction(32, {31, 5349, Shader::number}), 31), "ok") << "an address";
    EXPECT_EQ(check_member(instruction(22, {31, 64}), 31), "ok");
    for (const Words &type :
         {instruction(23, {31, Shader::number}), instruction(28, {31, Shader::number}),
          instruction(28, {31, Shader::number, Shader::specified}), instruction(26, {31}),
          instruction(43, {Shader::number, 32, 0}) + instruction(28, {31, Shader::number, 32})}) {
        EXPECT_EQ(check_member(type, 31), "ok");
    }
    EXPECT_EQ(check_member({}, 31), "ok") << "of no type that is known";
    shader.types = instruction(26, {Shader::pointee});
    EXPECT_EQ(check(), "bad_spirv") << "no block";
}

TEST_F(ShaderStage, TypesThatAreTooShortDoNotFit)
{
    shader.storage = 0;
    binding.descriptorType = VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE;
    shader.types = instruction(25, {Shader::pointee, Shader::number, 1});
    EXPECT_EQ(check(), "bad_binding");
    shader.types = instruction(27, {Shader::pointee});
    EXPECT_EQ(check(), "bad_binding");
    shader.types = instruction(27, {Shader::pointee, Shader::number});
    EXPECT_EQ(check(), "bad_binding") << "combined of no image";
    shader.types = instruction(28, {Shader::pointee});
    EXPECT_EQ(check(), "bad_spirv");
    shader.types = Shader::block(30) + instruction(28, {Shader::pointee, 30});
    EXPECT_EQ(check(), "bad_binding") << "an array of no length";
}

TEST_F(ShaderStage, MoreResourcesThanAnyDeviceHasAreRefused)
{
    const auto check_of = [&](uint32_t storage, uint32_t count) {
        shader.storage = storage;
        shader.inside = {};
        shader.types = Shader::block() + instruction(32, {30, storage, Shader::pointee});
        for (uint32_t id = 100; id < 100 + count; id++) {
            shader.types = shader.types + instruction(59, {30, id, storage});
            shader.inside = shader.inside + instruction(61, {Shader::pointee, id + 10000, id});
        }
        Words words = shader.words();
        words[3] = 30000;
        return check(words);
    };
    range = {VK_SHADER_STAGE_ALL, 0, 16};
    EXPECT_EQ(check_of(9, 7), "ok");
    EXPECT_EQ(check_of(9, 8), "bad_push_constants");
    EXPECT_EQ(check_of(2, 4000), "ok") << "those of no set are looked at no further";
    EXPECT_EQ(check_of(2, 4096), "bad_spirv");
}

TEST_F(ShaderStage, DamagedCodeIsRefusedAndNothingOutsideIsRead)
{
    const Words whole = shader.words();
    for (size_t length = 0; length < whole.size(); length++) {
        const Words cut(whole.begin(), whole.begin() + static_cast<long>(length));
        EXPECT_NE(check(cut), "ok") << length;
    }
    for (size_t at = 0; at < whole.size(); at++) {
        for (const uint32_t value : {0u, 1u, 0xffffu, 0x00020000u, 0xffffffffu}) {
            Words damaged = whole;
            damaged[at] = value;
            check(damaged);
        }
    }
    for (const auto &[at, value] :
         std::map<size_t, uint32_t>{{0, 0x03022307}, {3, 0}, {3, 1u << 23}, {6, 6}}) {
        Words damaged = whole;
        damaged[at] = value;
        EXPECT_EQ(check(damaged), "bad_spirv") << at;
    }
}

TEST_F(ShaderStage, TypesOfTomorrowFitAnything)
{
    const uint32_t tensor = 4163;
    shader.storage = 0;
    shader.types = instruction(tensor, {Shader::pointee, Shader::number, Shader::three});
    EXPECT_EQ(check(), "ok");
    shader.types = instruction(tensor, {30, Shader::number, Shader::three}) +
                   instruction(28, {Shader::pointee, 30, Shader::three});
    EXPECT_EQ(check(), "bad_binding") << "an array of three";
    binding.descriptorCount = 3;
    EXPECT_EQ(check(), "ok");
    shader.types = instruction(28, {Shader::pointee, Shader::bound, Shader::three});
    EXPECT_EQ(check(), "bad_spirv") << "no id can be so large";
}

TEST_F(ShaderStage, FunctionsCallThemselvesOnNoWay)
{
    shader.inside = Shader::call_of(Shader::called, 25);
    EXPECT_EQ(check(), "bad_spirv");
    EXPECT_EQ(check(false), "bad_spirv") << "whatever the layout";
    shader.inside = Shader::call_of(Shader::main, 25);
    EXPECT_EQ(check(), "bad_spirv");
    shader.inside = Shader::call_of(30, 25);
    shader.behind = Shader::function_of(30, 31, Shader::call_of(Shader::called, 32));
    EXPECT_EQ(check(), "bad_spirv");
    shader.behind = Shader::function_of(30, 31, {});
    EXPECT_EQ(check(), "ok");
    shader.inside = shader.inside + Shader::call_of(30, 26);
    EXPECT_EQ(check(), "ok") << "twice";
    shader.inside = Shader::call_of(33, 25);
    EXPECT_EQ(check(), "bad_spirv") << "there is no such function";
}

// Each function calls the next one twice.
TEST_F(ShaderStage, CallsDoNotDoubleForEver)
{
    const auto check_of = [&](uint32_t count) {
        shader.inside = Shader::call_of(100, 25);
        shader.behind = {};
        for (uint32_t id = 100; id < 100 + count; id++) {
            const Words twice =
                Shader::call_of(id + 1, id + 300) + Shader::call_of(id + 1, id + 400);
            shader.behind = shader.behind + Shader::function_of(id, id + 200, twice);
        }
        shader.behind = shader.behind + Shader::function_of(100 + count, 300 + count, {});
        Words words = shader.words();
        words[3] = 1000;
        return check(words);
    };
    EXPECT_EQ(check_of(20), "ok");
    EXPECT_EQ(check_of(24), "bad_spirv");
    EXPECT_EQ(check_of(90), "bad_spirv");
}

// Two structs in each struct, of which the next has two: nobody waits for the sum.
TEST_F(ShaderStage, AHostileTypeTakesLittleTime)
{
    Words types = Shader::block(101);
    for (uint32_t id = 102; id < 160; id++) {
        types = types + instruction(30, {id, id - 1, id - 1});
    }
    shader.storage = 9;
    shader.types = types + instruction(30, {Shader::pointee, 159, 159});
    Words words = shader.words();
    words[3] = 1000;
    check(words);
    shader.types = instruction(30, {Shader::pointee, Shader::pointee, Shader::pointee});
    check();
    shader.types = instruction(28, {Shader::pointee, Shader::pointee, Shader::three});
    EXPECT_EQ(check(), "bad_spirv");
}

} // namespace
