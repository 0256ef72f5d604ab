// SPDX-License-Identifier: Apache-2.0
// A process goes on with what a dead one has left, rather than leave one more file.
#include "holder.h"
#include "mounts.h"
#include "recipes_fixture.h"

namespace {

class ResumedSegment : public RecipesTest {
  protected:
    static constexpr uint64_t small = 1000;

    // What one process records.
    void record(const std::string &form, bool finish = true) const
    {
        Writer writer(root, 1 << 30, small);
        ASSERT_EQ(writer.append(Batch().put(RECIPE_FORM, form)), STATUS_ok);
        writer.close(finish);
    }

    void append_bytes(const std::string &bytes) const
    {
        std::ofstream(segments().at(0), std::ios::binary | std::ios::app) << bytes;
    }

    void expect_records(const std::vector<std::string> &forms) const
    {
        Recipes recipes = open();
        EXPECT_TRUE(has_all(recipes, RECIPE_FORM, forms));
        EXPECT_EQ(damaged(recipes), 0u);
    }
};

TEST_F(ResumedSegment, ManyShortRunsLeaveOne)
{
    record("one");
    record("two", false); // as if it had been killed
    record("three");
    EXPECT_EQ(segments().size(), 1u);
    expect_records({"one", "two", "three"});
}

TEST_F(ResumedSegment, OneThatHasGrownLargeIsSealedWithAllItHolds)
{
    record("one");
    record(std::string(small, 'l'));
    record("three");
    EXPECT_EQ(segments().size(), 2u);
    expect_records({"one", std::string(small, 'l'), "three"});
}

TEST_F(ResumedSegment, ThatOfALivingProcessIsNot)
{
    Holder holder([&] {
        auto *writer = new Writer(root, 1 << 30, small); // lives as long as the process
        EXPECT_EQ(writer->append(Batch().put(RECIPE_FORM, "living")), STATUS_ok);
    });
    record("one");
    EXPECT_EQ(segments().size(), 2u);
    expect_records({"living", "one"});
}

TEST_F(ResumedSegment, ThatOfALivingProcessOfAnotherMachineIsNot)
{
    Scratch disk;
    on_two_machines(disk.path("disk"), [&](const auto &one, const auto &two) {
        Writer first(one, 1 << 30, small);
        ASSERT_EQ(first.append(Batch().put(RECIPE_FORM, "living")), STATUS_ok);
        root = two;
        folder = two + "/app/recipes";
        record("second");
        EXPECT_EQ(segments().size(), 2u);
        ASSERT_EQ(first.append(Batch().put(RECIPE_FORM, "more")), STATUS_ok);
        first.close(true);
        expect_records({"living", "second", "more"});
    });
}

TEST_F(ResumedSegment, OneWithATornTailIsNot)
{
    record("one");
    append_bytes(std::string(9, '\0'));
    record("two");
    EXPECT_EQ(segments().size(), 2u);
    expect_records({"one", "two"});
}

TEST_F(ResumedSegment, OneThatIsSealedIsNot)
{
    write(Batch().put(RECIPE_FORM, "sealed"));
    const std::string content = read(segments().at(0));
    record("one");
    EXPECT_EQ(segments().size(), 2u);
    expect_records({"sealed", "one"});
}

TEST_F(ResumedSegment, OneThatOthersMayWriteIsNot)
{
    record("one");
    const std::string before = segments().at(0);
    const uintmax_t size = std::filesystem::file_size(before);
    ASSERT_EQ(chmod(before.c_str(), 0660), 0);
    record("two");
    EXPECT_EQ(segments().size(), 2u);
    EXPECT_EQ(std::filesystem::file_size(before), size);
}

TEST_F(ResumedSegment, TheLimitIsForWhatIsAdded)
{
    record(std::string(300, 'o'));
    Writer writer(root, 500, small);
    EXPECT_EQ(writer.append(Batch().put(RECIPE_FORM, std::string(200, 'a'))), STATUS_ok);
    EXPECT_EQ(writer.append(Batch().put(RECIPE_FORM, std::string(400, 'b'))), STATUS_too_large);
    EXPECT_EQ(segments().size(), 1u);
}

} // namespace
