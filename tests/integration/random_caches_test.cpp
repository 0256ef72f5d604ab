// SPDX-License-Identifier: Apache-2.0
// A program that does anything that Vulkan allows with caches of its own, in any order, on one
// thread and on several: whatever becomes of its caches, one holds what was created in its name,
// what was merged into it, and what it was made with.
#include "own_caches.hpp"
#include "things.hpp"

#include <mutex>
#include <random>
#include <set>
#include <shared_mutex>

namespace {

constexpr unsigned numbers = 24; // of pipelines
constexpr unsigned rounds = 150;

struct Cache {
    VkPipelineCache handle = VK_NULL_HANDLE;
    bool alone = false; // externally synchronized
    const VkAllocationCallbacks *allocator = nullptr;
    std::shared_mutex use;
    std::mutex lock; // over what follows
    std::set<unsigned> holds;

    void add(const std::set<unsigned> &more)
    {
        const std::lock_guard<std::mutex> guard(lock);
        holds.insert(more.begin(), more.end());
    }
    std::set<unsigned> copy()
    {
        const std::lock_guard<std::mutex> guard(lock);
        return holds;
    }
};

void *VKAPI_PTR plain_allocate(void *, size_t size, size_t alignment, VkSystemAllocationScope)
{
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}
void *VKAPI_PTR plain_reallocate(void *, void *, size_t, size_t, VkSystemAllocationScope)
{
    abort();
}
void VKAPI_PTR plain_free(void *, void *memory)
{
    free(memory);
}
const VkAllocationCallbacks plain = {nullptr, plain_allocate, plain_reallocate, plain_free};

class Player {
  public:
    Player(Program &program, std::vector<std::unique_ptr<Cache>> &caches, std::shared_mutex &world,
           bool moves, unsigned seed)
        : program_(program), caches_(caches), world_(world), moves_(moves), random_(seed)
    {
        for (unsigned i = 0; i < numbers; ++i) {
            modules_.push_back(module(i));
        }
    }
    ~Player()
    {
        for (VkPipeline pipeline : pipelines_) {
            vkDestroyPipeline(program_.device, pipeline, nullptr);
        }
        for (VkShaderModule one : modules_) {
            vkDestroyShaderModule(program_.device, one, nullptr);
        }
    }

    void play()
    {
        for (unsigned i = 0; i < rounds && !::testing::Test::HasFailure(); ++i) {
            step();
        }
    }

  private:
    VkShaderModule module(unsigned number)
    {
        const std::vector<uint32_t> code = shader_code(Kind::compute, number);
        VkShaderModuleCreateInfo info = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
        info.codeSize = code.size() * sizeof code[0];
        info.pCode = code.data();
        VkShaderModule one = VK_NULL_HANDLE;
        EXPECT_EQ(vkCreateShaderModule(program_.device, &info, nullptr, &one), VK_SUCCESS);
        return one;
    }

    void step()
    {
        const unsigned what = random_() % 100;
        if (what < 12) {
            make();
        } else if (what < 18) {
            drop();
        } else if (what < 60) {
            create();
        } else if (what < 75) {
            merge();
        } else if (what < 85) {
            read();
        } else {
            destroy_some();
        }
    }

    VkPipelineCache make_cache(const std::vector<uint8_t> &data, VkPipelineCacheCreateFlags flags,
                               const VkAllocationCallbacks *allocator)
    {
        VkPipelineCacheCreateInfo info = {VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
        info.flags = flags;
        info.initialDataSize = data.size();
        info.pInitialData = data.data();
        VkPipelineCache cache = VK_NULL_HANDLE;
        EXPECT_EQ(vkCreatePipelineCache(program_.device, &info, allocator, &cache), VK_SUCCESS);
        return cache;
    }

    void make()
    {
        auto cache = std::make_unique<Cache>();
        cache->alone = random_() % 6 == 0;
        cache->allocator = random_() % 6 == 0 ? &plain : nullptr;
        const bool loads = !data_.empty() && random_() % 5 == 0;
        cache->handle =
            make_cache(loads ? data_ : std::vector<uint8_t>(),
                       cache->alone ? VK_PIPELINE_CACHE_CREATE_EXTERNALLY_SYNCHRONIZED_BIT : 0,
                       cache->allocator);
        if (loads) {
            cache->holds = data_holds_;
        }
        const std::unique_lock<std::shared_mutex> guard(world_);
        if (caches_.size() < 12) {
            caches_.push_back(std::move(cache));
        } else {
            vkDestroyPipelineCache(program_.device, cache->handle, cache->allocator);
        }
    }

    void drop()
    {
        const std::unique_lock<std::shared_mutex> guard(world_);
        if (caches_.empty()) {
            return;
        }
        const size_t i = random_() % caches_.size();
        vkDestroyPipelineCache(program_.device, caches_[i]->handle, caches_[i]->allocator);
        caches_.erase(caches_.begin() + static_cast<ptrdiff_t>(i));
    }

    Cache *any()
    {
        return caches_.empty() ? nullptr : caches_[random_() % caches_.size()].get();
    }

    VkResult create_in(VkPipelineCache handle, const std::vector<unsigned> &which,
                       const std::vector<VkPipelineCreateFlags> &flags,
                       std::vector<VkPipeline> *ret)
    {
        std::vector<VkComputePipelineCreateInfo> infos(which.size());
        for (size_t i = 0; i < which.size(); ++i) {
            infos[i] = {VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
            infos[i].flags = flags[i];
            infos[i].stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
            infos[i].stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
            infos[i].stage.module = modules_[which[i]];
            infos[i].stage.pName = "main";
            infos[i].layout = program_.layout;
            infos[i].basePipelineIndex = -1;
        }
        ret->assign(which.size(), handle_of<VkPipeline>(0x5a5a));
        return vkCreateComputePipelines(program_.device, handle,
                                        static_cast<uint32_t>(which.size()), infos.data(), nullptr,
                                        ret->data());
    }

    void create()
    {
        const std::shared_lock<std::shared_mutex> guard(world_);
        Cache *cache = random_() % 4 ? any() : nullptr;
        std::vector<unsigned> which(random_() % 3 ? 1 : 1 + random_() % 4);
        std::vector<VkPipelineCreateFlags> flags(which.size());
        for (size_t i = 0; i < which.size(); ++i) {
            which[i] = random_() % numbers;
            flags[i] = random_() % 4 ? 0 : VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT;
            flags[i] |= random_() % 8 ? 0 : VK_PIPELINE_CREATE_EARLY_RETURN_ON_FAILURE_BIT;
        }
        std::shared_lock<std::shared_mutex> shared;
        std::unique_lock<std::shared_mutex> unique;
        if (cache) {
            if (cache->alone) {
                unique = std::unique_lock<std::shared_mutex>(cache->use);
            } else {
                shared = std::shared_lock<std::shared_mutex>(cache->use);
            }
        }
        std::vector<VkPipeline> made;
        const VkResult result =
            create_in(cache ? cache->handle : VK_NULL_HANDLE, which, flags, &made);
        std::set<unsigned> holds;
        bool failed = false, early = false;
        for (size_t i = 0; i < which.size(); ++i) {
            if (made[i] != VK_NULL_HANDLE) {
                EXPECT_FALSE(early);
                EXPECT_NE(made[i], handle_of<VkPipeline>(0x5a5a));
                holds.insert(which[i]);
                pipelines_.push_back(made[i]);
            } else {
                EXPECT_TRUE(early ||
                            flags[i] & VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT);
                failed = true;
                early |= (flags[i] & VK_PIPELINE_CREATE_EARLY_RETURN_ON_FAILURE_BIT) != 0;
            }
        }
        EXPECT_EQ(result, failed ? VK_PIPELINE_COMPILE_REQUIRED : VK_SUCCESS);
        if (cache) {
            cache->add(holds);
        }
    }

    void merge()
    {
        const std::shared_lock<std::shared_mutex> guard(world_);
        Cache *destination = any();
        if (!destination || caches_.size() < 2) {
            return;
        }
        std::set<Cache *> sources;
        for (unsigned i = 0; i < 3; ++i) {
            Cache *source = any();
            if (source != destination && !source->alone) {
                sources.insert(source);
            }
        }
        if (sources.empty()) {
            return;
        }
        std::vector<VkPipelineCache> handles;
        std::set<unsigned> holds;
        std::unique_lock<std::shared_mutex> unique(destination->use, std::try_to_lock);
        if (!unique) {
            return;
        }
        std::vector<std::shared_lock<std::shared_mutex>> shared;
        for (Cache *source : sources) {
            std::shared_lock<std::shared_mutex> one(source->use, std::try_to_lock);
            if (!one) {
                return;
            }
            shared.push_back(std::move(one));
            handles.push_back(source->handle);
            const std::set<unsigned> more = source->copy();
            holds.insert(more.begin(), more.end());
        }
        EXPECT_EQ(vkMergePipelineCaches(program_.device, destination->handle,
                                        static_cast<uint32_t>(handles.size()), handles.data()),
                  VK_SUCCESS);
        destination->add(holds);
        if (moves_) {
            for (Cache *source : sources) {
                const std::lock_guard<std::mutex> moved(source->lock);
                source->holds.clear();
            }
        }
    }

    void read()
    {
        const std::shared_lock<std::shared_mutex> guard(world_);
        Cache *cache = any();
        if (!cache) {
            return;
        }
        std::shared_lock<std::shared_mutex> shared;
        std::unique_lock<std::shared_mutex> unique;
        if (cache->alone) {
            unique = std::unique_lock<std::shared_mutex>(cache->use);
        } else {
            shared = std::shared_lock<std::shared_mutex>(cache->use);
        }
        const std::set<unsigned> holds = cache->copy();
        size_t size = 0;
        EXPECT_EQ(vkGetPipelineCacheData(program_.device, cache->handle, &size, nullptr),
                  VK_SUCCESS);
        std::vector<uint8_t> data(size);
        const VkResult result =
            vkGetPipelineCacheData(program_.device, cache->handle, &size, data.data());
        if (result == VK_INCOMPLETE) {
            return; // others have created in its name meanwhile
        }
        EXPECT_EQ(result, VK_SUCCESS);
        data.resize(size);
        VkPipelineCache check = make_cache(data, 0, nullptr);
        for (const unsigned number : holds) {
            std::vector<VkPipeline> made;
            EXPECT_EQ(create_in(check, {number},
                                {VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT}, &made),
                      VK_SUCCESS)
                << number << " of " << holds.size() << ", " << data.size() << " bytes";
            vkDestroyPipeline(program_.device, made[0], nullptr);
        }
        vkDestroyPipelineCache(program_.device, check, nullptr);
        data_ = data;
        data_holds_ = holds;
    }

    void destroy_some()
    {
        while (!pipelines_.empty() && random_() % 4) {
            const size_t i = random_() % pipelines_.size();
            vkDestroyPipeline(program_.device, pipelines_[i], nullptr);
            pipelines_.erase(pipelines_.begin() + static_cast<ptrdiff_t>(i));
        }
    }

    Program &program_;
    std::vector<std::unique_ptr<Cache>> &caches_;
    std::shared_mutex &world_;
    const bool moves_; // a merge leaves its sources empty
    std::minstd_rand random_;
    std::vector<VkShaderModule> modules_;
    std::vector<VkPipeline> pipelines_;
    std::vector<uint8_t> data_;
    std::set<unsigned> data_holds_;
};

struct Manner {
    const char *mode; // WARMPIPE_APP_CACHE
    unsigned threads;
    bool messenger;
    bool moves;
};

class RandomCachesTest : public OwnCachesTest, public ::testing::WithParamInterface<Manner> {};

INSTANTIATE_TEST_SUITE_P(
    Of, RandomCachesTest,
    ::testing::Values(Manner{"auto", 1, false, false}, Manner{"harvest", 1, false, true},
                      Manner{"auto", 4, false, false}, Manner{"auto", 4, true, false},
                      Manner{"serve", 4, false, false}, Manner{"harvest", 4, false, false}),
    [](const auto &manner) {
        return manner.param.mode + std::to_string(manner.param.threads) +
               (manner.param.messenger ? "messenger" : "") + (manner.param.moves ? "moves" : "");
    });

// What becomes of its caches changes from start to start: it reads them back, and loads them again.
TEST_P(RandomCachesTest, HoldWhatWasCreatedInTheirNames)
{
    mode(GetParam().mode);
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "1";
    environment["WPTEST_ICD_COMPILE_US"] = "200"; // enough for looks beside the program
    if (GetParam().moves) {
        environment["WPTEST_ICD_MERGE_MOVES"] = "1";
    }
    for (unsigned start = 0; start < 4; ++start) {
        run([&] {
            ProgramOptions options;
            options.messenger = GetParam().messenger;
            Program program(options);
            std::vector<std::unique_ptr<Cache>> caches;
            std::shared_mutex world;
            std::vector<std::thread> threads;
            for (unsigned i = 0; i < GetParam().threads; ++i) {
                threads.emplace_back([&, i] {
                    Player(program, caches, world, GetParam().moves, start * 10 + i + 1).play();
                });
            }
            for (std::thread &thread : threads) {
                thread.join();
            }
            for (const auto &cache : caches) {
                vkDestroyPipelineCache(program.device, cache->handle, cache->allocator);
            }
        });
    }
}

} // namespace
