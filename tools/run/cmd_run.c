// SPDX-License-Identifier: Apache-2.0
/* warmpipe run: one program under the layer, nothing installed. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/status.h"
#include "common/files/file.h"
#include "common/files/names.h"
#include "common/settings/config.h"
#include "tools/cli/inventory.h"
#include "tools/cli/output.h"
#include "tools/cli/verb.h"
#include "tools/run/layer_process.h"
#ifdef WARMPIPE_HAVE_REMOTE
#include "tools/remote/run/run_remote.h"
#endif

/* The exit statuses of a shell for a command that cannot be run. */
#define STATUS_NOT_EXECUTABLE 126
#define STATUS_NOT_FOUND      127

static const struct option_spec options[] = {
    {"dir", 0, "DIR", "keep all caches here; the driver's own in DIR/driver"},
    {"app", 0, "NAME", "name of the program's folder there"},
    {"remote", 0, "URL", "pull from there (default WARMPIPE_REMOTE)"},
    {"public-key", 0, "FILE", "trust only this key"},
    {"secret-key", 0, "FILE", "push at the end, signed with this key"},
    {"single-writer", 0, NULL, "no other machine writes there"},
    {"remote-wait", 0, "TIME", "longest wait for a pull (default 2s)"},
    {"lease-wait", 0, "TIME", "let one machine compile for all (default 0s)"},
    {"state", 0, "DIR", "keep notes here: what killed a program, heads seen"},
    {"min-serial", 0, "N", "refuse heads with a lower serial"},
    {"max-age", 0, "TIME", "refuse heads made longer ago"},
    {"quiet", 'q', NULL, "no summary line at the end (JSON: WARMPIPE_STATS=FILE)"},
    {"verbose", 'v', NULL, "show the variables that are set; more messages"},
    {NULL, 0, NULL, NULL},
};

static bool run_set_driver_caches(const char *root, bool verbose)
{
    AUTO_FREE char *driver = output_format("%s/" INVENTORY_DRIVER_FOLDER, root);
    return driver && variable_set_if_unset("MESA_SHADER_CACHE_DIR", driver, verbose) &&
           variable_set_if_unset("__GL_SHADER_DISK_CACHE_PATH", driver, verbose);
}

static bool run_set_directory(const char *directory, bool verbose)
{
    AUTO_FREE char *root = inventory_absolute_path(directory);
    bool done = root && variable_set("WARMPIPE_DIR", root, verbose);
    if (done) {
        /* NVIDIA's driver does not create its folder. If it cannot be made, the program runs
         * anyway: it starts cold. */
        AUTO_CLOSE int fd = -1;
        enum status reason = file_open_directory(root, INVENTORY_DRIVER_FOLDER, true, &fd);
        if (reason == STATUS_ok) {
            /* A folder that cannot be written, as in an image, would switch the driver's cache off.
             */
            done =
                faccessat(fd, ".", W_OK, AT_EACCESS) != 0 || run_set_driver_caches(root, verbose);
        } else {
            output_reason(reason, "cannot use '%s/" INVENTORY_DRIVER_FOLDER "'", root);
        }
    }
    return done;
}

static int run_execute(char **command)
{
    execvp(command[0], command);
    int error = errno;
    output_message("cannot run '%s': %s", command[0], strerror(error));
    return error == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
}

/* The same, and somebody looks whether the program gets the layer. */
static int run_execute_watched(char **command)
{
    bypass_watch();
    return run_execute(command);
}

typedef int run_executor(char **command);

#ifdef WARMPIPE_HAVE_REMOTE

/* The folder of the program, if its name is known before it runs. False after a message. */
static bool run_find_app(char ret_app[NAMES_APP_SIZE])
{
    const char *app = getenv("WARMPIPE_APP");
    if (!app || !*app) {
        output_message("a remote needs the program's name: give --app NAME");
        return false;
    }
    names_app_folder(&(struct names_program){.app_setting = app}, ret_app);
    return true;
}

/* Runs the program, pulls beside it, and pushes if there is a secret key. */
static int run_with_remote(const struct arguments *arguments, run_executor *execute,
                           uint64_t wait_ms, uint64_t lease_wait_ms)
{
    char app[NAMES_APP_SIZE];
    AUTO(config_free) struct config config = {0};
    struct run_remote remote = {
        .app = app,
        .wait_ms = wait_ms,
        .lease_wait_ms = lease_wait_ms,
    };
    if (!remote_options_read(arguments, &remote.remote)) {
        return EXIT_USAGE;
    }
    const bool known = run_find_app(app);
    config_read(config_environment, &config);
    remote.root = config.root;
    return known && remote.root ? run_remote_program(&remote, arguments->operands, execute)
                                : execute(arguments->operands);
}

#endif

static int run_program(const struct arguments *arguments, uint64_t wait_ms, uint64_t lease_wait_ms)
{
    const char *variable = getenv("WARMPIPE_REMOTE");
    run_executor *execute = options_value(arguments, "quiet") || getenv("WARMPIPE_DISABLE")
                                ? run_execute
                                : run_execute_watched;
    if (!options_value(arguments, "remote") && (!variable || !*variable)) {
        if (options_value(arguments, "secret-key")) {
            output_message("nothing is pushed: give --remote URL or set WARMPIPE_REMOTE");
        }
        return execute(arguments->operands);
    }
#ifdef WARMPIPE_HAVE_REMOTE
    return run_with_remote(arguments, execute, wait_ms, lease_wait_ms);
#else
    (void)wait_ms;
    (void)lease_wait_ms;
    output_reason(STATUS_remote_unsupported, NULL);
    return execute(arguments->operands);
#endif
}

static int run_command(const struct arguments *arguments)
{
    const char *wait = options_value(arguments, "remote-wait");
    const char *lease_wait = options_value(arguments, "lease-wait");
    uint64_t wait_ms = 2000;
    uint64_t lease_wait_ms = 0;
    if ((wait && !options_duration(wait, &wait_ms)) ||
        (lease_wait && !options_duration(lease_wait, &lease_wait_ms))) {
        return EXIT_USAGE;
    }
    bool verbose = options_value(arguments, "verbose");
    const char *directory = options_value(arguments, "dir");
    const char *app = options_value(arguments, "app");
    if (getenv("WARMPIPE_DISABLE")) {
        output_message("WARMPIPE_DISABLE is set: the program runs without the layer");
    }
    const char *off = getenv("VK_LOADER_LAYERS_DISABLE");
    if (layer_is_in_patterns(off) && !layer_is_in_patterns(getenv("VK_LOADER_LAYERS_ENABLE")) &&
        !layer_is_in_patterns(getenv("VK_LOADER_LAYERS_ALLOW"))) {
        output_message("VK_LOADER_LAYERS_DISABLE=%s is set: the program runs without the layer",
                       off);
    }
    AUTO_FREE char *keeper = layer_kept_out_by();
    if (keeper) {
        output_message("'%s', of the Vulkan Configurator, keeps the layer out: the program runs "
                       "without it",
                       keeper);
    }
    if (!layer_variables_set(verbose) || (directory && !run_set_directory(directory, verbose)) ||
        (!options_value(arguments, "quiet") &&
         !variable_set_if_unset("WARMPIPE_SUMMARY", "1", verbose)) ||
        (app && !variable_set("WARMPIPE_APP", app, verbose)) ||
        (verbose && !variable_set_if_unset("WARMPIPE_LOG", "info", verbose))) {
        return EXIT_USAGE;
    }
    return run_program(arguments, wait_ms, lease_wait_ms);
}

const struct verb verb_run = {
    .name = "run",
    .summary = "run a program with its pipelines cached",
    .operands = "[--] PROGRAM [ARGUMENT...]",
    .description =
        "Runs PROGRAM under the layer; nothing needs to be installed. When one of its\n"
        "Vulkan devices is destroyed, a summary line says what was hit and saved. --dir\n"
        "holds all that a container has to keep, the driver's too, unless its variables\n"
        "are set. With --remote, caches are pulled and, with a secret key, pushed.\n\n"
        "The exit status is PROGRAM's; 127 if it is not found, 126 if it cannot be run.",
    .options = options,
    .min_operands = 1,
    .max_operands = INT_MAX,
    .runs_program = true,
    .run = run_command,
};
