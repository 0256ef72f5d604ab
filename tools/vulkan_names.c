#include "vulkan_names.h"

#include <stdio.h>

/* By VkDriverId. Numbers, for the headers of the oldest distributions lack the later names. */
static const char *const driver_ids[] = {
    [1] = "AMD_PROPRIETARY",
    [2] = "AMD_OPEN_SOURCE",
    [3] = "MESA_RADV",
    [4] = "NVIDIA_PROPRIETARY",
    [5] = "INTEL_PROPRIETARY_WINDOWS",
    [6] = "INTEL_OPEN_SOURCE_MESA",
    [7] = "IMAGINATION_PROPRIETARY",
    [8] = "QUALCOMM_PROPRIETARY",
    [9] = "ARM_PROPRIETARY",
    [10] = "GOOGLE_SWIFTSHADER",
    [11] = "GGP_PROPRIETARY",
    [12] = "BROADCOM_PROPRIETARY",
    [13] = "MESA_LLVMPIPE",
    [14] = "MOLTENVK",
    [15] = "COREAVI_PROPRIETARY",
    [16] = "JUICE_PROPRIETARY",
    [17] = "VERISILICON_PROPRIETARY",
    [18] = "MESA_TURNIP",
    [19] = "MESA_V3DV",
    [20] = "MESA_PANVK",
    [21] = "SAMSUNG_PROPRIETARY",
    [22] = "MESA_VENUS",
    [23] = "MESA_DOZEN",
    [24] = "MESA_NVK",
    [25] = "IMAGINATION_OPEN_SOURCE_MESA",
    [26] = "MESA_HONEYKRISP",
    [27] = "VULKAN_SC_EMULATION_ON_VULKAN",
    [28] = "MESA_KOSMICKRISP",
    [29] = "MESA_GFXSTREAM",
};

const char *vulkan_driver_id(uint32_t driver_id)
{
    size_t count = sizeof(driver_ids) / sizeof(driver_ids[0]);
    return driver_id < count && driver_ids[driver_id] ? driver_ids[driver_id] : "unknown";
}

void vulkan_api_version(uint32_t version, char ret_text[VULKAN_VERSION_SIZE])
{
    int length = 0;
    if (VK_API_VERSION_VARIANT(version) != 0) {
        length = snprintf(ret_text, VULKAN_VERSION_SIZE, "%u:", VK_API_VERSION_VARIANT(version));
    }
    snprintf(ret_text + length, (size_t)(VULKAN_VERSION_SIZE - length), "%u.%u.%u",
             VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version),
             VK_API_VERSION_PATCH(version));
}

void vulkan_driver_version(const struct driver_identity *identity,
                           char ret_text[VULKAN_VERSION_SIZE])
{
    uint32_t version = identity->driver_version;
    bool nvidia = identity->driver_id == VK_DRIVER_ID_NVIDIA_PROPRIETARY ||
                  (identity->driver_id == 0 && identity->vendor_id == 0x10de);
    if (nvidia) {
        snprintf(ret_text, VULKAN_VERSION_SIZE, "%u.%u.%u.%u", version >> 22, version >> 14 & 0xff,
                 version >> 6 & 0xff, version & 0x3f);
    } else if (identity->driver_id == VK_DRIVER_ID_INTEL_PROPRIETARY_WINDOWS) {
        snprintf(ret_text, VULKAN_VERSION_SIZE, "%u.%u", version >> 14, version & 0x3fff);
    } else {
        vulkan_api_version(version, ret_text);
    }
}
