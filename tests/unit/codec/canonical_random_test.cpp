// SPDX-License-Identifier: Apache-2.0
// The canonical form over every struct of the tables: each field counts, ignored pointers are not
// followed, and what is decoded encodes to the same bytes.
#include <set>

#include <gtest/gtest.h>

#include "create_infos.h"
#include "handles.h"

extern "C" {
#include "common/codec/rules.h"
}

namespace {

struct Encoded {
    canonical form = {};

    Encoded() = default;
    Encoded(const Encoded &) = delete;
    ~Encoded()
    {
        canonical_free(&form);
    }
    std::string bytes() const
    {
        return std::string(reinterpret_cast<const char *>(form.key.data), form.size);
    }
};

template <typename T> void set(uint8_t *at, T value)
{
    std::memcpy(at, &value, sizeof(value));
}

// What the encoder would tell liveness_of.
live_context context_of(const void *root, const Handles &handles)
{
    auto info = static_cast<const VkGraphicsPipelineCreateInfo *>(root);
    live_context context = {};
    if (info->sType == VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO) {
        pipeline_rules rules;
        graphics_chain chain;
        rules_read_head(CODEC_VkGraphicsPipelineCreateInfo, info, &rules, &chain);
        graphics_state_compute(info, info->flags, &chain, &context.graphics);
        if (info->subpass < 64) {
            const subpass_use use = {(handles.use.color >> info->subpass & 1) != 0,
                                     (handles.use.depth_stencil >> info->subpass & 1) != 0};
            graphics_state_settle(&context.graphics, &use);
        }
    }
    return context;
}

// Counts that are ignored with their arrays are not kept by the decoder.
void clear_ignored_counts(const CreateInfos &infos, const live_context &context)
{
    for (const auto &instance : infos.instances) {
        const codec_struct &type = CreateInfos::type_of(instance.type);
        for (int i = 0; i < type.member_count; i++) {
            const codec_member &member = codec_members[type.first_member + i];
            auto condition = static_cast<live_condition>(member.live);
            if (!liveness_covers_count(condition)) {
                continue;
            }
            const void *array;
            std::memcpy(&array, instance.data + member.offset, sizeof(array));
            if (!array || liveness_of(condition, instance.data, &context) != STATE_LIVE) {
                set(instance.data + member.count, uint32_t(0));
            }
        }
    }
}

TEST(CanonicalRandom, EncodeDecodeEncodeIsTheIdentity)
{
    Handles handles;
    Encoded first, second;
    std::map<codec_id, int> complete;
    for (uint64_t seed = 0; seed < 400; seed++) {
        CreateInfos infos(seed);
        for (codec_id root : all_roots()) {
            handles.use = {~0ull, seed % 2 ? ~0ull : 0, seed % 3 ? ~0ull : 0};
            void *info = infos.make_random(root);
            clear_ignored_counts(infos, context_of(info, handles));
            canonical_encode(&handles.context, info, &first.form);
            ASSERT_NE(first.form.verdict, CANONICAL_UNKNOWN)
                << "root " << root << " seed " << seed << ": " << first.form.cause;
            if (!first.form.complete) {
                continue;
            }
            complete[root]++;
            if (first.form.code) {
                handles.keep_code(first.form);
            }
            void *decoded =
                canonical_decode(first.form.key.data, first.form.size, &handles.sources);
            ASSERT_NE(decoded, nullptr) << "root " << root << " seed " << seed;
            canonical_encode(&handles.context, decoded, &second.form);
            ASSERT_EQ(first.bytes(), second.bytes()) << "root " << root << " seed " << seed;
            ASSERT_TRUE(digest_equal(first.form.digest, second.form.digest));
            free(decoded);
        }
    }
    for (codec_id root : all_roots()) {
        EXPECT_GT(complete[root], 40) << "root " << root;
    }
}

// Every pointer that is dead, and every one whose count is zero, leads nowhere.
int poison(const CreateInfos &infos, const live_context &context)
{
    int poisoned = 0;
    for (const auto &instance : infos.instances) {
        const codec_struct &type = CreateInfos::type_of(instance.type);
        for (int i = 0; i < type.member_count; i++) {
            const codec_member &member = codec_members[type.first_member + i];
            bool pointer = member.kind >= CODEC_POINTER && member.kind <= CODEC_SAMPLE_MASK;
            if (!pointer) {
                continue;
            }
            bool live = liveness_of(static_cast<live_condition>(member.live), instance.data,
                                    &context) == STATE_LIVE;
            void *was;
            std::memcpy(&was, instance.data + member.offset, sizeof(was));
            if (!live && was) {
                poisoned++;
            }
            if ((!live && was) || form_count(&member, instance.data) == 0) {
                set(instance.data + member.offset, static_cast<uintptr_t>(0xdead0));
            }
        }
    }
    return poisoned;
}

TEST(CanonicalRandom, WhatIsNotLiveIsNotFollowed)
{
    Handles handles;
    Encoded before, after;
    int poisoned = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        CreateInfos infos(seed);
        for (codec_id root : all_roots()) {
            void *info = infos.make_random(root);
            canonical_encode(&handles.context, info, &before.form);
            poisoned += poison(infos, context_of(info, handles));
            canonical_encode(&handles.context, info, &after.form);
            ASSERT_EQ(before.form.verdict, after.form.verdict);
            ASSERT_EQ(before.bytes(), after.bytes()) << "root " << root << " seed " << seed;
        }
    }
    EXPECT_GT(poisoned, 200);
}

// Fills every byte that belongs to no field.
void fill_padding(const CreateInfos &infos, uint8_t value)
{
    for (const auto &instance : infos.instances) {
        const codec_struct &type = CreateInfos::type_of(instance.type);
        std::vector<bool> used(type.size, false);
        if (type.stype != CODEC_NO_STYPE) {
            const size_t next = offsetof(VkBaseInStructure, pNext);
            std::fill_n(used.begin(), sizeof(VkStructureType), true);
            std::fill_n(used.begin() + next, sizeof(void *), true);
        }
        for (size_t i = 0; i < codec_field_count; i++) {
            if (codec_fields[i].type == instance.type) {
                std::fill_n(used.begin() + codec_fields[i].offset, codec_fields[i].size, true);
            }
        }
        for (size_t i = 0; i < type.size; i++) {
            if (!used[i]) {
                instance.data[i] = value;
            }
        }
    }
}

TEST(CanonicalRandom, PaddingDoesNotCount) // hazard 15
{
    Handles handles;
    Encoded before, after;
    CreateInfos infos(29);
    for (codec_id root : all_roots()) {
        void *info = infos.make_full(root);
        fill_padding(infos, 0x55);
        canonical_encode(&handles.context, info, &before.form);
        fill_padding(infos, 0xaa);
        canonical_encode(&handles.context, info, &after.form);
        ASSERT_EQ(before.form.verdict, CANONICAL_SHARE);
        ASSERT_EQ(before.bytes(), after.bytes()) << "root " << root;
    }
}

// Fields that a rule leaves out of the form. Every other field of every struct counts.
const std::set<std::string> left_out = {
    "VkComputePipelineCreateInfo.basePipelineHandle",       // hazard 24
    "VkComputePipelineCreateInfo.basePipelineIndex",        //
    "VkGraphicsPipelineCreateInfo.basePipelineHandle",      //
    "VkGraphicsPipelineCreateInfo.basePipelineIndex",       //
    "VkRayTracingPipelineCreateInfoKHR.basePipelineHandle", //
    "VkRayTracingPipelineCreateInfoKHR.basePipelineIndex",  //
    "VkRayTracingPipelineCreateInfoNV.basePipelineHandle",  //
    "VkRayTracingPipelineCreateInfoNV.basePipelineIndex",   //
};

// Fields that are ignored in one full create-info and count in the other (hazard 16).
const std::map<std::string, bool CreateInfos::*> ignored_unless = {
    {"VkDescriptorUpdateTemplateCreateInfo.pipelineLayout", &CreateInfos::with_push_template},
};
const std::map<std::string, bool CreateInfos::*> ignored_if = {
    {"VkDescriptorUpdateTemplateCreateInfo.descriptorSetLayout", &CreateInfos::with_push_template},
};

// Plain structs that stand inside others alone, and are tried there word by word.
const std::set<int> part_of_others = {CODEC_VkStencilOpState, CODEC_VkOffset2D, CODEC_VkExtent2D,
                                      CODEC_VkComponentMapping, CODEC_VkClearColorValue};

bool counts(const std::string &name, const CreateInfos &infos)
{
    auto unless = ignored_unless.find(name);
    auto if_set = ignored_if.find(name);
    return !left_out.count(name) && (unless == ignored_unless.end() || infos.*(unless->second)) &&
           (if_set == ignored_if.end() || !(infos.*(if_set->second)));
}

// The bits of a field that may be set, by the tables' own checks.
uint64_t mask_at(const codec_struct &type, size_t offset)
{
    for (int i = 0; i < type.check_count; i++) {
        const codec_check &check = codec_checks[type.first_check + i];
        if (check.offset == offset) {
            return check.mask;
        }
    }
    return ~0ull;
}

bool is_count(const codec_struct &type, size_t offset)
{
    for (int i = 0; i < type.member_count; i++) {
        const codec_member &member = codec_members[type.first_member + i];
        if (member.kind >= CODEC_ARRAY && member.kind <= CODEC_SAMPLE_MASK &&
            member.count == offset) {
            return true;
        }
    }
    return false;
}

bool is_embedded(const codec_struct &type, size_t offset)
{
    for (int i = 0; i < type.member_count; i++) {
        const codec_member &member = codec_members[type.first_member + i];
        if ((member.kind == CODEC_EMBEDDED || member.kind == CODEC_EMBEDDED_MAYBE ||
             member.kind == CODEC_UNION) &&
            member.offset == offset) {
            return true;
        }
    }
    return false;
}

// Says what a union holds; with another value it would be taken for something else.
bool is_selector(const codec_struct &type, size_t offset)
{
    for (int i = 0; i < type.member_count; i++) {
        const codec_member &member = codec_members[type.first_member + i];
        if (member.kind == CODEC_UNION && member.count == offset) {
            return true;
        }
    }
    return false;
}

// Changes one value of `size` bytes into another valid one and calls; then puts it back.
void with_change(const codec_struct &type, uint8_t *at, size_t offset, size_t size,
                 const std::function<void()> &call)
{
    uint64_t value = 0, was;
    std::memcpy(&value, at, size);
    was = value;
    uint64_t mask = mask_at(type, offset);
    value = is_count(type, offset) ? value / 2 : value ^ (mask & (~mask + 1));
    std::memcpy(at, &value, size);
    call();
    std::memcpy(at, &was, size);
}

class FlipOneField : public testing::Test {
  protected:
    Handles handles_;
    Encoded whole_, changed_;
    std::set<std::string> seen_;

    void flip_fields(CreateInfos &infos, const void *root)
    {
        canonical_encode(&handles_.context, root, &whole_.form);
        ASSERT_NE(whole_.form.verdict, CANONICAL_UNKNOWN) << whole_.form.cause;
        for (const auto &instance : infos.instances) {
            for (size_t i = 0; i < codec_field_count; i++) {
                if (codec_fields[i].type == instance.type) {
                    flip_field(infos, instance, codec_fields[i], root);
                }
            }
        }
        for (const auto &array : infos.values) {
            flip_values(array, root);
        }
    }

    void flip_field(CreateInfos &infos, const CreateInfos::Instance &instance,
                    const codec_field &field, const void *root)
    {
        const codec_struct &type = CreateInfos::type_of(instance.type);
        if (is_embedded(type, field.offset) || is_selector(type, field.offset)) {
            seen_.insert(field.name);
            return; // an instance of its own
        }
        if (field.pointer) {
            drop_pointer(instance, field, root);
            return;
        }
        size_t unit = field.size == 8 || field.size < 4 ? field.size : 4;
        unit = field.size > 4 && field.size % 4 != 0 ? 1 : unit;
        for (size_t at = 0; at < field.size; at += unit) {
            size_t offset = field.offset + at;
            if (mask_at(type, offset) == 0) {
                continue; // reserved: no bit can be set
            }
            with_change(type, instance.data + offset, offset, unit, [&] {
                canonical_encode(&handles_.context, root, &changed_.form);
                ASSERT_NE(changed_.form.verdict, CANONICAL_UNKNOWN) << field.name;
                EXPECT_EQ(digest_equal(whole_.form.digest, changed_.form.digest),
                          !counts(field.name, infos))
                    << field.name << " byte " << at;
            });
        }
        seen_.insert(field.name);
    }

    // A pointer that becomes NULL is told from one that is there, or refused where it must be
    // there.
    void drop_pointer(const CreateInfos::Instance &instance, const codec_field &field,
                      const void *root)
    {
        void *was;
        std::memcpy(&was, instance.data + field.offset, sizeof(was));
        set(instance.data + field.offset, static_cast<void *>(nullptr));
        canonical_encode(&handles_.context, root, &changed_.form);
        bool same = changed_.form.verdict != CANONICAL_UNKNOWN &&
                    digest_equal(whole_.form.digest, changed_.form.digest);
        EXPECT_EQ(same, was == nullptr) << field.name;
        set(instance.data + field.offset, was);
        if (was || std::string(field.name).find("CaptureReplay") != std::string::npos) {
            seen_.insert(field.name);
        }
    }

    void flip_values(const CreateInfos::Values &array, const void *root)
    {
        if (array.owner == CODEC_VkPipelineDynamicStateCreateInfo) {
            return; // each value decides what is live
        }
        for (size_t i = 0; i < array.count; i++) {
            array.data[i * array.width] ^= 1;
            canonical_encode(&handles_.context, root, &changed_.form);
            EXPECT_FALSE(digest_equal(whole_.form.digest, changed_.form.digest))
                << "array of struct " << array.owner << " element " << i;
            array.data[i * array.width] ^= 1;
        }
    }
};

TEST_F(FlipOneField, EveryFieldOfEveryStructCounts)
{
    for (bool variant : {false, true}) {
        CreateInfos infos(17);
        infos.with_render_pass = infos.with_push_template = variant;
        for (codec_id root : all_roots()) {
            void *info = infos.make_full(root);
            if (root == CODEC_VkGraphicsPipelineCreateInfo && variant) {
                // Formats chained for dynamic rendering are ignored with a render pass.
                canonical_encode(&handles_.context, info, &whole_.form);
                EXPECT_EQ(whole_.form.verdict, CANONICAL_SHARE);
                continue;
            }
            flip_fields(infos, info);
        }
    }
    for (size_t i = 0; i < codec_field_count; i++) {
        EXPECT_TRUE(seen_.count(codec_fields[i].name) || part_of_others.count(codec_fields[i].type))
            << codec_fields[i].name << " was not tried";
    }
}

} // namespace
