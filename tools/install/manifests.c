// SPDX-License-Identifier: Apache-2.0
#include "tools/install/manifests.h"
#include "tools/cli/output.h"
#include "tools/cli/verb.h"

#include <dirent.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/json.h"
#include "common/base/text.h"
#include "common/files/file.h"

/* False: it is not known. Without /proc, which some containers lack, the kernel still says by what
 * path it has started the program. */
static bool program_folder(char ret_folder[PATH_MAX])
{
    const char *started = (const char *)(uintptr_t)getauxval(AT_EXECFN);
    const ssize_t length = readlink("/proc/self/exe", ret_folder, PATH_MAX - 1);
    if (length >= 0) {
        ret_folder[length] = '\0';
    } else if (!started || !realpath(started, ret_folder)) {
        return false;
    }
    *strrchr(ret_folder, '/') = '\0';
    return true;
}

char *layer_installed_library(void)
{
    char program[PATH_MAX];
    char path[PATH_MAX + 256];
    if (!program_folder(program)) {
        return NULL;
    }
    snprintf(path, sizeof path, "%s/" WARMPIPE_LAYER_FROM_BINDIR "/" LAYER_LIBRARY, program);
    return realpath(path, NULL);
}

char *layer_data_directory(void)
{
    static const char *const places[] = {WARMPIPE_DATADIR_FROM_BINDIR, "../share"};
    char program[PATH_MAX];
    if (!program_folder(program)) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char path[PATH_MAX + 256];
        snprintf(path, sizeof path, "%s/%s/" LAYER_MANIFEST, program, places[i]);
        if (access(path, R_OK) == 0) {
            path[strlen(path) - strlen("/" LAYER_MANIFEST)] = '\0';
            return realpath(path, NULL);
        }
    }
    return NULL;
}

/* Where the fields are in the text. */
struct manifest_parts {
    struct json_text library;
    const char *enable;     /* the quote before enable_environment; NULL: it is not there */
    const char *enable_end; /* behind its value */
    bool is_override; /* not of a layer: of the Vulkan Configurator, for those that it names */
    bool bars;        /* and it keeps this one out, */
    bool is_idle;     /* unless it is of single programs, or switched off */
};

static bool manifest_read_list_with_us(struct json_reader *reader)
{
    bool found = false;
    json_read_open(reader, '[');
    while (json_read_element(reader)) {
        found |= json_text_is(json_read_string(reader), LAYER_NAME);
    }
    return found;
}

/* Of disable_environment: whether one of the variables is set. */
static bool manifest_read_switches(struct json_reader *reader)
{
    bool is_set = false;
    struct json_text key;
    json_read_open(reader, '{');
    while (json_read_member(reader, &key)) {
        AUTO_FREE char *name = output_format("%.*s", (int)key.size, key.data);
        is_set |= name && getenv(name);
        json_read_any(reader);
    }
    return is_set;
}

/* False: it is not a manifest of this layer. */
static bool manifest_parse(const struct bytes *text, struct manifest_parts *ret_parts)
{
    struct json_reader reader = json_reader_over(text->data, text->size);
    struct json_text key;
    struct json_text name = {"", 0};
    struct manifest_parts parts = {0};
    json_read_open(&reader, '{');
    while (json_read_member(&reader, &key)) {
        if (!json_text_is(key, "layer")) {
            json_read_any(&reader);
            continue;
        }
        json_read_open(&reader, '{');
        while (json_read_member(&reader, &key)) {
            if (json_text_is(key, "name")) {
                name = json_read_string(&reader);
            } else if (json_text_is(key, "library_path")) {
                parts.library = json_read_string(&reader);
            } else if (json_text_is(key, "blacklisted_layers")) {
                parts.bars = manifest_read_list_with_us(&reader);
            } else if (json_text_is(key, "disable_environment")) {
                parts.is_idle |= manifest_read_switches(&reader);
            } else {
                parts.is_idle |= json_text_is(key, "app_keys");
                struct json_text value = json_read_any(&reader);
                if (json_text_is(key, "enable_environment")) {
                    parts.enable = key.data - 1;
                    parts.enable_end = value.data + value.size;
                }
            }
        }
    }
    json_read_end(&reader);
    parts.is_override = !reader.failed && json_text_is(name, "VK_LAYER_LUNARG_override");
    *ret_parts = parts;
    return !reader.failed && parts.library.size > 0 && json_text_is(name, LAYER_NAME);
}

static char *manifest_library_of(const struct manifest_parts *parts, const char *path)
{
    const struct json_text library = parts->library;
    const bool is_whole = library.data[0] == '/' || !memchr(library.data, '/', library.size);
    const char *slash = strrchr(path, '/');
    const int folder = is_whole || !slash ? 0 : (int)(slash + 1 - path);
    return output_format("%.*s%.*s", folder, path, (int)library.size, library.data);
}

char *manifest_library(const struct bytes *text, const char *path)
{
    struct manifest_parts parts;
    return manifest_parse(text, &parts) ? manifest_library_of(&parts, path) : NULL;
}

bool manifest_names(const struct bytes *text, const char *library_path)
{
    struct manifest_parts parts;
    return manifest_parse(text, &parts) && json_text_is(parts.library, library_path);
}

bool manifest_change(const struct bytes *text, const char *library_path, bool always,
                     struct bytes *out)
{
    struct manifest_parts parts;
    if (!manifest_parse(text, &parts)) {
        return false;
    }
    const char *start = (const char *)text->data;
    const char *end = start + text->size;
    const char *rest = parts.library.data + parts.library.size;
    bytes_put(out, start, (size_t)(parts.library.data - start));
    bytes_put_text(out, library_path);
    if (always && parts.enable > rest) {
        bytes_put(out, rest, (size_t)(parts.enable - rest));
        rest = parts.enable_end; /* and the comma, and white space before the next member */
        while (rest < end && strchr(" \t\r\n,", *rest)) {
            rest++;
        }
    }
    bytes_put(out, rest, (size_t)(end - rest));
    return !out->failed;
}

#define MAX_MANIFEST 65536

/* Whether a file that is no readable manifest was meant to be one of this layer. */
static bool manifest_is_meant_for_us(const char *file_name, const struct bytes *text)
{
    return pattern_matches("*warmpipe*", file_name) ||
           (text->size > 0 && memmem(text->data, text->size, LAYER_NAME, strlen(LAYER_NAME)));
}

static void manifests_add_file(struct manifests *found, bool implicit, const char *folder,
                               const char *name)
{
    AUTO(bytes_free) struct bytes text = {0};
    AUTO_FREE char *path = output_format("%s/%s", folder, name);
    if (!path) {
        return;
    }
    const enum status reason = file_read_any(path, MAX_MANIFEST, &text.data, &text.size);
    struct manifest_parts parts = {.is_override = true}; /* of what cannot be read */
    const bool is_whole = reason == STATUS_ok && manifest_parse(&text, &parts);
    AUTO_FREE char *library = is_whole ? manifest_library_of(&parts, path) : NULL;
    const bool ours = library || (!parts.is_override && manifest_is_meant_for_us(name, &text));
    if (ours && array_reserve(&found->manifests, found->count, sizeof *found->manifests)) {
        found->manifests[found->count++] = (struct manifest){
            .path = path,
            .library = library,
            .implicit = implicit,
            .library_found = library && (!strchr(library, '/') || access(library, R_OK) == 0),
        };
        path = library = NULL;
    } else if (!found->barred_by && parts.is_override && parts.bars && !parts.is_idle) {
        found->barred_by = path;
        path = NULL;
    }
}

static void manifests_add_folder(struct manifests *found, bool implicit, const char *folder)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        if (text_ends_in(name, ".json")) {
            manifests_add_file(found, implicit, folder, name);
        }
        free(entries[i]);
    }
    free(entries);
}

/* Each folder of a list separated by colons, with `below` appended. */
static void manifests_add_list(struct manifests *found, bool implicit, const char *list,
                               const char *below)
{
    for (const char *part = list; part && *part; part += *part == ':') {
        const size_t length = strcspn(part, ":");
        AUTO_FREE char *folder = output_format("%.*s%s", (int)length, part, below);
        if (folder && length > 0) {
            manifests_add_folder(found, implicit, folder);
        }
        part += length;
    }
}

/* XDG_CONFIG_HOME, XDG_DATA_HOME: if unset, a folder below the home directory. */
static void manifests_add_home(struct manifests *found, bool implicit, const char *variable,
                               const char *in_home, const char *below)
{
    const char *directory = options_variable(variable, NULL);
    const char *home = options_variable("HOME", NULL);
    AUTO_FREE char *path = !directory && home ? output_format("%s/%s", home, in_home) : NULL;
    manifests_add_list(found, implicit, directory ? directory : path, below);
}

static void manifests_add_kind(struct manifests *found, bool implicit)
{
    const char *below = implicit ? "/" LAYER_IMPLICIT_FOLDER : "/" LAYER_EXPLICIT_FOLDER;
    const char *instead = implicit ? "VK_IMPLICIT_LAYER_PATH" : "VK_LAYER_PATH";
    const char *besides = implicit ? "VK_ADD_IMPLICIT_LAYER_PATH" : "VK_ADD_LAYER_PATH";
    if (options_variable(instead, NULL)) {
        manifests_add_list(found, implicit, getenv(instead), "");
        return;
    }
    manifests_add_list(found, implicit, getenv(besides), "");
    manifests_add_home(found, implicit, "XDG_CONFIG_HOME", ".config", below);
    manifests_add_list(found, implicit, options_variable("XDG_CONFIG_DIRS", "/etc/xdg"), below);
    manifests_add_list(found, implicit, "/etc", below);
    manifests_add_home(found, implicit, "XDG_DATA_HOME", ".local/share", below);
    manifests_add_list(found, implicit,
                       options_variable("XDG_DATA_DIRS", "/usr/local/share:/usr/share"), below);
}

void manifests_find(struct manifests *ret_manifests)
{
    *ret_manifests = (struct manifests){0};
    manifests_add_kind(ret_manifests, true);
    manifests_add_kind(ret_manifests, false);
}

void manifests_free(struct manifests *manifests)
{
    for (size_t i = 0; i < manifests->count; i++) {
        free(manifests->manifests[i].path);
        free(manifests->manifests[i].library);
    }
    free(manifests->manifests);
    free(manifests->barred_by);
    *manifests = (struct manifests){0};
}
