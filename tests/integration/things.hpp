// SPDX-License-Identifier: Apache-2.0
// Everything that a program makes besides pipeline caches, by kind and number: one number gives
// equal create-infos, another one others.
#ifndef WARMPIPE_TESTS_THINGS_HPP
#define WARMPIPE_TESTS_THINGS_HPP

#include "program.hpp"

#include <atomic>
#include <string>
#include <thread>

enum class Thing {
    module,
    set_layout,
    pipeline_layout,
    update_template,
    pipeline, // a compute pipeline
    sampler,
    conversion,
    render_pass,
    render_pass_2
};

// Those whose handles are shared; the others are only named.
constexpr Thing shared_things[] = {Thing::module, Thing::set_layout, Thing::pipeline_layout,
                                   Thing::update_template, Thing::pipeline};
constexpr Thing all_things[] = {Thing::module,          Thing::set_layout,  Thing::pipeline_layout,
                                Thing::update_template, Thing::pipeline,    Thing::sampler,
                                Thing::conversion,      Thing::render_pass, Thing::render_pass_2};

struct ThingFacts {
    const char *name;
    const char *create; // what counts in the test driver
    const char *destroy;
    const char *dedup; // its word in WARMPIPE_DEDUP, and its member in the statistics
    VkObjectType type;
};
const ThingFacts &facts_of(Thing thing);
void PrintTo(Thing thing, std::ostream *stream);

class Things {
  public:
    explicit Things(Program &program);
    ~Things();
    Things(const Things &) = delete;
    Things &operator=(const Things &) = delete;

    // The handle, 0 if the creation fails; `chain` becomes the pNext of the create-info.
    uint64_t create(Thing thing, unsigned number, const VkAllocationCallbacks *allocator = nullptr,
                    const void *chain = nullptr);
    void destroy(Thing thing, uint64_t handle, const VkAllocationCallbacks *allocator = nullptr);

    VkResult result = VK_SUCCESS; // of the last creation

  private:
    VkResult create_pipeline(unsigned number, const VkAllocationCallbacks *allocator,
                             const void *chain, uint64_t *ret_handle);

    VkDevice device_;
    VkPipelineLayout layout_;
    VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE; // of templates
    VkShaderModule modules_[4] = {};
};

template <typename Handle> uint64_t value_of(Handle handle)
{
    return reinterpret_cast<uint64_t>(handle);
}

template <typename Handle> Handle handle_of(uint64_t value)
{
    return reinterpret_cast<Handle>(value);
}

// An allocator of the program's: counts what lives, and is only ever called by the thread that has
// made it (chapter "Memory Allocation": on the thread of the command it was given to).
class CountingAllocator {
  public:
    CountingAllocator();
    const VkAllocationCallbacks *get() const
    {
        return &callbacks_;
    }
    int live() const
    {
        return live_;
    }

  private:
    static CountingAllocator *of(void *user);

    VkAllocationCallbacks callbacks_ = {};
    std::thread::id thread_ = std::this_thread::get_id();
    std::atomic<int> live_{0};
};

#endif
