// SPDX-License-Identifier: Apache-2.0
#include "common/driver/identity.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/bytes.h"
#include "common/base/io.h"

/* The identity's digest and the envelope depend on these sizes, which Vulkan never changes. */
_Static_assert(VK_MAX_PHYSICAL_DEVICE_NAME_SIZE == 256, "encoded as 256 bytes");
_Static_assert(VK_MAX_DRIVER_NAME_SIZE == 256, "encoded as 256 bytes");
_Static_assert(VK_MAX_DRIVER_INFO_SIZE == 256, "encoded as 256 bytes");

#define STRING_SIZE 256

/* Copies into an array of zeros: the bytes after a driver's terminator are not specified and must
 * not reach the digest. */
static void identity_copy_driver_text(char ret_text[STRING_SIZE], const char *source)
{
    memcpy(ret_text, source, strnlen(source, STRING_SIZE - 1));
}

VkExtensionProperties *extensions_list(PFN_vkEnumerateDeviceExtensionProperties list_them,
                                       VkPhysicalDevice device, uint32_t *ret_count)
{
    VkExtensionProperties *list = NULL;
    VkResult result = VK_INCOMPLETE;
    while (result == VK_INCOMPLETE) {
        free(list);
        list = NULL;
        if (list_them(device, NULL, ret_count, NULL) != VK_SUCCESS) {
            return NULL;
        }
        list = calloc(*ret_count + 1u, sizeof *list);
        if (!list) {
            return NULL;
        }
        result = list_them(device, NULL, ret_count, list);
    }
    if (result != VK_SUCCESS) {
        free(list);
        return NULL;
    }
    return list;
}

bool extensions_have(const VkExtensionProperties *list, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strncmp(list[i].extensionName, name, VK_MAX_EXTENSION_NAME_SIZE) == 0) {
            return true;
        }
    }
    return false;
}

static bool identity_has_extension(const struct identity_commands *commands,
                                   VkPhysicalDevice device, const char *name)
{
    uint32_t count = 0;
    AUTO_FREE VkExtensionProperties *list =
        commands->enumerate_extensions
            ? extensions_list(commands->enumerate_extensions, device, &count)
            : NULL;
    return list && extensions_have(list, count, name);
}

static void identity_query_driver_properties(const struct identity_commands *commands,
                                             VkPhysicalDevice device,
                                             struct driver_identity *identity)
{
    VkPhysicalDeviceDriverProperties driver = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &driver};
    commands->get_properties2(device, &properties);

    identity->driver_id = (uint32_t)driver.driverID;
    identity_copy_driver_text(identity->driver_name, driver.driverName);
    identity_copy_driver_text(identity->driver_info, driver.driverInfo);
    identity->conformance[0] = driver.conformanceVersion.major;
    identity->conformance[1] = driver.conformanceVersion.minor;
    identity->conformance[2] = driver.conformanceVersion.subminor;
    identity->conformance[3] = driver.conformanceVersion.patch;
}

void identity_query(const struct identity_commands *commands, VkPhysicalDevice device,
                    struct driver_identity *ret_identity)
{
    VkPhysicalDeviceProperties properties = {0};
    commands->get_properties(device, &properties);

    struct driver_identity identity = {
        .vendor_id = properties.vendorID,
        .device_id = properties.deviceID,
        .api_version = properties.apiVersion,
        .driver_version = properties.driverVersion,
        .pointer_size = sizeof(void *),
    };
    memcpy(identity.pipeline_cache_uuid, properties.pipelineCacheUUID, VK_UUID_SIZE);
    identity_copy_driver_text(identity.device_name, properties.deviceName);

    if (commands->get_properties2 &&
        (properties.apiVersion >= VK_API_VERSION_1_2 ||
         identity_has_extension(commands, device, VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME))) {
        identity_query_driver_properties(commands, device, &identity);
    }
    *ret_identity = identity;
}

void identity_put(struct bytes *bytes, const struct driver_identity *identity)
{
    bytes_put_u32(bytes, identity->vendor_id);
    bytes_put_u32(bytes, identity->device_id);
    bytes_put_u32(bytes, identity->api_version);
    bytes_put_u32(bytes, identity->driver_version);
    bytes_put_u32(bytes, identity->driver_id);
    bytes_put_u32(bytes, identity->pointer_size);
    bytes_put(bytes, identity->conformance, sizeof identity->conformance);
    bytes_put(bytes, identity->pipeline_cache_uuid, sizeof identity->pipeline_cache_uuid);
    bytes_put(bytes, identity->device_name, sizeof identity->device_name);
    bytes_put(bytes, identity->driver_name, sizeof identity->driver_name);
    bytes_put(bytes, identity->driver_info, sizeof identity->driver_info);
}

static void identity_get_bytes(struct bytes_reader *reader, void *ret_data, size_t size)
{
    const uint8_t *data = bytes_get(reader, size);
    if (data) {
        memcpy(ret_data, data, size);
    } else {
        memset(ret_data, 0, size);
    }
}

static void identity_get_string(struct bytes_reader *reader, char ret_text[STRING_SIZE])
{
    identity_get_bytes(reader, ret_text, STRING_SIZE);
    /* Zeros behind the end: so text that hides there does not encode to the same bytes again. */
    const size_t length = strnlen(ret_text, STRING_SIZE - 1);
    memset(ret_text + length, 0, STRING_SIZE - length);
}

void identity_get(struct bytes_reader *reader, struct driver_identity *ret_identity)
{
    ret_identity->vendor_id = bytes_get_u32(reader);
    ret_identity->device_id = bytes_get_u32(reader);
    ret_identity->api_version = bytes_get_u32(reader);
    ret_identity->driver_version = bytes_get_u32(reader);
    ret_identity->driver_id = bytes_get_u32(reader);
    ret_identity->pointer_size = bytes_get_u32(reader);
    identity_get_bytes(reader, ret_identity->conformance, sizeof ret_identity->conformance);
    identity_get_bytes(reader, ret_identity->pipeline_cache_uuid,
                       sizeof ret_identity->pipeline_cache_uuid);
    identity_get_string(reader, ret_identity->device_name);
    identity_get_string(reader, ret_identity->driver_name);
    identity_get_string(reader, ret_identity->driver_info);
}

struct digest identity_digest(const struct driver_identity *identity)
{
    /* On the stack: this must not fail when memory is out. */
    uint8_t memory[IDENTITY_ENCODED_SIZE];
    struct bytes bytes = {.data = memory, .capacity = sizeof memory};
    identity_put(&bytes, identity);
    return digest_of(bytes.data, bytes.size);
}

enum status identity_compare(const struct driver_identity *found,
                             const struct driver_identity *expected)
{
    if (found->pointer_size != expected->pointer_size) {
        return STATUS_bad_pointer_size;
    }
    if (found->vendor_id != expected->vendor_id) {
        return STATUS_other_vendor;
    }
    if (found->device_id != expected->device_id ||
        memcmp(found->device_name, expected->device_name, STRING_SIZE) != 0) {
        return STATUS_other_device;
    }
    if (found->driver_id != expected->driver_id ||
        memcmp(found->driver_name, expected->driver_name, STRING_SIZE) != 0) {
        return STATUS_other_driver;
    }
    if (found->driver_version != expected->driver_version ||
        memcmp(found->driver_info, expected->driver_info, STRING_SIZE) != 0 ||
        memcmp(found->conformance, expected->conformance, sizeof found->conformance) != 0) {
        return STATUS_other_driver_version;
    }
    if (found->api_version != expected->api_version) {
        return STATUS_other_api_version;
    }
    if (memcmp(found->pipeline_cache_uuid, expected->pipeline_cache_uuid, VK_UUID_SIZE) != 0) {
        return STATUS_other_cache_uuid;
    }
    return STATUS_ok;
}

bool identity_matches_blob(const struct driver_identity *identity, const void *blob, size_t size)
{
    struct bytes_reader reader = bytes_reader_over(blob, size);
    uint32_t header_size = bytes_get_u32(&reader);
    uint32_t header_version = bytes_get_u32(&reader);
    uint32_t vendor_id = bytes_get_u32(&reader);
    uint32_t device_id = bytes_get_u32(&reader);
    const uint8_t *uuid = bytes_get(&reader, VK_UUID_SIZE);
    /* VUID-VkPipelineCacheHeaderVersionOne-headerSize-04967, -headerVersion-04968 */
    return !reader.overrun && header_size == sizeof(VkPipelineCacheHeaderVersionOne) &&
           header_version == VK_PIPELINE_CACHE_HEADER_VERSION_ONE &&
           vendor_id == identity->vendor_id && device_id == identity->device_id &&
           memcmp(uuid, identity->pipeline_cache_uuid, VK_UUID_SIZE) == 0;
}

/* VkPipelineBinaryKeyKHR, which older headers lack. */
#define STYPE_PIPELINE_BINARY_KEY 1000483003
#define MAX_KEY_SIZE              32
struct binary_key {
    VkStructureType stype;
    void *next;
    uint32_t size;
    uint8_t key[MAX_KEY_SIZE];
};

typedef VkResult(VKAPI_PTR *get_pipeline_key)(VkDevice device, const void *create_info,
                                              struct binary_key *ret_key);

bool pipeline_key_query(PFN_vkGetDeviceProcAddr get, VkDevice device, struct digest *ret_key)
{
    struct binary_key key = {.stype = (VkStructureType)STYPE_PIPELINE_BINARY_KEY};
    get_pipeline_key query = (get_pipeline_key)get(device, "vkGetPipelineKeyKHR");
    if (!query || query(device, NULL, &key) != VK_SUCCESS || key.size == 0 ||
        key.size > MAX_KEY_SIZE) {
        return false;
    }
    *ret_key = digest_of(key.key, key.size);
    return true;
}

struct digest pipeline_key_device(struct digest identity, struct digest meaning)
{
    uint8_t memory[32];
    struct bytes bytes = {.data = memory, .capacity = sizeof memory};
    digest_put(&bytes, identity);
    digest_put(&bytes, meaning);
    return digest_of(bytes.data, bytes.size);
}

/* By this Mesa finds a program's options; without it, by the program's name. */
#define SETTINGS_PROGRAM "MESA_DRICONF_EXECUTABLE_OVERRIDE"

/* Of each driver of Mesa and its compiler: what they read in a release build, less what names a
 * file or a device, or only prints. */
static const char settings_names[][36] = {
    "RADV_DEBUG",       "RADV_EXPERIMENTAL", "RADV_PERFTEST",      "ACO_DEBUG",
    "NVK_DEBUG",        "NVK_EXPERIMENTAL",  "NAK_DEBUG",          "TU_DEBUG",
    "IR3_SHADER_DEBUG", "FD_DEV_FEATURES",   "AGX_MESA_DEBUG",     "ASAHI_MESA_DEBUG",
    "HK_PERFTEST",      "INTEL_DEBUG",       "ANV_DEBUG",          "NIR_DEBUG",
    "V3D_DEBUG",        "PANVK_DEBUG",       "BIFROST_MESA_DEBUG", "GALLIVM_PERF",
    SETTINGS_PROGRAM,
};
#define SETTINGS_COUNT (sizeof settings_names / sizeof settings_names[0])

/* Can stand in the text as it is. */
static bool settings_is_plain(const char *value)
{
    for (; *value; value++) {
        if (*value < ' ' || *value > '~' || strchr("\";\\", *value)) {
            return false;
        }
    }
    return true;
}

/* Behind the last separator, of Linux or, for Wine's programs, of Windows. Programs that write
 * their arguments behind their path, as Chromium's processes do, are named by their file alone, as
 * by Mesa. The text is program_invocation_name's, or in `path`. */
static const char *settings_program_name(char path[PATH_MAX])
{
    const char *name = program_invocation_name;
    const char *slash = strrchr(name, '/');
    if (slash) {
        const ssize_t size = readlink("/proc/self/exe", path, PATH_MAX - 1);
        path[size > 0 ? size : 0] = '\0';
        if (size > 0 && strncmp(path, name, (size_t)size) == 0) {
            slash = strrchr(path, '/');
        }
    } else {
        slash = strrchr(name, '\\');
    }
    return slash ? slash + 1 : name;
}

/* The value is the environment's, or as settings_program_name's. */
static const char *settings_value(const char *name, char path[PATH_MAX])
{
    const char *value = secure_getenv(name);
    if (!value && strcmp(name, SETTINGS_PROGRAM) == 0) {
        value = secure_getenv("MESA_PROCESS_NAME");
        value = value ? value : settings_program_name(path);
    }
    return value;
}

void driver_settings_of_process(char ret_text[DRIVER_SETTINGS_SIZE])
{
    char path[PATH_MAX];
    size_t size = 0;
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        const char *value = settings_value(settings_names[i], path);
        if (!value) {
            continue;
        }
        const int length = snprintf(ret_text + size, DRIVER_SETTINGS_SIZE - size, "%s%s=%s",
                                    size > 0 ? ";" : "", settings_names[i], value);
        size += (size_t)length;
        if (length < 0 || size >= DRIVER_SETTINGS_SIZE || !settings_is_plain(value)) {
            *ret_text = '\0';
            return;
        }
    }
    ret_text[size] = '\0';
}

/* The value of a name, cut to DRIVER_SETTINGS_SIZE. False: the text does not have the name. */
static bool settings_find(const char *text, const char *name, char ret_value[DRIVER_SETTINGS_SIZE])
{
    const size_t name_size = strlen(name);
    for (const char *entry = text; *entry;) {
        const size_t size = strcspn(entry, ";");
        if (size > name_size && strncmp(entry, name, name_size) == 0 && entry[name_size] == '=') {
            snprintf(ret_value, DRIVER_SETTINGS_SIZE, "%.*s", (int)(size - name_size - 1),
                     entry + name_size + 1);
            return true;
        }
        entry += size + (entry[size] == ';');
    }
    return false;
}

bool driver_settings_differ(const char *text)
{
    char path[PATH_MAX];
    char value[DRIVER_SETTINGS_SIZE];
    for (size_t i = 0; *text && i < SETTINGS_COUNT; i++) {
        const char *here = settings_value(settings_names[i], path);
        const bool there = settings_find(text, settings_names[i], value);
        if (there != !!here || (there && strcmp(value, here) != 0)) {
            return true;
        }
    }
    return false;
}

void driver_settings_use(const char *text)
{
    char value[DRIVER_SETTINGS_SIZE];
    for (size_t i = 0; *text && i < SETTINGS_COUNT; i++) {
        if (settings_find(text, settings_names[i], value)) {
            setenv(settings_names[i], value, 1);
        } else {
            unsetenv(settings_names[i]);
        }
    }
}
