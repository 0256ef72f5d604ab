/* Known driver bugs as data. What needs no driver named is a rule of the code instead, for every
 * driver alike (docs/decisions/0010-driver-policy.md). A new row needs a source, and a test on both
 * sides of each end of its range. */
#include "policy_rule.h"

enum vendor {
    VENDOR_AMD = 0x1002,
    VENDOR_IMAGINATION = 0x1010,
    VENDOR_NVIDIA = 0x10de,
    VENDOR_QUALCOMM = 0x5143,
    VENDOR_INTEL = 0x8086
};

const struct policy_rule policy_table[] = {
    {
        /* Pipelines made with one cache corrupt one another. */
        .id = "qualcomm-before-1.0.66",
        .source = "ncnn gpu.cpp",
        .vendor_id = VENDOR_QUALCOMM,
        .api_below = VK_MAKE_API_VERSION(0, 1, 0, 66),
        .actions = POLICY_NO_INJECT | POLICY_NO_DEDUPLICATE,
    },
    {
        /* vkCreatePipelineCache crashes on data that it gave itself (one report). */
        .id = "imagination-dxt-48",
        .source = "godotengine/godot#115171",
        .vendor_id = VENDOR_IMAGINATION,
        .driver_id = VK_DRIVER_ID_IMAGINATION_PROPRIETARY,
        .device_name = "*DXT-48*",
        .actions = POLICY_NO_PERSIST,
    },
    {
        /* Pipeline creation does not lock the cache that it uses. */
        .id = "nvidia-before-441",
        .source = "ANGLE vk_renderer.cpp",
        .vendor_id = VENDOR_NVIDIA,
        .driver_id = VK_DRIVER_ID_NVIDIA_PROPRIETARY,
        .version_below = POLICY_NVIDIA_VERSION(441, 0, 0, 0),
        .actions = POLICY_SERIALIZE,
    },
    {
        /* Each cache object takes a huge amount of memory. */
        .id = "nvidia-470-before-470.62.02",
        .source = "vkd3d-proton 0e216b2b",
        .vendor_id = VENDOR_NVIDIA,
        .driver_id = VK_DRIVER_ID_NVIDIA_PROPRIETARY,
        .version_from = POLICY_NVIDIA_VERSION(470, 0, 0, 0),
        .version_below = POLICY_NVIDIA_VERSION(470, 62, 2, 0),
        .actions = POLICY_SINGLE_CACHE,
    },
    {
        /* The same, on a branch that the fix reached one release later. */
        .id = "nvidia-470.63.01",
        .source = "vkd3d-proton 0e216b2b",
        .vendor_id = VENDOR_NVIDIA,
        .driver_id = VK_DRIVER_ID_NVIDIA_PROPRIETARY,
        .version_from = POLICY_NVIDIA_VERSION(470, 63, 1, 0),
        .version_below = POLICY_NVIDIA_VERSION(470, 63, 2, 0),
        .actions = POLICY_SINGLE_CACHE,
    },
    {
        /* The data of any cache is that of the whole process: it can be very large. */
        .id = "nvidia-large-blob",
        .source = "ANGLE vk_renderer.cpp",
        .vendor_id = VENDOR_NVIDIA,
        .driver_id = VK_DRIVER_ID_NVIDIA_PROPRIETARY,
        .max_blob = (uint64_t)256 << 20,
    },
    {
        /* Concurrent creation corrupts the cache; releases 22.5.1 to late 2022. Their driverVersion
         * is 2.0.x and told by few (22.5.1: 2.0.226, yuzu-emu/yuzu#8518), so both ends have room.
         */
        .id = "amd-proprietary-2022",
        .source = "yuzu-emu/yuzu#8507",
        .vendor_id = VENDOR_AMD,
        .driver_id = VK_DRIVER_ID_AMD_PROPRIETARY,
        .version_from = VK_MAKE_API_VERSION(0, 2, 0, 220),
        .version_below = VK_MAKE_API_VERSION(0, 2, 0, 260),
        .actions = POLICY_SERIALIZE,
    },
    {
        /* Concurrent creation takes up to a minute: 27.20.100.9126, fixed in 27.20.100.9313, of
         * which driverVersion holds the last two parts. */
        .id = "intel-windows-100.9126",
        .source = "IGCIT/Intel-GPU-Community-Issue-Tracker-IGCIT#8",
        .vendor_id = VENDOR_INTEL,
        .driver_id = VK_DRIVER_ID_INTEL_PROPRIETARY_WINDOWS,
        .version_from = POLICY_INTEL_WINDOWS_VERSION(100, 9126),
        .version_below = POLICY_INTEL_WINDOWS_VERSION(100, 9313),
        .actions = POLICY_SERIALIZE,
    },
};

const size_t policy_table_size = sizeof(policy_table) / sizeof(policy_table[0]);
