#include "device.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "app_caches.h"
#include "base/log.h"
#include "device_traits.h"
#include "handle_map.h"
#include "housekeeper.h"
#include "injector.h"
#include "instance.h"
#include "prewarm.h"
#include "recorder.h"
#include "sharing.h"
#include "trace.h"

static struct handle_map devices = HANDLE_MAP_INIT;
static atomic_uint device_count; /* of this process, ever */

/* As in instance.c: the vkCreateDevice, or the question to the next layer, that this thread is in.
 */
struct creation {
    const VkLayerDeviceLink *links;
    PFN_vkGetDeviceProcAddr lower_next;
};
static _Thread_local struct creation current;

PFN_vkGetDeviceProcAddr device_nested_next(void)
{
    return current.lower_next;
}

PFN_vkVoidFunction device_next(const struct device *device, const char *name)
{
    struct creation outer = current;
    current.lower_next = device->lower_next;
    PFN_vkVoidFunction function = device->table.GetDeviceProcAddr(device->handle, name);
    current = outer;
    return function;
}

struct device *device_of(VkDevice device)
{
    return device ? handle_map_get(&devices, dispatch_key(device)) : NULL;
}

static bool is_lower_copy(const VkLayerDeviceLink *link)
{
    const VkLayerDeviceLink *below = current.links;
    while (below && below != link) {
        below = below->pNext;
    }
    return below;
}

static VkLayerDeviceCreateInfo *find_link(const VkDeviceCreateInfo *create_info)
{
    const VkLayerDeviceCreateInfo *info = create_info->pNext;
    while (info && !(info->sType == VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO &&
                     info->function == VK_LAYER_LINK_INFO)) {
        info = info->pNext;
    }
    return (VkLayerDeviceCreateInfo *)(uintptr_t)info;
}

/* The commands of the next layer that warmpipe calls; of a promoted one the older name serves where
 * the device has no other. */
#define NEXT(member, older)                                                                        \
    {                                                                                              \
        "vk" #member, older, offsetof(device_table, member)                                        \
    }

static const struct {
    const char *name;
    const char *older;
    size_t offset;
} next_commands[] = {
    NEXT(DestroyDevice, NULL),
    NEXT(CreatePipelineCache, NULL),
    NEXT(DestroyPipelineCache, NULL),
    NEXT(GetPipelineCacheData, NULL),
    NEXT(MergePipelineCaches, NULL),
    NEXT(CreateComputePipelines, NULL),
    NEXT(CreateGraphicsPipelines, NULL),
    NEXT(CreateRayTracingPipelinesKHR, NULL),
    NEXT(CreateRayTracingPipelinesNV, NULL),
    NEXT(DestroyPipeline, NULL),
    NEXT(CreateShaderModule, NULL),
    NEXT(DestroyShaderModule, NULL),
    NEXT(CreateDescriptorSetLayout, NULL),
    NEXT(DestroyDescriptorSetLayout, NULL),
    NEXT(CreatePipelineLayout, NULL),
    NEXT(DestroyPipelineLayout, NULL),
    NEXT(CreateDescriptorUpdateTemplate, "vkCreateDescriptorUpdateTemplateKHR"),
    NEXT(DestroyDescriptorUpdateTemplate, "vkDestroyDescriptorUpdateTemplateKHR"),
    NEXT(CreateSampler, NULL),
    NEXT(DestroySampler, NULL),
    NEXT(CreateSamplerYcbcrConversion, "vkCreateSamplerYcbcrConversionKHR"),
    NEXT(DestroySamplerYcbcrConversion, "vkDestroySamplerYcbcrConversionKHR"),
    NEXT(CreateRenderPass, NULL),
    NEXT(CreateRenderPass2, "vkCreateRenderPass2KHR"),
    NEXT(DestroyRenderPass, NULL),
    NEXT(SetDebugUtilsObjectNameEXT, NULL),
    NEXT(SetDebugUtilsObjectTagEXT, NULL),
    NEXT(DebugMarkerSetObjectNameEXT, NULL),
    NEXT(DebugMarkerSetObjectTagEXT, NULL),
};

static void take_commands(struct device *device, PFN_vkGetDeviceProcAddr next)
{
    device->table.GetDeviceProcAddr = next;
    device->lower_next = current.lower_next;
    for (size_t i = 0; i < sizeof next_commands / sizeof next_commands[0]; ++i) {
        PFN_vkVoidFunction function = next(device->handle, next_commands[i].name);
        if (!function && next_commands[i].older) {
            function = next(device->handle, next_commands[i].older);
        }
        memcpy((char *)&device->table + next_commands[i].offset, &function, sizeof function);
    }
}

static void device_free(struct device *device)
{
    if (device) {
        recorder_delete(device->recorder);
        sharing_delete(device->sharing);
        trace_delete(device->trace);
        app_caches_delete(device->app_caches);
        injector_delete(device->injector);
        instance_release(device->instance);
        pthread_mutex_destroy(&device->name_lock);
        free(device);
    }
}

/* Handles are shared where nothing that the program asked for, and no tool in the chain, tells
 * equal objects apart (hazards 2, 57); where they are not, they are named if that is asked for. */
static struct sharing *start_sharing(const struct device *device,
                                     const struct device_traits *traits,
                                     const struct driver_identity *identity, bool named)
{
    const struct config *config = &device->instance->config;
    bool shared = config->dedup != 0 && !traits->private_data && !traits->group &&
                  injector_policy(device->injector)->deduplicate && !device_traits_capture_tool();
    if (!shared && !named) {
        return NULL;
    }
    return sharing_new(&(struct sharing_setup){
        .kinds = shared ? config->dedup : 0,
        .has_callback = &device->instance->has_callback,
        .layouts_by_serial = identity->api_version < VK_API_VERSION_1_3 && !traits->maintenance4,
        .blend_advanced_coherent = traits->blend_advanced_coherent,
    });
}

/* The environment of this device's recipes. */
static void encode_environment(const struct device *device, const VkDeviceCreateInfo *create_info,
                               const struct driver_identity *identity, struct bytes *out)
{
    const struct instance *instance = device->instance;
    struct environment_device environment = instance->application;
    environment.vendor_id = identity->vendor_id;
    environment.device_id = identity->device_id;
    environment.api_version = identity->api_version < instance->api_version ? identity->api_version
                                                                            : instance->api_version;
    environment.has_properties2 = instance->get_properties2 != NULL;
    environment_encode(&environment, create_info, out);
}

/* What is asked for is recorded where blobs are kept: elsewhere nobody gains by it. */
static void start_recording(struct device *device, const VkDeviceCreateInfo *create_info,
                            const struct device_traits *traits,
                            const struct driver_identity *identity)
{
    const struct config *config = &device->instance->config;
    bool records = injector_policy(device->injector)->persist && !config->read_only;
    device->sharing = start_sharing(device, traits, identity, records);
    if (records && device->sharing) {
        struct bytes environment = {0};
        encode_environment(device, create_info, identity, &environment);
        device->recorder = recorder_new(&(struct recorder_setup){
            .root = config->root,
            .app = device->instance->app,
            .max_size = config->max_size,
            .environment = &environment,
            .housekeeper = device->housekeeper,
        });
    }
}

/* What recipes ask for is compiled ahead where nobody else would see it. */
static void start_prewarm(struct device *device, VkPhysicalDevice physical_device,
                          const struct device_traits *traits)
{
    struct instance *instance = device->instance;
    if (!device->recorder || traits->group || device_traits_capture_tool()) {
        return;
    }
    const struct bytes *environment = recorder_environment(device->recorder);
    device->prewarm = prewarm_start(&(struct prewarm_setup){
        .device = device->handle,
        .physical_device = physical_device,
        .get_properties = instance->get_properties,
        .get_properties2 = instance->get_properties2,
        .table = &device->table,
        .config = &instance->config,
        .app = instance->app,
        .injector = device->injector,
        .stats = &device->stats,
        .trace = device->trace,
        .environment = environment->data,
        .environment_size = environment->size,
        .has_callback = &instance->has_callback,
        .feedback = device->feedback,
    });
}

/* What makes a device more than a link in the chain. On a lack of memory it stays passive. */
static void start_work(struct device *device, VkPhysicalDevice physical_device,
                       const VkDeviceCreateInfo *create_info,
                       const VkAllocationCallbacks *allocator)
{
    struct instance *instance = device->instance;
    struct identity_commands commands = {
        .get_properties = instance->get_properties,
        .get_properties2 = instance->get_properties2,
        .enumerate_extensions = instance->enumerate_extensions,
    };
    struct driver_identity identity;
    identity_query(&commands, physical_device, &identity);
    struct device_traits traits;
    device_traits_read(create_info, &traits);
    bool has_allocator = allocator || instance->has_allocator;
    if (has_allocator || traits.memory_report) {
        atomic_store(&instance->has_callback, true);
    }
    /* A program may use what both the device and its own VkApplicationInfo::apiVersion offer. */
    bool version_1_3 =
        identity.api_version >= VK_API_VERSION_1_3 && instance->api_version >= VK_API_VERSION_1_3;
    device->feedback = version_1_3 || traits.creation_feedback;
    const unsigned index = atomic_fetch_add(&device_count, 1);
    const char *trace_path = instance->config.trace_path;
    device->trace = trace_path ? trace_new(trace_path, instance->app, index, &identity) : NULL;
    device->housekeeper = housekeeper_new(&instance->config, instance->app);
    device->injector = injector_new(&(struct injector_setup){.device = device->handle,
                                                             .table = &device->table,
                                                             .config = &instance->config,
                                                             .app = instance->app,
                                                             .stats = &device->stats,
                                                             .trace = device->trace,
                                                             .housekeeper = device->housekeeper,
                                                             .device_index = index,
                                                             .device_group = traits.group,
                                                             .has_allocator = has_allocator},
                                    &identity);
    device->app_caches = device->injector
                             ? app_caches_new(device->handle, &device->table, device->injector,
                                              &instance->config, instance->app, &device->stats)
                             : NULL;
    device->passive = !device->app_caches;
    if (!device->passive) {
        start_recording(device, create_info, &traits, &identity);
        start_prewarm(device, physical_device, &traits);
        return;
    }
    /* The worker must know them no more. */
    if (device->injector) {
        injector_finish(device->injector);
    }
    housekeeper_finish(device->housekeeper);
    device->housekeeper = NULL;
    trace_finish(device->trace);
}

/* In the map under a key of its own until it has that of a device: all memory without which there
 * would be no device is taken before there is one. NULL: out of memory. */
static struct device *device_new(struct instance *instance)
{
    struct device *device = calloc(1, sizeof *device);
    if (device) {
        device->instance = instance_reference(instance);
        device->passive = true;
        pthread_mutex_init(&device->name_lock, NULL);
    }
    if (!handle_map_put(&devices, (uint64_t)(uintptr_t)device, device)) {
        device_free(device);
        device = NULL;
    }
    return device;
}

VKAPI_ATTR VkResult VKAPI_CALL device_create(VkPhysicalDevice physical_device,
                                             const VkDeviceCreateInfo *create_info,
                                             const VkAllocationCallbacks *allocator,
                                             VkDevice *ret_device)
{
    VkLayerDeviceCreateInfo *link = find_link(create_info);
    struct instance *instance = instance_of(physical_device);
    if (!link || !link->u.pLayerInfo || !instance) {
        return VK_ERROR_INITIALIZATION_FAILED;
    }
    PFN_vkGetInstanceProcAddr next_instance_proc = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    PFN_vkGetDeviceProcAddr next_proc = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    bool lower_copy = is_lower_copy(link->u.pLayerInfo);
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    PFN_vkCreateDevice next_create =
        (PFN_vkCreateDevice)next_instance_proc(instance->handle, "vkCreateDevice");
    if (!next_create) {
        return VK_ERROR_INITIALIZATION_FAILED;
    }
    if (lower_copy) {
        current.lower_next = next_proc;
        return next_create(physical_device, create_info, allocator, ret_device);
    }

    struct device *device = device_new(instance);
    if (!device) {
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    struct creation outer = current;
    current = (struct creation){.links = link->u.pLayerInfo};
    VkResult result = next_create(physical_device, create_info, allocator, ret_device);
    if (result == VK_SUCCESS) {
        device->handle = *ret_device;
        take_commands(device, next_proc);
        if (!instance->passive) {
            start_work(device, physical_device, create_info, allocator);
        }
        handle_map_rename(&devices, (uint64_t)(uintptr_t)device, dispatch_key(*ret_device));
    } else {
        device_free(handle_map_remove(&devices, (uint64_t)(uintptr_t)device));
    }
    current = outer;
    return result;
}

VKAPI_ATTR void VKAPI_CALL device_destroy(VkDevice device, const VkAllocationCallbacks *allocator)
{
    struct device *state = device_of(device);
    if (!state) {
        return;
    }
    handle_map_remove(&devices, dispatch_key(device));
    bool prewarmed = prewarm_finish(state->prewarm);
    bool recorded = !state->recorder || recorder_finish(state->recorder);
    bool saved = state->passive || app_caches_finish(state->app_caches);
    if (recorded && saved) {
        housekeeper_finish(state->housekeeper);
    }
    bool traced = trace_finish(state->trace);
    state->table.DestroyDevice(device, allocator);
    if (prewarmed && recorded && saved && traced) {
        device_free(state);
    }
}
