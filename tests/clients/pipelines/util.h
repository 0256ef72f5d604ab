// SPDX-License-Identifier: Apache-2.0
/* What every file of this program needs: the way it fails, and its clock. */
#ifndef PIPELINES_UTIL_H
#define PIPELINES_UTIL_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <vulkan/vulkan.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

_Noreturn static inline void fail(const char *what, VkResult result)
{
    fprintf(stderr, "pipelines: %s failed (%d)\n", what, (int)result);
    exit(1);
}

static inline void must(VkResult result, const char *what)
{
    if (result != VK_SUCCESS) {
        fail(what, result);
    }
}

static inline void *must_allocate(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory) {
        fail("calloc", VK_ERROR_OUT_OF_HOST_MEMORY);
    }
    return memory;
}

static inline uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void sleep_ms(uint32_t ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    while (nanosleep(&t, &t) != 0) {
    }
}

#endif
