#include "own_allocator.h"

#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* What malloc gives by itself. */
#define USUAL_ALIGNMENT _Alignof(max_align_t)

static void *VKAPI_PTR allocate(void *user, size_t size, size_t alignment,
                                VkSystemAllocationScope scope)
{
    (void)user;
    (void)scope;
    if (size == 0) {
        return NULL;
    }
    if (alignment <= USUAL_ALIGNMENT) {
        return malloc(size);
    }
    void *memory = NULL;
    return posix_memalign(&memory, alignment, size) == 0 ? memory : NULL;
}

static void VKAPI_PTR release(void *user, void *memory)
{
    (void)user;
    free(memory);
}

static void *VKAPI_PTR reallocate(void *user, void *original, size_t size, size_t alignment,
                                  VkSystemAllocationScope scope)
{
    if (!original || size == 0) {
        free(original);
        return allocate(user, size, alignment, scope);
    }
    if (alignment <= USUAL_ALIGNMENT) {
        return realloc(original, size);
    }
    void *memory = allocate(user, size, alignment, scope);
    if (memory) {
        const size_t old_size = malloc_usable_size(original);
        memcpy(memory, original, old_size < size ? old_size : size);
        free(original);
    }
    return memory;
}

const VkAllocationCallbacks own_allocator = {
    .pfnAllocation = allocate,
    .pfnReallocation = reallocate,
    .pfnFree = release,
};
