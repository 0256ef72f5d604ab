// SPDX-License-Identifier: Apache-2.0
// Recipes on a disk that is small or full: the cache needs the room more than they do.
#include <sys/statvfs.h>

#include "faults.h"
#include "mounts.h"
#include "recipes_fixture.h"

namespace {

class SmallDiskRecipes : public RecipesTest {
  protected:
    template <typename Body> void on_a_small_disk(Body body)
    {
        if (!run_on_disk(root, "size=600k", body)) {
            GTEST_SKIP() << "may not mount here";
        }
    }

    uint64_t free_bytes() const
    {
        struct statvfs disk = {};
        EXPECT_EQ(statvfs(root.c_str(), &disk), 0);
        return disk.f_bavail * disk.f_frsize;
    }

    // A form of so many equal letters.
    static enum status append(Writer &writer, char letter, size_t size)
    {
        return writer.append(Batch().put(RECIPE_FORM, std::string(size, letter)));
    }
};

TEST_F(SmallDiskRecipes, LeaveHalfOfItFree)
{
    on_a_small_disk([&] {
        Writer writer(root);
        char letter = 'a';
        enum status reason = STATUS_ok;
        for (; letter <= 'z' && reason == STATUS_ok; letter++) {
            reason = append(writer, letter, 50000);
        }
        EXPECT_EQ(reason, STATUS_disk_full);
        EXPECT_GE(free_bytes(), 300u << 10);
        // What is smaller still fits, and what was written is whole.
        EXPECT_EQ(append(writer, '!', 100), STATUS_ok);
        writer.close();
        Recipes recipes = open();
        EXPECT_GE(letter, 'a' + 5);
        EXPECT_TRUE(find(recipes, RECIPE_FORM, std::string(50000, 'a')));
        EXPECT_TRUE(find(recipes, RECIPE_FORM, std::string(100, '!')));
        EXPECT_EQ(damaged(recipes), 0u);
    });
}

TEST_F(SmallDiskRecipes, NoneWhereTheCacheHasTheRestAlready)
{
    on_a_small_disk([&] {
        write_file(root + "/cache", std::string(400 << 10, 'c'));
        Writer writer(root);
        EXPECT_EQ(append(writer, 'a', 100), STATUS_disk_full);
        EXPECT_TRUE(segments().empty()) << "each start would leave one more";
    });
}

// tmpfs tells the blocks that a file has.
TEST_F(SmallDiskRecipes, AFailedWriteGivesItsTailBack)
{
    on_a_small_disk([&] {
        Writer writer(root);
        ASSERT_EQ(append(writer, 'a', 5000), STATUS_ok);
        const uint64_t before = free_bytes();
        {
            Arm arm(1, ENOSPC, true, "pwrite");
            faults.most = 100000; // so much of the next one, then nothing
            EXPECT_EQ(append(writer, 'b', 200000), STATUS_disk_full);
        }
        EXPECT_GE(free_bytes() + 4096, before);
        Recipes recipes = open();
        EXPECT_TRUE(find(recipes, RECIPE_FORM, std::string(5000, 'a')));
        EXPECT_FALSE(find(recipes, RECIPE_FORM, std::string(200000, 'b')));
    });
}

TEST_F(SmallDiskRecipes, AFirstWriteThatFailsLeavesNoFile)
{
    Writer writer(root);
    Arm arm(1, ENOSPC, true, "pwrite");
    faults.most = 100;
    EXPECT_EQ(append(writer, 'a', 5000), STATUS_disk_full);
    EXPECT_TRUE(segments().empty());
}

TEST_F(SmallDiskRecipes, GiveWay)
{
    {
        Writer writer(root, 1 << 30, 100000);
        ASSERT_EQ(append(writer, 'a', 100), STATUS_ok);
        EXPECT_TRUE(writer.discard());
        EXPECT_TRUE(segments().empty());
    }
    {
        Writer writer(root, 1 << 30, 100000);
        ASSERT_EQ(append(writer, 'a', 100), STATUS_ok);
    }
    Writer writer(root, 1 << 30, 100000);
    ASSERT_EQ(append(writer, 'b', 100), STATUS_ok);
    ASSERT_EQ(segments().size(), 1u) << "it goes on with what the other has left";
    EXPECT_TRUE(writer.discard());
    EXPECT_TRUE(segments().empty());
    EXPECT_FALSE(recipe_writer_discard(nullptr));
}

TEST_F(SmallDiskRecipes, NothingIsThereToGiveWay)
{
    Writer writer(root);
    EXPECT_FALSE(writer.discard());
}

// Another file by the segment's name, or by the number of its descriptor, is not ours.
TEST_F(SmallDiskRecipes, FilesOfOthersDoNotGiveWay)
{
    Writer replaced(root);
    ASSERT_EQ(append(replaced, 'a', 100), STATUS_ok);
    const std::string path = segments().at(0);
    std::filesystem::rename(path, root + "/moved");
    write_file(path, "another");
    EXPECT_FALSE(replaced.discard());
    EXPECT_EQ(read(path), "another");

    Writer taken(root);
    ASSERT_EQ(append(taken, 'b', 100), STATUS_ok);
    const size_t count = segments().size();
    const int fd = take_descriptor(scratch.path("own"));
    EXPECT_FALSE(taken.discard());
    EXPECT_EQ(segments().size(), count);
    ::close(fd);
}

TEST_F(SmallDiskRecipes, AForkedChildGivesNothingOfItsParentsAway)
{
    Writer writer(root);
    ASSERT_EQ(append(writer, 'a', 100), STATUS_ok);
    run_in_child([&] { EXPECT_FALSE(writer.discard()); });
    EXPECT_EQ(segments().size(), 1u);
}

} // namespace
