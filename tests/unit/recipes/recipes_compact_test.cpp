// SPDX-License-Identifier: Apache-2.0
// Many segments become one, and what nobody needs goes.
#include <thread>

#include <sys/file.h>
#include <sys/resource.h>

#include "child.h"
#include "holder.h"
#include "mounts.h"
#include "recipe_samples.h"

extern "C" {
#include "common/recipes/merge.h"
}

namespace {

class RecipeCompact : public RecipesTest {
  protected:
    const SamplePipeline a = Samples::pipeline(1);
    const SamplePipeline b = Samples::pipeline(2);
    const SamplePipeline c = Samples::pipeline(3, 2000);

    void write_pipeline(const SamplePipeline &sample, uint32_t last_day = 20000, uint32_t days = 1,
                        uint32_t compile_us = 100, bool seal = true)
    {
        Batch batch;
        put_pipeline(batch, sample, last_day, days, compile_us);
        write(batch, seal);
    }

    recipe_compaction compact()
    {
        recipe_compaction compaction = {};
        EXPECT_EQ(recipe_compact(root.c_str(), "app", &compaction), STATUS_ok);
        return compaction;
    }

    recipe_compaction prune(uint64_t max_size = UINT64_MAX, uint32_t oldest_day = 0,
                            bool dry_run = false)
    {
        recipe_merge_limits limits = {};
        limits.max_size = max_size;
        limits.oldest_day = oldest_day;
        recipe_compaction compaction = {};
        EXPECT_EQ(recipe_prune(root.c_str(), "app", &limits, dry_run, &compaction), STATUS_ok);
        return compaction;
    }

    static bool has(const Recipes &recipes, const SamplePipeline &sample)
    {
        return has_all(recipes, RECIPE_CODE, {sample.code}) &&
               has_all(recipes, RECIPE_FORM,
                       {sample.module, sample.set_layout, sample.layout, sample.form}) &&
               has_all(recipes, RECIPE_ENVIRONMENT, {sample_environment}) &&
               use_of(recipes, sample);
    }

    static bool lacks(const Recipes &recipes, const SamplePipeline &sample)
    {
        return !recipes_have(recipes.get(), RECIPE_CODE, digest_of(sample.code)) &&
               !recipes_have(recipes.get(), RECIPE_FORM, digest_of(sample.module)) &&
               !recipes_have(recipes.get(), RECIPE_FORM, digest_of(sample.form)) &&
               !use_of(recipes, sample);
    }

    size_t count_sealed() const
    {
        const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY);
        size_t sealed = 0;
        for (const std::string &name : names_in(folder, ".wprecipes")) {
            recipe_segment segment = {};
            EXPECT_EQ(recipe_segment_open(fd, name.c_str(), RECIPES_READ, &segment), STATUS_ok);
            sealed += segment.is_sealed;
            recipe_segment_close(&segment);
        }
        ::close(fd);
        return sealed;
    }

    static const recipe_use *use_of(const Recipes &recipes, const SamplePipeline &sample)
    {
        return find_use(recipes.get(), digest_of(sample.form), digest_of(sample_environment));
    }
};

// As where several processes of one program end at once, day after day: the large segment of the
// first stays, and theirs have nothing but uses of what it holds.
TEST_F(RecipeCompact, UsesOfWhatStaysAreTakenOver)
{
    write_pipeline(c);
    for (uint32_t day = 20001; day <= 20006; day++) {
        Batch batch;
        write(batch.use(c.form, sample_environment, day));
    }
    compact();
    EXPECT_EQ(segments().size(), 2u);
    const Recipes recipes = open();
    ASSERT_TRUE(has(recipes, c));
    EXPECT_EQ(use_of(recipes, c)->last_day, 20006u);
    EXPECT_EQ(use_of(recipes, c)->days, 7u);
    // So nothing of it is old.
    EXPECT_EQ(prune(UINT64_MAX, 20006).counts.pipelines, 1u);
}

// As where root has run the program once, or made the image: the user's segments refer to it.
TEST_F(RecipeCompact, WhatRootsSegmentHasCounts)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can become somebody else";
    }
    constexpr uid_t nobody = 65534;
    write_pipeline(a);
    for (const std::string &path : {scratch.path(""), root, segments().at(0)}) {
        chmod(path.c_str(), 0755);
    }
    for (const std::string &path : {root + "/app", folder}) {
        ASSERT_EQ(chown(path.c_str(), nobody, nobody), 0);
    }
    run_in_child([&] {
        ASSERT_EQ(seteuid(nobody), 0);
        for (uint32_t day = 20001; day <= 20006; day++) {
            Batch batch;
            write(batch.use(a.form, sample_environment, day));
        }
        compact();
        const Recipes recipes = open();
        ASSERT_TRUE(has(recipes, a));
        EXPECT_EQ(use_of(recipes, a)->last_day, 20006u);
        EXPECT_EQ(use_of(recipes, a)->days, 7u);
        EXPECT_EQ(segments().size(), 2u);
    });
}

// A process that was killed, or ended without destroying its device. Without an index each start
// would read all of it.
TEST_F(RecipeCompact, WhatADeadProcessLeftWithoutAnIndexIsSealed)
{
    constexpr uint32_t mebibyte = 1 << 18; // in words
    for (const uint32_t words : {mebibyte / 2, 33 * mebibyte}) {
        std::filesystem::remove_all(folder);
        const SamplePipeline large = Samples::pipeline(4, words);
        write_pipeline(large, 20000, 1, 100, false);
        write_pipeline(a, 20000, 1, 100, false);
        const std::vector<std::string> before = segments();
        prune(UINT64_MAX, 0, true);
        EXPECT_EQ(count_sealed(), 0u) << "a dry run writes nothing";
        compact();
        EXPECT_EQ(segments(), before);
        EXPECT_EQ(count_sealed(), 1u) << "the next process goes on with the small one";
        compact();
        EXPECT_EQ(count_sealed(), 1u);
        const Recipes recipes = open();
        EXPECT_TRUE(has(recipes, large));
        EXPECT_TRUE(has(recipes, a));
        EXPECT_EQ(damaged(recipes), 0u);
    }
}

TEST_F(RecipeCompact, WhatALivingProcessHasIsNotSealed)
{
    Writer writer(root, 1 << 30, RECIPE_SEGMENT_OPEN);
    Batch batch;
    put_pipeline(batch, Samples::pipeline(4, 20000), 20000, 1, 100);
    ASSERT_EQ(writer.append(batch), STATUS_ok);
    compact();
    EXPECT_EQ(count_sealed(), 0u);
    Batch more;
    put_pipeline(more, a, 20000, 1, 100);
    ASSERT_EQ(writer.append(more), STATUS_ok);
    writer.close();
    EXPECT_EQ(count_sealed(), 1u);
    EXPECT_TRUE(has(open(), a));
}

TEST_F(RecipeCompact, AFewSegmentsAreLeftAlone)
{
    for (int i = 0; i < 4; i++) {
        write_pipeline(a);
    }
    const std::vector<std::string> before = segments();
    compact();
    EXPECT_EQ(segments(), before);
}

TEST_F(RecipeCompact, ManyBecomeOneWithEachRecordOnce)
{
    for (uint32_t day = 20000; day < 20003; day++) {
        write_pipeline(a, day, 1, 10 * (day - 19999));
        write_pipeline(b, day, 1, 100, day % 2 == 0);
    }
    const recipe_compaction compaction = compact();
    ASSERT_EQ(segments().size(), 1u);
    EXPECT_EQ(compaction.counts.pipelines, 2u);
    EXPECT_EQ(compaction.counts.modules, 2u);
    EXPECT_EQ(compaction.counts.damaged, 0u);
    EXPECT_EQ(std::filesystem::file_size(segments().at(0)), compaction.bytes_after);
    EXPECT_LT(compaction.bytes_after * 2, compaction.bytes_before);

    Recipes recipes = open();
    EXPECT_TRUE(has(recipes, a));
    EXPECT_TRUE(has(recipes, b));
    EXPECT_EQ(damaged(recipes), 0u);
    EXPECT_EQ(use_of(recipes, a)->days, 3u);
    EXPECT_EQ(use_of(recipes, a)->last_day, 20002u);
    EXPECT_EQ(use_of(recipes, a)->compile_us, 30u);
    struct stat status = {};
    ASSERT_EQ(stat(segments().at(0).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600u);
}

// What comes from elsewhere says nothing of how long a driver takes here, or what is saved here.
TEST_F(RecipeCompact, WhatIsForeignIsNotMeasured)
{
    recipe_uses uses = {};
    Batch batch;
    put_objects(batch, a);
    recipe_use use = {digest_of(a.form), digest_of(sample_environment), 20000, 3, 0, 1, true, true};
    recipe_put_use(&batch.bytes, &use);
    struct bytes file = {};
    recipe_put_header(&file);
    bytes_put(&file, batch.bytes.data, batch.bytes.size);
    recipe_segment segment = {};
    ASSERT_EQ(recipe_segment_take(file.data, file.size, &segment), STATUS_ok);
    const recipe_merge_input input = {&segment, false};
    for (const bool foreign : {false, true}) {
        recipe_merge_limits limits = {};
        limits.max_size = UINT64_MAX;
        limits.foreign = foreign;
        recipe_merged merged = {};
        ASSERT_EQ(recipe_merge(&input, 1, &limits, &merged), STATUS_ok);
        std::string whole;
        for (size_t i = 0; i < merged.part_count; i++) {
            whole.append(static_cast<const char *>(merged.parts[i].iov_base),
                         merged.parts[i].iov_len);
        }
        auto *copy = static_cast<uint8_t *>(malloc(whole.size()));
        memcpy(copy, whole.data(), whole.size());
        recipe_segment made = {};
        ASSERT_EQ(recipe_segment_take(copy, whole.size(), &made), STATUS_ok);
        recipe_segment_add_uses(&made, &uses);
        ASSERT_EQ(uses.count, 1u);
        EXPECT_EQ(uses.uses[0].days, 3u);
        EXPECT_EQ(uses.uses[0].compile_us, foreign ? 0u : 1u);
        EXPECT_EQ(uses.uses[0].unsaved, !foreign);
        EXPECT_EQ(uses.uses[0].saved, !foreign);
        recipe_uses_free(&uses);
        recipe_segment_close(&made);
        recipe_merge_free(&merged);
    }
    recipe_segment_close(&segment);
}

TEST_F(RecipeCompact, WhatIsLargerThanAllElseIsNotWrittenAnew)
{
    write_pipeline(c);
    const std::string large = segments().at(0);
    const std::string content = read(large);
    // One that is small, for its code and all else lie in the large one already.
    for (uint32_t day = 20001; day < 20007; day++) {
        Batch batch;
        batch.use(c.form, sample_environment, day);
        write(batch);
        write_pipeline(a);
    }
    EXPECT_EQ(compact().counts.incomplete, 0u);
    EXPECT_EQ(segments().size(), 2u);
    EXPECT_EQ(read(large), content);
    Recipes recipes = open();
    EXPECT_TRUE(has(recipes, a));
    EXPECT_TRUE(has(recipes, c));
    EXPECT_EQ(use_of(recipes, c)->days, 7u);
    prune();
    EXPECT_EQ(segments().size(), 1u);
    EXPECT_TRUE(has(open(), c));
}

TEST_F(RecipeCompact, WhatStaysIsDamagedForItselfAlone)
{
    write_pipeline(c);
    std::string content = read(segments().at(0));
    const size_t form = content.find(c.form);
    content[form + 40] ^= 1;
    write_file(segments().at(0), content);
    for (int i = 0; i < 6; i++) {
        Batch batch;
        batch.use(c.form, sample_environment, 20001);
        write(batch);
        write_pipeline(a);
    }
    const recipe_compaction compaction = compact();
    EXPECT_EQ(compaction.counts.incomplete, 1u) << "its form is damaged";
    EXPECT_EQ(compaction.counts.damaged, 0u);
    EXPECT_TRUE(has(open(), a));
}

TEST_F(RecipeCompact, WhatItMakesIsNotMadeAgain)
{
    write_pipeline(a);
    write_pipeline(b);
    prune();
    const std::vector<std::string> once = segments();
    ASSERT_EQ(once.size(), 1u);
    const std::string content = read(once.at(0));
    prune();
    EXPECT_EQ(segments(), once);
    EXPECT_EQ(read(once.at(0)), content);
}

TEST_F(RecipeCompact, TheSegmentOfALivingProcessIsNotTouched)
{
    Holder holder([&] {
        // Lives as long as the process: locks belong to descriptors.
        auto *writer = new Writer(root);
        Batch batch;
        put_pipeline(batch, a);
        EXPECT_EQ(writer->append(batch), STATUS_ok);
    });
    const std::string living = segments().at(0);
    const std::string content = read(living);
    for (int i = 0; i < 6; i++) {
        write_pipeline(b);
    }
    compact();
    EXPECT_EQ(segments().size(), 2u);
    EXPECT_EQ(read(living), content);
    EXPECT_TRUE(has(open(), a));
    EXPECT_TRUE(has(open(), b));
    holder.end();
    prune();
    EXPECT_EQ(segments().size(), 1u);
    EXPECT_TRUE(has(open(), a));
}

TEST_F(RecipeCompact, NorIsThatOfALivingProcessOfAnotherMachine)
{
    Scratch disk;
    on_two_machines(disk.path("disk"), [&](const auto &one, const auto &two) {
        root = two;
        folder = two + "/app/recipes";
        for (int i = 0; i < 6; i++) {
            write_pipeline(b);
        }
        const timespec long_ago[] = {{time(nullptr) - 301, 0}, {time(nullptr) - 301, 0}};
        for (const std::string &path : segments()) {
            ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), long_ago, 0), 0);
        }
        Writer living(one);
        Batch batch;
        put_pipeline(batch, a);
        ASSERT_EQ(living.append(batch), STATUS_ok);
        compact();
        EXPECT_EQ(segments().size(), 2u);
        ASSERT_EQ(living.append(Batch().put(RECIPE_CODE, "more")), STATUS_ok);
        living.close(true);
        EXPECT_TRUE(has(open(), a));
        EXPECT_TRUE(has(open(), b));
        EXPECT_TRUE(has_all(open(), RECIPE_CODE, {"more"}));
    });
}

// What was compacted or imported has no owner, wherever it lies: it can be pruned and removed at
// once.
TEST_F(RecipeCompact, WhatItWritesIsNobodysOnFuseEither)
{
    Scratch disk;
    on_two_machines(disk.path("disk"), [&](const auto &one, const auto &) {
        root = one;
        folder = one + "/app/recipes";
        for (int i = 0; i < 6; i++) {
            write_pipeline(a);
        }
        compact();
        ASSERT_EQ(segments().size(), 1u);
        Recipes merged = open();
        for (int i = 0; i < 2; i++) { // whatever numbers are drawn
            prune(1);
            EXPECT_TRUE(segments().empty());
            write_pipeline(b);
            compact();
        }
    });
}

TEST_F(RecipeCompact, WhatALivingProcessRefersToIsKept)
{
    Batch objects;
    put_objects(objects, a);
    write(objects);
    Holder holder([&] {
        auto *writer = new Writer(root);
        Batch batch;
        batch.use(a.form, sample_environment, 20000);
        EXPECT_EQ(writer->append(batch), STATUS_ok);
    });
    prune(0, 30000);
    EXPECT_TRUE(has(open(), a));
    holder.end();
    prune(UINT64_MAX, 30000);
    open(STATUS_no_file);
    EXPECT_EQ(segments().size(), 0u);
}

TEST_F(RecipeCompact, ForeignAndNewerFilesStay)
{
    write_pipeline(a);
    const std::string name = segments().at(0);
    std::string newer = read(name);
    newer[8] = 2;
    struct bytes check = {};
    bytes_put_u64(&check, digest_of(newer.substr(0, 24)).low);
    newer.replace(24, 8, text_of(check));
    bytes_free(&check);
    const std::string newer_path = folder + "/00000000000000aa.wprecipes";
    const std::string foreign_path = folder + "/00000000000000bb.wprecipes";
    const std::string other_path = folder + "/notes.wprecipes";
    write_file(newer_path, newer);
    write_file(foreign_path, "something else altogether, longer than a header");
    write_file(other_path, newer);
    for (int i = 0; i < 5; i++) {
        write_pipeline(b);
    }
    compact();
    EXPECT_EQ(segments().size(), 4u);
    EXPECT_EQ(read(newer_path), newer);
    EXPECT_EQ(read(other_path), newer);
    EXPECT_TRUE(std::filesystem::exists(foreign_path));
    EXPECT_TRUE(has(open(), b));
}

// However many there are, foreign ones and those that others may write.
TEST_F(RecipeCompact, FilesThatCannotBeMergedTakeNoPlaces)
{
    write_pipeline(c);
    const std::string segment = read(segments().at(0));
    for (char first = 'a'; first <= 'f'; first++) {
        for (char second = 'a'; second <= 'f'; second++) {
            const std::string path =
                folder + "/" + std::string(14, '0') + first + second + ".wprecipes";
            write_file(path, second < 'c' ? std::string(40, '\0') : segment);
            chmod(path.c_str(), second < 'c' ? 0600 : 0666);
        }
    }
    for (uint32_t i = 0; i < 8; i++) {
        write_pipeline(Samples::pipeline(10 + i));
    }
    compact();
    EXPECT_LE(segments().size(), 36u + 2u);
    for (uint32_t i = 0; i < 8; i++) {
        EXPECT_TRUE(has(open(), Samples::pipeline(10 + i))) << i;
    }
    EXPECT_GT(prune(1).bytes_before, 0u);
    EXPECT_TRUE(lacks(open(), c));
}

TEST_F(RecipeCompact, DamageIsDroppedAndTheRestKept)
{
    write_pipeline(a);
    std::string file = read(segments().at(0));
    file[32 + 32 + 8] ^= 1; // the SPIR-V of a
    write_file(segments().at(0), file);
    write_pipeline(b);
    const recipe_compaction compaction = prune();
    EXPECT_EQ(compaction.counts.damaged, 1u);
    EXPECT_EQ(compaction.counts.incomplete, 1u);
    Recipes recipes = open();
    EXPECT_TRUE(has(recipes, b));
    EXPECT_TRUE(lacks(recipes, a)) << "or it would never be recorded again";
}

TEST_F(RecipeCompact, AnEmptyFileOfADeadProcessGoes)
{
    write_pipeline(a);
    write_file(folder + "/0123456789abcdef.wprecipes", "");
    prune();
    EXPECT_EQ(segments().size(), 1u);
    EXPECT_TRUE(has(open(), a));
}

TEST_F(RecipeCompact, OldUsesGoAndWhatOnlyTheyNeeded)
{
    write_pipeline(a, 19000);
    write_pipeline(b, 20000);
    const recipe_compaction dry = prune(UINT64_MAX, 19500, true);
    EXPECT_EQ(dry.counts.old_uses, 1u);
    EXPECT_TRUE(has(open(), a)) << "a dry run";
    const recipe_compaction compaction = prune(UINT64_MAX, 19500);
    EXPECT_EQ(compaction.bytes_after, dry.bytes_after);
    Recipes recipes = open();
    EXPECT_TRUE(has(recipes, b));
    EXPECT_TRUE(lacks(recipes, a));
}

TEST_F(RecipeCompact, WhatNothingRefersToGoes)
{
    Batch objects;
    put_objects(objects, a);
    write(objects);
    write_pipeline(b);
    prune();
    EXPECT_TRUE(has(open(), b));
    EXPECT_TRUE(lacks(open(), a));
}

TEST_F(RecipeCompact, TheLeastUsedGoFirst)
{
    write_pipeline(a, 20000, 5);
    write_pipeline(b, 20001, 2);
    write_pipeline(c, 20002, 1);
    const uint64_t all = prune().bytes_after;
    EXPECT_TRUE(has(open(), c));
    const recipe_compaction compaction = prune(all - 1);
    EXPECT_EQ(compaction.counts.too_many, 1u);
    EXPECT_LT(compaction.bytes_after, all - c.code.size());
    EXPECT_TRUE(has(open(), a));
    EXPECT_TRUE(has(open(), b));
    EXPECT_TRUE(lacks(open(), c));
    EXPECT_EQ(prune(compaction.bytes_after + 16).bytes_after, compaction.bytes_after)
        << "what it is thought to take is what it takes, but for padding";
    prune(compaction.bytes_after - 1);
    EXPECT_TRUE(has(open(), a));
    EXPECT_TRUE(lacks(open(), b));
}

TEST_F(RecipeCompact, OfThoseUsedAlikeTheLongestUnusedAndTheCheapestGoFirst)
{
    write_pipeline(a, 20000, 1, 100);
    write_pipeline(b, 20001, 1, 50);
    uint64_t all = prune().bytes_after;
    prune(all - 1);
    EXPECT_TRUE(has(open(), b));
    EXPECT_TRUE(lacks(open(), a));
    write_pipeline(a, 20001, 1, 100);
    all = prune().bytes_after;
    prune(all - 1);
    EXPECT_TRUE(has(open(), a));
    EXPECT_TRUE(lacks(open(), b));
}

TEST_F(RecipeCompact, AUseWithoutItsEnvironmentIsOfNoUse)
{
    Batch batch;
    batch.put(RECIPE_CODE, a.code).put(RECIPE_FORM, a.module).put(RECIPE_FORM, a.set_layout);
    batch.put(RECIPE_FORM, a.layout).put(RECIPE_FORM, a.form);
    write(batch.use(a.form, sample_environment, 20000));
    prune();
    EXPECT_EQ(segments().size(), 0u);
}

TEST_F(RecipeCompact, AReferenceToAnotherKindOfObjectIsNone)
{
    // The pipeline's layout is a set layout.
    SamplePipeline wrong = a;
    wrong.layout = a.set_layout;
    wrong.form = Samples::compute(wrong);
    write_pipeline(wrong);
    EXPECT_EQ(prune().counts.incomplete, 1u);
    EXPECT_EQ(segments().size(), 0u);
}

TEST_F(RecipeCompact, AUseOfWhatIsNoPipelineGoes)
{
    SamplePipeline wrong = a;
    wrong.form = a.layout;
    write_pipeline(wrong);
    EXPECT_EQ(prune().counts.incomplete, 1u);
    EXPECT_EQ(segments().size(), 0u);
}

TEST_F(RecipeCompact, LongChainsOfLibrariesAreRefused)
{
    std::vector<SamplePipeline> chain = {a};
    for (int i = 0; i < 40; i++) {
        const VkPipeline library = (VkPipeline)1;
        VkPipelineLibraryCreateInfoKHR libraries = {};
        libraries.sType = VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR;
        libraries.libraryCount = 1;
        libraries.pLibraries = &library;
        VkGraphicsPipelineCreateInfo info = {};
        info.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO;
        info.pNext = &libraries;
        info.flags = VK_PIPELINE_CREATE_LIBRARY_BIT_KHR;
        SamplePipeline next = a;
        next.form = Samples::encode(&info, {digest_of(chain.back().form)});
        chain.push_back(next);
    }
    Batch batch;
    for (const SamplePipeline &sample : chain) {
        put_pipeline(batch, sample);
    }
    write(batch);
    const recipe_compaction compaction = prune();
    // Below a pipeline there are its module and code, or layout and set layout.
    EXPECT_EQ(compaction.counts.pipelines, 14u);
    EXPECT_EQ(compaction.counts.incomplete, chain.size() - 14);
}

TEST_F(RecipeCompact, OneAtATime)
{
    for (int i = 0; i < 6; i++) {
        write_pipeline(a);
    }
    const int lock = ::open((folder + "/lock").c_str(), O_RDWR | O_CREAT, 0600);
    ASSERT_EQ(flock(lock, LOCK_EX), 0);
    EXPECT_EQ(recipe_compact(root.c_str(), "app", nullptr), STATUS_locked);
    EXPECT_EQ(segments().size(), 6u);
    close(lock);
    EXPECT_EQ(recipe_compact(root.c_str(), "app", nullptr), STATUS_ok);
    EXPECT_EQ(segments().size(), 1u);
    EXPECT_EQ(recipe_compact(root.c_str(), "none", nullptr), STATUS_no_file);
}

// A few at a time, so that it neither takes the program's descriptors nor all is lost at its end.
TEST_F(RecipeCompact, VeryManySegmentsTakeFewDescriptors)
{
    for (uint32_t i = 0; i < 150; i++) {
        write_pipeline(Samples::pipeline(i));
    }
    EXPECT_EQ(in_child([&] {
                  const rlimit limit = {60, 60};
                  setrlimit(RLIMIT_NOFILE, &limit);
                  compact();
              }),
              0);
    EXPECT_LE(segments().size(), 5u);
    Recipes recipes = open();
    for (uint32_t i = 0; i < 150; i++) {
        EXPECT_TRUE(has(recipes, Samples::pipeline(i))) << i;
    }
}

// What others refer to may lie in a segment that cannot be opened just now.
TEST_F(RecipeCompact, FewDescriptorsLoseNothing)
{
    for (rlim_t most = 4; most < 28; most++) {
        std::filesystem::remove_all(root);
        for (uint32_t i = 0; i < 8; i++) { // as a process that finds the objects recorded
            Batch objects;
            Batch use;
            put_objects(objects, Samples::pipeline(i));
            use.use(Samples::pipeline(i).form, sample_environment, 20000);
            write(objects);
            write(use);
        }
        EXPECT_EQ(in_child([&] {
                      const rlimit limit = {most, most};
                      ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
                      recipe_compact(root.c_str(), "app", nullptr);
                  }),
                  0);
        Recipes recipes = open();
        for (uint32_t i = 0; i < 8; i++) {
            EXPECT_TRUE(has(recipes, Samples::pipeline(i))) << most << " descriptors, " << i;
        }
    }
}

TEST_F(RecipeCompact, WhatIsLargeIsLeftAlone)
{
    write_pipeline(Samples::pipeline(0, 33 << 18));
    const std::string large = segments().at(0);
    ASSERT_GT(std::filesystem::file_size(large), 32u << 20);
    for (uint32_t i = 1; i < 6; i++) {
        write_pipeline(Samples::pipeline(i, 1 << 18));
    }
    EXPECT_LT(compact().bytes_before, 32u << 20);
    EXPECT_EQ(segments().size(), 2u);
    EXPECT_TRUE(std::filesystem::exists(large));
}

TEST_F(RecipeCompact, WhatCompactionsThatWereCutOffHaveLeftGoes)
{
    write_pipeline(a);
    const std::string left = segments().at(0) + ".0123456789abcdef.tmp";
    write_file(left, "half of a segment");
    compact();
    EXPECT_FALSE(std::filesystem::exists(left));
    EXPECT_EQ(segments().size(), 1u);
}

// What was listed may be gone when it is opened: it is then in a segment that was not listed.
TEST_F(RecipeCompact, ReadersFindAllWhileOthersCompact)
{
    write_pipeline(a);
    write_pipeline(b);
    Holder holder([&] {
        std::thread([&] {
            for (;;) {
                for (uint32_t i = 10; i < 16; i++) {
                    write_pipeline(Samples::pipeline(i));
                }
                recipe_compact(root.c_str(), "app", nullptr);
            }
        }).detach();
    });
    for (int i = 0; i < 300; i++) {
        Recipes recipes = open();
        ASSERT_TRUE(has(recipes, a)) << i;
        ASSERT_TRUE(has(recipes, b)) << i;
        ASSERT_EQ(damaged(recipes), 0u) << i;
    }
}

TEST_F(RecipeCompact, ReadersKeepWhatTheyHaveOpen)
{
    for (int i = 0; i < 6; i++) {
        write_pipeline(a);
    }
    Recipes before = open();
    compact();
    EXPECT_TRUE(has(before, a));
}

} // namespace
