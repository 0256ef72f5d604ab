/* warmpipe verify: every check that the layer makes of a file, made of all files there are. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache_file.h"
#include "disk/file.h"
#include "disk/quarantine.h"
#include "driver/vulkan_names.h"
#include "output.h"
#include "verb.h"
#include "verify_recipes.h"

enum { OPTION_JSON, OPTION_VERBOSE };

static const struct option_spec options[] = {
    [OPTION_JSON] = {"json", 0, NULL, "results as a JSON document"},
    [OPTION_VERBOSE] = {"verbose", 'v', NULL, "also tell device, driver, size and time"},
    {NULL, 0, NULL, NULL},
};

struct verification {
    struct output output;
    bool verbose;
    bool found;   /* something is wrong with a file */
    bool misused; /* a path was not there, not ours or not readable */
    size_t files;
};

static void complain(struct verification *verification, const char *path, const char *problem)
{
    output_message("verify: '%s': %s", path, problem);
    verification->misused = true;
}

/* One line: a file, or a folder that is not trusted. `envelope` NULL: nothing is known of it. */
static void report(struct verification *verification, const char *path, enum reason reason,
                   const struct envelope *envelope)
{
    struct output *output = &verification->output;
    output_open(output, NULL, OUTPUT_ROW);
    output_text(output, "reason", reason == REASON_ok ? "ok" : reason_id(reason));
    output_text(output, "path", path);
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
    if (reason != REASON_ok && reason != REASON_quarantined) {
        verification->found = true;
    }
}

/* NULL after a message. */
static char *join(struct verification *verification, const char *directory, const char *name)
{
    char *path;
    const char *slash = directory[strlen(directory) - 1] == '/' ? "" : "/";
    if (asprintf(&path, "%s%s%s", directory, slash, name) < 0) {
        complain(verification, directory, "out of memory");
        return NULL;
    }
    return path;
}

/* Whether the layer would use this folder: then it must use its name and its parent's, too. */
static void check_folder(struct verification *verification, const char *directory)
{
    char *path = realpath(directory, NULL);
    if (!path) {
        complain(verification, directory, strerror(errno));
        return;
    }
    char *slash = strrchr(path, '/');
    *slash = '\0';
    int fd;
    enum reason reason = file_open_directory(path, slash[1] ? slash + 1 : ".", false, &fd);
    if (reason == REASON_ok) {
        close(fd);
    } else {
        report(verification, directory, reason, NULL);
    }
    free(path);
}

/* A folder that is being gone through; zero-initialize. */
struct visit {
    bool is_checked;                /* whether it is to be trusted was judged */
    bool are_opened;                /* its recipes were, unless there is no memory for that */
    struct verify_recipes *recipes; /* NULL: not opened */
};

/* Of a segment: what it says is judged together with what lies beside it. */
static void check_recipes(struct verification *verification, struct verify_recipes *recipes,
                          const char *name, const char *path)
{
    struct recipe_merge_counts counts = {0};
    const enum reason reason =
        recipes ? verify_recipes_judge(recipes, name, &counts) : REASON_out_of_memory;
    struct output *output = &verification->output;
    output_open(output, NULL, OUTPUT_ROW);
    output_text(output, "reason", reason == REASON_ok ? "ok" : reason_id(reason));
    output_text(output, "path", path);
    if (verification->verbose) {
        output_number(output, "pipelines", counts.pipelines);
        output_number(output, "damaged_records", counts.damaged);
        output_number(output, "refused_records", counts.refused);
        output_number(output, "incomplete_pipelines", counts.incomplete);
    }
    output_close(output);
    verification->found = verification->found || reason != REASON_ok;
    verification->files++;
}

static void check_file(struct verification *verification, int directory_fd, const char *name,
                       const char *path)
{
    struct cache_file file;
    enum reason reason = cache_file_check(directory_fd, name, &file);
    if (!file.ours) {
        /* What could be read is not ours by its first bytes. */
        bool was_read = reason == REASON_bad_magic || reason == REASON_truncated;
        complain(verification, path, reason_text(was_read ? REASON_bad_magic : reason));
    } else {
        report(verification, path, reason, file.known ? &file.envelope : NULL);
        verification->files++;
    }
}

/* Files in quarantine have been dealt with: they are named, not judged. */
static void list_quarantine(struct verification *verification, const char *directory)
{
    struct dirent **entries;
    int count = scandir(directory, &entries, NULL, alphasort);
    if (count < 0) {
        complain(verification, directory, strerror(errno));
        return;
    }
    for (int i = 0; i < count; i++) {
        char *path = NULL;
        if (cache_file_has_our_name(entries[i]->d_name)) {
            path = join(verification, directory, entries[i]->d_name);
        }
        if (path) {
            report(verification, path, REASON_quarantined, NULL);
            verification->files++;
        }
        free(path);
        free(entries[i]);
    }
    free(entries);
}

static bool is_directory(int directory_fd, const char *name)
{
    struct stat status;
    return fstatat(directory_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(status.st_mode);
}

static bool is_named_as_ours(const char *name)
{
    return cache_file_has_our_name(name) || verify_recipes_has_our_name(name);
}

static void check_directory(struct verification *verification, const char *directory);

static void check_entry(struct verification *verification, int directory_fd, const char *directory,
                        const char *name, struct visit *visit)
{
    bool descend = is_directory(directory_fd, name);
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
        (!descend && !is_named_as_ours(name))) {
        return;
    }
    char *path = join(verification, directory, name);
    if (!path) {
        return;
    }
    if (is_named_as_ours(name)) {
        if (!visit->is_checked) {
            check_folder(verification, directory);
            visit->is_checked = true;
        }
        if (!verify_recipes_has_our_name(name)) {
            check_file(verification, directory_fd, name, path);
        } else {
            if (!visit->are_opened) {
                visit->recipes = verify_recipes_open(directory_fd, NULL);
                visit->are_opened = true;
            }
            check_recipes(verification, visit->recipes, name, path);
        }
    } else if (strcmp(name, QUARANTINE_FOLDER) == 0) {
        list_quarantine(verification, path);
    } else {
        check_directory(verification, path);
    }
    free(path);
}

static void check_directory(struct verification *verification, const char *directory)
{
    struct dirent **entries = NULL;
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int count = fd < 0 ? -1 : scandir(directory, &entries, NULL, alphasort);
    if (count < 0) {
        complain(verification, directory, strerror(errno));
    }
    struct visit visit = {0};
    for (int i = 0; i < count; i++) {
        check_entry(verification, fd, directory, entries[i]->d_name, &visit);
        free(entries[i]);
    }
    free(entries);
    verify_recipes_close(visit.recipes);
    if (fd >= 0) {
        close(fd);
    }
}

/* A file that was named: checked by its name in its folder, as it is when the folder is named. */
static void check_named_file(struct verification *verification, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    char *directory = !slash          ? strdup(".")
                      : slash == path ? strdup("/")
                                      : strndup(path, (size_t)(slash - path));
    int fd = directory ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd < 0) {
        complain(verification, path, strerror(errno));
    } else {
        if (is_named_as_ours(name)) {
            check_folder(verification, directory);
        }
        if (verify_recipes_is_one(fd, name)) {
            struct verify_recipes *recipes = verify_recipes_open(fd, name);
            check_recipes(verification, recipes, name, path);
            verify_recipes_close(recipes);
        } else {
            check_file(verification, fd, name, path);
        }
        close(fd);
    }
    free(directory);
}

static void check_operand(struct verification *verification, const char *path)
{
    struct stat status;
    size_t files = verification->files;
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
        check_directory(verification, path);
        if (verification->files == files) {
            output_message("verify: no cache files in '%s'", path);
        }
    } else if (lstat(path, &status) != 0) {
        complain(verification, path, strerror(errno));
    } else {
        check_named_file(verification, path);
    }
}

static int run(const struct arguments *arguments)
{
    struct verification verification = {.verbose = arguments->values[OPTION_VERBOSE]};
    output_begin(&verification.output, arguments->values[OPTION_JSON]);
    output_open(&verification.output, "files", OUTPUT_LIST);
    for (int i = 0; i < arguments->operand_count; i++) {
        check_operand(&verification, arguments->operands[i]);
    }
    output_close(&verification.output);
    int status = verification.found ? EXIT_FINDING : EXIT_CLEAN;
    return output_end(&verification.output, verification.misused ? EXIT_USAGE : status);
}

const struct verb verb_verify = {
    .name = "verify",
    .summary = "check cache and recipe files, whole directories of them too",
    .operands = "PATH...",
    .description =
        "Checks each cache file at PATH, and below it if it is a directory: every digest\n"
        "and field, that the file has the name of the driver and device in it, and that\n"
        "the layer would trust its owner and mode and those of its folder. Other files\n"
        "are passed over. One line a file: 'ok', or the id of the reason why the layer\n"
        "would not use it. Of recipe files every record is checked, every reference, with\n"
        "what lies beside the file, and every SPIR-V module, by SPIRV-Tools.\n\n"
        "What is in a folder 'quarantine' below PATH is named but not judged: it was put\n"
        "away because programs died with it, and nothing loads it any more.\n\n"
        "Exit status: 0 all is well, 1 something is not, 2 a PATH is missing or not ours.",
    .options = options,
    .min_operands = 1,
    .max_operands = INT_MAX,
    .run = run,
};
