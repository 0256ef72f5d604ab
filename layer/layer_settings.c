#include "layer_settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <vulkan/vulkan.h>

#include "base/bytes.h"

/* VkLayerSettingsCreateInfoEXT and what belongs to it (chapter "Instances"), under names of our
 * own: the headers of Debian 12 do not have them. */
#define TYPE_LAYER_SETTINGS_CREATE_INFO ((VkStructureType)1000496000)

enum value_type {
    VALUE_BOOL32,
    VALUE_INT32,
    VALUE_INT64,
    VALUE_UINT32,
    VALUE_UINT64,
    VALUE_FLOAT32,
    VALUE_FLOAT64,
    VALUE_STRING
};

struct layer_setting {
    const char *layer_name;
    const char *setting_name;
    enum value_type type;
    uint32_t value_count;
    const void *values;
};

struct layer_settings {
    VkStructureType type;
    const void *next;
    uint32_t setting_count;
    const struct layer_setting *settings;
};

/* A number as text; no setting takes one that is not whole. */
static void format_number(const struct layer_setting *setting, uint32_t i, char *text, size_t size)
{
    const void *values = setting->values;
    switch (setting->type) {
    case VALUE_BOOL32:
        snprintf(text, size, "%d", ((const VkBool32 *)values)[i] != VK_FALSE);
        break;
    case VALUE_INT32:
        snprintf(text, size, "%" PRId32, ((const int32_t *)values)[i]);
        break;
    case VALUE_INT64:
        snprintf(text, size, "%" PRId64, ((const int64_t *)values)[i]);
        break;
    case VALUE_UINT32:
        snprintf(text, size, "%" PRIu32, ((const uint32_t *)values)[i]);
        break;
    case VALUE_UINT64:
        snprintf(text, size, "%" PRIu64, ((const uint64_t *)values)[i]);
        break;
    default:
        snprintf(text, size, "a number with a point");
        break;
    }
}

static void give(const struct layer_setting *setting, config_take_fn take, void *user)
{
    struct bytes value = {0};
    for (uint32_t i = 0; i < setting->value_count; ++i) {
        char number[32];
        const char *text = number;
        if (setting->type == VALUE_STRING) {
            text = ((const char *const *)setting->values)[i];
        } else {
            format_number(setting, i, number, sizeof number);
        }
        if (i > 0) {
            bytes_put_u8(&value, ',');
        }
        bytes_put(&value, text, strlen(text));
    }
    bytes_put_u8(&value, '\0');
    if (!value.failed) {
        take(setting->setting_name, (const char *)value.data, user);
    }
    bytes_free(&value);
}

void layer_settings_each(const void *create_info, config_take_fn take, void *user)
{
    const VkBaseInStructure *next = ((const VkInstanceCreateInfo *)create_info)->pNext;
    for (; next; next = next->pNext) {
        const struct layer_settings *settings = (const void *)next;
        uint32_t count =
            next->sType == TYPE_LAYER_SETTINGS_CREATE_INFO ? settings->setting_count : 0;
        for (uint32_t i = 0; i < count; ++i) {
            const struct layer_setting *setting = &settings->settings[i];
            if (strcmp(setting->layer_name, LAYER_SETTINGS_LAYER) == 0) {
                give(setting, take, user);
            }
        }
    }
}
