/* The driver's pipeline cache objects, as warmpipe itself makes and reads them: never with memory
 * of the program's allocator (own_allocator.h), and one at a time where the driver needs that. */
#ifndef WARMPIPE_LAYER_DRIVER_CACHE_H
#define WARMPIPE_LAYER_DRIVER_CACHE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "next.h"

/* VkPipelineCacheHeaderVersionOne: data of this size holds no pipeline. */
#define DRIVER_CACHE_HEADER_SIZE 32

/* One device's way to its caches. */
struct driver_caches {
    VkDevice device;
    const device_table *table;
    const VkAllocationCallbacks *allocator; /* of our own; NULL: the driver's own memory */
    pthread_mutex_t *serialize; /* NULL: the driver takes cache users at once, as Vulkan promises */
};

/* Every use of a pipeline cache stands between these two; no-ops unless the driver is marked
 * `serialize` by the policy. */
void driver_cache_enter(const struct driver_caches *caches);
void driver_cache_leave(const struct driver_caches *caches);

/* A new cache from `size` bytes (0: empty), or VK_NULL_HANDLE. */
VkPipelineCache driver_cache_create(const struct driver_caches *caches, const void *data,
                                    size_t size);

/* VK_NULL_HANDLE is a no-op. */
void driver_cache_destroy(const struct driver_caches *caches, VkPipelineCache cache);

/* A new cache with the same contents, or VK_NULL_HANDLE. Whatever is still in use must be merged
 * from a copy: some drivers move the entries out of the source (RADV of Mesa 22.3), though a source
 * is not among what vkMergePipelineCaches may change. Other threads may be using the source. */
VkPipelineCache driver_cache_copy(const struct driver_caches *caches, VkPipelineCache source);

/* vkMergePipelineCaches; what is in the sources afterwards is the driver's choice. The caller alone
 * uses `destination` (VUID-vkMergePipelineCaches-dstCache- 10202: host access to it is externally
 * synchronized). */
bool driver_cache_merge(const struct driver_caches *caches, VkPipelineCache destination,
                        uint32_t count, const VkPipelineCache *sources);

/* How large the cache's data is; 0: the driver does not tell. */
size_t driver_cache_size(const struct driver_caches *caches, VkPipelineCache cache);

/* The cache's data, malloc'ed, with the size that the driver said it wrote; the cache may grow
 * meanwhile. False if the driver gives none, says VK_INCOMPLETE again and again, or memory is out.
 */
bool driver_cache_read(const struct driver_caches *caches, VkPipelineCache cache,
                       uint8_t **ret_data, size_t *ret_size);

#endif
