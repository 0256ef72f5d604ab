// SPDX-License-Identifier: Apache-2.0
// Recipes where memory runs out or the disk fails, at each allocation and each system call in turn:
// an answer, never a crash, and nothing that was on disk is lost.
#include <cerrno>

#include "faults.h"
#include "recipe_samples.h"

extern "C" {
#include "common/recipes/merge.h"
}

namespace {

class RecipeFaults : public RecipesTest {
  protected:
    const SamplePipeline a = Samples::pipeline(1);
    const SamplePipeline b = Samples::pipeline(2);

    void write_pipeline(const SamplePipeline &sample, uint64_t small = 0)
    {
        Batch batch;
        put_pipeline(batch, sample, 20000, 1, 100);
        Writer writer(root, 1 << 30, small);
        ASSERT_EQ(writer.append(batch), STATUS_ok);
        writer.close();
    }

    // Six segments, with and without an index.
    void write_many()
    {
        for (int i = 0; i < 6; i++) {
            write_pipeline(i % 2 ? a : b, i < 3 ? 0 : UINT64_MAX);
        }
    }

    void remove_all()
    {
        std::filesystem::remove_all(root);
    }

    void expect_whole(const char *fault, int call)
    {
        Recipes recipes = open();
        ASSERT_TRUE(recipes) << fault << " " << call;
        for (const SamplePipeline *sample : {&a, &b}) {
            EXPECT_TRUE(has_all(recipes, RECIPE_CODE, {sample->code})) << fault << " " << call;
            EXPECT_TRUE(has_all(recipes, RECIPE_FORM, {sample->form, sample->layout}))
                << fault << " " << call;
        }
        EXPECT_EQ(damaged(recipes), 0u) << fault << " " << call;
    }

    // Runs `work` with each fault, each time on what `prepare` has left.
    template <typename Prepare, typename Work> void with_each_fault(Prepare prepare, Work work)
    {
        bool failed = true;
        for (int call = 0; failed; call++) {
            remove_all();
            prepare();
            {
                Starve starve(call);
                work();
                failed = starve.has_failed();
            }
            expect_whole("allocation", call);
        }
        for (int error : {EIO, ENOSPC, EINTR}) {
            for (int call = 0;; call++) {
                remove_all();
                prepare();
                {
                    Arm arm(call, error, error == ENOSPC);
                    work();
                }
                expect_whole(std::strerror(error), call);
                if (faults.calls <= call) {
                    break;
                }
            }
        }
    }
};

TEST_F(RecipeFaults, Compaction)
{
    with_each_fault([&] { write_many(); }, [&] { recipe_compact(root.c_str(), "app", nullptr); });
}

// AppArmor without `k`.
TEST_F(RecipeFaults, LocksThatAreForbidden)
{
    {
        Arm arm(0, EACCES, true, "flock");
        write_many();
    }
    expect_whole("flock", 0);
}

TEST_F(RecipeFaults, Pruning)
{
    with_each_fault([&] { write_many(); },
                    [&] {
                        recipe_merge_limits limits = {};
                        limits.max_size = UINT64_MAX;
                        limits.oldest_day = 10000;
                        recipe_prune(root.c_str(), "app", &limits, false, nullptr);
                    });
}

// One process has recorded the objects, others find them recorded and have only used them.
TEST_F(RecipeFaults, WhatOthersReferTo)
{
    with_each_fault(
        [&] {
            Batch objects;
            put_objects(objects, a);
            put_objects(objects, b);
            write(objects);
            for (uint32_t day = 20000; day < 20006; day++) {
                Batch use;
                use.use(a.form, sample_environment, day);
                use.use(b.form, sample_environment, day);
                write(use);
            }
        },
        [&] {
            recipe_merge_limits limits = {};
            limits.max_size = UINT64_MAX;
            recipe_prune(root.c_str(), "app", &limits, false, nullptr);
        });
}

TEST_F(RecipeFaults, Reading)
{
    for (recipes_access way : {RECIPES_READ, RECIPES_MAP}) {
        with_each_fault([&] { write_many(); },
                        [&] {
                            recipes *found = nullptr;
                            const void *data;
                            size_t size;
                            const recipe_use *uses;
                            if (recipes_open(root.c_str(), "app", way, &found) == STATUS_ok) {
                                recipes_find(found, RECIPE_CODE, digest_of(a.code), &data, &size);
                                recipes_find(found, RECIPE_FORM, digest_of(b.form), &data, &size);
                                recipes_uses(found, &uses);
                                recipes_damage(found);
                                recipes_detach(found);
                                recipes_have(found, RECIPE_FORM, digest_of(a.form));
                                recipes_close(found);
                            }
                        });
    }
}

// Whoever took the part that it got for all of it would record the rest again, or say that nothing
// is left to compile.
TEST_F(RecipeFaults, AListingThatFailsIsNoListing)
{
    write_pipeline(a);
    write_pipeline(b);
    const int all = 5; // with both folders that each folder lists, and the end
    for (int failing = 0; failing < all; failing++) {
        Arm arm(failing, EIO, false, "readdir");
        EXPECT_FALSE(open(STATUS_io_error)) << failing;
    }
}

TEST_F(RecipeFaults, UsesThatLackAreTold)
{
    with_each_fault(
        [&] {
            write_pipeline(a);
            write_pipeline(b);
        },
        [&] {
            recipes *found = nullptr;
            const recipe_use *uses;
            if (recipes_open(root.c_str(), "app", RECIPES_READ, &found) == STATUS_ok) {
                const size_t count = recipes_uses(found, &uses);
                EXPECT_TRUE(count == 2 || recipes_damage(found).reason != STATUS_ok) << count;
                recipes_close(found);
            }
        });
}

// A segment that is too large to be held in memory is read record by record.
TEST_F(RecipeFaults, ReadingALargeSegment)
{
    const SamplePipeline large = Samples::pipeline(3, 100000);
    with_each_fault(
        [&] {
            write_pipeline(a, UINT64_MAX);
            Batch batch;
            put_pipeline(batch, large, 20000, 1, 100);
            put_pipeline(batch, b, 20000, 1, 100);
            write(batch);
        },
        [&] {
            recipes *found = nullptr;
            const void *data;
            size_t size;
            if (recipes_open(root.c_str(), "app", RECIPES_READ, &found) == STATUS_ok) {
                recipes_find(found, RECIPE_CODE, digest_of(large.code), &data, &size);
                recipes_find(found, RECIPE_FORM, digest_of(large.form), &data, &size);
                recipes_damage(found);
                recipes_close(found);
            }
        });
}

TEST_F(RecipeFaults, Writing)
{
    for (uint64_t small : {uint64_t{0}, UINT64_MAX}) {
        with_each_fault(
            [&] {
                write_pipeline(a, small);
                write_pipeline(b, small);
            },
            [&] {
                recipe_writer *writer = recipe_writer_new(root.c_str(), "app", 1 << 30, small);
                if (writer) {
                    Batch batch;
                    batch.put(RECIPE_FORM, "some form").use("some form", "environment", 20000);
                    recipe_writer_append(writer, &batch.bytes);
                    recipe_writer_append(writer, &batch.bytes);
                    recipe_writer_close(writer, true);
                }
            });
    }
}

// Somebody may have compacted the folder when what is listed is gone; not each time anew.
TEST_F(RecipeFaults, ASegmentThatIsListedAndNeverFoundIsPassedOver)
{
    write_pipeline(a);
    const std::string lost = segments().at(0);
    write_pipeline(b);
    Arm arm(-1, 0);
    faults.gone = std::filesystem::path(lost).filename();
    Recipes recipes = open();
    EXPECT_EQ(find(recipes, RECIPE_FORM, b.form), b.form);
    EXPECT_EQ(find(recipes, RECIPE_FORM, a.form), std::nullopt);
    EXPECT_EQ(faults.gone_calls, 2);
}

// On Btrfs a listing has nothing that was created since it began: where others compact the folder
// meanwhile, it may have nothing at all.
TEST_F(RecipeFaults, ASegmentThatIsNotListedInTheMidstOfChangesIsFound)
{
    write_pipeline(a);
    const std::string first = segments().at(0);
    for (const bool others : {false, true}) {
        Arm arm(-1, 0);
        faults.unlisted = std::filesystem::path(first).filename();
        faults.listing_s = 60; // of a slow disk
        Recipes recipes = open();
        EXPECT_EQ(find(recipes, RECIPE_FORM, a.form), a.form);
        EXPECT_TRUE(faults.unlisted.empty());
        if (!others) {
            write_pipeline(b);
        }
    }
}

TEST_F(RecipeFaults, Importing)
{
    const std::string file = scratch.path("file");
    write_pipeline(a);
    std::filesystem::copy(segments().at(0), file);
    with_each_fault([&] { write_many(); },
                    [&] {
                        recipe_segment segment = {};
                        if (recipe_segment_read_any(file.c_str(), &segment) != STATUS_ok) {
                            return;
                        }
                        const recipe_merge_input input = {&segment, false};
                        recipe_merge_limits limits = {};
                        limits.max_size = UINT64_MAX;
                        recipe_merged merged = {};
                        if (recipe_merge(&input, 1, &limits, &merged) == STATUS_ok) {
                            recipe_add(root.c_str(), "app", &merged);
                            recipe_merge_free(&merged);
                        }
                        recipe_segment_close(&segment);
                    });
}

// The list of pipelines that crashed a driver, three of them from dead processes.
TEST_F(RecipeFaults, Crashes)
{
    const digest identity = digest_of(std::string("identity"));
    const std::vector<std::string> names = {"third", "first", "second"};
    const auto is_known = [&](const std::string &name) {
        recipe_crashes *crashes = nullptr;
        EXPECT_EQ(recipe_crashes_open(root.c_str(), "app", identity, 1, &crashes), STATUS_ok);
        const bool known = crashes && recipe_crashes_have(crashes, digest_of(name));
        recipe_crashes_close(crashes);
        return known;
    };

    with_each_fault(
        [&] {
            write_pipeline(a);
            write_pipeline(b);
            for (const std::string &name : names) {
                EXPECT_EQ(in_child([&] {
                              recipe_crashes *crashes = nullptr;
                              recipe_crashes_open(root.c_str(), "app", identity, 1, &crashes);
                              recipe_crashes_begin(crashes, 0, digest_of(name));
                              _exit(7);
                          }),
                          7);
            }
        },
        [&] {
            recipe_crashes *crashes = nullptr;
            if (recipe_crashes_open(root.c_str(), "app", identity, 2, &crashes) == STATUS_ok) {
                if (recipe_crashes_begin(crashes, 1, digest_of(std::string("survived")))) {
                    recipe_crashes_end(crashes, 1);
                }
                recipe_crashes_close(crashes);
            }
        });
    for (const std::string &name : names) {
        EXPECT_TRUE(is_known(name)) << name;
    }
    recipe_crashes_close(nullptr);
}

} // namespace
