/* Pipeline cache commands: they keep app_caches informed of the program's own caches. */
#include "app_caches.h"
#include "device.h"
#include "driver_cache.h"
#include "injector.h"
#include "intercept.h"

VKAPI_ATTR VkResult VKAPI_CALL
intercept_create_pipeline_cache(VkDevice device, const VkPipelineCacheCreateInfo *create_info,
                                const VkAllocationCallbacks *allocator, VkPipelineCache *ret_cache)
{
    struct device *state = device_of(device);
    const struct driver_caches *driver = injector_caches(state->injector);
    driver_cache_enter(driver);
    VkResult result = state->table.CreatePipelineCache(device, create_info, allocator, ret_cache);
    driver_cache_leave(driver);
    if (result == VK_SUCCESS) {
        app_caches_created(state->app_caches, create_info, allocator, *ret_cache);
    }
    return result;
}

VKAPI_ATTR void VKAPI_CALL intercept_destroy_pipeline_cache(VkDevice device, VkPipelineCache cache,
                                                            const VkAllocationCallbacks *allocator)
{
    struct device *state = device_of(device);
    if (cache == VK_NULL_HANDLE || app_caches_destroying(state->app_caches, cache, allocator)) {
        const struct driver_caches *driver = injector_caches(state->injector);
        driver_cache_enter(driver);
        state->table.DestroyPipelineCache(device, cache, allocator);
        driver_cache_leave(driver);
    }
}

VKAPI_ATTR VkResult VKAPI_CALL intercept_get_pipeline_cache_data(VkDevice device,
                                                                 VkPipelineCache cache,
                                                                 size_t *data_size, void *data)
{
    return app_caches_get_data(device_of(device)->app_caches, cache, data_size, data);
}

VKAPI_ATTR VkResult VKAPI_CALL intercept_merge_pipeline_caches(VkDevice device,
                                                               VkPipelineCache destination,
                                                               uint32_t source_count,
                                                               const VkPipelineCache *sources)
{
    return app_caches_merge(device_of(device)->app_caches, destination, source_count, sources);
}
