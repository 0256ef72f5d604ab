// SPDX-License-Identifier: Apache-2.0
// A store where memory runs out at each allocation, and the disk fails at each system call, in
// turn: an answer, never a crash, and what was saved stays.
#include <cerrno>

#include "child.h"
#include "disk_fixture.h"
#include "faults.h"
#include "store_fixture.h"

namespace {

// A process that finds a file it does not know and a part, takes both up, and saves.
class StoreFaults : public testing::Test {
  protected:
    void prepare()
    {
        std::filesystem::remove_all(root);
        ASSERT_EQ(Store(root).commit("old"), STATUS_ok);
        Store beside(root);
        ASSERT_EQ(Store(root).commit("file"), STATUS_ok); // which `beside` has not seen
        ASSERT_EQ(beside.commit_unmerged("part"), STATUS_ok);
    }

    void work(bool merged) const
    {
        const driver_identity identity = sample_identity();
        store_options options = {};
        options.root = root.c_str();
        options.app = "app";
        options.max_blob = 1 << 20;
        store *store = store_open(&options, &identity);
        if (!store) {
            return;
        }
        store_blob blob;
        if (store_load(store, &blob) == STATUS_ok) {
            store_blob_free(&blob);
        }
        if (store_load_again(store, &blob) == STATUS_ok) {
            store_blob_free(&blob);
        }
        store_survived(store);
        store_foreign foreign;
        if (!merged) {
            store_commit_unmerged(store, data.data(), data.size());
        } else if (store_begin(store, &foreign) == STATUS_ok) {
            store_commit(store, data.data(), data.size());
        }
        store_close(store);
    }

    void expect_something(const char *fault, int call) const
    {
        const std::string found = Store(root).load();
        EXPECT_TRUE(found.find("file old") != std::string::npos) << found << " " << fault << call;
    }

    void with_each_fault(bool merged)
    {
        bool failed = true;
        for (int call = 0; failed; call++) {
            prepare();
            {
                Starve starve(call);
                work(merged);
                failed = starve.has_failed();
            }
            expect_something("allocation ", call);
        }
        for (int error : {EIO, ENOTDIR, EACCES}) {
            for (int call = 0;; call++) {
                prepare();
                {
                    Arm arm(call, error);
                    work(merged);
                }
                expect_something(std::strerror(error), call);
                if (faults.calls <= call) {
                    break;
                }
            }
        }
    }

    Scratch scratch;
    std::string root = scratch.path("root");
    const std::string data = make_blob("all file old part");
};

TEST_F(StoreFaults, ACommit)
{
    with_each_fault(true);
}

TEST_F(StoreFaults, AnUnmergedCommit)
{
    with_each_fault(false);
}

// A blob that killed twice is put away, whatever fails then; what was saved is in the quarantine or
// still in its place.
TEST_F(StoreFaults, PuttingAway)
{
    const auto die = [&] {
        run_in_child([&] {
            Store store(root);
            store.load();
            std::_Exit(0); // with its marker
        });
    };
    const auto put_away = [&] {
        prepare();
        die();
        Store(root).load(); // skipped once
        die();
    };
    bool failed = true;
    for (int call = 0; failed; call++) {
        put_away();
        {
            Starve starve(call);
            work(true);
            failed = starve.has_failed();
        }
    }
    for (int call = 0, left = 1; left; call++) {
        put_away();
        {
            Arm arm(call, EISDIR);
            work(true);
        }
        left = faults.calls > call;
    }
}

// The child of a fork has its parent's store, and must leave what is its parent's.
TEST_F(StoreFaults, AForkedChild)
{
    prepare();
    Store store(root);
    ASSERT_EQ(store.load(), "file old");
    store_foreign foreign;
    ASSERT_EQ(store_begin(store.get(), &foreign), STATUS_ok);
    run_in_child([&] {
        store_blob blob;
        store_foreign other;
        EXPECT_EQ(store_load(store.get(), &blob), STATUS_forked);
        EXPECT_EQ(store_load_again(store.get(), &blob), STATUS_forked);
        EXPECT_EQ(store_begin(store.get(), &other), STATUS_forked);
        EXPECT_EQ(store_commit(store.get(), data.data(), data.size()), STATUS_forked);
        EXPECT_EQ(store_commit_unmerged(store.get(), data.data(), data.size()), STATUS_forked);
        store_survived(store.get());
        store_abort(store.get());
        store.close();
    });
    EXPECT_EQ(store_commit(store.get(), data.data(), data.size()), STATUS_ok);
}

} // namespace
