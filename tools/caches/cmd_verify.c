// SPDX-License-Identifier: Apache-2.0
/* warmpipe verify: every check that the layer makes of a file, made of all files there are. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/text.h"
#include "common/blobs/identity_files.h"
#include "common/driver/vulkan_names.h"
#include "common/files/file.h"
#include "common/files/names.h"
#include "common/settings/config.h"
#include "tools/caches/cache_file.h"
#include "tools/cli/inventory.h"
#include "tools/cli/output.h"
#include "tools/cli/verb.h"
#include "tools/recipes/recipe_tool.h"

static const struct option_spec options[] = {
    VERB_JSON_OPTION,
    {"verbose", 'v', NULL, "also show device, driver, size and time"},
    {NULL, 0, NULL, NULL},
};

struct verification {
    struct output output;
    bool verbose;
    bool found;   /* something is wrong with a file */
    bool misused; /* a path was not there, not ours or not readable */
    size_t files;
};

static void verify_complain(struct verification *verification, const char *path, enum status reason,
                            const char *problem)
{
    output_message("'%s': %s (%s)", path, problem, status_id(reason));
    verification->misused = true;
}

static void verify_complain_of_errno(struct verification *verification, const char *path)
{
    const int error = errno;
    verify_complain(verification, path, status_from_errno(error), strerror(error));
}

/* Opens the line of a file, or of a folder that is not trusted. */
static void verify_open_row(struct verification *verification, const char *path, enum status reason)
{
    output_open(&verification->output, NULL, OUTPUT_ROW);
    output_text(&verification->output, "reason", reason == STATUS_ok ? "ok" : status_id(reason));
    output_text(&verification->output, "path", path);
    verification->found |= reason != STATUS_ok && reason != STATUS_quarantined;
}

/* envelope NULL: nothing is known of it. */
static void verify_report(struct verification *verification, const char *path, enum status reason,
                          const struct envelope *envelope)
{
    struct output *output = &verification->output;
    verify_open_row(verification, path, reason);
    if (verification->verbose && envelope) {
        char version[VULKAN_VERSION_SIZE];
        vulkan_driver_version(&envelope->identity, version);
        output_text(output, "device_name", envelope->identity.device_name);
        output_text(output, "driver_name", envelope->identity.driver_name);
        output_text(output, "driver_version", version);
        output_size(output, "blob_size", envelope->blob_size);
        output_time(output, "saved_at", envelope->saved_at);
    }
    output_close(output);
}

/* Tells if the layer would not use this folder. The layer opens it by its parent and name. */
static void verify_folder(struct verification *verification, const char *directory)
{
    AUTO_FREE char *path = realpath(directory, NULL);
    AUTO_CLOSE int fd = -1;
    if (!path) {
        verify_complain_of_errno(verification, directory);
        return;
    }
    char *slash = strrchr(path, '/');
    *slash = '\0';
    const enum status reason = file_open_directory(path, slash[1] ? slash + 1 : ".", false, &fd);
    if (reason != STATUS_ok) {
        verify_report(verification, directory, reason, NULL);
    }
}

/* A folder being visited. */
struct verify_visit {
    const char *directory;
    int fd;
    bool is_quarantine;
    bool is_checked;                /* by verify_folder */
    struct verify_recipes *recipes; /* NULL: not opened yet, or no memory */
};

/* A segment is judged together with the segments beside it. */
static void verify_recipe_file(struct verification *verification, struct verify_recipes *recipes,
                               const char *name, const char *path)
{
    struct recipe_merge_counts counts = {0};
    const enum status reason =
        recipes ? verify_recipes_judge(recipes, name, &counts) : STATUS_out_of_memory;
    struct output *output = &verification->output;
    verify_open_row(verification, path, reason);
    if (verification->verbose && !output->json) {
        char text[128]; /* a row shows no names */
        snprintf(text, sizeof text,
                 "%" PRIu64 " %s; records damaged %" PRIu64 ", refused %" PRIu64
                 "; incomplete pipelines %" PRIu64,
                 (uint64_t)counts.pipelines, text_noun(counts.pipelines, "pipeline", "pipelines"),
                 (uint64_t)counts.damaged, (uint64_t)counts.refused, (uint64_t)counts.incomplete);
        output_text(output, "counts", text);
    } else if (verification->verbose) {
        output_number(output, "pipelines", counts.pipelines);
        output_number(output, "damaged_records", counts.damaged);
        output_number(output, "refused_records", counts.refused);
        output_number(output, "incomplete_pipelines", counts.incomplete);
    }
    output_close(output);
    verification->files++;
    progress_add("file");
}

static void verify_cache_file(struct verification *verification, int directory_fd, const char *name,
                              const char *path)
{
    struct cache_file file;
    enum status reason = cache_file_check(directory_fd, name, &file);
    if (!file.ours) {
        /* If it could be read, its first bytes are not ours. */
        reason = reason == STATUS_truncated ? STATUS_bad_magic : reason;
        verify_complain(verification, path, reason, status_text(reason));
    } else {
        verify_report(verification, path, reason, file.known ? &file.envelope : NULL);
        verification->files++;
        progress_add("file");
    }
}

static bool verify_has_our_name(const char *name)
{
    return cache_file_has_our_name(name) || recipe_tool_has_our_name(name);
}

static void verify_our_file(struct verification *verification, struct verify_visit *visit,
                            const char *name, const char *path)
{
    if (visit->is_quarantine) {
        /* Listed, not judged: nothing loads it. */
        verify_report(verification, path, STATUS_quarantined, NULL);
        verification->files++;
        progress_add("file");
        return;
    }
    if (!visit->is_checked) {
        verify_folder(verification, visit->directory);
        visit->is_checked = true;
    }
    if (!recipe_tool_has_our_name(name)) {
        verify_cache_file(verification, visit->fd, name, path);
        return;
    }
    if (!visit->recipes) {
        visit->recipes = verify_recipes_open(visit->fd, NULL);
    }
    verify_recipe_file(verification, visit->recipes, name, path);
}

static void verify_directory(struct verification *verification, const char *directory,
                             bool is_quarantine);

/* A folder of others (lost+found, the drivers') that cannot be listed, and need not be. */
static bool verify_is_foreign(int directory_fd, const char *name)
{
    return (!names_is_app(name) || strcmp(name, INVENTORY_DRIVER_FOLDER) == 0) &&
           faccessat(directory_fd, name, R_OK | X_OK, AT_EACCESS) != 0 && errno == EACCES;
}

static void verify_entry(struct verification *verification, struct verify_visit *visit,
                         const char *name)
{
    struct stat status;
    const bool is_folder =
        fstatat(visit->fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
    const bool is_ours =
        visit->is_quarantine ? cache_file_has_our_name(name) : verify_has_our_name(name);
    const bool descends = is_folder && !visit->is_quarantine && strcmp(name, ".") != 0 &&
                          strcmp(name, "..") != 0 && !verify_is_foreign(visit->fd, name);
    if (!is_ours && !descends) {
        return;
    }
    const char *slash = visit->directory[strlen(visit->directory) - 1] == '/' ? "" : "/";
    AUTO_FREE char *path = output_format("%s%s%s", visit->directory, slash, name);
    verification->misused |= !path;
    if (path && is_ours) {
        verify_our_file(verification, visit, name, path);
    } else if (path) {
        verify_directory(verification, path, strcmp(name, QUARANTINE_FOLDER) == 0);
    }
}

static void verify_directory(struct verification *verification, const char *directory,
                             bool is_quarantine)
{
    struct verify_visit visit = {
        .directory = directory,
        .fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
        .is_quarantine = is_quarantine,
    };
    struct dirent **entries = NULL;
    int count = visit.fd < 0 ? -1 : scandir(directory, &entries, NULL, alphasort);
    if (count < 0) {
        verify_complain_of_errno(verification, directory);
    }
    for (int i = 0; i < count; i++) {
        verify_entry(verification, &visit, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    verify_recipes_close(visit.recipes);
    io_close(visit.fd);
}

/* A file given as an operand is checked by its name in its folder, as when the folder is given. */
static void verify_named_file(struct verification *verification, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    AUTO_FREE char *directory = !slash          ? strdup(".")
                                : slash == path ? strdup("/")
                                                : strndup(path, (size_t)(slash - path));
    AUTO_CLOSE int fd = directory ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd < 0) {
        verify_complain_of_errno(verification, path);
        return;
    }
    if (verify_has_our_name(name)) {
        verify_folder(verification, directory);
    }
    uint8_t head[RECIPE_HEADER_SIZE];
    size_t read = 0;
    uint64_t size;
    (void)file_read_head(fd, name, head, sizeof head, &read, &size);
    if (recipe_tool_is_one(name, head, read)) {
        struct verify_recipes *recipes = verify_recipes_open(fd, name);
        verify_recipe_file(verification, recipes, name, path);
        verify_recipes_close(recipes);
    } else {
        verify_cache_file(verification, fd, name, path);
    }
}

/* Whether programs keep their folders here, as far as the settings or what lies here tell. */
static bool verify_is_root(const char *path, const struct inventory_apps *apps)
{
    AUTO(config_free) struct config config;
    config_read(config_environment, &config);
    bool is_root = config.root && output_is_one_file(config.root, path);
    for (size_t i = 0; i < apps->count && !is_root; i++) {
        is_root = apps->list[i].kind == INVENTORY_PROGRAM;
    }
    return is_root;
}

/* Tells of what stands where programs' folders belong. */
static void verify_obstacles(struct verification *verification, const char *root)
{
    AUTO(inventory_apps_free) struct inventory_apps apps = {0};
    if (access(root, R_OK) != 0 || !inventory_apps(root, NULL, INVENTORY_OBSTACLE, &apps) ||
        !verify_is_root(root, &apps)) {
        return;
    }
    for (size_t i = 0; i < apps.count; i++) {
        AUTO_CLOSE int fd = -1;
        const char *name = apps.list[i].name;
        AUTO_FREE char *path = output_format("%s/%s", root, name);
        if (path && apps.list[i].kind == INVENTORY_OBSTACLE) {
            verify_report(verification, path, file_open_directory(root, name, false, &fd), NULL);
            verification->files++;
        }
    }
}

static void verify_operand(struct verification *verification, const char *path)
{
    struct stat status;
    size_t files = verification->files;
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
        verify_directory(verification, path, false);
        verify_obstacles(verification, path);
        if (verification->files == files) {
            output_message("no cache files in '%s'", path);
        }
    } else if (lstat(path, &status) != 0) {
        verify_complain_of_errno(verification, path);
    } else {
        verify_named_file(verification, path);
    }
}

static int verify_run(const struct arguments *arguments)
{
    struct verification verification = {.verbose = options_value(arguments, "verbose")};
    output_begin(&verification.output, arguments->json);
    output_open(&verification.output, "files", OUTPUT_LIST);
    for (int i = 0; i < arguments->operand_count; i++) {
        verify_operand(&verification, arguments->operands[i]);
    }
    output_close(&verification.output);
    int status = verification.found ? EXIT_FINDING : EXIT_CLEAN;
    return output_end(&verification.output, verification.misused ? EXIT_USAGE : status);
}

const struct verb verb_verify = {
    .name = "verify",
    .doing = "checking",
    .summary = "check cache and recipe files, or directories of them",
    .operands = "PATH...",
    .description =
        "Checks each cache file at PATH, or below it if it is a directory: every digest\n"
        "and field, that the file is named after its driver and device, and that the\n"
        "layer would trust the owner and mode of the file and its folder. Other files are\n"
        "skipped, unless one is in the way of a program's folder. Prints one line a file:\n"
        "'ok', or the id of the reason why the layer would not use it. In recipe files it\n"
        "checks every record, every reference (also to files beside it), and every SPIR-V\n"
        "module with SPIRV-Tools, unless it is too new for them.\n\n"
        "Files in a folder 'quarantine' are listed but not judged: they were put away\n"
        "because programs died with them, and nothing loads them.\n\n"
        "Exit status: 0 fine, 1 a file is damaged, 2 a PATH is missing or not ours.",
    .options = options,
    .min_operands = 1,
    .max_operands = INT_MAX,
    .run = verify_run,
};
