// SPDX-License-Identifier: Apache-2.0
/* warmpipe list and stats: what is kept, and what was counted, by program. */
#include <stdlib.h>
#include <time.h>

#include "common/driver/vulkan_names.h"
#include "common/files/program.h"
#include "tools/cli/inventory.h"
#include "tools/cli/output.h"
#include "tools/cli/verb.h"
#include "tools/recipes/recipe_tool.h"

static const struct option_spec list_options[] = {
    VERB_PROGRAM_OPTIONS,
    VERB_JSON_OPTION,
    {"verbose", 'v', NULL, "also the digest that names the files"},
    {NULL, 0, NULL, NULL},
};

static const struct option_spec stats_options[] = {
    VERB_PROGRAM_OPTIONS,
    VERB_JSON_OPTION,
    {"zero", 'z', NULL, "reset the counters"},
    {NULL, 0, NULL, NULL},
};

struct list {
    struct output output;
    struct recipes *counts; /* of the current program */
    bool told;              /* of it, that it is damaged */
    bool verbose;
    bool found; /* something is damaged */
};

/* Tells why recipes of a program could not be read, where that was; then true. opened: the result
 * of opening them. To be called when they have been counted. */
static bool list_has_unread(const char *app, const struct recipes *recipes, enum status opened)
{
    const enum status reason = recipes ? recipes_damage(recipes).reason : opened;
    const bool is_damage = inventory_is_damage(reason);
    if (is_damage) {
        output_reason(reason, "recipes of '%s'", app);
        output_note_error();
    }
    return is_damage;
}

static void list_show_item(const struct inventory_item *item, void *user)
{
    struct list *list = user;
    struct output *output = &list->output;
    char driver[VULKAN_DRIVER_SIZE] = "";
    if (item->identified) {
        vulkan_driver_words(&item->identity, driver);
    }
    output_open(output, NULL, OUTPUT_ROW);
    output_text(output, "name", item->app);
    output_text(output, "device", item->identified ? item->identity.device_name : "");
    output_text(output, "driver", driver);
    output_number(
        output, "pipelines",
        recipe_tool_count_pipelines(list->counts, item->identified ? &item->identity : NULL));
    output_size(output, "size", item->bytes);
    output_size(output, "recipes", item->recipe_bytes);
    if (item->last_use < 0) { /* unknown, or by a clock that was wrong */
        output_text(output, "last_use", "");
    } else {
        output_time(output, "last_use", (uint64_t)(item->last_use / 1000000000));
    }
    if (list->verbose) {
        output_text(output, "identity", item->digest);
    }
    output_text(output, "state", item->reason == STATUS_ok ? "ok" : status_id(item->reason));
    output_close(output);
    if (inventory_is_damage(item->reason)) {
        output_reason(item->reason, "'%s'", item->app);
        output_note_error();
        list->told = true;
    }
}

static int list_programs(const struct arguments *arguments, const char *root,
                         const struct inventory_apps *apps)
{
    struct list list = {.verbose = options_value(arguments, "verbose")};
    bool any = false;
    output_begin(&list.output, arguments->json);
    output_open(&list.output, "programs", OUTPUT_TABLE);
    for (size_t i = 0; i < apps->count; i++) {
        list.told = false;
        list.counts = NULL;
        const enum status opened =
            recipes_open(root, apps->list[i].name, RECIPES_READ, &list.counts);
        any |= inventory_visit(root, apps->list[i].name, list_show_item, &list);
        /* The first reason is told: most often it is that of the folder. */
        list.found |= list.told || list_has_unread(apps->list[i].name, list.counts, opened);
        recipes_close(list.counts);
    }
    output_close(&list.output);
    const int status = list.found ? EXIT_FINDING : EXIT_CLEAN;
    return output_end(&list.output, any ? status : inventory_tell_nothing(root, apps));
}

struct stats_program {
    const char *name;
    struct program_facts facts;
    uint64_t saved_ns;
};

struct stats {
    struct stats_program *programs;
    size_t count;
    bool found; /* something is damaged */
};

/* A pipeline that was not compiled would have taken the mean compile time of the recipes, or,
 * without recipes, of the misses. */
static uint64_t stats_estimate_saved_ns(const struct program_counters *counters,
                                        uint64_t compile_ns)
{
    double mean = (double)compile_ns;
    if (compile_ns == 0 && counters->driver_misses > 0) {
        mean = (double)counters->compile_ns / (double)counters->driver_misses;
    }
    const double cold = mean * ((double)counters->shared + (double)counters->driver_hits);
    const double spent = (double)counters->create_ns - (double)counters->compile_ns;
    return cold > spent ? (uint64_t)(cold - spent) : 0;
}

static void stats_read_program(struct stats *stats, const char *root, const char *app, bool zero)
{
    struct stats_program *program = &stats->programs[stats->count];
    *program = (struct stats_program){.name = app};
    enum status reason = zero ? program_zero(root, app, (uint64_t)time(NULL)) : STATUS_ok;
    if (reason == STATUS_ok) {
        reason = program_load(root, app, &program->facts);
    }
    if (reason != STATUS_ok && reason != STATUS_no_file) {
        output_reason(reason, "'%s'", app);
        output_note_error();
        stats->found = true;
    } else if (program->facts.since != 0) {
        struct recipes *counts = NULL;
        const enum status opened = recipes_open(root, app, RECIPES_READ, &counts);
        program->saved_ns =
            stats_estimate_saved_ns(&program->facts.counters, recipe_tool_compile_ns(counts));
        stats->found |= list_has_unread(app, counts, opened);
        recipes_close(counts);
        stats->count++;
    }
}

/* with_pulled: as columns that most users have no use for, in text only where something was pulled.
 */
static void stats_show_counters(struct output *output, const struct stats_program *program,
                                bool with_pulled)
{
    if (program->facts.since > 0) {
        output_time(output, "since", program->facts.since);
    } else {
        output_text(output, "since", "");
    }
    inventory_show_counters(output, &program->facts.counters);
    output_duration(output, "saved", program->saved_ns);
    if (with_pulled) {
        output_number(output, "pulled", program->facts.counters.pulled);
        output_size(output, "pulled_bytes", program->facts.counters.pulled_bytes);
        output_duration(output, "pulled_saved", program->facts.counters.pulled_ns);
    }
}

static void stats_show(struct output *output, const struct stats *stats, bool json)
{
    struct stats_program total = {0};
    for (size_t i = 0; i < stats->count; i++) {
        const struct stats_program *program = &stats->programs[i];
        const bool is_first = total.facts.since == 0 || program->facts.since < total.facts.since;
        total.facts.since = is_first ? program->facts.since : total.facts.since;
        total.saved_ns += program->saved_ns;
        program_counters_add(&total.facts.counters, &program->facts.counters);
    }
    const bool with_pulled = json || total.facts.counters.pulled > 0;
    output_open(output, "total", OUTPUT_GROUP);
    output_number(output, "programs", stats->count);
    stats_show_counters(output, &total, with_pulled);
    output_close(output);
    output_open(output, "programs", OUTPUT_TABLE);
    for (size_t i = 0; i < stats->count; i++) {
        output_open(output, NULL, OUTPUT_ROW);
        output_text(output, "name", stats->programs[i].name);
        stats_show_counters(output, &stats->programs[i], with_pulled);
        output_close(output);
    }
    output_close(output);
}

static int stats_programs(const struct arguments *arguments, const char *root,
                          const struct inventory_apps *apps)
{
    const bool zero = options_value(arguments, "zero");
    if (zero && inventory_is_read_only()) {
        return EXIT_USAGE;
    }
    struct stats stats = {.programs = calloc(apps->count + 1, sizeof *stats.programs)};
    for (size_t i = 0; stats.programs && i < apps->count; i++) {
        stats_read_program(&stats, root, apps->list[i].name, zero);
    }
    struct output output;
    output_begin(&output, arguments->json);
    if (stats.count > 0 || arguments->json) {
        stats_show(&output, &stats, arguments->json);
    } else {
        output_message("nothing counted yet in '%s'", root);
    }
    free(stats.programs);
    return output_end(&output, stats.found ? EXIT_FINDING : EXIT_CLEAN);
}

const struct verb verb_list = {
    .name = "list",
    .doing = "reading",
    .summary = "list what is kept, by program and device",
    .description =
        "Prints one line for each program, driver and device that something is kept for:\n"
        "the pipelines that the program has asked for on that device, the size of the\n"
        "driver's cache data, that of the program's recipes, and one of these states:\n\n"
        "  ok           the next start can use it, as far as its header tells\n"
        "  no_file      there is no cache yet, or none worth keeping\n"
        "  suspect      a process died in the driver with the cache: skipped once\n"
        "  quarantined  it happened again: put away\n\n"
        "or the reason why it is not used; 'warmpipe verify' checks every byte.\n\n"
        "Exit status: 0 fine, 1 something is damaged, 2 no such program or directory.",
    .options = list_options,
    .programs = list_programs,
    .tells_obstacles = true,
};

const struct verb verb_stats = {
    .name = "stats",
    .doing = "reading",
    .summary = "show how many pipelines were requested, shared and hit",
    .description =
        "Shows the counters of all programs together and of each, over all their starts:\n"
        "pipelines requested; of these, answered with one that was alive (shared), found\n"
        "by the driver in its cache (hits) or compiled (misses); compiled ahead of the\n"
        "program; the time spent in pipeline creation; and the time saved, estimated from\n"
        "the compile times in the recipes. A driver that does not report hits counts\n"
        "neither hits nor misses. Of what was pulled from a remote: how much, and what it\n"
        "took to compile elsewhere, where there was nothing here.\n\n"
        "Exit status: 0 fine, 1 a file is damaged, 2 no such program or directory.",
    .options = stats_options,
    .programs = stats_programs,
};
