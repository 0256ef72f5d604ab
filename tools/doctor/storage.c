// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/base/text.h"
#include "common/blobs/identity_files.h"
#include "common/files/file.h"
#include "common/files/names.h"
#include "common/recipes/recipes.h"
#include "tools/caches/cache_file.h"
#include "tools/cli/inventory.h"
#include "tools/doctor/doctor.h"
#include "tools/warm/warm.h"

/* Less free space than this is soon used up: one program's pipelines can be tens of megabytes. */
#define LOW_SPACE ((uint64_t)64 << 20)

/* Root has made it, and others are to use it, as in the image of a container. */
#define STORAGE_READ_HINT                                                                          \
    "as its owner: chmod -R a+rX, so that others may read it; or chown it to the user who runs "   \
    "the programs"

/* Another user's home, or none at all. */
#define STORAGE_ELSEWHERE_HINT "set HOME or WARMPIPE_DIR to a directory that this user can write"

struct contents {
    struct doctor *doctor;
    const char *root;
    enum inventory_kind kind; /* of the program that is looked at */
    uint64_t caches;
    uint64_t bytes;
    uint64_t quarantined;
};

/* The inventory checks the header only; if that is whole, this checks every byte. *ret_parts: the
 * saves that lie beside the file. */
static enum status storage_check_file(const char *root, const struct inventory_item *item,
                                      struct parts *ret_parts)
{
    ret_parts->count = 0;
    AUTO_CLOSE int folder_fd = -1;
    char name[sizeof item->digest + sizeof CACHE_SUFFIX];
    struct cache_file file;
    if (item->reason != STATUS_ok || !item->digest[0] ||
        file_open_directory(root, item->app, false, &folder_fd) != STATUS_ok) {
        return item->reason;
    }
    parts_list(folder_fd, item->digest, false, ret_parts);
    snprintf(name, sizeof name, "%s%s", item->digest, CACHE_SUFFIX);
    return cache_file_check(folder_fd, name, &file);
}

/* Of processes that ended at the same time, at once after their last compile. */
static void storage_tell_parts(struct doctor *doctor, const char *app, size_t count)
{
    AUTO_FREE char *advice = output_format(
        "'warmpipe warm --app %s' takes them up, and so does a start that goes on for a second",
        app);
    doctor_tell(doctor, VERDICT_NOTE, "cache", advice, "'%s': %zu %s the cache, not loaded", app,
                count, text_noun(count, "save lies beside", "saves lie beside"));
}

static void storage_tell_untrusted(struct doctor *doctor, const char *root, const char *app,
                                   const char *below, enum status reason)
{
    doctor_tell(doctor, VERDICT_PROBLEM, "cache",
                reason == STATUS_directory_mode
                    ? "if you trust its contents, chmod -R go-w the folder; otherwise remove it"
                    : "remove the folder, or chown it to the user who runs the programs",
                "'%s/%s%s' is neither read nor written: %s (%s)", root, app, below,
                status_text(reason), status_id(reason));
}

/* A program that cannot use its folder of recipes records nothing, and starts cold after an update
 * of the driver. */
static void storage_check_recipes(struct doctor *doctor, const char *root, const char *app)
{
    AUTO_CLOSE int app_fd = -1;
    AUTO_CLOSE int recipes_fd = -1;
    if (file_open_directory(root, app, false, &app_fd) != STATUS_ok) {
        return;
    }
    const enum status reason = file_open_subdirectory(app_fd, RECIPE_FOLDER, false, &recipes_fd);
    if (reason == STATUS_directory_owner || reason == STATUS_directory_mode) {
        storage_tell_untrusted(doctor, root, app, "/" RECIPE_FOLDER, reason);
    }
}

/* One that cannot be written though it is this user's: nothing new is saved, or recorded, in it. A
 * folder of another's may be meant to stay as it is. */
static void storage_check_writing(struct doctor *doctor, const char *root, const char *app)
{
    static const char *const below[] = {"", "/" RECIPE_FOLDER};
    for (size_t i = 0; !doctor->config->read_only && i < sizeof below / sizeof below[0]; i++) {
        AUTO_FREE char *path = output_format("%s/%s%s", root, app, below[i]);
        struct stat status;
        if (path && lstat(path, &status) == 0 && S_ISDIR(status.st_mode) &&
            status.st_uid == geteuid() && access(path, W_OK | X_OK) != 0 && errno != EROFS) {
            const enum status reason = status_from_errno(errno);
            doctor_tell(doctor, VERDICT_PROBLEM, "cache",
                        "chmod u+rwx the folder, or say that all is meant to stay as it is: "
                        "WARMPIPE_READONLY=1",
                        "'%s' cannot be written: %s (%s)", path, status_text(reason),
                        status_id(reason));
        }
    }
}

static void storage_add_item(const struct inventory_item *item, void *user)
{
    struct contents *contents = user;
    struct parts parts;
    const enum status reason = storage_check_file(contents->root, item, &parts);
    contents->bytes += item->bytes;
    contents->caches += reason == STATUS_ok;
    contents->quarantined += reason == STATUS_quarantined;
    if (contents->kind == INVENTORY_OBSTACLE) {
        doctor_tell(contents->doctor, VERDICT_PROBLEM, "cache",
                    "remove it, so that the program can have a folder there; what a link leads to "
                    "may be moved or mounted there",
                    "'%s/%s' is neither read nor written: it is no folder (%s)", contents->root,
                    item->app, status_id(reason));
    } else if (reason == STATUS_unreadable || reason == STATUS_directory_unusable) {
        doctor_tell(contents->doctor, VERDICT_PROBLEM, "cache", STORAGE_READ_HINT,
                    "'%s/%s' cannot be read: %s (%s)", contents->root, item->app,
                    status_text(reason), status_id(reason));
    } else if (reason == STATUS_directory_owner || reason == STATUS_directory_mode) {
        storage_tell_untrusted(contents->doctor, contents->root, item->app, "", reason);
    } else if (inventory_is_damage(reason)) {
        doctor_tell(contents->doctor, VERDICT_PROBLEM, "cache",
                    "the layer replaces it at its next save; 'warmpipe clear' removes it now",
                    "'%s': %s (%s)", item->app, status_text(reason), status_id(reason));
    } else if (reason == STATUS_ok && parts.count > 0) {
        storage_tell_parts(contents->doctor, item->app, parts.count);
    }
}

static void storage_tell_contents(struct doctor *doctor, const char *root)
{
    struct contents contents = {.doctor = doctor, .root = root};
    AUTO(inventory_apps_free) struct inventory_apps apps = {0};
    if (!inventory_apps(root, NULL, INVENTORY_OBSTACLE, &apps)) {
        return;
    }
    for (size_t i = 0; i < apps.count; i++) {
        contents.kind = apps.list[i].kind;
        inventory_visit(root, apps.list[i].name, storage_add_item, &contents);
        storage_check_recipes(doctor, root, apps.list[i].name);
        storage_check_writing(doctor, root, apps.list[i].name);
    }
    char size[TEXT_BYTES_SIZE];
    text_bytes(contents.bytes, size);
    doctor_tell(doctor, VERDICT_OK, "cache", NULL, "%" PRIu64 " usable, %s", contents.caches, size);
    if (contents.quarantined > 0) {
        doctor_tell(doctor, VERDICT_NOTE, "cache",
                    "nothing loads them; the notes beside them say when and with which driver",
                    "%" PRIu64 " in quarantine: processes died while they used them",
                    contents.quarantined);
    }
}

char *doctor_nearest_folder(const char *path)
{
    char *nearest = strdup(path);
    while (nearest && access(nearest, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
        char *slash = strrchr(nearest, '/');
        if (!slash || slash == nearest) {
            free(nearest);
            return strdup("/");
        }
        *slash = '\0';
    }
    return nearest;
}

static void storage_tell_space(struct doctor *doctor, const char *path)
{
    struct statvfs status;
    if (statvfs(path, &status) != 0) {
        return;
    }
    const uint64_t space = (uint64_t)status.f_bavail * status.f_frsize;
    const bool little = space < LOW_SPACE;
    char size[TEXT_BYTES_SIZE];
    text_bytes(space, size);
    doctor_tell(doctor, little ? VERDICT_PROBLEM : VERDICT_OK, "space",
                little ? "free some space, or move the caches with WARMPIPE_DIR" : NULL, "%s free",
                size);
}

/* Of an image: the root file system of a system's container (LXC, systemd-nspawn) stays. */
static bool storage_is_container(void)
{
    const char *said = getenv("container"); /* systemd's "Container Interface" */
    if (said && (strncmp(said, "lxc", strlen("lxc")) == 0 || strcmp(said, "systemd-nspawn") == 0)) {
        return false;
    }
    return (said && *said) || access("/.dockerenv", F_OK) == 0 ||
           access("/run/.containerenv", F_OK) == 0 || getenv("KUBERNETES_SERVICE_HOST");
}

/* Whether a line of mountinfo tells of a volume of an engine that has no name (`VOLUME`, and no
 * -v): a number is its name instead. No other container gets it. */
static bool storage_is_nameless(const char *line)
{
    const size_t digits = 64;
    const char *name = strstr(line, "/volumes/");
    return name && names_is_hex(name + strlen("/volumes/"), digits) &&
           strncmp(name + strlen("/volumes/") + digits, "/_data ", strlen("/_data ")) == 0;
}

/* The number of the mount that the path lies on; -1: unknown. */
static int storage_mount_of(const char *path)
{
    AUTO_CLOSE int fd = open(path, O_PATH | O_CLOEXEC);
    AUTO_FREE char *name = output_format("/proc/self/fdinfo/%d", fd);
    AUTO_FCLOSE FILE *file = name ? fopen(name, "re") : NULL;
    AUTO_FREE char *line = NULL;
    size_t capacity = 0;
    int mount = -1;
    while (file && getline(&line, &capacity, file) >= 0) {
        sscanf(line, "mnt_id: %d", &mount);
    }
    return mount;
}

/* Whether the path lies on such a volume. */
static bool storage_is_on_nameless(const char *path)
{
    const int mount = storage_mount_of(path);
    AUTO_FCLOSE FILE *mounts = fopen("/proc/self/mountinfo", "re");
    AUTO_FREE char *line = NULL;
    size_t capacity = 0;
    bool nameless = false;
    while (mounts && getline(&line, &capacity, mounts) >= 0) {
        int number = -1;
        nameless |=
            sscanf(line, "%d", &number) == 1 && number == mount && storage_is_nameless(line);
    }
    return nameless;
}

/* Whether nothing is mounted between "/" and the path. A volume may be of the device that the root
 * file system is of, too. */
static bool storage_is_on_root(const char *path)
{
    struct stat status;
    struct stat root;
    return stat(path, &status) == 0 && stat("/", &root) == 0 && status.st_dev == root.st_dev &&
           storage_mount_of(path) == storage_mount_of("/");
}

/* The container's root file system is its writable layer. A tmpfs is always lost. */
bool doctor_dies_with_container(const char *path)
{
    struct statfs file_system;
    AUTO_FREE char *folder = storage_is_container() ? doctor_nearest_folder(path) : NULL;
    AUTO_FREE char *nearest = folder ? realpath(folder, NULL) : NULL;
    return nearest && ((statfs(nearest, &file_system) == 0 && file_system.f_type == TMPFS_MAGIC) ||
                       storage_is_on_root(nearest) || storage_is_on_nameless(nearest));
}

void doctor_check_deaths(struct doctor *doctor, const struct driver_identity *identity)
{
    const struct driver_identity basic = warm_basic_identity(identity);
    const char *root = doctor->config->root;
    AUTO(inventory_apps_free) struct inventory_apps apps = {0};
    if (!root || access(root, R_OK | X_OK) != 0 ||
        !inventory_apps(root, NULL, INVENTORY_CLOSED, &apps)) {
        return;
    }
    for (size_t i = 0; i < apps.count; i++) {
        const char *app = apps.list[i].name;
        if (warm_many_have_died(root, app, identity_digest(identity)) ||
            warm_many_have_died(root, app, identity_digest(&basic))) {
            AUTO_FREE char *advice = output_format(
                "'warmpipe warm --app %s' goes through them in processes of its own, and lifts it",
                app);
            doctor_tell(doctor, VERDICT_NOTE, "cache", advice, "'%s': %s (%s)", app,
                        status_text(STATUS_prewarm_died), status_id(STATUS_prewarm_died));
        }
    }
}

/* Whether the folder below `nearest` on the way to `root` is a link that leads nowhere. */
static bool storage_is_dangling(const char *root, const char *nearest)
{
    struct stat status;
    const size_t length = strlen(nearest);
    const size_t next = length + strspn(root + length, "/");
    AUTO_FREE char *name =
        strlen(root) > next ? strndup(root, next + strcspn(root + next, "/")) : NULL;
    return name && lstat(name, &status) == 0 && S_ISLNK(status.st_mode);
}

void doctor_check_storage(struct doctor *doctor)
{
    const char *root = doctor->config->root;
    if (!root) {
        doctor_tell(doctor, VERDICT_PROBLEM, "directory", "set WARMPIPE_DIR", "%s (%s)",
                    status_text(STATUS_no_directory), status_id(STATUS_no_directory));
        return;
    }
    AUTO_FREE char *path = doctor_nearest_folder(root);
    if (!path) {
        return;
    }
    bool exists = strcmp(path, root) == 0;
    struct stat status;
    if (stat(path, &status) == 0 && !S_ISDIR(status.st_mode)) {
        doctor_tell(doctor, VERDICT_PROBLEM, "directory", "remove the file, or set WARMPIPE_DIR",
                    "%s cannot be %s: %s is not a directory", root, exists ? "used" : "created",
                    path);
    } else if (!exists && storage_is_dangling(root, path)) {
        doctor_tell(doctor, VERDICT_PROBLEM, "directory",
                    "mount or make what it leads to, remove the link, or set WARMPIPE_DIR",
                    "%s cannot be created: a link on the way leads nowhere", root);
    } else if (exists && access(path, F_OK) != 0) { /* a parent keeps this user out */
        doctor_tell(doctor, VERDICT_PROBLEM, "directory", STORAGE_ELSEWHERE_HINT,
                    "%s cannot be used: %s", root, strerror(errno));
        exists = false;
    } else if (exists && access(path, R_OK | X_OK) != 0) {
        doctor_tell(doctor, VERDICT_PROBLEM, "directory", STORAGE_READ_HINT,
                    "%s cannot be read: %s", root, strerror(errno));
        exists = false;
    } else if (doctor->config->read_only) {
        doctor_tell(doctor, VERDICT_OK, "directory", NULL, "%s, read only (WARMPIPE_READONLY)",
                    root);
    } else if (access(path, W_OK | X_OK) != 0) {
        doctor_tell(doctor, VERDICT_PROBLEM, "directory",
                    exists ? "chown it to the user who runs the programs, set WARMPIPE_DIR, or say "
                             "that it is meant to stay as it is: WARMPIPE_READONLY=1"
                           : STORAGE_ELSEWHERE_HINT,
                    "%s cannot be %s: %s", root, exists ? "written" : "created", strerror(errno));
    } else if (doctor_dies_with_container(path)) {
        doctor_tell(
            doctor, VERDICT_PROBLEM, "directory",
            "put it into a volume that has a name, with WARMPIPE_DIR, or with 'warmpipe run --dir'",
            "%s is lost with this container", root);
    } else {
        doctor_tell(doctor, VERDICT_OK, "directory", NULL, "%s%s", root,
                    exists ? "" : " (the first save creates it)");
    }
    storage_tell_space(doctor, path);
    if (exists) {
        storage_tell_contents(doctor, root);
    }
}
