// SPDX-License-Identifier: Apache-2.0
// Much at once: many devices, many threads, many instances, and processes that are killed at any
// moment, while saves go on.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <random>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "harness.hpp"
#include "things.hpp"

namespace {

class StormTest : public LayerTest {
  protected:
    StormTest()
    {
        environment["WARMPIPE_APP"] = "program";
        environment["WARMPIPE_FLUSH_IDLE_MS"] = "1";
    }

    // More than the check's share, by hand.
    static unsigned times(const char *variable, unsigned usual)
    {
        const char *value = std::getenv(variable);
        return value ? static_cast<unsigned>(std::strtoul(value, nullptr, 10)) : usual;
    }

    static size_t count_flushes()
    {
        const std::string text = read_text(std::getenv("WARMPIPE_STATS"));
        size_t count = 0;
        for (size_t at = 0; (at = text.find("\"event\":\"flush\"", at)) != std::string::npos;
             ++at) {
            ++count;
        }
        return count;
    }

    static void wait_for_flushes(size_t count)
    {
        for (unsigned i = 0; i < 30000 && count_flushes() < count; ++i) {
            usleep(1000);
        }
        EXPECT_GE(count_flushes(), count);
    }
};

// What a thread does to a device, with numbers that others ask for, too.
void play(Program &program, unsigned seed, unsigned rounds)
{
    std::minstd_rand random(seed);
    Things things(program);
    VkPipelineCache own = program.create_cache();
    for (unsigned i = 0; i < rounds; ++i) {
        const Thing thing = all_things[random() % std::size(all_things)];
        const uint64_t first = things.create(thing, random() % 8);
        const uint64_t second = things.create(Thing::pipeline, random() % 64);
        VkPipelineCache other = program.create_cache();
        EXPECT_EQ(vkMergePipelineCaches(program.device, other, 1, &own), VK_SUCCESS);
        if (random() % 8 == 0) {
            program.cache_data(other);
        }
        program.destroy_cache(other);
        things.destroy(thing, first);
        things.destroy(Thing::pipeline, second);
    }
    program.destroy_cache(own);
}

// Two instances with two devices each, four threads to a device, and saves in between.
TEST_F(StormTest, DevicesThreadsAndSaves)
{
    environment["WPTEST_ICD_DEVICES"] = "2";
    const Outcome outcome = run([] {
        Program one, two;
        ProgramOptions beside_one, beside_two;
        beside_one.device = beside_two.device = 1;
        beside_one.instance = one.instance;
        beside_two.instance = two.instance;
        Program three(beside_one), four(beside_two);
        Program *programs[] = {&one, &two, &three, &four};
        for (unsigned round = 0; round < times("WARMPIPE_STORM_ROUNDS", 2); ++round) {
            std::vector<std::thread> threads;
            for (unsigned i = 0; i < 16; ++i) {
                threads.emplace_back(play, std::ref(*programs[i % 4]), round * 16 + i, 40);
            }
            for (std::thread &thread : threads) {
                thread.join();
            }
            // Something that is new to each device, so that each has something to save.
            for (Program *program : programs) {
                program->create(Kind::compute, 1000 + round);
            }
            // The others are saved while the next round goes on.
            wait_for_flushes(1);
        }
        wait_for_flushes(4);
    });
    EXPECT_EQ(outcome.stats_of(3)["event"], "destroy");
    const Outcome warm = run([] {
        ProgramOptions options;
        options.device = 1;
        Program first, second(options);
        first.create(Kind::compute, 1000);
        second.create(Kind::compute, 1000);
    });
    EXPECT_EQ(warm.hits(), 2u);
}

TEST_F(StormTest, AThousandInstances)
{
    const Outcome outcome = run([] {
        for (unsigned i = 0; i < 1000; ++i) {
            if (i % 100 == 0) {
                Program().create_compute(i, i + 2);
                continue;
            }
            VkInstanceCreateInfo info = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
            VkInstance instance = VK_NULL_HANDLE;
            EXPECT_EQ(vkCreateInstance(&info, nullptr, &instance), VK_SUCCESS);
            vkDestroyInstance(instance, nullptr);
        }
    });
    // On a busy machine there may have been saves in the background, too.
    EXPECT_EQ(std::count_if(outcome.stats.begin(), outcome.stats.end(),
                            [](const json &line) { return line["event"] == "destroy"; }),
              10);
    EXPECT_EQ(run([] {
                  Program owner;
                  for (unsigned i = 0; i < 1000; i += 100) {
                      owner.create_compute(i, i + 2);
                  }
              }).hits(),
              20u);
}

// Processes that compile and are killed, each at a moment of its own: the file is whole at each
// start, and what any of them has been told to be on disk is there at the end.
TEST_F(StormTest, KilledAtAnyMoment)
{
    constexpr unsigned burst = 4;
    const unsigned kills = times("WARMPIPE_STORM_KILLS", 25);
    std::minstd_rand random(1);
    std::set<unsigned> saved;
    // On a slow machine few live to see their save: until there have been some.
    for (unsigned i = 0; i < kills || (saved.size() < 3 && i < 1000); ++i) {
        const unsigned delay_us = random() % 160000;
        const auto kill_later = [&] {
            std::thread([delay_us] {
                usleep(delay_us);
                kill(getpid(), SIGKILL);
            }).detach();
        };
        const Outcome outcome = run(
            [&] {
                leak_from_here_on();
                if (i % 2 == 0) {
                    kill_later();
                }
                auto *owner = new Program;
                std::vector<unsigned> numbers;
                for (unsigned number = i * burst; number < (i + 1) * burst; ++number) {
                    numbers.push_back(number);
                }
                Batch batch(*owner, Kind::compute, numbers);
                EXPECT_EQ(batch.create(), VK_SUCCESS);
                if (i % 2 == 1) {
                    kill_later();
                }
                pause();
            },
            {Layer::any, true, -SIGKILL});
        for (const json &line : outcome.stats) {
            // Skipped for a start, if the one before was killed while it loaded; never damaged.
            EXPECT_TRUE(line["cache"]["state"] != "rejected" ||
                        line["cache"]["reason"] == "suspect")
                << line;
            EXPECT_NE(line["cache"]["state"], "quarantined") << line;
            if (line["cache"]["saved_bytes"] > 0) {
                saved.insert(i);
            }
        }
    }
    EXPECT_GE(saved.size(), 3u);
    const auto ask_for_all = [&] {
        return run([&] {
            Program owner;
            for (unsigned i : saved) {
                owner.create_compute(i * burst, (i + 1) * burst);
            }
        });
    };
    // What was saved beside the file waits for the next save, and a suspicion for the next start.
    ask_for_all();
    ask_for_all();
    const Outcome warm = ask_for_all();
    EXPECT_EQ(warm.stats_of()["cache"]["state"], "loaded");
    EXPECT_EQ(warm.hits(), saved.size() * burst);
}

} // namespace
