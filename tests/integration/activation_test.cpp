// SPDX-License-Identifier: Apache-2.0
// Each way of switching the layer on, and the one of switching it off.
#include "harness.hpp"
#include "paths.h"
#include "program.hpp"

namespace {

constexpr const char *name = "VK_LAYER_WARMPIPE_pipeline_cache";

struct Way {
    const char *title;
    std::map<std::string, std::string> set;
    std::vector<std::string> unset;
};

void PrintTo(const Way &way, std::ostream *stream)
{
    *stream << way.title;
}

const std::string explicit_folder = WARMPIPE_SHARE "/vulkan/explicit_layer.d";

const std::vector<Way> ways = {
    {"implicit", {{"WARMPIPE_ENABLE", "1"}}, {}},
    {"instance_layers",
     {{"VK_INSTANCE_LAYERS", name}, {"VK_ADD_LAYER_PATH", explicit_folder}},
     {"WARMPIPE_ENABLE", "XDG_DATA_HOME"}},
    {"instance_layers_installed", {{"VK_INSTANCE_LAYERS", name}}, {"WARMPIPE_ENABLE"}},
    {"layers_enable_implicit", {{"VK_LOADER_LAYERS_ENABLE", "*warmpipe*"}}, {"WARMPIPE_ENABLE"}},
    {"layers_enable_explicit",
     {{"VK_LOADER_LAYERS_ENABLE", "*warmpipe*"}, {"VK_ADD_LAYER_PATH", explicit_folder}},
     {"WARMPIPE_ENABLE", "XDG_DATA_HOME"}},
    {"all_together",
     {{"WARMPIPE_ENABLE", "1"},
      {"VK_INSTANCE_LAYERS", name},
      {"VK_ADD_LAYER_PATH", explicit_folder},
      {"VK_LOADER_LAYERS_ENABLE", "*warmpipe*"}},
     {}},
};

class ActivationTest : public LayerTest, public ::testing::WithParamInterface<Way> {
  protected:
    void SetUp() override
    {
        for (const std::string &variable : GetParam().unset) {
            environment.erase(variable);
        }
        for (const auto &[variable, value] : GetParam().set) {
            environment[variable] = value;
        }
    }
};

TEST_P(ActivationTest, IsOnceInTheChain)
{
    for (size_t hits : {0u, 4u}) {
        const Outcome outcome = run([] { Program().create_compute(0, 4); });
        EXPECT_EQ(outcome.stats.size(), 1u);
        EXPECT_EQ(outcome.stats_of()["pipelines"]["injected"], 4);
        EXPECT_EQ(outcome.calls("vkCreatePipelineCache"), 1u);
        EXPECT_EQ(outcome.hits(), hits);
    }
}

TEST_P(ActivationTest, DisableWins)
{
    for (const char *value : {"1", "", "0"}) {
        environment["WARMPIPE_DISABLE"] = value;
        const Outcome outcome =
            run([] { Program().create_compute(0, 4); }, {Layer::absent, true, 0});
        EXPECT_EQ(outcome.calls("vkCreatePipelineCache"), 0u);
        EXPECT_EQ(outcome.pipelines().size(), 4u);
    }
    EXPECT_FALSE(std::filesystem::exists(cache_root()));
}

INSTANTIATE_TEST_SUITE_P(Each, ActivationTest, ::testing::ValuesIn(ways),
                         [](const auto &way) { return std::string(way.param.title); });

class InactiveTest : public LayerTest {};

TEST_F(InactiveTest, UnlessAskedFor)
{
    environment.erase("WARMPIPE_ENABLE");
    run([] { Program().create_compute(0, 4); }, {Layer::absent, true, 0});
    for (const char *value : {"0", "", "yes"}) {
        environment["WARMPIPE_ENABLE"] = value;
        run([] { Program().create_compute(0, 4); }, {Layer::absent, true, 0});
    }
    EXPECT_FALSE(std::filesystem::exists(cache_root()));
}

} // namespace
