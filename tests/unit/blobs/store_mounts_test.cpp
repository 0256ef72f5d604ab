// SPDX-License-Identifier: Apache-2.0
// Disks that are full or read-only, as the kernel makes them: mounts of the test's own, in a mount
// namespace of its own.
#include "disk_fixture.h"
#include "mounts.h"
#include "scratch.h"
#include "store_fixture.h"

namespace {

class StoreMounts : public StoreTest {
  protected:
    // Runs the body in a process for which `root()` is a file system of this size.
    template <typename Body> void on_a_disk_of(const char *size, Body body)
    {
        if (!run_on_disk(root(), size, body)) {
            GTEST_SKIP() << "may not mount here";
        }
    }

    std::vector<std::string> names(const std::string &suffix) const
    {
        return names_in(root() + "/app", suffix);
    }
};

TEST_F(StoreMounts, AFullDiskKeepsTheOldFile)
{
    on_a_disk_of("size=128k", [&] {
        ASSERT_EQ(Store(root()).commit("old"), STATUS_ok);
        Store store(root());
        ASSERT_EQ(store.load(), "old");
        EXPECT_EQ(store.commit(std::string(200000, 'x')), STATUS_disk_full);
        EXPECT_EQ(store.commit_unmerged(""), STATUS_disk_full);
        EXPECT_TRUE(names(".tmp").empty());
        EXPECT_TRUE(names(".part").empty());
        EXPECT_EQ(Store(root()).load(), "old");
        ASSERT_EQ(Store(root()).commit("new"), STATUS_ok);
    });
}

TEST_F(StoreMounts, ADiskWithoutInodesLoadsWithoutAMarker)
{
    on_a_disk_of("nr_inodes=4", [&] { // the root, the folder, the lock, the file
        ASSERT_EQ(mkdir((root() + "/app").c_str(), 0700), 0);
        Store store(root());
        EXPECT_EQ(store.commit("old"), STATUS_ok);
        EXPECT_EQ(store.commit("new"), STATUS_disk_full) << "no room for a temporary file";
        EXPECT_EQ(Store(root()).load(), "old");
    });
}

TEST_F(StoreMounts, AReadOnlyDiskLoadsAndSaysWhyItDoesNotSave)
{
    on_a_disk_of("", [&] {
        ASSERT_EQ(Store(root()).commit("old"), STATUS_ok);
        make_read_only(root());
        Store store(root());
        EXPECT_EQ(store.load(), "old");
        EXPECT_EQ(store.commit("new"), STATUS_read_only_disk);
        EXPECT_EQ(store.commit_unmerged("new"), STATUS_read_only_disk);
        EXPECT_TRUE(names(".loading").empty());
        store_options other = {};
        other.app = "other";
        EXPECT_EQ(Store(root(), other).load(), "<no_file>");
        EXPECT_EQ(Store(root(), other).commit("new"), STATUS_read_only_disk);
    });
}

TEST_F(StoreMounts, ADiskThatBecomesReadOnlyWhileLoadingIsNoDeath)
{
    on_a_disk_of("", [&] {
        ASSERT_EQ(Store(root()).commit("old"), STATUS_ok);
        {
            Store store(root());
            EXPECT_EQ(store.load(), "old");
            const std::string folder = root() + "/app/" + names(".loading").at(0);
            // A bind mount over the folder: the marker can no longer be removed through its path.
            ASSERT_EQ(mount("warmpipe", folder.c_str(), "tmpfs", MS_RDONLY, ""), 0);
            store_survived(store.get());
            ASSERT_EQ(umount(folder.c_str()), 0);
        }
        EXPECT_EQ(Store(root()).load(), "old");
    });
}

// Btrfs below an overlay cannot be told but by its inodes, which it does not count: a store into a
// mapped file would find the disk full there, and end the program.
TEST_F(StoreMounts, AnOverlayOverADiskThatCountsNoInodesHasNoPage)
{
    on_a_disk_of("nr_inodes=0", [&] {
        const std::string options = "lowerdir=" + root() + "/lower,upperdir=" + root() +
                                    "/upper,workdir=" + root() + "/work";
        for (const char *name : {"/lower", "/upper", "/work", "/all"}) {
            ASSERT_EQ(mkdir((root() + name).c_str(), 0700), 0);
        }
        const std::string all = root() + "/all";
        if (mount("warmpipe", all.c_str(), "overlay", 0, options.c_str()) == 0) {
            ASSERT_EQ(Store(all).commit("old"), STATUS_ok);
            Store store(all);
            EXPECT_EQ(store.load(), "old");
            EXPECT_TRUE(store_has_plain_marker(store.get()));
        }
    });
}

} // namespace
