// SPDX-License-Identifier: Apache-2.0
// How much a compaction reads, and of which files: it runs in programs.
#include <fcntl.h>
#include <unistd.h>

#include "recipe_samples.h"

extern "C" {
#include "common/recipes/merge.h"
}

namespace {

const uint32_t long_code = RECIPE_SEGMENT_WHOLE / 4; // words

class RecipeSources : public RecipesTest {
  protected:
    void write_pipeline(const SamplePipeline &sample)
    {
        Batch batch;
        put_pipeline(batch, sample, 20000);
        write(batch);
    }

    // Bytes that this process has read so far, also from memory of the kernel.
    static uint64_t bytes_read()
    {
        std::ifstream io("/proc/self/io");
        std::string name;
        uint64_t value = 0;
        io >> name >> value;
        EXPECT_EQ(name, "rchar:");
        return value;
    }

    // Opens all segments for a merge, does something to them, and merges.
    recipe_merge_counts merge(size_t most_held, const std::function<void()> &meanwhile)
    {
        const recipe_sources_limits hold = {most_held, UINT64_MAX, false};
        recipe_merge_limits limits = {};
        limits.max_size = UINT64_MAX;
        recipe_sources sources = {};
        recipe_merged merged = {};
        const int folder_fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY);
        EXPECT_EQ(recipe_sources_open(folder_fd, &hold, &sources), STATUS_ok);
        meanwhile();
        EXPECT_EQ(recipe_merge(sources.inputs, sources.count, &limits, &merged), STATUS_ok);
        const recipe_merge_counts counts = merged.counts;
        recipe_merge_free(&merged);
        recipe_sources_close(&sources);
        close(folder_fd);
        return counts;
    }
};

// Nor are those so small that who opens them reads them whole.
TEST_F(RecipeSources, AFewSegmentsAreNotRead)
{
    for (uint32_t i = 0; i < 4; i++) {
        write_pipeline(Samples::pipeline(i, long_code / 2));
    }
    const uint64_t before = bytes_read();
    EXPECT_EQ(recipe_compact(root.c_str(), "app", nullptr), STATUS_ok);
    EXPECT_LT(bytes_read() - before, RECIPE_SEGMENT_WHOLE);
    EXPECT_EQ(segments().size(), 4u);
}

TEST_F(RecipeSources, WhatIsHeldIsReadWhenItIsOpened)
{
    for (uint32_t i = 0; i < 3; i++) {
        write_pipeline(Samples::pipeline(i, long_code));
    }
    const recipe_merge_counts counts = merge(SIZE_MAX, [&] {
        for (const std::string &segment : segments()) {
            std::filesystem::resize_file(segment, 0);
        }
    });
    EXPECT_EQ(counts.pipelines, 3u);
    EXPECT_EQ(counts.damaged, 0u);
}

// The first is held, being the smallest, and has nothing but uses of what the second holds.
TEST_F(RecipeSources, WhatStaysIsReadFromTheFileThatWasOpened)
{
    const SamplePipeline sample = Samples::pipeline(1, long_code);
    Batch use;
    use.use(sample.form, sample_environment, 20001);
    write(use);
    write_pipeline(sample);
    const recipe_merge_counts counts = merge(1, [&] {
        for (const std::string &segment : segments()) {
            std::filesystem::remove(segment);
        }
    });
    EXPECT_EQ(counts.pipelines, 1u);
    EXPECT_EQ(counts.incomplete, 0u);
}

// Of so many processes at once each has left a segment. What one has recorded, others refer to.
TEST_F(RecipeSources, AllSegmentsAreMergedHoweverManyThereAre)
{
    const uint32_t count = 600;
    for (uint32_t i = 0; i < count; i++) {
        const SamplePipeline sample = Samples::pipeline(i);
        Batch objects;
        put_objects(objects, sample);
        write(objects, false);
        write(Batch().use(sample.form, sample_environment, 20000), false);
    }
    EXPECT_EQ(recipe_compact(root.c_str(), "app", nullptr), STATUS_ok);
    EXPECT_LE(segments().size(), 5u);
    const recipe_use *uses;
    EXPECT_EQ(recipes_uses(open().get(), &uses), count);
}

// Programs of 32 bits read none of more than 256 MiB.
TEST_F(RecipeSources, WhatASegmentThatIsTooLargeHoldsIsNotMissed)
{
    const SamplePipeline sample = Samples::pipeline(1);
    Batch objects;
    put_objects(objects, sample);
    write(objects, false);
    const std::string large = segments().at(0);
    const uintmax_t size = std::filesystem::file_size(large);
    for (uint32_t i = 0; i < 6; i++) {
        write(Batch().use(sample.form, sample_environment, 20000 + i), false);
    }
    std::filesystem::resize_file(large, (uintmax_t{4} << 30) + 8);
    EXPECT_EQ(recipe_compact(root.c_str(), "app", nullptr), STATUS_io_error);
    std::filesystem::resize_file(large, size);
    const Recipes recipes = open();
    EXPECT_TRUE(find_use(recipes.get(), digest_of(sample.form), digest_of(sample_environment)));
}

} // namespace
