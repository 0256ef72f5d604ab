// SPDX-License-Identifier: Apache-2.0
// A deferred operation compiles when it is joined, of which no call for pipelines tells. What the
// last look has seen was before that.
#include "background.hpp"
#include "things.hpp"

#include <csignal>

namespace {

class DeferredSavesTest : public BackgroundTest {
  protected:
    void SetUp() override
    {
        BackgroundTest::SetUp();
        environment["WARMPIPE_RECIPES"] = "off"; // else it is compiled ahead
    }

    static void create_and_join_behind_a_save(Program &owner)
    {
        Deferred deferred(owner);
        Batch batch(owner, Kind::ray_tracing_khr, {1, 2});
        EXPECT_EQ(batch.create(VK_NULL_HANDLE, nullptr, deferred.operation),
                  VK_OPERATION_DEFERRED_KHR);
        owner.create_compute(0, 1);
        wait_for_flush();
        EXPECT_EQ(deferred.join(), VK_SUCCESS);
    }

    size_t hits_when_asked_again()
    {
        return run([] {
                   Program owner;
                   owner.create(Kind::ray_tracing_khr, 1);
                   owner.create(Kind::ray_tracing_khr, 2);
               })
            .hits();
    }
};

TEST_F(DeferredSavesTest, WhatIsJoinedBehindASaveIsSavedAtTheEnd)
{
    run([] {
        Program owner;
        create_and_join_behind_a_save(owner);
    });
    EXPECT_EQ(hits_when_asked_again(), 2u);
}

TEST_F(DeferredSavesTest, AndInTheBackground)
{
    run(
        [] {
            auto *owner = new Program;
            create_and_join_behind_a_save(*owner);
            wait_for_flushes(2);
            die();
        },
        {Layer::works, true, -SIGKILL});
    EXPECT_EQ(hits_when_asked_again(), 2u);
}

// Where our threads must not call the driver, the thread that joins looks itself.
TEST_F(DeferredSavesTest, AndWhereTheProgramIsCalledBack)
{
    environment["WPTEST_ICD_COMPILE_US"] = "100000"; // pays for a look on a busy machine
    run(
        [&] {
            auto *owner = new Program(with_messenger());
            Deferred deferred(*owner);
            Batch batch(*owner, Kind::ray_tracing_khr, {1, 2});
            EXPECT_EQ(batch.create(VK_NULL_HANDLE, nullptr, deferred.operation),
                      VK_OPERATION_DEFERRED_KHR);
            EXPECT_EQ(deferred.join(), VK_SUCCESS);
            wait_until([&] { // a flush may tell of less
                const auto files = cache_files();
                return !files.empty() && std::filesystem::file_size(files[0]) >= 960 + 56 + 2 * 64;
            });
            wait_for_flush();
            die();
        },
        {Layer::works, true, -SIGKILL});
    EXPECT_EQ(hits_when_asked_again(), 2u);
}

} // namespace
