#include "manifests.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "layer_variables.h"
#include "manifest_text.h"

#define MAX_MANIFEST 65536

struct search {
    struct manifests found;
    bool implicit;
};

static void look_at(struct search *search, const char *folder, const char *name)
{
    char *path = NULL;
    struct bytes text = {0};
    int fd = -1;
    if (bytes_reserve(&text, MAX_MANIFEST) && asprintf(&path, "%s/%s", folder, name) >= 0) {
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    }
    ssize_t size = fd < 0 ? -1 : read(fd, text.data, MAX_MANIFEST);
    text.size = size > 0 ? (size_t)size : 0;
    char *library = text.size > 0 ? manifest_text_library(&text, path) : NULL;
    struct manifest *more = library ? reallocarray(search->found.manifests, search->found.count + 1,
                                                   sizeof *search->found.manifests)
                                    : NULL;
    if (more) {
        search->found.manifests = more;
        more[search->found.count++] = (struct manifest){
            .path = path,
            .library = library,
            .implicit = search->implicit,
            .library_found = !strchr(library, '/') || access(library, R_OK) == 0,
        };
        path = library = NULL;
    }
    if (fd >= 0) {
        close(fd);
    }
    free(library);
    free(path);
    bytes_free(&text);
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
