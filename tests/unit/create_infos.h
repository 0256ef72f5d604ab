// SPDX-License-Identifier: Apache-2.0
// Create-infos made by the codec's own tables: random ones, and full ones in which everything that
// can be there is there and live. The structs are real ones in memory, so that the encoder and the
// decoder are tried with every struct that they know.
#ifndef WARMPIPE_TESTS_CREATE_INFOS_H
#define WARMPIPE_TESTS_CREATE_INFOS_H

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <vulkan/vulkan.h>

extern "C" {
#include "common/codec/liveness.h"
#include "common/codec/table.h"
}

class CreateInfos {
  public:
    struct Instance {
        codec_id type;
        uint8_t *data;
    };

    // An array of scalars.
    struct Values {
        codec_id owner;
        const codec_member *member;
        uint8_t *data;
        size_t count;
        size_t width;
    };

    explicit CreateInfos(uint64_t seed) : random_(seed)
    {
    }

    // Everything is random, within what the encoder knows.
    void *make_random(codec_id root)
    {
        full_ = false;
        return make(root);
    }

    // Every pointer is there, every array has elements, every chain holds every struct it can.
    void *make_full(codec_id root)
    {
        full_ = true;
        return make(root);
    }

    bool with_render_pass = false;   // in full graphics pipelines
    bool with_push_template = false; // in full update templates
    std::vector<Instance> instances; // of the last create-info
    std::vector<Values> values;

    static const codec_struct &type_of(codec_id id)
    {
        return codec_structs[id];
    }

    static const codec_field *field(const std::string &name)
    {
        for (size_t i = 0; i < codec_field_count; i++) {
            if (name == codec_fields[i].name) {
                return &codec_fields[i];
            }
        }
        return nullptr;
    }

  private:
    std::mt19937_64 random_;
    bool full_ = false;
    std::vector<std::unique_ptr<uint64_t[]>> memory_;
    uint32_t stage_ = 0;
    uint32_t source_ = 0;

    void *make(codec_id root)
    {
        memory_.clear();
        instances.clear();
        values.clear();
        stage_ = source_ = 0;
        void *data = allocate(type_of(root).size);
        fill(root, static_cast<uint8_t *>(data), true);
        return data;
    }

    uint64_t below(uint64_t limit)
    {
        return random_() % limit;
    }

    bool perhaps()
    {
        return full_ || below(2) == 0;
    }

    uint8_t *allocate(size_t size)
    {
        memory_.emplace_back(new uint64_t[size / 8 + 1]());
        return reinterpret_cast<uint8_t *>(memory_.back().get());
    }

    template <typename T> static void set(uint8_t *at, T value)
    {
        std::memcpy(at, &value, sizeof(value));
    }

    template <typename T> static T get(const uint8_t *at)
    {
        T value;
        std::memcpy(&value, at, sizeof(value));
        return value;
    }

    void fill(codec_id id, uint8_t *data, bool with_chain)
    {
        const codec_struct &type = type_of(id);
        instances.push_back({id, data});
        if (type.stype != CODEC_NO_STYPE) {
            set(data, type.stype);
        }
        const codec_member *members = &codec_members[type.first_member];
        for (int i = 0; i < type.member_count; i++) {
            fill_scalar(members[i], data);
        }
        for (int i = 0; i < type.check_count; i++) {
            apply(codec_checks[type.first_check + i], data);
        }
        pin(id, data);
        for (int i = 0; i < type.member_count; i++) {
            fill_count(members[i], data);
        }
        for (int i = 0; i < type.member_count; i++) {
            fill_union(id, members[i], data);
        }
        for (int i = 0; i < type.member_count; i++) {
            fill_pointer(id, members[i], data);
        }
        if (type.stype != CODEC_NO_STYPE && with_chain) {
            fill_chain(id, data);
        }
    }

    void fill_scalar(const codec_member &member, uint8_t *data)
    {
        static const size_t widths[] = {4, 8, 2, 1, sizeof(size_t)};
        uint8_t *at = data + member.offset;
        if (member.kind <= CODEC_SIZE) {
            size_t count =
                member.kind == CODEC_HALF || member.kind == CODEC_SIZE ? 1 : member.count;
            for (size_t i = 0; i < count * widths[member.kind]; i++) {
                at[i] = static_cast<uint8_t>(random_());
            }
        } else if (member.kind == CODEC_HANDLE || member.kind == CODEC_STAGE_CODE) {
            set(at, full_ || member.kind == CODEC_STAGE_CODE || perhaps() ? below(1000) + 1 : 0);
        } else if (member.kind == CODEC_PIPELINE_FLAGS) {
            set(at, static_cast<uint32_t>(random_()) & (full_ ? 0u : 0x07ffffffu));
        } else if (member.kind == CODEC_EMBEDDED || member.kind == CODEC_EMBEDDED_MAYBE) {
            fill(static_cast<codec_id>(member.type), at, true);
        }
    }

    static void apply(const codec_check &check, uint8_t *data)
    {
        if (check.size == 4) {
            set(data + check.offset,
                static_cast<uint32_t>(get<uint32_t>(data + check.offset) & check.mask));
        } else {
            set(data + check.offset, get<uint64_t>(data + check.offset) & check.mask);
        }
    }

    void put(const char *name, codec_id id, uint8_t *data, uint64_t value)
    {
        const codec_field *found = field(name);
        if (found && found->type == id) {
            std::memcpy(data + found->offset, &value, found->size);
        }
    }

    // Values on which it hangs what is live, or whether what follows makes sense.
    void pin(codec_id id, uint8_t *data)
    {
        stage_ += id == CODEC_VkPipelineShaderStageCreateInfo;
        source_ += id == CODEC_VkDescriptorSetAndBindingMappingEXT;
        static const uint32_t stages[] = {
            VK_SHADER_STAGE_VERTEX_BIT, VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT,
            VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT, VK_SHADER_STAGE_FRAGMENT_BIT};
        put("VkSpecializationMapEntry.offset", id, data, below(4));
        put("VkSpecializationMapEntry.size", id, data, below(4));
        put("VkSpecializationInfo.dataSize", id, data, 8 + below(8));
        put("VkShaderModuleCreateInfo.codeSize", id, data, 4 + 4 * below(64));
        put("VkDescriptorSetLayoutBinding.descriptorType", id, data, full_ ? 1 : below(3));
        put("VkDescriptorUpdateTemplateCreateInfo.templateType", id, data,
            full_ ? with_push_template : below(2));
        put("VkPipelineRasterizationStateCreateInfo.rasterizerDiscardEnable", id, data,
            full_ ? 0 : below(2));
        put("VkGraphicsPipelineCreateInfo.subpass", id, data, full_ ? 0 : below(70));
        put("VkDescriptorSetAndBindingMappingEXT.source", id, data,
            full_ ? source_ % 11 : below(11));
        put("VkPipelineViewportDepthClampControlCreateInfoEXT.depthClampMode", id, data,
            full_ ? 1 : below(2));
        if (full_) {
            put("VkPipelineShaderStageCreateInfo.stage", id, data, stages[stage_ % 4]);
            put("VkGraphicsPipelineLibraryCreateInfoEXT.flags", id, data, 0xf);
            put("VkPipelineSampleLocationsStateCreateInfoEXT.sampleLocationsEnable", id, data, 1);
            put("VkPipelineCoverageModulationStateCreateInfoNV.coverageModulationTableEnable", id,
                data, 1);
            put("VkPipelineViewportWScalingStateCreateInfoNV.viewportWScalingEnable", id, data, 1);
            if (!with_render_pass) {
                put("VkGraphicsPipelineCreateInfo.renderPass", id, data, 0);
            }
            put("VkPipelineMultisampleStateCreateInfo.rasterizationSamples", id, data, 64);
        } else if (below(2) == 0) {
            put("VkGraphicsPipelineCreateInfo.renderPass", id, data, 0);
        }
    }

    static bool has_count(const codec_member &member)
    {
        return member.kind == CODEC_ARRAY || member.kind == CODEC_HANDLE_ARRAY ||
               member.kind == CODEC_WORD_ARRAY || member.kind == CODEC_BYTE_ARRAY;
    }

    void fill_count(const codec_member &member, uint8_t *data)
    {
        if (has_count(member)) {
            set(data + member.count, static_cast<uint32_t>(full_ ? 4 : below(4)));
        }
    }

    void fill_union(codec_id owner, const codec_member &member, uint8_t *data)
    {
        if (member.kind != CODEC_UNION) {
            return;
        }
        const codec_arm *arm = codec_find_arm(&member, data);
        if (arm->type != CODEC_STRUCT_COUNT) {
            fill(static_cast<codec_id>(arm->type), data + member.offset, true);
        } else {
            set(data + member.offset, static_cast<uint32_t>(random_()));
            values.push_back({owner, &member, data + member.offset, 1, 4});
        }
    }

    void fill_pointer(codec_id owner, const codec_member &member, uint8_t *data)
    {
        if (member.kind == CODEC_STRING) {
            size_t length = below(20);
            uint8_t *text = allocate(length + 1);
            for (size_t i = 0; i < length; i++) {
                text[i] = static_cast<uint8_t>('a' + below(26));
            }
            set(data + member.offset, text);
        } else if (member.kind == CODEC_MODULE_CODE) {
            auto info = reinterpret_cast<VkShaderModuleCreateInfo *>(data);
            info->pCode = reinterpret_cast<uint32_t *>(bytes(owner, &member, info->codeSize, 1));
        } else if ((member.kind >= CODEC_POINTER && member.kind <= CODEC_SAMPLE_MASK) &&
                   (!member.optional || perhaps())) {
            set(data + member.offset, target(owner, member, form_count(&member, data)));
        }
    }

    uint8_t *bytes(codec_id owner, const codec_member *member, size_t count, size_t width)
    {
        uint8_t *data = allocate(count * width);
        values.push_back({owner, member, data, count, width});
        for (size_t i = 0; i < count * width; i++) {
            data[i] = static_cast<uint8_t>(random_());
        }
        return data;
    }

    uint8_t *target(codec_id owner, const codec_member &member, uint64_t count)
    {
        if (member.kind == CODEC_POINTER || member.kind == CODEC_ARRAY) {
            auto id = static_cast<codec_id>(member.type);
            uint8_t *data = allocate(count * type_of(id).size);
            for (uint64_t i = 0; i < count; i++) {
                fill(id, data + i * type_of(id).size, true);
            }
            return data;
        }
        if (member.kind == CODEC_HANDLE_ARRAY) {
            uint8_t *data = bytes(owner, &member, count, 8);
            for (uint64_t i = 0; i < count; i++) {
                set(data + i * 8, below(1000) + 1);
            }
            return data;
        }
        uint8_t *data = bytes(owner, &member, count, form_element_width(member.kind));
        if (owner == CODEC_VkPipelineDynamicStateCreateInfo) {
            for (uint64_t i = 0; i < count; i++) {
                set(data + i * 4, full_ ? static_cast<uint32_t>(VK_DYNAMIC_STATE_LINE_WIDTH)
                                        : codec_dynamic_states[below(codec_dynamic_state_count)]);
            }
        }
        return data;
    }

    void fill_chain(codec_id parent, uint8_t *data)
    {
        const codec_struct &type = type_of(parent);
        std::vector<codec_id> children;
        for (int i = 0; i < type.child_count; i++) {
            auto id = static_cast<codec_id>(codec_children[type.first_child + i]);
            if (type_of(id).role == CODEC_ENCODED && id != CODEC_VkShaderModuleCreateInfo &&
                (full_ || below(3) == 0)) {
                children.push_back(id);
            }
        }
        std::shuffle(children.begin(), children.end(), random_);
        auto last = reinterpret_cast<VkBaseOutStructure *>(data);
        for (codec_id id : children) {
            uint8_t *child = allocate(type_of(id).size);
            fill(id, child, false);
            last->pNext = reinterpret_cast<VkBaseOutStructure *>(child);
            last = last->pNext;
        }
    }
};

inline const std::vector<codec_id> &all_roots()
{
    static const std::vector<codec_id> roots = {
        CODEC_VkComputePipelineCreateInfo,
        CODEC_VkGraphicsPipelineCreateInfo,
        CODEC_VkRayTracingPipelineCreateInfoKHR,
        CODEC_VkRayTracingPipelineCreateInfoNV,
        CODEC_VkShaderModuleCreateInfo,
        CODEC_VkDescriptorSetLayoutCreateInfo,
        CODEC_VkPipelineLayoutCreateInfo,
        CODEC_VkDescriptorUpdateTemplateCreateInfo,
        CODEC_VkSamplerCreateInfo,
        CODEC_VkSamplerYcbcrConversionCreateInfo,
        CODEC_VkRenderPassCreateInfo,
        CODEC_VkRenderPassCreateInfo2,
    };
    return roots;
}

#endif
