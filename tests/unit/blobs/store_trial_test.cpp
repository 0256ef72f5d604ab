// SPDX-License-Identifier: Apache-2.0
// What came from another machine: on trial until a process has lived with it.
#include <cerrno>
#include <chrono>
#include <functional>

#include "child.h"
#include "disk_fixture.h"
#include "faults.h"
#include "holder.h"
#include "scratch.h"
#include "store_fixture.h"

extern "C" {
#include "common/blobs/identity_files.h"
#include "common/blobs/trial.h"
}

namespace {

class StoreTrial : public StoreTest {
  protected:
    std::vector<std::string> marks() const
    {
        char hex[DIGEST_HEX_SIZE];
        const driver_identity identity = sample_identity();
        digest_format(identity_digest(&identity), hex);
        const std::string loading = std::string("root/app/") + hex + ".loading";
        std::vector<std::string> texts;
        for (const std::string &name : names_in(scratch.path(loading), ".trial")) {
            texts.push_back(scratch.read(loading + "/" + name));
        }
        return texts;
    }

    // How many files are on trial, and how many of them name the file from before.
    size_t trials() const
    {
        return marks().size();
    }

    size_t ways_back() const
    {
        size_t count = 0;
        for (const std::string &text : marks()) {
            count += text.find("kept ") != std::string::npos;
        }
        return count;
    }

    std::string load() const
    {
        store_options options = {};
        options.read_only = true; // proves nothing
        return Store(root(), options).load();
    }

    void pull(const std::string &words, char digit = '1') const
    {
        const std::string payload(TRIAL_PAYLOAD_DIGITS, digit);
        store_options options = {};
        options.pulled = payload.c_str();
        ASSERT_EQ(Store(root(), options).commit_unmerged(words), STATUS_ok);
    }

    // A process that loads, and is gone without an end.
    void die(const std::function<void(Store &)> &use) const
    {
        run_in_child([&] {
            Store *store = new Store(root()); // nobody closes it
            store->load();
            use(*store);
        });
    }
};

TEST_F(StoreTrial, EndsWithTheProcessThatHasUsedIt)
{
    pull("theirs");
    EXPECT_EQ(trials(), 1u);
    EXPECT_EQ(load(), "theirs");
    EXPECT_EQ(trials(), 1u);
    {
        Store store(root());
        EXPECT_EQ(store.load(), "theirs");
        EXPECT_EQ(trials(), 1u) << "it may still die";
        EXPECT_EQ(store.commit("ours"), STATUS_ok);
        EXPECT_GE(trials(), 1u) << "what was saved holds it";
    }
    EXPECT_EQ(load(), "ours theirs");
    EXPECT_EQ(trials(), 0u);
}

TEST_F(StoreTrial, IsMergedByNobodyWhoDoesNotUseIt)
{
    Store store(root());
    EXPECT_EQ(store.load(), "<no_file>");
    pull("theirs");
    EXPECT_EQ(store.commit("ours"), STATUS_suspect);
    EXPECT_EQ(store.commit_unmerged("ours"), STATUS_ok);
    EXPECT_TRUE(store_has_part(store.get()));
    store.close();
    EXPECT_EQ(trials(), 1u) << "it was not used";
    EXPECT_EQ(load(), "theirs");
    Store user(root());
    EXPECT_EQ(user.load(), "theirs");
    EXPECT_EQ(user.commit("more"), STATUS_ok) << "one's own part is merged into it";
    user.close();
    EXPECT_EQ(load(), "more ours theirs");
    EXPECT_EQ(trials(), 0u);
}

TEST_F(StoreTrial, IsNotLoadedFromAPart)
{
    {
        const auto holder = hold_lock();
        pull("theirs");
    }
    EXPECT_EQ(parts().size(), 1u);
    EXPECT_EQ(Store(root()).load(), "<no_file>");
}

// A server that does not answer, a bad sector.
TEST_F(StoreTrial, GoesOnWhereTheFolderCannotBeReadToItsEnd)
{
    for (int call = 0; call == 0 || faults.calls >= call; call++) {
        std::filesystem::remove_all(root());
        ASSERT_EQ(Store(root()).commit("ours"), STATUS_ok);
        pull("theirs");
        Store store(root());
        ASSERT_EQ(store.load(), "ours");
        {
            Arm arm(call, EIO, false, "readdir");
            faults.passed_s = 3600; // since then
            EXPECT_EQ(store.commit("more"), STATUS_ok);
        }
        store.close();
        EXPECT_EQ(trials(), 1u) << call;
        EXPECT_EQ(parts().size(), 1u) << call;
    }
}

// The save that merges it keeps the file from before, which goes when the merged one is proven.
TEST_F(StoreTrial, LeavesTheFileFromBefore)
{
    ASSERT_EQ(Store(root()).commit("ours"), STATUS_ok);
    pull("theirs");
    pull("others", '2');
    EXPECT_EQ(parts().size(), 2u);
    {
        Store store(root());
        ASSERT_EQ(store.load(), "ours");
        EXPECT_EQ(store.commit("more"), STATUS_ok);
    }
    EXPECT_EQ(load(), "more others ours theirs");
    EXPECT_EQ(parts().size(), 1u) << "the file from before";
    EXPECT_GE(trials(), 1u) << "who merged it has not used it";
    {
        Store store(root());
        ASSERT_EQ(store.load(), "more others ours theirs");
        EXPECT_EQ(store.commit("again"), STATUS_ok);
        EXPECT_EQ(parts().size(), 1u) << "not merged before it is proven";
        pull("late", '3');
        EXPECT_EQ(store.commit("once"), STATUS_ok);
        EXPECT_EQ(parts().size(), 2u) << "nor is another";
    }
    EXPECT_EQ(load(), "again more once others ours theirs");
    EXPECT_EQ(parts().size(), 1u) << "the late one";
}

// A process that has merged it goes on saving: what it compiles then is in the file.
TEST_F(StoreTrial, IsMergedAgainByWhoHasMergedIt)
{
    ASSERT_EQ(Store(root()).commit("ours"), STATUS_ok);
    pull("theirs");
    {
        Store store(root());
        ASSERT_EQ(store.load(), "ours");
        for (const char *words : {"once", "twice", "thrice"}) {
            EXPECT_EQ(store.commit(words), STATUS_ok);
            EXPECT_EQ(trials(), 1u);
            EXPECT_EQ(ways_back(), 1u);
            EXPECT_EQ(parts().size(), 1u) << "the file from before";
        }
    }
    EXPECT_EQ(trials(), 1u) << "who merged it has not used it";
    EXPECT_EQ(load(), "once ours theirs thrice twice");
    for (int death = 0; death < 2; death++) {
        die([](Store &store) { store.begin_call(7); });
        Store(root()).load();
    }
    EXPECT_EQ(load(), "ours") << "the way back is still there";
}

TEST_F(StoreTrial, ASaveThatFailsLeavesNoFileBehind)
{
    ASSERT_EQ(Store(root()).commit("ours"), STATUS_ok);
    pull("theirs");
    Store store(root());
    ASSERT_EQ(store.load(), "ours");
    for (int i = 0; i < 3; i++) {
        Arm arm(0, ENOSPC, true, "write");
        EXPECT_NE(store.commit("more"), STATUS_ok);
        EXPECT_EQ(parts().size(), 1u) << "what was pulled";
    }
    store_foreign foreign;
    ASSERT_EQ(store_begin(store.get(), &foreign), STATUS_ok);
    store_abort(store.get());
    EXPECT_EQ(parts().size(), 1u);
    EXPECT_EQ(store.commit("more"), STATUS_ok);
    EXPECT_EQ(load(), "more ours theirs");
}

TEST_F(StoreTrial, OnAFullDiskIsNotMarkedAndSaysWhy)
{
    const std::string payload(TRIAL_PAYLOAD_DIGITS, '1');
    store_options options = {};
    options.pulled = payload.c_str();
    Store store(root(), options);
    Arm arm(0, ENOSPC, true, "write");
    EXPECT_EQ(store.commit_unmerged("theirs"), STATUS_disk_full);
    EXPECT_EQ(faults.calls, 1) << "of the mark";
}

TEST_F(StoreTrial, WhatAKilledSaveHasKeptGoesWithTheNext)
{
    ASSERT_EQ(Store(root()).commit("ours"), STATUS_ok);
    pull("theirs");
    die([](Store &store) {
        store_foreign foreign;
        ASSERT_EQ(store_begin(store.get(), &foreign), STATUS_ok);
    });
    EXPECT_EQ(parts().size(), 2u);
    Store store(root());
    ASSERT_EQ(store.load(), "ours");
    EXPECT_EQ(store.commit("more"), STATUS_ok);
    EXPECT_EQ(load(), "more ours theirs");
    EXPECT_EQ(parts().size(), 1u) << "the file from before, once";
}

TEST_F(StoreTrial, LeavesACopyWhereThereAreNoHardLinks)
{
    ASSERT_EQ(Store(root()).commit("ours"), STATUS_ok);
    pull("theirs");
    has_hard_links = false;
    const enum status reason = Store(root()).commit("more");
    has_hard_links = true;
    EXPECT_EQ(reason, STATUS_ok);
    EXPECT_EQ(load(), "more ours theirs");
    EXPECT_EQ(parts().size(), 1u) << "the file from before";
    EXPECT_EQ(ways_back(), 1u);
    for (int death = 0; death < 2; death++) {
        die([](Store &store) { store.begin_call(7); });
        Store(root()).load();
    }
    EXPECT_EQ(load(), "ours");
}

TEST_F(StoreTrial, IsNotMergedWhereThereWouldBeNoWayBack)
{
    ASSERT_EQ(Store(root()).commit("ours"), STATUS_ok);
    pull("theirs");
    enum status reason;
    has_hard_links = false;
    {
        Store store(root());
        Arm arm(0, ENOSPC, false, "write"); // of the copy
        reason = store.commit("more");
    }
    has_hard_links = true;
    EXPECT_EQ(reason, STATUS_ok);
    EXPECT_EQ(load(), "more ours");
    EXPECT_EQ(parts().size(), 1u) << "it waits";
    EXPECT_EQ(trials(), 1u);
}

// What was made of a file on trial does not say where the file from before it was: it is gone.
TEST_F(StoreTrial, APartOfWhatWasOnTrialTakesNoWayBackAway)
{
    const auto kill_twice = [&](const std::function<void(Store &)> &before) {
        die([&](Store &store) {
            before(store);
            store.begin_call(7);
        });
        EXPECT_EQ(Store(root()).load(), "<suspect>");
        die([](Store &store) { store.begin_call(7); });
        EXPECT_EQ(Store(root()).load(), "<quarantined>");
    };
    ASSERT_EQ(Store(root()).commit("ours"), STATUS_ok);
    pull("theirs");
    ASSERT_EQ(Store(root()).commit("more"), STATUS_ok);
    kill_twice([&](Store &store) {
        Store *other = new Store(root()); // is saving: this one saves a part
        other->load();
        store_foreign foreign;
        ASSERT_EQ(store_begin(other->get(), &foreign), STATUS_ok);
        ASSERT_EQ(store.commit_unmerged("mine"), STATUS_ok);
        ASSERT_TRUE(store_has_part(store.get()));
        ASSERT_EQ(trials(), 2u);
        EXPECT_EQ(ways_back(), 1u) << "of the file alone";
    });
    EXPECT_EQ(load(), "ours");
    ASSERT_EQ(Store(root()).commit("good"), STATUS_ok);
    EXPECT_EQ(load(), "good mine more ours theirs");
    EXPECT_EQ(parts().size(), 1u) << "the file from before";
    kill_twice([](Store &) {});
    EXPECT_EQ(load(), "ours");
}

// Without descriptors, or on a disk that fails, nobody can tell whether a file is on trial.
TEST_F(StoreTrial, StaysWhereItsMarkCannotBeRead)
{
    for (int error : {EMFILE, ENOMEM, EIO}) {
        for (int call = 0, reached = 1; reached; call++) {
            std::filesystem::remove_all(root());
            pull("theirs");
            Store store(root());
            {
                Arm arm(call, error, false, "openat");
                store.load();
                if (store.commit("ours") != STATUS_ok) {
                    store.commit_unmerged("ours");
                }
                reached = faults.calls > call;
            }
            if (load().find("theirs") != std::string::npos) {
                EXPECT_GE(trials(), 1u) << std::strerror(error) << call;
            }
            EXPECT_EQ(store.commit_unmerged("more"), STATUS_ok);
        }
    }
}

TEST_F(StoreTrial, OfAPartStaysWhereItsMarkCannotBeRead)
{
    for (int call = 0, reached = 1; reached; call++) {
        std::filesystem::remove_all(root());
        ASSERT_EQ(Store(root()).commit("ours"), STATUS_ok);
        pull("theirs");
        {
            Store store(root());
            Arm arm(call, EMFILE, false, "openat");
            store.commit("more");
            reached = faults.calls > call;
        }
        if (load().find("theirs") != std::string::npos) {
            EXPECT_EQ(ways_back(), 1u) << call;
        }
    }
}

// Nor is a mark that has stood for a while removed where the part itself cannot be read just now.
TEST_F(StoreTrial, OfAPartStaysWhereThePartCannotBeRead)
{
    for (const char *name : {"openat", "read"}) {
        for (int call = 0, reached = 1; reached; call++) {
            std::filesystem::remove_all(root());
            ASSERT_EQ(Store(root()).commit("ours"), STATUS_ok);
            pull("theirs");
            for (const auto &file : std::filesystem::recursive_directory_iterator(root())) {
                if (file.path().extension() == ".trial") {
                    std::filesystem::last_write_time(file.path(),
                                                     std::filesystem::file_time_type::clock::now() -
                                                         std::chrono::minutes(5));
                }
            }
            {
                Store store(root());
                store.load();
                Arm arm(call, *name == 'o' ? EMFILE : EIO, false, name);
                store.commit("more");
                reached = faults.calls > call;
            }
            if (!names_in(root() + "/app", ".part").empty()) {
                EXPECT_GE(trials(), 1u) << name << " " << call;
            }
        }
    }
}

// A process that was killed, but not by it, proves it, if it has made something with it.
TEST_F(StoreTrial, EndsWithAKillElsewhere)
{
    pull("theirs");
    die([](Store &) {});
    Store first(root());
    ASSERT_EQ(first.load(), "theirs");
    EXPECT_EQ(trials(), 1u) << "it has made nothing";
    die([](Store &store) { store.call(7); });
    Store second(root());
    ASSERT_EQ(second.load(), "theirs");
    EXPECT_EQ(trials(), 0u);
}

// It had been merged into the file, but not into what the process used.
TEST_F(StoreTrial, DoesNotEndWithAKillOfWhoHasOnlyMergedIt)
{
    ASSERT_EQ(Store(root()).commit("ours"), STATUS_ok);
    pull("theirs");
    die([](Store &store) {
        store.call(7);
        EXPECT_EQ(store.commit("more"), STATUS_ok);
    });
    die([](Store &) {});
    EXPECT_EQ(trials(), 1u);
    EXPECT_EQ(ways_back(), 1u);
    die([](Store &store) { store.call(7); });
    EXPECT_EQ(Store(root()).load(), "more ours theirs");
    EXPECT_EQ(trials(), 0u);
}

TEST_F(StoreTrial, OfAFileThatKillsBringsBackTheOneFromBefore)
{
    ASSERT_EQ(Store(root()).commit("ours"), STATUS_ok);
    pull("theirs");
    ASSERT_EQ(Store(root()).commit("more"), STATUS_ok);
    ASSERT_EQ(load(), "more ours theirs");
    for (int death = 0; death < 2; death++) {
        die([](Store &store) { store.begin_call(7); });
        if (death == 0) {
            EXPECT_EQ(Store(root()).load(), "<suspect>");
        }
    }
    EXPECT_EQ(Store(root()).load(), "<quarantined>");
    EXPECT_EQ(load(), "ours");
    EXPECT_TRUE(parts().empty());
    EXPECT_EQ(trials(), 0u);
    const std::vector<std::string> notes = names_in(root() + "/app/quarantine", ".txt");
    ASSERT_EQ(notes.size(), 1u);
    EXPECT_NE(scratch.read("root/app/quarantine/" + notes[0])
                  .find("pulled: " + std::string(TRIAL_PAYLOAD_DIGITS, '1') + "\n"),
              std::string::npos);
}

} // namespace
