// SPDX-License-Identifier: Apache-2.0
#include "common/driver/driver_settings.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Behind the last separator, of Linux or, for Wine's programs, of Windows. */
static const char *settings_program_name(void)
{
    const char *name = program_invocation_name;
    const char *slash = strrchr(name, '/');
    slash = slash ? slash : strrchr(name, '\\');
    return slash ? slash + 1 : name;
}

static const char *settings_value(const char *name)
{
    const char *value = secure_getenv(name);
    if (!value && strcmp(name, SETTINGS_PROGRAM) == 0) {
        value = secure_getenv("MESA_PROCESS_NAME");
        value = value ? value : settings_program_name();
    }
    return value;
}

void driver_settings_of_process(char ret_text[DRIVER_SETTINGS_SIZE])
{
    size_t size = 0;
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        const char *value = settings_value(settings_names[i]);
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
    char value[DRIVER_SETTINGS_SIZE];
    for (size_t i = 0; *text && i < SETTINGS_COUNT; i++) {
        const char *here = settings_value(settings_names[i]);
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
