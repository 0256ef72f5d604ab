// SPDX-License-Identifier: Apache-2.0
// Recipes, written and read back: by the segment's index, by its records, and what is left of them
// where a file is damaged.
#include <thread>

#include <sys/resource.h>

#include "recipes_fixture.h"

extern "C" {
#include "common/recipes/segment.h"
}

namespace {

const std::string code_a(1000, 'a');
const std::string code_b(37, 'b');
const std::string form_a(200, 'f');
const std::string form_b = "form b";
const std::string environment = "an environment";

Batch &fill(Batch &batch)
{
    return batch.put(RECIPE_CODE, code_a)
        .put(RECIPE_FORM, form_a)
        .put(RECIPE_ENVIRONMENT, environment)
        .use(form_a, environment, 20000, 1, 1500)
        .put(RECIPE_CODE, code_b)
        .put(RECIPE_FORM, form_b)
        .use(form_b, environment, 20000, 1, 300);
}

class Recipe : public RecipesTest, public testing::WithParamInterface<recipes_access> {
  protected:
    Recipe()
    {
        access = GetParam();
    }

    void write_all(bool seal)
    {
        Batch batch;
        write(fill(batch), seal);
    }

    static void expect_all(const Recipes &recipes)
    {
        EXPECT_TRUE(has_all(recipes, RECIPE_CODE, {code_a, code_b}));
        EXPECT_TRUE(has_all(recipes, RECIPE_FORM, {form_a, form_b}));
        EXPECT_TRUE(has_all(recipes, RECIPE_ENVIRONMENT, {environment}));
        EXPECT_EQ(count_uses(recipes), 2u);
    }

    static size_t count_uses(const Recipes &recipes)
    {
        const recipe_use *uses;
        return recipes_uses(recipes.get(), &uses);
    }

    static void change_byte(const std::string &path, size_t at, char value)
    {
        const int fd = ::open(path.c_str(), O_WRONLY);
        EXPECT_EQ(pwrite(fd, &value, 1, static_cast<off_t>(at)), 1);
        close(fd);
    }

    // How many of the seven records and uses can still be had.
    static size_t count_left(const Recipes &recipes)
    {
        size_t left = count_uses(recipes);
        for (const auto &[kind, data] :
             std::vector<std::pair<recipe_kind, std::string>>{{RECIPE_CODE, code_a},
                                                              {RECIPE_CODE, code_b},
                                                              {RECIPE_FORM, form_a},
                                                              {RECIPE_FORM, form_b},
                                                              {RECIPE_ENVIRONMENT, environment}}) {
            const std::optional<std::string> found = find(recipes, kind, data);
            EXPECT_TRUE(!found || found == data);
            left += found.has_value();
        }
        return left;
    }
};

TEST_P(Recipe, NothingIsThereBeforeTheFirstRecord)
{
    open(STATUS_no_file);
    Writer writer(root);
    writer.close();
    EXPECT_FALSE(std::filesystem::exists(root));
}

TEST_P(Recipe, ComesBackFromASealedSegment)
{
    write_all(true);
    ASSERT_EQ(segments().size(), 1u);
    Recipes recipes = open();
    expect_all(recipes);
    EXPECT_EQ(damaged(recipes), 0u);
}

TEST_P(Recipe, ComesBackFromASegmentWhoseProcessLives)
{
    Writer writer(root);
    Batch batch;
    ASSERT_EQ(writer.append(fill(batch)), STATUS_ok);
    expect_all(open());
    Batch more;
    ASSERT_EQ(writer.append(more.put(RECIPE_FORM, "more")), STATUS_ok);
    EXPECT_EQ(find(open(), RECIPE_FORM, "more"), "more");
    expect_all(open());
}

TEST_P(Recipe, ComesBackFromASegmentWhoseProcessWasKilled)
{
    EXPECT_EQ(in_child([&] {
                  Writer writer(root);
                  Batch batch;
                  writer.append(fill(batch));
                  kill(getpid(), SIGKILL);
              }),
              128 + SIGKILL);
    Recipes recipes = open();
    expect_all(recipes);
    EXPECT_EQ(damaged(recipes), 0u);
}

TEST_P(Recipe, IsOnlyForTheUser)
{
    write_all(true);
    struct stat status = {};
    ASSERT_EQ(stat(folder.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0700u);
    ASSERT_EQ(stat(segments().at(0).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600u);
}

TEST_P(Recipe, AnswersOnlyForTheKindThatItIs)
{
    write_all(true);
    Recipes recipes = open();
    EXPECT_TRUE(recipes_have(recipes.get(), RECIPE_CODE, digest_of(code_a)));
    EXPECT_FALSE(recipes_have(recipes.get(), RECIPE_FORM, digest_of(code_a)));
    EXPECT_FALSE(recipes_have(recipes.get(), RECIPE_CODE, digest_of("none")));
    EXPECT_EQ(find(recipes, RECIPE_FORM, code_a), std::nullopt);
}

// The last day's word counts, and of two of one day both.
TEST_P(Recipe, HowStagesHadTheirCodeIsAsOnTheLastDay)
{
    Batch batch;
    write(batch.use("p", "e", 20001, 1, 0, 4).use("q", "e", 20001, 1, 0, 0x8001));
    Batch later;
    write(later.use("p", "e", 20003, 1, 0, 1).use("p", "e", 20003, 0, 9).use("q", "other", 20003));
    Batch same;
    write(same.use("p", "e", 20003, 1, 0, 2));
    Recipes recipes = open();
    const recipe_use *uses;
    ASSERT_EQ(recipes_uses(recipes.get(), &uses), 3u);
    const auto stages = [&](const std::string &pipeline, const std::string &made_in) {
        return recipes_inline_stages(recipes.get(), digest_of(made_in), digest_of(pipeline));
    };
    EXPECT_EQ(stages("p", "e"), 3u);
    EXPECT_EQ(stages("q", "e"), 0x8001u);
    EXPECT_EQ(stages("q", "other"), 0u);
    EXPECT_EQ(stages("p", "other"), 0u);
    EXPECT_EQ(find_use(recipes.get(), digest_of("p"), digest_of("e"))->days, 2u);
}

TEST_P(Recipe, UsesOfAllSegmentsAddUp)
{
    for (uint32_t day : {20003, 20001, 20003}) {
        Batch batch;
        write(batch.use("p", "e", day, 1, day - 20000).use("p", "other", day));
    }
    Recipes recipes = open();
    EXPECT_EQ(count_uses(recipes), 2u);
    const recipe_use *use = find_use(recipes.get(), digest_of("p"), digest_of("e"));
    ASSERT_NE(use, nullptr);
    EXPECT_EQ(use->last_day, 20003u);
    EXPECT_EQ(use->days, 2u) << "one day counts once";
    EXPECT_EQ(use->compile_us, 3u);
    EXPECT_EQ(find_use(recipes.get(), digest_of("e"), digest_of("p")), nullptr);
}

TEST_P(Recipe, DaysDoNotOverflow)
{
    Batch batch;
    write(batch.use("p", "e", 1, UINT16_MAX).use("p", "e", 2, UINT16_MAX));
    EXPECT_EQ(find_use(open().get(), digest_of("p"), digest_of("e"))->days, UINT16_MAX);
}

TEST_P(Recipe, OneBatchKeepsItsUsesInOneRecordForEachEnvironment)
{
    Batch one;
    Batch many;
    one.use("0", "e", 1);
    for (int i = 0; i < 100; i++) {
        many.use(std::to_string(i), "e", 1);
    }
    write(one, false);
    const uintmax_t least = std::filesystem::file_size(segments().at(0));
    std::filesystem::remove(segments().at(0));
    write(many, false);
    EXPECT_LE(std::filesystem::file_size(segments().at(0)), least + 99 * 28 + 8);
}

TEST_P(Recipe, EveryByteOfAFileMayBeWrong)
{
    for (bool seal : {true, false}) {
        write_all(seal);
        const std::string path = segments().at(0);
        const std::string whole = read(path);
        for (size_t at = 0; at < whole.size(); at++) {
            change_byte(path, at, static_cast<char>(whole[at] ^ 0x10));
            Recipes recipes = open();
            ASSERT_NE(recipes, nullptr) << at;
            // The uses are one record.
            const size_t left = count_left(recipes);
            ASSERT_GE(left, 5u) << at;
            if (left < 7) {
                EXPECT_EQ(damaged(recipes), 1u) << at;
            }
            EXPECT_LE(damaged(recipes), 1u) << at;
            change_byte(path, at, whole[at]);
        }
        std::filesystem::remove(path);
    }
}

TEST_P(Recipe, AFileMayEndAnywhere)
{
    write_all(false);
    const std::string path = segments().at(0);
    const std::string whole = read(path);
    size_t last = 0;
    for (size_t size = 0; size < whole.size(); size++) {
        std::filesystem::remove(path);
        write_file(path, whole.substr(0, size));
        Recipes recipes = open(size < 32 ? STATUS_no_file : STATUS_ok);
        if (recipes) {
            const size_t left = count_left(recipes);
            ASSERT_GE(left, last) << size;
            last = left;
            ASSERT_EQ(damaged(recipes), 0u) << "a torn tail is nobody's fault, " << size;
        }
    }
    EXPECT_EQ(last, 5u);
}

TEST_P(Recipe, ATailThatNeverCameIsTorn)
{
    write_all(false);
    const std::string path = segments().at(0);
    write_file(path, read(path) + std::string(5000, '\0'));
    Recipes recipes = open();
    expect_all(recipes);
    EXPECT_EQ(damaged(recipes), 0u);
}

TEST_P(Recipe, WhatADamagedCopyLosesAnotherHas)
{
    write_all(true);
    std::string file = read(segments().at(0));
    file[32 + 32 + 5] ^= 1; // the first record's data
    write_file(segments().at(0), file);
    write_all(true);
    Recipes recipes = open();
    expect_all(recipes);
}

// As in a hostile file: a search that went over all of them would take any time.
TEST_P(Recipe, OfManyDamagedRecordsWithOneDigestAFewAreTried)
{
    for (const int damaged_ones : {10, 1000}) {
        Batch batch;
        const std::string code = "code of " + std::to_string(damaged_ones);
        for (int i = 0; i < damaged_ones; i++) {
            recipe_put_record(&batch.bytes, RECIPE_CODE, digest_of(code), "other", 5);
        }
        batch.put(RECIPE_CODE, code);
        write(batch);
        Recipes recipes = open();
        EXPECT_EQ(find(recipes, RECIPE_CODE, code).has_value(), damaged_ones == 10);
        EXPECT_LE(damaged(recipes), 100u);
    }
}

TEST_P(Recipe, DamageIsCountedOnce)
{
    write_all(true);
    std::string file = read(segments().at(0));
    file[32 + 32 + 5] ^= 1;
    write_file(segments().at(0), file);
    Recipes recipes = open();
    for (int i = 0; i < 3; i++) {
        EXPECT_EQ(find(recipes, RECIPE_CODE, code_a), std::nullopt);
        EXPECT_TRUE(recipes_have(recipes.get(), RECIPE_CODE, digest_of(code_a)));
    }
    EXPECT_EQ(damaged(recipes), 1u);
}

TEST_P(Recipe, ForeignAndNewerFilesAreLeftAlone)
{
    write_all(true);
    const std::string whole = read(segments().at(0));
    for (size_t field : {8, 12}) {
        // As a version to come would write it, its check included.
        std::string newer = whole;
        newer[field] = 9;
        struct bytes check = {};
        bytes_put_u64(&check, digest_of(newer.substr(0, 24)).low);
        newer.replace(24, 8, text_of(check));
        bytes_free(&check);
        write_file(segments().at(0), newer);
        open(STATUS_no_file);
        open_file(segments().at(0), STATUS_bad_format_version);
        EXPECT_EQ(read(segments().at(0)), newer);
    }
    write_file(segments().at(0), std::string(1000, 'x'));
    EXPECT_EQ(recipes_damage(open().get()).reason, STATUS_bad_magic);
    open_file(segments().at(0), STATUS_bad_magic);
    write_file(segments().at(0), "");
    open_file(segments().at(0), STATUS_truncated);
}

TEST_P(Recipe, FilesOfOthersAreNotMapped)
{
    write_all(true);
    chmod(segments().at(0).c_str(), 0620);
    EXPECT_EQ(recipes_damage(open().get()).reason, STATUS_file_mode);
    chmod(segments().at(0).c_str(), 0600);
    const std::string elsewhere = scratch.path("elsewhere");
    std::filesystem::rename(segments().at(0), elsewhere);
    std::filesystem::create_symlink(elsewhere, folder + "/0123456789abcdef.wprecipes");
    EXPECT_EQ(recipes_damage(open().get()).reason, STATUS_symlink);
    expect_all(open_file(elsewhere));

    std::filesystem::rename(folder, scratch.path("folder"));
    std::filesystem::create_symlink(scratch.path("folder"), folder);
    open(STATUS_symlink);
}

TEST_P(Recipe, AFileByItselfIsReadWhoeverMayWriteIt)
{
    write_all(true);
    const std::string path = scratch.path("shipped");
    std::filesystem::rename(segments().at(0), path);
    chmod(path.c_str(), 0666);
    Recipes recipes = open_file(path);
    std::filesystem::resize_file(path, 0);
    expect_all(recipes);
    open_file(scratch.path("missing"), STATUS_no_file);
    open_file(scratch.path("."), STATUS_not_a_file);
}

// Of a hostile file: all that its index tells of is to be read in the time that its size asks for.
TEST_P(Recipe, AnIndexWhoseEntriesMeetInOneRecordIsDamaged)
{
    struct bytes file = {};
    struct bytes entries = {};
    recipe_put_header(&file);
    recipe_put_record(&file, RECIPE_CODE, digest_of(code_a), code_a.data(), code_a.size());
    for (uint64_t i = 0; i < 400; i++) {
        recipe_index_put(&entries, RECIPE_CODE, {i, i}, RECIPE_HEADER_SIZE);
    }
    recipe_index_sort(entries.data, 400);
    recipe_put_index(&file, entries.data, 400, file.size);
    recipe_segment segment = {};
    ASSERT_EQ(recipe_segment_take(file.data, file.size, &segment), STATUS_ok);
    EXPECT_EQ(segment.index.count, 1u);
    EXPECT_EQ(segment.dropped, 1u);
    EXPECT_TRUE(recipe_segment_has(&segment, RECIPE_CODE, digest_of(code_a)));
    recipe_segment_close(&segment);
    bytes_free(&entries);
}

TEST_P(Recipe, AnIndexThatLeadsIntoARecordIsDamaged)
{
    struct bytes inner = {};
    recipe_put_record(&inner, RECIPE_CODE, digest_of(code_b), code_b.data(), code_b.size());
    const std::string outer = text_of(inner);
    struct bytes file = {};
    struct bytes entries = {};
    recipe_put_header(&file);
    recipe_put_record(&file, RECIPE_CODE, digest_of(outer), outer.data(), outer.size());
    recipe_index_put(&entries, RECIPE_CODE, digest_of(outer), RECIPE_HEADER_SIZE);
    recipe_index_put(&entries, RECIPE_CODE, digest_of(code_b),
                     RECIPE_HEADER_SIZE + RECIPE_RECORD_HEADER);
    recipe_index_sort(entries.data, 2);
    recipe_put_index(&file, entries.data, 2, file.size);
    recipe_segment segment = {};
    ASSERT_EQ(recipe_segment_take(file.data, file.size, &segment), STATUS_ok);
    EXPECT_EQ(segment.index.count, 1u);
    EXPECT_TRUE(recipe_segment_has(&segment, RECIPE_CODE, digest_of(outer)));
    recipe_segment_close(&segment);
    bytes_free(&entries);
    bytes_free(&inner);
}

TEST_P(Recipe, FilesThatCannotBeReadAreCounted)
{
    Batch batch;
    write(fill(batch));
    write(Batch().put(RECIPE_CODE, "open to others"));
    const std::string own = segments().at(0);
    std::string other = segments().at(1);
    write_file(folder + "/0123456789abcdef.wprecipes", std::string(4096, '\0'));
    write_file(folder + "/0123456789abcde0.wprecipes", "");
    ASSERT_EQ(chmod(own.c_str(), 0660), 0);
    const recipe_damage damage = recipes_damage(open().get());
    EXPECT_EQ(damage.segments, 2u);
    EXPECT_NE(damage.reason, STATUS_ok);
}

TEST_P(Recipe, ManyThreadsMayAsk)
{
    write_all(true);
    std::string file = read(segments().at(0));
    file[32 + 32 + 5] ^= 1;
    write_file(segments().at(0), file);
    Recipes recipes = open();
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++) {
        threads.emplace_back([&] {
            EXPECT_EQ(find(recipes, RECIPE_CODE, code_a), std::nullopt);
            EXPECT_EQ(find(recipes, RECIPE_CODE, code_b), code_b);
            EXPECT_EQ(count_uses(recipes), 2u);
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(damaged(recipes), 1u);
}

TEST_P(Recipe, ASegmentKeepsToItsSize)
{
    Batch batch;
    batch.put(RECIPE_CODE, code_a);
    Writer writer(root, 2500);
    EXPECT_EQ(writer.append(batch), STATUS_ok);
    EXPECT_EQ(writer.append(batch), STATUS_ok);
    EXPECT_EQ(writer.append(batch), STATUS_too_large);
    Batch small;
    EXPECT_EQ(writer.append(small.put(RECIPE_FORM, "f")), STATUS_ok);
    writer.close();
    EXPECT_LE(std::filesystem::file_size(segments().at(0)), 2500u);
    EXPECT_EQ(find(open(), RECIPE_FORM, "f"), "f");

    Writer none(root, 500);
    EXPECT_EQ(none.append(batch), STATUS_too_large);
    EXPECT_EQ(segments().size(), 1u);
}

TEST_P(Recipe, AFullDiskLosesNothingThatWasThere)
{
    EXPECT_EQ(in_child([&] {
                  Writer writer(root);
                  Batch batch;
                  Batch large;
                  large.put(RECIPE_CODE, std::string(100000, 'c'));
                  bool held = writer.append(fill(batch)) == STATUS_ok;
                  const rlimit limit = {50000, 50000};
                  setrlimit(RLIMIT_FSIZE, &limit);
                  held = held && writer.append(large) == STATUS_disk_full;
                  Batch small;
                  held = held && writer.append(small.put(RECIPE_FORM, "small")) == STATUS_ok;
                  writer.close();
                  _exit(held ? 0 : 1);
              }),
              0);
    Recipes recipes = open();
    expect_all(recipes);
    EXPECT_EQ(find(recipes, RECIPE_FORM, "small"), "small");
    EXPECT_EQ(damaged(recipes), 0u);
}

TEST_P(Recipe, AForkedChildWritesNothing)
{
    Writer writer(root);
    Batch batch;
    ASSERT_EQ(writer.append(fill(batch)), STATUS_ok);
    const uintmax_t size = std::filesystem::file_size(segments().at(0));
    EXPECT_EQ(in_child([&] {
                  Batch more;
                  more.put(RECIPE_FORM, "more");
                  const bool refused = writer.append(more) == STATUS_forked;
                  writer.close(true);
                  _exit(refused ? 0 : 1);
              }),
              0);
    EXPECT_EQ(std::filesystem::file_size(segments().at(0)), size);
    Batch more;
    EXPECT_EQ(writer.append(more.put(RECIPE_FORM, "more")), STATUS_ok);
}

TEST_P(Recipe, ADescriptorThatTheProgramTookIsNotWrittenTo)
{
    Writer writer(root);
    Batch batch;
    ASSERT_EQ(writer.append(fill(batch)), STATUS_ok);
    const std::string own = scratch.path("own");
    take_descriptor(own);
    Batch more;
    EXPECT_EQ(writer.append(more.put(RECIPE_FORM, "more")), STATUS_ok);
    writer.close();
    EXPECT_EQ(std::filesystem::file_size(own), 0u);
    EXPECT_EQ(segments().size(), 2u);
    Recipes recipes = open();
    expect_all(recipes);
    EXPECT_EQ(find(recipes, RECIPE_FORM, "more"), "more");
}

std::string access_name(const testing::TestParamInfo<recipes_access> &tested)
{
    return tested.param == RECIPES_MAP ? "Mapped" : "Read";
}
INSTANTIATE_TEST_SUITE_P(Access, Recipe, testing::Values(RECIPES_MAP, RECIPES_READ), access_name);

} // namespace
