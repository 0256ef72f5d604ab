// What goes when there is too much, and what never goes.
#include <ctime>

#include "child.h"
#include "holder.h"
#include "mounts.h"
#include "scratch.h"
#include "store_fixture.h"

extern "C" {
#include "disk/evict.h"
#include "disk/file.h"
#include "disk/in_use.h"
#include "disk/limits.h"
#include "disk/usage.h"
}

namespace {

constexpr uint64_t unlimited = UINT64_MAX;
constexpr time_t day = 24 * 60 * 60;

// An identity's digest, by a letter.
std::string id(char letter)
{
    return std::string(DIGEST_HEX_SIZE - 1, letter);
}

const std::string random_number = "0123456789abcdef";

// That of the driver whose stores these tests open.
std::string sample_id()
{
    driver_identity identity = sample_identity();
    char hex[DIGEST_HEX_SIZE];
    digest_format(identity_digest(&identity), hex);
    return hex;
}

// A root of caches with files of any size and age.
class Root {
  public:
    Root() : path(scratch_.path("root"))
    {
        std::filesystem::create_directory(path);
    }

    // Makes the file, and the folders on the way to it. `age` in seconds.
    std::string add(const std::string &name, size_t size, time_t age = 0) const
    {
        const std::string file = path + "/" + name;
        const std::string folder = file.substr(0, file.rfind('/'));
        std::filesystem::create_directories(folder);
        std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
        write_file(file, std::string(size, 'x'));
        set_age(name, age);
        return file;
    }

    void set_age(const std::string &name, time_t age) const
    {
        const timespec when[2] = {{time(nullptr) - age, 0}, {time(nullptr) - age, 0}};
        EXPECT_EQ(utimensat(AT_FDCWD, (path + "/" + name).c_str(), when, AT_SYMLINK_NOFOLLOW), 0);
    }

    bool has(const std::string &name) const
    {
        struct stat status;
        return lstat((path + "/" + name).c_str(), &status) == 0;
    }

    std::vector<std::string> names(const std::string &app) const
    {
        return names_in(path + "/" + app);
    }

    limits_outcome enforce(uint64_t max_size, uint64_t max_total = unlimited, uint64_t written = 0,
                           const char *app = "app") const
    {
        limits the_limits = {};
        the_limits.root = path.c_str();
        the_limits.app = app;
        the_limits.max_size = max_size;
        the_limits.max_total = max_total;
        limits_outcome outcome = {};
        limits_enforce(&the_limits, written, &outcome);
        return outcome;
    }

    // The next call looks at all folders.
    void forget() const
    {
        std::filesystem::remove(stamp());
    }

    std::string stamp() const
    {
        return path + "/" + stamp_name();
    }

    std::string read_stamp() const
    {
        return scratch_.read("root/" + stamp_name());
    }

  private:
    static std::string stamp_name()
    {
        return ".limits." + std::to_string(geteuid());
    }

    Scratch scratch_;

  public:
    const std::string path;
};

using Names = std::vector<std::string>;

TEST(LimitsOfAFolder, TheLongestUnusedGoesFirst)
{
    Root root;
    root.add("app/" + id('a') + ".wpcache", 1000, 1 * day);
    root.add("app/" + id('b') + ".wpcache", 1000, 3 * day);
    root.add("app/" + id('c') + ".wpcache", 1000, 2 * day);
    limits_outcome outcome = root.enforce(2500);
    EXPECT_EQ(root.names("app"), (Names{id('a') + ".wpcache", id('c') + ".wpcache"}));
    EXPECT_EQ(outcome.identities, 1u);
    EXPECT_EQ(outcome.bytes, 1000u);
    root.enforce(1000);
    EXPECT_EQ(root.names("app"), (Names{id('a') + ".wpcache"}));
    root.enforce(0);
    EXPECT_TRUE(root.names("app").empty());
}

TEST(LimitsOfAFolder, WhatFitsStays)
{
    Root root;
    root.add("app/" + id('a') + ".wpcache", 1000, 400 * day);
    root.add("app/" + id('b') + ".wpcache", 1000, 300 * day);
    limits_outcome outcome = root.enforce(2000);
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
    limits_outcome outcome = root.enforce(2000);
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
    run_in_child([&] { ASSERT_EQ(Store(root.path).commit("words"), REASON_ok); });
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
    Root root;
    root.add("app/" + id('b') + ".wpcache", 10, 1 * day);
    const std::string file = "app/" + sample_id() + ".wpcache";
    run_in_child([&] {
        ASSERT_EQ(Store(root.path).commit("words"), REASON_ok);
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
        ASSERT_EQ(Store(root.path).commit_unmerged("more"), REASON_ok);
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
        ASSERT_EQ(file_open_directory(root.path.c_str(), "app", false, &directory_fd), REASON_ok);
        ASSERT_EQ(file_lock(directory_fd, (id('a') + ".lock").c_str(), 0, &lock_fd), REASON_ok);
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
    root.add("app/program.json", 100, 9 * day);
    root.add("app/recipes/segment", 900, 9 * day);
    root.add("app/" + id('a') + ".wpcache", 500, 2 * day);
    root.add("app/" + id('b') + ".wpcache", 500, 1 * day);
    root.enforce(1500);
    EXPECT_EQ(root.names("app"), (Names{id('b') + ".wpcache", "program.json", "recipes"}));
    root.enforce(0);
    EXPECT_EQ(root.names("app"), (Names{"program.json", "recipes"}));
    EXPECT_TRUE(root.has("app/recipes/segment"));
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

// A folder in which a user, or an attacker, has put things.
void add_foreign(const Root &root, const std::string &app, const std::string &outside)
{
    std::filesystem::create_directories(root.path + "/" + app);
    std::filesystem::permissions(root.path + "/" + app, std::filesystem::perms::owner_all);
    for (const std::string &name :
         {std::string("notes.txt"), std::string("notes.tmp"), id('a') + ".wpcache.bak",
          id('a').substr(1) + ".wpcache", std::string("x.part"), std::string(".hidden")}) {
        root.add(app + "/" + name, 1000, 99 * day);
    }
    root.add(app + "/folder/" + id('b') + ".wpcache", 1000, 99 * day);
    std::filesystem::create_directory(root.path + "/" + app + "/" + id('c') + ".wpcache");
    std::filesystem::create_symlink(outside + "/file",
                                    root.path + "/" + app + "/" + id('d') + ".wpcache");
    std::filesystem::create_directory_symlink(outside,
                                              root.path + "/" + app + "/" + id('e') + ".loading");
    std::filesystem::create_directory_symlink(outside, root.path + "/" + app + "/quarantine");
    std::filesystem::create_directory_symlink(outside, root.path + "/" + app + "/recipes");
}

TEST(Limits, WhatIsNotOursIsLeftAloneAndLinksAreNotFollowed)
{
    Root root;
    Scratch outside;
    const std::string there = outside.path("there");
    std::filesystem::create_directory(there);
    write_file(there + "/file", "content");
    write_file(there + "/" + id('a') + ".wpcache", "content");
    write_file(there + "/" + id('a') + ".wpcache.txt", "content");
    const Names names = names_in(there);
    const timespec old[2] = {{1, 0}, {1, 0}};
    for (const std::string &name : names) {
        ASSERT_EQ(utimensat(AT_FDCWD, (there + "/" + name).c_str(), old, 0), 0);
    }

    add_foreign(root, "app", there);
    add_foreign(root, "other", there);
    std::filesystem::create_directory_symlink(there, root.path + "/link");
    root.add("folder.of.somebody/" + id('a') + ".wpcache", 1000, 99 * day);
    std::filesystem::create_directory(root.path + "/empty");
    root.add("file", 1000, 99 * day);
    const Names in_app = root.names("app");

    limits_outcome outcome = root.enforce(0, 0);
    EXPECT_EQ(outcome.bytes, 0u);
    EXPECT_EQ(root.names("app"), in_app);
    EXPECT_EQ(root.names("other"), in_app);
    EXPECT_EQ(names_in(there), names);
    for (const char *name : {"link", "folder.of.somebody", "empty", "file"}) {
        EXPECT_TRUE(root.has(name)) << name;
    }
    EXPECT_TRUE(root.has("folder.of.somebody/" + id('a') + ".wpcache"));

    // They do not count either.
    root.add("app/" + id('f') + ".wpcache", 10, 99 * day);
    root.add("other/" + id('f') + ".wpcache", 10, 99 * day);
    root.forget();
    EXPECT_EQ(root.enforce(10, 20).bytes, 0u);
}

TEST(Limits, AFolderOfAnotherUserIsNotOurs)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "needs root";
    }
    Root root;
    root.add("app/" + id('a') + ".wpcache", 10);
    root.add("other/" + id('b') + ".wpcache", 1000, 99 * day);
    root.add("mine/" + id('c') + ".wpcache", 1000, 99 * day);
    ASSERT_EQ(chown((root.path + "/other").c_str(), 12345, 12345), 0);
    ASSERT_EQ(chown((root.path + "/mine/" + id('c') + ".wpcache").c_str(), 12345, 12345), 0);
    EXPECT_EQ(root.enforce(unlimited, 0).bytes, 10u);
    EXPECT_TRUE(root.has("other/" + id('b') + ".wpcache"));
    EXPECT_TRUE(root.has("mine/" + id('c') + ".wpcache"));
}

// Such as a cache that came with a container's image.
TEST(Limits, WhatRootHasPutThereDoesNotCount)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "needs root";
    }
    Root root;
    root.add("baked/" + id('a') + ".wpcache", 5000, 99 * day);
    root.add("app/" + id('a') + ".wpcache", 10, 99 * day);
    root.add("old/" + id('a') + ".wpcache", 10, 9 * day);
    for (const std::string name : {"", "app", "old"}) {
        ASSERT_EQ(chown((root.path + "/" + name).c_str(), 12345, 12345), 0);
    }
    for (const std::string name : {"baked", "baked/.."}) {
        ASSERT_EQ(chmod((root.path + "/" + name).c_str(), 0755), 0);
    }
    ASSERT_EQ(chmod((root.path + "/..").c_str(), 0755), 0);
    for (const std::string name : {"app/", "old/"}) {
        ASSERT_EQ(chown((root.path + "/" + name + id('a') + ".wpcache").c_str(), 12345, 12345), 0);
    }
    run_in_child([&] {
        ASSERT_EQ(setresuid(12345, 12345, 12345), 0);
        EXPECT_EQ(root.enforce(unlimited, 20).bytes, 0u);
        EXPECT_TRUE(std::filesystem::exists(root.stamp()));
        EXPECT_EQ(root.enforce(unlimited, 10).bytes, 10u);
    });
    EXPECT_TRUE(root.has("baked/" + id('a') + ".wpcache"));
    EXPECT_TRUE(root.has("old/" + id('a') + ".wpcache"));
}

TEST(LimitsOfAll, TheLongestUnusedGoesFirstWhateverTheProgram)
{
    Root root;
    root.add("app/" + id('a') + ".wpcache", 1000, 5 * day);
    root.add("first/" + id('a') + ".wpcache", 1000, 4 * day);
    root.add("first/" + id('b') + ".wpcache", 1000, 1 * day);
    root.add("second/" + id('a') + ".wpcache", 1000, 3 * day);
    root.add("second/" + id('b') + ".wpcache", 1000, 2 * day);
    limits_outcome outcome = root.enforce(unlimited, 3000);
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

TEST(LimitsOfAll, WhatElseAFolderHoldsGoesWithItsLastUse)
{
    Root root;
    root.add("app/program.json", 100, 99 * day);
    root.add("old/" + id('a') + ".wpcache", 1000, 9 * day);
    root.add("old/" + id('b') + ".wpcache", 1000, 5 * day);
    root.add("old/program.json", 100, 8 * day);
    root.add("old/quarantine/" + id('a') + ".wpcache", 1000, 1 * day);
    root.add("old/" + id('a') + ".lock", 0);
    root.add("young/" + id('a') + ".wpcache", 1000, 7 * day);
    root.add("young/program.json", 100, 1 * day);
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

TEST(LimitsOfAll, RecipesCountAndStay)
{
    Root root;
    root.add("app/" + id('a') + ".wpcache", 10);
    root.add("old/recipes/segment", 5000, 99 * day);
    root.add("old/" + id('a') + ".wpcache", 10, 99 * day);
    root.enforce(unlimited, 100);
    EXPECT_FALSE(root.has("old/" + id('a') + ".wpcache"));
    EXPECT_TRUE(root.has("old/recipes/segment"));
}

TEST(LimitsOfAll, LooksOnceADayOrWhenTooMuchWasSaved)
{
    Root root;
    root.add("app/" + id('a') + ".wpcache", 10);
    root.add("old/" + id('a') + ".wpcache", 1000, 9 * day);
    EXPECT_EQ(root.enforce(unlimited, 2000, 10).bytes, 0u);

    // Unseen: no process has told of it.
    root.add("old/" + id('b') + ".wpcache", 1000, 8 * day);
    EXPECT_EQ(root.enforce(unlimited, 2000, 10).bytes, 0u);
    EXPECT_EQ(root.enforce(unlimited, 2000, 900).bytes, 0u);
    // 1,010 that were seen and 1,000 that were saved are too much.
    EXPECT_EQ(root.enforce(unlimited, 2000, 90).bytes, 1000u);
    EXPECT_FALSE(root.has("old/" + id('a') + ".wpcache"));

    // A day later, nothing saved.
    root.add("old/" + id('c') + ".wpcache", 1000, 7 * day);
    EXPECT_EQ(root.enforce(unlimited, 2000).bytes, 0u);
    std::stringstream stamp(root.read_stamp());
    time_t looked_at;
    uint64_t bytes;
    ASSERT_TRUE(stamp >> looked_at >> bytes);
    EXPECT_EQ(bytes, 1010u);
    write_file(root.stamp(), std::to_string(looked_at - day) + " 1010\n");
    EXPECT_EQ(root.enforce(unlimited, 2000).bytes, 1000u);
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
}

TEST(LimitsOfAll, SavesThatAddUpBeyondAllNumbersAreTooMuch)
{
    Root root;
    root.add("app/" + id('a') + ".wpcache", 10);
    root.enforce(unlimited, unlimited - 1, 10);
    root.add("old/" + id('a') + ".wpcache", 10, 9 * day);
    root.enforce(unlimited, unlimited - 1, unlimited);
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

TEST(Limits, WithoutARootNothingHappens)
{
    Root root;
    std::filesystem::remove(root.path);
    EXPECT_EQ(root.enforce(0, 0).bytes, 0u);
    EXPECT_FALSE(std::filesystem::exists(root.path));
}

TEST(Limits, OnAReadOnlyDiskNothingHappens)
{
    Root root;
    bool mounted = run_on_disk(root.path, "", [&] {
        root.add("app/" + id('a') + ".wpcache", 1000, 9 * day);
        root.add("old/" + id('b') + ".wpcache", 1000, 9 * day);
        root.add("old/" + id('b') + ".lock", 0, 9 * day);
        root.add("old/quarantine/" + id('b') + ".wpcache", 0, 90 * day);
        make_read_only(root.path);
        limits_outcome outcome = root.enforce(0, 0);
        EXPECT_EQ(outcome.bytes, 0u);
        EXPECT_EQ(outcome.identities, 0u);
        EXPECT_TRUE(root.has("old/" + id('b') + ".wpcache"));
    });
    if (!mounted) {
        GTEST_SKIP() << "may not mount here";
    }
}

// Each saves, and keeps to the limits, for a driver of its own and one that all have.
TEST(Limits, EightProcessesAtOnce)
{
    Root root;
    const uint64_t limit = 5000;
    auto driver = [](uint32_t number) {
        driver_identity identity = sample_identity();
        identity.device_id = number;
        return identity;
    };
    auto enforce = [&] { root.enforce(limit, limit, limit); };
    std::vector<pid_t> children;
    for (uint32_t number = 0; number < 8; number++) {
        pid_t child = fork();
        if (child == 0) {
            for (int round = 0; round < 20; round++) {
                EXPECT_EQ(Store(root.path, {}, driver(number)).commit("own"), REASON_ok);
                enforce();
                // The others may remove it, but whatever is there is whole.
                std::string loaded = Store(root.path, {}, driver(number)).load();
                EXPECT_TRUE(loaded == "own" || loaded == "<no_file>") << loaded;
                enum reason reason = Store(root.path).commit("word" + std::to_string(number));
                EXPECT_TRUE(reason == REASON_ok || reason == REASON_locked) << reason_id(reason);
                enforce();
            }
            _exit(testing::Test::HasFailure() ? 1 : 0);
        }
        children.push_back(child);
    }
    for (pid_t child : children) {
        int status = -1;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    }
    enforce();
    uint64_t bytes = 0;
    for (const std::string &name : root.names("app")) {
        EXPECT_EQ(name.find(".tmp"), std::string::npos) << name;
        const std::string path = root.path + "/app/" + name;
        bytes += std::filesystem::is_regular_file(path) ? std::filesystem::file_size(path) : 0;
    }
    EXPECT_LE(bytes, limit);
    EXPECT_GT(bytes, 0u);
}

/* The pieces. */

class Folder : public testing::Test {
  protected:
    Folder()
    {
        root.add("app/" + id('a') + ".wpcache", 1000, 9 * day);
        EXPECT_EQ(file_open_directory(root.path.c_str(), "app", false, &fd), REASON_ok);
    }
    ~Folder() override
    {
        close(fd);
    }
    static int64_t ago(time_t seconds)
    {
        return (time(nullptr) - seconds) * int64_t(1000000000);
    }

    Root root;
    int fd = -1;
};

TEST_F(Folder, EvictsOnlyWhatWasNotUsedMeanwhile)
{
    uint64_t bytes = 4711;
    EXPECT_FALSE(evict_identity(fd, id('a').c_str(), ago(10 * day), &bytes));
    EXPECT_EQ(bytes, 4711u);
    root.add("app/" + id('a') + "." + random_number + ".part", 10, 1 * day);
    EXPECT_FALSE(evict_identity(fd, id('a').c_str(), ago(8 * day), &bytes)) << "a new part";
    root.set_age("app/" + id('a') + "." + random_number + ".part", 9 * day);
    std::filesystem::create_directory(root.path + "/app/" + id('a') + ".loading");
    EXPECT_FALSE(evict_identity(fd, id('a').c_str(), ago(8 * day), &bytes)) << "a new load";
    root.set_age("app/" + id('a') + ".loading", 9 * day);
    EXPECT_TRUE(evict_identity(fd, id('a').c_str(), ago(8 * day), &bytes));
    EXPECT_EQ(bytes, 1010u);
    EXPECT_TRUE(root.names("app").empty());
}

TEST_F(Folder, WhatWasLearntMeanwhileStays)
{
    root.add("app/program.json", 20, 5 * day);
    EXPECT_EQ(evict_program(fd, ago(6 * day)), 0u);
    EXPECT_TRUE(root.has("app/program.json"));
    EXPECT_EQ(evict_program(fd, ago(4 * day)), 20u);
    EXPECT_FALSE(root.has("app/program.json"));
}

TEST_F(Folder, ALinkInTheFilesPlaceStays)
{
    const std::string link = root.path + "/app/" + id('b') + ".wpcache";
    root.add("app/" + id('b') + "." + random_number + ".part", 10, 9 * day);
    std::filesystem::create_symlink(id('a') + ".wpcache", link);
    root.set_age("app/" + id('b') + ".wpcache", 9 * day);
    uint64_t bytes;
    EXPECT_TRUE(evict_identity(fd, id('b').c_str(), ago(8 * day), &bytes));
    EXPECT_EQ(bytes, 10u);
    EXPECT_EQ(root.names("app"), (Names{id('a') + ".wpcache", id('b') + ".wpcache"}));
}

TEST_F(Folder, AMarkerOfALivingProcessStays)
{
    run_in_child([&] { ASSERT_EQ(Store(root.path).commit("words"), REASON_ok); });
    Holder loading([&] {
        Store *store = new Store(root.path); // never closed
        EXPECT_EQ(store->load(), "words");
    });
    uint64_t bytes;
    EXPECT_TRUE(evict_identity(fd, sample_id().c_str(), ago(-day), &bytes));
    EXPECT_EQ(names_in(root.path + "/app/" + sample_id() + ".loading").size(), 1u);
    EXPECT_FALSE(root.has("app/" + sample_id() + ".wpcache"));
}

TEST_F(Folder, ALockThatIsRemovedIsMadeAnewAndLocksOnce)
{
    const std::string name = id('a') + ".lock";
    int held;
    ASSERT_EQ(file_lock(fd, name.c_str(), 0, &held), REASON_ok);
    ASSERT_EQ(unlinkat(fd, name.c_str(), 0), 0);
    int second;
    ASSERT_EQ(file_lock(fd, name.c_str(), 0, &second), REASON_ok);
    int third;
    EXPECT_EQ(file_lock(fd, name.c_str(), 0, &third), REASON_locked);
    file_unlock(second);
    file_unlock(held);
}

// Whether a process has the file open.
bool has_open(pid_t process, const std::string &path)
{
    std::error_code ignored;
    const std::string folder = "/proc/" + std::to_string(process) + "/fd";
    for (const auto &entry : std::filesystem::directory_iterator(folder, ignored)) {
        if (std::filesystem::read_symlink(entry.path(), ignored) == path) {
            return true;
        }
    }
    return false;
}

TEST_F(Folder, AWaiterFollowsTheLockToItsNewFile)
{
    const std::string name = id('a') + ".lock";
    int held;
    ASSERT_EQ(file_lock(fd, name.c_str(), 0, &held), REASON_ok);
    const std::string path = std::filesystem::canonical(root.path + "/app/" + name);
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    pid_t waiter = fork();
    if (waiter == 0) {
        close(held);
        EXPECT_EQ(write(ends[1], "", 1), 1);
        int lock_fd;
        EXPECT_EQ(file_lock(fd, name.c_str(), 60000, &lock_fd), REASON_ok);
        struct stat named;
        struct stat opened;
        EXPECT_EQ(fstatat(fd, name.c_str(), &named, 0), 0);
        EXPECT_EQ(fstat(lock_fd, &opened), 0);
        EXPECT_EQ(named.st_ino, opened.st_ino);
        _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    char ready;
    ASSERT_EQ(read(ends[0], &ready, 1), 1);
    close(ends[0]);
    close(ends[1]);
    while (!has_open(waiter, path)) {
        sched_yield();
    }
    ASSERT_EQ(unlinkat(fd, name.c_str(), 0), 0);
    file_unlock(held);
    int status = -1;
    ASSERT_EQ(waitpid(waiter, &status, 0), waiter);
    EXPECT_EQ(status, 0);
}

TEST_F(Folder, UsageTellsBytesAndLastUse)
{
    root.add("app/" + id('a') + "." + random_number + ".part", 100, 5 * day);
    root.add("app/" + id('b') + ".lock", 0);
    root.add("app/program.json", 20, 7 * day);
    root.add("app/notes.txt", 5000);
    size_t entries = 100;
    usage found;
    ASSERT_EQ(usage_read(fd, &entries, &found), REASON_ok);
    EXPECT_EQ(entries, 95u);
    EXPECT_EQ(usage_bytes(&found), 1120u);
    EXPECT_EQ(found.other_bytes, 20u);
    ASSERT_EQ(found.count, 2u);
    const usage_identity *a = &found.identities[0];
    const usage_identity *b = &found.identities[1];
    if (a->bytes == 0) {
        std::swap(a, b);
    }
    EXPECT_EQ(a->identity, id('a'));
    EXPECT_EQ(a->bytes, 1100u);
    EXPECT_NEAR(static_cast<double>(a->last_use), static_cast<double>(ago(5 * day)), 1e11);
    EXPECT_EQ(b->identity, id('b'));
    EXPECT_EQ(b->last_use, INT64_MIN) << "a lock is no use";
    EXPECT_EQ(found.last_use, a->last_use);
    usage_free(&found);

    entries = 2;
    ASSERT_EQ(usage_read(fd, &entries, &found), REASON_ok);
    EXPECT_EQ(entries, 0u);
    EXPECT_LE(found.count, 2u);
    usage_free(&found);
}

TEST(InUse, RemembersForAsLongAsTheProcessLives)
{
    run_in_child([] {
        EXPECT_FALSE(in_use_contains("/a"));
        in_use_add("/a");
        in_use_add("/a");
        EXPECT_TRUE(in_use_contains("/a"));
        EXPECT_FALSE(in_use_contains("/b"));
        for (int i = 0; i < 1000; i++) {
            in_use_add(std::to_string(i).c_str());
        }
        EXPECT_TRUE(in_use_contains("62"));
        EXPECT_FALSE(in_use_contains("63")) << "bounded";
        EXPECT_TRUE(in_use_contains("/a"));
    });
}

} // namespace
