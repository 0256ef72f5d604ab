// SPDX-License-Identifier: Apache-2.0

#include <stdio.h>
#include <stdlib.h>

#include "common/base/bytes.h"
#include "common/base/clock.h"
#include "common/files/names.h"
#include "tools/warm/warm.h"

static const char *report_outcome_id(int outcome)
{
    return outcome == WARM_CRASHED       ? "crashed"
           : outcome == WARM_NOT_OFFERED ? "not_offered"
           : outcome == WARM_OTHER_KEY   ? status_id(STATUS_other_pipeline_key)
                                         : replay_outcome_id((enum replay_outcome)outcome);
}

static const char *report_state_id(enum warm_state state)
{
    static const char *const ids[] = {
        [WARM_STATE_WARMED] = "warmed",       [WARM_STATE_READY] = "ready",
        [WARM_STATE_DENIED] = "denied",       [WARM_STATE_TO_DO] = "to_do",
        [WARM_STATE_NOTHING] = "nothing",     [WARM_STATE_INEFFECTIVE] = "ineffective",
        [WARM_STATE_NOT_SAVED] = "not_saved", [WARM_STATE_INTERRUPTED] = "interrupted",
        [WARM_STATE_FAILED] = "failed",
    };
    return ids[state];
}

/* Those that were not replayed, whatever the reason. */
static size_t report_skipped(const struct warm_report *report)
{
    size_t count = 0;
    for (int i = REPLAY_HIT + 1; i < WARM_PENDING; i++) {
        count += report->counts.of[i];
    }
    return count;
}

static enum warm_state report_state_of(const struct warm_report *report,
                                       const struct warm_shared *shared, bool offer_only)
{
    if (shared->end == WARM_END_FAILED) {
        return WARM_STATE_FAILED;
    }
    if (shared->end == WARM_END_INTERRUPTED) {
        return WARM_STATE_INTERRUPTED;
    }
    if (offer_only) {
        return report_skipped(report) < report->total ? WARM_STATE_TO_DO : WARM_STATE_NOTHING;
    }
    if (report->counts.of[REPLAY_COMPILED] + report->counts.of[REPLAY_HIT] == 0) {
        return WARM_STATE_NOTHING;
    }
    if (shared->save_reason == STATUS_ineffective) {
        return WARM_STATE_INEFFECTIVE;
    }
    return shared->save_reason == STATUS_ok ? WARM_STATE_WARMED : WARM_STATE_NOT_SAVED;
}

/* Those that crashed are in a list, where nothing but its removal ends their being passed over. */
static void report_tell_crashed(const struct warm_report *report, const struct warm_target *target)
{
    char identity[DIGEST_HEX_SIZE];
    digest_format(target->digest, identity);
    output_message(
        "'%s' on %s: %zu %s: what a process died of is passed over from then on; to have "
        "it tried again, remove '%s/%s/" RECIPE_FOLDER "/%s" RECIPE_CRASHED_SUFFIX "'",
        report->app, report->device, report->counts.of[WARM_CRASHED],
        report_outcome_id(WARM_CRASHED), target->root, target->app, identity);
}

void warm_report_take(struct warm_report *report, const struct warm_target *target,
                      const struct warm_shared *shared)
{
    report->counts = warm_shared_count(shared);
    report->saved_bytes = shared->saved_bytes;
    report->state = report_state_of(report, shared, target->offer_only);
    if (report->state == WARM_STATE_FAILED) {
        output_message("'%s' on %s: %s", report->app, report->device, shared->failure);
    } else if (report->state == WARM_STATE_NOT_SAVED) {
        output_reason(shared->save_reason, "'%s' on %s", report->app, report->device);
    }
    if (report->counts.of[WARM_OTHER_KEY] > 0) {
        output_message("'%s' on %s: %s; start the program once, or use --force", report->app,
                       report->device, status_text(STATUS_other_pipeline_key));
    }
    for (int i = REPLAY_HIT + 1; i < WARM_PENDING; i++) {
        if (i == WARM_CRASHED && report->counts.of[i] > 0) {
            report_tell_crashed(report, target);
        } else if (report->counts.of[i] > 0) {
            output_message("'%s' on %s: %zu %s", report->app, report->device, report->counts.of[i],
                           report_outcome_id(i));
        }
    }
}

void warm_report_show(const struct warm_report *report, struct output *output, bool detailed)
{
    output_open(output, NULL, OUTPUT_ROW);
    output_text(output, "name", report->app);
    output_text(output, "device", report->device);
    output_text(output, "state", report_state_id(report->state));
    output_number(output, "recipes", report->total);
    output_number(output, "compiled", report->counts.of[REPLAY_COMPILED]);
    output_number(output, "hit", report->counts.of[REPLAY_HIT]);
    output_number(output, "skipped", report_skipped(report));
    for (int i = REPLAY_HIT + 1; detailed && i < WARM_PENDING; i++) {
        output_number(output, report_outcome_id(i), report->counts.of[i]);
    }
    output_size(output, "saved", report->saved_bytes);
    output_duration(output, "time", report->time_ns);
    output_close(output);
}

bool warm_report_is_finding(const struct warm_report *report)
{
    return report->state == WARM_STATE_NOT_SAVED || report->state == WARM_STATE_INTERRUPTED ||
           report->state == WARM_STATE_FAILED || report->counts.of[WARM_CRASHED] > 0 ||
           report->counts.of[WARM_OTHER_KEY] > 0 || report->counts.of[REPLAY_MISSING] > 0 ||
           report->counts.of[REPLAY_NO_MEMORY] > 0;
}

/* Longest time that a driver may take that is only asked, nanoseconds. */
#define COVERAGE_TIMEOUT_NS (30 * CLOCK_S)

struct warm_coverage_row {
    char app[NAMES_APP_SIZE];
    char device[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE];
    char lack[WARM_LACK_SIZE]; /* "": of the first table */
    size_t pipelines;
    size_t covered;
};

static void coverage_add_row(struct warm_coverage *coverage, const struct warm_report *report,
                             const char *lack, size_t pipelines, size_t covered)
{
    struct warm_coverage_row row = {.pipelines = pipelines, .covered = covered};
    snprintf(row.app, sizeof row.app, "%s", report->app);
    snprintf(row.device, sizeof row.device, "%s", report->device);
    snprintf(row.lack, sizeof row.lack, "%s", lack);
    if (array_reserve(&coverage->rows, coverage->count, sizeof row)) {
        coverage->rows[coverage->count++] = row;
    }
}

void warm_coverage_add(struct warm_coverage *coverage, const struct warm_report *report,
                       const struct warm_shared *shared)
{
    const struct warm_counts *counts = &report->counts;
    const size_t covered = report->state == WARM_STATE_TO_DO ||
                                   report->state == WARM_STATE_NOTHING ||
                                   report->state == WARM_STATE_INEFFECTIVE
                               ? report->total - report_skipped(report)
                               : counts->of[REPLAY_COMPILED] + counts->of[REPLAY_HIT];
    coverage_add_row(coverage, report, "", report->total, covered);
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
    if (report.total > 0) {
        warm_shared_reset(shared);
        warm_watch_run(target, shared, &none);
        warm_report_take(&report, target, shared);
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
        if (!row->lack[0] == of_lacks) {
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

void warm_coverage_show(const struct warm_coverage *coverage, struct output *output, bool always)
{
    bool is_whole = true;
    for (size_t i = 0; i < coverage->count; i++) {
        is_whole &= !coverage->rows[i].lack[0];
    }
    if (output->json || !is_whole || (always && coverage->count > 0)) {
        coverage_show_table(coverage, output, "coverage", false);
    }
    if (output->json || !is_whole) {
        coverage_show_table(coverage, output, "lacks", true);
    }
}

void warm_coverage_free(struct warm_coverage *coverage)
{
    free(coverage->rows);
    *coverage = (struct warm_coverage){0};
}
