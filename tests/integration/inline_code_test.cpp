// SPDX-License-Identifier: Apache-2.0
// Code that a stage brings along instead of a module, compiled ahead as its program gave it.
#include <functional>

#include "prewarm.hpp"

namespace {

// A driver that keys code in a stage otherwise than a module of it. Of three pipelines two bring
// their code along.
class InlineCodeTest : public PrewarmTest {
  protected:
    // How many the second start finds, when all were compiled ahead.
    json hits()
    {
        environment["WPTEST_ICD_INLINE_APART"] = "1";
        environment["WARMPIPE_APP"] = "inline";
        run([&] { create(); });
        environment["WPTEST_ICD_DRIVER_VERSION"] = "4713";
        const std::string log = folder() / "log";
        environment["WARMPIPE_LOG"] = "info:" + log;
        const Outcome outcome = run([&] {
            create([&] {
                wait_until([&] { return read_text(log).find("prewarmed 3") != std::string::npos; });
            });
        });
        return outcome.stats_of()["pipelines"]["driver_hits"];
    }

    void create(const std::function<void()> &wait = [] {}) const
    {
        Program program(options);
        wait();
        for (uint32_t i = 0; i < 3; i++) {
            const std::vector<uint32_t> code = shader_code(Kind::compute, i);
            VkShaderModuleCreateInfo module = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
            module.codeSize = code.size() * sizeof code[0];
            module.pCode = code.data();
            Batch batch(program, Kind::compute, {i});
            if (i != 1) {
                batch.stage(0).module = VK_NULL_HANDLE;
                batch.stage(0).pNext = &module;
            }
            EXPECT_EQ(batch.create(), VK_SUCCESS);
        }
    }

    ProgramOptions options;
    VkPhysicalDeviceGraphicsPipelineLibraryFeaturesEXT libraries = {
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GRAPHICS_PIPELINE_LIBRARY_FEATURES_EXT};

    void SetUp() override
    {
        PrewarmTest::SetUp();
        options.device_extensions = {VK_KHR_PIPELINE_LIBRARY_EXTENSION_NAME,
                                     VK_EXT_GRAPHICS_PIPELINE_LIBRARY_EXTENSION_NAME};
        options.features = &libraries;
    }
};

TEST_F(InlineCodeTest, IsGivenInTheStageThatBroughtIt)
{
    libraries.graphicsPipelineLibrary = VK_TRUE;
    EXPECT_EQ(hits(), 3);
}

// Recipes may come from anywhere, and say so of a device that does not allow it.
TEST_F(InlineCodeTest, IsAModuleWhereTheDeviceDoesNotAllowIt)
{
    EXPECT_EQ(hits(), 1);
}

} // namespace
