// SPDX-License-Identifier: Apache-2.0
// What goes from one program's folder, and what stays.
#include "child.h"
#include "faults.h"
#include "holder.h"
#include "quota_fixture.h"
#include "recipe_samples.h"

extern "C" {
#include "common/blobs/identity_files.h"
#include "common/files/file.h"
}

namespace {

TEST(LimitsOfAFolder, TheLongestUnusedGoesFirst)
{
    Root root;
    root.add("app/" + id('a') + ".wpcache", 1000, 1 * day);
    root.add("app/" + id('b') + ".wpcache", 1000, 3 * day);
    root.add("app/" + id('c') + ".wpcache", 1000, 2 * day);
    quota_outcome outcome = root.enforce(2500);
    EXPECT_EQ(root.names("app"), (Names{id('a') + ".wpcache", id('c') + ".wpcache"}));
    EXPECT_EQ(outcome.identities, 1u);
    EXPECT_EQ(outcome.bytes, 1000u);
    root.enforce(1000);
    EXPECT_EQ(root.names("app"), (Names{id('a') + ".wpcache"}));
    root.enforce(0);
    EXPECT_TRUE(root.names("app").empty());
}

TEST(LimitsOfAFolder, WhatAProgramJustLookedForStays)
{
    Root root;
    root.add("app/" + id('a') + ".wpcache", 1000);
    root.add_text("app/" + id('b') + ".wanted", "unfinished\n");
    root.add("app/" + id('c') + ".wanted", 0);
    root.add("app/" + id('c') + "." + random_number + ".asked", 0);
    root.enforce(unlimited);
    EXPECT_TRUE(root.has("app/" + id('b') + ".wanted"));
    EXPECT_TRUE(root.has("app/" + id('c') + ".wanted"));
    EXPECT_TRUE(root.has("app/" + id('c') + "." + random_number + ".asked"));
}

TEST(LimitsOfAFolder, WhatFitsStays)
{
    Root root;
    root.add("app/" + id('a') + ".wpcache", 1000, 400 * day);
    root.add("app/" + id('b') + ".wpcache", 1000, 300 * day);
    quota_outcome outcome = root.enforce(2000);
    EXPECT_EQ(root.names("app").size(), 2u);
    EXPECT_EQ(outcome.identities, 0u);
    EXPECT_EQ(outcome.bytes, 0u);
}

TEST(LimitsOfAFolder, AnIdentityGoesAsAWhole)
{
    Root root;
    root.add("app/" + id('a') + ".wpcache", 1000, 3 * day);
    root.add("app/" + id('a') + "." + random_number + ".part", 500, 3 * day);
    root.add("app/" + id('a') + ".lock", 0);
    root.add("app/" + id('a') + ".loading/" + random_number + ".strike", 76, 3 * day);
    root.add("app/" + id('a') + ".loading/" + random_number, 76, 3 * day);
    root.set_age("app/" + id('a') + ".loading", 3 * day);
    root.add("app/" + id('b') + ".wpcache", 1000, 2 * day);
    quota_outcome outcome = root.enforce(2000);
    EXPECT_EQ(root.names("app"), (Names{id('b') + ".wpcache"}));
    EXPECT_EQ(outcome.identities, 1u);
    EXPECT_EQ(outcome.bytes, 1500u);
}

TEST(LimitsOfAFolder, PartsAndLoadsAreUses)
{
    Root root;
    root.add("app/" + id('a') + ".wpcache", 1000, 9 * day);
    root.add("app/" + id('a') + "." + random_number + ".part", 10, 1 * day);
    root.add("app/" + id('b') + ".wpcache", 1000, 9 * day);
    std::filesystem::create_directory(root.path + "/app/" + id('b') + ".loading");
    root.set_age("app/" + id('b') + ".loading", 1 * day);
    root.add("app/" + id('c') + ".wpcache", 1000, 5 * day);
    root.enforce(2500);
    EXPECT_FALSE(root.has("app/" + id('c') + ".wpcache"));
    EXPECT_TRUE(root.has("app/" + id('a') + ".wpcache"));
    EXPECT_TRUE(root.has("app/" + id('b') + ".wpcache"));
}

// What a process leaves that loads and saves nothing.
TEST(LimitsOfAFolder, AProcessThatOnlyLoadsKeepsItsFileYoung)
{
    Root root;
    run_in_child([&] { ASSERT_EQ(Store(root.path).commit("words"), STATUS_ok); });
    const std::string file = "app/" + sample_id() + ".wpcache";
    const size_t size = std::filesystem::file_size(root.path + "/" + file);
    root.set_age(file, 9 * day);
    root.add("app/" + id('b') + ".wpcache", size, 5 * day);
    run_in_child([&] { EXPECT_EQ(Store(root.path).load(), "words"); });
    root.enforce(size);
    EXPECT_TRUE(root.has(file));
    EXPECT_FALSE(root.has("app/" + id('b') + ".wpcache"));
}

TEST(LimitsOfAFolder, WhatThisProcessHasLoadedOrSavedStays)
{
    if (ran_in_new_process()) {
        return;
    }
    Root root;
    root.add("app/" + id('b') + ".wpcache", 10, 1 * day);
    const std::string file = "app/" + sample_id() + ".wpcache";
    run_in_child([&] {
        ASSERT_EQ(Store(root.path).commit("words"), STATUS_ok);
        root.set_age(file, 9 * day);
        root.enforce(0, 0);
        EXPECT_TRUE(root.has(file)) << "saved";
        EXPECT_FALSE(root.has("app/" + id('b') + ".wpcache"));
    });
    root.set_age(file, 9 * day);
    run_in_child([&] {
        EXPECT_EQ(Store(root.path).load(), "words");
        root.enforce(0, 0);
        EXPECT_TRUE(root.has(file)) << "loaded";
    });
    run_in_child([&] {
        ASSERT_EQ(Store(root.path).commit_unmerged("more"), STATUS_ok);
        root.enforce(0, 0);
        EXPECT_TRUE(root.has(file)) << "saved as a part";
        EXPECT_EQ(names_in(root.path + "/app", ".part").size(), 1u);
    });
    root.enforce(0, 0);
    EXPECT_FALSE(root.has(file)) << "of other processes";
}

TEST(LimitsOfAFolder, WhatIsLockedStays)
{
    Root root;
    root.add("app/" + id('a') + ".wpcache", 1000, 9 * day);
    root.add("app/" + id('b') + ".wpcache", 1000, 1 * day);
    Holder holder([&] {
        int directory_fd;
        int lock_fd;
        ASSERT_EQ(file_open_directory(root.path.c_str(), "app", false, &directory_fd), STATUS_ok);
        ASSERT_EQ(file_lock(directory_fd, (id('a') + ".lock").c_str(), 0, &lock_fd), STATUS_ok);
    });
    EXPECT_EQ(root.enforce(1500).identities, 1u);
    EXPECT_EQ(root.names("app"), (Names{id('a') + ".lock", id('a') + ".wpcache"}));
    holder.end();
    EXPECT_EQ(root.enforce(500).identities, 1u);
    EXPECT_TRUE(root.names("app").empty());
}

TEST(LimitsOfAFolder, TheRestCountsAndStays)
{
    Root root;
    root.add_program("app", 100, 9 * day);
    root.add("app/recipes/" + random_number + ".wprecipes", 900, 9 * day);
    root.add("app/" + id('a') + ".wpcache", 500, 2 * day);
    root.add("app/" + id('b') + ".wpcache", 500, 1 * day);
    root.enforce(1500);
    EXPECT_EQ(root.names("app"), (Names{id('b') + ".wpcache", "program.json", "recipes"}));
    root.enforce(0);
    EXPECT_EQ(root.names("app"), (Names{"program.json", "recipes"}));
    EXPECT_TRUE(root.has("app/recipes/" + random_number + ".wprecipes")) << "not a segment of ours";
}

// Segments of one pipeline each, of which the first is worth most.
void add_recipes(const Root &root, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        Batch batch;
        put_pipeline(batch, Samples::pipeline(i, 1000), 20000, 100 - i);
        Writer writer(root.path);
        ASSERT_EQ(writer.append(batch), STATUS_ok);
        writer.close();
    }
}

bool has_recipe(const Root &root, uint32_t number)
{
    recipes *recipes = nullptr;
    if (recipes_open(root.path.c_str(), "app", RECIPES_MAP, &recipes) != STATUS_ok) {
        return false;
    }
    const digest form = digest_of(Samples::pipeline(number, 1000).form);
    const bool has = recipes_have(recipes, RECIPE_FORM, form);
    recipes_close(recipes);
    return has;
}

TEST(LimitsOfAFolder, RecipesGoLastTheLeastUsedFirst)
{
    Root root;
    add_recipes(root, 10); // 5 KB each
    root.add("app/" + id('a') + ".wpcache", 20000);
    root.enforce(60000);
    EXPECT_FALSE(root.has("app/" + id('a') + ".wpcache"));
    EXPECT_TRUE(has_recipe(root, 9));
    const quota_outcome outcome = root.enforce(30000);
    EXPECT_GT(outcome.bytes, 10000u);
    EXPECT_TRUE(has_recipe(root, 0));
    EXPECT_TRUE(has_recipe(root, 4));
    EXPECT_FALSE(has_recipe(root, 9));
}

// To rewrite them takes memory for all of them. A program that is killed for want of it would be
// killed after each save.
TEST(LimitsOfAFolder, RecipesThatMemoryCannotHoldStay)
{
    Root root;
    Batch batch;
    put_pipeline(batch, Samples::pipeline(0, 5 << 20), 20000, 100); // 20 MiB
    Writer writer(root.path);
    ASSERT_EQ(writer.append(batch), STATUS_ok);
    writer.close();
    add_recipes(root, 1);
    const auto segments = root.names("app/recipes");
    faults.meminfo = root.path + "/meminfo";
    write_file(faults.meminfo, "MemTotal: 65536 kB\nMemAvailable: 18000 kB\n");
    EXPECT_EQ(root.enforce(10 << 20).bytes, 0u);
    EXPECT_EQ(root.names("app/recipes"), segments);
    write_file(faults.meminfo, "MemTotal: 65536 kB\nMemAvailable: 30000 kB\n");
    EXPECT_GT(root.enforce(10 << 20).bytes, size_t{19} << 20);
    EXPECT_TRUE(has_recipe(root, 0));
}

TEST(LimitsOfAFolder, CacheDataDoesNotDriveOutAllRecipes)
{
    if (ran_in_new_process()) {
        return;
    }
    Root root;
    add_recipes(root, 4);
    const std::string cache = "app/" + id('a') + ".wpcache";
    in_use_add(root.add(cache, 80000).c_str());
    root.enforce(80000);
    EXPECT_TRUE(root.has(cache));
    EXPECT_TRUE(has_recipe(root, 0));
    EXPECT_TRUE(has_recipe(root, 1));
    EXPECT_FALSE(has_recipe(root, 3));
}

TEST(LimitsOfAFolder, WhatDeadProcessesLeaveAmongRecipesGoes)
{
    Root root;
    const std::string folder = "app/recipes/";
    root.add(folder + random_number + ".wprecipes." + random_number + ".tmp", 100);
    root.add(folder + id('a') + "." + random_number + ".replaying", 100, 31 * day);
    root.add(folder + id('b') + "." + random_number + ".replaying", 100, 29 * day);
    root.add(folder + "notes.tmp", 100, 99 * day);
    root.enforce(unlimited);
    EXPECT_EQ(root.names("app/recipes"),
              (Names{id('b') + "." + random_number + ".replaying", "notes.tmp"}));
}

TEST(LimitsOfAFolder, DeadProcessesTemporaryFilesGo)
{
    Root root;
    root.add("app/" + id('a') + ".wpcache." + random_number + ".tmp", 1000);
    root.add("app/" + id('a') + ".wpcache", 500);
    root.enforce(600);
    EXPECT_EQ(root.names("app"), (Names{id('a') + ".wpcache"}));
}

TEST(LimitsOfAFolder, QuarantineHasAnAgeOfItsOwn)
{
    Root root;
    const std::string quarantine = "app/quarantine/";
    // By its note, whatever the age of the blob was.
    root.add(quarantine + id('a') + ".wpcache", 1000, 90 * day);
    root.add(quarantine + id('a') + ".wpcache.txt", 10, 29 * day);
    root.add(quarantine + id('b') + ".part", 1000, 90 * day);
    root.add(quarantine + id('b') + ".part.txt", 10, 31 * day);
    // Without one, by when it was put there.
    root.add(quarantine + id('c') + ".wpcache", 1000, 90 * day);
    root.add(quarantine + id('d') + ".wpcache.txt", 10, 31 * day);
    root.add(quarantine + id('e') + ".wpcache.txt", 10, 29 * day);
    root.add(quarantine + "notes.txt", 10, 90 * day);
    root.add("app/" + id('a') + ".wpcache", 500, 9 * day);
    root.enforce(500);
    EXPECT_EQ(root.names("app/quarantine"),
              (Names{id('a') + ".wpcache", id('a') + ".wpcache.txt", id('c') + ".wpcache",
                     id('e') + ".wpcache.txt", "notes.txt"}));
    EXPECT_TRUE(root.has("app/" + id('a') + ".wpcache")) << "quarantine counts for nothing";
}

} // namespace
