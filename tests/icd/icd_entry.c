// SPDX-License-Identifier: Apache-2.0
/* Where the loader comes in: negotiation, and functions by name. */
#include <string.h>

#include "icd.h"
#include "test_icd.h"

#define NEVER     99
#define GLOBAL    0
#define INSTANCE  1
#define PHYSICAL  2
#define DEVICE    3
#define INTERFACE 5

struct row {
    const char *name;
    PFN_vkVoidFunction function;
    int level;
    unsigned api; /* minor version */
    const char *extension;
};

static const struct row rows[] = {
#define COMMAND(name, level, api, extension)                                                       \
    {"vk" #name, (PFN_vkVoidFunction)icd_##name, level, api, extension},
#define ALIAS(name, target, level, api, extension)
#include "icd_commands.def"
#undef COMMAND
#undef ALIAS
#define COMMAND(name, level, api, extension)
#define ALIAS(name, target, level, api, extension)                                                 \
    {"vk" #name, (PFN_vkVoidFunction)icd_##target, level, api, extension},
#include "icd_commands.def"
#undef COMMAND
#undef ALIAS
};

const char *icd_command_name(enum icd_command command)
{
    return rows[command].name;
}

static const struct row *find_row(const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        if (strcmp(rows[i].name, name) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

PFN_vkVoidFunction test_icd_command(const char *command)
{
    const struct row *row = find_row(command);
    return row == NULL ? NULL : row->function;
}

static bool has(const struct icd_settings *settings, const struct row *row)
{
    return row->api <= VK_API_VERSION_MINOR(settings->api_version) || row->extension[0] != '\0';
}

PFN_vkVoidFunction icd_GetInstanceProcAddr(VkInstance instance, const char *name)
{
    struct icd_settings environment;
    const struct icd_settings *settings;
    if (instance == VK_NULL_HANDLE) {
        icd_settings_read(&environment);
        settings = &environment;
    } else {
        settings = &icd_instance_from(instance)->settings;
    }
    const struct row *row = find_row(name);
    if (row == NULL || !has(settings, row) || icd_settings_lacks(settings, name) ||
        (instance == VK_NULL_HANDLE && row->level != GLOBAL)) {
        return NULL;
    }
    return row->function;
}

PFN_vkVoidFunction icd_GetDeviceProcAddr(VkDevice vk_device, const char *name)
{
    const struct icd_device *device = icd_device_from(vk_device);
    const struct row *row = find_row(name);
    if (row == NULL || row->level != DEVICE || icd_settings_lacks(device->settings, name)) {
        return NULL;
    }
    /* debug_utils is an instance's extension; its commands go by it. */
    bool enabled = row->api <= VK_API_VERSION_MINOR(device->settings->api_version) ||
                   strcmp(row->extension, "VK_EXT_debug_utils") == 0 ||
                   icd_device_enabled(device, row->extension);
    return enabled ? row->function : NULL;
}

/* Declared here, for vk_icd.h declares them only together with every other prototype. */
TEST_ICD_EXPORT VkResult vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version);
TEST_ICD_EXPORT PFN_vkVoidFunction vk_icdGetInstanceProcAddr(VkInstance instance, const char *name);
TEST_ICD_EXPORT PFN_vkVoidFunction vk_icdGetPhysicalDeviceProcAddr(VkInstance instance,
                                                                   const char *name);

TEST_ICD_EXPORT VkResult vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version)
{
    if (*version > INTERFACE) {
        *version = INTERFACE;
    }
    return VK_SUCCESS;
}

TEST_ICD_EXPORT PFN_vkVoidFunction vk_icdGetInstanceProcAddr(VkInstance instance, const char *name)
{
    return icd_GetInstanceProcAddr(instance, name);
}

TEST_ICD_EXPORT PFN_vkVoidFunction vk_icdGetPhysicalDeviceProcAddr(VkInstance instance,
                                                                   const char *name)
{
    const struct row *row = find_row(name);
    return row == NULL || row->level != PHYSICAL ? NULL : icd_GetInstanceProcAddr(instance, name);
}
