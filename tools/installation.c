#include "installation.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "layer_variables.h"
#include "manifest_text.h"
#include "output.h"

#define LIBRARY_NAME "libVkLayer_warmpipe.so"
#define FILE_LIMIT   ((size_t)64 << 20)

static const char *const manifest_folders[] = {LAYER_IMPLICIT_FOLDER, LAYER_EXPLICIT_FOLDER};

static bool complete(struct installation *installation, struct installation *ret_installation)
{
    if (!installation->data || !installation->folder) {
        installation_free(installation);
        return false;
    }
    *ret_installation = *installation;
    return true;
}

bool installation_of_user(const char *verb, struct installation *ret_installation)
{
    const char *data = getenv("XDG_DATA_HOME");
    const char *home = getenv("HOME");
    struct installation installation = {.library_path = "../../warmpipe/" LIBRARY_NAME};
    if (data && data[0] == '/') {
        installation.data = variable_join(verb, data, "", "");
    } else if (home && home[0] == '/') {
        installation.data = variable_join(verb, home, "/", ".local/share");
    } else {
        output_message("%s: neither XDG_DATA_HOME nor HOME is an absolute path", verb);
        return false;
    }
    if (installation.data) {
        installation.folder = variable_join(verb, installation.data, "/", "warmpipe");
    }
    return complete(&installation, ret_installation);
}

bool installation_of_system(const char *verb, const char *prefix,
                            struct installation *ret_installation)
{
    struct installation installation = {
        .data = variable_join(verb, prefix, "/", "share"),
        .folder = variable_join(verb, prefix, "/", "lib/warmpipe"),
        .library_path = "../../../lib/warmpipe/" LIBRARY_NAME,
    };
    return complete(&installation, ret_installation);
}

void installation_free(struct installation *installation)
{
    free(installation->data);
    free(installation->folder);
    *installation = (struct installation){0};
}

static bool complain(const char *verb, const char *doing, const char *path)
{
    output_message("%s: cannot %s '%s': %s", verb, doing, path, strerror(errno));
    return false;
}

/* Appends the file to `content`. False: errno tells why. */
static bool read_whole(const char *path, struct bytes *content)
{
    uint8_t buffer[65536];
    ssize_t count;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    while ((count = read(fd, buffer, sizeof buffer)) > 0 && content->size < FILE_LIMIT) {
        bytes_put(content, buffer, (size_t)count);
    }
    close(fd);
    return count == 0 && !content->failed;
}

/* With its parents; what is there stays as it is. */
static bool make_folders(const char *verb, const char *path)
{
    char copy[PATH_MAX];
    snprintf(copy, sizeof copy, "%s", path);
    for (char *slash = strchr(copy + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash) {
            *slash = '\0';
        }
        if (mkdir(copy, 0755) != 0 && errno != EEXIST) {
            return complain(verb, "make", copy);
        }
        if (!slash) {
            return true;
        }
        *slash = '/';
    }
}

/* Whole or not at all: programs may have the old one open. */
static bool replace(const char *verb, const char *path, const struct bytes *content, mode_t mode)
{
    char *temporary = variable_join(verb, path, "", ".new");
    if (!temporary) {
        return false;
    }
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode);
    bool done = fd >= 0 && fchmod(fd, mode) == 0 &&
                write(fd, content->data, content->size) == (ssize_t)content->size &&
                fsync(fd) == 0 && rename(temporary, path) == 0;
    if (!done) {
        complain(verb, "write", path);
        unlink(temporary);
    }
    if (fd >= 0) {
        close(fd);
    }
    free(temporary);
    return done;
}

/* "<directory>/<folder>/<name>", to be freed. */
static char *path_of(const char *verb, const char *directory, const char *folder, const char *name)
{
    char *path;
    if (asprintf(&path, "%s/%s/%s", directory, folder, name) < 0) {
        output_message("%s: out of memory", verb);
        return NULL;
    }
    return path;
}

enum owner { OWNER_NOBODY, OWNER_US, OWNER_OTHER };

static enum owner owner_of(const struct installation *installation, const char *manifest)
{
    struct bytes text = {0};
    enum owner owner = OWNER_OTHER;
    if (read_whole(manifest, &text)) {
        owner = manifest_text_names(&text, installation->library_path) ? OWNER_US : OWNER_OTHER;
    } else if (errno == ENOENT || errno == ENOTDIR) {
        owner = OWNER_NOBODY;
    }
    bytes_free(&text);
    return owner;
}

/* False after a message if one of them is somebody else's. */
static bool manifests_are_ours(const char *verb, const struct installation *installation)
{
    for (size_t i = 0; i < sizeof manifest_folders / sizeof *manifest_folders; i++) {
        char *path = path_of(verb, installation->data, manifest_folders[i], LAYER_MANIFEST_NAME);
        bool ours = path && owner_of(installation, path) != OWNER_OTHER;
        if (path && !ours) {
            output_message("%s: '%s' is not of 'warmpipe install': a package's, it seems", verb,
                           path);
        }
        free(path);
        if (!ours) {
            return false;
        }
    }
    return true;
}

static bool put_manifest(const char *verb, const struct installation *installation,
                         const char *source_data, const char *folder, bool always,
                         installation_tell_fn tell, void *user)
{
    struct bytes text = {0};
    struct bytes changed = {0};
    char *source = path_of(verb, source_data, folder, LAYER_MANIFEST_NAME);
    char *directory = variable_join(verb, installation->data, "/", folder);
    char *target = path_of(verb, installation->data, folder, LAYER_MANIFEST_NAME);
    bool done = source && directory && target;
    if (done && (!read_whole(source, &text) ||
                 !manifest_text_change(&text, installation->library_path, always, &changed))) {
        done = complain(verb, "read", source);
    }
    done = done && make_folders(verb, directory) && replace(verb, target, &changed, 0644);
    if (done) {
        tell(user, target, "installed");
    }
    free(target);
    free(directory);
    free(source);
    bytes_free(&changed);
    bytes_free(&text);
    return done;
}

/* Where the library of the manifests in `source_data` lies; to be freed. */
static char *find_library(const char *verb, const char *source_data)
{
    char *manifest = path_of(verb, source_data, LAYER_IMPLICIT_FOLDER, LAYER_MANIFEST_NAME);
    struct bytes text = {0};
    char *library = NULL;
    if (manifest && read_whole(manifest, &text)) {
        library = manifest_text_library(&text, manifest);
    }
    if (!library) {
        output_message("%s: no library of the layer is beside this program", verb);
    }
    bytes_free(&text);
    free(manifest);
    return library;
}

static bool put_library(const char *verb, const struct installation *installation,
                        const char *source_data, installation_tell_fn tell, void *user)
{
    struct bytes library = {0};
    char *source = find_library(verb, source_data);
    char *target = variable_join(verb, installation->folder, "/", LIBRARY_NAME);
    bool done = source && target;
    if (done && !read_whole(source, &library)) {
        done = complain(verb, "read", source);
    }
    done =
        done && make_folders(verb, installation->folder) && replace(verb, target, &library, 0755);
    if (done) {
        tell(user, target, "installed");
    }
    bytes_free(&library);
    free(target);
    free(source);
    return done;
}

bool installation_put(const char *verb, const struct installation *installation, bool always,
                      installation_tell_fn tell, void *user)
{
    char *source = layer_data_directory();
    if (!source) {
        output_message("%s: no " LAYER_MANIFEST " beside this program", verb);
        return false;
    }
    /* The library first: a manifest without one is a message in every program. */
    bool done = manifests_are_ours(verb, installation) &&
                put_library(verb, installation, source, tell, user);
    for (size_t i = 0; done && i < sizeof manifest_folders / sizeof *manifest_folders; i++) {
        done = put_manifest(verb, installation, source, manifest_folders[i], always && i == 0, tell,
                            user);
    }
    free(source);
    return done;
}

static bool remove_file(const char *verb, const char *path, installation_tell_fn tell, void *user)
{
    if (!path) {
        return false;
    }
    if (unlink(path) != 0 && errno != ENOENT && errno != ENOTDIR) {
        return complain(verb, "remove", path);
    }
    tell(user, path, errno == ENOENT || errno == ENOTDIR ? "not there" : "removed");
    return true;
}

bool installation_remove(const char *verb, const struct installation *installation,
                         installation_tell_fn tell, void *user)
{
    if (!manifests_are_ours(verb, installation)) {
        return false;
    }
    bool done = true;
    for (size_t i = 0; i < sizeof manifest_folders / sizeof *manifest_folders; i++) {
        char *folder = variable_join(verb, installation->data, "/", manifest_folders[i]);
        char *path = folder ? variable_join(verb, folder, "/", LAYER_MANIFEST_NAME) : NULL;
        errno = 0;
        done = remove_file(verb, path, tell, user) && done;
        if (folder) {
            rmdir(folder); /* if it is empty */
        }
        free(path);
        free(folder);
    }
    char *vulkan = variable_join(verb, installation->data, "/", "vulkan");
    char *library = variable_join(verb, installation->folder, "/", LIBRARY_NAME);
    errno = 0;
    done = remove_file(verb, library, tell, user) && done;
    rmdir(installation->folder);
    if (vulkan) {
        rmdir(vulkan);
    }
    free(library);
    free(vulkan);
    return done;
}
