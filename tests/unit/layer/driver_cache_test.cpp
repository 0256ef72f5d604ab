// SPDX-License-Identifier: Apache-2.0
// The data of several of the driver's caches together.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

extern "C" {
#include "common/base/bytes.h"
#include "layer/cache/driver_cache.h"
}

namespace {

const VkPipelineCache hot = (VkPipelineCache)0x20;

// Two caches and copies of them, of a driver that runs out of memory at the copy of one.
class ReadBoth : public testing::Test {
  protected:
    void SetUp() override
    {
        caches = {{hot, of_the_device}, {collected, of_programs}};
        refused = "";
        most = 0;
        table.CreatePipelineCache = [](VkDevice, const VkPipelineCacheCreateInfo *info,
                                       const VkAllocationCallbacks *, VkPipelineCache *cache) {
            const std::string data(static_cast<const char *>(info->pInitialData),
                                   info->initialDataSize);
            if (data == refused) {
                return VK_ERROR_OUT_OF_HOST_MEMORY;
            }
            *cache = (VkPipelineCache)(0x100 + made++);
            caches[*cache] = data;
            most = std::max(most, held());
            return VK_SUCCESS;
        };
        table.DestroyPipelineCache = [](VkDevice, VkPipelineCache cache,
                                        const VkAllocationCallbacks *) { caches.erase(cache); };
        table.MergePipelineCaches = [](VkDevice, VkPipelineCache to, uint32_t count,
                                       const VkPipelineCache *from) {
            for (uint32_t i = 0; i < count; ++i) {
                caches[to] += "+" + caches[from[i]];
            }
            return VK_SUCCESS;
        };
        table.GetPipelineCacheData = [](VkDevice, VkPipelineCache cache, size_t *size, void *data) {
            *size = caches[cache].size();
            if (data) {
                std::memcpy(data, caches[cache].data(), *size);
            }
            return VK_SUCCESS;
        };
    }

    // "": false.
    static std::string taken(bool done, uint8_t *data, size_t size)
    {
        const std::string text = done ? std::string(reinterpret_cast<char *>(data), size) : "";
        large_free(data);
        return text;
    }

    // In the driver's caches.
    static size_t held()
    {
        size_t bytes = 0;
        for (const auto &[cache, data] : caches) {
            bytes += data.size();
        }
        return bytes;
    }

    std::string read_both()
    {
        uint8_t *data = nullptr;
        size_t size = 0;
        const bool done = driver_cache_read_both(&driver, hot, collected, &data, &size);
        EXPECT_EQ(caches.size(), 2u) << "no copy stays";
        return taken(done, data, size);
    }

    std::string merge_own(const std::string &own, bool may_lack = false)
    {
        store_blob blob{};
        blob.data = reinterpret_cast<const uint8_t *>(foreign.data());
        blob.size = foreign.size();
        auto *copy = static_cast<uint8_t *>(large_new(own.size()));
        std::memcpy(copy, own.data(), own.size());
        uint8_t *data = nullptr;
        size_t size = 0;
        const bool done =
            driver_cache_merge_blobs(&driver, &blob, 1, may_lack, copy, own.size(), &data, &size);
        EXPECT_EQ(caches.size(), 2u) << "no copy stays";
        left = done ? "" : taken(true, data, size);
        data = done ? data : nullptr;
        return taken(done, data, size);
    }

    inline static const std::string header =
        std::string(sizeof(VkPipelineCacheHeaderVersionOne), '-');
    inline static const std::string of_the_device = header + "of the device";
    inline static const std::string of_programs = header + "collected";
    inline static const std::string ours = header + "ours";
    inline static const std::string foreign = header + "foreign";
    static const VkPipelineCache collected;
    static std::map<VkPipelineCache, std::string> caches;
    static std::string refused;
    static size_t most; // ever held at once, once a cache was made
    static uintptr_t made;
    std::string left; // of our own, where nothing was merged
    device_table table{};
    driver_caches driver{VK_NULL_HANDLE, &table, nullptr, nullptr, nullptr, nullptr};
};

const VkPipelineCache ReadBoth::collected = (VkPipelineCache)0x30;
std::map<VkPipelineCache, std::string> ReadBoth::caches;
std::string ReadBoth::refused;
size_t ReadBoth::most;
uintptr_t ReadBoth::made;

TEST_F(ReadBoth, IsAllOfBothOrNothing)
{
    EXPECT_EQ(read_both(), of_programs + "+" + of_the_device);
    for (const std::string &one : {of_the_device, of_programs}) {
        refused = one;
        EXPECT_EQ(read_both(), "") << one;
    }
}

// The first run of a program with caches of its own alone: the driver holds nothing twice.
TEST_F(ReadBoth, MakesNoCopyBesideACacheWithoutPipelines)
{
    caches[hot] = header;
    caches[collected] = std::string(100000, 'c');
    EXPECT_EQ(read_both(), caches[collected]);
    EXPECT_EQ(most, 0u);
}

TEST_F(ReadBoth, WhatIsOursIsInWhatIsMerged)
{
    EXPECT_EQ(merge_own(ours), foreign + "+" + ours);
    refused = ours;
    EXPECT_EQ(merge_own(ours), "");
    EXPECT_EQ(left, "");
    refused = foreign;
    EXPECT_EQ(merge_own(ours), "");
    EXPECT_EQ(left, ours) << "for a part, until the driver has the memory";
    EXPECT_EQ(merge_own(ours, true), ours) << "what the driver does not take is left out";
}

} // namespace
