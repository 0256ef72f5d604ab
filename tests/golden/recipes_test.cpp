// SPDX-License-Identifier: Apache-2.0
// The checked-in recipes: written by make_recipes.py from docs/FORMAT.md alone, so code and
// document are held against each other.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

extern "C" {
#include "common/recipes/recipes.h"
#include "common/recipes/segment.h"
}

namespace {

const uint32_t words[] = {0x07230203, 0x00010000, 0, 1, 0};
const std::string code(reinterpret_cast<const char *>(words), sizeof(words));
const std::string form = "a form of thirty-three bytes here";
const std::string environment = "an environment";

std::string golden(const std::string &name)
{
    std::ifstream in(GOLDEN_DIRECTORY "/recipes/" + name, std::ios::binary);
    EXPECT_TRUE(in) << name;
    return {std::istreambuf_iterator<char>(in), {}};
}

digest digest_of(const std::string &text)
{
    return ::digest_of(text.data(), text.size());
}

recipe_use sample_use()
{
    return {digest_of(form), digest_of(environment), 20000, 3, 5, 1500, false, false};
}

std::string segment(bool sealed)
{
    struct bytes file = {};
    struct bytes entries = {};
    recipe_use use = sample_use();
    recipe_uses uses = {};
    uses.uses = &use;
    uses.count = 1;
    recipe_put_header(&file);
    for (const auto &[kind, data] : {std::pair<unsigned, std::string>{RECIPE_CODE, code},
                                     {RECIPE_FORM, form},
                                     {RECIPE_ENVIRONMENT, environment}}) {
        recipe_put_record(&file, kind, digest_of(data), data.data(), data.size());
    }
    recipe_uses_put(&file, &uses);
    if (sealed) {
        recipe_walk walk = {file.data, file.size, RECIPE_HEADER_SIZE, 0};
        recipe_record record;
        while (recipe_walk_next(&walk, &record)) {
            recipe_index_put(&entries, record.kind, record.digest, record.offset);
        }
        recipe_index_sort(entries.data, entries.size / RECIPE_INDEX_ENTRY);
        recipe_put_index(&file, entries.data, entries.size / RECIPE_INDEX_ENTRY, file.size);
    }
    std::string text(reinterpret_cast<char *>(file.data), file.size);
    bytes_free(&file);
    bytes_free(&entries);
    return text;
}

void expect_content(const std::string &name)
{
    recipes *recipes = nullptr;
    const std::string path = GOLDEN_DIRECTORY "/recipes/" + name;
    ASSERT_EQ(recipes_open_file(path.c_str(), &recipes), STATUS_ok);
    for (const auto &[kind, data] : {std::pair<recipe_kind, std::string>{RECIPE_CODE, code},
                                     {RECIPE_FORM, form},
                                     {RECIPE_ENVIRONMENT, environment}}) {
        const void *found;
        size_t size;
        ASSERT_TRUE(recipes_find(recipes, kind, digest_of(data), &found, &size)) << kind;
        EXPECT_EQ(std::string(static_cast<const char *>(found), size), data);
    }
    const recipe_use *uses;
    ASSERT_EQ(recipes_uses(recipes, &uses), 1u);
    const recipe_use expected = sample_use();
    EXPECT_TRUE(digest_equal(uses->pipeline, expected.pipeline));
    EXPECT_TRUE(digest_equal(uses->environment, expected.environment));
    EXPECT_EQ(uses->last_day, expected.last_day);
    EXPECT_EQ(uses->days, expected.days);
    EXPECT_EQ(uses->inline_stages, expected.inline_stages);
    EXPECT_EQ(uses->compile_us, expected.compile_us);
    EXPECT_EQ(recipes_damage(recipes).records, 0u);
    recipes_close(recipes);
}

TEST(GoldenRecipes, ASealedSegment)
{
    const std::string name = "0123456789abcdef.wprecipes";
    EXPECT_EQ(segment(true), golden(name));
    expect_content(name);
}

TEST(GoldenRecipes, ASegmentThatIsNotSealed)
{
    const std::string name = "fedcba9876543210.wprecipes";
    EXPECT_EQ(segment(false), golden(name));
    expect_content(name);
}

TEST(GoldenRecipes, AListOfCrashes)
{
    std::string root = testing::TempDir() + "warmpipe-XXXXXX";
    ASSERT_NE(mkdtemp(root.data()), nullptr);
    const std::string identity = "0123456789abcdef0123456789abcdef";
    const std::string folder = root + "/app/recipes";
    std::filesystem::create_directories(folder);
    for (const char *made : {"/app", "/app/recipes"}) {
        std::filesystem::permissions(root + made, std::filesystem::perms::owner_all);
    }
    std::ofstream(folder + "/" + identity + ".crashed", std::ios::binary)
        << golden(identity + ".crashed");
    std::filesystem::permissions(folder + "/" + identity + ".crashed",
                                 std::filesystem::perms::owner_read);
    digest digest = {};
    recipe_crashes *crashes = nullptr;
    ASSERT_TRUE(digest_parse(identity.c_str(), &digest));
    ASSERT_EQ(recipe_crashes_open(root.c_str(), "app", digest, 1, &crashes), STATUS_ok);
    EXPECT_TRUE(recipe_crashes_have(crashes, digest_of(form)));
    EXPECT_TRUE(recipe_crashes_have(crashes, digest_of(code)));
    EXPECT_TRUE(recipe_crashes_are_many(crashes));
    recipe_crashes_close(crashes);
    std::filesystem::remove_all(root);
}

} // namespace
