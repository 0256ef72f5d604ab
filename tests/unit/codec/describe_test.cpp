// SPDX-License-Identifier: Apache-2.0
// A canonical form as text: fields by their paths, values by the registry's names.
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "graphics_info.h"
#include "handles.h"

extern "C" {
#include "common/codec/canonical.h"
}

namespace {

class Describe : public testing::Test {
  protected:
    GraphicsInfo g_;

    std::map<std::string, std::string> fields()
    {
        Handles handles;
        canonical form = {};
        std::map<std::string, std::string> fields;
        canonical_encode(&handles.context, &g_.info, &form);
        EXPECT_TRUE(form.complete) << form.cause;
        EXPECT_TRUE(canonical_describe(
            form.key.data, form.size,
            [](void *user, const char *path, const char *value) {
                auto &all = *static_cast<std::map<std::string, std::string> *>(user);
                EXPECT_TRUE(all.emplace(path, value).second) << path << " twice";
            },
            &fields));
        canonical_free(&form);
        return fields;
    }
};

TEST_F(Describe, EnumerantsHaveTheRegistrysNames)
{
    g_.input_assembly.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP;
    g_.attachment.blendEnable = VK_TRUE;
    g_.attachment.dstColorBlendFactor = VK_BLEND_FACTOR_ONE_MINUS_SRC_ALPHA;
    g_.color_blend.blendConstants[1] = 0.5f;
    auto found = fields();
    EXPECT_EQ(found["pNext.VkPipelineRenderingCreateInfo.pColorAttachmentFormats"],
              "VK_FORMAT_R8G8B8A8_UNORM");
    EXPECT_EQ(found["pNext.VkPipelineRenderingCreateInfo.colorAttachmentCount"], "1");
    EXPECT_EQ(found["pStages[0].stage"], "VK_SHADER_STAGE_VERTEX_BIT");
    EXPECT_EQ(found["pStages[1].stage"], "VK_SHADER_STAGE_FRAGMENT_BIT");
    EXPECT_EQ(found["pInputAssemblyState.topology"], "VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP");
    EXPECT_EQ(found["pMultisampleState.rasterizationSamples"], "VK_SAMPLE_COUNT_1_BIT");
    EXPECT_EQ(found["pColorBlendState.pAttachments[0].dstColorBlendFactor"],
              "VK_BLEND_FACTOR_ONE_MINUS_SRC_ALPHA");
    EXPECT_EQ(found["pColorBlendState.pAttachments[0].blendEnable"], "true");
    EXPECT_EQ(found["pDynamicState.pDynamicStates"],
              "VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR");
    EXPECT_EQ(found["pRasterizationState.lineWidth"], "1");
}

TEST_F(Describe, FlagsHaveTheNameOfEachBit)
{
    g_.info.flags = VK_PIPELINE_CREATE_DISABLE_OPTIMIZATION_BIT |
                    VK_PIPELINE_CREATE_VIEW_INDEX_FROM_DEVICE_INDEX_BIT;
    g_.attachment.colorWriteMask = VK_COLOR_COMPONENT_R_BIT | VK_COLOR_COMPONENT_A_BIT;
    g_.rasterization.cullMode = VK_CULL_MODE_FRONT_AND_BACK;
    auto found = fields();
    EXPECT_EQ(found["flags"], "VK_PIPELINE_CREATE_DISABLE_OPTIMIZATION_BIT | "
                              "VK_PIPELINE_CREATE_VIEW_INDEX_FROM_DEVICE_INDEX_BIT");
    EXPECT_EQ(found["pColorBlendState.pAttachments[0].colorWriteMask"],
              "VK_COLOR_COMPONENT_R_BIT | VK_COLOR_COMPONENT_A_BIT");
    EXPECT_EQ(found["pRasterizationState.cullMode"], "VK_CULL_MODE_FRONT_AND_BACK");
    EXPECT_EQ(found["pRasterizationState.flags"], "0x0");
}

TEST_F(Describe, AValueWithoutANameIsANumber)
{
    g_.input_assembly.topology = static_cast<VkPrimitiveTopology>(0x4000);
    EXPECT_EQ(fields()["pInputAssemblyState.topology"], "16384");
}

TEST_F(Describe, AStructInPlaceIsToldByItsFields)
{
    g_.info.pDepthStencilState = &g_.depth_stencil;
    g_.rendering.stencilAttachmentFormat = VK_FORMAT_S8_UINT;
    g_.rendering.depthAttachmentFormat = VK_FORMAT_D32_SFLOAT;
    g_.depth_stencil.stencilTestEnable = VK_TRUE;
    g_.depth_stencil.front.passOp = VK_STENCIL_OP_REPLACE;
    g_.depth_stencil.back.compareMask = 7;
    auto found = fields();
    EXPECT_EQ(found["pDepthStencilState.front.passOp"], "VK_STENCIL_OP_REPLACE");
    EXPECT_EQ(found["pDepthStencilState.back.compareMask"], "7");
    EXPECT_EQ(found["pNext.VkPipelineRenderingCreateInfo.stencilAttachmentFormat"],
              "VK_FORMAT_S8_UINT");
}

TEST_F(Describe, FlagsThatOnlyTheNewerStructHolds)
{
    rules_flags_2 flags = {};
    flags.stype = static_cast<VkStructureType>(RULES_STYPE_FLAGS_2);
    flags.next = &g_.rendering;
    flags.flags = 1 | 1ull << 27;
    g_.info.pNext = &flags;
    auto found = fields();
    size_t named = 0;
    for (const auto &[path, value] : found) {
        EXPECT_NE(path[0], '.') << path;
        named += path.find("flags") != std::string::npos && value != "0x0";
    }
    EXPECT_EQ(named, 1u);
}

TEST_F(Describe, ALongListEndsInDots)
{
    const std::vector<VkFormat> formats(200, VK_FORMAT_R8G8B8A8_UNORM);
    g_.rendering.colorAttachmentCount = 200;
    g_.rendering.pColorAttachmentFormats = formats.data();
    const std::string told =
        fields()["pNext.VkPipelineRenderingCreateInfo.pColorAttachmentFormats"];
    EXPECT_EQ(told.substr(told.size() - 5), ", ...");
    EXPECT_LT(told.size(), 2048u);
}

} // namespace
