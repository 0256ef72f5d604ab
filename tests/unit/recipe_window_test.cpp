// Recipes that are read, as programs do it: nothing that happens to the file or its descriptor may
// harm the program.
#include "recipes_fixture.h"

namespace {

size_t count_descriptors()
{
    size_t count = 0;
    for (const auto &entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        count += !entry.path().empty();
    }
    return count;
}

class ReadRecipe : public RecipesTest {
  protected:
    void SetUp() override
    {
        access = RECIPES_READ;
        write(Batch().put(RECIPE_CODE, "code").put(RECIPE_FORM, "form").use("form", "here", 20000));
    }
};

// In a mapping that would be SIGBUS.
TEST_F(ReadRecipe, AFileThatIsCutShortWhileItIsOpenIsDamaged)
{
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
    Recipes recipes = open();
    const int taken = take_descriptor(scratch.path("own"));
    ASSERT_GE(taken, 0);
    recipes.reset();
    EXPECT_EQ(close(taken), 0);
}

TEST_F(ReadRecipe, DetachedItsIndexAndUsesAnswerAndNothingElse)
{
    Recipes recipes = open();
    const size_t open_files = count_descriptors();
    recipes_detach(recipes.get());
    EXPECT_EQ(count_descriptors(), open_files - 1);
    EXPECT_TRUE(recipes_have(recipes.get(), RECIPE_CODE, digest_of("code")));
    EXPECT_NE(recipes_find_use(recipes.get(), digest_of("form"), digest_of("here")), nullptr);
    EXPECT_EQ(find(recipes, RECIPE_CODE, "code"), std::nullopt);
}

} // namespace
