// SPDX-License-Identifier: Apache-2.0
/* A plain Vulkan program that times what it asks for again and again: the hot paths of the layer,
 * or, without it, of the driver. It prints one JSON object; tests/bench/sharing.py runs it in
 * pairs.
 *
 * bench_sharing pipeline [--live N] [--own-cache] [--threads T]: the same pipeline again and again;
 * distinct [--own-cache FILE]: pipelines that a cache has; module: the same module of 100 KB again;
 * reference: XXH3-128 and memcmp of as much; live: heap bytes of each live object; transient:
 * modules destroyed after use. */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "bench_device.h"

#define ROUNDS           40
#define REPEATS          500
#define THREAD_HITS      200000
#define THREAD_PIPELINES 16
#define DISTINCT         240
#define MODULE_BYTES     100000
#define LIVE_OBJECTS     20000
#define TRANSIENT_ROUNDS 400

/* Best mean over a round of repetitions, in ns. */
static double time_pipeline(VkPipelineCache cache)
{
    static _Thread_local VkPipeline created[REPEATS];
    double best = 1e18;
    for (int round = 0; round < ROUNDS; ++round) {
        double start = now_ns();
        for (int i = 0; i < REPEATS; ++i) {
            created[i] = create_pipeline(cache, 1);
        }
        double mean = (now_ns() - start) / REPEATS;
        best = mean < best ? mean : best;
        for (int i = 0; i < REPEATS; ++i) {
            vkDestroyPipeline(device, created[i], NULL);
        }
    }
    return best;
}

struct hitter {
    pthread_t thread;
    uint32_t number;
    pthread_barrier_t *start; /* nobody hits before all have what they hit */
};

/* Each thread asks for pipelines of its own in turn, of the same module and layout. */
static void *hit(void *argument)
{
    const struct hitter *hitter = argument;
    VkPipeline kept[THREAD_PIPELINES];
    for (uint32_t i = 0; i < THREAD_PIPELINES; ++i) {
        kept[i] = create_pipeline(VK_NULL_HANDLE, hitter->number + i * 8);
    }
    pthread_barrier_wait(hitter->start);
    for (uint32_t i = 0; i < THREAD_HITS; ++i) {
        uint32_t number = hitter->number + i % THREAD_PIPELINES * 8;
        vkDestroyPipeline(device, create_pipeline(VK_NULL_HANDLE, number), NULL);
    }
    for (uint32_t i = 0; i < THREAD_PIPELINES; ++i) {
        vkDestroyPipeline(device, kept[i], NULL);
    }
    return NULL;
}

static void run_threads(uint32_t threads)
{
    struct hitter hitters[64];
    pthread_barrier_t barrier;
    threads = threads < 64 ? threads : 64;
    pthread_barrier_init(&barrier, NULL, threads + 1);
    for (uint32_t i = 0; i < threads; ++i) {
        hitters[i].number = 1 + i * THREAD_PIPELINES * 8;
        hitters[i].start = &barrier;
        pthread_create(&hitters[i].thread, NULL, hit, &hitters[i]);
    }
    pthread_barrier_wait(&barrier);
    double start = now_ns();
    for (uint32_t i = 0; i < threads; ++i) {
        pthread_join(hitters[i].thread, NULL);
    }
    double seconds = (now_ns() - start) / 1e9;
    pthread_barrier_destroy(&barrier);
    printf("{\"per_second\":%.0f}\n", (double)threads * THREAD_HITS / seconds);
}

static void run_pipeline(uint32_t live, bool own_cache)
{
    VkPipelineCache cache = own_cache ? create_cache(NULL, 0) : VK_NULL_HANDLE;
    VkPipeline kept = create_pipeline(cache, 1);
    VkShaderModule *others = calloc(live + 1, sizeof *others);
    uint32_t code[sizeof empty_shader / 4];
    memcpy(code, empty_shader, sizeof code);
    for (uint32_t i = 0; i < live; ++i) {
        code[2] = i + 1; /* the generator: any number will do */
        others[i] = create_module(code, sizeof code);
    }
    printf("{\"ns\":%.1f}\n", time_pipeline(cache));
    for (uint32_t i = 0; i < live; ++i) {
        vkDestroyShaderModule(device, others[i], NULL);
    }
    free(others);
    vkDestroyPipeline(device, kept, NULL);
    vkDestroyPipelineCache(device, cache, NULL);
}

static void *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    void *data = malloc(1 << 24);
    *size = file ? fread(data, 1, 1 << 24, file) : 0;
    if (file) {
        fclose(file);
    }
    return data;
}

/* Pipelines that are all new to this process, and that a cache has from an earlier one. */
static void run_distinct(const char *own_file)
{
    VkPipelineCache cache = VK_NULL_HANDLE;
    size_t size = 0;
    if (own_file) {
        void *data = read_file(own_file, &size);
        cache = create_cache(data, size);
        free(data);
    }
    VkPipeline pipelines[DISTINCT];
    pipelines[0] = create_pipeline(cache, 1000); /* loads */
    double start = now_ns();
    for (uint32_t i = 1; i < DISTINCT; ++i) {
        pipelines[i] = create_pipeline(cache, 1000 + i * 8);
    }
    printf("{\"ns\":%.1f}\n", (now_ns() - start) / (DISTINCT - 1));
    if (own_file && size == 0) {
        vkGetPipelineCacheData(device, cache, &size, NULL);
        void *data = malloc(size);
        vkGetPipelineCacheData(device, cache, &size, data);
        FILE *file = fopen(own_file, "wb");
        if (file) {
            fwrite(data, 1, size, file);
            fclose(file);
        }
        free(data);
    }
    for (uint32_t i = 0; i < DISTINCT; ++i) {
        vkDestroyPipeline(device, pipelines[i], NULL);
    }
    vkDestroyPipelineCache(device, cache, NULL);
}

static uint32_t *make_code(uint32_t number)
{
    uint32_t *code = malloc(MODULE_BYTES);
    memcpy(code, empty_shader, sizeof empty_shader);
    for (size_t i = sizeof empty_shader / 4; i < MODULE_BYTES / 4; ++i) {
        code[i] = (uint32_t)(i * 2654435761u + number);
    }
    return code;
}

static void run_module(void)
{
    uint32_t *code = make_code(0);
    VkShaderModule kept = create_module(code, MODULE_BYTES);
    double best = 1e18;
    for (int i = 0; i < ROUNDS * 50; ++i) {
        double start = now_ns();
        VkShaderModule created = create_module(code, MODULE_BYTES);
        double took = now_ns() - start;
        best = took < best ? took : best;
        vkDestroyShaderModule(device, created, NULL);
    }
    printf("{\"ns\":%.1f}\n", best);
    vkDestroyShaderModule(device, kept, NULL);
    free(code);
}

static void run_reference(void)
{
    uint32_t *code = make_code(0);
    uint32_t *kept = make_code(0);
    double best = 1e18;
    uint64_t sum = 0;
    for (int i = 0; i < ROUNDS * 50; ++i) {
        double start = now_ns();
        XXH128_hash_t digest = XXH3_128bits(code, MODULE_BYTES);
        __asm__ volatile("" : "+r"(digest.low64), "+r"(digest.high64) : : "memory");
        sum += digest.low64 + (uint64_t)memcmp(code, kept, MODULE_BYTES);
        double took = now_ns() - start;
        best = took < best ? took : best;
    }
    printf("{\"ns\":%.1f,\"sum\":%llu}\n", best, (unsigned long long)sum);
    free(code);
    free(kept);
}

static size_t heap_bytes(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static void run_live(void)
{
    VkShaderModule *modules = malloc(LIVE_OBJECTS * sizeof *modules);
    uint32_t code[sizeof empty_shader / 4];
    memcpy(code, empty_shader, sizeof code);
    size_t before = heap_bytes();
    for (uint32_t i = 0; i < LIVE_OBJECTS; ++i) {
        code[2] = i + 1;
        modules[i] = create_module(code, sizeof code);
    }
    printf("{\"module_bytes\":%.1f}\n", (double)(heap_bytes() - before) / LIVE_OBJECTS);
    for (uint32_t i = 0; i < LIVE_OBJECTS; ++i) {
        vkDestroyShaderModule(device, modules[i], NULL);
    }
    free(modules);
}

/* As most programs do: a module lives until its pipeline is made. */
static void run_transient(void)
{
    VkPipeline pipelines[TRANSIENT_ROUNDS];
    for (uint32_t i = 0; i < TRANSIENT_ROUNDS; ++i) {
        uint32_t *code = make_code(i);
        VkShaderModule big = create_module(code, MODULE_BYTES);
        vkDestroyShaderModule(device, big, NULL);
        free(code);
        pipelines[i] = create_pipeline(VK_NULL_HANDLE, 1000 + i * 8);
    }
    for (uint32_t i = 0; i < TRANSIENT_ROUNDS; ++i) {
        vkDestroyPipeline(device, pipelines[i], NULL);
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("{\"peak_rss_bytes\":%ld}\n", usage.ru_maxrss * 1024);
}

static const char *option(int argc, char **argv, const char *name)
{
    for (int i = 2; i < argc; ++i) {
        if (strcmp(argv[i], name) == 0) {
            return i + 1 < argc ? argv[i + 1] : "";
        }
    }
    return NULL;
}

static uint32_t number(const char *text)
{
    return text ? (uint32_t)strtoul(text, NULL, 10) : 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "reference") == 0) {
        run_reference();
        return 0;
    }
    VkInstance instance = open_device();
    module = create_module(empty_shader, sizeof empty_shader);
    layout = create_layout(0);
    if (strcmp(what, "pipeline") == 0) {
        uint32_t threads = number(option(argc, argv, "--threads"));
        if (threads > 0) {
            run_threads(threads);
        } else {
            run_pipeline(number(option(argc, argv, "--live")), option(argc, argv, "--own-cache"));
        }
    } else if (strcmp(what, "distinct") == 0) {
        run_distinct(option(argc, argv, "--own-cache"));
    } else if (strcmp(what, "module") == 0) {
        run_module();
    } else if (strcmp(what, "live") == 0) {
        run_live();
    } else if (strcmp(what, "transient") == 0) {
        run_transient();
    } else {
        fprintf(stderr, "bench_sharing: unknown '%s'\n", what);
        return 2;
    }
    vkDestroyPipelineLayout(device, layout, NULL);
    vkDestroyShaderModule(device, module, NULL);
    vkDestroyDevice(device, NULL);
    vkDestroyInstance(instance, NULL);
    return 0;
}
