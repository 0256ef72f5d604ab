/* warmpipe stats: what was asked for, what it cost and what it would have cost. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "disk/program.h"
#include "inventory.h"
#include "output.h"
#include "recipe_counts.h"
#include "verb.h"

enum { OPTION_APP, OPTION_DIR, OPTION_ZERO, OPTION_JSON };

static const struct option_spec options[] = {
    [OPTION_APP] = {"app", 0, "NAME", "of this program only"},
    [OPTION_DIR] = {"dir", 0, "DIR", "the caches in DIR, not those that the settings name"},
    [OPTION_ZERO] = {"zero", 'z', NULL, "begin to count anew"},
    [OPTION_JSON] = {"json", 0, NULL, "results as a JSON document"},
    {NULL, 0, NULL, NULL},
};

struct program {
    const char *name;
    struct program_facts facts;
    uint64_t saved_ns;
};

struct all {
    struct program *programs;
    size_t count;
    bool found; /* something is damaged */
};

/* What was not compiled would have taken as long, on average, as the recipes say of what was; or,
 * without recipes, as the misses took. */
static uint64_t estimate_saved_ns(const struct program_counters *counters, uint64_t compile_ns)
{
    double mean = (double)compile_ns;
    if (compile_ns == 0 && counters->driver_misses > 0) {
        mean = (double)counters->compile_ns / (double)counters->driver_misses;
    }
    const double cold = mean * ((double)counters->shared + (double)counters->driver_hits);
    const double spent = (double)counters->create_ns - (double)counters->compile_ns;
    return cold > spent ? (uint64_t)(cold - spent) : 0;
}

static void read_program(struct all *all, const char *root, const char *app, bool zero)
{
    struct program *program = &all->programs[all->count];
    *program = (struct program){.name = app};
    enum reason reason = zero ? program_zero(root, app, (uint64_t)time(NULL)) : REASON_ok;
    if (reason == REASON_ok) {
        reason = program_load(root, app, &program->facts);
    }
    if (reason != REASON_ok && reason != REASON_no_file) {
        output_message("stats: '%s': %s (%s)", app, reason_text(reason), reason_id(reason));
        all->found = true;
    } else if (program->facts.since != 0) {
        struct recipe_counts *counts = recipe_counts_open(root, app);
        program->saved_ns =
            estimate_saved_ns(&program->facts.counters, recipe_counts_compile_ns(counts));
        recipe_counts_close(counts);
        all->count++;
    }
}

static void show_counters(struct output *output, const struct program *program)
{
    const struct program_counters *counters = &program->facts.counters;
    output_time(output, "since", program->facts.since);
    output_number(output, "starts", counters->starts);
    output_number(output, "requests", counters->requests);
    output_part(output, "shared", counters->shared, counters->requests);
    output_part(output, "driver_hits", counters->driver_hits, counters->requests);
    output_part(output, "driver_misses", counters->driver_misses, counters->requests);
    output_number(output, "prewarmed", counters->prewarmed);
    output_duration(output, "spent", counters->create_ns);
    output_duration(output, "saved", program->saved_ns);
}

static void show(struct output *output, const struct all *all)
{
    struct program total = {0};
    for (size_t i = 0; i < all->count; i++) {
        const struct program *program = &all->programs[i];
        const bool is_first = total.facts.since == 0 || program->facts.since < total.facts.since;
        total.facts.since = is_first ? program->facts.since : total.facts.since;
        total.saved_ns += program->saved_ns;
        program_counters_add(&total.facts.counters, &program->facts.counters);
    }
    output_open(output, "total", OUTPUT_GROUP);
    output_number(output, "programs", all->count);
    show_counters(output, &total);
    output_close(output);
    output_open(output, "programs", OUTPUT_TABLE);
    for (size_t i = 0; i < all->count; i++) {
        output_open(output, NULL, OUTPUT_ROW);
        output_text(output, "name", all->programs[i].name);
        show_counters(output, &all->programs[i]);
        output_close(output);
    }
    output_close(output);
}

static int run(const struct arguments *arguments)
{
    int status = EXIT_USAGE;
    struct inventory_apps apps = {0};
    struct all all = {0};
    char *root = inventory_root("stats", arguments->values[OPTION_DIR]);
    if (root && inventory_select("stats", root, arguments->values[OPTION_APP], &apps)) {
        all.programs = calloc(apps.count + 1, sizeof *all.programs);
        for (size_t i = 0; all.programs && i < apps.count; i++) {
            read_program(&all, root, apps.names[i], arguments->values[OPTION_ZERO]);
        }
        struct output output;
        output_begin(&output, arguments->values[OPTION_JSON]);
        if (all.count > 0 || arguments->values[OPTION_JSON]) {
            show(&output, &all);
        } else {
            output_message("stats: nothing was counted in '%s' yet", root);
        }
        status = output_end(&output, all.found ? EXIT_FINDING : EXIT_CLEAN);
    }
    free(all.programs);
    inventory_apps_free(&apps);
    free(root);
    return status;
}

const struct verb verb_stats = {
    .name = "stats",
    .summary = "show what was asked for, shared, hit and saved",
    .operands = "",
    .description =
        "Shows what was counted over all starts of all programs, and of each: pipelines\n"
        "that were asked for; of these, answered with one that was there already\n"
        "(shared), or by the driver out of its cache (hits) or not (misses); compiled\n"
        "ahead of the program; the time spent in pipeline creation; and the time saved,\n"
        "estimated by the compile times in the recipes. A driver that does not say what\n"
        "it hit counts neither hits nor misses.\n\n"
        "Exit status: 0 fine, 1 a file is damaged, 2 no such program or directory.",
    .options = options,
    .min_operands = 0,
    .max_operands = 0,
    .run = run,
};
