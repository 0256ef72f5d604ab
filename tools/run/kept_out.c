// SPDX-License-Identifier: Apache-2.0
#include "tools/run/layer_process.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/json.h"
#include "common/files/file.h"
#include "tools/cli/output.h"
#include "tools/cli/verb.h"
#include "tools/install/manifests.h"
#include "tools/vulkan/vulkan_loader.h"

#define SETTINGS_IN_FOLDER "/vulkan/loader_settings.d/vk_loader_settings.json"
#define MAX_SETTINGS       ((uint64_t)1 << 20)

/* What the settings say of layers. */
struct settings {
    bool has_list;     /* of layers, */
    bool has_layers;   /* with some: then no other layer is loaded, */
    bool has_others;   /* it is about messages, drivers or devices */
    bool leaves_place; /* unless there is a place for those that are not listed */
    bool is_listed;    /* this layer is */
    bool is_off;       /* and switched off */
    bool is_of_some;   /* of programs that it names */
    bool is_bad;       /* the loader ignores it */
};

enum settings_verdict { SETTINGS_SAY_NOTHING, SETTINGS_LET_IN, SETTINGS_KEEP_OUT };

static void settings_read_layer(struct json_reader *reader, struct settings *settings)
{
    struct json_text key, name = {"", 0}, control = {"", 0};
    bool has_path = false;
    json_read_open(reader, '{');
    while (json_read_member(reader, &key)) {
        if (json_text_is(key, "name")) {
            name = json_read_string(reader);
        } else if (json_text_is(key, "control")) {
            control = json_read_string(reader);
        } else {
            has_path |= json_text_is(key, "path");
            json_read_any(reader);
        }
    }
    const bool is_place = json_text_is(control, "unordered_layer_location");
    settings->leaves_place |= is_place;
    settings->is_bad |= !is_place && !(has_path && name.size > 0 && control.size > 0);
    if (json_text_is(name, LAYER_NAME)) {
        settings->is_listed = true;
        settings->is_off = json_text_is(control, "off");
    }
}

static bool settings_read_any(struct json_reader *reader)
{
    bool found = false;
    json_read_open(reader, '[');
    while (json_read_element(reader)) {
        found = true;
        json_read_any(reader);
    }
    return found;
}

static struct settings settings_read_object(struct json_reader *reader)
{
    struct settings settings = {0};
    struct json_text key;
    json_read_open(reader, '{');
    while (json_read_member(reader, &key)) {
        if (json_text_is(key, "layers")) {
            settings.has_list = true;
            json_read_open(reader, '[');
            while (json_read_element(reader)) {
                settings.has_layers = true;
                settings_read_layer(reader, &settings);
            }
        } else if (json_text_is(key, "stderr_log") || json_text_is(key, "additional_drivers") ||
                   json_text_is(key, "device_configurations")) {
            settings.has_others |= settings_read_any(reader);
        } else {
            settings.is_of_some |= json_text_is(key, "app_keys");
            json_read_any(reader);
        }
    }
    return settings;
}

/* What names no layers may mean that none is to be loaded. */
static bool settings_bar_all(const struct settings *settings, uint32_t loader)
{
    return loader < VK_MAKE_API_VERSION(0, 1, 4, 309)   ? settings->has_list
           : loader < VK_MAKE_API_VERSION(0, 1, 4, 323) ? true
           : loader < VK_MAKE_API_VERSION(0, 1, 4, 336) ? settings->has_others
                                                        : settings->has_list;
}

/* Of several, the first that is of all programs. An array is preferred to a single one. */
static enum settings_verdict settings_judge(const struct bytes *text, uint32_t loader)
{
    struct json_reader reader = json_reader_over(text->data, text->size);
    struct settings single = {.is_of_some = true}, first = single;
    bool has_format = false, has_array = false;
    struct json_text key;
    json_read_open(&reader, '{');
    while (json_read_member(&reader, &key)) {
        if (json_text_is(key, "settings")) {
            single = settings_read_object(&reader);
        } else if (json_text_is(key, "settings_array")) {
            has_array = true;
            json_read_open(&reader, '[');
            while (json_read_element(&reader)) {
                const struct settings one = settings_read_object(&reader);
                first = first.is_of_some ? one : first;
            }
        } else {
            has_format |= json_text_is(key, "file_format_version");
            json_read_any(&reader);
        }
    }
    json_read_end(&reader);
    const struct settings *used = has_array ? &first : &single;
    if (reader.failed || !has_format || used->is_of_some || used->is_bad ||
        !(used->has_layers || settings_bar_all(used, loader))) {
        return SETTINGS_SAY_NOTHING;
    }
    return used->is_off         ? SETTINGS_KEEP_OUT
           : used->leaves_place ? SETTINGS_SAY_NOTHING
           : used->is_listed    ? SETTINGS_LET_IN
                                : SETTINGS_KEEP_OUT;
}

/* 0: it knows no settings, as before May 2023, or there is none. */
static uint32_t settings_loader(void)
{
    struct vulkan_loader loader;
    const uint32_t version = vulkan_loader_open(&loader) ? 0 : vulkan_loader_version(&loader);
    return version >= VK_MAKE_API_VERSION(0, 1, 3, 250) ? version : 0;
}

/* The first folder of the list that has settings. To be freed; NULL: none has. */
static char *settings_find_in(const char *folders)
{
    for (const char *part = folders; part && *part; part += *part == ':') {
        const size_t length = strcspn(part, ":");
        char *path = output_format("%.*s" SETTINGS_IN_FOLDER, (int)length, part);
        if (path && length > 0 && access(path, F_OK) == 0) {
            return path;
        }
        free(path);
        part += length;
    }
    return NULL;
}

/* The loader's order. */
static char *settings_find(void)
{
    AUTO_FREE char *config = options_base("XDG_CONFIG_HOME", ".config");
    AUTO_FREE char *data = options_base("XDG_DATA_HOME", ".local/share");
    const char *const places[] = {
        config,
        data,
        options_variable("XDG_CONFIG_DIRS", "/etc/xdg"),
        "/etc",
        options_variable("XDG_DATA_DIRS", "/usr/local/share:/usr/share"),
    };
    char *found = NULL;
    for (size_t i = 0; i < sizeof places / sizeof places[0] && !found; i++) {
        found = settings_find_in(places[i]);
    }
    return found;
}

char *layer_kept_out_by(void)
{
    AUTO(bytes_free) struct bytes text = {0};
    AUTO_FREE char *path = settings_find();
    const uint32_t loader = path ? settings_loader() : 0;
    enum settings_verdict verdict = SETTINGS_SAY_NOTHING;
    if (loader && file_read_any(path, MAX_SETTINGS, &text.data, &text.size) == STATUS_ok) {
        verdict = settings_judge(&text, loader);
    }
    if (verdict != SETTINGS_SAY_NOTHING) {
        return verdict == SETTINGS_KEEP_OUT ? strdup(path) : NULL; /* and no override is read */
    }
    AUTO(manifests_free) struct manifests manifests;
    manifests_find(&manifests);
    return manifests.barred_by ? strdup(manifests.barred_by) : NULL;
}
