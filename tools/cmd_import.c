/* warmpipe import: takes in recipes that somebody else has made. */
#include <stdlib.h>
#include <unistd.h>

#include "base/config.h"
#include "disk/file.h"
#include "disk/recipe_compact.h"
#include "disk/usage.h"
#include "inventory.h"
#include "recipe_judge.h"
#include "recipe_tool.h"
#include "verb.h"

enum { OPTION_APP, OPTION_DIR, OPTION_DRY_RUN, OPTION_JSON };

static const struct option_spec options[] = {
    [OPTION_APP] = {"app", 0, "NAME", "for this program; needed unless there is just one"},
    [OPTION_DIR] = {"dir", 0, "DIR", "the caches in DIR, not those that the settings name"},
    [OPTION_DRY_RUN] = {"dry-run", 'n', NULL, "check FILE, and take nothing"},
    [OPTION_JSON] = {"json", 0, NULL, "results as a JSON document"},
    {NULL, 0, NULL, NULL},
};

static const char *read_environment(const char *name)
{
    return getenv(name);
}

/* Bytes: of all in the program's folder, and of its recipes among them. */
static void measure(const char *root, const char *app, uint64_t *ret_all, uint64_t *ret_recipes)
{
    int folder_fd;
    struct usage usage = {0};
    size_t entries = SIZE_MAX;
    if (file_open_directory(root, app, false, &folder_fd) == REASON_ok) {
        usage_read(folder_fd, &entries, &usage);
        close(folder_fd);
    }
    *ret_all = usage_bytes(&usage);
    *ret_recipes = usage.recipe_bytes;
    usage_free(&usage);
}

/* As the layer does (limits.h): recipes give way to caches, but keep an eighth. What goes counts as
 * left out. */
static void keep_to_limit(const char *root, const char *app, uint64_t max_size,
                          struct recipe_merged *merged)
{
    uint64_t all;
    uint64_t recipes;
    measure(root, app, &all, &recipes);
    if (all <= max_size) {
        recipe_compact(root, app, NULL);
        return;
    }
    const uint64_t beside = all - recipes;
    const uint64_t room = max_size > beside ? max_size - beside : 0;
    const struct recipe_merge_limits limits = {.max_size =
                                                   room > max_size / 8 ? room : max_size / 8};
    struct recipe_compaction compaction;
    if (recipe_prune(root, app, &limits, false, &compaction) == REASON_ok) {
        merged->counts.too_many += compaction.counts.too_many;
    }
}

/* False after a message. */
static bool store(const char *root, const char *app, uint64_t max_size,
                  struct recipe_merged *merged)
{
    const enum reason reason = merged->size ? recipe_add(root, app, merged) : REASON_ok;
    if (reason != REASON_ok) {
        output_message("import: cannot write '%s/%s': %s (%s)", root, app, reason_text(reason),
                       reason_id(reason));
        return false;
    }
    keep_to_limit(root, app, max_size, merged);
    return true;
}

static int import(const struct arguments *arguments, const char *root, const char *app,
                  const struct recipe_segment *segment, struct recipe_judge *judge)
{
    struct config config;
    config_read(read_environment, &config);
    const uint64_t max_size = config.max_size;
    config_free(&config);
    const struct recipe_merge_input input = {.segment = segment};
    const struct recipe_merge_limits limits = {
        .max_size = max_size,
        .accepts = recipe_judge_accepts,
        .user = judge,
    };
    struct recipe_merged merged;
    const enum reason reason = recipe_merge(&input, 1, &limits, &merged);
    if (reason != REASON_ok) {
        output_message("import: %s", reason_text(reason));
        return EXIT_USAGE;
    }
    int status = EXIT_USAGE;
    if (arguments->values[OPTION_DRY_RUN] || store(root, app, max_size, &merged)) {
        struct output output;
        recipe_tool_name_damage("import", arguments->operands[0], &merged.counts);
        output_begin(&output, arguments->values[OPTION_JSON]);
        output_text(&output, "name", app);
        output_text(&output, "path", arguments->operands[0]);
        recipe_tool_show(&output, &merged);
        recipe_judge_show(judge, &output);
        status =
            output_end(&output, recipe_tool_is_finding(&merged.counts) ? EXIT_FINDING : EXIT_CLEAN);
    }
    recipe_merge_free(&merged);
    return status;
}

static int import_file(const struct arguments *arguments, const char *root, const char *app)
{
    struct recipe_segment segment;
    struct recipe_judge judge;
    int status = EXIT_USAGE;
    if (!recipe_tool_read("import", arguments->operands[0], &segment)) {
        return EXIT_USAGE;
    }
    if (recipe_judge_init(&judge)) {
        status = import(arguments, root, app, &segment, &judge);
        recipe_judge_free(&judge);
    } else {
        output_message("import: out of memory");
    }
    recipe_segment_close(&segment);
    return status;
}

static bool is_read_only(void)
{
    struct config config;
    config_read(read_environment, &config);
    const bool read_only = config.read_only;
    config_free(&config);
    return read_only;
}

static int run(const struct arguments *arguments)
{
    if (!arguments->values[OPTION_DRY_RUN] && is_read_only()) {
        output_message("import: %s (%s)", reason_text(REASON_read_only),
                       reason_id(REASON_read_only));
        return EXIT_USAGE;
    }
    char *root = inventory_new_root("import", arguments->values[OPTION_DIR]);
    return recipe_tool_run("import", arguments, root, arguments->values[OPTION_APP], import_file);
}

const struct verb verb_import = {
    .name = "import",
    .summary = "take in recipes from a file",
    .operands = "FILE",
    .description =
        "Adds the recipes in FILE to those of a program. FILE is not believed: every\n"
        "record is checked by its digest, forms and environments are decoded, SPIR-V is\n"
        "validated by SPIRV-Tools, and a pipeline counts only with all that it refers to.\n"
        "What does not pass is left out, counted and named. What does not fit into\n"
        "WARMPIPE_MAX_SIZE is left out, too, the least used first.\n\n"
        "Exit status: 0 all was taken, 1 something was left out, 2 FILE cannot be read.",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
