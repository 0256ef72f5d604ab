// SPDX-License-Identifier: Apache-2.0
// The store with one process at a time: what it keeps, what it leaves alone.
#include <sys/resource.h>

#include "child.h"
#include "disk_fixture.h"
#include "holder.h"
#include "scratch.h"
#include "store_fixture.h"

extern "C" {
#include "common/blobs/identity_files.h"
#include "common/files/file.h"
}

namespace {

TEST_F(StoreTest, MakesNothingUntilItSaves)
{
    EXPECT_EQ(load(), "<no_file>");
    EXPECT_FALSE(std::filesystem::exists(root()));
    std::filesystem::create_directories(folder());
    EXPECT_EQ(load(), "<no_file>");
    EXPECT_TRUE(names("").empty());
}

TEST_F(StoreTest, SaysWhatItWants)
{
    Store store(root());
    EXPECT_EQ(store.load(), "<no_file>");
    store_want(store.get());
    const driver_identity identity = sample_identity();
    char hex[DIGEST_HEX_SIZE];
    digest_format(identity_digest(&identity), hex);
    EXPECT_EQ(names(""), std::vector<std::string>{std::string(hex) + ".wanted"});
    store_want(store.get());
    EXPECT_EQ(names("").size(), 1u);

    store_options options = {};
    options.read_only = true;
    std::filesystem::remove_all(root());
    Store reader(root(), options);
    store_want(reader.get());
    EXPECT_FALSE(std::filesystem::exists(root()));
}

TEST_F(StoreTest, LoadsWhatWasSaved)
{
    save("one");
    EXPECT_EQ(load(), "one");
    save("two");
    EXPECT_EQ(load(), "one two");
}

TEST_F(StoreTest, NamesTheFileByTheIdentity)
{
    save("one");
    const driver_identity identity = sample_identity();
    char hex[DIGEST_HEX_SIZE];
    digest_format(identity_digest(&identity), hex);
    EXPECT_EQ(file(), folder() + "/" + hex + ".wpcache");
    EXPECT_EQ(names(""), (std::vector<std::string>{std::string(hex) + ".lock",
                                                   std::string(hex) + ".wpcache"}));
}

TEST_F(StoreTest, KeepsEachIdentityInAFileOfItsOwn)
{
    driver_identity other = sample_identity();
    other.driver_version++;
    save("one");
    ASSERT_EQ(Store(root(), {}, other).commit("two"), STATUS_ok);
    EXPECT_EQ(load(), "one");
    EXPECT_EQ(Store(root(), {}, other).load(), "two");
}

TEST_F(StoreTest, SavesThoughALinkStandsInPlaceOfTheLock)
{
    save("one");
    const std::string lock = folder() + "/" + names(".lock").at(0);
    std::filesystem::remove(lock);
    std::filesystem::create_symlink("elsewhere", lock);
    save("two");
    std::filesystem::remove(lock);
    std::filesystem::create_symlink("elsewhere", lock);
    Store store(root());
    ASSERT_EQ(store.load(), "one two");
    ASSERT_EQ(store.commit_unmerged("three"), STATUS_ok);
    EXPECT_EQ(load(), "one three two");
    EXPECT_TRUE(std::filesystem::is_regular_file(lock));
}

TEST_F(StoreTest, GivesEverySaveAGenerationOfItsOwn)
{
    std::set<std::string> generations;
    for (int i = 0; i < 10; i++) {
        save("same");
        generations.insert(file_content().substr(24, 8));
    }
    EXPECT_EQ(generations.size(), 10u);
}

TEST_F(StoreTest, AsksForAMergeOnlyOfWhatItLacks)
{
    save("one");
    Store store(root());
    ASSERT_EQ(store.load(), "one");
    store_foreign foreign;
    ASSERT_EQ(store_begin(store.get(), &foreign), STATUS_ok);
    EXPECT_EQ(foreign.count, 0u) << "loaded by itself";
    store_abort(store.get());
    ASSERT_EQ(store.commit("two"), STATUS_ok);
    ASSERT_EQ(store_begin(store.get(), &foreign), STATUS_ok);
    EXPECT_EQ(foreign.count, 0u) << "written by itself";
    store_abort(store.get());

    save("three");
    ASSERT_EQ(store_begin(store.get(), &foreign), STATUS_ok);
    ASSERT_EQ(foreign.count, 1u);
    EXPECT_EQ(payload_of(foreign.blobs[0].data, foreign.blobs[0].size), "one three two");
    store_abort(store.get());
}

// Its own cache does not contain what was merged for a save: the save after must not lose it.
TEST_F(StoreTest, KeepsWhatItMergedThroughItsNextSave)
{
    Store store(root());
    save("other");
    ASSERT_EQ(store.commit("one"), STATUS_ok);
    EXPECT_EQ(load(), "one other");
    ASSERT_EQ(store.commit("two"), STATUS_ok);
    EXPECT_EQ(load(), "one other two");
    ASSERT_EQ(store.commit_unmerged("three"), STATUS_ok);
    save("");
    EXPECT_EQ(load(), "one other three two");
}

TEST_F(StoreTest, LeavesEverythingAsItWasAfterAnAbort)
{
    save("one");
    const std::string before = file_content();
    Store store(root());
    store_foreign foreign;
    ASSERT_EQ(store_begin(store.get(), &foreign), STATUS_ok);
    EXPECT_EQ(foreign.count, 1u);
    store_abort(store.get());
    store_abort(store.get());
    EXPECT_EQ(file_content(), before);
    save("two");
}

TEST_F(StoreTest, EndsWhatIsUnderWayWhenItIsClosed)
{
    save("one");
    {
        Store store(root());
        ASSERT_EQ(store.load(), "one");
        store_foreign foreign;
        ASSERT_EQ(store_begin(store.get(), &foreign), STATUS_ok);
    }
    EXPECT_EQ(load(), "one");
    save("two");
}

TEST_F(StoreTest, SetsOneMarkerHoweverOftenItLoads)
{
    save("one");
    Store store(root());
    for (int i = 0; i < 40; i++) {
        ASSERT_EQ(store.load(), "one");
    }
    const std::string loading = folder() + "/" + names(".loading").at(0);
    EXPECT_EQ(names_in(loading).size(), 1u);
    store_survived(store.get());
    EXPECT_TRUE(names_in(loading).empty());
}

TEST_F(StoreTest, ServesTwoOfOneIdentityInOneProcess)
{
    save("one");
    Store first(root());
    Store second(root());
    EXPECT_EQ(first.load(), "one");
    EXPECT_EQ(second.load(), "one");
    ASSERT_EQ(first.commit("two"), STATUS_ok);
    ASSERT_EQ(second.commit("three"), STATUS_ok);
    EXPECT_EQ(load(), "one three two");
}

TEST_F(StoreTest, ReadsAndNothingElseWhereItIsReadOnly)
{
    store_options options = {};
    options.read_only = true;
    Store nothing(root(), options);
    EXPECT_EQ(nothing.load(), "<no_file>");
    EXPECT_EQ(nothing.commit("x"), STATUS_read_only);
    EXPECT_EQ(nothing.commit_unmerged("x"), STATUS_read_only);
    EXPECT_FALSE(std::filesystem::exists(root()));

    save("one");
    const std::vector<std::string> before = names("");
    Store store(root(), options);
    EXPECT_EQ(store.load(), "one");
    EXPECT_EQ(store.commit("x"), STATUS_read_only);
    EXPECT_EQ(store.commit_unmerged("x"), STATUS_read_only);
    EXPECT_EQ(names(""), before);
}

TEST_F(StoreTest, StartsAnewWhereItsFolderWasRemoved)
{
    save("old");
    Store store(root());
    ASSERT_EQ(store.load(), "old");
    std::filesystem::remove_all(root());
    store_survived(store.get());
    ASSERT_EQ(store.commit("new"), STATUS_ok);
    EXPECT_EQ(load(), "new old");

    store_foreign foreign;
    ASSERT_EQ(store_begin(store.get(), &foreign), STATUS_ok);
    std::filesystem::remove_all(root());
    const std::string blob = make_blob("lost");
    EXPECT_EQ(store_commit(store.get(), blob.data(), blob.size()), STATUS_directory_unusable);
    EXPECT_EQ(store.commit_unmerged("newer"), STATUS_ok);
    EXPECT_EQ(load(), "new newer old");
}

TEST_F(StoreTest, RemovesWhatKilledSaversLeft)
{
    save("one");
    {
        Holder holder([&] {
            int fd = open(folder().c_str(), O_RDONLY | O_DIRECTORY);
            file_owned owned = {};
            ASSERT_TRUE(file_create_owned(fd, (std::string(32, 'a') + ".wpcache").c_str(),
                                          TEMPORARY_SUFFIX, &owned));
        });
        save("two");
        EXPECT_EQ(names(".tmp").size(), 1u) << "it is being written";
    }
    save("three");
    EXPECT_TRUE(names(".tmp").empty());
}

// A file may be as large as the limit says, header aside.
TEST_F(StoreTest, KeepsToTheLimit)
{
    store_options options = {};
    options.max_blob = 40;
    {
        Store store(root(), options);
        EXPECT_EQ(store.commit("12345678"), STATUS_ok);
    }
    {
        Store store(root(), options);
        EXPECT_EQ(store.load(), "12345678");
    }
    options.max_blob = 39;
    Store store(root(), options);
    EXPECT_EQ(store.load(), "<too_large>");
    EXPECT_EQ(store.commit_unmerged("1234567"), STATUS_ok);
    EXPECT_FALSE(store_has_part(store.get())) << "nobody else will load that file either";
    EXPECT_EQ(load(), "1234567");
}

TEST_F(StoreTest, LeavesTheFileWhereABlobThatBeganEmptyIsTooLarge)
{
    save("old");
    store_options options = {};
    options.max_blob = 100;
    Store store(root(), options);
    EXPECT_EQ(store.commit(std::string(100, 'x')), STATUS_too_large);
    EXPECT_EQ(store.commit_unmerged(std::string(100, 'x')), STATUS_too_large);
    EXPECT_EQ(load(), "old");
}

// Else what is no longer used would fill the file for good, and nothing new be kept.
TEST_F(StoreTest, BeginsAnewWhereTheFileHasOutgrownItsLimit)
{
    save("old");
    leave_part("part");
    const auto now = std::filesystem::file_time_type::clock::now();
    std::filesystem::path lock = file();
    lock.replace_extension(".lock");
    store_options options = {};
    options.max_blob = 100;
    {
        Store store(root(), options);
        ASSERT_EQ(store.load(), "old");
        EXPECT_EQ(store.commit(std::string(100, 'x')), STATUS_too_large);
        EXPECT_EQ(load(), "old") << "that is the caller's to say";
        store.end_outgrown(false);
        EXPECT_EQ(load(), "old") << "in its first week";
        std::filesystem::last_write_time(lock, now + std::chrono::hours(1));
        store.end_outgrown(false);
        EXPECT_EQ(load(), "old") << "by the clock of a server that is ahead";
        EXPECT_EQ(names(".part").size(), 1u);
        std::filesystem::last_write_time(lock, now - std::chrono::hours(8 * 24));
        store.end_outgrown(false);
    }
    EXPECT_EQ(load(), "<no_file>");
    EXPECT_TRUE(names(".part").empty());
    EXPECT_LT(now - std::chrono::hours(1), std::filesystem::last_write_time(lock));
    Store store(root(), options);
    EXPECT_EQ(store.load(), "<no_file>");
    EXPECT_EQ(store.commit("new"), STATUS_ok);
    EXPECT_EQ(load(), "new");
}

// The lock tells the tool that what was pulled into the file before is not in this one.
TEST_F(StoreTest, TellsByItsLockThatAFileIsBegunAnew)
{
    using Change = std::function<void()>;
    const auto old = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
    const std::pair<Change, bool> changes[] = {
        {[] {}, false},
        {[&] { save("another"); }, false},
        {[&] { std::filesystem::remove(file()); }, true},
        {[&] { std::filesystem::resize_file(file(), 100); }, true},
        {[&] { std::filesystem::resize_file(file(), file_content().size() - 1); }, true},
        {[&] {
             std::string bytes = file_content();
             bytes.back() ^= 1;
             write_file(file(), bytes);
         },
         true},
        {[&] {
             leave_part("of another");
             std::filesystem::remove(file());
         },
         true},
    };
    for (size_t i = 0; i < std::size(changes) * 2; i++) {
        SCOPED_TRACE(i);
        const auto &[change, is_anew] = changes[i / 2];
        std::filesystem::remove_all(root());
        save("one");
        change();
        std::filesystem::path lock = file();
        lock.replace_extension(".lock");
        std::filesystem::last_write_time(lock, old);
        Store store(root());
        store.load();
        ASSERT_EQ(i % 2 ? store.commit_unmerged("two") : store.commit("two"), STATUS_ok);
        EXPECT_EQ(std::filesystem::last_write_time(lock) > old, is_anew);
        std::filesystem::last_write_time(lock, old);
        ASSERT_EQ(store.commit("three"), STATUS_ok);
        EXPECT_EQ(std::filesystem::last_write_time(lock), old) << "it is there";
    }
}

TEST_F(StoreTest, WhatAnotherSavedMeanwhileIsNotBegunAnew)
{
    save("old");
    store_options options = {};
    options.max_blob = 100;
    Store store(root(), options);
    ASSERT_EQ(store.load(), "old");
    std::filesystem::path lock = file();
    lock.replace_extension(".lock");
    for (const std::string &saved : {std::string("new"), std::string(200, 'x')}) {
        save(saved);
        std::filesystem::last_write_time(lock, std::filesystem::file_time_type::clock::now() -
                                                   std::chrono::hours(8 * 24));
        store.end_outgrown(false);
        EXPECT_NE(load().find(saved), std::string::npos) << "even what is too large for this one";
    }
}

TEST_F(StoreTest, IsTheParentsAloneAfterAFork)
{
    save("one");
    Store store(root());
    ASSERT_EQ(store.load(), "one");
    run_in_child([&] {
        EXPECT_EQ(store.load(), "<forked>");
        EXPECT_EQ(store.commit("child"), STATUS_forked);
        EXPECT_EQ(store.commit_unmerged("child"), STATUS_forked);
        EXPECT_EQ(store_commit(store.get(), "x", 1), STATUS_forked);
        store_survived(store.get());
        store_abort(store.get());
        store.close();
    });
    EXPECT_EQ(names_in(folder() + "/" + names(".loading").at(0)).size(), 1u);
    EXPECT_EQ(load(), "one") << "the parent lives";

    store_foreign foreign;
    ASSERT_EQ(store_begin(store.get(), &foreign), STATUS_ok);
    run_in_child([&] {
        store_end_outgrown(store.get(), true);
        store.close();
    });
    EXPECT_EQ(load(), "one");
    EXPECT_EQ(Store(root()).commit("other"), STATUS_locked) << "the lock is the parent's";
    store_abort(store.get());
    ASSERT_EQ(store.commit("two"), STATUS_ok);
    EXPECT_EQ(load(), "one two");
}

TEST_F(StoreTest, SavesUnderASizeLimitWithoutBeingKilled)
{
    save("one");
    run_in_child([&] {
        rlimit limit = {500, 500};
        ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
        Store store(root());
        EXPECT_EQ(store.load(), "one");
        EXPECT_EQ(store.commit("two"), STATUS_disk_full);
        EXPECT_EQ(store.commit_unmerged("two"), STATUS_disk_full);
    });
    EXPECT_EQ(load(), "one");
}

} // namespace
