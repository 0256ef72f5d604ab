// SPDX-License-Identifier: Apache-2.0
// Recipes that are read, as programs do it: nothing that happens to the file or its descriptor may
// harm the program, and it takes little of what the program has.
#include <thread>

#include "faults.h"
#include "recipes_fixture.h"

extern "C" {
#include "common/recipes/segment.h"
}

namespace {

size_t count_descriptors()
{
    size_t count = 0;
    for (const auto &entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        count += !entry.path().empty();
    }
    return count;
}

// Bytes of address space.
size_t address_space()
{
    size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

class ReadRecipe : public RecipesTest {
  protected:
    const std::string large = std::string(RECIPE_SEGMENT_WHOLE, 'l');

    void SetUp() override
    {
        access = RECIPES_READ;
    }

    // A segment that is not read whole, with a record of its own.
    void write_large(const std::string &own = "code", bool seal = true) const
    {
        Batch batch;
        batch.put(RECIPE_CODE, own).put(RECIPE_CODE, large).put(RECIPE_FORM, "form");
        batch.use("form", "here", 20000);
        write(batch, seal);
    }

    void change_byte_of(const std::string &record, char value) const
    {
        const size_t at = read(segments().at(0)).find(record);
        const int fd = ::open(segments().at(0).c_str(), O_WRONLY);
        EXPECT_EQ(pwrite(fd, &value, 1, static_cast<off_t>(at)), 1);
        close(fd);
    }

    static void expect_all(const Recipes &recipes)
    {
        EXPECT_EQ(find(recipes, RECIPE_CODE, "code"), "code");
        EXPECT_EQ(find(recipes, RECIPE_FORM, "form"), "form");
        EXPECT_NE(find_use(recipes.get(), digest_of("form"), digest_of("here")), nullptr);
        EXPECT_EQ(damaged(recipes), 0u);
    }
};

TEST_F(ReadRecipe, ComesBackFromALargeSegment)
{
    write_large();
    Recipes recipes = open();
    expect_all(recipes);
    EXPECT_EQ(find(recipes, RECIPE_CODE, large), large);
}

TEST_F(ReadRecipe, ComesBackFromALargeSegmentThatIsNotSealed)
{
    write_large("code", false);
    Recipes recipes = open();
    expect_all(recipes);
    EXPECT_EQ(find(recipes, RECIPE_CODE, large), large);
}

// To make its index takes memory for all of it.
TEST_F(ReadRecipe, ASegmentThatIsNotSealedIsNotReadWhereMemoryLacks)
{
    const std::string code(17 << 20, 'c');
    faults.meminfo = scratch.path("meminfo");
    write_file(faults.meminfo, "MemTotal: 65536 kB\nMemAvailable: 17000 kB\n");
    for (const bool seal : {false, true}) {
        std::filesystem::remove_all(folder);
        write_large(code, seal);
        const Recipes recipes = open(seal ? STATUS_ok : STATUS_out_of_memory);
        EXPECT_EQ(static_cast<bool>(recipes), seal);
    }
    write_file(faults.meminfo, "MemTotal: 65536 kB\nMemAvailable: 18000 kB\n");
    std::filesystem::remove_all(folder);
    write_large(code, false);
    EXPECT_EQ(find(open(), RECIPE_CODE, code), code);
}

TEST_F(ReadRecipe, ALargeSegmentWhoseFooterIsDamagedIsReadByItsRecords)
{
    write_large();
    const int fd = ::open(segments().at(0).c_str(), O_WRONLY);
    const auto size = static_cast<off_t>(std::filesystem::file_size(segments().at(0)));
    EXPECT_EQ(pwrite(fd, "x", 1, size - 20), 1);
    close(fd);
    Recipes recipes = open();
    EXPECT_EQ(find(recipes, RECIPE_CODE, "code"), "code");
    EXPECT_EQ(find(recipes, RECIPE_CODE, large), large);
}

TEST_F(ReadRecipe, ADamagedRecordOfALargeSegmentIsCountedOnce)
{
    write_large();
    change_byte_of(large, 'x');
    Recipes recipes = open();
    EXPECT_EQ(find(recipes, RECIPE_CODE, large), std::nullopt);
    EXPECT_EQ(find(recipes, RECIPE_CODE, large), std::nullopt);
    EXPECT_EQ(find(recipes, RECIPE_CODE, "code"), "code");
    EXPECT_EQ(damaged(recipes), 1u);
}

TEST_F(ReadRecipe, ManyThreadsMayAskForTheSame)
{
    write_large();
    Recipes recipes = open();
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++) {
        threads.emplace_back([&] {
            EXPECT_EQ(find(recipes, RECIPE_CODE, large), large);
            EXPECT_EQ(find(recipes, RECIPE_FORM, "form"), "form");
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
}

// In a mapping that would be SIGBUS.
TEST_F(ReadRecipe, AFileThatIsCutShortWhileItIsOpenIsDamaged)
{
    write_large();
    Recipes recipes = open();
    std::filesystem::resize_file(segments().at(0), 0);
    EXPECT_EQ(find(recipes, RECIPE_CODE, "code"), std::nullopt);
    EXPECT_TRUE(recipes_have(recipes.get(), RECIPE_FORM, digest_of("form")));
    const recipe_use *uses;
    EXPECT_EQ(recipes_uses(recipes.get(), &uses), 0u);
    EXPECT_EQ(recipes_damage(recipes.get()).records, 2u);
}

// A program may close what it does not know, and open a file of its own.
TEST_F(ReadRecipe, ADescriptorThatTheProgramTookIsNotClosed)
{
    write_large();
    Recipes recipes = open();
    const int taken = take_descriptor(scratch.path("own"));
    ASSERT_GE(taken, 0);
    recipes.reset();
    EXPECT_EQ(close(taken), 0);
}

TEST_F(ReadRecipe, SmallSegmentsTakeNoDescriptor)
{
    write(Batch().put(RECIPE_CODE, "code").put(RECIPE_FORM, "form").use("form", "here", 20000));
    const size_t before = count_descriptors();
    Recipes recipes = open();
    EXPECT_EQ(count_descriptors(), before);
    std::filesystem::remove(segments().at(0));
    expect_all(recipes);
}

TEST_F(ReadRecipe, ManySegmentsTakeFewDescriptors)
{
    for (int i = 0; i < 40; i++) {
        write_large("code " + std::to_string(i));
    }
    const size_t before = count_descriptors();
    Recipes recipes = open();
    EXPECT_LE(count_descriptors(), before + 33);
    for (int i = 0; i < 40; i++) {
        EXPECT_TRUE(find(recipes, RECIPE_CODE, "code " + std::to_string(i))) << i;
    }
    EXPECT_LE(count_descriptors(), before + 33);
    recipes.reset();
    EXPECT_EQ(count_descriptors(), before);
}

TEST_F(ReadRecipe, TakesNoAddressSpaceForWhatNobodyAsksFor)
{
    Batch batch;
    batch.put(RECIPE_CODE, std::string(60 << 20, 'c')).put(RECIPE_CODE, "code");
    write(batch);
    const size_t before = address_space();
    Recipes recipes = open();
    EXPECT_EQ(find(recipes, RECIPE_CODE, "code"), "code");
    EXPECT_LT(address_space(), before + (16 << 20));
}

TEST_F(ReadRecipe, DetachedItsIndexAndUsesAnswerAndNothingElse)
{
    write_large();
    write(Batch().put(RECIPE_CODE, "small"));
    const size_t before = count_descriptors();
    Recipes recipes = open();
    EXPECT_EQ(count_descriptors(), before + 1);
    recipes_detach(recipes.get());
    EXPECT_EQ(count_descriptors(), before);
    EXPECT_TRUE(recipes_have(recipes.get(), RECIPE_CODE, digest_of("code")));
    EXPECT_TRUE(recipes_have(recipes.get(), RECIPE_CODE, digest_of("small")));
    EXPECT_NE(find_use(recipes.get(), digest_of("form"), digest_of("here")), nullptr);
    EXPECT_EQ(find(recipes, RECIPE_CODE, "code"), std::nullopt);
    EXPECT_EQ(find(recipes, RECIPE_CODE, "small"), std::nullopt);
}

} // namespace
