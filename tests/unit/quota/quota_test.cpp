// SPDX-License-Identifier: Apache-2.0
// What the limits never touch, and where and how many at once they are kept to.
#include "child.h"
#include "mounts.h"
#include "quota_fixture.h"

namespace {

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

    quota_outcome outcome = root.enforce(0, 0);
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
        quota_outcome outcome = root.enforce(0, 0);
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
                EXPECT_EQ(Store(root.path, {}, driver(number)).commit("own"), STATUS_ok);
                enforce();
                // The others may remove it, but whatever is there is whole.
                std::string loaded = Store(root.path, {}, driver(number)).load();
                EXPECT_TRUE(loaded == "own" || loaded == "<no_file>") << loaded;
                enum status reason = Store(root.path).commit("word" + std::to_string(number));
                EXPECT_TRUE(reason == STATUS_ok || reason == STATUS_locked) << status_id(reason);
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

} // namespace
