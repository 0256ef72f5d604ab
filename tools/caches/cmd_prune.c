// SPDX-License-Identifier: Apache-2.0
/* warmpipe prune and clear: remove recipes that are not worth their room, or all that is kept. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/text.h"
#include "common/files/file.h"
#include "common/quota/quota.h"
#include "common/recipes/merge.h"
#include "common/recipes/recipes.h"
#include "common/settings/config.h"
#include "tools/cli/inventory.h"
#include "tools/cli/output.h"
#include "tools/cli/verb.h"
#include "tools/recipes/recipe_tool.h"

#define DAY_S 86400

static const struct option_spec prune_options[] = {
    VERB_PROGRAM_OPTIONS,
    VERB_DRY_RUN_OPTION,
    VERB_JSON_OPTION,
    {"older-than", 0, "DAYS", "remove what was not used for so long (90, 90d, 12w)"},
    {"max-size", 0, "SIZE", "keep so much of each program (200M), the most used"},
    {NULL, 0, NULL, NULL},
};

static const struct option_spec clear_options[] = {
    VERB_PROGRAM_OPTIONS,  VERB_DRY_RUN_OPTION, VERB_JSON_OPTION, {"yes", 'y', NULL, "do not ask"},
    {NULL, 0, NULL, NULL},
};

/* "90d", "90", "12w". */
static bool prune_parse_days(const char *text, uint32_t *ret_days)
{
    uint64_t days;
    if (!text_parse_digits(&text, UINT32_MAX, &days)) {
        return false;
    }
    days *= *text == 'w' ? 7 : 1;
    text += *text == 'w' || *text == 'd';
    if (*text || days > UINT32_MAX) {
        return false;
    }
    *ret_days = (uint32_t)days;
    return true;
}

/* False after a message. */
static bool prune_parse_limits(const struct arguments *arguments,
                               struct recipe_merge_limits *ret_limits)
{
    const char *older = options_value(arguments, "older-than");
    const char *size = options_value(arguments, "max-size");
    struct recipe_merge_limits limits = {.max_size = UINT64_MAX};
    uint32_t days = 0;
    if (older && !prune_parse_days(older, &days)) {
        output_message("invalid duration '%s' (for example 90d, 12w)", older);
        return false;
    }
    const bool is_size = !size || config_parse_size(size, &limits.max_size);
    /* "200" was hardly meant to be bytes, for then nothing is left; "0" was. */
    const bool lacks_unit =
        limits.max_size > 0 && limits.max_size < 1024 && size[strspn(size, "0123456789")] == '\0';
    if (!is_size || lacks_unit) {
        output_message("invalid size '%s' (for example 200M, 2G; 1K or more, or 0)", size);
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
    bool found; /* a program could not be pruned */
    bool any;   /* a program has recipes */
};

/* A folder without recipes may be anybody's: not even a lock file is left there. */
static bool prune_has_segments(const char *root, const char *app)
{
    AUTO_CLOSE int folder_fd = -1;
    if (recipe_folder_open(root, app, false, &folder_fd) != STATUS_ok) {
        return true; /* recipe_prune tells what is wrong */
    }
    AUTO_LISTING DIR *listing = listing_open(folder_fd, ".");
    return !listing || recipe_folder_next_segment(listing);
}

static void prune_app(struct pruning *pruning, const char *app)
{
    struct recipe_compaction compaction;
    if (!prune_has_segments(pruning->root, app)) {
        return;
    }
    struct output *output = &pruning->output;
    const enum status reason =
        recipe_prune(pruning->root, app, &pruning->limits, pruning->dry_run, &compaction);
    if (reason == STATUS_no_file) {
        return;
    }
    pruning->any = true;
    if (reason != STATUS_ok) {
        output_reason(reason, "'%s'", app);
        output_note_error();
        pruning->found = true;
        return;
    }
    if (!pruning->dry_run && !prune_has_segments(pruning->root, app)) {
        recipe_tool_remove_empty(pruning->root, app); /* and the program's, if it is empty then */
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

static int prune_programs(const struct arguments *arguments, const char *root,
                          const struct inventory_apps *apps)
{
    struct pruning pruning = {.root = root, .dry_run = options_value(arguments, "dry-run")};
    if (!prune_parse_limits(arguments, &pruning.limits) ||
        (!pruning.dry_run && inventory_is_read_only())) {
        return EXIT_USAGE;
    }
    output_begin(&pruning.output, arguments->json);
    output_open(&pruning.output, "programs", OUTPUT_TABLE);
    for (size_t i = 0; i < apps->count; i++) {
        prune_app(&pruning, apps->list[i].name);
    }
    output_close(&pruning.output);
    if (!pruning.any) {
        output_message("no recipes in '%s'", root);
    }
    return output_end(&pruning.output, pruning.found ? EXIT_FINDING : EXIT_CLEAN);
}

struct clearing {
    struct output output;
    const char *root;
    int root_fd;
    bool dry_run;
    bool found; /* something could not be removed */
    bool any;   /* a folder was one of ours */
};

/* Removes everything of ours in the folder. Gives the bytes removed. */
static uint64_t clear_contents(int folder_fd, const struct usage *usage, bool *all)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < usage->count; i++) {
        uint64_t removed = 0;
        *all &= evict_identity(folder_fd, usage->identities[i].identity, INT64_MAX, &removed);
        bytes += removed;
    }
    bool locked = false;
    evict_temporaries(folder_fd);
    bytes += evict_rest(folder_fd, INT64_MAX, usage->count > 0 || usage->recipe_bytes > 0, &locked);
    *all &= !locked;
    return bytes;
}

/* Why a folder that was cleared is not empty: what is in it still is ours and cannot be removed, or
 * others have made it. */
static const char *clear_leftover(int folder_fd)
{
    AUTO(usage_free) struct usage usage = {0};
    size_t entries = SIZE_MAX;
    return usage_read(folder_fd, &entries, &usage) == STATUS_ok && usage_bytes(&usage) > 0
               ? status_id(STATUS_unreadable)
               : "foreign_files";
}

/* Gives why the folder stays; "": it is removed, or would be; NULL: it is not ours. */
static const char *clear_folder(struct clearing *clearing, const char *app, uint64_t *ret_bytes)
{
    AUTO_CLOSE int folder_fd = -1;
    AUTO(usage_free) struct usage usage = {0};
    size_t entries = SIZE_MAX;
    enum status reason = file_open_directory(clearing->root, app, false, &folder_fd);
    if (reason == STATUS_ok) {
        reason = usage_read(folder_fd, &entries, &usage);
    }
    if (reason != STATUS_ok) {
        return status_id(reason);
    }
    const char *left = inventory_is_ours(folder_fd, &usage) ? "" : NULL;
    *ret_bytes = usage_bytes(&usage);
    if (left && !clearing->dry_run && faccessat(folder_fd, ".", W_OK, AT_EACCESS) != 0) {
        left = status_id(status_from_errno(errno));
        *ret_bytes = 0;
    } else if (left && !clearing->dry_run) {
        bool all = true;
        *ret_bytes = clear_contents(folder_fd, &usage, &all);
        if (unlinkat(clearing->root_fd, app, AT_REMOVEDIR) != 0) {
            left = !all                                    ? status_id(STATUS_locked)
                   : errno == ENOTEMPTY || errno == EEXIST ? clear_leftover(folder_fd)
                                                           : status_id(status_from_errno(errno));
        }
    }
    return left;
}

static void clear_app(struct clearing *clearing, const char *app)
{
    struct output *output = &clearing->output;
    uint64_t bytes = 0;
    const char *left = clear_folder(clearing, app, &bytes);
    if (!left) {
        return;
    }
    clearing->any = true;
    output_open(output, NULL, OUTPUT_ROW);
    output_text(output, "name", app);
    output_size(output, "size", bytes);
    output_text(output, "state", *left ? left : clearing->dry_run ? "would go" : "removed");
    output_close(output);
    clearing->found |= *left != '\0';
}

/* False: the answer is no, or there is no terminal, after a message. */
static bool clear_confirm(const char *root, const struct inventory_apps *apps)
{
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
        output_message("not a terminal; use --yes");
        return false;
    }
    fprintf(stderr, "warmpipe: clear: remove the data of ");
    if (apps->count == 1) {
        fprintf(stderr, "'%s'", apps->list[0].name);
    } else {
        fprintf(stderr, "%zu programs", apps->count);
    }
    fprintf(stderr, " in '%s'? [y/N] ", root);
    char answer[16];
    return fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

static int clear_programs(const struct arguments *arguments, const char *root,
                          const struct inventory_apps *apps)
{
    const bool dry_run = options_value(arguments, "dry-run");
    if (!dry_run && (inventory_is_read_only() || (!options_value(arguments, "yes") &&
                                                  apps->count > 0 && !clear_confirm(root, apps)))) {
        return EXIT_USAGE;
    }
    struct clearing clearing = {
        .root = root,
        .root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
        .dry_run = dry_run,
    };
    progress_begin("clear", "removing"); /* not before the question */
    output_begin(&clearing.output, arguments->json);
    output_open(&clearing.output, "programs", OUTPUT_TABLE);
    for (size_t i = 0; i < apps->count; i++) {
        clear_app(&clearing, apps->list[i].name);
    }
    output_close(&clearing.output);
    if (clearing.root_fd >= 0) {
        if (!clearing.dry_run && !options_value(arguments, "app") && !clearing.found) {
            quota_forget(clearing.root_fd);
            /* The default folder was made by the layer; one that was named may be a volume. */
            if (!options_value(arguments, "dir") && !getenv("WARMPIPE_DIR")) {
                rmdir(root);
            }
        }
        close(clearing.root_fd);
    }
    const int status = clearing.found ? EXIT_FINDING : EXIT_CLEAN;
    return output_end(&clearing.output, clearing.any ? status : inventory_tell_nothing(root, apps));
}

const struct verb verb_prune = {
    .name = "prune",
    .doing = "merging the recipes",
    .summary = "remove recipes that are old or little used",
    .description =
        "Removes recipes by age and size, with the SPIR-V and the objects that no other\n"
        "recipe needs, and what is damaged. With --max-size, recipes that were used on\n"
        "the fewest days are removed first. Prints one line for each program. Recipes\n"
        "that running programs are writing stay, and so do the drivers' caches. Where\n"
        "nothing is removed a folder may grow a little: by the index of what is merged.\n\n"
        "Exit status: 0 done, 1 a program could not be pruned, 2 wrong usage.",
    .options = prune_options,
    .programs = prune_programs,
};

const struct verb verb_clear = {
    .name = "clear",
    .summary = "remove all that is kept",
    .description =
        "Removes caches, recipes, counters and quarantined files of all programs or of\n"
        "one, with the programs' folders. Asks first, unless --yes is given. Running\n"
        "programs are not disturbed: what they are saving at that moment stays (state\n"
        "'locked'), and so do files that warmpipe has not made (state 'foreign_files').\n\n"
        "Exit status: 0 all is removed, 1 something stays, 2 not done.",
    .options = clear_options,
    .programs = clear_programs,
};
