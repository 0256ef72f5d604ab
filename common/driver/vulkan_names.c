// SPDX-License-Identifier: Apache-2.0
#include "common/driver/vulkan_names.h"

#include <stdio.h>
#include <string.h>

#include "common/base/text.h"

/* By VkDriverId, as numbers: older headers lack the later names. No pointers, which would be
 * relocated at each start of a program. */
static const char driver_ids[][32] = {
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

#define DRIVER_ID_COUNT (sizeof driver_ids / sizeof driver_ids[0])

const char *vulkan_driver_id(uint32_t driver_id)
{
    return driver_id > 0 && driver_id < DRIVER_ID_COUNT ? driver_ids[driver_id] : "unknown";
}

bool vulkan_parse_driver_id(const char *name, uint32_t *ret_driver_id)
{
    if (pattern_matches("VK_DRIVER_ID_*", name)) {
        name += strlen("VK_DRIVER_ID_");
    }
    for (uint32_t id = 1; id < DRIVER_ID_COUNT; id++) {
        if (pattern_matches(driver_ids[id], name)) {
            *ret_driver_id = id;
            return true;
        }
    }
    return false;
}

/* The encoding of a version: the bits of each part, the most significant part first. */
struct version_encoding {
    int count;
    unsigned bits[4];
};

/* VK_MAKE_API_VERSION without the variant (chapter "Version Numbers"). */
static const struct version_encoding api_encoding = {3, {7, 10, 12}};

static const struct version_encoding *names_driver_encoding(uint32_t vendor_id, uint32_t driver_id)
{
    static const struct version_encoding nvidia = {4, {10, 8, 8, 6}};
    static const struct version_encoding intel_windows = {2, {18, 14}};
    const uint32_t nvidia_vendor = 0x10de;
    if (driver_id == VK_DRIVER_ID_NVIDIA_PROPRIETARY ||
        (driver_id == 0 && vendor_id == nvidia_vendor)) {
        return &nvidia;
    }
    return driver_id == VK_DRIVER_ID_INTEL_PROPRIETARY_WINDOWS ? &intel_windows : &api_encoding;
}

static void names_format_version(const struct version_encoding *encoding, uint32_t version,
                                 char ret_text[VULKAN_VERSION_SIZE])
{
    unsigned parts[4];
    for (int i = encoding->count - 1; i >= 0; i--) {
        parts[i] = version & ((UINT32_C(1) << encoding->bits[i]) - 1);
        version >>= encoding->bits[i];
    }
    int length = 0;
    if (version != 0) { /* a variant */
        length = snprintf(ret_text, VULKAN_VERSION_SIZE, "%u:", version);
    }
    for (int i = 0; i < encoding->count; i++) {
        length += snprintf(ret_text + length, (size_t)(VULKAN_VERSION_SIZE - length),
                           i == 0 ? "%u" : ".%u", parts[i]);
    }
}

void vulkan_api_version(uint32_t version, char ret_text[VULKAN_VERSION_SIZE])
{
    names_format_version(&api_encoding, version, ret_text);
}

void vulkan_driver_version(const struct driver_identity *identity,
                           char ret_text[VULKAN_VERSION_SIZE])
{
    names_format_version(names_driver_encoding(identity->vendor_id, identity->driver_id),
                         identity->driver_version, ret_text);
}

const char *vulkan_driver_name(const struct driver_identity *identity)
{
    return identity->driver_name[0] ? identity->driver_name : "unnamed";
}

void vulkan_driver_words(const struct driver_identity *identity, char ret_text[VULKAN_DRIVER_SIZE])
{
    char version[VULKAN_VERSION_SIZE];
    vulkan_driver_version(identity, version);
    snprintf(ret_text, VULKAN_DRIVER_SIZE, "%s %s", vulkan_driver_name(identity), version);
}

static bool names_parse_version(const struct version_encoding *encoding, const char *text,
                                uint32_t *ret_version)
{
    uint32_t version = 0;
    bool over = false;
    for (int i = 0; i < encoding->count; i++) {
        const unsigned bits = encoding->bits[i];
        uint64_t part = 0;
        if (!over && !text_parse_digits(&text, (UINT64_C(1) << bits) - 1, &part)) {
            return false;
        }
        version = version << bits | (uint32_t)part;
        over = over || *text != '.';
        text += over ? 0 : 1;
    }
    if (!over || *text) {
        return false;
    }
    *ret_version = version;
    return true;
}

bool vulkan_parse_api_version(const char *text, uint32_t *ret_version)
{
    return names_parse_version(&api_encoding, text, ret_version);
}

bool vulkan_parse_driver_version(const char *text, uint32_t vendor_id, uint32_t driver_id,
                                 uint32_t *ret_version)
{
    return names_parse_version(names_driver_encoding(vendor_id, driver_id), text, ret_version);
}
