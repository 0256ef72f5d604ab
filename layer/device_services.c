// SPDX-License-Identifier: Apache-2.0
#include "layer/device_services.h"

#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/driver/identity.h"
#include "common/files/program.h"
#include "layer/app_caches/app_caches.h"
#include "layer/cache/device_cache.h"
#include "layer/chain/instance.h"
#include "layer/dedup/dedup.h"
#include "layer/recipes/prewarm.h"
#include "layer/recipes/recorder.h"
#include "layer/trace/trace.h"
#include "layer/worker/driver_gate.h"
#include "layer/worker/maintenance.h"
#include "layer/worker/sandbox.h"
#include "layer/worker/worker.h"

static atomic_uint device_count; /* of this process, ever */

/* What the program asks of a device, as far as it decides what the layer may do there. */
struct device_traits {
    bool group;                   /* VkDeviceGroupDeviceCreateInfo of several physical devices */
    bool private_data;            /* privateData is enabled: handles must be unique (hazard 2) */
    bool maintenance4;            /* its extension is enabled */
    bool creation_feedback;       /* its extension is enabled */
    bool memory_report;           /* VkDeviceDeviceMemoryReportCreateInfoEXT: a callback */
    bool blend_advanced_coherent; /* advancedBlendCoherentOperations is enabled */
    bool capture_tool;            /* a tool is loaded that must see each creation */
};

/* Layers of tools that record handles one by one and must see each creation (hazard 57: capture
 * tools). */
static const char *const capture_tools[] = {"librenderdoc.so", "libVkLayer_gfxreconstruct.so"};

static int traits_is_capture_tool(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size;
    bool *found = user;
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    const char *name = slash ? slash + 1 : "";
    for (size_t i = 0; i < sizeof capture_tools / sizeof capture_tools[0]; i++) {
        *found |= strcmp(name, capture_tools[i]) == 0;
    }
    return *found;
}

static bool device_enables(const VkDeviceCreateInfo *create_info, const char *name)
{
    return instance_lists(create_info->ppEnabledExtensionNames, create_info->enabledExtensionCount,
                          name);
}

static void traits_read_struct(const VkBaseInStructure *info, struct device_traits *traits)
{
    switch (info->sType) {
    case VK_STRUCTURE_TYPE_DEVICE_GROUP_DEVICE_CREATE_INFO:
        traits->group = ((const VkDeviceGroupDeviceCreateInfo *)info)->physicalDeviceCount > 1;
        break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRIVATE_DATA_FEATURES:
        traits->private_data |= ((const VkPhysicalDevicePrivateDataFeatures *)info)->privateData;
        break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES:
        traits->private_data |= ((const VkPhysicalDeviceVulkan13Features *)info)->privateData;
        break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BLEND_OPERATION_ADVANCED_FEATURES_EXT:
        traits->blend_advanced_coherent =
            ((const VkPhysicalDeviceBlendOperationAdvancedFeaturesEXT *)info)
                ->advancedBlendCoherentOperations;
        break;
    case VK_STRUCTURE_TYPE_DEVICE_DEVICE_MEMORY_REPORT_CREATE_INFO_EXT:
        traits->memory_report = true;
        break;
    default:
        break;
    }
}

static void traits_read(const VkDeviceCreateInfo *create_info, struct device_traits *ret_traits)
{
    *ret_traits = (struct device_traits){
        .maintenance4 = device_enables(create_info, VK_KHR_MAINTENANCE_4_EXTENSION_NAME),
        .creation_feedback =
            device_enables(create_info, VK_EXT_PIPELINE_CREATION_FEEDBACK_EXTENSION_NAME),
    };
    dl_iterate_phdr(traits_is_capture_tool, &ret_traits->capture_tool);
    for (const VkBaseInStructure *info = create_info->pNext; info; info = info->pNext) {
        traits_read_struct(info, ret_traits);
    }
}

/* Programs that take equal handles for an error of the driver's, against the specification ("Object
 * Model"): those of wgpu of 2026, Firefox among them, which end where two set layouts have one.
 * Kinds of enum dedup_kind, by VkApplicationInfo::pEngineName. */
static const struct {
    const char *engine;
    unsigned kinds;
} unshared_kinds[] = {{"wgpu-hal", DEDUP_SET_LAYOUTS}};

static unsigned services_shared_kinds(const struct instance *instance)
{
    const char *engine = instance->application.engine_name;
    unsigned kinds = instance->config.dedup;
    for (size_t i = 0; i < sizeof unshared_kinds / sizeof unshared_kinds[0]; i++) {
        if (engine && strcmp(engine, unshared_kinds[i].engine) == 0) {
            kinds &= ~unshared_kinds[i].kinds;
        }
    }
    return kinds;
}

/* Handles are shared where neither the program's own requests nor a tool in the chain tell equal
 * objects apart (hazards 2, 57: privateData, capture tools). Elsewhere they are named if `named`.
 */
static struct dedup *services_new_dedup(const struct device_services *services,
                                        const struct device_traits *traits,
                                        const struct driver_identity *identity, bool named)
{
    const struct instance *instance = services->device->instance;
    const unsigned kinds = services_shared_kinds(instance);
    bool shared = kinds != 0 && !traits->private_data && !traits->group &&
                  device_cache_policy(services->device_cache)->deduplicate && !traits->capture_tool;
    if (!shared && !named) {
        return NULL;
    }
    return dedup_new(&(struct dedup_setup){
        .kinds = shared ? kinds : 0,
        .has_callback = &instance->has_callback,
        .layouts_by_serial = identity->api_version < VK_API_VERSION_1_3 && !traits->maintenance4,
        .blend_advanced_coherent = traits->blend_advanced_coherent,
    });
}

/* The environment of this device's recipes. */
static void services_encode_environment(const struct instance *instance,
                                        const VkDeviceCreateInfo *create_info,
                                        const struct driver_identity *identity, struct bytes *out)
{
    struct environment_device environment = instance->application;
    environment.vendor_id = identity->vendor_id;
    environment.device_id = identity->device_id;
    environment.api_version = identity->api_version < instance->api_version ? identity->api_version
                                                                            : instance->api_version;
    environment.has_properties2 = instance->identity.get_properties2 != NULL;
    environment_encode(&environment, create_info, out);
}

/* The driver's key of this device; false: it does not tell, or nobody may ask (policy). */
static bool services_query_key(const struct device_services *services,
                               const VkDeviceCreateInfo *create_info, struct pipeline_key *ret_key)
{
    const struct device *device = services->device;
    const struct bytes *environment = &services->environment;
    if (environment->failed || !device_enables(create_info, PIPELINE_KEY_EXTENSION) ||
        !device_cache_policy(services->device_cache)->pipeline_key ||
        !pipeline_key_query(device->table.GetDeviceProcAddr, device->handle, &ret_key->key)) {
        return false;
    }
    ret_key->device =
        pipeline_key_device(device_cache_identity(services->device_cache),
                            environment_meaning(environment->data, environment->size));
    return true;
}

/* Recipes are recorded where blobs are kept: elsewhere nobody gains by them. Where nothing may be
 * written the environment is for prewarm alone. */
static void services_start_recording(struct device_services *services,
                                     const VkDeviceCreateInfo *create_info,
                                     const struct device_traits *traits,
                                     const struct driver_identity *identity)
{
    const struct instance *instance = services->device->instance;
    const struct config *config = &instance->config;
    const bool persists = device_cache_policy(services->device_cache)->persist;
    const bool records = persists && !config->read_only;
    services->dedup = services_new_dedup(services, traits, identity, records);
    if (!persists || (records && !services->dedup)) {
        return;
    }
    services_encode_environment(instance, create_info, identity, &services->environment);
    if (!records) {
        return;
    }
    struct pipeline_key key;
    const bool has_key = services_query_key(services, create_info, &key);
    services->recorder = recorder_new(&(struct recorder_setup){
        .root = config->root,
        .app = instance->app,
        .max_size = config->max_size,
        .environment = &services->environment,
        .key = has_key ? &key : NULL,
        .maintenance = services->maintenance,
    });
    if (services->recorder) {
        device_cache_set_listener(services->device_cache,
                                  &(struct cache_listener){.looking = recorder_looking,
                                                           .saved = recorder_saved,
                                                           .disk_full = recorder_make_room,
                                                           .user = services->recorder});
    } else {
        bytes_free(&services->environment); /* nothing is compiled ahead that cannot be marked */
    }
}

/* Compiles ahead what recipes ask for, unless a capture tool would see it. */
static void services_start_prewarm(struct device_services *services,
                                   VkPhysicalDevice physical_device,
                                   const struct device_traits *traits)
{
    struct instance *instance = services->device->instance;
    const struct bytes *environment = &services->environment;
    if (environment->size == 0 || environment->failed || traits->group || traits->capture_tool) {
        return;
    }
    services->prewarm = prewarm_start(&(struct prewarm_setup){
        .physical_device = physical_device,
        .identity_commands = &instance->identity,
        .api_version = instance->api_version,
        .config = &instance->config,
        .app = instance->app,
        .device_cache = services->device_cache,
        .recorder = services->recorder,
        .stats = &services->stats,
        .trace = services->trace,
        .environment = environment->data,
        .environment_size = environment->size,
        .permit = instance->permit,
        .has_callback = &instance->has_callback,
        .feedback = services->feedback,
    });
}

/* The driver may call the program back where it has an allocator or reports memory. An allocator of
 * the device serves whatever a cache holds, even one made with another (Mesa's since 2023), and may
 * be called on the program's threads alone (hazard 9). */
static void services_note_callbacks(struct instance *instance, const struct device_traits *traits,
                                    bool has_allocator)
{
    if (has_allocator || traits->memory_report) {
        atomic_store(&instance->has_callback, true);
        driver_gate_withdraw(instance->permit);
    }
}

/* The caches; false: out of memory. */
static bool services_start_caches(struct device_services *services,
                                  const struct device_traits *traits,
                                  const struct driver_identity *identity,
                                  const struct pull_question *question)
{
    const struct device *device = services->device;
    struct instance *instance = device->instance;
    const struct config *config = &instance->config;
    const unsigned index = atomic_fetch_add(&device_count, 1);
    services->trace =
        config->trace_path ? trace_new(config->trace_path, instance->app, index, identity) : NULL;
    services->maintenance = maintenance_new(config, instance->app);
    services->device_cache =
        device_cache_new(&(struct cache_setup){.device = device->handle,
                                               .table = &device->table,
                                               .config = config,
                                               .app = instance->app,
                                               .permit = instance->permit,
                                               .stats = &services->stats,
                                               .trace = services->trace,
                                               .maintenance = services->maintenance,
                                               .device_index = index,
                                               .device_group = traits->group},
                         identity);
    if (services->device_cache) {
        if (device_cache_policy(services->device_cache)->inject) {
            pull_question_await(question);
        }
        services->app_caches =
            app_caches_new(services->device_cache, config, instance->app, &services->stats);
    }
    return services->app_caches;
}

struct device_services *device_services_start(struct device *device,
                                              VkPhysicalDevice physical_device,
                                              const VkDeviceCreateInfo *create_info,
                                              const VkAllocationCallbacks *allocator,
                                              const struct pull_question *question)
{
    struct device_services *services = sandbox_note_open() ? calloc(1, sizeof *services) : NULL;
    if (!services) {
        return NULL;
    }
    services->device = device;
    struct instance *instance = device->instance;
    struct driver_identity identity;
    struct device_traits traits;
    identity_query(&instance->identity, physical_device, &identity);
    traits_read(create_info, &traits);
    services_note_callbacks(instance, &traits, allocator || instance->has_allocator);
    /* A program may use what both the device and its own VkApplicationInfo::apiVersion offer. */
    bool version_1_3 =
        identity.api_version >= VK_API_VERSION_1_3 && instance->api_version >= VK_API_VERSION_1_3;
    services->feedback = version_1_3 || traits.creation_feedback;
    if (!services_start_caches(services, &traits, &identity, question)) {
        if (device_services_finish(services)) {
            device_services_delete(services);
        }
        return NULL;
    }
    services->strict = device_cache_policy(services->device_cache)->strict;
    services_start_recording(services, create_info, &traits, &identity);
    services_start_prewarm(services, physical_device, &traits);
    device_cache_plan_load(services->device_cache);
    return services;
}

static bool services_finish_caches(struct device_services *services)
{
    if (services->app_caches) {
        return app_caches_finish(services->app_caches);
    }
    return !services->device_cache || device_cache_finish(services->device_cache);
}

bool device_services_has_farewell(const struct device_services *services)
{
    return services && services->device_cache && device_cache_has_farewell(services->device_cache);
}

bool device_services_finish(struct device_services *services)
{
    if (!services) {
        return true;
    }
    bool prewarmed = prewarm_finish(services->prewarm);
    /* The caches before the recorder: what is saved is recorded as such. */
    bool saved = services_finish_caches(services);
    bool recorded = !services->recorder || recorder_finish(services->recorder);
    maintenance_finish(services->maintenance, recorded && saved);
    bool traced = trace_finish(services->trace);
    const bool finished = prewarmed && recorded && saved && traced;
    /* Nobody frees the device, but its start is counted. */
    if (!finished && device_services_has_farewell(services)) {
        worker_do_behind(device_cache_bid_farewell, services->device_cache);
    }
    return finished;
}

void device_services_delete(struct device_services *services)
{
    if (services) {
        recorder_delete(services->recorder);
        bytes_free(&services->environment);
        dedup_delete(services->dedup);
        trace_delete(services->trace);
        app_caches_delete(services->app_caches);
        device_cache_delete(services->device_cache);
        free(services);
    }
}
