// SPDX-License-Identifier: Apache-2.0
// What takes long to compile is not compiled ahead in a program, whatever its end.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <unistd.h>

#include "during.hpp"
#include "long_calls.hpp"

namespace {

class LongCompilesTest : public LongCallsTest {
  protected:
    // Leaves recipes of five pipelines; then the driver is updated.
    void SetUp() override
    {
        RecipesTest::SetUp();
        run([] { Program().create_compute(0, 5); });
        update_driver();
        environment.erase("WARMPIPE_PREWARM");
        environment["WARMPIPE_LOG"] = "info:" + log().string();
    }

    static uint64_t asked()
    {
        return test_icd_calls("vkCreateComputePipelines");
    }

    static void destroy_and_tell(Program &program)
    {
        const auto start = std::chrono::steady_clock::now();
        program.destroy_device();
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        printf("vkDestroyDevice took %.3f s\n", took.count());
        fflush(stdout);
    }

    void expect_one_left_out()
    {
        remove_caches();
        std::filesystem::remove(log());
        const Outcome outcome = run([&] {
            Program program;
            wait_until([&] { return logged("prewarmed "); });
        });
        EXPECT_TRUE(logged("prewarmed 4 of 4 ")) << read_text(log());
        EXPECT_EQ(outcome.pipelines().size(), 4u);
        for (const auto &file : std::filesystem::recursive_directory_iterator(cache_root())) {
            EXPECT_TRUE(file.path().extension() != ".crashed" || file.file_size() == 40)
                << "a slow one has crashed nothing: there is a death, and the place of no pipeline";
        }
    }

    bool has_file(const char *extension) const
    {
        for (const auto &file : std::filesystem::recursive_directory_iterator(cache_root())) {
            if (file.path().extension() == extension) {
                return true;
            }
        }
        return false;
    }

    // How many recorded uses took long.
    size_t longs() const
    {
        size_t count = 0;
        for (const Recipes::Use &use : recipes().uses) {
            count += use.compile_us >= 250000;
        }
        return count;
    }
};

// The first compile of the process takes long: by hand, as long as one likes.
void be_slow_once()
{
    static std::atomic<int> begun{0};
    begun = 0;
    test_icd_on_compile(
        [](void *) {
            if (begun++ == 0) {
                const char *us = std::getenv("WARMPIPE_LONG_COMPILE_US");
                usleep(us ? static_cast<unsigned>(std::strtoul(us, nullptr, 10)) : long_us);
            }
        },
        nullptr);
}

TEST_F(LongCompilesTest, OneIsNotBegunAgain)
{
    if (const char *us = std::getenv("WARMPIPE_LONG_COMPILE_US")) {
        environment["WARMPIPE_LONG_COMPILE_US"] = us;
    }
    const Outcome first = run([] {
        be_slow_once();
        Program program;
        wait_until([] { return asked() >= 1; });
        destroy_and_tell(program); // waits for it: a device cannot go while a call is in it
        EXPECT_LE(asked(), 64u);
    });
    EXPECT_EQ(longs(), 1u);
    expect_one_left_out();
    printf("%s", first.output.c_str());
}

// The first compile of the process never ends.
void hang_once()
{
    static std::atomic<int> begun{0};
    test_icd_on_compile(
        [](void *) {
            if (begun++ == 0) {
                for (;;) {
                    pause();
                }
            }
        },
        nullptr);
}

// It is recorded while it goes on, and from then on no crash.
TEST_F(LongCompilesTest, NorOneThatTheProcessWasKilledFor)
{
    run(
        [&] {
            hang_once();
            Program program;
            wait_until([&] { return longs() >= 1; });
            raise(SIGKILL);
        },
        {Layer::any, true, -SIGKILL});
    EXPECT_EQ(longs(), 1u);
    expect_one_left_out();
}

// Some take long, and then kill: that costs two starts, as what kills at once does.
TEST_F(LongCompilesTest, ThoseThatKillInTheEndCostTwoStartsAtMost)
{
    for (size_t starts = 1; starts <= 2; ++starts) {
        run(
            [&] {
                hang_once();
                Program program;
                wait_until([&] { return longs() >= starts; });
                raise(SIGKILL);
            },
            {Layer::any, true, -SIGKILL});
    }
    run([&] {
        Program program;
        wait_until([&] { return logged("prewarm_died"); });
        EXPECT_EQ(asked(), 0u);
    });
}

TEST_F(LongCompilesTest, NorOneThatTheProcessEndedIn)
{
    run([&] {
        leak_from_here_on();
        hang_once();
        new Program;
        wait_until([] { return asked() >= 1; });
        usleep(long_us); // else it has not taken long yet
        std::exit(0);
    });
    EXPECT_EQ(longs(), 1u);
    expect_one_left_out();
}

// Nor does it count as a death where it is known to take long, and has its mark for that.
TEST_F(LongCompilesTest, ProcessesThatEndInOneAreNoDeaths)
{
    for (size_t starts = 1; starts <= 2; ++starts) {
        run(
            [&] {
                leak_from_here_on();
                hang_once();
                new Program;
                wait_until([&] { return longs() >= starts; });
                std::exit(0); // whose wait for the disk may be over before the statistics
            },
            {Layer::any});
    }
    run([&] {
        Program program;
        wait_until([&] { return logged("prewarmed ") || logged("prewarm_died"); });
    });
    EXPECT_FALSE(logged("prewarm_died"));
    EXPECT_FALSE(has_file(".crashed"));
}

// Where nothing may be written nothing is recorded, and the process goes on.
TEST_F(LongCompilesTest, OneIsNotRecordedWhereNothingMayBeWritten)
{
    environment["WARMPIPE_READONLY"] = "1";
    run([this] {
        be_slow_once();
        Program program;
        wait_until([&] { return logged("prewarmed "); });
    });
    EXPECT_EQ(longs(), 0u);
}

// A time that is not known is estimated by the size of the code. A run finds recipes of pipelines
// whose code is this much longer than need be.
class UnknownTimesTest : public LongCompilesTest {
  protected:
    void SetUp() override
    {
#ifdef WARMPIPE_SANITIZED
        GTEST_SKIP() << "under a sanitizer a hit takes as long as a compile";
#endif
        LongCompilesTest::SetUp();
    }

    Outcome find(const std::vector<size_t> &nops)
    {
        std::filesystem::remove_all(cache_root());
        environment["WARMPIPE_PREWARM"] = "off";
        environment.erase("WPTEST_ICD_DRIVER_VERSION");
        const auto program = [&] {
            Program owner;
            for (size_t count : nops) {
                create(owner, count);
            }
        };
        run(program);
        record_hits(program);
        EXPECT_EQ(recipes().uses.size(), nops.size());
        update_driver();
        environment.erase("WARMPIPE_PREWARM");
        return run([&] {
            Program owner;
            wait_until([&] { return logged("prewarmed "); });
            destroy_and_tell(owner);
        });
    }

  private:
    static void create(Program &program, size_t nops)
    {
        std::vector<uint32_t> code = shader_code(Kind::compute, 7);
        code.insert(code.end(), nops, 1u << 16); // OpNop
        VkShaderModuleCreateInfo info = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
        info.codeSize = code.size() * sizeof code[0];
        info.pCode = code.data();
        VkShaderModule module = VK_NULL_HANDLE;
        EXPECT_EQ(vkCreateShaderModule(program.device, &info, nullptr, &module), VK_SUCCESS);
        Batch batch(program, Kind::compute, {7});
        batch.stage(0).module = module;
        EXPECT_EQ(batch.create(), VK_SUCCESS);
        vkDestroyShaderModule(program.device, module, nullptr);
    }
};

TEST_F(UnknownTimesTest, WhatIsLargeIsNotBegun)
{
    const Outcome outcome = find({4096, 0});
    EXPECT_TRUE(logged("prewarmed 1 of 2 ")) << read_text(log());
    EXPECT_EQ(outcome.pipelines().size(), 1u);
}

// Where one of half the size has just shown what the driver takes.
TEST_F(UnknownTimesTest, WhatIsLargeFollowsWhatIsSmaller)
{
    const Outcome outcome = find({3072, 1536});
    EXPECT_TRUE(logged("prewarmed 2 of 2 ")) << read_text(log());
    EXPECT_EQ(outcome.pipelines().size(), 2u);
}

} // namespace
