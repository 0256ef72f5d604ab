// SPDX-License-Identifier: Apache-2.0
// The lock-free map from handles to state.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <unistd.h>

#include "asleep.h"

extern "C" {
#include "layer/chain/handle_map.h"
}

namespace {

class HandleMap : public testing::Test {
  protected:
    void SetUp() override
    {
        handle_map_init(&map);
    }
    void TearDown() override
    {
        handle_map_release(&map);
    }
    handle_map map;
    int values[4096];
};

TEST_F(HandleMap, GivesWhatWasPut)
{
    EXPECT_EQ(handle_map_get(&map, 5), nullptr);
    ASSERT_TRUE(handle_map_put(&map, 5, &values[0]));
    EXPECT_EQ(handle_map_get(&map, 5), &values[0]);
    EXPECT_EQ(handle_map_get(&map, 6), nullptr);
    EXPECT_EQ(handle_map_remove(&map, 5), &values[0]);
    EXPECT_EQ(handle_map_get(&map, 5), nullptr);
    EXPECT_EQ(handle_map_remove(&map, 5), nullptr);
}

TEST_F(HandleMap, RefusesTheNullHandle)
{
    EXPECT_FALSE(handle_map_put(&map, 0, &values[0]));
    EXPECT_EQ(handle_map_get(&map, 0), nullptr);
    ASSERT_TRUE(handle_map_put(&map, UINT64_MAX, &values[0]));
    EXPECT_EQ(handle_map_get(&map, UINT64_MAX), &values[0]);
}

// As a dispatch key does whose memory is used again.
TEST_F(HandleMap, AKeyThatComesAgainHasTheNewValue)
{
    ASSERT_TRUE(handle_map_put(&map, 5, &values[0]));
    ASSERT_TRUE(handle_map_put(&map, 5, &values[1]));
    EXPECT_EQ(handle_map_get(&map, 5), &values[1]);
    ASSERT_TRUE(handle_map_put(&map, 6, &values[2]));
    handle_map_rename(&map, 6, 5);
    EXPECT_EQ(handle_map_get(&map, 5), &values[2]);
    EXPECT_EQ(handle_map_get(&map, 6), nullptr);
    EXPECT_EQ(handle_map_remove(&map, 5), &values[2]);
    EXPECT_EQ(handle_map_get(&map, 5), nullptr);
}

TEST_F(HandleMap, TakesOutOneThatMatches)
{
    for (size_t i = 0; i < 8; ++i) {
        values[i] = static_cast<int>(i);
        ASSERT_TRUE(handle_map_put(&map, 1 + i, &values[i]));
    }
    const auto is_odd = [](const void *value, const void *) {
        return *static_cast<const int *>(value) % 2 == 1;
    };
    int odd = 0;
    while (handle_map_remove_if(&map, is_odd, nullptr) != nullptr) {
        ++odd;
    }
    EXPECT_EQ(odd, 4);
    for (size_t i = 0; i < 8; ++i) {
        EXPECT_EQ(handle_map_get(&map, 1 + i), i % 2 ? nullptr : &values[i]) << i;
    }
}

TEST_F(HandleMap, RenamesWithoutLosingAnyOther)
{
    for (uint64_t i = 0; i < 4096; ++i) {
        ASSERT_TRUE(handle_map_put(&map, 1 + i, &values[i]));
    }
    for (uint64_t i = 0; i < 4096; ++i) {
        handle_map_rename(&map, 1 + i, 0x100000 + i);
    }
    for (uint64_t i = 0; i < 4096; ++i) {
        EXPECT_EQ(handle_map_get(&map, 1 + i), nullptr) << i;
        EXPECT_EQ(handle_map_remove(&map, 0x100000 + i), &values[i]) << i;
    }
}

TEST_F(HandleMap, KeepsManyThroughGrowthAndRemoval)
{
    for (uint64_t i = 0; i < 4096; ++i) {
        ASSERT_TRUE(handle_map_put(&map, 0x1000 + i * 8, &values[i]));
    }
    for (uint64_t i = 0; i < 4096; i += 2) {
        EXPECT_EQ(handle_map_remove(&map, 0x1000 + i * 8), &values[i]);
    }
    for (uint64_t i = 0; i < 4096; ++i) {
        EXPECT_EQ(handle_map_get(&map, 0x1000 + i * 8), i % 2 ? &values[i] : nullptr) << i;
    }
    size_t seen = 0;
    const auto count = [](void *, void *user) { ++*static_cast<size_t *>(user); };
    handle_map_each(&map, count, &seen);
    EXPECT_EQ(seen, 2048u);
}

TEST_F(HandleMap, ChurnDoesNotFillIt)
{
    ASSERT_TRUE(handle_map_put(&map, 1, &values[0]));
    auto *table = map.table;
    for (uint64_t i = 2; i < 1000000; ++i) {
        ASSERT_TRUE(handle_map_put(&map, i, &values[1]));
        ASSERT_EQ(handle_map_remove(&map, i), &values[1]);
    }
    EXPECT_EQ(map.table, table);
    EXPECT_EQ(handle_map_get(&map, 1), &values[0]);
}

TEST_F(HandleMap, ReadersSeeTheirOwnKeyBesideWriters)
{
    ASSERT_TRUE(handle_map_put(&map, 7, &values[7]));
    std::atomic<bool> stop{false};
    std::atomic<bool> wrong{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
        threads.emplace_back([&] {
            while (!stop) {
                wrong = wrong || handle_map_get(&map, 7) != &values[7];
            }
        });
    }
    for (uint64_t round = 0; round < 50; ++round) {
        for (uint64_t i = 100; i < 400; ++i) {
            handle_map_put(&map, i, &values[1]);
        }
        for (uint64_t i = 100; i < 400; ++i) {
            handle_map_remove(&map, i);
        }
    }
    stop = true;
    for (auto &thread : threads) {
        thread.join();
    }
    EXPECT_FALSE(wrong);
}

// As one of idle priority may be for seconds, on the very core that a reader would spin on.
TEST_F(HandleMap, AReaderLeavesTheCoreToAWriterThatHasNone)
{
    ASSERT_TRUE(handle_map_put(&map, 7, &values[7]));
    static pid_t reader;
    static std::atomic<bool> writes, slept;
    reader = gettid();
    writes = slept = false;
    std::thread writer([&] {
        const auto stays = [](const void *, const void *) {
            writes = true;
            const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
            while (!slept && std::chrono::steady_clock::now() < until) {
                slept = is_asleep(reader);
            }
            return false;
        };
        handle_map_remove_if(&map, stays, nullptr);
    });
    while (!writes) {
    }
    EXPECT_EQ(handle_map_get(&map, 7), &values[7]);
    writer.join();
    EXPECT_TRUE(slept);
}

} // namespace
