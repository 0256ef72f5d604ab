// SPDX-License-Identifier: Apache-2.0
// Compiling ahead: what, when, and when not.
#include <atomic>
#include <csignal>
#include <string_view>
#include <sys/resource.h>

#include "during.hpp"
#include "prewarm.hpp"

namespace {

TEST_F(PrewarmTest, TheProgramFindsAllOfIt)
{
    const Outcome outcome = slow_start(5);
    EXPECT_EQ(prewarmed(outcome), 5);
    EXPECT_EQ(outcome.stats_of()["pipelines"]["driver_hits"], 5);
    EXPECT_EQ(outcome.stats_of()["pipelines"]["driver_misses"], 0);
    EXPECT_EQ(outcome.stats_of()["pipelines"]["requested"], 5) << "the program's own alone";
}

// The program waits for the load, which must not have the low priority of what compiles ahead.
TEST_F(PrewarmTest, TheWorkerThatLoadsHasThePriorityOfTheProgram)
{
    run([] {
        constexpr int none = 99;
        std::atomic<int> niceness{none};
        const DuringCalls during([&](const char *command) {
            if (std::string_view(command) == "vkCreatePipelineCache" && niceness == none) {
                niceness = getpriority(PRIO_PROCESS, 0);
            }
        });
        const int ours = getpriority(PRIO_PROCESS, 0);
        Program program;
        wait_until([&] { return niceness != none; });
        EXPECT_EQ(niceness, ours);
    });
}

// A program's thread of real-time priority would wait for the whole of each compile.
TEST_F(PrewarmTest, HasNoRealTimePriorityOfTheThreadThatMakesTheDevice)
{
    const auto become_real_time = [] {
        const sched_param one = {1};
        return sched_setscheduler(0, SCHED_FIFO, &one) == 0;
    };
    bool is_allowed = false;
    std::thread([&] { is_allowed = become_real_time(); }).join();
    if (!is_allowed) {
        GTEST_SKIP() << "no right to it";
    }
    run([&] {
        static std::atomic<int> policy;
        policy = -1;
        test_icd_on_compile([](void *) { policy = sched_getscheduler(0); }, nullptr);
        std::unique_ptr<Program> program;
        std::thread([&] {
            become_real_time();
            program = std::make_unique<Program>();
        }).join();
        wait_until([] { return policy >= 0; });
        EXPECT_EQ(policy, SCHED_OTHER);
    });
}

// Recipes in a container's image.
TEST_F(PrewarmTest, RecipesThatMayOnlyBeReadAreCompiledAheadAndNothingIsWritten)
{
    environment["WARMPIPE_READONLY"] = "1";
    const auto before = segments();
    for (int start = 0; start < 2; ++start) {
        const Outcome outcome = slow_start(5);
        EXPECT_EQ(prewarmed(outcome), 5);
        EXPECT_EQ(outcome.stats_of()["pipelines"]["driver_hits"], 5);
    }
    EXPECT_EQ(segments(), before);
    for (const auto &entry : std::filesystem::recursive_directory_iterator(cache_root())) {
        EXPECT_EQ(entry.path().string().find(".replaying"), std::string::npos) << entry.path();
        EXPECT_EQ(entry.path().string().find(".crashed"), std::string::npos) << entry.path();
    }
}

TEST_F(PrewarmTest, WhatWasCompiledIsSavedThoughTheProgramAsksForNothing)
{
    const Outcome outcome = run([] {
        Program program;
        wait_until([] { return asked() >= 5; });
    });
    EXPECT_GT(outcome.stats_of()["cache"]["saved_bytes"], 0);
    environment["WARMPIPE_PREWARM"] = "off";
    EXPECT_EQ(run([] { Program().create_compute(0, 5); }).hits(), 5u);
}

TEST_F(PrewarmTest, NotWhereThereIsABlob)
{
    slow_start(5);
    expect_nothing_begun();
}

// Which is found out at the first pipeline; the rest is compiled ahead.
TEST_F(PrewarmTest, WhereTheBlobIsDamaged)
{
    slow_start(5);
    for (const std::filesystem::path &file : cache_files()) {
        std::vector<uint8_t> bytes = read_bytes(file);
        bytes.back() ^= 1;
        write_bytes(file, bytes);
    }
    const std::string log = folder() / "log";
    environment["WARMPIPE_LOG"] = "info:" + log;
    const Outcome outcome = run([&] {
        Program program;
        EXPECT_EQ(asked(), 0u);
        program.create_compute(0, 1);
        wait_until([&] { return read_text(log).find("prewarmed ") != std::string::npos; });
        program.create_compute(1, 5);
    });
    EXPECT_EQ(outcome.stats_of()["cache"]["state"], "rejected");
    // Where a sanitizer has a thread of its own, the worker loads before the program creates.
    EXPECT_GE(prewarmed(outcome), 4) << "and one that the program may have compiled first";
    EXPECT_EQ(outcome.stats_of()["pipelines"]["driver_hits"], prewarmed(outcome));
    expect_nothing_begun();
}

// On a start after a crash nothing is done that the program would not do.
TEST_F(PrewarmTest, NotWhereAProcessDiedOfTheBlob)
{
    slow_start(5);
    die_of_the_blob();
    environment["WARMPIPE_LOG"] = "info";
    const Outcome outcome = run([] { Program().create_compute(0, 5); });
    EXPECT_EQ(outcome.stats_of()["cache"]["reason"], "suspect");
    EXPECT_EQ(outcome.errors.find("prewarm"), std::string::npos) << outcome.errors;
}

// Nor where recipes were imported beside it, or an earlier start did not come to their end.
TEST_F(PrewarmTest, NotWhereAProcessDiedOfABlobThatIsUnfinished)
{
    slow_start(5);
    die_of_the_blob();
    const std::string text = "unfinished\n";
    for (std::filesystem::path note : cache_files()) { // that of the old driver, too
        note.replace_extension(".wanted");
        write_bytes(note, std::vector<uint8_t>(text.begin(), text.end()));
    }
    const Outcome outcome = run([] {
        Program waits;
        waits.create_compute(0, 1);
        usleep(300000); // longer than it takes to compile the others
    });
    EXPECT_EQ(outcome.stats_of()["cache"]["reason"], "suspect");
    EXPECT_EQ(outcome.stats_of()["pipelines"]["prewarmed"], 0);
}

TEST_F(PrewarmTest, OnAlsoWhereThereIsABlob)
{
    environment["WARMPIPE_PREWARM"] = "off";
    run([] { Program().create_compute(0, 2); });
    environment["WARMPIPE_PREWARM"] = "on";
    const Outcome outcome = slow_start(5);
    EXPECT_EQ(prewarmed(outcome), 3) << "what is not in it";
}

TEST_F(PrewarmTest, NotWhenItIsOff)
{
    environment["WARMPIPE_PREWARM"] = "off";
    expect_nothing_begun();
}

TEST_F(PrewarmTest, FeedbackOfOursHasRoomForEveryStage)
{
    environment["WPTEST_ICD_OLD_FEEDBACK"] = "1";
    EXPECT_EQ(prewarmed(slow_start(5)), 5);
}

// Without feedback nobody knows whether what is created ahead was in the cache: some bytes of the
// driver's stack are no reason for another save.
TEST_F(PrewarmTest, WithoutFeedbackTheCacheIsAsked)
{
    ProgramOptions options;
    options.api = VK_API_VERSION_1_0;
    environment["WARMPIPE_PREWARM"] = "on";
    environment["WPTEST_ICD_RECORD_BYTES"] = "2000";
    environment["WPTEST_ICD_GARBAGE"] = "1";
    run([&] { Program(options).create_compute(0, 5); });
    environment["WPTEST_ICD_GARBAGE"] = "257";
    EXPECT_EQ(slow_start(5, options).stats_of()["cache"]["saved_bytes"], 0);
}

// Recipes that came with the program, or a new GPU: there is nothing of this device.
TEST_F(PrewarmTest, OnANewDeviceThoseOfAnotherOne)
{
    environment["WPTEST_ICD_DEVICE_ID"] = "77";
    EXPECT_EQ(prewarmed(slow_start(5)), 5);
}

TEST_F(PrewarmTest, NotThoseOfAnotherDeviceWhereThereAreSomeOfThisOne)
{
    environment["WPTEST_ICD_DEVICE_ID"] = "77";
    environment["WARMPIPE_PREWARM"] = "off";
    run([] { Program().create_compute(5, 6); });
    ASSERT_EQ(recipes().uses.size(), 6u);
    environment.erase("WARMPIPE_PREWARM");
    environment["WPTEST_ICD_DRIVER_VERSION"] = "4712";
    const std::string log = (folder() / "log").string();
    environment["WARMPIPE_LOG"] = "info:" + log;
    run([&] {
        Program program;
        wait_until([&] { return read_text(log).find("prewarmed ") != std::string::npos; });
    });
    EXPECT_NE(read_text(log).find("prewarmed 1 of 1"), std::string::npos) << read_text(log);
}

TEST_F(PrewarmTest, NotForADriverThatMustBeCalledAloneOrKeepsNothing)
{
    const std::string policy = folder() / "policy";
    environment["WARMPIPE_POLICY"] = policy;
    for (const char *rule : {"serialize = yes", "inject = no", "persist = no"}) {
        const std::string document = std::string("[test]\n") + rule + "\n";
        write_bytes(policy, {document.begin(), document.end()});
        SCOPED_TRACE(rule);
        expect_nothing_begun();
        remove_caches();
    }
}

// A recipe needs what was enabled when it was made.
TEST_F(PrewarmTest, NotWhereSomethingIsNotEnabledThatWas)
{
    VkPhysicalDeviceScalarBlockLayoutFeatures features = {
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SCALAR_BLOCK_LAYOUT_FEATURES};
    features.scalarBlockLayout = VK_TRUE;
    ProgramOptions more;
    more.features = &features;
    EXPECT_EQ(prewarmed(slow_start(5, more)), 5) << "more is enabled";

    std::filesystem::remove_all(cache_root());
    environment["WARMPIPE_PREWARM"] = "off";
    run([&] { Program(more).create_compute(0, 5); });
    environment.erase("WARMPIPE_PREWARM");
    environment["WPTEST_ICD_DRIVER_VERSION"] = "4712";
    expect_nothing_fits();
}

// The allocator of a device may be called by the program's threads alone.
TEST_F(PrewarmTest, NotWhereTheDriverCouldCallTheProgramsAllocator)
{
    expect_nothing_begun_with_allocator();
}

// That of its instance serves a device that has none of its own.
TEST_F(PrewarmTest, NorThatOfItsInstance)
{
    environment["WARMPIPE_LOG"] = "info";
    const Outcome outcome = run([] {
        CountingAllocator allocator;
        ProgramOptions options;
        VkApplicationInfo application = {VK_STRUCTURE_TYPE_APPLICATION_INFO};
        application.apiVersion = options.api;
        VkInstanceCreateInfo info = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
        info.pApplicationInfo = &application;
        ASSERT_EQ(vkCreateInstance(&info, allocator.get(), &options.instance), VK_SUCCESS);
        Program(options).create_compute(0, 5);
        vkDestroyInstance(options.instance, allocator.get());
    });
    EXPECT_EQ(outcome.errors.find("prewarm"), std::string::npos) << outcome.errors;
    EXPECT_EQ(outcome.pipelines().size(), 5u);
    EXPECT_EQ(prewarmed(outcome), 0);
}

// Such a program learns why, but in a warm start, in which nothing would be compiled ahead.
TEST_F(PrewarmTest, NotWhereTheProgramHasAMessenger)
{
    const char *const reason = "nothing is compiled ahead: the driver may call the program back";
    const auto log_of_a_start = [&] {
        const Outcome outcome = run([&] { Program(with_messenger()).create_compute(0, 5); });
        EXPECT_EQ(prewarmed(outcome), 0);
        return outcome.errors;
    };
    environment["WARMPIPE_LOG"] = "info";
    EXPECT_NE(log_of_a_start().find(reason), std::string::npos);
    const std::string warm = log_of_a_start();
    EXPECT_EQ(warm.find(reason), std::string::npos) << warm;
}

// Replay leaves the program the samplers that a device may have; one more is a violation.
TEST_F(PrewarmTest, TakesAQuarterOfTheSamplers)
{
    std::filesystem::remove_all(cache_root());
    environment["WARMPIPE_PREWARM"] = "off";
    run([] {
        Program program;
        for (int i = 0; i < 40; i++) {
            VkSamplerCreateInfo sampler_info = {VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
            sampler_info.mipLodBias = static_cast<float>(i);
            VkSampler sampler = VK_NULL_HANDLE;
            EXPECT_EQ(vkCreateSampler(program.device, &sampler_info, nullptr, &sampler),
                      VK_SUCCESS);
            VkDescriptorSetLayoutBinding binding = {};
            binding.descriptorType = VK_DESCRIPTOR_TYPE_SAMPLER;
            binding.descriptorCount = 1;
            binding.stageFlags = VK_SHADER_STAGE_ALL;
            binding.pImmutableSamplers = &sampler;
            VkDescriptorSetLayoutCreateInfo set_info = {
                VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
            set_info.bindingCount = 1;
            set_info.pBindings = &binding;
            VkDescriptorSetLayout set = VK_NULL_HANDLE;
            EXPECT_EQ(vkCreateDescriptorSetLayout(program.device, &set_info, nullptr, &set),
                      VK_SUCCESS);
            VkPipelineLayoutCreateInfo layout_info = {
                VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
            layout_info.setLayoutCount = 1;
            layout_info.pSetLayouts = &set;
            VkPipelineLayout layout = VK_NULL_HANDLE;
            EXPECT_EQ(vkCreatePipelineLayout(program.device, &layout_info, nullptr, &layout),
                      VK_SUCCESS);
            Batch batch(program, Kind::compute, {0});
            batch.set_layout(0, layout);
            EXPECT_EQ(batch.create(), VK_SUCCESS);
            vkDestroyPipelineLayout(program.device, layout, nullptr);
            vkDestroyDescriptorSetLayout(program.device, set, nullptr);
            vkDestroySampler(program.device, sampler, nullptr);
        }
    });
    environment.erase("WARMPIPE_PREWARM");
    environment["WPTEST_ICD_DRIVER_VERSION"] = "4712";
    environment["WPTEST_ICD_MAX_SAMPLERS"] = "24";
    const Outcome outcome = run([] {
        use_one_core();
        Program program;
        std::vector<VkSampler> samplers(18); // the program's own three quarters
        for (VkSampler &sampler : samplers) {
            const VkSamplerCreateInfo info = {VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
            EXPECT_EQ(vkCreateSampler(program.device, &info, nullptr, &sampler), VK_SUCCESS);
        }
        wait_until([] { return asked() >= 40; });
        for (VkSampler sampler : samplers) {
            vkDestroySampler(program.device, sampler, nullptr);
        }
    });
    EXPECT_EQ(prewarmed(outcome), 40);
}

// A program that ends before its next save: what the recipes hold and the blob lacks is compiled
// ahead, though there is a blob.
TEST_F(PrewarmTest, WhatWasNeverSavedIsCompiledAheadOnce)
{
    run([] { Program().create_compute(0, 5); }); // prewarmed or not, it is saved
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "60000";
    environment["WPTEST_ICD_COMPILE_US"] = "1000";
    run(
        [&] {
            auto *program = new Program;
            const size_t before = recipes().uses.size();
            program->create_compute(5, 8);
            wait_until([&] { return recipes().uses.size() >= before + 3; });
            die();
        },
        {Layer::any, true, -SIGKILL});
    environment.erase("WARMPIPE_FLUSH_IDLE_MS");
    const std::string log = (folder() / "log").string();
    environment["WARMPIPE_LOG"] = "info:" + log;
    const Outcome second = run([&] {
        Program program;
        program.module(Kind::compute, 0);
        // Of more where the first run ended before all was compiled ahead.
        wait_until([&] { return read_text(log).find("prewarmed 3 of ") != std::string::npos; });
        program.create_compute(0, 8);
    });
    EXPECT_EQ(prewarmed(second), 3);
    EXPECT_EQ(second.stats_of()["pipelines"]["driver_misses"], 0);
    const Outcome third = run([] { Program().create_compute(0, 8); });
    EXPECT_EQ(third.pipelines().size(), 8u) << "nothing is left to be compiled ahead";
    EXPECT_EQ(third.hits(), 8u);
    EXPECT_EQ(third.stats_of()["cache"]["saved_bytes"], 0);
}

// How long it takes is not known where it was a hit when it was recorded; small ones come after
// those that are known.
TEST_F(PrewarmTest, WhatIsSmallAndOfUnknownTimeComesLast)
{
#ifdef WARMPIPE_SANITIZED
    GTEST_SKIP() << "under a sanitizer a hit takes as long as a compile";
#endif
    std::filesystem::remove_all(cache_root());
    environment["WARMPIPE_PREWARM"] = "off";
    run([] { Program().create_compute(0, 2); });
    record_hits([] { Program().create_compute(0, 2); });
    const Outcome known = run([] { Program().create_compute(2, 3); });
    ASSERT_EQ(recipes().uses.size(), 3u);
    environment.erase("WARMPIPE_PREWARM");
    environment["WPTEST_ICD_DRIVER_VERSION"] = "4712";
    const Outcome outcome = run([] {
        use_one_core();
        Program program;
        wait_until([] { return asked() >= 3; });
    });
    EXPECT_EQ(outcome.pipelines().at(0)["content"], known.pipelines().at(0)["content"]);
}

// What took a quarter of a second or more would keep the program when it ends.
TEST_F(PrewarmTest, WhatTakesLongIsLeftOut)
{
    std::filesystem::remove_all(cache_root());
    environment["WARMPIPE_PREWARM"] = "off";
    environment["WPTEST_ICD_COMPILE_US"] = "250000";
    run([] { Program().create_compute(0, 1); });
    environment["WPTEST_ICD_COMPILE_US"] = "0";
    run([] { Program().create_compute(1, 3); });
    environment.erase("WARMPIPE_PREWARM");
    environment["WPTEST_ICD_DRIVER_VERSION"] = "4712";
    EXPECT_EQ(prewarmed(slow_start(2)), 2);
}

} // namespace
