/* warmpipe prune: lets go of recipes that are not worth their room. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/config.h"
#include "disk/recipe_compact.h"
#include "disk/recipe_folder.h"
#include "inventory.h"
#include "recipe_tool.h"
#include "verb.h"

#define DAY_S 86400

enum { OPTION_APP, OPTION_DIR, OPTION_OLDER, OPTION_SIZE, OPTION_DRY_RUN, OPTION_JSON };

static const struct option_spec options[] = {
    [OPTION_APP] = {"app", 0, "NAME", "of this program only"},
    [OPTION_DIR] = {"dir", 0, "DIR", "the caches in DIR, not those that the settings name"},
    [OPTION_OLDER] = {"older-than", 0, "DAYS", "what was not used for so long: 90d, 12w"},
    [OPTION_SIZE] = {"max-size", 0, "SIZE", "of each program, the least used beyond: 200M"},
    [OPTION_DRY_RUN] = {"dry-run", 'n', NULL, "show what would go, and remove nothing"},
    [OPTION_JSON] = {"json", 0, NULL, "results as a JSON document"},
    {NULL, 0, NULL, NULL},
};

/* "90d", "12w". */
static bool parse_days(const char *text, uint32_t *ret_days)
{
    uint64_t days = 0;
    if (!isdigit((unsigned char)*text)) {
        return false;
    }
    for (; isdigit((unsigned char)*text) && days < UINT32_MAX; text++) {
        days = days * 10 + (uint64_t)(*text - '0');
    }
    days *= *text == 'w' ? 7 : 1;
    if ((*text != 'd' && *text != 'w') || text[1] || days > UINT32_MAX) {
        return false;
    }
    *ret_days = (uint32_t)days;
    return true;
}

/* False after a message. */
static bool parse_limits(const struct arguments *arguments, struct recipe_merge_limits *ret_limits)
{
    const char *older = arguments->values[OPTION_OLDER];
    const char *size = arguments->values[OPTION_SIZE];
    struct recipe_merge_limits limits = {.max_size = UINT64_MAX};
    uint32_t days = 0;
    if (older && !parse_days(older, &days)) {
        output_message("prune: '%s' is no time, as 90d or 12w", older);
        return false;
    }
    if (size && !config_parse_size(size, &limits.max_size)) {
        output_message("prune: '%s' is no size, as 200M or 2G", size);
        return false;
    }
    const uint32_t today = (uint32_t)(time(NULL) / DAY_S);
    limits.oldest_day = older && days < today ? today - days : 0;
    *ret_limits = limits;
    return true;
}

struct pruning {
    struct output output;
    const char *root;
    struct recipe_merge_limits limits;
    bool dry_run;
    bool found; /* something could not be looked at */
};

/* A folder without any may be anybody's: not even a lock is left there. */
static bool has_segments(const char *root, const char *app)
{
    int folder_fd;
    bool has = true; /* or what is wrong is to be told */
    if (recipe_folder_open(root, app, false, &folder_fd) == REASON_ok) {
        DIR *listing = listing_open(folder_fd, ".");
        if (listing) {
            has = recipe_folder_next_segment(listing);
            closedir(listing);
        }
        close(folder_fd);
    }
    return has;
}

static void prune_app(struct pruning *pruning, const char *app)
{
    struct recipe_compaction compaction;
    if (!has_segments(pruning->root, app)) {
        return;
    }
    struct output *output = &pruning->output;
    const enum reason reason =
        recipe_prune(pruning->root, app, &pruning->limits, pruning->dry_run, &compaction);
    if (reason == REASON_no_file) {
        return;
    }
    if (reason != REASON_ok) {
        output_message("prune: '%s': %s (%s)", app, reason_text(reason), reason_id(reason));
        pruning->found = true;
        return;
    }
    output_open(output, NULL, OUTPUT_ROW);
    output_text(output, "name", app);
    output_size(output, "before", compaction.bytes_before + compaction.bytes_beside);
    output_size(output, "after", compaction.bytes_after + compaction.bytes_beside);
    output_number(output, "pipelines", compaction.counts.pipelines);
    output_number(output, "old", compaction.counts.old_uses);
    output_number(output, "beyond_size", compaction.counts.too_many);
    output_number(output, "damaged", compaction.counts.damaged + compaction.counts.incomplete);
    output_close(output);
}

static int prune(const struct arguments *arguments, const char *root,
                 const struct inventory_apps *apps)
{
    struct pruning pruning = {.root = root, .dry_run = arguments->values[OPTION_DRY_RUN]};
    if (!parse_limits(arguments, &pruning.limits)) {
        return EXIT_USAGE;
    }
    output_begin(&pruning.output, arguments->values[OPTION_JSON]);
    output_open(&pruning.output, "programs", OUTPUT_TABLE);
    for (size_t i = 0; i < apps->count; i++) {
        prune_app(&pruning, apps->names[i]);
    }
    output_close(&pruning.output);
    return output_end(&pruning.output, pruning.found ? EXIT_FINDING : EXIT_CLEAN);
}

static int run(const struct arguments *arguments)
{
    int status = EXIT_USAGE;
    struct inventory_apps apps = {0};
    char *root = inventory_root("prune", arguments->values[OPTION_DIR]);
    if (root && inventory_select("prune", root, arguments->values[OPTION_APP], &apps)) {
        status = prune(arguments, root, &apps);
    }
    inventory_apps_free(&apps);
    free(root);
    return status;
}

const struct verb verb_prune = {
    .name = "prune",
    .summary = "let go of recipes that are old or little used",
    .operands = "",
    .description =
        "Removes recipes by age and size, with the SPIR-V and the objects that nothing\n"
        "else refers to, and what is damaged. Beyond --max-size those go first that were\n"
        "used on the fewest days. One line a program. What belongs to programs that run\n"
        "stays, and so do the caches of drivers.\n\n"
        "Exit status: 0 done, 1 of a program it could not be done, 2 wrong usage.",
    .options = options,
    .min_operands = 0,
    .max_operands = 0,
    .run = run,
};
