// SPDX-License-Identifier: Apache-2.0
// What goes from all programs' folders, and when it is looked for.
#include <sys/file.h>

#include "holder.h"
#include "quota_fixture.h"

namespace {

TEST(LimitsOfAll, TheLongestUnusedGoesFirstWhateverTheProgram)
{
    Root root;
    root.add("app/" + id('a') + ".wpcache", 1000, 5 * day);
    root.add("first/" + id('a') + ".wpcache", 1000, 4 * day);
    root.add("first/" + id('b') + ".wpcache", 1000, 1 * day);
    root.add("second/" + id('a') + ".wpcache", 1000, 3 * day);
    root.add("second/" + id('b') + ".wpcache", 1000, 2 * day);
    quota_outcome outcome = root.enforce(unlimited, 3000);
    EXPECT_EQ(outcome.identities, 2u);
    EXPECT_FALSE(root.has("app/" + id('a') + ".wpcache"));
    EXPECT_EQ(root.names("first"), (Names{id('b') + ".wpcache"}));
    EXPECT_EQ(root.names("second").size(), 2u);
    root.forget();
    EXPECT_EQ(root.enforce(unlimited, 1000).identities, 2u);
    EXPECT_TRUE(root.has("first/" + id('b') + ".wpcache"));
    EXPECT_FALSE(root.has("second")) << "an empty folder goes";
    EXPECT_TRUE(root.has("app")) << "but not the program's own";
}

// Some clock was wrong: nobody knows when it was used.
TEST(LimitsOfAll, WhatWasUsedInTheFutureGoesFirst)
{
    Root root;
    root.add_program("app", 100);
    root.add("ahead/" + id('a') + ".wpcache", 1000, -900 * day);
    root.add("ahead/" + id('b') + ".wpcache", 1000, -800 * day);
    root.add("old/" + id('a') + ".wpcache", 1000, 9 * day);
    root.add("server/" + id('a') + ".wpcache", 1000, -day / 2); // by its clock
    root.enforce(unlimited, 3100);
    EXPECT_FALSE(root.has("ahead/" + id('b') + ".wpcache"));
    root.forget();
    root.enforce(unlimited, 2100);
    EXPECT_FALSE(root.has("ahead"));
    root.forget();
    root.enforce(unlimited, 1100);
    EXPECT_FALSE(root.has("old"));
    EXPECT_TRUE(root.has("server/" + id('a') + ".wpcache"));
}

TEST(LimitsOfAll, WhatElseAFolderHoldsGoesWithItsLastUse)
{
    Root root;
    root.add_program("app", 100, 99 * day);
    root.add("old/" + id('a') + ".wpcache", 1000, 9 * day);
    root.add("old/" + id('b') + ".wpcache", 1000, 5 * day);
    root.add_program("old", 100, 8 * day);
    root.add("old/quarantine/" + id('a') + ".wpcache", 1000, 1 * day);
    root.add("old/" + id('a') + ".lock", 0);
    root.add("young/" + id('a') + ".wpcache", 1000, 7 * day);
    root.add_program("young", 100, 1 * day);
    // Of 3,300 bytes the oldest 1,000 go: the file of nine days.
    root.enforce(unlimited, 2300);
    EXPECT_EQ(root.names("old"), (Names{id('b') + ".wpcache", "program.json", "quarantine"}));
    EXPECT_TRUE(root.has("young/" + id('a') + ".wpcache"));
    // Then that of seven days, and only after that of five what its folder holds besides.
    root.forget();
    root.enforce(unlimited, 1300);
    EXPECT_EQ(root.names("young"), (Names{"program.json"}));
    EXPECT_TRUE(root.has("old/" + id('b') + ".wpcache"));
    root.forget();
    root.enforce(unlimited, 300);
    EXPECT_EQ(root.names("old"), (Names{"program.json", "quarantine"}));
    root.forget();
    root.enforce(unlimited, 250);
    EXPECT_FALSE(root.has("old"));
    EXPECT_TRUE(root.has("young/program.json"));
    EXPECT_TRUE(root.has("app/program.json")) << "the program's own";
}

TEST(LimitsOfAll, TheFoldersOfOthersAreLeftAlone)
{
    Root root;
    root.add("app/" + id('a') + ".wpcache", 1000);
    root.add_text("theirs/program.json", "{\"name\":\"my own thing\"}", 99 * day);
    std::filesystem::create_directory(root.path + "/theirs/quarantine");
    std::filesystem::create_directory(root.path + "/theirs/recipes");
    const Names before = root.names("theirs");
    root.enforce(unlimited, 0);
    EXPECT_EQ(root.names("theirs"), before);
}

TEST(LimitsOfAll, RecipesGoWithTheirFolder)
{
    Root root;
    const std::string segment = "/recipes/" + random_number + ".wprecipes";
    root.add("app/" + id('a') + ".wpcache", 10);
    root.add("app" + segment, 1000, 300 * day);
    root.add("young" + segment, 1000, 1 * day);
    root.add("old" + segment, 5000, 99 * day);
    root.add("old/recipes/lock", 0, 99 * day);
    root.add("old/recipes/" + id('a') + ".crashed", 10, 99 * day);
    root.add("old/" + id('a') + ".wpcache", 10, 99 * day);
    root.add("foreign/recipes/notes", 5000, 199 * day);
    root.enforce(unlimited, 2500);
    EXPECT_FALSE(root.has("old"));
    EXPECT_TRUE(root.has("young" + segment));
    EXPECT_TRUE(root.has("app" + segment)) << "the program's own";
    EXPECT_TRUE(root.has("foreign/recipes/notes"));
}

TEST(LimitsOfAll, RecipesOfALivingProcessStay)
{
    Root root;
    const std::string segment = "old/recipes/" + random_number + ".wprecipes";
    const std::string path = root.add(segment, 5000, 99 * day);
    Holder holder([&] { EXPECT_EQ(flock(open(path.c_str(), O_RDONLY), LOCK_EX), 0); });
    root.enforce(unlimited, 100);
    EXPECT_TRUE(root.has(segment));
    holder.end();
    root.forget();
    root.enforce(unlimited, 100);
    EXPECT_FALSE(root.has("old"));
}

TEST(LimitsOfAll, LooksOnceADayOrWhenTooMuchWasSaved)
{
    Root root;
    const uint64_t limit = 200000;
    root.add("app/" + id('a') + ".wpcache", 1000);
    root.add("old/" + id('a') + ".wpcache", 100000, 9 * day);
    EXPECT_EQ(root.enforce(unlimited, limit, 1000).bytes, 0u);

    // Unseen: no process has told of it.
    root.add("old/" + id('b') + ".wpcache", 100000, 8 * day);
    EXPECT_EQ(root.enforce(unlimited, limit).bytes, 0u);
    EXPECT_EQ(root.enforce(unlimited, limit, 90000).bytes, 0u);
    // 101,000 that were seen and 90,000 that were saved leave no room for this, with an envelope.
    EXPECT_EQ(root.enforce(unlimited, limit, 8900).bytes, 100000u);
    EXPECT_FALSE(root.has("old/" + id('a') + ".wpcache"));

    // A day later, nothing saved.
    root.add("old/" + id('c') + ".wpcache", 100000, 7 * day);
    EXPECT_EQ(root.enforce(unlimited, limit).bytes, 0u);
    std::stringstream stamp(root.read_stamp());
    time_t looked_at;
    uint64_t bytes;
    ASSERT_TRUE(stamp >> looked_at >> bytes);
    EXPECT_EQ(bytes, 101000u);
    write_file(root.stamp(), std::to_string(looked_at - day) + " 101000\n");
    EXPECT_EQ(root.enforce(unlimited, limit).bytes, 100000u);
    EXPECT_FALSE(root.has("old/" + id('b') + ".wpcache"));
}

TEST(LimitsOfAll, LooksWhereTheStampSaysNothing)
{
    const std::string now = std::to_string(time(nullptr));
    const std::string tomorrow = std::to_string(time(nullptr) + day);
    auto removed_under = [](const std::string &stamp) {
        Root root;
        root.add("app/" + id('a') + ".wpcache", 10);
        root.add("old/" + id('a') + ".wpcache", 1000, 9 * day);
        write_file(root.stamp(), stamp);
        return root.enforce(unlimited, 500).bytes;
    };
    EXPECT_EQ(removed_under(now + " 0\n"), 0u) << "a good one";
    for (const std::string &stamp :
         {std::string(), std::string("\n"), std::string("0 0\n"), now, now + " 0", now + "\n",
          now + " \n", now + " 0\n\n", now + " 0\nx", now + "  0\n", " " + now + " 0\n",
          now + " -1\n", now + "0000000000000000000 0\n", now + " 18446744073709551616\n",
          "-" + now + " 0\n", now + " x\n", tomorrow + " 0\n"}) {
        EXPECT_EQ(removed_under(stamp), 1000u) << stamp;
    }
    // One that is not ours to write: then nothing is done.
    Root root;
    Scratch outside;
    root.add("old/" + id('a') + ".wpcache", 1000, 9 * day);
    write_file(outside.path("file"), "content");
    std::filesystem::create_symlink(outside.path("file"), root.stamp());
    EXPECT_EQ(root.enforce(unlimited, 500).bytes, 0u);
    EXPECT_EQ(outside.read("file"), "content");
    std::filesystem::remove(root.stamp());
    std::filesystem::create_hard_link(outside.path("file"), root.stamp());
    EXPECT_EQ(root.enforce(unlimited, 500).bytes, 0u);
    EXPECT_EQ(outside.read("file"), "content");
}

// The root may be a folder that other programs use as well.
TEST(LimitsOfAll, TheFilesOfOtherProgramsStay)
{
    Root root;
    const std::vector<std::string> theirs = {
        "mail/inbox." + random_number + ".tmp",
        "mail/inbox.wpcache." + random_number + ".tmp",
        "kitchen/recipes/lock",
        "kitchen/recipes/soup." + random_number + ".tmp",
    };
    for (const std::string &name : theirs) {
        root.add(name, 100, 99 * day);
    }
    root.enforce(0, 0);
    for (const std::string &name : theirs) {
        EXPECT_TRUE(root.has(name)) << name;
    }
    // Beside files of ours as well.
    root.add("kitchen/" + id('a') + ".wpcache", 100, 99 * day);
    root.add("mail/" + id('a') + ".wpcache", 100, 99 * day);
    root.forget();
    root.enforce(0, 0);
    EXPECT_FALSE(root.has("kitchen/" + id('a') + ".wpcache"));
    for (const std::string &name : theirs) {
        EXPECT_TRUE(root.has(name)) << name;
    }
}

TEST(LimitsOfAll, SavesThatAddUpBeyondAllNumbersAreTooMuch)
{
    Root root;
    root.add("app/" + id('a') + ".wpcache", 10);
    root.enforce(unlimited, unlimited - 1, 10);
    root.add("old/" + id('a') + ".wpcache", 10, 9 * day);
    root.enforce(unlimited, unlimited - 1, unlimited - 10);
    EXPECT_NE(root.read_stamp().find(" 20\n"), std::string::npos);
}

TEST(LimitsOfAll, OfManyFilesAnEighthMoreGoes)
{
    Root root;
    for (int i = 0; i < 1100; i++) {
        char name[64];
        snprintf(name, sizeof name, "old%d/%032x.wpcache", i % 50, i);
        root.add(name, 10, 2000 * 60 - i * 60);
    }
    root.enforce(unlimited, 10000);
    size_t left = 0;
    for (const auto &entry : std::filesystem::recursive_directory_iterator(root.path)) {
        left += entry.path().extension() == ".wpcache";
    }
    EXPECT_EQ(left, 875u);
    EXPECT_FALSE(root.has("old24/000000000000000000000000000000e0.wpcache"));
    EXPECT_TRUE(root.has("old49/0000000000000000000000000000044b.wpcache"));
}

TEST(LimitsOfAll, WhatIsLeftOfAnIdentityWithoutFilesGoes)
{
    Root root;
    root.add("app/" + id('a') + ".wpcache", 10);
    root.add("old/" + id('b') + ".lock", 0, 31 * day);
    std::filesystem::create_directory(root.path + "/old/" + id('c') + ".loading");
    root.set_age("old/" + id('c') + ".loading", 31 * day);
    std::filesystem::create_directories(root.path + "/young/" + id('c') + ".loading");
    std::filesystem::permissions(root.path + "/young", std::filesystem::perms::owner_all);
    root.enforce(unlimited);
    EXPECT_FALSE(root.has("old"));
    EXPECT_TRUE(root.has("young/" + id('c') + ".loading"));
}

} // namespace
