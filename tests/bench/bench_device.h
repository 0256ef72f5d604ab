// SPDX-License-Identifier: Apache-2.0
/* What the benchmarks' own programs are made of: a device, and small compute pipelines on it. A
 * call that fails ends the process with status 2. */
#ifndef BENCH_DEVICE_H
#define BENCH_DEVICE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <vulkan/vulkan.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        VkResult check_result = (call);                                                            \
        if (check_result != VK_SUCCESS) {                                                          \
            fprintf(stderr, "bench: %s: %d\n", #call, (int)check_result);                          \
            exit(2);                                                                               \
        }                                                                                          \
    } while (0)

/* A compute shader with an empty main, as SPIR-V 1.0. */
#define EMPTY_SHADER_WORDS 35
extern const uint32_t empty_shader[EMPTY_SHADER_WORDS];

/* Of the device that open_device has made; the pipelines' layout and module are the caller's. */
extern VkDevice device;
extern VkPipelineLayout layout;
extern VkShaderModule module;

VkInstance open_device(void);
VkShaderModule create_module(const uint32_t *code, size_t size);
VkPipelineLayout create_layout(uint32_t push_bytes);
VkPipelineCache create_cache(const void *data, size_t size);

/* Pipelines that differ by their specialization constants, which begin at `number`. */
VkPipeline create_pipeline(VkPipelineCache cache, uint32_t number);
void create_pipelines(VkPipelineCache cache, uint32_t number, uint32_t step, uint32_t count,
                      VkPipeline *ret_pipelines);

double now_ns(void);

#endif
