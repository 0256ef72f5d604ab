// SPDX-License-Identifier: Apache-2.0
/* warmpipe export, import and merge: a program's recipes as one file, and back; one of several. */
#include <stdlib.h>
#include <unistd.h>

#include "common/base/digest.h"
#include "common/blobs/identity_files.h"
#include "common/files/file.h"
#include "common/files/names.h"
#include "common/quota/quota.h"
#include "common/settings/config.h"
#include "tools/cli/inventory.h"
#include "tools/recipes/recipe_tool.h"

static const struct option_spec export_options[] = {
    {"app", 0, "NAME", "of this program; needed if there are several"},
    {"dir", 0, "DIR", "the caches in DIR, not those that the settings name"},
    {"json", 0, NULL, "results as a JSON document"},
    {NULL, 0, NULL, NULL},
};

/* Merges all segments of the program, also those of running processes. False after a message. */
static bool merge_program(const char *root, const char *app, int *folder_fd,
                          struct recipe_sources *sources, struct recipe_merged *ret_merged)
{
    enum status reason = recipe_tool_open_all(root, app, folder_fd, sources);
    if (reason == STATUS_ok) {
        const struct recipe_merge_limits limits = {.max_size = UINT64_MAX};
        reason = recipe_merge(sources->inputs, sources->count, &limits, ret_merged);
    }
    const bool has_none = reason == STATUS_no_file || (reason == STATUS_ok && !ret_merged->size);
    if (has_none) {
        output_message("there are no recipes of '%s'%s in '%s'", app,
                       sources->unopened > 0 ? " that can be read" : "", root);
    } else if (reason != STATUS_ok) {
        output_reason(reason, "'%s/%s'", root, app);
    }
    return reason == STATUS_ok && !has_none;
}

/* Shows the file that was written, unless that is standard output. `app`: of a program, whose
 * segments those are that could not be opened; NULL: of files. Gives the exit status. */
static int show_written(const struct arguments *arguments, const char *app,
                        const struct recipe_sources *sources, const struct recipe_merged *merged)
{
    const bool is_all = sources->unopened == 0 && !recipe_tool_is_finding(&merged->counts);
    const int status = is_all ? EXIT_CLEAN : EXIT_FINDING;
    struct output output;
    if (output_file_is_standard(arguments->operands[0])) {
        return status;
    }
    output_begin(&output, arguments->json);
    if (app) {
        output_text(&output, "name", app);
    }
    output_text(&output, "path", arguments->operands[0]);
    recipe_tool_show(&output, merged);
    if (app) {
        output_number(&output, "unreadable_files", sources->unopened);
    }
    return output_end(&output, status);
}

static int export_app(const struct arguments *arguments, const char *root, const char *app)
{
    AUTO_CLOSE int folder_fd = -1;
    AUTO(recipe_sources_close) struct recipe_sources sources = {.lock_fd = -1};
    AUTO(recipe_merge_free) struct recipe_merged merged = {0};
    if (!merge_program(root, app, &folder_fd, &sources, &merged) ||
        !output_file_write(arguments->operands[0], merged.parts, (int)merged.part_count)) {
        return EXIT_USAGE;
    }
    recipe_tool_name_damage(app, merged.counts.damaged);
    return show_written(arguments, app, &sources, &merged);
}

static int export_run(const struct arguments *arguments)
{
    char *root = inventory_root(arguments);
    return recipe_tool_run(arguments, root, export_app);
}

const struct verb verb_export = {
    .name = "export",
    .doing = "merging the recipes",
    .summary = "write a program's recipes to a file",
    .operands = "FILE",
    .description =
        "Writes what the program has asked for, in all its runs, to FILE: its SPIR-V, its\n"
        "create-infos, and when and how often they were used. Nothing in it depends on\n"
        "the driver, so it can be shipped with the program: 'warmpipe import' takes it,\n"
        "'warmpipe warm --app NAME FILE' builds a cache of it. Damaged records are left\n"
        "out.\n\n"
        "Exit status: 0 all was written, 1 something had to be left out, 2 no FILE.",
    .options = export_options,
    .min_operands = 1,
    .max_operands = 1,
    .run = export_run,
};

static const struct option_spec import_options[] = {
    {"app", 0, "NAME", "for this program; needed unless there is just one"},
    {"dir", 0, "DIR", "the caches in DIR, not those that the settings name"},
    {"dry-run", 'n', NULL, "check FILE, and take nothing"},
    {"json", 0, NULL, "results as a JSON document"},
    {NULL, 0, NULL, NULL},
};

/* As the layer does (quota.h): recipes give way to caches, but keep an eighth. What is removed
 * counts as left out. */
static void import_keep_to_limit(const char *root, const char *app, uint64_t max_size,
                                 struct recipe_merged *merged)
{
    AUTO_CLOSE int folder_fd = -1;
    AUTO(usage_free) struct usage usage = {0};
    size_t entries = SIZE_MAX;
    if (file_open_directory(root, app, false, &folder_fd) == STATUS_ok) {
        usage_read(folder_fd, &entries, &usage);
    }
    if (usage_bytes(&usage) <= max_size) {
        recipe_compact(root, app, NULL);
        return;
    }
    const uint64_t beside = usage_bytes(&usage) - usage.recipe_bytes;
    const uint64_t room = max_size > beside ? max_size - beside : 0;
    const struct recipe_merge_limits limits = {.max_size =
                                                   room > max_size / 8 ? room : max_size / 8};
    struct recipe_compaction compaction;
    if (recipe_prune(root, app, &limits, false, &compaction) == STATUS_ok) {
        merged->counts.too_many += compaction.counts.too_many;
    }
}

/* The caches that are there lack what is new: `warm` compiles it, or the program's next start. */
static void import_note_unfinished(const char *root, const char *app)
{
    AUTO_CLOSE int folder_fd = -1;
    if (file_open_directory(root, app, false, &folder_fd) != STATUS_ok) {
        return;
    }
    AUTO_LISTING DIR *listing = listing_open(folder_fd, ".");
    char identity[DIGEST_HEX_SIZE];
    const char *name;
    while (listing && (name = listing_next(listing))) {
        if (names_classify(name, identity) == NAME_CACHE) {
            unfinished_set(folder_fd, identity, true);
        }
    }
}

/* False after a message. */
static bool store_import(const char *root, const char *app, uint64_t max_size,
                         struct recipe_merged *merged)
{
    const enum status reason = merged->size ? recipe_add(root, app, merged) : STATUS_ok;
    if (reason != STATUS_ok) {
        output_reason(reason, "cannot write '%s/%s'", root, app);
        recipe_tool_remove_empty(root, app);
        return false;
    }
    import_keep_to_limit(root, app, max_size, merged);
    return true;
}

/* By environment and pipeline, as recipes_uses sorts them. */
static int import_order_uses(const void *left, const void *right)
{
    const struct recipe_use *a = left;
    const struct recipe_use *b = right;
    const int order = digest_compare(a->environment, b->environment);
    return order ? order : digest_compare(a->pipeline, b->pipeline);
}

/* What of the merge the program has not got yet. */
struct import_news {
    uint64_t pipelines; /* no recipe of them is there */
    bool any;           /* of uses, too: another device, a later day */
};

static struct import_news import_compare_uses(const struct recipes *recipes,
                                              const struct recipe_uses *uses)
{
    struct import_news news = {.any = uses->failed};
    AUTO_FREE struct digest *fresh = calloc(uses->count + 1, sizeof *fresh);
    const struct recipe_use *known;
    const size_t known_count = recipes_uses(recipes, &known);
    for (size_t i = 0; fresh && i < uses->count; i++) {
        const struct recipe_use *use = &uses->uses[i];
        const struct recipe_use *found =
            known_count ? bsearch(use, known, known_count, sizeof *known, import_order_uses) : NULL;
        const bool is_there = recipes_have(recipes, RECIPE_FORM, use->pipeline);
        news.any |= !is_there || !found || found->last_day < use->last_day;
        if (!is_there) {
            fresh[news.pipelines++] = use->pipeline;
        }
    }
    news.any |= !fresh;
    news.pipelines = digest_sort(fresh, news.pipelines);
    return news;
}

static struct import_news import_compare(const char *root, const char *app,
                                         const struct recipe_merged *merged)
{
    struct import_news news = {.pipelines = merged->counts.pipelines, .any = merged->size > 0};
    struct recipe_segment segment;
    struct recipes *recipes = recipe_tool_open(root, app);
    uint8_t *data = recipes && news.any ? recipe_tool_join(merged) : NULL;
    if (data && recipe_segment_take(data, (size_t)merged->size, &segment) == STATUS_ok) {
        AUTO(recipe_uses_free) struct recipe_uses uses = {0};
        recipe_segment_add_uses(&segment, &uses);
        news = import_compare_uses(recipes, &uses);
        recipe_segment_close(&segment);
    }
    recipes_close(recipes);
    return news;
}

static int import_segment(const struct arguments *arguments, const char *root, const char *app,
                          const struct recipe_segment *segment, struct recipe_judge *judge)
{
    AUTO(config_free) struct config config;
    config_read(config_environment, &config);
    const uint64_t max_size = config.max_size;
    const struct recipe_merge_input input = {.segment = segment};
    struct recipe_merge_limits limits = recipe_judge_limits(judge, max_size);
    AUTO(recipe_merge_free) struct recipe_merged merged = {0};
    limits.foreign = true;
    const enum status reason = recipe_merge(&input, 1, &limits, &merged);
    if (reason != STATUS_ok) {
        output_message("%s", status_text(reason));
        return EXIT_USAGE;
    }
    const bool dry_run = options_value(arguments, "dry-run");
    const struct import_news news = import_compare(root, app, &merged);
    if (!dry_run && news.any && !store_import(root, app, max_size, &merged)) {
        return EXIT_USAGE;
    }
    if (!dry_run && news.pipelines > 0) {
        import_note_unfinished(root, app);
    }
    recipe_tool_name_damage(arguments->operands[0], merged.counts.damaged);
    if (merged.counts.pipelines == 0) {
        output_message("no pipelines in '%s'", arguments->operands[0]);
    } else if (!news.any) {
        output_message("nothing is new: '%s' has all that '%s' holds", app, arguments->operands[0]);
    }
    struct output output;
    output_begin(&output, arguments->json);
    output_text(&output, "name", app);
    output_text(&output, "path", arguments->operands[0]);
    recipe_tool_show(&output, &merged);
    output_number(&output, "new_pipelines", news.pipelines);
    recipe_judge_show(judge, &output);
    return output_end(&output, recipe_tool_is_finding(&merged.counts) ? EXIT_FINDING : EXIT_CLEAN);
}

static int import_file(const struct arguments *arguments, const char *root, const char *app)
{
    struct recipe_segment segment;
    struct recipe_judge judge;
    int status = EXIT_USAGE;
    if (!recipe_tool_read(arguments->operands[0], &segment)) {
        return EXIT_USAGE;
    }
    if (recipe_judge_init(&judge)) {
        status = import_segment(arguments, root, app, &segment, &judge);
        recipe_judge_free(&judge);
    } else {
        output_message("out of memory");
    }
    recipe_segment_close(&segment);
    return status;
}

static int import_run(const struct arguments *arguments)
{
    if (!options_value(arguments, "dry-run") && inventory_is_read_only()) {
        return EXIT_USAGE;
    }
    char *root = inventory_new_root(arguments);
    return recipe_tool_run(arguments, root, import_file);
}

const struct verb verb_import = {
    .name = "import",
    .doing = "checking the recipes",
    .summary = "take in recipes from a file",
    .operands = "FILE",
    .description =
        "Adds the recipes in FILE (-: standard input) to those of a program. FILE is not\n"
        "believed: every record is checked by its digest, forms and environments are\n"
        "decoded, SPIR-V is validated by SPIRV-Tools, and a pipeline counts only with all\n"
        "that it refers to and where form, code and layouts fit each other. How long it\n"
        "took to compile is not taken over.\n"
        "What does not pass is left out, counted and named. What does not fit into\n"
        "WARMPIPE_MAX_SIZE is left out, too, the least used first.\n\n"
        "Exit status: 0 all was taken, 1 something was left out, 2 FILE cannot be read.",
    .options = import_options,
    .min_operands = 1,
    .max_operands = 1,
    .run = import_run,
};

static const struct option_spec merge_options[] = {
    VERB_JSON_OPTION,
    {NULL, 0, NULL, NULL},
};

static bool merge_read_files(char **paths, size_t count, struct recipe_sources *ret_files)
{
    if (!recipe_tool_sources(count, ret_files)) {
        output_message("out of memory");
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        struct recipe_segment segment;
        if (!recipe_tool_read(paths[i], &segment)) {
            return false;
        }
        recipe_tool_add(ret_files, &segment);
    }
    return true;
}

static int merge_write(const struct arguments *arguments, const struct recipe_sources *files)
{
    const struct recipe_merge_limits limits = {.max_size = RECIPES_MAX_FILE, .foreign = true};
    AUTO(recipe_merge_free) struct recipe_merged merged = {0};
    const enum status reason = recipe_merge(files->inputs, files->count, &limits, &merged);
    if (reason != STATUS_ok) {
        output_message("%s", status_text(reason));
        return EXIT_USAGE;
    }
    int status = EXIT_USAGE;
    const char *path = arguments->operands[0];
    for (size_t i = 0; i < files->count; i++) {
        recipe_tool_name_damage(arguments->operands[i + 1],
                                recipe_segment_damaged(files->inputs[i].segment));
    }
    if (merged.size == 0) {
        output_message("no pipelines in these files; '%s' is not written", path);
    } else if (output_file_write(path, merged.parts, (int)merged.part_count)) {
        status = show_written(arguments, NULL, files, &merged);
    }
    return status;
}

static int merge_run(const struct arguments *arguments)
{
    AUTO(recipe_sources_close) struct recipe_sources files = {.lock_fd = -1};
    const size_t count = (size_t)arguments->operand_count - 1;
    return merge_read_files(arguments->operands + 1, count, &files) ? merge_write(arguments, &files)
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
