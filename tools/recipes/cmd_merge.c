// SPDX-License-Identifier: Apache-2.0
/* warmpipe merge: one recipe file of several. */
#include "tools/cli/output.h"
#include "tools/cli/verb.h"
#include "tools/recipes/recipe_tool.h"

static const struct option_spec merge_options[] = {
    VERB_JSON_OPTION,
    {NULL, 0, NULL, NULL},
};

static bool merge_read_files(char **paths, size_t count, struct recipe_sources *ret_files)
{
    if (!recipe_tool_sources(count, ret_files)) {
        output_message("merge: out of memory");
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        struct recipe_segment segment;
        if (!recipe_tool_read("merge", paths[i], &segment)) {
            return false;
        }
        recipe_tool_add(ret_files, &segment);
    }
    return true;
}

/* Gives the exit status. */
static int merge_show(const char *path, const struct recipe_merged *merged, bool json)
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

static int merge_write(char **paths, const struct recipe_sources *files, bool json)
{
    const struct recipe_merge_limits limits = {.max_size = RECIPES_MAX_FILE, .foreign = true};
    AUTO(recipe_merge_free) struct recipe_merged merged = {0};
    const enum status reason = recipe_merge(files->inputs, files->count, &limits, &merged);
    if (reason != STATUS_ok) {
        output_message("merge: %s", status_text(reason));
        return EXIT_USAGE;
    }
    int status = EXIT_USAGE;
    const char *path = paths[0];
    for (size_t i = 0; i < files->count; i++) {
        recipe_tool_name_damage("merge", paths[i + 1],
                                recipe_segment_damaged(files->inputs[i].segment));
    }
    if (merged.size == 0) {
        output_message("merge: no pipelines in these files; '%s' is not written", path);
    } else if (output_file_write("merge", path, merged.parts, (int)merged.part_count)) {
        status = merge_show(path, &merged, json);
    }
    return status;
}

static int merge_run(const struct arguments *arguments)
{
    AUTO(recipe_sources_close) struct recipe_sources files = {.lock_fd = -1};
    const size_t count = (size_t)arguments->operand_count - 1;
    return merge_read_files(arguments->operands + 1, count, &files)
               ? merge_write(arguments->operands, &files, arguments->json)
               : EXIT_USAGE;
}

const struct verb verb_merge = {
    .name = "merge",
    .doing = "merging the files",
    .summary = "merge several recipe files into one",
    .operands = "OUT IN...",
    .description =
        "Writes the recipes of all files IN to OUT, each record once, with the uses added\n"
        "up, but not how long they took to compile: that is measured where they are used.\n"
        "Damaged records, and pipelines of which a part is missing, are left out.\n"
        "The SPIR-V is not validated here; 'warmpipe import' and 'warmpipe verify' do.\n\n"
        "Exit status: 0 all was merged, 1 something was left out, 2 OUT is not written.",
    .options = merge_options,
    .min_operands = 2,
    .max_operands = INT_MAX,
    .run = merge_run,
};
