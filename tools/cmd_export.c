/* warmpipe export: a program's recipes as one file. */
#include <stdlib.h>
#include <unistd.h>

#include "disk/recipe_folder.h"
#include "disk/recipe_sources.h"
#include "inventory.h"
#include "output_file.h"
#include "recipe_tool.h"
#include "verb.h"

/* Held, so that nobody makes one of them meanwhile: each takes a descriptor. */
#define MAX_HELD 512

enum { OPTION_APP, OPTION_DIR, OPTION_JSON };

static const struct option_spec options[] = {
    [OPTION_APP] = {"app", 0, "NAME", "of this program; needed if there are several"},
    [OPTION_DIR] = {"dir", 0, "DIR", "the caches in DIR, not those that the settings name"},
    [OPTION_JSON] = {"json", 0, NULL, "results as a JSON document"},
    {NULL, 0, NULL, NULL},
};

/* All segments of the program, those of processes that run as well. False after a message. */
static bool merge_all(const char *root, const char *app, int *folder_fd,
                      struct recipe_sources *sources, struct recipe_merged *ret_merged)
{
    const struct recipe_bite all = {MAX_HELD, UINT64_MAX};
    enum reason reason = recipe_folder_open(root, app, false, folder_fd);
    if (reason == REASON_ok) {
        reason = recipe_sources_open(*folder_fd, &all, sources);
    }
    if (reason == REASON_ok) {
        const struct recipe_merge_limits limits = {.max_size = UINT64_MAX};
        for (size_t i = 0; i < sources->count; i++) {
            sources->inputs[i].stays = false;
        }
        reason = recipe_merge(sources->inputs, sources->count, &limits, ret_merged);
    }
    if (reason == REASON_ok && ret_merged->size == 0) {
        recipe_merge_free(ret_merged);
        reason = REASON_no_file;
    }
    if (reason == REASON_no_file) {
        output_message("export: there are no recipes of '%s' in '%s'", app, root);
    } else if (reason != REASON_ok) {
        output_message("export: '%s/%s': %s (%s)", root, app, reason_text(reason),
                       reason_id(reason));
    }
    return reason == REASON_ok;
}

/* Gives the exit status. */
static int show(const struct arguments *arguments, const char *app,
                const struct recipe_sources *sources, const struct recipe_merged *merged)
{
    const bool is_all = sources->unopened == 0 && !recipe_tool_is_finding(&merged->counts);
    const int status = is_all ? EXIT_CLEAN : EXIT_FINDING;
    struct output output;
    if (output_file_is_standard(arguments->operands[0])) {
        return status;
    }
    output_begin(&output, arguments->values[OPTION_JSON]);
    output_text(&output, "name", app);
    output_text(&output, "path", arguments->operands[0]);
    recipe_tool_show(&output, merged);
    output_number(&output, "unreadable_files", sources->unopened);
    return output_end(&output, status);
}

static int export_app(const struct arguments *arguments, const char *root, const char *app)
{
    int status = EXIT_USAGE;
    int folder_fd = -1;
    struct recipe_sources sources = {0};
    struct recipe_merged merged;
    if (merge_all(root, app, &folder_fd, &sources, &merged)) {
        if (output_file_write("export", arguments->operands[0], merged.parts,
                              (int)merged.part_count)) {
            recipe_tool_name_damage("export", app, &merged.counts);
            status = show(arguments, app, &sources, &merged);
        }
        recipe_merge_free(&merged);
    }
    recipe_sources_close(&sources);
    if (folder_fd >= 0) {
        close(folder_fd);
    }
    return status;
}

static int run(const struct arguments *arguments)
{
    char *root = inventory_root("export", arguments->values[OPTION_DIR]);
    return recipe_tool_run("export", arguments, root, arguments->values[OPTION_APP], export_app);
}

const struct verb verb_export = {
    .name = "export",
    .summary = "write a program's recipes to a file",
    .operands = "FILE",
    .description =
        "Writes what the program has asked for, in all its runs, to FILE: its SPIR-V, its\n"
        "create-infos, and when and how often they were used. Nothing in it depends on\n"
        "the driver, so it can be shipped with the program: 'warmpipe import' takes it,\n"
        "'warmpipe warm --app NAME FILE' builds a cache of it. Damaged records are left\n"
        "out.\n\n"
        "Exit status: 0 all was written, 1 something had to be left out, 2 no FILE.",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
