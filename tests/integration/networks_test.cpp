// SPDX-License-Identifier: Apache-2.0
// The way of ncnn and of others that run networks: each one is loaded with a pipeline cache of its
// own, made empty and thrown away, while the same modules and pipelines come again and again.
#include "harness.hpp"
#include "test_icd.h"
#include "things.hpp"

#include <algorithm>

namespace {

constexpr unsigned network_count = 5;
constexpr unsigned layer_count = 12;

// Loads a network, and unloads it.
void run_network(const Program &program, VkPipelineCache cache, VkPipelineLayout layout)
{
    std::vector<VkPipeline> pipelines;
    for (unsigned number = 0; number < layer_count; ++number) {
        const std::vector<uint32_t> code = shader_code(Kind::compute, number);
        VkShaderModuleCreateInfo module_info = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
        module_info.codeSize = code.size() * sizeof code[0];
        module_info.pCode = code.data();
        VkShaderModule module = VK_NULL_HANDLE;
        EXPECT_EQ(vkCreateShaderModule(program.device, &module_info, nullptr, &module), VK_SUCCESS);
        VkComputePipelineCreateInfo info = {VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
        info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
        info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
        info.stage.module = module;
        info.stage.pName = "main";
        info.layout = layout;
        VkPipeline pipeline = VK_NULL_HANDLE;
        EXPECT_EQ(vkCreateComputePipelines(program.device, cache, 1, &info, nullptr, &pipeline),
                  VK_SUCCESS);
        pipelines.push_back(pipeline);
        vkDestroyShaderModule(program.device, module, nullptr);
    }
    for (VkPipeline pipeline : pipelines) {
        vkDestroyPipeline(program.device, pipeline, nullptr);
    }
}

class NetworksTest : public LayerTest {
  protected:
    NetworksTest()
    {
        environment["WARMPIPE_LOG"] = "info";
    }

    static void program()
    {
        Program owner;
        for (unsigned i = 0; i < network_count; ++i) {
            VkPipelineCache cache = owner.create_cache();
            run_network(owner, cache, owner.layout);
            owner.destroy_cache(cache);
        }
    }

    static void program_that_reads_back()
    {
        Program owner;
        for (unsigned i = 0; i < network_count; ++i) {
            VkPipelineCache cache = owner.create_cache();
            run_network(owner, cache, owner.layout);
            EXPECT_GT(owner.cache_data(cache).size(), 32u);
            owner.destroy_cache(cache);
        }
    }

    json learnt() const
    {
        return json::parse(read_text(cache_root() / "test" / "program.json"), nullptr, false);
    }

    static void expect_caches(const Outcome &outcome, unsigned served, unsigned read_back)
    {
        const json caches = outcome.stats_of()["app_caches"];
        EXPECT_EQ(caches["created"], network_count);
        EXPECT_EQ(caches["served"], served);
        EXPECT_EQ(caches["read_back"], read_back);
    }
};

TEST_F(NetworksTest, AreHarvestedThenServedThoughTheyAreReadBack)
{
    const Outcome first = run(program);
    expect_caches(first, 0, 0);
    EXPECT_GT(first.stats_of()["app_caches"]["harvested"], 0);
    EXPECT_GT(first.stats_of()["cache"]["saved_bytes"], 32);
    EXPECT_EQ(first.hits(), 0u) << "each network has a cache of its own";
    EXPECT_EQ(learnt()["app_caches"], "not_read");

    const Outcome second = run(program);
    expect_caches(second, network_count, 0);
    EXPECT_EQ(second.pipelines().size(), network_count * layer_count)
        << "what was destroyed is asked for again";
    EXPECT_EQ(second.hits(), second.pipelines().size());
    EXPECT_EQ(second.stats_of()["pipelines"]["injected"], network_count * layer_count);

    const Outcome third = run(program_that_reads_back);
    expect_caches(third, network_count, network_count);
    const auto told = [&](const std::string &line) {
        return line.find("reads its pipeline cache back") != std::string::npos;
    };
    const std::vector<std::string> lines = third.log();
    EXPECT_EQ(std::count_if(lines.begin(), lines.end(), told), 1) << third.errors;
    EXPECT_EQ(learnt()["app_caches"], "read_back");

    const Outcome fourth = run(program);
    expect_caches(fourth, network_count, 0);
    EXPECT_EQ(fourth.hits(), fourth.pipelines().size());
    EXPECT_EQ(learnt()["app_caches"], "read_back") << "once seen, it stays so";
}

// Two networks that live at once are made of the same objects.
TEST_F(NetworksTest, ThatLiveAtOnceShareTheirPipelines)
{
    run(program);
    const Outcome served = run([] {
        Program owner;
        std::vector<VkPipelineCache> caches;
        std::vector<std::unique_ptr<Batch>> networks;
        for (unsigned i = 0; i < network_count; ++i) {
            caches.push_back(owner.create_cache());
            networks.push_back(
                std::make_unique<Batch>(owner, Kind::compute, std::vector<unsigned>{0, 1, 2, 3}));
            EXPECT_EQ(networks.back()->create(caches.back()), VK_SUCCESS);
            EXPECT_EQ(networks.back()->pipelines, networks[0]->pipelines);
        }
        for (VkPipelineCache cache : caches) {
            owner.destroy_cache(cache);
        }
    });
    EXPECT_EQ(served.pipelines().size(), 4u);
    EXPECT_EQ(served.stats_of()["pipelines"]["deduplicated"], 4 * (network_count - 1));
    EXPECT_EQ(served.calls("vkCreateShaderModule"), 4u);
}

// A hit is named only of what this very cache has seen.
TEST_F(NetworksTest, AreToldOfHitsInTheirOwnCacheAlone)
{
    run(program);
    const Outcome served = run([] {
        Program owner;
        for (bool live : {true, false}) {
            const unsigned number = live ? 1 : 2;
            VkPipelineCache one = owner.create_cache(), two = owner.create_cache();
            const auto create = [&](VkPipelineCache cache) {
                Feedback feedback;
                Batch batch(owner, Kind::compute, {number});
                batch.chain(0, &feedback.info);
                EXPECT_EQ(batch.create(cache), VK_SUCCESS);
                if (!live) {
                    vkDestroyPipeline(owner.device, batch.pipelines[0], nullptr);
                    batch.pipelines.clear();
                }
                return feedback.hit();
            };
            EXPECT_FALSE(create(one)) << live;
            EXPECT_TRUE(create(one)) << live;
            EXPECT_FALSE(create(two)) << live;
            EXPECT_TRUE(create(two)) << live;
            owner.destroy_cache(one);
            owner.destroy_cache(two);
        }
    });
    EXPECT_EQ(served.hits(), served.pipelines().size());
}

// What a program passes on and may read back must hold what it created, though an equal one lives.
TEST_F(NetworksTest, ACacheThatIsPassedOnGetsWhatIsCreatedInItsName)
{
    environment["WARMPIPE_APP_CACHE"] = "harvest";
    const Outcome outcome = run([] {
        Program owner;
        owner.create(Kind::compute, 1);
        VkPipelineCache cache = owner.create_cache();
        owner.create(Kind::compute, 1, cache);
        const size_t size = owner.cache_data(cache).size();
        EXPECT_GT(size, 32u) << "it holds the pipeline";
        owner.create(Kind::compute, 1, cache);
        EXPECT_EQ(owner.cache_data(cache).size(), size);
        owner.destroy_cache(cache);
    });
    EXPECT_EQ(outcome.pipelines().size(), 2u) << "the third is shared";
}

TEST_F(NetworksTest, ADamagedProgramFileIsOneLineAndStartsAnew)
{
    run(program);
    const std::filesystem::path file = cache_root() / "test" / "program.json";
    const std::string damage = "{\"format\":1,\"app_caches\":";
    write_bytes(file, {damage.begin(), damage.end()});
    const Outcome outcome = run(program);
    expect_caches(outcome, 0, 0);
    const std::vector<std::string> lines = outcome.log();
    EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                            [](const std::string &line) {
                                return line.find("(bad_program_file)") != std::string::npos;
                            }),
              1)
        << outcome.errors;
    EXPECT_EQ(learnt()["app_caches"], "not_read");
}

TEST_F(NetworksTest, ReadOnlyNothingIsLearnt)
{
    environment["WARMPIPE_READONLY"] = "1";
    run(program);
    EXPECT_FALSE(std::filesystem::exists(cache_root() / "test" / "program.json"));
}

} // namespace
