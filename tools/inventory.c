#include "inventory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/config.h"
#include "disk/file.h"
#include "disk/listing.h"
#include "disk/names.h"
#include "disk/parts.h"
#include "disk/quarantine.h"
#include "output.h"

static const char *read_environment(const char *name)
{
    return getenv(name);
}

char *inventory_root(const char *verb, const char *option)
{
    if (option) {
        char *root = realpath(option, NULL);
        if (!root) {
            output_message("%s: cannot open '%s': %s", verb, option, strerror(errno));
        }
        return root;
    }
    struct config config;
    config_read(read_environment, &config);
    char *root = config.root;
    config.root = NULL;
    config_free(&config);
    if (!root) {
        output_message("%s: %s (%s)", verb, reason_text(REASON_no_directory),
                       reason_id(REASON_no_directory));
    }
    return root;
}

char *inventory_new_root(const char *verb, const char *option)
{
    struct stat status;
    if (!option || stat(option, &status) == 0 || errno != ENOENT) {
        return inventory_root(verb, option);
    }
    char *root = NULL;
    char *here = *option == '/' ? strdup("") : getcwd(NULL, 0);
    if (!here || asprintf(&root, "%s%s%s", here, *here ? "/" : "", option) < 0) {
        output_message("%s: cannot open '%s': %s", verb, option, strerror(errno));
        root = NULL;
    }
    free(here);
    return root;
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static bool add_name(struct inventory_apps *apps, const char *name)
{
    if ((apps->count & (apps->count + 1)) == 0) { /* room for 1, 3, 7, 15, … */
        char **more = reallocarray(apps->names, 2 * apps->count + 1, sizeof *more);
        if (!more) {
            return false;
        }
        apps->names = more;
    }
    apps->names[apps->count] = strdup(name);
    return apps->names[apps->count++] != NULL;
}

static bool is_folder(DIR *listing, const char *name)
{
    struct stat status;
    return fstatat(dirfd(listing), name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(status.st_mode);
}

bool inventory_apps(const char *verb, const char *root, struct inventory_apps *ret_apps)
{
    struct inventory_apps apps = {0};
    int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = fd < 0 ? NULL : fdopendir(fd);
    if (!listing && errno != ENOENT) {
        output_message("%s: cannot open '%s': %s", verb, root, strerror(errno));
        return false;
    }
    const char *name;
    bool enough_memory = true;
    while (listing && enough_memory && (name = listing_next(listing))) {
        if (names_is_app(name) && is_folder(listing, name)) {
            enough_memory = add_name(&apps, name);
        }
    }
    if (listing) {
        closedir(listing);
    }
    if (!enough_memory) {
        output_message("%s: out of memory", verb);
        inventory_apps_free(&apps);
        return false;
    }
    if (apps.count > 0) {
        qsort(apps.names, apps.count, sizeof *apps.names, compare_names);
    }
    *ret_apps = apps;
    return true;
}

bool inventory_select(const char *verb, const char *root, const char *app,
                      struct inventory_apps *ret_apps)
{
    struct inventory_apps apps;
    if (!inventory_apps(verb, root, &apps)) {
        return false;
    }
    if (app) {
        bool found = false;
        struct inventory_apps one = {0};
        for (size_t i = 0; i < apps.count && !found; i++) {
            found = strcmp(apps.names[i], app) == 0;
        }
        inventory_apps_free(&apps);
        if (!found || !add_name(&one, app)) {
            output_message("%s: no program '%s' in '%s'", verb, app, root);
            return false;
        }
        apps = one;
    }
    *ret_apps = apps;
    return true;
}

void inventory_apps_free(struct inventory_apps *apps)
{
    for (size_t i = 0; i < apps->count; i++) {
        free(apps->names[i]);
    }
    free(apps->names);
    *apps = (struct inventory_apps){0};
}

static int compare_last_use(const void *left, const void *right)
{
    const struct usage_identity *a = left;
    const struct usage_identity *b = right;
    if (a->last_use != b->last_use) {
        return a->last_use > b->last_use ? -1 : 1;
    }
    return strcmp(a->identity, b->identity);
}

/* Whether a process has died of the blob of this generation. */
static bool has_strike(int folder_fd, const struct inventory_item *item, uint64_t generation)
{
    char path[DIGEST_HEX_SIZE + 64];
    snprintf(path, sizeof path, "%s%s/%016" PRIx64 ".strike", item->digest, LOADING_SUFFIX,
             generation);
    return faccessat(folder_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* What the header of the file says. */
static void read_header(int folder_fd, const char *name, struct inventory_item *item)
{
    uint8_t head[ENVELOPE_HEADER_SIZE];
    size_t size;
    uint64_t file_size;
    struct envelope envelope;
    item->reason = file_read_head(folder_fd, name, head, sizeof head, &size, &file_size);
    if (item->reason == REASON_ok) {
        item->reason = envelope_validate_header(head, size, file_size, NULL, &envelope);
    }
    if (item->reason != REASON_ok) {
        return;
    }
    char hex[DIGEST_HEX_SIZE];
    digest_format(identity_digest(&envelope.identity), hex);
    item->identity = envelope.identity;
    item->identified = true;
    if (strcmp(hex, item->digest) != 0) {
        item->reason = REASON_renamed;
    } else if (has_strike(folder_fd, item, envelope.generation)) {
        item->reason = REASON_suspect;
    }
}

/* Of an identity whose saves all lie in parts, the first of them. */
static void identify(int folder_fd, struct inventory_item *item)
{
    char name[DIGEST_HEX_SIZE + sizeof ENVELOPE_SUFFIX];
    snprintf(name, sizeof name, "%s%s", item->digest, ENVELOPE_SUFFIX);
    read_header(folder_fd, name, item);
    struct parts parts;
    if (item->reason == REASON_no_file && parts_list(folder_fd, item->digest, &parts) &&
        parts.count > 0) {
        read_header(folder_fd, parts.names[0], item);
    }
}

static bool visit_identities(int folder_fd, struct usage *usage, struct inventory_item *item,
                             void (*visit)(const struct inventory_item *, void *), void *user)
{
    bool visited = false;
    if (usage->count > 0) {
        qsort(usage->identities, usage->count, sizeof *usage->identities, compare_last_use);
    }
    for (size_t i = 0; i < usage->count; i++) {
        const struct usage_identity *identity = &usage->identities[i];
        if (identity->bytes > 0) {
            const char *app = item->app;
            *item = (struct inventory_item){
                .app = app, .bytes = identity->bytes, .last_use = identity->last_use};
            memcpy(item->digest, identity->identity, sizeof item->digest);
            identify(folder_fd, item);
            visit(item, user);
            visited = true;
        }
    }
    return visited;
}

static bool visit_quarantine(int folder_fd, struct inventory_item *item,
                             void (*visit)(const struct inventory_item *, void *), void *user)
{
    bool visited = false;
    DIR *listing = listing_open(folder_fd, QUARANTINE_FOLDER);
    const char *name;
    struct stat status;
    while (listing && (name = listing_next(listing))) {
        if (names_is_quarantined(name) &&
            fstatat(dirfd(listing), name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
            const char *app = item->app;
            *item = (struct inventory_item){
                .app = app, .bytes = (uint64_t)status.st_size, .last_use = usage_modified(&status)};
            memcpy(item->digest, name, sizeof item->digest - 1);
            read_header(dirfd(listing), name, item);
            item->reason = REASON_quarantined;
            visit(item, user);
            visited = true;
        }
    }
    if (listing) {
        closedir(listing);
    }
    return visited;
}

static bool has_quarantined(int folder_fd)
{
    DIR *listing = listing_open(folder_fd, QUARANTINE_FOLDER);
    const char *name = NULL;
    if (listing) {
        do {
            name = listing_next(listing);
        } while (name && !names_is_quarantined(name));
        closedir(listing);
    }
    return name;
}

bool inventory_is_ours(int folder_fd, const struct usage *usage)
{
    return usage->count > 0 || usage->last_use != INT64_MIN || has_quarantined(folder_fd);
}

bool inventory_visit(const char *root, const char *app,
                     void (*visit)(const struct inventory_item *item, void *user), void *user)
{
    struct inventory_item item = {.app = app, .last_use = INT64_MIN, .reason = REASON_no_file};
    int folder_fd;
    enum reason reason = file_open_directory(root, app, false, &folder_fd);
    if (reason != REASON_ok) {
        item.reason = reason;
        visit(&item, user);
        return true;
    }
    struct usage usage = {.last_use = INT64_MIN};
    size_t entries = SIZE_MAX;
    reason = usage_read(folder_fd, &entries, &usage);
    bool visited = visit_identities(folder_fd, &usage, &item, visit, user);
    visited |= visit_quarantine(folder_fd, &item, visit, user);
    if (!visited && (reason != REASON_ok || inventory_is_ours(folder_fd, &usage))) {
        visit(&(struct inventory_item){.app = app,
                                       .bytes = usage.other_bytes,
                                       .last_use = usage.last_use,
                                       .reason = reason == REASON_ok ? REASON_no_file : reason},
              user);
        visited = true;
    }
    usage_free(&usage);
    close(folder_fd);
    return visited;
}

bool inventory_is_damage(enum reason reason)
{
    return reason != REASON_ok && reason != REASON_no_file && reason != REASON_suspect &&
           reason != REASON_quarantined;
}
