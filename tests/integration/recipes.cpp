// SPDX-License-Identifier: Apache-2.0
#include "recipes.hpp"

#include <algorithm>
#include <cstring>

extern "C" {
#include "common/codec/canonical.h"
#include "common/recipes/recipes.h"
}
#include "test_icd.h"

namespace {

std::string text(struct digest digest)
{
    char hex[DIGEST_HEX_SIZE];
    digest_format(digest, hex);
    return hex;
}

// Goes through a form and all that it refers to.
struct Walk {
    const struct recipes *recipes;
    std::set<std::string> seen;
    std::set<std::string> missing;
    size_t modules = 0;

    static bool visit(void *user, VkObjectType type, struct digest content)
    {
        static_cast<Walk *>(user)->look_at(
            type == VK_OBJECT_TYPE_UNKNOWN ? RECIPE_CODE : RECIPE_FORM, content);
        return true;
    }

    void look_at(enum recipe_kind kind, struct digest content)
    {
        const void *data = nullptr;
        size_t size = 0;
        if (!seen.insert(text(content)).second) {
            return;
        }
        if (!recipes_find(recipes, kind, content, &data, &size)) {
            missing.insert(text(content));
            return;
        }
        modules += kind == RECIPE_CODE;
        if (kind == RECIPE_FORM) {
            EXPECT_TRUE(canonical_references(data, size, visit, this));
        }
    }
};

} // namespace

Recipes RecipesTest::recipes(const std::string &app) const
{
    Recipes found;
    struct recipes *opened = nullptr;
    if (recipes_open(cache_root().c_str(), app.c_str(), RECIPES_MAP, &opened) != STATUS_ok) {
        return found;
    }
    Walk walk = {opened, {}, {}};
    const struct recipe_use *uses = nullptr;
    const size_t count = recipes_uses(opened, &uses);
    for (size_t i = 0; i < count; ++i) {
        walk.look_at(RECIPE_FORM, uses[i].pipeline);
        walk.look_at(RECIPE_ENVIRONMENT, uses[i].environment);
        found.uses.push_back({text(uses[i].pipeline), text(uses[i].environment), uses[i].last_day,
                              uses[i].days, uses[i].compile_us, uses[i].saved});
    }
    found.missing = walk.missing;
    found.modules = walk.modules;
    found.damaged = recipes_damage(opened).records;
    recipes_close(opened);
    return found;
}

std::map<std::string, uintmax_t> RecipesTest::segments() const
{
    std::map<std::string, uintmax_t> found;
    const std::filesystem::path folder = cache_root() / "program" / "recipes";
    // Without exceptions: the folder may not be there yet, and a running program that makes one
    // segment of many removes what was just listed.
    std::error_code error;
    std::filesystem::directory_iterator entry(folder, error);
    for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
        std::error_code gone;
        const uintmax_t size = std::filesystem::file_size(entry->path(), gone);
        if (entry->path().extension() == ".wprecipes" && !gone) {
            found[entry->path().filename()] = size;
        }
    }
    return found;
}

void RecipesTest::record_hits(const std::function<void()> &program)
{
    bool has_times = true;
    for (int i = 0; i < 100 && has_times; ++i) {
        std::filesystem::remove_all(cache_root() / "program" / "recipes");
        run(program);
        const std::vector<Recipes::Use> uses = recipes().uses;
        has_times = std::any_of(uses.begin(), uses.end(),
                                [](const Recipes::Use &use) { return use.compile_us > 0; });
    }
    EXPECT_FALSE(has_times);
}

// By docs/FORMAT.md; the index, which would no longer fit, is left out.
void RecipesTest::make_older()
{
    for (const auto &[name, size] : segments()) {
        const std::filesystem::path path = cache_root() / "program" / "recipes" / name;
        std::vector<uint8_t> bytes = read_bytes(path);
        size_t at = 32;
        while (at + 32 <= bytes.size() && bytes[at] < 5) {
            uint8_t *record = &bytes[at];
            uint32_t data_size = 0;
            memcpy(&data_size, record + 4, 4);
            for (size_t entry = 16; bytes[at] == 4 && entry < data_size; entry += 28) {
                uint32_t day = 0;
                memcpy(&day, record + 32 + entry + 16, 4);
                --day;
                memcpy(record + 32 + entry + 16, &day, 4);
            }
            const struct digest digest = digest_of(record + 32, data_size);
            memcpy(record + 8, &digest, 16);
            const struct digest check = digest_of(record, 24);
            memcpy(record + 24, &check.low, 8);
            at += 32 + (data_size + 7) / 8 * 8;
        }
        bytes.resize(at);
        write_bytes(path, bytes);
    }
}

Outcome RecipesTest::replay(size_t count, const ProgramOptions &options)
{
    update_driver();
    environment.erase("WARMPIPE_PREWARM"); // by default, then
    return run([&] {
        Program program(options);
        wait_until([&] {
            return test_icd_calls("vkCreateComputePipelines") +
                       test_icd_calls("vkCreateGraphicsPipelines") +
                       test_icd_calls("vkCreateRayTracingPipelinesKHR") +
                       test_icd_calls("vkCreateRayTracingPipelinesNV") >=
                   count;
        });
    });
}

std::multiset<std::string> RecipesTest::contents(const Outcome &outcome)
{
    std::multiset<std::string> found;
    for (const json &event : outcome.pipelines()) {
        found.insert(event["content"].dump());
    }
    return found;
}
