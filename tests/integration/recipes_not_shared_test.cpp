// SPDX-License-Identifier: Apache-2.0
// What is recorded where handles are not shared: they are named all the same.
#include "recipes.hpp"
#include "things.hpp"

namespace {

class NotSharedTest : public RecipesTest {
  protected:
    void expect_recorded(const std::function<void()> &program, const ProgramOptions &options = {})
    {
        const Outcome first = run(program);
        EXPECT_EQ(first.stats_of()["pipelines"]["deduplicated"], 0);
        EXPECT_EQ(recipes().uses.size(), 5u);
        EXPECT_TRUE(recipes().whole());
        EXPECT_EQ(contents(replay(5, options)), contents(first));
    }
};

TEST_F(NotSharedTest, BySetting)
{
    environment["WARMPIPE_DEDUP"] = "none";
    expect_recorded(creates_five);
}

TEST_F(NotSharedTest, ModulesAlone)
{
    environment["WARMPIPE_DEDUP"] = "pipelines";
    expect_recorded(creates_five);
}

TEST_F(NotSharedTest, ForPrivateData)
{
    VkPhysicalDevicePrivateDataFeatures features = {
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRIVATE_DATA_FEATURES};
    features.privateData = VK_TRUE;
    ProgramOptions options;
    options.features = &features;
    expect_recorded([&] { Program(options).create_compute(0, 5); }, options);
}

TEST_F(NotSharedTest, ForAnAllocator)
{
    expect_recorded([] {
        Program program;
        Things things(program);
        CountingAllocator allocator;
        for (unsigned number = 0; number < 4; ++number) {
            things.destroy(Thing::pipeline, things.create(Thing::pipeline, number, allocator.get()),
                           allocator.get());
        }
        program.create(Kind::graphics, 1);
    });
}

// Vulkan does not look at them when the pipeline is created, but when it is used.
TEST_F(NotSharedTest, ForFormatsOfDiscardedRasterization)
{
    expect_recorded([] {
        Program program;
        Batch batch(program, Kind::graphics, {0, 1, 2, 3, 4});
        batch.rendering().colorAttachmentCount = 1;
        batch.rendering().pColorAttachmentFormats = reinterpret_cast<const VkFormat *>(8);
        EXPECT_EQ(batch.create(), VK_SUCCESS);
    });
}

} // namespace
