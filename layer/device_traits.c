#include "device_traits.h"

#include <link.h>
#include <stdint.h>
#include <string.h>

static bool extension_enabled(const VkDeviceCreateInfo *create_info, const char *name)
{
    for (uint32_t i = 0; i < create_info->enabledExtensionCount; ++i) {
        if (strcmp(create_info->ppEnabledExtensionNames[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static void read_struct(const VkBaseInStructure *info, struct device_traits *traits)
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

void device_traits_read(const VkDeviceCreateInfo *create_info, struct device_traits *ret_traits)
{
    *ret_traits = (struct device_traits){
        .maintenance4 = extension_enabled(create_info, VK_KHR_MAINTENANCE_4_EXTENSION_NAME),
        .creation_feedback =
            extension_enabled(create_info, VK_EXT_PIPELINE_CREATION_FEEDBACK_EXTENSION_NAME),
    };
    for (const VkBaseInStructure *info = create_info->pNext; info; info = info->pNext) {
        read_struct(info, ret_traits);
    }
}

/* File names of the layers of capture tools. */
static const char *const capture_tools[] = {"librenderdoc.so", "libVkLayer_gfxreconstruct.so"};

static int is_capture_tool(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size;
    bool *found = user;
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    const char *name = slash ? slash + 1 : "";
    for (size_t i = 0; i < sizeof capture_tools / sizeof capture_tools[0]; ++i) {
        *found |= strcmp(name, capture_tools[i]) == 0;
    }
    return *found;
}

bool device_traits_capture_tool(void)
{
    bool found = false;
    dl_iterate_phdr(is_capture_tool, &found);
    return found;
}
