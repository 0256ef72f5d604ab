// SPDX-License-Identifier: Apache-2.0
#include "layer/chain/host.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "common/base/bytes.h"
#include "common/base/log.h"
#include "common/base/status.h"

/* Executables that replay what other programs recorded. */
static const char *const host_replayers[] = {"fossilize-replay", "fossilize_replay"};

/* An empty path where it is unknown. */
static void host_find_executable(char *path, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", path, size - 1);
    path[length > 0 ? length : 0] = '\0';
}

void host_executable_name(char ret_name[NAME_MAX + 1])
{
    char path[4096];
    host_find_executable(path, sizeof path);
    const char *slash = strrchr(path, '/');
    snprintf(ret_name, NAME_MAX + 1, "%.*s", NAME_MAX, slash ? slash + 1 : path);
}

bool host_is_replayer(void)
{
    char name[NAME_MAX + 1];
    host_executable_name(name);
    for (size_t i = 0; i < sizeof host_replayers / sizeof host_replayers[0]; i++) {
        if (strcmp(name, host_replayers[i]) == 0) {
            log_info("off: %s (%s)", status_text(STATUS_replayer), status_id(STATUS_replayer));
            return true;
        }
    }
    return false;
}

bool host_is_off_limits(void)
{
    /* With an explicit manifest the loader ignores this variable, so the layer reads it itself. By
     * the loader's rule any value counts, even an empty one. */
    if (getenv("WARMPIPE_DISABLE")) {
        return true;
    }
    if (getauxval(AT_SECURE)) {
        log_info("off: the program runs with elevated privileges (elevated_privileges)");
        return true;
    }
    return false;
}

/* The executable's path goes through no link, and a folder for temporary files, or /snap, may be
 * one. NULL: no such mount point. */
static const char *host_mount_point(const char *variable, char resolved[PATH_MAX])
{
    const char *path = secure_getenv(variable);
    return path ? realpath(path, resolved) : NULL;
}

void host_app_name(const char *app_setting, const VkApplicationInfo *application,
                   char ret_name[NAMES_APP_SIZE])
{
    char executable[4096];
    host_find_executable(executable, sizeof executable);
    char appdir[PATH_MAX];
    char snap[PATH_MAX];
    struct names_program program = {
        .app_setting = app_setting,
        .executable = executable,
        .appdir = host_mount_point("APPDIR", appdir),
        .snap = host_mount_point("SNAP", snap),
        .application_name = application ? application->pApplicationName : NULL,
        .engine_name = application ? application->pEngineName : NULL,
    };
    names_app_folder(&program, ret_name);
}

/* VkLayerSettingsCreateInfoEXT and what belongs to it (chapter "Instances"), under names of our
 * own: the headers of Debian 12 do not have them. */
#define TYPE_LAYER_SETTINGS_CREATE_INFO ((VkStructureType)1000496000)

enum setting_type {
    SETTING_BOOL32,
    SETTING_INT32,
    SETTING_INT64,
    SETTING_UINT32,
    SETTING_UINT64,
    SETTING_FLOAT32,
    SETTING_FLOAT64,
    SETTING_STRING
};

struct layer_setting {
    const char *layer_name;
    const char *setting_name;
    enum setting_type type;
    uint32_t value_count;
    const void *values;
};

struct layer_settings {
    VkStructureType type;
    const void *next;
    uint32_t setting_count;
    const struct layer_setting *settings;
};

/* A number as text. No setting takes a number with a fraction. */
static void setting_format_number(const struct layer_setting *setting, uint32_t i, char *text,
                                  size_t size)
{
    const void *values = setting->values;
    switch (setting->type) {
    case SETTING_BOOL32:
        snprintf(text, size, "%d", ((const VkBool32 *)values)[i] != VK_FALSE);
        break;
    case SETTING_INT32:
        snprintf(text, size, "%" PRId32, ((const int32_t *)values)[i]);
        break;
    case SETTING_INT64:
        snprintf(text, size, "%" PRId64, ((const int64_t *)values)[i]);
        break;
    case SETTING_UINT32:
        snprintf(text, size, "%" PRIu32, ((const uint32_t *)values)[i]);
        break;
    case SETTING_UINT64:
        snprintf(text, size, "%" PRIu64, ((const uint64_t *)values)[i]);
        break;
    default:
        snprintf(text, size, "a number with a point");
        break;
    }
}

static void setting_give(const struct layer_setting *setting, config_take_fn take, void *user)
{
    struct bytes value = {0};
    for (uint32_t i = 0; i < setting->value_count; i++) {
        char number[32];
        const char *text = number;
        if (setting->type == SETTING_STRING) {
            text = ((const char *const *)setting->values)[i];
        } else {
            setting_format_number(setting, i, number, sizeof number);
        }
        if (i > 0) {
            bytes_put_u8(&value, ',');
        }
        bytes_put_text(&value, text);
    }
    bytes_put_u8(&value, '\0');
    if (!value.failed) {
        take(setting->setting_name, (const char *)value.data, user);
    }
    bytes_free(&value);
}

void host_each_setting(const void *create_info, config_take_fn take, void *user)
{
    const VkBaseInStructure *next = ((const VkInstanceCreateInfo *)create_info)->pNext;
    for (; next; next = next->pNext) {
        const struct layer_settings *settings = (const void *)next;
        uint32_t count =
            next->sType == TYPE_LAYER_SETTINGS_CREATE_INFO ? settings->setting_count : 0;
        for (uint32_t i = 0; i < count; i++) {
            const struct layer_setting *setting = &settings->settings[i];
            if (strcmp(setting->layer_name, HOST_LAYER_NAME) == 0) {
                setting_give(setting, take, user);
            }
        }
    }
}
