#include "manifests.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json_reader.h"
#include "layer_variables.h"

#define MAX_MANIFEST 65536

struct search {
    struct manifests found;
    bool implicit;
};

/* The strings "name" and "library_path" of the object "layer"; to be freed, or NULL. */
static char *copy(struct json_text text)
{
    return strndup(text.data, text.size);
}

/* The library of a manifest, if it is one of this layer, as it stands there. */
static char *read_library(const char *text, size_t size)
{
    struct json_reader reader = json_reader_over(text, size);
    struct json_text key;
    struct json_text name = {"", 0};
    struct json_text library = {"", 0};
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
                library = json_read_string(&reader);
            } else {
                json_read_any(&reader);
            }
        }
    }
    return !reader.failed && json_text_is(name, LAYER_NAME) ? copy(library) : NULL;
}

static void look_at(struct search *search, const char *folder, const char *name)
{
    char *path = NULL;
    char *text = malloc(MAX_MANIFEST);
    char *library = NULL;
    char *whole = NULL;
    int fd = -1;
    if (text && asprintf(&path, "%s/%s", folder, name) >= 0) {
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    }
    ssize_t size = fd < 0 ? -1 : read(fd, text, MAX_MANIFEST);
    library = size > 0 ? read_library(text, (size_t)size) : NULL;
    if (library) {
        const bool is_plain = !strchr(library, '/');
        if (is_plain || *library == '/') {
            whole = strdup(library);
        } else if (asprintf(&whole, "%s/%s", folder, library) < 0) {
            whole = NULL;
        }
        struct manifest *more = reallocarray(search->found.manifests, search->found.count + 1,
                                             sizeof *search->found.manifests);
        if (more && whole) {
            search->found.manifests = more;
            more[search->found.count++] = (struct manifest){
                .path = path,
                .library = whole,
                .implicit = search->implicit,
                .library_found = is_plain || access(whole, R_OK) == 0,
            };
            path = whole = NULL;
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    free(whole);
    free(library);
    free(text);
    free(path);
}

static void look_in(struct search *search, const char *folder)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        size_t length = strlen(name);
        if (length > 5 && strcmp(name + length - 5, ".json") == 0) {
            look_at(search, folder, name);
        }
        free(entries[i]);
    }
    free(entries);
}

/* Each part of a list with colons, with `below` behind it. */
static void look_in_list(struct search *search, const char *list, const char *below)
{
    for (const char *part = list; part && *part; part += *part == ':') {
        size_t length = strcspn(part, ":");
        char *folder;
        if (length > 0 && asprintf(&folder, "%.*s%s", (int)length, part, below) >= 0) {
            look_in(search, folder);
            free(folder);
        }
        part += length;
    }
}

static const char *set_or(const char *variable, const char *otherwise)
{
    const char *value = getenv(variable);
    return value && *value ? value : otherwise;
}

/* XDG_CONFIG_HOME, XDG_DATA_HOME: where unset, below the home directory. */
static void look_in_home(struct search *search, const char *variable, const char *in_home,
                         const char *below)
{
    const char *directory = set_or(variable, NULL);
    const char *home = set_or("HOME", NULL);
    char *path = NULL;
    if (!directory && home && asprintf(&path, "%s/%s", home, in_home) < 0) {
        path = NULL;
    }
    look_in_list(search, directory ? directory : path, below);
    free(path);
}

static void look_everywhere(struct search *search, bool implicit)
{
    const char *below = implicit ? "/" LAYER_IMPLICIT_FOLDER : "/" LAYER_EXPLICIT_FOLDER;
    const char *instead = implicit ? "VK_IMPLICIT_LAYER_PATH" : "VK_LAYER_PATH";
    const char *besides = implicit ? "VK_ADD_IMPLICIT_LAYER_PATH" : "VK_ADD_LAYER_PATH";
    search->implicit = implicit;
    if (set_or(instead, NULL)) {
        look_in_list(search, getenv(instead), "");
        return;
    }
    look_in_list(search, getenv(besides), "");
    look_in_home(search, "XDG_CONFIG_HOME", ".config", below);
    look_in_list(search, set_or("XDG_CONFIG_DIRS", "/etc/xdg"), below);
    look_in_list(search, "/etc", below);
    look_in_home(search, "XDG_DATA_HOME", ".local/share", below);
    look_in_list(search, set_or("XDG_DATA_DIRS", "/usr/local/share:/usr/share"), below);
}

void manifests_find(struct manifests *ret_manifests)
{
    struct search search = {0};
    look_everywhere(&search, true);
    look_everywhere(&search, false);
    *ret_manifests = search.found;
}

void manifests_free(struct manifests *manifests)
{
    for (size_t i = 0; i < manifests->count; i++) {
        free(manifests->manifests[i].path);
        free(manifests->manifests[i].library);
    }
    free(manifests->manifests);
    *manifests = (struct manifests){0};
}
