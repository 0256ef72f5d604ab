// SPDX-License-Identifier: Apache-2.0
#include "common/driver/driver_settings.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* By this Mesa finds a program's options; without it, by the program's name. */
#define SETTINGS_PROGRAM "MESA_DRICONF_EXECUTABLE_OVERRIDE"

/* Of each driver of Mesa and its compiler: what they read in a release build, less what names a
 * file or a device, or only prints. */
static const char *const settings_names[] = {
    "RADV_DEBUG",       "RADV_EXPERIMENTAL", "RADV_PERFTEST",  "ACO_DEBUG",
    "NVK_DEBUG",        "NVK_EXPERIMENTAL",  "NAK_DEBUG",      "TU_DEBUG",
    "IR3_SHADER_DEBUG", "FD_DEV_FEATURES",   "AGX_MESA_DEBUG", "ASAHI_MESA_DEBUG",
    "HK_PERFTEST",      "INTEL_DEBUG",       "ANV_DEBUG",      "NIR_DEBUG",
    "GALLIVM_PERF",     SETTINGS_PROGRAM,
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
