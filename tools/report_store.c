#include "report_store.h"

#include <stdlib.h>

#include "codec/canonical.h"
#include "disk/recipes.h"
#include "inspect_recipes.h"
#include "output.h"

static const char *kind_of(const struct recipes *recipes, struct digest pipeline)
{
    const void *form;
    size_t size;
    return recipes_find(recipes, RECIPE_FORM, pipeline, &form, &size)
               ? inspect_recipes_kind(form, size)
               : "";
}

/* Of all environments. What each is comes last: only a few are looked at. */
static bool take_recipes(struct report_program *program, const struct recipes *recipes)
{
    const struct recipe_use *uses;
    const size_t count = recipes_uses(recipes, &uses);
    struct report_pipeline *pipelines = calloc(count + 1, sizeof *pipelines);
    for (size_t i = 0; pipelines && i < count; i++) {
        pipelines[i] = (struct report_pipeline){
            .digest = uses[i].pipeline,
            .cold_ns = uses[i].compile_us * UINT64_C(1000),
            .times = uses[i].days,
        };
    }
    if (pipelines) {
        report_take_pipelines(program, pipelines, count);
        for (size_t i = 0; i < program->pipeline_count; i++) {
            program->pipelines[i].kind = kind_of(recipes, program->pipelines[i].digest);
        }
    }
    free(pipelines);
    return pipelines;
}

static bool tell(const char *app, enum reason reason)
{
    const bool is_damage = reason != REASON_ok && reason != REASON_no_file;
    if (is_damage) {
        output_message("report: '%s': %s (%s)", app, reason_text(reason), reason_id(reason));
    }
    return is_damage;
}

static void add_program(struct report *report, const char *root, const char *app, bool *found)
{
    struct report_program *program = &report->programs[report->count];
    *program = (struct report_program){.app = app, .device = "", .driver = "", .identity = ""};
    struct program_facts facts = {0};
    struct recipes *recipes = NULL;
    *found |= tell(app, program_load(root, app, &facts));
    const enum reason reason = recipes_open(root, app, RECIPES_MAP, &recipes);
    *found |= tell(app, reason);
    if (reason == REASON_ok) {
        report->failed |= !take_recipes(program, recipes);
        const struct recipe_damage damage = recipes_damage(recipes);
        *found |= tell(app, damage.reason);
    }
    recipes_close(recipes);
    program->counters = facts.counters;
    report->count += facts.since != 0 || program->pipeline_count > 0;
}

void report_of_store(const char *root, const struct inventory_apps *apps, struct report *ret_report,
                     bool *ret_found)
{
    struct report report = {.programs = calloc(apps->count + 1, sizeof *report.programs)};
    report.failed = !report.programs;
    for (size_t i = 0; i < apps->count && !report.failed; i++) {
        add_program(&report, root, apps->names[i], ret_found);
    }
    *ret_report = report;
}
