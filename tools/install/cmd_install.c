// SPDX-License-Identifier: Apache-2.0
/* warmpipe install and uninstall: the layer for more than one program, and its removal.
 *
 * The library goes into a folder of its own, and both manifests into the XDG data directory; each
 * names the library by a relative path. By that path a manifest is known as one of ours: one of a
 * package has another. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/files/file.h"
#include "common/settings/config.h"
#include "tools/cli/output.h"
#include "tools/cli/verb.h"
#include "tools/install/manifests.h"

/* In the library's folder: the folders that had to be made, one per line, parents first. */
#define FOLDERS_NAME "folders"

#define FILE_LIMIT ((size_t)64 << 20)

/* clang-format off */
#define PLACE_OPTIONS \
    {"user", 0, NULL, "for this user (default unless root)"}, \
    {"system", 0, NULL, "for all users, below /usr/local (default for root)"}, \
    {"prefix", 0, "DIR", "with --system: below DIR"}, \
    VERB_JSON_OPTION
/* clang-format on */

static const struct option_spec install_options[] = {
    PLACE_OPTIONS,
    {"always", 0, NULL, "for every program, not only with WARMPIPE_ENABLE=1"},
    {NULL, 0, NULL, NULL},
};

static const struct option_spec uninstall_options[] = {
    PLACE_OPTIONS,
    {NULL, 0, NULL, NULL},
};

static const char *const manifest_folders[] = {LAYER_IMPLICIT_FOLDER, LAYER_EXPLICIT_FOLDER};
#define FOLDER_COUNT (sizeof manifest_folders / sizeof *manifest_folders)

/* One installation, or its removal. */
struct install {
    bool removes;
    char *data;               /* the XDG data directory of the manifests */
    char *folder;             /* of the library */
    const char *library_path; /* as the manifests name the library */
    struct bytes made;        /* folders that had to be made, one per line */
    struct output output;
};

/* Where it goes. False after a message. */
static bool install_choose(struct install *install, const struct arguments *arguments)
{
    const bool user = options_value(arguments, "user");
    const bool system = options_value(arguments, "system");
    const char *prefix = options_value(arguments, "prefix");
    if (user && (system || prefix)) {
        output_message("--user cannot be combined with --system or --prefix");
        return false;
    }
    if (prefix && prefix[0] != '/') {
        output_message("--prefix needs an absolute path");
        return false;
    }
    if (system || prefix || (!user && geteuid() == 0)) {
        umask(022); /* what root keeps to itself, no user's loader finds */
        prefix = prefix ? prefix : "/usr/local";
        install->data = output_format("%s/share", prefix);
        install->folder = output_format("%s/lib/warmpipe", prefix);
        install->library_path = "../../../lib/warmpipe/" LAYER_LIBRARY;
        return install->data && install->folder;
    }
    install->data = options_base("XDG_DATA_HOME", ".local/share");
    if (!install->data) {
        output_message(
            "neither XDG_DATA_HOME nor HOME, a folder that is there, is an absolute path");
        return false;
    }
    const bool is_there = access(install->data, F_OK) == 0;
    if (!install->removes &&
        config_is_of_sudo_caller(config_environment, is_there ? install->data : getenv("HOME"))) {
        output_message("under sudo, '%s' would become root's; do this without sudo", install->data);
        return false;
    }
    install->folder = output_format("%s/warmpipe", install->data);
    install->library_path = "../../warmpipe/" LAYER_LIBRARY;
    return install->folder;
}

/* False, after a message with errno. */
static bool install_fail(const char *doing, const char *path)
{
    output_message("cannot %s '%s': %s", doing, path, strerror(errno));
    return false;
}

static void install_tell(struct install *install, const char *path, const char *state)
{
    output_open(&install->output, NULL, OUTPUT_ROW);
    output_text(&install->output, "state", state);
    output_text(&install->output, "path", path);
    output_close(&install->output);
}

/* A file as bytes, to which nothing is put, and which are to be freed; empty where it cannot be
 * read. */
static struct bytes install_read(const char *path)
{
    struct bytes content = {0};
    (void)file_read_any(path, FILE_LIMIT, &content.data, &content.size);
    return content;
}

/* With its parents; folders that exist stay as they are. */
static bool install_make_folders(struct install *install, const char *path)
{
    char copy[PATH_MAX];
    snprintf(copy, sizeof copy, "%s", path);
    for (char *slash = strchr(copy + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash) {
            *slash = '\0';
        }
        if (mkdir(copy, 0755) == 0) {
            bytes_put_text(&install->made, copy);
            bytes_put_u8(&install->made, '\n');
        } else if (errno != EEXIST) {
            return install_fail("make", copy);
        }
        if (!slash) {
            return true;
        }
        *slash = '/';
    }
}

/* Puts the content at folder/name. */
static bool install_put(struct install *install, const char *folder, const char *name,
                        const struct bytes *content, mode_t mode)
{
    const struct iovec part = {.iov_base = content->data, .iov_len = content->size};
    AUTO_FREE char *path = output_format("%s/%s", folder, name);
    const bool done =
        path && install_make_folders(install, folder) && output_file_replace(path, mode, &part, 1);
    if (done) {
        install_tell(install, path, "installed");
    }
    return done;
}

/* Whether the manifest at `path` is ours, or is not there. False after a message. */
static bool install_is_ours(const struct install *install, const char *path)
{
    if (access(path, R_OK) != 0) {
        return errno == ENOENT || errno == ENOTDIR || install_fail("read", path);
    }
    AUTO(bytes_free) struct bytes text = install_read(path);
    const bool ours = text.data && manifest_names(&text, install->library_path);
    if (!ours) {
        output_message("'%s' belongs to a package or to 'cmake --install': remove it the "
                       "same way ('cmake --build BUILD --target uninstall')%s",
                       path, install->removes ? "" : ", or set WARMPIPE_ENABLE=1 for the session");
    }
    return ours;
}

/* False after a message if one of the manifests is somebody else's. */
static bool install_check_owner(const struct install *install)
{
    bool ours = true;
    for (size_t i = 0; ours && i < FOLDER_COUNT; i++) {
        AUTO_FREE char *path =
            output_format("%s/%s/" LAYER_MANIFEST_NAME, install->data, manifest_folders[i]);
        ours = path && install_is_ours(install, path);
    }
    return ours;
}

/* Whether a manifest in the folder finds the library, which is there: not where a link on the way
 * leads elsewhere. False after a message. */
static bool install_finds_library(const struct install *install, const char *folder)
{
    AUTO_FREE char *path = output_format("%s/%s", folder, install->library_path);
    const bool finds = path && access(path, R_OK) == 0;
    if (path && !finds) {
        output_message("'%s' is behind a link to another folder, from where the library is not "
                       "found: make it a folder, or use --prefix",
                       folder);
    }
    return finds;
}

static bool install_put_manifest(struct install *install, const char *source_data,
                                 const char *folder, bool always)
{
    AUTO(bytes_free) struct bytes changed = {0};
    AUTO_FREE char *source = output_format("%s/%s/" LAYER_MANIFEST_NAME, source_data, folder);
    AUTO_FREE char *directory = output_format("%s/%s", install->data, folder);
    AUTO(bytes_free) struct bytes text = source ? install_read(source) : (struct bytes){0};
    const bool changes =
        directory && text.data && manifest_change(&text, install->library_path, always, &changed);
    if (source && !changes) {
        output_message("'%s' is not a manifest of this layer", source);
    }
    return changes && install_make_folders(install, directory) &&
           install_finds_library(install, directory) &&
           install_put(install, directory, LAYER_MANIFEST_NAME, &changed, 0644);
}

/* The library that the manifests in `source_data` name. */
static bool install_put_library(struct install *install, const char *source_data)
{
    AUTO(bytes_free) struct bytes library = {0};
    AUTO_FREE char *manifest = output_format("%s/" LAYER_MANIFEST, source_data);
    AUTO(bytes_free) struct bytes text = manifest ? install_read(manifest) : (struct bytes){0};
    AUTO_FREE char *source = text.data ? manifest_library(&text, manifest) : NULL;
    if (source && !strchr(source, '/')) { /* a plain name, which the dynamic linker looks up */
        free(source);
        source = layer_installed_library();
    }
    if (!source) {
        output_message("the layer's library is not beside this program");
    }
    return source && output_file_read(source, FILE_LIMIT, &library.data, &library.size) &&
           install_put(install, install->folder, LAYER_LIBRARY, &library, 0755);
}

/* Adds the folders that were made to those of earlier installations, for uninstall. */
static void install_note_folders(const struct install *install)
{
    AUTO_FREE char *path = output_format("%s/" FOLDERS_NAME, install->folder);
    if (path && install->made.size > 0) {
        AUTO(bytes_free) struct bytes earlier = install_read(path);
        const struct iovec parts[] = {{earlier.data, earlier.size},
                                      {install->made.data, install->made.size}};
        output_file_replace(path, 0644, parts, 2);
    }
}

/* Those that are empty, the latest made first. */
static void install_remove_folders(const struct install *install)
{
    AUTO_FREE char *path = output_format("%s/" FOLDERS_NAME, install->folder);
    AUTO(bytes_free) struct bytes all = path ? install_read(path) : (struct bytes){0};
    if (path) {
        unlink(path);
    }
    while (all.size > 0) {
        char *text = (char *)all.data;
        text[all.size - 1] = '\0'; /* in place of its '\n' */
        char *before = strrchr(text, '\n');
        rmdir(before ? before + 1 : text);
        all.size = before ? (size_t)(before + 1 - text) : 0;
    }
}

/* Whether a package or `cmake --install` has put this program where the loader finds the layer by
 * the manifest `own`. */
static bool install_is_installed(const char *own)
{
    AUTO_FREE char *library = layer_installed_library();
    AUTO(manifests_free) struct manifests manifests;
    bool found = false;
    manifests_find(&manifests);
    for (size_t i = 0; library && i < manifests.count; i++) {
        const struct manifest *manifest = &manifests.manifests[i];
        found |= manifest->implicit && output_is_one_file(manifest->path, own);
    }
    return found;
}

/* Puts the files from beside this program, in place of those of an earlier installation. False
 * after a message; what was put by then stays. copies: also where the layer is installed already.
 */
static bool install_all(struct install *install, bool always, bool copies)
{
    AUTO_FREE char *source = layer_data_directory();
    if (!source) {
        output_message("no " LAYER_MANIFEST " beside this program");
        return false;
    }
    AUTO_FREE char *own = output_format("%s/" LAYER_MANIFEST, source);
    AUTO_FREE char *copy = output_format("%s/" LAYER_MANIFEST, install->data);
    const bool installed = own && copy && !copies && install_is_installed(own);
    const bool renews = installed && access(copy, F_OK) == 0 && !output_is_one_file(copy, own);
    if (installed && !always && !renews) {
        output_message("the layer is installed already, by '%s': start programs with "
                       "WARMPIPE_ENABLE=1",
                       own);
        return true;
    }
    bool done = install_check_owner(install);
    if (done && installed) {
        output_message(
            "the layer is installed already, by '%s'; it depends on the loader which "
            "copy is used: repeat this after each update, or run 'warmpipe uninstall' and set "
            "WARMPIPE_ENABLE=1 for the session",
            own);
    }
    /* The library first: the loader complains in every program about a manifest without one. */
    done = done && install_put_library(install, source);
    for (size_t i = 0; done && i < FOLDER_COUNT; i++) {
        done = install_put_manifest(install, source, manifest_folders[i], always && i == 0);
    }
    install_note_folders(install);
    return done;
}

/* Removes folder/name, and the folder if it is empty then. */
static bool install_remove(struct install *install, const char *folder, const char *name)
{
    AUTO_FREE char *path = folder ? output_format("%s/%s", folder, name) : NULL;
    bool done = path;
    errno = 0;
    if (path && unlink(path) != 0 && errno != ENOENT && errno != ENOTDIR) {
        done = install_fail("remove", path);
    } else if (path) {
        install_tell(install, path, errno == 0 ? "removed" : "not there");
    }
    if (folder) {
        rmdir(folder);
    }
    return done;
}

static bool install_remove_all(struct install *install)
{
    if (!install_check_owner(install)) {
        return false;
    }
    bool done = true;
    for (size_t i = 0; i < FOLDER_COUNT; i++) {
        AUTO_FREE char *folder = output_format("%s/%s", install->data, manifest_folders[i]);
        done = install_remove(install, folder, LAYER_MANIFEST_NAME) && done;
    }
    AUTO_FREE char *vulkan = output_format("%s/vulkan", install->data);
    done = install_remove(install, install->folder, LAYER_LIBRARY) && done;
    install_remove_folders(install);
    rmdir(install->folder);
    if (vulkan) {
        rmdir(vulkan);
    }
    return done;
}

static int install_run(const struct arguments *arguments)
{
    struct install install = {.removes = arguments->verb == &verb_uninstall};
    int status = EXIT_USAGE;
    if (install_choose(&install, arguments)) {
        output_begin(&install.output, arguments->json);
        output_open(&install.output, "files", OUTPUT_LIST);
        const bool done = install.removes
                              ? install_remove_all(&install)
                              : install_all(&install, options_value(arguments, "always"),
                                            options_value(arguments, "prefix"));
        output_close(&install.output);
        status = output_end(&install.output, done ? EXIT_CLEAN : EXIT_USAGE);
    }
    bytes_free(&install.made);
    free(install.data);
    free(install.folder);
    return status;
}

const struct verb verb_install = {
    .name = "install",
    .summary = "install the layer for all programs",
    .description =
        "Copies the layer's library and manifests to where the Vulkan loader finds them.\n"
        "Every program that has WARMPIPE_ENABLE=1 in its environment then gets the\n"
        "layer; with --always every program gets it, unless WARMPIPE_DISABLE=1 is set.\n"
        "Files of a package are left alone. Where a package has installed the layer, that\n"
        "is said, and nothing is copied but with --always or --prefix.\n\n"
        "Exit status: 0 installed, 2 not installed.",
    .options = install_options,
    .run = install_run,
};

const struct verb verb_uninstall = {
    .name = "uninstall",
    .summary = "remove what 'install' has installed",
    .description =
        "Removes exactly the files that 'warmpipe install' put there, and the folders\n"
        "that it made, if they are empty. Files of a package are left alone. Caches are\n"
        "kept; 'warmpipe clear' removes them.\n\n"
        "Exit status: 0 removed, or there was nothing; 2 not removed.",
    .options = uninstall_options,
    .run = install_run,
};
