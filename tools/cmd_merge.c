/* warmpipe merge: one recipe file of several. */
#include <stdlib.h>

#include "output_file.h"
#include "recipe_tool.h"
#include "verb.h"

enum { OPTION_JSON };

static const struct option_spec options[] = {
    [OPTION_JSON] = {"json", 0, NULL, "results as a JSON document"},
    {NULL, 0, NULL, NULL},
};

struct files {
    struct recipe_segment *segments;
    struct recipe_merge_input *inputs;
    size_t count;
};

static bool read_files(char **paths, size_t count, struct files *files)
{
    files->segments = calloc(count, sizeof *files->segments);
    files->inputs = calloc(count, sizeof *files->inputs);
    if (!files->segments || !files->inputs) {
        output_message("merge: out of memory");
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!recipe_tool_read("merge", paths[i], &files->segments[i])) {
            return false;
        }
        files->inputs[i].segment = &files->segments[i];
        files->count++;
    }
    return true;
}

/* Which of them are damaged: each is looked at alone, which is dear. */
static void name_damage(char **paths, const struct files *files)
{
    const struct recipe_merge_limits limits = {.max_size = UINT64_MAX};
    for (size_t i = 0; i < files->count; i++) {
        struct recipe_merged merged;
        if (recipe_merge(&files->inputs[i], 1, &limits, &merged) == REASON_ok) {
            recipe_tool_name_damage("merge", paths[i], &merged.counts);
            recipe_merge_free(&merged);
        }
    }
}

/* Gives the exit status. */
static int show(const char *path, const struct recipe_merged *merged, bool json)
{
    const int status = recipe_tool_is_finding(&merged->counts) ? EXIT_FINDING : EXIT_CLEAN;
    struct output output;
    if (output_file_is_standard(path)) {
        return status;
    }
    output_begin(&output, json);
    output_text(&output, "path", path);
    recipe_tool_show(&output, merged);
    return output_end(&output, status);
}

static int merge(char **paths, const struct files *files, bool json)
{
    const struct recipe_merge_limits limits = {.max_size = RECIPES_MAX_FILE};
    struct recipe_merged merged;
    const enum reason reason = recipe_merge(files->inputs, files->count, &limits, &merged);
    if (reason != REASON_ok) {
        output_message("merge: %s", reason_text(reason));
        return EXIT_USAGE;
    }
    int status = EXIT_USAGE;
    const char *path = paths[0];
    if (merged.counts.damaged > 0) {
        name_damage(paths + 1, files);
    }
    if (merged.size == 0) {
        output_message("merge: no pipelines are in these files, so '%s' was not written", path);
    } else if (output_file_write("merge", path, merged.parts, (int)merged.part_count)) {
        status = show(path, &merged, json);
    }
    recipe_merge_free(&merged);
    return status;
}

static int run(const struct arguments *arguments)
{
    struct files files = {0};
    const size_t count = (size_t)arguments->operand_count - 1;
    int status = EXIT_USAGE;
    if (read_files(arguments->operands + 1, count, &files)) {
        status = merge(arguments->operands, &files, arguments->values[OPTION_JSON]);
    }
    for (size_t i = 0; i < files.count; i++) {
        recipe_segment_close(&files.segments[i]);
    }
    free(files.segments);
    free(files.inputs);
    return status;
}

const struct verb verb_merge = {
    .name = "merge",
    .summary = "make one recipe file of several",
    .operands = "OUT IN...",
    .description =
        "Writes the recipes of all files IN to OUT: each record once, uses added up. What\n"
        "is damaged, and pipelines of which something is missing, are left out; whether\n"
        "the SPIR-V is valid is looked at by 'warmpipe import' and 'warmpipe verify'.\n\n"
        "Exit status: 0 all was taken, 1 something had to be left out, 2 no OUT.",
    .options = options,
    .min_operands = 2,
    .max_operands = INT_MAX,
    .run = run,
};
