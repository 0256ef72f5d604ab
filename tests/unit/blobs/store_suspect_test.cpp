// SPDX-License-Identifier: Apache-2.0
// Blobs that kill: skipped once, put away the second time in a row, and never a good one by
// mistake.
#include <memory>

#include "child.h"
#include "disk_fixture.h"
#include "holder.h"
#include "scratch.h"
#include "store_fixture.h"

extern "C" {
#include "common/files/file.h"
}

namespace {

class StoreSuspect : public StoreTest {
  protected:
    std::vector<std::string> quarantined() const
    {
        return names_in(folder() + "/quarantine");
    }

    // A process that loads the file and survives it.
    std::string load() const
    {
        Store store(root());
        std::string found = store.load();
        store_survived(store.get());
        return found;
    }

    // A process that is in a driver call with the file.
    std::unique_ptr<Holder> inside(uint64_t key, crash_state state = CRASH_INSIDE) const
    {
        return std::make_unique<Holder>([&] {
            Store *store = new Store(root()); // never closed
            store->load();
            store->begin_call(key, state);
        });
    }

    std::unique_ptr<Holder> loading() const
    {
        return inside(CRASH_KEY_LOAD);
    }

    void die_inside(uint64_t key, crash_state state = CRASH_INSIDE) const
    {
        inside(key, state)->end();
    }

    void die_outside() const
    {
        Holder([&] {
            Store *store = new Store(root());
            store->load();
        }).end();
    }

    void die_loading() const
    {
        loading()->end();
    }

    // A process that dies while it merges what others have saved.
    void die_merging() const
    {
        Holder([&] {
            Store *store = new Store(root());
            store_foreign foreign;
            ASSERT_EQ(store_begin(store->get(), &foreign), STATUS_ok);
            ASSERT_GT(foreign.count, 0u);
            store_merging(store->get());
        }).end();
    }
};

TEST_F(StoreSuspect, IsSkippedForOneStart)
{
    ASSERT_EQ(Store(root()).commit("one"), STATUS_ok);
    die_loading();
    EXPECT_EQ(load(), "<suspect>");
    EXPECT_EQ(load(), "one");
    EXPECT_TRUE(quarantined().empty());
}

TEST_F(StoreSuspect, IsOnProbationUntilItHasBeenSurvived)
{
    ASSERT_EQ(Store(root()).commit("one"), STATUS_ok);
    {
        Store store(root());
        ASSERT_EQ(store.load(), "one");
        EXPECT_FALSE(store_failed_once(store.get()));
    }
    die_loading();
    EXPECT_EQ(load(), "<suspect>");
    Store store(root());
    ASSERT_EQ(store.load(), "one");
    EXPECT_TRUE(store_failed_once(store.get()));
    store_survived(store.get());
    EXPECT_FALSE(store_failed_once(store.get()));
}

TEST_F(StoreSuspect, GoesToQuarantineTheSecondTimeInARow)
{
    ASSERT_EQ(Store(root()).commit("one"), STATUS_ok);
    const std::string file = names_in(folder(), ".wpcache").at(0);
    const std::string content = scratch.read("root/app/" + file);
    die_loading();
    EXPECT_EQ(load(), "<suspect>");
    die_loading();
    Store store(root());
    EXPECT_EQ(store.load(), "<quarantined>");
    EXPECT_TRUE(names_in(folder(), ".wpcache").empty());
    EXPECT_EQ(quarantined(), (std::vector<std::string>{file, file + ".txt"}));
    EXPECT_EQ(scratch.read("root/app/quarantine/" + file), content);
    EXPECT_EQ(load(), "<no_file>");

    ASSERT_EQ(store.commit("two"), STATUS_ok);
    EXPECT_EQ(load(), "two");
    EXPECT_TRUE(names_in(folder() + "/" + names_in(folder(), ".loading").at(0)).empty());
}

// Only the start that skips it has a marker that says so, and that goes with it.
TEST_F(StoreSuspect, IsComparedWithAStartThatSkipsIt)
{
    ASSERT_EQ(Store(root()).commit("one"), STATUS_ok);
    for (int i = 0; i < 3; i++) {
        die_loading();
        Holder([&] {
            Store *store = new Store(root());
            EXPECT_EQ(store->load(), "<suspect>");
            EXPECT_TRUE(store_goes_without(store->get()));
        }).end();
    }
    EXPECT_EQ(load(), "one") << "that one dies as well";
    const std::string loading = names_in(folder(), ".loading").at(0);
    EXPECT_EQ(unlink((folder() + "/" + loading + "/killed").c_str()), 0);
    die_loading();
    {
        Store store(root());
        EXPECT_EQ(store.load(), "<suspect>");
        EXPECT_TRUE(store_goes_without(store.get()));
        store_live(store.get());
    }
    die_loading();
    EXPECT_EQ(load(), "<quarantined>");
}

TEST_F(StoreSuspect, GetsANoteInQuarantine)
{
    ASSERT_EQ(Store(root()).commit("one"), STATUS_ok);
    die_loading();
    load();
    die_loading();
    ASSERT_EQ(load(), "<quarantined>");
    const std::string note =
        scratch.read("root/app/quarantine/" + names_in(folder() + "/quarantine", ".txt").at(0));
    const std::string blob = make_blob("one");
    char digest[DIGEST_HEX_SIZE];
    digest_format(digest_of(blob.data(), blob.size()), digest);
    for (const std::string &line :
         {std::string("\ndevice: Sample device\n"), std::string("driver: sample Sample 1.2.3\n"),
          std::string("driver version: 0x05803006\n"), "digest: " + std::string(digest) + "\n",
          "bytes: " + std::to_string(blob.size()) + "\n", std::string("(unit_tests)\n")}) {
        EXPECT_NE(note.find(line), std::string::npos) << line << "in\n" << note;
    }
    EXPECT_NE(note.find("\nfirst death: 20"), std::string::npos) << note;
    EXPECT_NE(note.find("\nsecond death: 20"), std::string::npos) << note;
    EXPECT_EQ(note.find("put away: 1\n"), 0u) << note;
}

TEST_F(StoreSuspect, IsForgivenByOneThatSurvives)
{
    ASSERT_EQ(Store(root()).commit("one"), STATUS_ok);
    for (int i = 0; i < 3; i++) {
        die_loading();
        ASSERT_EQ(load(), "<suspect>");
        ASSERT_EQ(load(), "one");
    }
    EXPECT_TRUE(quarantined().empty());
}

TEST_F(StoreSuspect, IsNotForgivenByOneThatNeverGaveItToTheDriver)
{
    ASSERT_EQ(Store(root()).commit("one"), STATUS_ok);
    die_merging();
    EXPECT_EQ(Store(root()).commit("two"), STATUS_suspect);
    {
        Store store(root());
        store_foreign foreign;
        ASSERT_EQ(store_begin(store.get(), &foreign), STATUS_ok);
        EXPECT_EQ(foreign.count, 1u);
        store_abort(store.get());
    }
    die_merging();
    EXPECT_EQ(load(), "<quarantined>");
}

TEST_F(StoreSuspect, IsNoGoodBlobThatManyDiedWithAtOnce)
{
    ASSERT_EQ(Store(root()).commit("one"), STATUS_ok);
    {
        std::vector<std::unique_ptr<Holder>> holders;
        for (int i = 0; i < 8; i++) {
            holders.push_back(loading());
        }
        EXPECT_EQ(load(), "one") << "they are alive";
    }
    EXPECT_EQ(load(), "<suspect>");
    EXPECT_EQ(load(), "one");
    EXPECT_TRUE(quarantined().empty());
}

TEST_F(StoreSuspect, IsTheGenerationAndNotTheFile)
{
    ASSERT_EQ(Store(root()).commit("one"), STATUS_ok);
    std::unique_ptr<Holder> holder = loading();
    {
        Store store(root());
        ASSERT_EQ(store.load(), "one");
        ASSERT_EQ(store.commit("two"), STATUS_ok);
    }
    holder->end();
    EXPECT_EQ(load(), "one two") << "it died with the file before";
}

TEST_F(StoreSuspect, IsNoneWhereProcessesDieOutsideOfDriverCalls)
{
    ASSERT_EQ(Store(root()).commit("one"), STATUS_ok);
    for (int i = 0; i < 4; i++) {
        die_outside();
        EXPECT_EQ(load(), "one") << i;
    }
}

TEST_F(StoreSuspect, IsPutAwayAfterTheSecondDeathAtOnePipeline)
{
    ASSERT_EQ(Store(root()).commit("one"), STATUS_ok);
    die_inside(4711);
    EXPECT_EQ(load(), "<suspect>");
    EXPECT_EQ(load(), "one") << "this one has not asked for that pipeline";
    die_inside(4711);
    EXPECT_EQ(load(), "<quarantined>");
}

// A process that saves before it dies has died of what is in the new file.
TEST_F(StoreSuspect, StaysSoThroughSaves)
{
    ASSERT_EQ(Store(root()).commit("one"), STATUS_ok);
    for (int deaths = 0; deaths < 2; deaths++) {
        Holder([&] {
            Store *store = new Store(root());
            ASSERT_NE(store->load()[0], '<');
            ASSERT_EQ(store->commit(deaths == 0 ? "two" : "three"), STATUS_ok);
            store->call(4712);
            store->begin_call(4711);
        }).end();
        EXPECT_EQ(load(), deaths == 0 ? "<suspect>" : "<quarantined>");
    }
}

TEST_F(StoreSuspect, StaysSoWhenAnotherProcessSaves)
{
    ASSERT_EQ(Store(root()).commit("one"), STATUS_ok);
    Store other(root());
    ASSERT_EQ(other.load(), "one");
    die_inside(4711);
    EXPECT_EQ(load(), "<suspect>");
    ASSERT_EQ(other.commit("two"), STATUS_ok);
    die_inside(4711);
    EXPECT_EQ(load(), "<quarantined>");
}

TEST_F(StoreSuspect, StaysSoWhenItIsMergedIntoAnother)
{
    Store other(root());
    ASSERT_EQ(other.commit("one"), STATUS_ok);
    ASSERT_EQ(Store(root()).commit("two"), STATUS_ok);
    die_inside(4711);
    EXPECT_EQ(load(), "<suspect>");
    ASSERT_EQ(other.commit("three"), STATUS_ok);
    EXPECT_EQ(load(), "one three two");
    die_inside(4711);
    EXPECT_EQ(load(), "<quarantined>");
}

TEST_F(StoreSuspect, LeavesNoTraceWhenItIsNoMore)
{
    ASSERT_EQ(Store(root()).commit("one"), STATUS_ok);
    Store store(root());
    ASSERT_EQ(store.load(), "one");
    store_survived(store.get());
    die_loading();
    EXPECT_EQ(load(), "<suspect>"); // a strike
    die_loading();                  // and a dead marker
    ASSERT_EQ(store.commit("two"), STATUS_ok) << "it has long lived with the file";
    EXPECT_EQ(names_in(folder() + "/" + names_in(folder(), ".loading").at(0)).size(), 2u);
    ASSERT_EQ(store.commit("three"), STATUS_ok);
    EXPECT_EQ(names_in(folder() + "/" + names_in(folder(), ".loading").at(0)).size(), 1u)
        << "the strike goes along with what was saved";
    EXPECT_EQ(load(), "one three two");
    EXPECT_TRUE(names_in(folder() + "/" + names_in(folder(), ".loading").at(0)).empty());
}

TEST_F(StoreSuspect, IsNeitherMergedNorOverwrittenByTheStartThatSkipsIt)
{
    ASSERT_EQ(Store(root()).commit("one"), STATUS_ok);
    die_loading();
    {
        Store store(root());
        ASSERT_EQ(store.load(), "<suspect>");
        EXPECT_EQ(store.commit("two"), STATUS_suspect);
        EXPECT_EQ(store.commit_unmerged("two"), STATUS_ok);
        EXPECT_TRUE(store_has_part(store.get()));
        // Nor when another process has lived with it meanwhile.
        run_in_child([&] { EXPECT_EQ(load(), "one"); });
        EXPECT_EQ(store.commit("three"), STATUS_suspect);
        EXPECT_EQ(store.commit_unmerged("three"), STATUS_ok);
    }
    EXPECT_EQ(parts().size(), 1u);
    Store store(root());
    ASSERT_EQ(store.load(), "one");
    ASSERT_EQ(store.commit(""), STATUS_ok);
    EXPECT_EQ(load(), "one three two");
    EXPECT_TRUE(parts().empty());
}

// A program with two devices would die of it on the other, and the start without it would be no
// proof.
TEST_F(StoreSuspect, IsSkippedByAllStoresOfTheStart)
{
    ASSERT_EQ(Store(root()).commit("one"), STATUS_ok);
    die_loading();
    {
        Store first(root());
        Store second(root());
        ASSERT_EQ(first.load(), "<suspect>");
        EXPECT_EQ(second.load(), "<suspect>");
        EXPECT_EQ(first.load(), "<suspect>") << "asked again";
        EXPECT_EQ(second.commit("two"), STATUS_suspect);
    }
    EXPECT_EQ(load(), "one") << "the next start";
}

TEST_F(StoreSuspect, IsMergedOnceAnotherProcessHasReplacedIt)
{
    ASSERT_EQ(Store(root()).commit("one"), STATUS_ok);
    die_loading();
    Store store(root());
    ASSERT_EQ(store.load(), "<suspect>");
    run_in_child([&] {
        Store other(root());
        EXPECT_EQ(other.load(), "one");
        EXPECT_EQ(other.commit("two"), STATUS_ok);
    });
    ASSERT_EQ(store.commit("three"), STATUS_ok);
    EXPECT_EQ(load(), "one three two");
}

TEST_F(StoreSuspect, CanBeFoundByAMerge)
{
    ASSERT_EQ(Store(root()).commit("one"), STATUS_ok);
    die_merging();
    {
        Store store(root());
        EXPECT_EQ(store.commit("two"), STATUS_suspect);
        EXPECT_EQ(store.commit_unmerged("two"), STATUS_ok);
    }
    EXPECT_EQ(load(), "one") << "a strike is taken back by a load as well";
    die_merging();
    EXPECT_EQ(load(), "<suspect>");
    die_merging();
    Store store(root());
    ASSERT_EQ(store.commit("three"), STATUS_ok) << "the file is put away, the part is not";
    EXPECT_EQ(quarantined().size(), 2u);
    EXPECT_NE(load(), "<no_file>");
}

TEST_F(StoreSuspect, IsOnePartAndNotTheOthers)
{
    ASSERT_EQ(Store(root()).commit("one"), STATUS_ok);
    leave_part("bad");
    leave_part("good");
    die_merging(); // with all three
    {
        // All are skipped; the file by its load, or by the merge.
        Store store(root());
        EXPECT_EQ(store.load(), "<suspect>");
        EXPECT_EQ(store.commit("x"), STATUS_suspect);
    }
    EXPECT_EQ(load(), "one");
    auto merge_once = [&](bool die) {
        std::string taken;
        Holder holder([&] {
            Store *store = new Store(root());
            ASSERT_EQ(store->load(), "one");
            store_survived(store->get());
            store_foreign foreign;
            ASSERT_EQ(store_begin(store->get(), &foreign), STATUS_ok);
            ASSERT_LE(foreign.count, 1u) << "of those with a strike one at a time";
            store_merging(store->get());
            if (!die) {
                store_merged(store->get());
                store_abort(store->get());
            }
        });
    };
    merge_once(false); // skips both parts, for they are suspect only now
    EXPECT_EQ(parts().size(), 2u);
    merge_once(true); // takes one of them, and dies with it
    {
        Store store(root());
        ASSERT_EQ(store.load(), "one");
        store_foreign foreign;
        ASSERT_EQ(store_begin(store.get(), &foreign), STATUS_ok);
        EXPECT_EQ(parts().size(), 1u) << "that one is put away";
        EXPECT_EQ(foreign.count, 1u) << "the other one's turn";
        const std::string blob = make_blob("one and the other");
        ASSERT_EQ(store_commit(store.get(), blob.data(), blob.size()), STATUS_ok);
    }
    EXPECT_TRUE(parts().empty());
    EXPECT_EQ(names_in(folder() + "/quarantine", ".part").size(), 1u);
    EXPECT_EQ(load(), "one and the other");
}

// What a start has saved that went without the file is there when the file has been put away; and
// is put away itself if it kills.
TEST_F(StoreSuspect, IsAPartAsWellAsAFile)
{
    ASSERT_EQ(Store(root()).commit("one"), STATUS_ok);
    die_loading();
    {
        Store store(root());
        ASSERT_EQ(store.load(), "<suspect>");
        ASSERT_EQ(store.commit_unmerged("two"), STATUS_ok);
    }
    die_loading();
    EXPECT_EQ(load(), "<quarantined>");
    EXPECT_EQ(load(), "two");
    die_loading();
    EXPECT_EQ(load(), "<suspect>");
    die_loading();
    EXPECT_EQ(load(), "<quarantined>");
    EXPECT_EQ(load(), "<no_file>");
    EXPECT_EQ(quarantined().size(), 4u) << "both, and a note on each";
}

// The part that was loaded goes with the save that holds it, or its data would come back unmarked.
TEST_F(StoreSuspect, StaysSoWhenAPartBecomesAFile)
{
    ASSERT_EQ(Store(root()).commit("x"), STATUS_ok);
    ASSERT_EQ(Store(root()).commit_unmerged("one"), STATUS_ok);
    ASSERT_EQ(parts().size(), 1u);
    std::filesystem::remove(file());
    die_loading();
    EXPECT_EQ(load(), "<suspect>");
    {
        Store store(root()); // ends without having used it again
        store_blob blob;
        ASSERT_EQ(store_load(store.get(), &blob), STATUS_ok);
        store_blob_free(&blob);
        const std::string data = make_blob("one two");
        ASSERT_EQ(store_commit_unmerged(store.get(), data.data(), data.size()), STATUS_ok);
    }
    die_loading();
    EXPECT_EQ(load(), "<quarantined>");
    EXPECT_EQ(load(), "<no_file>");
}

TEST_F(StoreSuspect, IsPutAwayOnlyUnderTheLock)
{
    ASSERT_EQ(Store(root()).commit("one"), STATUS_ok);
    die_loading();
    ASSERT_EQ(load(), "<suspect>");
    die_loading();
    store_options options = {};
    options.lock_wait_ms = 1;
    {
        Holder holder([&] {
            int fd = open(folder().c_str(), O_RDONLY | O_DIRECTORY);
            int lock_fd = -1;
            std::string lock = names_in(folder(), ".lock").at(0);
            ASSERT_EQ(file_lock(fd, lock.c_str(), 0, &lock_fd), STATUS_ok);
        });
        EXPECT_EQ(Store(root(), options).load(), "<suspect>");
        EXPECT_TRUE(quarantined().empty());
    }
    EXPECT_EQ(Store(root(), options).load(), "<quarantined>");
}

TEST_F(StoreSuspect, IsNoMatterOfAReadOnlyStore)
{
    ASSERT_EQ(Store(root()).commit("one"), STATUS_ok);
    die_loading();
    store_options options = {};
    options.read_only = true;
    const auto loading = names_in(folder(), ".loading").at(0);
    const auto before = names_in(folder() + "/" + loading);
    EXPECT_EQ(Store(root(), options).load(), "one");
    EXPECT_EQ(names_in(folder() + "/" + loading), before);
}

TEST_F(StoreSuspect, IsNoneThatWasSurvivedBeforeTheEnd)
{
    ASSERT_EQ(Store(root()).commit("one"), STATUS_ok);
    Holder([&] {
        Store *store = new Store(root());
        EXPECT_EQ(store->load(), "one");
        store_survived(store->get());
        store_survived(store->get());
    }).end();
    EXPECT_EQ(load(), "one");
}

} // namespace
