#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cache_file.h"
#include "disk/file.h"
#include "doctor.h"
#include "inventory.h"

/* Less than this is soon full: a model loader's pipelines are some tens of megabytes. */
#define LITTLE_SPACE ((uint64_t)64 << 20)

struct contents {
    struct doctor *doctor;
    const char *root;
    uint64_t caches;
    uint64_t bytes;
    uint64_t quarantined;
};

/* What the inventory says by the header, and, where that is whole, what every byte says. */
static enum reason look_at(const char *root, const struct inventory_item *item)
{
    int folder_fd;
    if (item->reason != REASON_ok || !item->digest[0] ||
        file_open_directory(root, item->app, false, &folder_fd) != REASON_ok) {
        return item->reason;
    }
    char name[sizeof item->digest + sizeof ENVELOPE_SUFFIX];
    snprintf(name, sizeof name, "%s%s", item->digest, ENVELOPE_SUFFIX);
    struct cache_file file;
    const enum reason reason = cache_file_check(folder_fd, name, &file);
    close(folder_fd);
    return reason;
}

static void add_item(const struct inventory_item *item, void *user)
{
    struct contents *contents = user;
    const enum reason reason = look_at(contents->root, item);
    contents->bytes += item->bytes;
    contents->caches += reason == REASON_ok;
    contents->quarantined += reason == REASON_quarantined;
    if (inventory_is_damage(reason)) {
        doctor_tell(contents->doctor, VERDICT_PROBLEM, "cache",
                    "the layer replaces it with its next save; 'warmpipe clear' removes it now",
                    "'%s': %s (%s)", item->app, reason_text(reason), reason_id(reason));
    }
}

static void tell_contents(struct doctor *doctor, const char *root)
{
    struct contents contents = {.doctor = doctor, .root = root};
    struct inventory_apps apps;
    if (!inventory_apps("doctor", root, &apps)) {
        return;
    }
    for (size_t i = 0; i < apps.count; i++) {
        inventory_visit(root, apps.names[i], add_item, &contents);
    }
    inventory_apps_free(&apps);
    doctor_tell(doctor, VERDICT_OK, "cache", NULL, "%" PRIu64 " usable, %.1f MiB", contents.caches,
                (double)contents.bytes / (1 << 20));
    if (contents.quarantined > 0) {
        doctor_tell(doctor, VERDICT_NOTE, "cache",
                    "the notes beside them say when and of which driver; nothing loads them",
                    "%" PRIu64 " in quarantine: processes have died with them",
                    contents.quarantined);
    }
}

/* The nearest directory above that is there, in place. */
static void climb(char *path)
{
    while (access(path, F_OK) != 0 && errno == ENOENT) {
        char *slash = strrchr(path, '/');
        if (!slash || slash == path) {
            path[1] = '\0';
            return;
        }
        *slash = '\0';
    }
}

static void tell_space(struct doctor *doctor, const char *path)
{
    struct statvfs status;
    if (statvfs(path, &status) != 0) {
        return;
    }
    const uint64_t space = (uint64_t)status.f_bavail * status.f_frsize;
    const bool little = space < LITTLE_SPACE;
    doctor_tell(doctor, little ? VERDICT_PROBLEM : VERDICT_OK, "space",
                little ? "make room, or put the caches elsewhere with WARMPIPE_DIR" : NULL,
                "%.1f GiB free there", (double)space / (1 << 30));
}

void doctor_look_at_storage(struct doctor *doctor)
{
    const char *root = doctor->config->root;
    if (!root) {
        doctor_tell(doctor, VERDICT_PROBLEM, "directory", "set WARMPIPE_DIR", "%s (%s)",
                    reason_text(REASON_no_directory), reason_id(REASON_no_directory));
        return;
    }
    char *path = strdup(root);
    if (!path) {
        return;
    }
    climb(path);
    const bool exists = strcmp(path, root) == 0;
    if (doctor->config->read_only) {
        doctor_tell(doctor, VERDICT_OK, "directory", NULL, "%s, read only (WARMPIPE_READONLY)",
                    root);
    } else if (access(path, W_OK | X_OK) != 0) {
        doctor_tell(doctor, VERDICT_PROBLEM, "directory",
                    "give it to the user who runs the programs, or set WARMPIPE_DIR",
                    "%s cannot be %s: %s", root, exists ? "written" : "made", strerror(errno));
    } else {
        doctor_tell(doctor, VERDICT_OK, "directory", NULL, "%s%s", root,
                    exists ? "" : ", which the first save makes");
    }
    tell_space(doctor, path);
    if (exists) {
        tell_contents(doctor, root);
    }
    free(path);
}
