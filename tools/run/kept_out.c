// SPDX-License-Identifier: Apache-2.0
#include "tools/run/kept_out.h"

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
    bool has_layers;   /* then no other layer is loaded, */
    bool leaves_place; /* unless there is a place for those that are not listed */
    bool is_listed;    /* this layer is */
    bool is_off;       /* and switched off */
    bool is_of_some;   /* of programs that it names */
};

static void settings_read_layer(struct json_reader *reader, struct settings *settings)
{
    struct json_text key, name = {"", 0}, control = {"", 0};
    json_read_open(reader, '{');
    while (json_read_member(reader, &key)) {
        if (json_text_is(key, "name")) {
            name = json_read_string(reader);
        } else if (json_text_is(key, "control")) {
            control = json_read_string(reader);
        } else {
            json_read_any(reader);
        }
    }
    settings->leaves_place |= json_text_is(control, "unordered_layer_location");
    if (json_text_is(name, LAYER_NAME)) {
        settings->is_listed = true;
        settings->is_off = json_text_is(control, "off");
    }
}

static struct settings settings_read_object(struct json_reader *reader)
{
    struct settings settings = {0};
    struct json_text key;
    json_read_open(reader, '{');
    while (json_read_member(reader, &key)) {
        if (json_text_is(key, "layers")) {
            settings.has_layers = true;
            json_read_open(reader, '[');
            while (json_read_element(reader)) {
                settings_read_layer(reader, &settings);
            }
        } else {
            settings.is_of_some |= json_text_is(key, "app_keys");
            json_read_any(reader);
        }
    }
    return settings;
}

/* Of several, the first that is of all programs. */
static bool settings_keep_layer_out(const struct bytes *text)
{
    struct json_reader reader = json_reader_over(text->data, text->size);
    struct settings settings = {.is_of_some = true};
    struct json_text key;
    json_read_open(&reader, '{');
    while (json_read_member(&reader, &key)) {
        if (json_text_is(key, "settings") && settings.is_of_some) {
            settings = settings_read_object(&reader);
        } else if (json_text_is(key, "settings_array")) {
            json_read_open(&reader, '[');
            while (json_read_element(&reader)) {
                const struct settings one = settings_read_object(&reader);
                settings = settings.is_of_some ? one : settings;
            }
        } else {
            json_read_any(&reader);
        }
    }
    json_read_end(&reader);
    return !reader.failed && !settings.is_of_some && settings.has_layers &&
           (settings.is_off || (!settings.is_listed && !settings.leaves_place));
}

/* Of May 2023. */
static bool settings_are_known_to_loader(void)
{
    struct vulkan_loader loader;
    return !vulkan_loader_open(&loader) &&
           vulkan_loader_version(&loader) >= VK_MAKE_API_VERSION(0, 1, 3, 250);
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
    char *path = settings_find();
    if (path && file_read_any(path, MAX_SETTINGS, &text.data, &text.size) == STATUS_ok &&
        settings_keep_layer_out(&text) && settings_are_known_to_loader()) {
        return path;
    }
    free(path);
    struct manifests manifests;
    manifests_find(&manifests);
    path = manifests.barred_by;
    manifests.barred_by = NULL;
    manifests_free(&manifests);
    return path;
}
