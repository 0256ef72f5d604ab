// SPDX-License-Identifier: Apache-2.0
// A program on ncnn: ncnn_networks [--version | --own FOLDER] loads four networks (NETWORKS=NAME:
// one), each with a pipeline cache of its own as ncnn makes it, runs each once, and prints the
// largest results. Their weights are made up, every time the same.
//
// --own: it loads and saves ncnn's caches in FOLDER itself. With TIMES=1 no network runs, and the
// only line says how long pipeline creation took, in ns of time and of this thread's processor
// time: all of vkCreateComputePipelines and vkCreatePipelineCache, ncnn's reading of its files, and
// the first vkCreateShaderModule, in which the layer reads its file.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <utility>

#include <datareader.h>
#include <gpu.h>
#include <net.h>
#include <pipelinecache.h>

#include "networks.h"

namespace {

long long now_ns(clockid_t clock)
{
    timespec now{};
    clock_gettime(clock, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

struct {
    long long wall_ns, cpu_ns, longest_ns;
    unsigned pipelines, modules, depth;
} spent;

// Adds its life to what was spent, unless it is inside another.
class Timed {
  public:
    Timed()
    {
        counts = spent.depth++ == 0;
    }
    ~Timed()
    {
        --spent.depth;
        if (counts) {
            const long long took_ns = now_ns(CLOCK_MONOTONIC) - wall_ns;
            spent.wall_ns += took_ns;
            spent.cpu_ns += now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
            spent.longest_ns = std::max(spent.longest_ns, took_ns);
        }
    }
    Timed(const Timed &) = delete;
    Timed &operator=(const Timed &) = delete;

  private:
    bool counts;
    long long cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID), wall_ns = now_ns(CLOCK_MONOTONIC);
};

PFN_vkCreateComputePipelines next_pipelines;
PFN_vkCreatePipelineCache next_cache;
PFN_vkCreateShaderModule next_module;

VKAPI_ATTR VkResult VKAPI_CALL timed_pipelines(VkDevice device, VkPipelineCache cache,
                                               uint32_t count,
                                               const VkComputePipelineCreateInfo *infos,
                                               const VkAllocationCallbacks *allocator,
                                               VkPipeline *pipelines)
{
    const Timed timed;
    spent.pipelines += count;
    return next_pipelines(device, cache, count, infos, allocator, pipelines);
}

VKAPI_ATTR VkResult VKAPI_CALL timed_cache(VkDevice device, const VkPipelineCacheCreateInfo *info,
                                           const VkAllocationCallbacks *allocator,
                                           VkPipelineCache *cache)
{
    const Timed timed;
    return next_cache(device, info, allocator, cache);
}

VKAPI_ATTR VkResult VKAPI_CALL timed_module(VkDevice device, const VkShaderModuleCreateInfo *info,
                                            const VkAllocationCallbacks *allocator,
                                            VkShaderModule *module)
{
    if (spent.modules++ > 0) {
        return next_module(device, info, allocator, module);
    }
    const Timed timed;
    return next_module(device, info, allocator, module);
}

// ncnn calls Vulkan through pointers that any program may set.
void time_creation()
{
    next_pipelines = std::exchange(ncnn::vkCreateComputePipelines, timed_pipelines);
    next_cache = std::exchange(ncnn::vkCreatePipelineCache, timed_cache);
    next_module = std::exchange(ncnn::vkCreateShaderModule, timed_module);
}

// Small numbers around zero; the words that tell how weights are stored say: as they are.
class Weights : public ncnn::DataReader {
  public:
    int scan(const char *, void *) const override
    {
        return 0;
    }
    size_t read(void *data, size_t size) const override
    {
        auto *values = static_cast<float *>(data);
        for (size_t i = 0; i < size / sizeof *values; ++i) {
            values[i] = size > sizeof *values
                            ? (static_cast<float>((i * 2654435761u >> 8) % 997) - 498) / 5000
                            : 0;
        }
        return size;
    }
};

void run(const Network &network, const ncnn::Net &net)
{
    ncnn::Mat picture(picture_size, picture_size, 3), result;
    for (int c = 0; c < picture.c; ++c) {
        float *values = picture.channel(c);
        for (int i = 0; i < picture.w * picture.h; ++i) {
            values[i] = static_cast<float>((i * 31 + c * 7) % 97) / 97;
        }
    }
    ncnn::Extractor extractor = net.create_extractor();
    extractor.input("in", picture);
    extractor.extract("out", result);
    const float *values = result;
    const int count = values ? result.w : 0;
    std::vector<int> order(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) {
        order[static_cast<size_t>(i)] = i;
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return values[a] > values[b]; });
    std::printf("%s: %d results:", network.name.c_str(), count);
    for (size_t i = 0; i < 5 && i < order.size(); ++i) {
        std::printf(" %d %.4f", order[i], static_cast<double>(values[order[i]]));
    }
    std::printf("\n");
}

struct Loaded {
    std::unique_ptr<ncnn::PipelineCache> cache; // outlives the network
    ncnn::Net net;
};

bool load(const Network &network, const std::string &own, Loaded &loaded)
{
    const std::string file = own + "/" + network.name + ".cache";
    loaded.net.opt.use_vulkan_compute = true;
    loaded.net.opt.num_threads = 1;
    if (!own.empty()) {
        loaded.cache = std::make_unique<ncnn::PipelineCache>(ncnn::get_gpu_device(0));
        loaded.net.opt.pipeline_cache = loaded.cache.get();
        const Timed timed;
        loaded.cache->load_cache(file.c_str()); // if it is there
    }
    if (loaded.net.load_param_mem(network.text.c_str()) != 0 ||
        loaded.net.load_model(Weights()) != 0) {
        std::fprintf(stderr, "%s cannot be loaded\n", network.name.c_str());
        return false;
    }
    return true;
}

} // namespace

int main(int argc, char **argv)
{
    if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
        std::puts(NCNN_VERSION_STRING);
        return 0;
    }
    const std::string own = argc == 3 && std::strcmp(argv[1], "--own") == 0 ? argv[2] : "";
    const char *chosen = std::getenv("NETWORKS");
    if (ncnn::create_gpu_instance() != 0 || ncnn::get_gpu_count() == 0) {
        std::fprintf(stderr, "no Vulkan device\n");
        return 1;
    }
    const bool is_timed = std::getenv("TIMES") != nullptr;
    if (is_timed) {
        time_creation();
    }
    bool done = true;
    {
        std::vector<std::unique_ptr<Loaded>> all;
        for (const Network &network : all_networks()) {
            if (chosen && network.name != chosen) {
                continue;
            }
            all.push_back(std::make_unique<Loaded>());
            done = done && load(network, own, *all.back());
            if (done && !is_timed) {
                run(network, all.back()->net);
            }
            if (done && !own.empty() && !is_timed) {
                all.back()->cache->save_cache((own + "/" + network.name + ".cache").c_str());
            }
        }
        if (is_timed) {
            std::printf("{\"pipelines\":%u,\"wall_ns\":%lld,\"cpu_ns\":%lld,\"longest_ns\":%lld}\n",
                        spent.pipelines, spent.wall_ns, spent.cpu_ns, spent.longest_ns);
        }
    }
    ncnn::destroy_gpu_instance();
    return done ? 0 : 1;
}
