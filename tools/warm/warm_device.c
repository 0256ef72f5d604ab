// SPDX-License-Identifier: Apache-2.0
/* What recipes are replayed on: a device for one environment, and the pipeline cache. */
#include "tools/warm/warm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/driver/identity.h"

/* Device extensions that programs enable depend on these. */
static const struct vulkan_instance_extension {
    const char *name;
    bool is_of_1_1;     /* depends on Vulkan 1.1, or on what lets programs ask for properties2 */
    const char *needer; /* enabled for this device extension alone; NULL: wherever it is offered */
} vulkan_instance_extensions[] = {
    {"VK_KHR_surface", false, NULL},
    {"VK_KHR_get_surface_capabilities2", false, NULL},
    {"VK_EXT_surface_maintenance1", false, NULL},
    {"VK_KHR_surface_maintenance1", false, NULL},
    {"VK_KHR_display", false, NULL},
    {"VK_KHR_device_group_creation", false, NULL},
    {"VK_KHR_external_memory_capabilities", true, NULL},
    {"VK_KHR_external_semaphore_capabilities", true, NULL},
    {"VK_KHR_external_fence_capabilities", true, NULL},
    {"VK_EXT_display_surface_counter", false, "VK_EXT_display_control"},
    {"VK_EXT_debug_report", false, "VK_EXT_debug_marker"},
    {"VK_EXT_debug_utils", false, "VK_EXT_device_address_binding_report"},
};

#define VULKAN_INSTANCE_EXTENSION_COUNT                                                            \
    (sizeof vulkan_instance_extensions / sizeof vulkan_instance_extensions[0])

/* What the loader and the drivers offer; to be freed. NULL, with a count of 0: no memory. */
static VkExtensionProperties *warm_vulkan_list_extensions(const struct vulkan_loader *loader,
                                                          uint32_t *ret_count)
{
    PFN_vkEnumerateInstanceExtensionProperties list =
        VULKAN_GET(loader, vkEnumerateInstanceExtensionProperties);
    uint32_t count = 0;
    if (list(NULL, &count, NULL) != VK_SUCCESS) {
        count = 0;
    }
    VkExtensionProperties *offered = calloc(count + 1u, sizeof *offered);
    *ret_count = offered && list(NULL, &count, offered) >= 0 ? count : 0;
    return offered;
}

static bool warm_vulkan_wants(const struct vulkan_instance_extension *extension,
                              const struct environment *environment,
                              const struct environment_device *told)
{
    return (told->has_properties2 || !extension->is_of_1_1) &&
           (!extension->needer || environment_has_extension(environment, extension->needer));
}

static VkResult warm_vulkan_create_instance(struct vulkan_loader *loader,
                                            const struct environment *environment,
                                            const struct environment_device *told)
{
    static const char properties2[] = "VK_KHR_get_physical_device_properties2";
    const char *enabled[VULKAN_INSTANCE_EXTENSION_COUNT + 1];
    uint32_t count = 0;
    uint32_t offered_count;
    AUTO_FREE VkExtensionProperties *offered = warm_vulkan_list_extensions(loader, &offered_count);
    for (size_t i = 0; i < VULKAN_INSTANCE_EXTENSION_COUNT; i++) {
        const struct vulkan_instance_extension *extension = &vulkan_instance_extensions[i];
        if (warm_vulkan_wants(extension, environment, told) &&
            extensions_have(offered, offered_count, extension->name)) {
            enabled[count++] = extension->name;
        }
    }
    if (told->has_properties2 && extensions_have(offered, offered_count, properties2)) {
        enabled[count++] = properties2;
    }
    const VkApplicationInfo application = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
        .pApplicationName = *told->application_name ? told->application_name : NULL,
        .applicationVersion = told->application_version,
        .pEngineName = *told->engine_name ? told->engine_name : NULL,
        .engineVersion = told->engine_version,
        .apiVersion = told->api_version,
    };
    const VkInstanceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
        .pApplicationInfo = &application,
        .enabledExtensionCount = count,
        .ppEnabledExtensionNames = enabled,
    };
    return VULKAN_GET(loader, vkCreateInstance)(&info, NULL, &loader->instance);
}

/* A command of Vulkan 1.1, by the name under which the program's instance has it; NULL: it has it
 * not at all. */
#define VULKAN_GET_2(vulkan, told, name)                                                           \
    ((PFN_##name)vulkan_command_2(vulkan, told, #name, #name "KHR"))

static PFN_vkVoidFunction vulkan_command_2(const struct warm_vulkan *vulkan,
                                           const struct environment_device *told, const char *name,
                                           const char *extension_name)
{
    const char *known = told->api_version >= VK_API_VERSION_1_1 ? name : extension_name;
    return told->has_properties2 ? vulkan->loader.get(vulkan->loader.instance, known) : NULL;
}

static bool warm_vulkan_find_device(struct warm_vulkan *vulkan, const struct warm_target *target,
                                    const struct environment_device *told)
{
    AUTO_FREE VkPhysicalDevice *devices = NULL;
    uint32_t count = 0;
    bool found = false;
    if (vulkan_loader_devices(&vulkan->loader, &devices, &count) == VK_SUCCESS &&
        target->device < count) {
        const struct identity_commands commands = {
            .get_properties = VULKAN_GET(&vulkan->loader, vkGetPhysicalDeviceProperties),
            .get_properties2 = VULKAN_GET_2(vulkan, told, vkGetPhysicalDeviceProperties2),
            .enumerate_extensions =
                VULKAN_GET(&vulkan->loader, vkEnumerateDeviceExtensionProperties),
        };
        struct driver_identity asked;
        vulkan->physical = devices[target->device];
        identity_query(&commands, vulkan->physical, &asked);
        found = digest_equal(identity_digest(&asked), target->digest);
    }
    return found;
}

static bool warm_vulkan_is_offered(struct warm_vulkan *vulkan,
                                   const struct environment *environment,
                                   const struct environment_device *told, environment_tell *tell,
                                   void *user)
{
    const struct environment_commands commands = {
        .get_properties = VULKAN_GET(&vulkan->loader, vkGetPhysicalDeviceProperties),
        .enumerate_extensions = VULKAN_GET(&vulkan->loader, vkEnumerateDeviceExtensionProperties),
        .get_features = VULKAN_GET(&vulkan->loader, vkGetPhysicalDeviceFeatures),
        .get_features2 = VULKAN_GET_2(vulkan, told, vkGetPhysicalDeviceFeatures2),
    };
    return environment_is_offered(environment, &commands, vulkan->physical, tell, user);
}

/* What a driver lacks just now says nothing of what it offers. */
static enum warm_made warm_vulkan_create_device(struct warm_vulkan *vulkan,
                                                const struct environment *environment, char *text,
                                                size_t size)
{
    AUTO_FREE VkDeviceCreateInfo *info = environment_create_info(environment);
    VkResult result = info ? VULKAN_GET(&vulkan->loader, vkCreateDevice)(vulkan->physical, info,
                                                                         NULL, &vulkan->device)
                           : VK_ERROR_OUT_OF_HOST_MEMORY;
    if (result != VK_SUCCESS) {
        vulkan->device = VK_NULL_HANDLE;
        snprintf(text, size, "the driver refuses the device (VkResult %d)", result);
        return result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY ||
                       result == VK_ERROR_TOO_MANY_OBJECTS || result == VK_ERROR_DEVICE_LOST
                   ? WARM_NO_DEVICE
                   : WARM_NOT_MADE;
    }
    vulkan->get = VULKAN_GET(&vulkan->loader, vkGetDeviceProcAddr);
    return WARM_MADE;
}

/* A command of the device; NULL: it has none of this name. */
static PFN_vkVoidFunction warm_vulkan_command(const struct warm_vulkan *vulkan, const char *name)
{
    return vulkan->get(vulkan->device, name);
}

#define WARM_COMMAND(vulkan, name) ((PFN_##name)warm_vulkan_command(vulkan, #name))

/* Each command, or the one of the extension that it came from. */
static void warm_vulkan_load_commands(struct warm_vulkan *v)
{
#define LOAD(member, name)                                                                         \
    v->commands.member = (PFN_vk##name)warm_vulkan_command(v, "vk" #name);                         \
    if (!v->commands.member) {                                                                     \
        v->commands.member = (PFN_vk##name)warm_vulkan_command(v, "vk" #name "KHR");               \
    }
    REPLAY_COMMANDS(LOAD)
#undef LOAD
}

enum warm_made warm_vulkan_open(const struct environment *environment,
                                const struct warm_target *target, struct warm_vulkan *ret_vulkan,
                                char *text, size_t size, environment_tell *tell, void *user)
{
    const struct environment_device told = environment_device_of(environment);
    struct warm_vulkan *vulkan = ret_vulkan;
    *vulkan = (struct warm_vulkan){0};
    const char *problem = vulkan_loader_open(&vulkan->loader);
    if (problem) {
        snprintf(text, size, "%s", problem);
        return WARM_NO_DEVICE;
    }
    VkResult result = warm_vulkan_create_instance(&vulkan->loader, environment, &told);
    if (result != VK_SUCCESS) {
        vulkan->loader.instance = NULL;
        snprintf(text, size, "no instance can be made (VkResult %d)", result);
        return WARM_NO_DEVICE;
    }
    if (!warm_vulkan_find_device(vulkan, target, &told)) {
        snprintf(text, size, "the device is not there any more");
        return WARM_OTHER_DEVICE;
    }
    if (!warm_vulkan_is_offered(vulkan, environment, &told, tell, user)) {
        return WARM_NOT_MADE;
    }
    if (target->offer_only) {
        return WARM_MADE;
    }
    const enum warm_made made = warm_vulkan_create_device(vulkan, environment, text, size);
    if (made == WARM_NOT_MADE) {
        tell(user, text);
    }
    if (made != WARM_MADE) {
        return made;
    }
    warm_vulkan_load_commands(vulkan);
    replay_limits_query(VULKAN_GET(&vulkan->loader, vkGetPhysicalDeviceProperties),
                        VULKAN_GET_2(vulkan, &told, vkGetPhysicalDeviceProperties2),
                        told.api_version, vulkan->physical, &vulkan->limits);
    vulkan->feedback =
        told.api_version >= VK_API_VERSION_1_3 ||
        environment_has_extension(environment, VK_EXT_PIPELINE_CREATION_FEEDBACK_EXTENSION_NAME);
    return WARM_MADE;
}

void warm_vulkan_close(struct warm_vulkan *vulkan)
{
    if (vulkan->device) {
        WARM_COMMAND(vulkan, vkDestroyDevice)(vulkan->device, NULL);
    }
    vulkan_loader_destroy_instance(&vulkan->loader);
    *vulkan = (struct warm_vulkan){0};
}

/* How often data that grows meanwhile is read, and the least room that it is given to grow. */
#define WARM_CACHE_READS 8
#define WARM_CACHE_SPARE 4096

/* NULL where the driver refuses. */
static VkPipelineCache warm_cache_create(const struct warm_cache *cache, const void *data,
                                         size_t size)
{
    const VkPipelineCacheCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
        .initialDataSize = size,
        .pInitialData = data,
    };
    VkPipelineCache handle = VK_NULL_HANDLE;
    const VkResult result = WARM_COMMAND(cache->vulkan, vkCreatePipelineCache)(
        cache->vulkan->device, &info, NULL, &handle);
    return result == VK_SUCCESS ? handle : VK_NULL_HANDLE;
}

static void warm_cache_destroy(const struct warm_cache *cache, VkPipelineCache handle)
{
    WARM_COMMAND(cache->vulkan, vkDestroyPipelineCache)(cache->vulkan->device, handle, NULL);
}

static void warm_cache_load(struct warm_cache *cache)
{
    AUTO(store_blob_free) struct store_blob blob = {0};
    cache->loaded = true;
    if (store_load(cache->store, &blob) != STATUS_ok) {
        return;
    }
    cache->data = malloc(blob.size);
    if (cache->data) {
        memcpy(cache->data, blob.data, blob.size);
        cache->size = blob.size;
        cache->saved = blob.digest;
    }
}

bool warm_cache_attach(struct warm_cache *cache, const struct warm_vulkan *vulkan)
{
    cache->vulkan = vulkan;
    if (!cache->loaded) {
        warm_cache_load(cache);
    }
    struct crash_guard *guard = store_guard(cache->store);
    const struct crash_call call = crash_guard_raise(guard, CRASH_KEY_LOAD, CRASH_INSIDE);
    cache->handle = warm_cache_create(cache, cache->data, cache->size);
    crash_guard_lower(guard, &call);
    if (cache->handle == VK_NULL_HANDLE && cache->size > 0) {
        cache->handle = warm_cache_create(cache, NULL, 0);
    }
    /* A crash from here on is a recipe's, and recorded as such. */
    store_survived(cache->store);
    return cache->handle != VK_NULL_HANDLE;
}

/* All data of the object, malloc'ed; tries again where it has grown meanwhile. NULL: the driver
 * does not give it. Some drivers leave the size as it was given (hazard 37: the written size cannot
 * be trusted): where there was spare room, the data counts only if it did not need all of it. */
static void *warm_cache_read(const struct warm_cache *cache, VkPipelineCache handle,
                             size_t *ret_size)
{
    const PFN_vkGetPipelineCacheData get = WARM_COMMAND(cache->vulkan, vkGetPipelineCacheData);
    VkDevice device = cache->vulkan->device;
    for (int attempt = 0; attempt < WARM_CACHE_READS; attempt++) {
        const bool spare = attempt % 2 != 0; /* room for what other threads compile meanwhile */
        size_t size = 0;
        if (get(device, handle, &size, NULL) != VK_SUCCESS) {
            return NULL;
        }
        size += spare ? size / 4 + WARM_CACHE_SPARE : 0;
        size_t written = size;
        void *data = malloc(size + 1);
        const VkResult result =
            data ? get(device, handle, &written, data) : VK_ERROR_OUT_OF_HOST_MEMORY;
        if (result == VK_SUCCESS && written <= size && (!spare || written < size)) {
            *ret_size = written;
            return data;
        }
        free(data);
        if (result < VK_SUCCESS) {
            return NULL;
        }
    }
    return NULL;
}

/* Our data and that of other processes in one, through a cache object that nobody else uses. NULL:
 * the driver refuses. */
static void *warm_cache_merge(const struct warm_cache *cache, const struct store_foreign *foreign,
                              const void *data, size_t size, size_t *ret_size)
{
    VkPipelineCache whole = warm_cache_create(cache, data, size);
    VkResult result = whole ? VK_SUCCESS : VK_ERROR_OUT_OF_HOST_MEMORY;
    for (size_t i = 0; result == VK_SUCCESS && i < foreign->count; i++) {
        VkPipelineCache other =
            warm_cache_create(cache, foreign->blobs[i].data, foreign->blobs[i].size);
        if (other) {
            result = WARM_COMMAND(cache->vulkan, vkMergePipelineCaches)(cache->vulkan->device,
                                                                        whole, 1, &other);
            warm_cache_destroy(cache, other);
        }
    }
    void *merged = result == VK_SUCCESS ? warm_cache_read(cache, whole, ret_size) : NULL;
    warm_cache_destroy(cache, whole);
    return merged;
}

/* only_unites: the file holds the data already, and they are saved with what lies beside it or not
 * at all; where none of that can be used, it goes. */
static enum status warm_cache_commit(const struct warm_cache *cache, const void *data, size_t size,
                                     bool only_unites)
{
    struct store_foreign foreign;
    if (store_begin(cache->store, &foreign) == STATUS_ok) {
        if (foreign.count == 0) {
            return store_commit(cache->store, data, size);
        }
        size_t merged_size = 0;
        store_merging(cache->store);
        AUTO_FREE void *merged =
            cache->may_merge ? warm_cache_merge(cache, &foreign, data, size, &merged_size) : NULL;
        store_merged(cache->store);
        if (merged && merged_size <= cache->max_blob) {
            return store_commit(cache->store, merged, merged_size);
        }
        store_abort(cache->store);
    }
    return only_unites ? STATUS_ok : store_commit_unmerged(cache->store, data, size);
}

bool warm_cache_is_empty(struct warm_cache *cache)
{
    size_t size = SIZE_MAX;
    if (cache->alone) {
        pthread_mutex_lock(cache->alone);
    }
    const VkResult result = WARM_COMMAND(cache->vulkan, vkGetPipelineCacheData)(
        cache->vulkan->device, cache->handle, &size, NULL);
    if (cache->alone) {
        pthread_mutex_unlock(cache->alone);
    }
    return result == VK_SUCCESS && size <= DRIVER_CACHE_EMPTY_SIZE;
}

enum status warm_cache_save(struct warm_cache *cache, size_t *ret_size)
{
    size_t size = 0;
    if (cache->alone) {
        pthread_mutex_lock(cache->alone);
    }
    AUTO_FREE void *data = warm_cache_read(cache, cache->handle, &size);
    const struct digest digest = digest_of(data, size);
    enum status reason = STATUS_ok;
    if (!data) {
        reason = STATUS_driver_refused;
    } else if (size <= DRIVER_CACHE_EMPTY_SIZE) {
        reason = STATUS_ineffective;
    } else if (!digest_equal(digest, cache->saved)) {
        reason = warm_cache_commit(cache, data, size, false);
    } else if (cache->may_merge && store_has_others(cache->store)) {
        warm_cache_commit(cache, data, size, true); /* the cache is as good as it was if it fails */
    }
    if (cache->alone) {
        pthread_mutex_unlock(cache->alone);
    }
    if (reason == STATUS_ok) {
        cache->saved = digest;
    }
    *ret_size = size;
    return reason;
}

void warm_cache_detach(struct warm_cache *cache)
{
    size_t size = 0;
    void *data = warm_cache_read(cache, cache->handle, &size);
    if (data) {
        free(cache->data);
        cache->data = data;
        cache->size = size;
    }
    warm_cache_destroy(cache, cache->handle);
    cache->handle = VK_NULL_HANDLE;
    cache->vulkan = NULL;
}
