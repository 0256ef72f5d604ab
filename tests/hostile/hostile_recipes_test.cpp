// SPDX-License-Identifier: Apache-2.0
// Segments of recipes, what they hold, and lists of crashes: damaged, also with right digests.
#include "hostile_files.h"

#include "replay_fixture.h"

extern "C" {
#include "common/recipes/merge.h"
#include "common/recipes/recipes.h"
#include "common/recipes/segment.h"
#include "common/spirv/spirv.h"
}

namespace {

std::string recipes_of(unsigned first, unsigned end, bool sealed)
{
    struct bytes file = {};
    struct bytes entries = {};
    recipe_put_header(&file);
    const auto add = [&](unsigned kind, const std::string &data) {
        recipe_index_put(&entries, kind, digest_of(data), file.size);
        recipe_put_record(&file, kind, digest_of(data), data.data(), data.size());
    };
    for (unsigned number = first; number < end; number++) {
        const SamplePipeline sample = Samples::pipeline(number);
        add(RECIPE_CODE, sample.code);
        for (const std::string &form :
             {sample.module, sample.set_layout, sample.layout, sample.form}) {
            add(RECIPE_FORM, form);
        }
        add(RECIPE_ENVIRONMENT, "environment " + std::to_string(number % 2));
        recipe_use use = {digest_of(sample.form),
                          digest_of("environment " + std::to_string(number % 2)),
                          20000,
                          3,
                          0,
                          1500,
                          false,
                          false};
        recipe_uses uses = {};
        uses.uses = &use;
        uses.count = 1;
        const size_t at = file.size;
        recipe_uses_put(&file, &uses);
        recipe_index_put(&entries, RECIPE_USES, digest_of(file.data + at + 32, 44), at);
    }
    if (sealed) {
        recipe_index_sort(entries.data, entries.size / 24);
        recipe_put_index(&file, entries.data, entries.size / 24, file.size);
    }
    std::string text = text_of(file);
    bytes_free(&file);
    bytes_free(&entries);
    return text;
}

TEST_F(HostileFiles, Segments)
{
    const std::string good = recipes_of(0, 2, false);
    const std::string whole = recipes_of(2, 4, true);
    for (unsigned i = 0; i < 2 * files_of_a_kind(); i++) {
        const std::string bad = damage(draw(2) ? good : whole);
        put(folder() + "/recipes/0000000000000001.wprecipes", draw(2) ? sign_records(bad) : bad);
        put(folder() + "/recipes/0000000000000002.wprecipes", good);
        for (const recipes_access access : {RECIPES_READ, RECIPES_MAP}) {
            struct recipes *recipes = nullptr;
            if (recipes_open(root().c_str(), "app", access, &recipes) != STATUS_ok) {
                ADD_FAILURE() << "the other segment is whole";
                continue;
            }
            const recipe_use *uses;
            const size_t count = recipes_uses(recipes, &uses);
            EXPECT_GE(count, 2u);
            for (size_t k = 0; k < count; k++) {
                const void *data;
                size_t size;
                if (recipes_find(recipes, RECIPE_FORM, uses[k].pipeline, &data, &size)) {
                    EXPECT_TRUE(digest_equal(digest_of(data, size), uses[k].pipeline));
                }
            }
            recipes_close(recipes);
        }
        if (i % 8 == 0) { // more than four are compacted
            for (unsigned k = 3; k < 7; k++) {
                put(folder() + "/recipes/000000000000000" + std::to_string(k) + ".wprecipes",
                    k % 2 ? good : damage(whole));
            }
            recipe_compact(root().c_str(), "app", nullptr);
            struct recipes *recipes = nullptr;
            ASSERT_EQ(recipes_open(root().c_str(), "app", RECIPES_READ, &recipes), STATUS_ok);
            const recipe_use *uses;
            EXPECT_GE(recipes_uses(recipes, &uses), 2u);
            recipes_close(recipes);
            fs::remove_all(folder() + "/recipes");
        }
    }
}

TEST_F(HostileFiles, ListsOfCrashes)
{
    const digest identity = digest_of(std::string("identity"));
    std::string good("wpcrsh\n\1", 8);
    for (const char *name : {"first", "second", "third"}) {
        const digest one = digest_of(std::string(name));
        std::string place(24, '\0');
        put_digest(place, 0, one);
        const digest check = digest_of(place.data(), 16);
        std::memcpy(&place[16], &check.low, 8);
        good += place;
    }
    char hex[DIGEST_HEX_SIZE];
    digest_format(identity, hex);
    for (const char *suffix : {".crashed", ".0123456789abcdef.replaying"}) {
        for (unsigned i = 0; i < files_of_a_kind(); i++) {
            const std::string path = folder() + "/recipes/" + hex + suffix;
            put(path, damage(good));
            recipe_crashes *crashes = nullptr;
            const enum status reason =
                recipe_crashes_open(root().c_str(), "app", identity, 2, &crashes);
            EXPECT_EQ(reason, STATUS_ok) << status_id(reason);
            recipe_crashes_close(crashes);
            fs::remove_all(folder() + "/recipes");
        }
    }
}

// Forms and code whose digests are right: whatever they say, they are refused, or made.
class HostileForms : public Replay, protected Damages {
  protected:
    // Of all kinds of objects.
    std::vector<digest> pipelines()
    {
        GraphicsInfo graphics;
        const VkSamplerYcbcrConversion conversion = Replay::conversion();
        const VkPipelineLayout whole =
            layout({set_layout(sampler(conversion)), set_layout({}, 3)}, 64);
        return {compute(whole), book.write(&graphics_info(graphics)), rays()};
    }

    void try_all(std::map<RecipeBook::Key, std::string> &shelf)
    {
        const std::vector<digest> all = pipelines();
        for (unsigned i = 0; i < files_of_a_kind(); i++) {
            auto one = shelf.begin();
            std::advance(one, draw(shelf.size()));
            const std::string good = one->second;
            one->second = damage(good);
            play(all[draw(all.size())]);
            end();
            one->second = good;
        }
        for (const digest &pipeline : all) {
            EXPECT_EQ(play(pipeline), REPLAY_COMPILED);
        }
    }
};

TEST_F(HostileForms, Forms)
{
    pipelines();
    try_all(book.forms);
}

TEST_F(HostileForms, Code)
{
    pipelines();
    try_all(book.codes);
}

// Larger shaders than those, for whatever stage.
class HostileCode : public testing::Test, protected Damages {};

TEST_F(HostileCode, IsReadWithinItsBounds)
{
    const std::vector<std::string> good = {seed("spirv/activation"), seed("spirv/blur"),
                                           seed("spirv/sky"), seed("spirv/surface")};
    VkPipelineShaderStageCreateInfo stage = {};
    stage.pName = "main";
    const spirv_layout layout = {};
    for (unsigned i = 0; i < files_of_a_kind(); i++) {
        const std::string bad = damage(good[draw(good.size())]);
        const std::unique_ptr<uint8_t[]> code = exactly(bad);
        uint32_t workgroup[3];
        stage.stage = draw(2) ? VK_SHADER_STAGE_COMPUTE_BIT : VK_SHADER_STAGE_FRAGMENT_BIT;
        spirv_check_stage(&stage, code.get(), bad.size(), draw(2) ? &layout : nullptr);
        spirv_workgroup_size(code.get(), bad.size(), "main", nullptr, workgroup);
    }
}

class HostileEnvironments : public testing::Test, protected Damages {};

TEST_F(HostileEnvironments, SayWhatTheySay)
{
    const std::string good = seed("environment/whole");
    for (unsigned i = 0; i < files_of_a_kind(); i++) {
        const std::string bad = damage(draw(4) ? good : sample_environment);
        struct environment *environment = environment_decode(exactly(bad).get(), bad.size());
        if (environment) {
            EXPECT_TRUE(environment_includes(environment, environment));
            free(environment_create_info(environment));
        }
        environment_free(environment);
    }
}

} // namespace
