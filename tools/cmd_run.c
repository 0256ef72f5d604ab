/* warmpipe run: one program under the layer, nothing installed. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/result.h"
#include "disk/file.h"
#include "layer_variables.h"
#include "output.h"
#include "verb.h"

/* Where --dir keeps the driver's own caches. */
#define DRIVER_FOLDER "driver"

/* What a shell answers where a command cannot be run. */
#define STATUS_NOT_EXECUTABLE 126
#define STATUS_NOT_FOUND      127

enum { OPTION_DIR, OPTION_APP, OPTION_QUIET, OPTION_VERBOSE };

static const struct option_spec options[] = {
    [OPTION_DIR] = {"dir", 0, "DIR", "keep all caches here, the driver's own in DIR/driver"},
    [OPTION_APP] = {"app", 0, "NAME", "name of the program's folder in it"},
    [OPTION_QUIET] = {"quiet", 'q', NULL, "no line at the end that says what was saved"},
    [OPTION_VERBOSE] = {"verbose", 'v', NULL, "show what is set, and let the layer tell more"},
    {NULL, 0, NULL, NULL},
};

/* To be freed; NULL after a message. */
static char *absolute(const char *path)
{
    if (path[0] == '/') {
        return variable_join("run", path, "", "");
    }
    char *here = getcwd(NULL, 0);
    if (!here) {
        output_message("run: no current directory for '%s': %s", path, strerror(errno));
        return NULL;
    }
    char *result = variable_join("run", here, "/", path);
    free(here);
    return result;
}

static bool set_driver_caches(const char *root, bool verbose)
{
    char *driver = variable_join("run", root, "/", DRIVER_FOLDER);
    bool done = driver && variable_set_if_unset("run", "MESA_SHADER_CACHE_DIR", driver, verbose) &&
                variable_set_if_unset("run", "__GL_SHADER_DISK_CACHE_PATH", driver, verbose);
    free(driver);
    return done;
}

static bool set_directory(const char *directory, bool verbose)
{
    char *root = absolute(directory);
    bool done = root && variable_set("run", "WARMPIPE_DIR", root, verbose);
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
    if (!layer_variables_set("run", verbose) || (directory && !set_directory(directory, verbose)) ||
        (!arguments->values[OPTION_QUIET] &&
         !variable_set_if_unset("run", "WARMPIPE_SUMMARY", "1", verbose)) ||
        (app && !variable_set("run", "WARMPIPE_APP", app, verbose)) ||
        (verbose && !variable_set_if_unset("run", "WARMPIPE_LOG", "info", verbose))) {
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
        "loader's variables hold already stays in them. PROGRAM takes this process over;\n"
        "when a device of it goes, the layer says in a line what was hit and saved.\n\n"
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
