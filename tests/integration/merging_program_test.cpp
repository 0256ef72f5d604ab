// SPDX-License-Identifier: Apache-2.0
// Chromium: each of its caches is merged into one of them as soon as something was compiled into
// it, its driver moves what is merged, and it is killed.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include "background.hpp"
#include "during.hpp"
#include "recipes.hpp"

namespace {

class MergingProgramTest : public BackgroundTest {
  protected:
    static constexpr size_t pipeline_size = 4096; // more than all headers

    void SetUp() override
    {
        BackgroundTest::SetUp();
        environment["WPTEST_ICD_MERGE_MOVES"] = "1";
        environment["WPTEST_ICD_COMPILE_US"] = "100000";
        environment["WPTEST_ICD_RECORD_BYTES"] = std::to_string(pipeline_size);
        set_policy("[held]\ncount-costs = no\n"); // a read that a test holds is no slow driver
    }

    // The worker begins to read a cache, and goes on when it is told to.
    class HeldRead {
      public:
        void wait_until_begun()
        {
            begun_.wait();
        }
        void go_on()
        {
            may_go_on_.raise();
        }

      private:
        const pid_t program_ = gettid();
        Signal begun_;
        Signal may_go_on_;
        DuringCalls hook_{[this](const char *command) {
            if (gettid() != program_ && std::string(command) == "vkGetPipelineCacheData") {
                begun_.raise();
                may_go_on_.wait();
            }
        }};
    };

    // Once its statistics show that the layer was there.
    static void die_when_told()
    {
        wait_for_flush();
        die();
    }

    // A cache with one pipeline, merged into the target.
    static void compile_and_merge(Program &owner, unsigned number, VkPipelineCache target)
    {
        const VkPipelineCache cache = owner.create_cache();
        owner.create_compute(number, number + 1, cache);
        EXPECT_EQ(vkMergePipelineCaches(owner.device, target, 1, &cache), VK_SUCCESS);
    }

    // Compiles one more; until a save holds so many.
    void compile_until_saved(Program &owner, unsigned number, size_t count) const
    {
        owner.create_compute(number, number + 1, owner.create_cache());
        wait_until_saved(count);
    }

    void wait_until_saved(size_t count) const
    {
        wait_until([&] {
            const std::vector<std::filesystem::path> files = cache_files();
            return !files.empty() && std::filesystem::file_size(files[0]) >= count * pipeline_size;
        });
    }
};

TEST_F(MergingProgramTest, WhatItMergesInItsFirstRunIsSaved)
{
    run(
        [&] {
            auto *owner = new Program;
            const VkPipelineCache target = owner->create_cache();
            owner->create_compute(20, 30);       // a second: copies are a small part of it
            compile_until_saved(*owner, 10, 11); // what a read takes is known from here on
            for (unsigned i = 0; i < 5; ++i) {
                compile_and_merge(*owner, i, target);
            }
            compile_until_saved(*owner, 11, 17);
            die_when_told();
        },
        {Layer::works, true, -SIGKILL});
    EXPECT_EQ(hits(0, 5), 5u);
}

// The worker has begun to read what is merged, and finds it empty.
TEST_F(MergingProgramTest, WhatItMergesDuringALookIsSaved)
{
    run(
        [&] {
            auto *owner = new Program;
            const VkPipelineCache target = owner->create_cache();
            const VkPipelineCache source = owner->create_cache();
            owner->create_compute(20, 30);
            compile_until_saved(*owner, 10, 11);
            HeldRead read;
            owner->create_compute(0, 1, source);
            read.wait_until_begun();
            EXPECT_EQ(vkMergePipelineCaches(owner->device, target, 1, &source), VK_SUCCESS);
            read.go_on();
            compile_until_saved(*owner, 11, 13);
            die_when_told();
        },
        {Layer::works, true, -SIGKILL});
    EXPECT_EQ(hits(0, 1), 1u);
}

// Before the first look nothing is copied: what was merged is in the target alone, as is what was
// compiled into that.
TEST_F(MergingProgramTest, WhatIsInItsTargetIsSaved)
{
    run(
        [&] {
            auto *owner = new Program;
            const VkPipelineCache target = owner->create_cache();
            for (unsigned i = 0; i < 5; ++i) {
                compile_and_merge(*owner, i, target);
            }
            owner->create_compute(5, 6, target);
            wait_until_saved(6);
            owner->create_compute(6, 7, target); // it is read more than once
            wait_until_saved(7);
            die_when_told();
        },
        {Layer::works, true, -SIGKILL});
    EXPECT_EQ(hits(0, 7), 7u);
}

// The next merge would wait for the read.
TEST_F(MergingProgramTest, ATargetIsNotReadWhereTheDriverIsSlow)
{
    environment["WPTEST_ICD_DATA_US"] = "5000";
    run(
        [&] {
            auto *owner = new Program;
            const VkPipelineCache target = owner->create_cache();
            compile_and_merge(*owner, 0, target);
            compile_until_saved(*owner, 10, 1);
            owner->create_compute(1, 2, target);
            compile_until_saved(*owner, 11, 2);
            die_when_told();
        },
        {Layer::works, true, -SIGKILL});
    const Outcome outcome = run([] {
        Program owner;
        owner.create_compute(10, 12);
        owner.create_compute(1, 2);
    });
    EXPECT_EQ(outcome.hits(), 2u) << "what was compiled into the target is lost";
}

// Questions for the size or the data of a cache take so long until the end of the block, the first
// ones or all.
class SlowReads {
  public:
    explicit SlowReads(unsigned us, unsigned first = ~0u)
        : hook_([this, us, first](const char *command) {
              if (std::string(command) == "vkGetPipelineCacheData" && count_++ < first) {
                  usleep(us);
              }
          })
    {
    }

    unsigned count() const
    {
        return count_;
    }

  private:
    std::atomic<unsigned> count_{0};
    DuringCalls hook_;
};

// A process's first read takes longer than what follows, and says nothing of the driver.
TEST_F(MergingProgramTest, WhatIsInItsTargetIsSavedThoughTheFirstReadTookLong)
{
    run(
        [&] {
            auto *owner = new Program;
            const VkPipelineCache target = owner->create_cache();
            const SlowReads slow(5000, 2);
            compile_and_merge(*owner, 0, target);
            wait_until_saved(1);
            EXPECT_GT(slow.count(), 2u);
            die_when_told();
        },
        {Layer::works, true, -SIGKILL});
    EXPECT_EQ(hits(0, 1), 1u);
}

// So does one that a busy machine holds up: the target is read again by itself.
TEST_F(MergingProgramTest, ATargetWhoseReadTookLongOnceIsReadAgain)
{
    run(
        [&] {
            auto *owner = new Program;
            const VkPipelineCache target = owner->create_cache();
            compile_and_merge(*owner, 0, target);
            compile_until_saved(*owner, 10, 2); // what a read takes is known from here on
            {
                const SlowReads slow(1600);
                owner->create_compute(1, 2, target);
                wait_until_saved(3);
            }
            owner->create_compute(2, 3, target);
            wait_until_saved(4);
            die_when_told();
        },
        {Layer::works, true, -SIGKILL});
    EXPECT_EQ(hits(0, 3), 3u);
}

// A merge would have waited too long for it: there is none before that is paid for, in half a
// minute.
TEST_F(MergingProgramTest, ATargetWhoseReadTookVeryLongIsLeftAlone)
{
    run(
        [&] {
            auto *owner = new Program;
            const VkPipelineCache target = owner->create_cache();
            compile_and_merge(*owner, 0, target);
            compile_until_saved(*owner, 10, 2); // what a read takes is known from here on
            {
                const SlowReads slow(50000);
                owner->create_compute(1, 2, target);
                wait_until_saved(3);
            }
            owner->create_compute(2, 3, target);
            owner->create_compute(12, 16); // the next look is to be paid for
            compile_until_saved(*owner, 11, 8);
            die_when_told();
        },
        {Layer::works, true, -SIGKILL});
    EXPECT_EQ(hits(2, 3), 0u);
    EXPECT_EQ(hits(10, 16), 6u);
}

// The program goes on merging while a look is under way: another look follows by itself.
TEST_F(MergingProgramTest, WhatIsMergedDuringALookIsReadByTheNext)
{
    run(
        [&] {
            auto *owner = new Program;
            const VkPipelineCache target = owner->create_cache();
            const VkPipelineCache source = owner->create_cache();
            compile_until_saved(*owner, 10, 1); // what a read takes is known from here on
            HeldRead read;
            owner->create_compute(0, 1, source);
            read.wait_until_begun();
            EXPECT_EQ(vkMergePipelineCaches(owner->device, target, 1, &source), VK_SUCCESS);
            read.go_on();
            wait_until_saved(2);
            die_when_told();
        },
        {Layer::works, true, -SIGKILL});
    EXPECT_EQ(hits(0, 1), 1u);
}

// Also where the program has created something meanwhile that calls for no look.
TEST_F(MergingProgramTest, WhatIsMergedBesideAHitIsReadByTheNext)
{
    run([] { Program().create_compute(20, 22); });
    run(
        [&] {
            auto *owner = new Program;
            const VkPipelineCache target = owner->create_cache();
            const VkPipelineCache source = owner->create_cache();
            owner->create_compute(20, 21);
            compile_until_saved(*owner, 10, 3); // what a read takes is known from here on
            HeldRead read;
            owner->create_compute(0, 1, source);
            read.wait_until_begun();
            EXPECT_EQ(vkMergePipelineCaches(owner->device, target, 1, &source), VK_SUCCESS);
            owner->create_compute(21, 22); // a hit
            read.go_on();
            wait_until_saved(4);
            die_when_told();
        },
        {Layer::works, true, -SIGKILL});
    EXPECT_EQ(hits(0, 1), 1u);
}

// The target is the program's alone; what was merged into it is copied, and the look that found the
// source emptied is followed by another.
TEST_F(MergingProgramTest, WhatIsMergedIntoKeptDataDuringALookIsSaved)
{
    const std::filesystem::path kept = folder() / "kept";
    run([&] {
        Program owner;
        const VkPipelineCache cache = owner.create_cache();
        owner.create_compute(50, 51, cache);
        write_bytes(kept, owner.cache_data(cache));
        owner.destroy_cache(cache);
    });
    run(
        [&] {
            auto *owner = new Program;
            const VkPipelineCache target = owner->create_cache(read_bytes(kept));
            const VkPipelineCache source = owner->create_cache();
            owner->create_compute(20, 30, owner->create_cache());
            compile_until_saved(*owner, 10, 12); // what a read takes is known from here on
            HeldRead read;
            owner->create_compute(0, 1, source);
            read.wait_until_begun();
            EXPECT_EQ(vkMergePipelineCaches(owner->device, target, 1, &source), VK_SUCCESS);
            read.go_on();
            wait_until_saved(13);
            die_when_told();
        },
        {Layer::works, true, -SIGKILL});
    EXPECT_EQ(hits(0, 1), 1u);
}

// What a look has left unread is no noise beside what the file holds.
TEST_F(MergingProgramTest, LittleThatWasNotReadIsSavedAtTheEnd)
{
    environment["WPTEST_ICD_COMPILE_US"] = "1000";
    environment["WPTEST_ICD_DATA_US"] = "5000";
    run([&] {
        Program owner;
        const VkPipelineCache target = owner.create_cache();
        const VkPipelineCache empty = owner.create_cache();
        const VkPipelineCache other = owner.create_cache();
        owner.create_compute(100, 400);
        wait_until_saved(300);
        EXPECT_EQ(vkMergePipelineCaches(owner.device, target, 1, &empty), VK_SUCCESS);
        owner.create_compute(0, 2, target);
        owner.create_compute(10, 11, other);
        wait_until_saved(301);
        owner.destroy_cache(empty);
        owner.destroy_cache(other);
        const pid_t program = gettid();
        Signal is_collected;
        DuringCalls hook{[&](const char *command) {
            if (gettid() != program && std::string(command) == "vkDestroyPipelineCache") {
                is_collected.raise();
            }
        }};
        owner.destroy_cache(target);
        is_collected.wait();
    });
    EXPECT_EQ(hits(0, 2), 2u);
}

// Only the driver's read is waited for, not what becomes of the data.
TEST_F(MergingProgramTest, AMergeDoesNotWaitForOurCaches)
{
    run(
        [&] {
            auto *owner = new Program;
            const VkPipelineCache target = owner->create_cache();
            const VkPipelineCache source = owner->create_cache();
            const pid_t program = gettid();
            Signal begun, merged;
            DuringCalls hook{[&](const char *command) {
                if (gettid() != program && std::string(command) == "vkCreatePipelineCache") {
                    begun.raise();
                    merged.wait();
                }
            }};
            owner->create_compute(0, 1, target);
            begun.wait();
            EXPECT_EQ(vkMergePipelineCaches(owner->device, target, 1, &source), VK_SUCCESS);
            merged.raise();
            wait_until_saved(1);
            die_when_told();
        },
        {Layer::works, true, -SIGKILL});
}

// Nobody reads there.
TEST_F(MergingProgramTest, AForkedChildDoesNotWaitForARead)
{
    run(
        [&] {
            auto *owner = new Program;
            const VkPipelineCache target = owner->create_cache();
            const VkPipelineCache source = owner->create_cache();
            HeldRead read;
            owner->create_compute(0, 1, target);
            read.wait_until_begun();
            const pid_t child = fork();
            if (child == 0) {
                alarm(20);
                _exit(vkMergePipelineCaches(owner->device, target, 1, &source) != VK_SUCCESS);
            }
            int status = -1;
            EXPECT_EQ(waitpid(child, &status, 0), child);
            EXPECT_EQ(status, 0);
            read.go_on();
            wait_until_saved(1);
            die_when_told();
        },
        {Layer::works, true, -SIGKILL});
}

// Looks that asked for the size alone have not told what a read takes, for which its merges would
// wait.
TEST_F(MergingProgramTest, NothingIsReadInItsMergesBeforeTheWorkerHasReadOnce)
{
    environment["WARMPIPE_APP_CACHE"] = "harvest";
    run([] { Program().create_compute(100, 103); });
    environment["WPTEST_ICD_NO_FEEDBACK"] = "1";
    run([] {
        static std::atomic<unsigned> looks{0}, reads_in_merges{0};
        static const pid_t program_thread = gettid();
        Program owner;
        const VkPipelineCache target = owner.create_cache();
        test_icd_on_call(
            [](const char *command, void *) {
                if (std::string(command) == "vkGetPipelineCacheData") {
                    ++(gettid() == program_thread ? reads_in_merges : looks);
                }
            },
            nullptr);
        for (unsigned i = 0; i < 2; ++i) { // hits, of which nobody is told
            owner.create_compute(100 + i, 101 + i);
            wait_until([&] { return looks > i; }); // the second one after the end of the first
        }
        const VkPipelineCache cache = owner.create_cache();
        owner.create_compute(0, 1, cache);
        EXPECT_EQ(vkMergePipelineCaches(owner.device, target, 1, &cache), VK_SUCCESS);
        test_icd_on_call(nullptr, nullptr);
        owner.destroy_cache(cache);
        owner.destroy_cache(target);
        EXPECT_EQ(reads_in_merges, 0u);
    });
}

TEST_F(MergingProgramTest, WhatNoSaveHasOfItIsCompiledAhead)
{
    environment["WPTEST_ICD_COMPILE_US"] = "1000"; // short on a busy machine as well
    environment["WPTEST_ICD_DATA_US"] = "5000";    // merges must not wait for reads
    run([&] {
        leak_from_here_on();
        auto *owner = new Program;
        const VkPipelineCache target = owner->create_cache();
        compile_and_merge(*owner, 0, target);
        owner->create_compute(1, 2, target);
        compile_until_saved(*owner, 10, 1);
    });
    environment["WARMPIPE_PREWARM"] = "auto";
    run([&] {
        Program owner;
        owner.create_compute(20, 21);
        wait_for_log("prewarmed "); // all but what a save may have
    });
    environment["WARMPIPE_PREWARM"] = "off";
    EXPECT_EQ(hits(0, 2), 2u);
}

// More caches are destroyed than wait for the worker, which is reading one.
TEST_F(MergingProgramTest, WhatDoesNotFitIsCompiledAhead)
{
    constexpr unsigned count = 70;
    environment["WPTEST_ICD_COMPILE_US"] = "1000"; // short on a busy machine as well
    run([&] {
        HeldRead read; // until the device has gone: the worker reads for as long
        Program owner;
        const VkPipelineCache first = owner.create_cache();
        owner.create_compute(100, 101, first);
        read.wait_until_begun();
        for (unsigned i = 0; i < count; ++i) {
            const VkPipelineCache cache = owner.create_cache();
            owner.create_compute(i, i + 1, cache);
            owner.destroy_cache(cache);
        }
        read.go_on();
        owner.destroy_cache(first);
    });
    environment["WARMPIPE_PREWARM"] = "auto";
    run([&] {
        Program owner;
        owner.create_compute(200, 201);
        wait_for_log("prewarmed ");
    });
    environment["WARMPIPE_PREWARM"] = "off";
    EXPECT_EQ(hits(0, count), count);
}

// The worker is reading one cache, and has taken note of what there is to read.
TEST_F(MergingProgramTest, WhatIsCompiledDuringALookIsSaved)
{
    run(
        [&] {
            auto *owner = new Program;
            const VkPipelineCache first = owner->create_cache();
            owner->create_compute(0, 1, first);
            HeldRead read;
            owner->create_compute(1, 2, first);
            read.wait_until_begun();
            owner->create_compute(2, 3, owner->create_cache());
            read.go_on();
            wait_until_saved(3);
            die_when_told();
        },
        {Layer::works, true, -SIGKILL});
    EXPECT_EQ(hits(0, 3), 3u);
}

class MergedRecipesTest : public RecipesTest {};

// Nothing of it is compiled ahead in the next start.
TEST_F(MergedRecipesTest, WhatIsSavedOutOfATargetIsKnownAsSaved)
{
    environment["WPTEST_ICD_MERGE_MOVES"] = "1";
    environment["WPTEST_ICD_COMPILE_US"] = "100000";
    run(
        [&] {
            auto *owner = new Program;
            const VkPipelineCache target = owner->create_cache();
            const VkPipelineCache source = owner->create_cache();
            owner->create_compute(0, 1, source);
            EXPECT_EQ(vkMergePipelineCaches(owner->device, target, 1, &source), VK_SUCCESS);
            const auto saved = [&] {
                const std::vector<Recipes::Use> uses = recipes().uses;
                return std::count_if(uses.begin(), uses.end(),
                                     [](const Recipes::Use &use) { return use.saved; });
            };
            // What is recorded behind a save is known as saved by the next.
            for (unsigned i = 1; i < 60 && saved() < 2; ++i) {
                owner->create_compute(i, i + 1, target);
            }
            EXPECT_GE(saved(), 2);
            die();
        },
        {Layer::works, true, -SIGKILL});
}

} // namespace
