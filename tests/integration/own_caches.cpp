// SPDX-License-Identifier: Apache-2.0
#include "own_caches.hpp"

#include <numeric>
#include <thread>

size_t OwnCachesTest::holds(const std::vector<uint8_t> &data, unsigned first, unsigned end)
{
    const std::map<std::string, std::string> with_layer = environment;
    environment.erase("WARMPIPE_ENABLE");
    const Outcome outcome = run(
        [&] {
            Program program;
            VkPipelineCache cache = program.create_cache(data);
            program.create_compute(first, end, cache);
            program.destroy_cache(cache);
        },
        {Layer::absent, true, 0});
    environment = with_layer;
    return outcome.hits();
}

size_t OwnCachesTest::warm(unsigned first, unsigned end)
{
    return run([&] { Program().create_compute(first, end); }).hits();
}

json OwnCachesTest::cache_made_with(const Outcome &outcome, size_t bytes)
{
    for (const json &event : outcome.events("vkCreatePipelineCache")) {
        if (event["initial_size"] == bytes) {
            return event;
        }
    }
    ADD_FAILURE() << "no cache was made with " << bytes << " bytes";
    return {};
}

std::vector<std::vector<uint8_t>> use_caches(Program &program, unsigned count, unsigned each,
                                             unsigned read, unsigned first)
{
    std::vector<VkPipelineCache> caches;
    for (unsigned i = 0; i < count; ++i) {
        caches.push_back(program.create_cache());
        program.create_compute(first + each * i, first + each * (i + 1), caches.back());
    }
    std::vector<std::vector<uint8_t>> data;
    for (unsigned i = 0; i < read; ++i) {
        data.push_back(program.cache_data(caches[i]));
    }
    for (VkPipelineCache cache : caches) {
        program.destroy_cache(cache);
    }
    return data;
}

void read_back_while_others_create(const std::filesystem::path &file, bool shared)
{
    Program program;
    VkPipelineCache cache = program.create_cache();
    program.create_compute(0, 10, cache);
    std::vector<std::unique_ptr<Batch>> batches;
    std::vector<VkPipelineCache> others;
    for (unsigned i = 0; i < 8; ++i) {
        std::vector<unsigned> numbers(20);
        std::iota(numbers.begin(), numbers.end(), 100 + 20 * i);
        batches.push_back(std::make_unique<Batch>(program, Kind::compute, numbers));
        others.push_back(i % 2 == 0 ? VK_NULL_HANDLE : program.create_cache());
    }
    std::vector<std::thread> threads;
    for (size_t i = 0; i < batches.size(); ++i) {
        threads.emplace_back(
            [&, i] { EXPECT_EQ(batches[i]->create(shared ? cache : others[i]), VK_SUCCESS); });
    }
    for (int i = 0; i < (shared ? 1 : 10); ++i) {
        write_bytes(file, program.cache_data(cache)); // expects one size
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    program.destroy_cache(cache);
    for (VkPipelineCache other : others) {
        program.destroy_cache(other);
    }
}
