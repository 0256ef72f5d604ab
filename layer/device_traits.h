/* What the program asked of a device, as far as it decides what warmpipe may do there. */
#ifndef WARMPIPE_LAYER_DEVICE_TRAITS_H
#define WARMPIPE_LAYER_DEVICE_TRAITS_H

#include <stdbool.h>
#include <vulkan/vulkan.h>

struct device_traits {
    bool group;                   /* VkDeviceGroupDeviceCreateInfo of several physical devices */
    bool private_data;            /* privateData is enabled: handles must be unique (hazard 2) */
    bool maintenance4;            /* its extension is enabled */
    bool creation_feedback;       /* its extension is enabled */
    bool memory_report;           /* VkDeviceDeviceMemoryReportCreateInfoEXT: a callback */
    bool blend_advanced_coherent; /* advancedBlendCoherentOperations is enabled */
};

/* Reads the create-info of vkCreateDevice; follows its whole chain, structs unknown included. */
void device_traits_read(const VkDeviceCreateInfo *create_info, struct device_traits *ret_traits);

/* Whether a library of a tool is loaded that records handles one by one and must see each creation
 * (RenderDoc, GFXReconstruct; hazard 57). */
bool device_traits_capture_tool(void);

#endif
