/* warmpipe run: one program under the layer, nothing installed. Which variables are set, and why
 * these, is told in docs/decisions/0011-variables-of-run.md. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/result.h"
#include "disk/file.h"
#include "output.h"
#include "verb.h"

#define LAYER_NAME "VK_LAYER_WARMPIPE_pipeline_cache"

/* Below an XDG data directory. */
#define IMPLICIT_FOLDER "vulkan/implicit_layer.d"
#define MANIFEST        IMPLICIT_FOLDER "/VkLayer_warmpipe.json"

/* Where --dir keeps the driver's own caches. */
#define DRIVER_FOLDER "driver"

/* What a shell answers where a command cannot be run. */
#define STATUS_NOT_EXECUTABLE 126
#define STATUS_NOT_FOUND      127

enum { OPTION_DIR, OPTION_APP, OPTION_VERBOSE };

static const struct option_spec options[] = {
    [OPTION_DIR] = {"dir", 0, "DIR", "keep all caches here, the driver's own in DIR/driver"},
    [OPTION_APP] = {"app", 0, "NAME", "name of the program's folder in it"},
    [OPTION_VERBOSE] = {"verbose", 'v', NULL, "show what is set, and let the layer tell more"},
    {NULL, 0, NULL, NULL},
};

/* Three texts in one, to be freed; NULL after a message. */
static char *join(const char *first, const char *between, const char *last)
{
    char *text;
    if (asprintf(&text, "%s%s%s", first, between, last) < 0) {
        output_message("run: out of memory");
        return NULL;
    }
    return text;
}

static bool set_variable(const char *name, const char *value, bool verbose)
{
    if (setenv(name, value, 1) != 0) {
        output_message("run: cannot set %s: %s", name, strerror(errno));
        return false;
    }
    if (verbose) {
        output_message("%s=%s", name, value);
    }
    return true;
}

static bool set_if_unset(const char *name, const char *value, bool verbose)
{
    return getenv(name) || set_variable(name, value, verbose);
}

static size_t without_slashes(const char *text, size_t length)
{
    while (length > 1 && text[length - 1] == '/') {
        length--;
    }
    return length;
}

/* Whether `entry` is one of the parts of a list with colons; slashes at the end do not matter. */
static bool lists(const char *list, const char *entry)
{
    size_t size = without_slashes(entry, strlen(entry));
    for (const char *part = list; *part; part += *part == ':') {
        size_t length = strcspn(part, ":");
        if (without_slashes(part, length) == size && memcmp(part, entry, size) == 0) {
            return true;
        }
        part += length;
    }
    return false;
}

enum list_end { LIST_FRONT, LIST_BACK };

/* Adds `entry` to a variable that holds a list, or to `preset` where it is unset or empty. What the
 * user has in it stays, and nothing is named twice. */
static bool add_to_list(const char *name, const char *preset, const char *entry, enum list_end end,
                        bool verbose)
{
    const char *list = getenv(name);
    if (!list || !*list) {
        list = preset;
    }
    if (lists(list, entry)) {
        return true;
    }
    const char *between = *list ? ":" : "";
    char *value = end == LIST_FRONT ? join(entry, between, list) : join(list, between, entry);
    if (!value) {
        return false;
    }
    bool done = set_variable(name, value, verbose);
    free(value);
    return done;
}

/* The XDG data directory with the layer's manifests that belongs to this very program: beside it in
 * the build tree, under the same prefix once installed. NULL if there is none, else to be freed. */
static char *find_data_directory(void)
{
    static const char *const places[] = {WARMPIPE_DATADIR_FROM_BINDIR, "../share"};
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length < 0) {
        return NULL;
    }
    program[length] = '\0';
    *strrchr(program, '/') = '\0';
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        char path[PATH_MAX + 256];
        snprintf(path, sizeof path, "%s/%s/" MANIFEST, program, places[i]);
        if (access(path, R_OK) == 0) {
            path[strlen(path) - strlen("/" MANIFEST)] = '\0';
            return realpath(path, NULL);
        }
    }
    return NULL;
}

static bool set_layer(bool verbose)
{
    if (!set_variable("WARMPIPE_ENABLE", "1", verbose)) {
        return false;
    }
    char *data = find_data_directory();
    if (!data) {
        output_message("run: no " MANIFEST " beside this program: only a layer that is installed "
                       "will be found");
        return true;
    }
    char *folder = join(data, "/", IMPLICIT_FOLDER);
    bool done =
        folder &&
        add_to_list("XDG_DATA_DIRS", "/usr/local/share/:/usr/share/", data, LIST_BACK, verbose) &&
        add_to_list("VK_ADD_IMPLICIT_LAYER_PATH", "", folder, LIST_FRONT, verbose) &&
        add_to_list("VK_INSTANCE_LAYERS", "", LAYER_NAME, LIST_FRONT, verbose);
    free(folder);
    free(data);
    return done;
}

/* To be freed; NULL after a message. */
static char *absolute(const char *path)
{
    if (path[0] == '/') {
        return join(path, "", "");
    }
    char *here = getcwd(NULL, 0);
    if (!here) {
        output_message("run: no current directory for '%s': %s", path, strerror(errno));
        return NULL;
    }
    char *result = join(here, "/", path);
    free(here);
    return result;
}

static bool set_driver_caches(const char *root, bool verbose)
{
    char *driver = join(root, "/", DRIVER_FOLDER);
    bool done = driver && set_if_unset("MESA_SHADER_CACHE_DIR", driver, verbose) &&
                set_if_unset("__GL_SHADER_DISK_CACHE_PATH", driver, verbose);
    free(driver);
    return done;
}

static bool set_directory(const char *directory, bool verbose)
{
    char *root = absolute(directory);
    bool done = root && set_variable("WARMPIPE_DIR", root, verbose);
    if (done) {
        /* NVIDIA's driver does not make its folder by itself. One that cannot be made is no reason
         * not to run the program: it starts cold. */
        int fd;
        enum reason reason = file_open_directory(root, DRIVER_FOLDER, true, &fd);
        if (reason == REASON_ok) {
            close(fd);
            done = set_driver_caches(root, verbose);
        } else {
            output_message("run: cannot use '%s/" DRIVER_FOLDER "': %s (%s)", root,
                           reason_text(reason), reason_id(reason));
        }
    }
    free(root);
    return done;
}

static int execute(char **command)
{
    execvp(command[0], command);
    int error = errno;
    output_message("run: cannot run '%s': %s", command[0], strerror(error));
    return error == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
}

static int run(const struct arguments *arguments)
{
    bool verbose = arguments->values[OPTION_VERBOSE];
    const char *directory = arguments->values[OPTION_DIR];
    const char *app = arguments->values[OPTION_APP];
    if (getenv("WARMPIPE_DISABLE")) {
        output_message("run: WARMPIPE_DISABLE is set: the program runs without the layer");
    }
    if (!set_layer(verbose) || (directory && !set_directory(directory, verbose)) ||
        (app && !set_variable("WARMPIPE_APP", app, verbose)) ||
        (verbose && !set_if_unset("WARMPIPE_LOG", "info", verbose))) {
        return EXIT_USAGE;
    }
    return execute(arguments->operands);
}

const struct verb verb_run = {
    .name = "run",
    .summary = "run a program with its pipelines cached",
    .operands = "[--] PROGRAM [ARGUMENT...]",
    .description =
        "Runs PROGRAM under the layer. Nothing needs to be installed for it, and what the\n"
        "loader's variables hold already stays in them.\n\n"
        "With --dir, one directory holds all that a container has to keep: the driver's\n"
        "own disk caches move to DIR/driver, unless MESA_SHADER_CACHE_DIR and\n"
        "__GL_SHADER_DISK_CACHE_PATH say otherwise. Without it they stay where they are.\n\n"
        "The exit status is PROGRAM's; 127 if it is not found, 126 if it cannot be run.",
    .options = options,
    .min_operands = 1,
    .max_operands = INT_MAX,
    .runs_program = true,
    .run = run,
};
