// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

extern "C" {
#include "common/spirv/spirv.h"
}

namespace {

using Words = std::vector<uint32_t>;
using Size = std::array<uint32_t, 3>;

// The head of a module: what stands before its functions.
class Module {
  public:
    Words words = {0x07230203, 0x00010000, 0, 100, 0, 0x0003000e, 0, 1};

    Module &op(uint32_t code, const Words &operands)
    {
        words.push_back(static_cast<uint32_t>(operands.size() + 1) << 16 | code);
        words.insert(words.end(), operands.begin(), operands.end());
        return *this;
    }

    Module &entry(uint32_t id, const std::string &name, uint32_t model = 5)
    {
        Words operands(2 + name.size() / 4 + 1);
        operands[0] = model;
        operands[1] = id;
        std::memcpy(&operands[2], name.data(), name.size());
        operands.push_back(77); // an interface variable
        return op(15, operands);
    }

    std::optional<Size> size(const char *name = "main",
                             const VkSpecializationInfo *info = nullptr) const
    {
        Size found = {};
        return spirv_workgroup_size(words.data(), words.size() * 4, name, info, found.data())
                   ? std::optional<Size>(found)
                   : std::nullopt;
    }
};

Module with_local_size()
{
    return Module().entry(4, "main").op(16, {4, 17, 8, 4, 2});
}

// ids 10, 11, 12; the first is specialized by 7.
Module &constants(Module &module)
{
    return module.op(71, {10, 1, 7}).op(50, {6, 10, 64}).op(43, {6, 11, 2}).op(50, {6, 12, 1});
}

struct Specialization {
    uint32_t value;
    VkSpecializationMapEntry entry = {7, 0, sizeof(value)};
    VkSpecializationInfo info = {1, &entry, sizeof(value), &value};
};

TEST(SpirvWorkgroup, LocalSize)
{
    EXPECT_EQ(with_local_size().size(), (Size{8, 4, 2}));
}

TEST(SpirvWorkgroup, OfTheEntryPointThatIsMeant)
{
    Module module = Module().entry(4, "main").entry(5, "mainly").entry(6, "main", 0);
    module.op(16, {6, 17, 9, 9, 9}).op(16, {5, 17, 1, 2, 3}).op(16, {4, 17, 8, 4, 2});
    EXPECT_EQ(module.size("main"), (Size{8, 4, 2}));
    EXPECT_EQ(module.size("mainly"), (Size{1, 2, 3}));
    EXPECT_EQ(module.size("mai"), std::nullopt);
    EXPECT_EQ(module.size("a name longer than the instruction"), std::nullopt);
}

TEST(SpirvWorkgroup, LocalSizeId)
{
    Module module = Module().entry(4, "main").op(331, {4, 38, 10, 11, 12});
    constants(module);
    EXPECT_EQ(module.size(), (Size{64, 2, 1}));
    Specialization special{256};
    EXPECT_EQ(module.size("main", &special.info), (Size{256, 2, 1}));
    special.entry.constantID = 8;
    EXPECT_EQ(module.size("main", &special.info), (Size{64, 2, 1}));
}

TEST(SpirvWorkgroup, TheBuiltInWins)
{
    Module module = with_local_size().op(71, {20, 11, 25});
    constants(module).op(51, {9, 20, 10, 11, 12});
    EXPECT_EQ(module.size(), (Size{64, 2, 1}));
    Specialization special{32};
    EXPECT_EQ(module.size("main", &special.info), (Size{32, 2, 1}));
}

TEST(SpirvWorkgroup, WhatCannotBeReadIsNotKnown)
{
    EXPECT_EQ(Module().entry(4, "main").size(), std::nullopt);
    // An operation on specialization constants.
    Module computed = Module().entry(4, "main").op(331, {4, 38, 10, 11, 13});
    constants(computed).op(52, {6, 13, 128, 10, 11});
    EXPECT_EQ(computed.size(), std::nullopt);
    // A composite of two, and one that is not there.
    Module none = with_local_size().op(71, {20, 11, 25});
    EXPECT_EQ(none.size(), std::nullopt);
    Module two = none;
    constants(two).op(51, {9, 20, 10, 11});
    EXPECT_EQ(two.size(), std::nullopt);
    Module scalar = none;
    EXPECT_EQ(scalar.op(50, {6, 20, 64, 1, 1}).size(), std::nullopt);
    // Data of another width, or outside what there is.
    Module module = Module().entry(4, "main").op(331, {4, 38, 10, 11, 12});
    constants(module);
    Specialization special{1};
    special.entry.size = 8;
    EXPECT_EQ(module.size("main", &special.info), std::nullopt);
    special.entry = {7, 1, 4};
    EXPECT_EQ(module.size("main", &special.info), std::nullopt);
}

TEST(SpirvWorkgroup, StopsAtTheFirstFunction)
{
    Module module = Module().entry(4, "main").op(54, {1, 4, 0, 3}).op(56, {});
    EXPECT_EQ(module.op(16, {4, 17, 8, 4, 2}).size(), std::nullopt);
    Module late = Module().op(54, {1, 4, 0, 3}).op(56, {}).entry(4, "main");
    EXPECT_EQ(late.op(16, {4, 17, 8, 4, 2}).size(), std::nullopt);
}

TEST(SpirvWorkgroup, ReadsNothingOutsideWhateverIsCut)
{
    Module module = with_local_size().op(71, {20, 11, 25});
    constants(module).op(51, {9, 20, 10, 11, 12});
    for (size_t words = 0; words < module.words.size(); words++) {
        Module cut;
        cut.words.assign(module.words.begin(),
                         module.words.begin() + static_cast<std::ptrdiff_t>(words));
        cut.words.shrink_to_fit();
        cut.size();
    }
    for (size_t at = 5; at < module.words.size(); at++) {
        for (uint32_t length : {0u, 1u, 2u, 3u, 0xffffu}) {
            Module bent = module;
            bent.words[at] = length << 16 | (bent.words[at] & 0xffff);
            bent.size();
        }
    }
    Module foreign = with_local_size();
    foreign.words[0] = 0x03022307;
    EXPECT_EQ(foreign.size(), std::nullopt);
}

} // namespace
