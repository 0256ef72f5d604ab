/* warmpipe install and uninstall: the layer for more than one program, and its removal. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "installation.h"
#include "output.h"
#include "verb.h"

enum { OPTION_USER, OPTION_SYSTEM, OPTION_PREFIX, OPTION_JSON, OPTION_ALWAYS };

#define PLACE_OPTIONS                                                                              \
    [OPTION_USER] = {"user", 0, NULL, "for this user (unless this is root)"},                      \
    [OPTION_SYSTEM] = {"system", 0, NULL, "for all users, below /usr/local (if root)"},            \
    [OPTION_PREFIX] = {"prefix", 0, "DIR", "with --system: below DIR"},                            \
    [OPTION_JSON] = {"json", 0, NULL, "results as a JSON document"}

static const struct option_spec install_options[] = {
    PLACE_OPTIONS,
    [OPTION_ALWAYS] = {"always", 0, NULL, "for every program, not only with WARMPIPE_ENABLE=1"},
    {NULL, 0, NULL, NULL},
};

static const struct option_spec uninstall_options[] = {
    PLACE_OPTIONS,
    {NULL, 0, NULL, NULL},
};

/* False after a message. */
static bool choose_place(const char *verb, const struct arguments *arguments,
                         struct installation *ret_installation)
{
    const bool user = arguments->values[OPTION_USER];
    const bool system = arguments->values[OPTION_SYSTEM];
    const char *prefix = arguments->values[OPTION_PREFIX];
    if (user && (system || prefix)) {
        output_message("%s: --user goes with neither --system nor --prefix", verb);
        return false;
    }
    if (prefix && prefix[0] != '/') {
        output_message("%s: --prefix needs an absolute path", verb);
        return false;
    }
    return system || prefix || (!user && geteuid() == 0)
               ? installation_of_system(verb, prefix ? prefix : "/usr/local", ret_installation)
               : installation_of_user(verb, ret_installation);
}

static void show(void *user, const char *path, const char *state)
{
    struct output *output = user;
    output_open(output, NULL, OUTPUT_ROW);
    output_text(output, "state", state);
    output_text(output, "path", path);
    output_close(output);
}

static int change(const char *verb, const struct arguments *arguments, bool install, bool always)
{
    struct installation installation;
    if (!choose_place(verb, arguments, &installation)) {
        return EXIT_USAGE;
    }
    struct output output;
    output_begin(&output, arguments->values[OPTION_JSON]);
    output_open(&output, "files", OUTPUT_LIST);
    bool done = install ? installation_put(verb, &installation, always, show, &output)
                        : installation_remove(verb, &installation, show, &output);
    output_close(&output);
    installation_free(&installation);
    return output_end(&output, done ? EXIT_CLEAN : EXIT_USAGE);
}

static int run_install(const struct arguments *arguments)
{
    return change("install", arguments, true, arguments->values[OPTION_ALWAYS]);
}

static int run_uninstall(const struct arguments *arguments)
{
    return change("uninstall", arguments, false, false);
}

const struct verb verb_install = {
    .name = "install",
    .summary = "put the layer where every program finds it",
    .operands = "",
    .description = "Copies the layer's library and manifests to where the Vulkan loader looks for\n"
                   "them. Every program then gets the layer that has WARMPIPE_ENABLE=1 in its\n"
                   "environment; with --always every program at all, until it has\n"
                   "WARMPIPE_DISABLE=1. Where a package has put the layer, nothing is touched.\n\n"
                   "Exit status: 0 done, 2 not done.",
    .options = install_options,
    .min_operands = 0,
    .max_operands = 0,
    .run = run_install,
};

const struct verb verb_uninstall = {
    .name = "uninstall",
    .summary = "remove what 'install' has put there",
    .operands = "",
    .description =
        "Removes exactly what 'warmpipe install' has put there, and the folders that it\n"
        "has made if they are empty. What a package has installed is the package's.\n"
        "Caches stay: 'warmpipe clear' removes them.\n\n"
        "Exit status: 0 it is gone, or was not there; 2 not done.",
    .options = uninstall_options,
    .min_operands = 0,
    .max_operands = 0,
    .run = run_uninstall,
};
