// SPDX-License-Identifier: Apache-2.0
#include "tools/warm/warm_report.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "tools/warm/warm_watch.h"

/* Longest time that a driver may take that is only asked, nanoseconds. */
#define COVERAGE_TIMEOUT_NS (30 * CLOCK_S)

struct warm_coverage_row {
    char *app;
    char *device;
    char *lack; /* NULL: of the first table */
    size_t pipelines;
    size_t covered;
};

static void coverage_free_row(struct warm_coverage_row *row)
{
    free(row->app);
    free(row->device);
    free(row->lack);
}

static void coverage_add_row(struct warm_coverage *coverage, const struct warm_report *report,
                             const char *lack, size_t pipelines, size_t covered)
{
    struct warm_coverage_row row = {
        .app = strdup(report->app),
        .device = strdup(report->device),
        .lack = lack ? strdup(lack) : NULL,
        .pipelines = pipelines,
        .covered = covered,
    };
    struct warm_coverage_row *rows =
        reallocarray(coverage->rows, coverage->count + 1, sizeof *coverage->rows);
    if (rows) {
        coverage->rows = rows;
    }
    if (rows && row.app && row.device && (row.lack || !lack)) {
        rows[coverage->count++] = row;
    } else {
        coverage_free_row(&row);
    }
}

void warm_coverage_add(struct warm_coverage *coverage, const struct warm_report *report,
                       const struct warm_shared *shared)
{
    const struct warm_counts *counts = &report->counts;
    const size_t covered = report->state == WARM_STATE_TO_DO ||
                                   report->state == WARM_STATE_NOTHING ||
                                   report->state == WARM_STATE_INEFFECTIVE
                               ? report->total - warm_report_skipped(report)
                               : counts->of[REPLAY_COMPILED] + counts->of[REPLAY_HIT];
    coverage_add_row(coverage, report, NULL, report->total, covered);
    for (uint32_t i = 0; i < WARM_MAX_LACKS; i++) {
        if (counts->lacking[i] > 0) {
            coverage_add_row(coverage, report, shared->lacks.names[i], counts->lacking[i], 0);
        }
    }
}

static void coverage_ask(const struct warm_target *target, struct warm_shared *shared,
                         struct warm_coverage *coverage)
{
    struct warm_report report = {
        .app = target->app,
        .device = target->identity.device_name,
        .total = warm_target_count(target),
    };
    struct warm_probe none = {.pid = 0};
    struct warm_progress progress;
    if (report.total > 0) {
        warm_shared_reset(shared);
        warm_progress_begin(&progress, target->app, target->identity.device_name, report.total);
        warm_watch_run(target, shared, &none, &progress);
        warm_report_take(&report, shared, true);
        warm_coverage_add(coverage, &report, shared);
    }
}

void warm_coverage_ask(struct warm_coverage *coverage, const char *root, const char *app,
                       const struct vulkan_devices *devices)
{
    struct warm_recipes recipes;
    if (devices->count == 0 || !warm_recipes_open(root, app, NULL, &recipes)) {
        return;
    }
    struct warm_shared *shared = warm_shared_new(recipes.item_count);
    for (uint32_t i = 0; shared && i < devices->count; i++) {
        struct warm_target target = {
            .root = root,
            .app = app,
            .recipes = &recipes,
            .identity = devices->identities[i],
            .digest = identity_digest(&devices->identities[i]),
            .device = i,
            .jobs = 1,
            .timeout_ns = COVERAGE_TIMEOUT_NS,
            .offer_only = true,
        };
        coverage_ask(&target, shared, coverage);
    }
    warm_shared_delete(shared);
    warm_recipes_close(&recipes);
}

static void coverage_show_table(const struct warm_coverage *coverage, struct output *output,
                                const char *key, bool of_lacks)
{
    output_open(output, key, OUTPUT_TABLE);
    for (size_t i = 0; i < coverage->count; i++) {
        const struct warm_coverage_row *row = &coverage->rows[i];
        if (!row->lack == of_lacks) {
            continue;
        }
        output_open(output, NULL, OUTPUT_ROW);
        output_text(output, "name", row->app);
        output_text(output, "device", row->device);
        if (of_lacks) {
            output_text(output, "lacks", row->lack);
        }
        output_number(output, "pipelines", row->pipelines);
        if (!of_lacks) {
            output_part(output, "covered", row->covered, row->pipelines);
        }
        output_close(output);
    }
    output_close(output);
}

static bool coverage_is_whole(const struct warm_coverage *coverage)
{
    for (size_t i = 0; i < coverage->count; i++) {
        if (coverage->rows[i].lack) {
            return false;
        }
    }
    return true;
}

void warm_coverage_show(const struct warm_coverage *coverage, struct output *output, bool always)
{
    const bool is_whole = coverage_is_whole(coverage);
    if (output->json || !is_whole || (always && coverage->count > 0)) {
        coverage_show_table(coverage, output, "coverage", false);
    }
    if (output->json || !is_whole) {
        coverage_show_table(coverage, output, "lacks", true);
    }
}

void warm_coverage_free(struct warm_coverage *coverage)
{
    for (size_t i = 0; i < coverage->count; i++) {
        coverage_free_row(&coverage->rows[i]);
    }
    free(coverage->rows);
    *coverage = (struct warm_coverage){0};
}
