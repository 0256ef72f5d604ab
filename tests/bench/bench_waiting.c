// SPDX-License-Identifier: Apache-2.0
/* A plain Vulkan program whose threads want the same pipelines at the same time. It prints one JSON
 * object, the median of what it took; tests/bench/sharing.py runs it in pairs.
 *
 * bench_waiting batch: one pipeline, while another thread creates it with 39 more in one call;
 * caches: the same pipeline on two threads at once, each with a cache of its own. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "bench_device.h"

#define ROUNDS 41
#define BATCH  40
#define STEP   8 /* between the numbers of two pipelines */

#define SUMS 4000

static pthread_barrier_t start;

/* The empty shader with some sums that nobody uses: a compile of milliseconds. */
static VkShaderModule create_slow_module(void)
{
    enum { HEAD = 26, TYPES = 8, BODY = 7, TAIL = 2, UINT = 5, ONE = 6 };
    static uint32_t code[HEAD + TYPES + BODY + SUMS * 5 + TAIL];
    const uint32_t types[TYPES] = {0x00040015, UINT, 32, 0, 0x0004002b, UINT, ONE, 1};
    uint32_t *next = code + HEAD + TYPES + BODY;
    memcpy(code, empty_shader, HEAD * sizeof *code);
    code[3] = ONE + 1 + SUMS; /* the bound of ids */
    memcpy(code + HEAD, types, sizeof types);
    memcpy(code + HEAD + TYPES, empty_shader + HEAD, BODY * sizeof *code);
    for (uint32_t i = 0; i < SUMS; ++i, next += 5) {
        const uint32_t sum[5] = {0x00050080, UINT, ONE + 1 + i, ONE + i, ONE};
        memcpy(next, sum, sizeof sum);
    }
    memcpy(next, empty_shader + HEAD + BODY, TAIL * sizeof *code);
    return create_module(code, sizeof code);
}

static int compare(const void *a, const void *b)
{
    const double *left = a;
    const double *right = b;
    return (*left > *right) - (*left < *right);
}

static uint32_t round_number(int round)
{
    return 1000 + (uint32_t)round * BATCH * STEP;
}

static void *create_batches(void *argument)
{
    (void)argument;
    for (int round = 0; round < ROUNDS; ++round) {
        VkPipeline pipelines[BATCH];
        pthread_barrier_wait(&start);
        create_pipelines(VK_NULL_HANDLE, round_number(round), STEP, BATCH, pipelines);
        pthread_barrier_wait(&start);
        for (int i = 0; i < BATCH; ++i) {
            vkDestroyPipeline(device, pipelines[i], NULL);
        }
    }
    return NULL;
}

/* The other thread is in its call by then. */
#define HEAD_START_NS 200000

static double beside_batch(int round)
{
    pthread_barrier_wait(&start);
    double begin = now_ns() + HEAD_START_NS;
    while (now_ns() < begin) {
    }
    begin = now_ns();
    VkPipeline pipeline = create_pipeline(VK_NULL_HANDLE, round_number(round));
    double took = now_ns() - begin;
    pthread_barrier_wait(&start);
    vkDestroyPipeline(device, pipeline, NULL);
    return took;
}

static double created_in(VkPipelineCache cache, int round)
{
    pthread_barrier_wait(&start);
    double begin = now_ns();
    VkPipeline pipeline = create_pipeline(cache, round_number(round));
    double took = now_ns() - begin;
    pthread_barrier_wait(&start);
    vkDestroyPipeline(device, pipeline, NULL);
    return took;
}

static double other_took[ROUNDS];

static void *create_in_own_cache(void *argument)
{
    (void)argument;
    VkPipelineCache cache = create_cache(NULL, 0);
    for (int round = 0; round < ROUNDS; ++round) {
        other_took[round] = created_in(cache, round);
    }
    vkDestroyPipelineCache(device, cache, NULL);
    return NULL;
}

static void run(bool batch)
{
    double took[ROUNDS];
    pthread_t other;
    VkPipelineCache cache = batch ? VK_NULL_HANDLE : create_cache(NULL, 0);
    pthread_barrier_init(&start, NULL, 2);
    pthread_create(&other, NULL, batch ? create_batches : create_in_own_cache, NULL);
    for (int round = 0; round < ROUNDS; ++round) {
        took[round] = batch ? beside_batch(round) : created_in(cache, round);
    }
    pthread_join(other, NULL);
    for (int round = 0; round < ROUNDS; ++round) {
        took[round] = took[round] > other_took[round] ? took[round] : other_took[round];
    }
    qsort(took, ROUNDS, sizeof took[0], compare);
    printf("{\"ns\":%.1f}\n", took[ROUNDS / 2]);
    vkDestroyPipelineCache(device, cache, NULL);
    pthread_barrier_destroy(&start);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    bool batch = strcmp(what, "batch") == 0;
    if (!batch && strcmp(what, "caches") != 0) {
        fprintf(stderr, "bench_waiting: unknown '%s'\n", what);
        return 2;
    }
    VkInstance instance = open_device();
    module = create_slow_module();
    layout = create_layout(0);
    run(batch);
    vkDestroyPipelineLayout(device, layout, NULL);
    vkDestroyShaderModule(device, module, NULL);
    vkDestroyDevice(device, NULL);
    vkDestroyInstance(instance, NULL);
    return 0;
}
