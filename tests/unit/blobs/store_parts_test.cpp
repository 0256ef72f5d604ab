// SPDX-License-Identifier: Apache-2.0
// Saves that could not take the file's place, and how the next commit takes them up.
#include "disk_fixture.h"
#include "holder.h"
#include "scratch.h"
#include "store_fixture.h"

extern "C" {
#include "common/blobs/identity_files.h"
#include "common/files/file.h"
}

namespace {

class StoreParts : public StoreTest {
  protected:
    std::string load() const
    {
        return Store(root()).load();
    }

    // Saves of processes that find the lock held, before there is a file.
    void leave_without_file(const std::vector<std::string> &saves) const
    {
        const auto holder = hold_lock();
        for (const std::string &words : saves) {
            ASSERT_EQ(Store(root()).commit_unmerged(words), STATUS_ok);
        }
        ASSERT_EQ(parts().size(), saves.size());
        ASSERT_TRUE(names_in(folder(), ".wpcache").empty());
    }
};

TEST_F(StoreParts, AreNotNeededWhereThereIsNoFile)
{
    Store store(root());
    EXPECT_EQ(store.commit_unmerged("one"), STATUS_ok);
    EXPECT_FALSE(store_has_part(store.get()));
    EXPECT_EQ(load(), "one");
    EXPECT_EQ(store.commit_unmerged("two"), STATUS_ok) << "it has written this file itself";
    EXPECT_FALSE(store_has_part(store.get()));
    EXPECT_EQ(load(), "one two");
}

TEST_F(StoreParts, AreNotNeededWhereTheFileIsTheOneLoaded)
{
    ASSERT_EQ(Store(root()).commit("one"), STATUS_ok);
    Store store(root());
    ASSERT_EQ(store.load(), "one");
    EXPECT_EQ(store.commit_unmerged("two"), STATUS_ok);
    EXPECT_FALSE(store_has_part(store.get()));
    EXPECT_EQ(load(), "one two");
}

TEST_F(StoreParts, StandBesideAFileThatOthersHaveSaved)
{
    Store store(root());
    ASSERT_EQ(Store(root()).commit("other"), STATUS_ok);
    ASSERT_EQ(store.commit_unmerged("one"), STATUS_ok);
    EXPECT_TRUE(store_has_part(store.get()));
    EXPECT_EQ(load(), "other");
    ASSERT_EQ(parts().size(), 1u);
    EXPECT_EQ(parts().front().size(), PART_NAME_SIZE - 1);
    ASSERT_EQ(store.commit_unmerged("two"), STATUS_ok);
    EXPECT_EQ(parts().size(), 1u) << "one for a store";

    ASSERT_EQ(Store(root()).commit(""), STATUS_ok);
    EXPECT_EQ(load(), "one other two");
    EXPECT_TRUE(parts().empty());
}

TEST_F(StoreParts, StandBesideTheFileWhileTheLockIsHeld)
{
    ASSERT_EQ(Store(root()).commit("one"), STATUS_ok);
    Store store(root());
    ASSERT_EQ(store.load(), "one");
    {
        const auto holder = hold_lock();
        EXPECT_EQ(store.commit("two"), STATUS_locked);
        EXPECT_EQ(store.commit_unmerged("two"), STATUS_ok);
        EXPECT_TRUE(store_has_part(store.get()));
        EXPECT_EQ(load(), "one");
    }
    store_foreign foreign;
    ASSERT_EQ(store_begin(store.get(), &foreign), STATUS_ok);
    EXPECT_EQ(foreign.count, 0u) << "the part is its own";
    store_abort(store.get());
    ASSERT_EQ(store.commit("three"), STATUS_ok);
    EXPECT_FALSE(store_has_part(store.get()));
    EXPECT_TRUE(parts().empty());
    EXPECT_EQ(load(), "one three two");
}

TEST_F(StoreParts, AreLoadedWhereThereIsNoFile)
{
    leave_without_file({"one"});
    Store store(root());
    EXPECT_EQ(store.load(), "one");
    store_foreign foreign;
    ASSERT_EQ(store_begin(store.get(), &foreign), STATUS_ok);
    EXPECT_EQ(foreign.count, 0u) << "it has it";
    store_abort(store.get());
    ASSERT_EQ(store.commit("two"), STATUS_ok);
    EXPECT_TRUE(parts().empty());
    EXPECT_EQ(load(), "one two");
}

TEST_F(StoreParts, ThatAreLoadedGoWithASaveInPlace)
{
    leave_without_file({"one"});
    Store store(root());
    EXPECT_EQ(store.load(), "one");
    ASSERT_EQ(store.commit_unmerged("two"), STATUS_ok);
    EXPECT_FALSE(store_has_part(store.get()));
    EXPECT_TRUE(parts().empty());
    EXPECT_EQ(load(), "one two");
}

// So that who removes one that he has merged never removes what its owner has saved meanwhile.
TEST_F(StoreParts, AreSavedAgainUnderANewName)
{
    ASSERT_EQ(Store(root()).commit("zero"), STATUS_ok);
    Store owner(root());
    ASSERT_EQ(owner.commit_unmerged("one"), STATUS_ok);
    const std::string name = parts().at(0);
    ASSERT_EQ(owner.commit_unmerged("two"), STATUS_ok);
    ASSERT_EQ(parts().size(), 1u);
    EXPECT_NE(parts().at(0), name);
    owner.close();
    ASSERT_EQ(Store(root()).commit(""), STATUS_ok);
    EXPECT_EQ(words_of(load()), words_of("zero one two"));
}

// Their owner saves while others have the lock.
TEST_F(StoreParts, ThatHaveGrownWhileTheyWereMergedStay)
{
    ASSERT_EQ(Store(root()).commit("zero"), STATUS_ok);
    Store owner(root());
    ASSERT_EQ(owner.commit_unmerged("one"), STATUS_ok);
    Store store(root());
    ASSERT_EQ(store.load(), "zero");
    store_foreign foreign;
    ASSERT_EQ(store_begin(store.get(), &foreign), STATUS_ok);
    EXPECT_EQ(foreign.count, 1u);
    ASSERT_EQ(owner.commit_unmerged("two"), STATUS_ok);
    const std::string blob = make_blob("zero one");
    ASSERT_EQ(store_commit(store.get(), blob.data(), blob.size()), STATUS_ok);
    EXPECT_EQ(parts().size(), 1u);
    ASSERT_EQ(Store(root()).commit(""), STATUS_ok);
    EXPECT_EQ(words_of(load()), words_of("zero one two"));
}

TEST_F(StoreParts, ThatHaveGrownSinceTheyWereLoadedStay)
{
    Store owner(root());
    {
        const auto holder = hold_lock();
        ASSERT_EQ(owner.commit_unmerged("one"), STATUS_ok);
    }
    Store store(root());
    ASSERT_EQ(store.load(), "one");
    store_foreign foreign;
    ASSERT_EQ(store_begin(store.get(), &foreign), STATUS_ok);
    EXPECT_EQ(foreign.count, 0u);
    ASSERT_EQ(owner.commit_unmerged("two"), STATUS_ok);
    const std::string blob = make_blob("one more");
    ASSERT_EQ(store_commit(store.get(), blob.data(), blob.size()), STATUS_ok);
    EXPECT_EQ(parts().size(), 1u);
    ASSERT_EQ(Store(root()).commit(""), STATUS_ok);
    EXPECT_EQ(words_of(load()), words_of("one two more"));
}

TEST_F(StoreParts, AreLoadedThoughNobodyMayWrite)
{
    leave_without_file({"one"});
    store_options options = {};
    options.read_only = true;
    EXPECT_EQ(Store(root(), options).load(), "one");
    EXPECT_EQ(parts().size(), 1u);
}

TEST_F(StoreParts, OfWhichTheLargestIsLoadedLeaveTheOthersToASave)
{
    leave_without_file({"one", "two and more", "three"});
    Store store(root());
    EXPECT_EQ(store.load(), "and more two");
    ASSERT_EQ(store.commit(""), STATUS_ok);
    EXPECT_TRUE(parts().empty());
    EXPECT_EQ(words_of(load()), words_of("one two and more three"));
}

TEST_F(StoreParts, AreSupersededByALaterSaveInPlace)
{
    ASSERT_EQ(Store(root()).commit("one"), STATUS_ok);
    Store store(root());
    ASSERT_EQ(store.load(), "one");
    {
        Holder holder([&] {
            int fd = open((root() + "/app").c_str(), O_RDONLY | O_DIRECTORY);
            int lock_fd = -1;
            std::string lock = names_in(root() + "/app", ".lock").at(0);
            ASSERT_EQ(file_lock(fd, lock.c_str(), 0, &lock_fd), STATUS_ok);
        });
        ASSERT_EQ(store.commit_unmerged("two"), STATUS_ok);
        ASSERT_TRUE(store_has_part(store.get()));
    }
    ASSERT_EQ(store.commit_unmerged("three"), STATUS_ok);
    EXPECT_FALSE(store_has_part(store.get()));
    EXPECT_TRUE(parts().empty());
    EXPECT_EQ(load(), "one three two");
}

TEST_F(StoreParts, AreKeptWhereTheCommitFails)
{
    ASSERT_EQ(Store(root()).commit("one"), STATUS_ok);
    leave_part("two");
    Store store(root());
    ASSERT_EQ(store.load(), "one");
    store_foreign foreign;
    ASSERT_EQ(store_begin(store.get(), &foreign), STATUS_ok);
    EXPECT_EQ(foreign.count, 1u);
    EXPECT_EQ(store_commit(store.get(), "junk", 4), STATUS_bad_blob_header);
    EXPECT_EQ(parts().size(), 1u);
    ASSERT_EQ(store_begin(store.get(), &foreign), STATUS_ok);
    store_abort(store.get());
    EXPECT_EQ(parts().size(), 1u);
    ASSERT_EQ(store.commit(""), STATUS_ok);
    EXPECT_EQ(load(), "one two");
}

TEST_F(StoreParts, OfOtherIdentitiesAreLeftAlone)
{
    driver_identity other = sample_identity();
    other.device_id++;
    ASSERT_EQ(Store(root(), {}, other).commit("one"), STATUS_ok);
    Store store(root(), {}, other);
    ASSERT_EQ(store.commit_unmerged("two"), STATUS_ok);
    ASSERT_TRUE(store_has_part(store.get()));
    ASSERT_EQ(Store(root()).commit("x"), STATUS_ok);
    EXPECT_EQ(parts().size(), 1u);
    EXPECT_EQ(load(), "x");
}

TEST_F(StoreParts, ThatAreDamagedAreRemovedAndTheOthersTaken)
{
    ASSERT_EQ(Store(root()).commit("one"), STATUS_ok);
    leave_part("two");
    leave_part("three");
    leave_part("four");
    std::string damaged = root() + "/app/" + parts().at(1);
    std::string content = scratch.read("root/app/" + parts().at(1));
    std::string lost =
        payload_of(content.data() + ENVELOPE_HEADER_SIZE, content.size() - ENVELOPE_HEADER_SIZE);
    content.back() ^= 1;
    write_file(damaged, content);
    const std::string pattern = names_in(root() + "/app", ".wpcache").at(0).substr(0, 32);
    std::filesystem::create_symlink("nowhere",
                                    root() + "/app/" + pattern + ".0123456789abcdef.part");
    write_file(root() + "/app/" + pattern + ".1123456789abcdef.part", "");

    ASSERT_EQ(Store(root()).commit(""), STATUS_ok);
    EXPECT_TRUE(parts().empty());
    Words expected = {"one", "two", "three", "four"};
    expected.erase(lost);
    EXPECT_EQ(words_of(load()), expected);
}

// As much at once as the limit for one blob, so that a merge needs bounded memory.
TEST_F(StoreParts, AreTakenUpInPortions)
{
    ASSERT_EQ(Store(root()).commit("x"), STATUS_ok);
    for (int i = 0; i < 6; i++) {
        leave_part(std::string(1, static_cast<char>('a' + i)) + std::string(99, 'z'));
    }
    store_options options = {};
    options.max_blob = 3 * 132 + 131;
    size_t taken = 0;
    for (int i = 0; i < 2; i++) {
        Store store(root(), options);
        ASSERT_EQ(store.load(), "x");
        store_foreign foreign;
        ASSERT_EQ(store_begin(store.get(), &foreign), STATUS_ok);
        EXPECT_EQ(foreign.count, 3u);
        taken += foreign.count;
        const std::string blob = make_blob("x");
        ASSERT_EQ(store_commit(store.get(), blob.data(), blob.size()), STATUS_ok);
        EXPECT_EQ(parts().size(), 6 - taken);
    }
}

TEST_F(StoreParts, BeyondTheLimitAreRemoved)
{
    ASSERT_EQ(Store(root()).commit("x"), STATUS_ok);
    leave_part(std::string(200, 'z'));
    store_options options = {};
    options.max_blob = 100;
    ASSERT_EQ(Store(root(), options).commit("y"), STATUS_ok);
    EXPECT_TRUE(parts().empty());
    EXPECT_EQ(load(), "x y");
}

TEST_F(StoreParts, AreBoundedInNumber)
{
    ASSERT_EQ(Store(root()).commit("x"), STATUS_ok);
    Store early(root());
    ASSERT_EQ(early.commit_unmerged("early"), STATUS_ok);
    Words expected = {"x", "early", "later"};
    for (int i = 1; i < PARTS_MAX; i++) {
        leave_part("w" + std::to_string(i));
        expected.insert("w" + std::to_string(i));
    }
    EXPECT_EQ(Store(root()).commit_unmerged("lost"), STATUS_too_many_parts);
    EXPECT_EQ(early.commit_unmerged("later"), STATUS_ok) << "it has one already";
    EXPECT_EQ(parts().size(), static_cast<size_t>(PARTS_MAX));
    // Sixteen at a time.
    for (int i = 0; i < 4; i++) {
        EXPECT_FALSE(parts().empty());
        Store store(root());
        store.load();
        ASSERT_EQ(store.commit(""), STATUS_ok);
    }
    EXPECT_TRUE(parts().empty());
    EXPECT_EQ(words_of(load()), expected);
}

// Together they would take more than one cache may.
TEST_F(StoreParts, AreBoundedInSize)
{
    ASSERT_EQ(Store(root()).commit("x"), STATUS_ok);
    store_options options = {};
    const std::string words(100, 'w');
    options.max_blob = 3 * make_blob(words).size();
    for (int i = 0; i < 3; i++) {
        EXPECT_EQ(Store(root(), options).commit_unmerged(words), STATUS_ok);
    }
    EXPECT_EQ(Store(root(), options).commit_unmerged(words), STATUS_too_many_parts);
    EXPECT_EQ(parts().size(), 3u);
    options.max_blob = make_blob(words).size();
    for (const std::string &part : parts()) {
        std::filesystem::remove(folder() + "/" + part);
    }
    for (const enum status expected : {STATUS_ok, STATUS_ok, STATUS_too_many_parts}) {
        EXPECT_EQ(Store(root(), options).commit_unmerged(words), expected) << "two there may be";
    }
}

TEST_F(StoreParts, AreKnownToWhoLoadsTheFile)
{
    ASSERT_EQ(Store(root()).commit("x"), STATUS_ok);
    Store before(root());
    ASSERT_EQ(before.load(), "x");
    EXPECT_FALSE(store_has_others(before.get()));
    leave_part("one");
    store_options options = {};
    options.max_blob = make_blob("one x").size();
    Store full(root(), options);
    ASSERT_EQ(full.load(), "x");
    EXPECT_FALSE(store_has_others(full.get())) << "they do not fit into one";
    Store store(root());
    ASSERT_EQ(store.load(), "x");
    EXPECT_TRUE(store_has_others(store.get()));
    EXPECT_EQ(store.commit(""), STATUS_ok);
    EXPECT_FALSE(store_has_others(store.get()));
}

TEST_F(StoreParts, GoWhereTheyDoNotFitIntoTheFile)
{
    ASSERT_EQ(Store(root()).commit("x"), STATUS_ok);
    leave_part("y");
    store_options options = {};
    options.max_blob = 100;
    Store store(root(), options);
    ASSERT_EQ(store.load(), "x");
    EXPECT_EQ(store.commit(std::string(100, 'z')), STATUS_too_large);
    EXPECT_EQ(parts().size(), 1u);
    store.end_outgrown(true);
    EXPECT_TRUE(parts().empty());
    EXPECT_EQ(load(), "x");
    EXPECT_EQ(Store(root()).commit("z"), STATUS_ok) << "the lock is free";
}

} // namespace
