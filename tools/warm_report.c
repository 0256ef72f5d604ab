#include "warm_report.h"

static const char *outcome_id(int outcome)
{
    switch (outcome) {
    case WARM_CRASHED:
        return "crashed";
    case WARM_NOT_OFFERED:
        return "not_offered";
    default:
        return replay_outcome_id((enum replay_outcome)outcome);
    }
}

static const char *state_id(enum warm_state state)
{
    static const char *const ids[] = {
        [WARM_STATE_WARMED] = "warmed",       [WARM_STATE_READY] = "ready",
        [WARM_STATE_DENIED] = "denied",       [WARM_STATE_WOULD] = "to_do",
        [WARM_STATE_NOTHING] = "nothing",     [WARM_STATE_INEFFECTIVE] = "ineffective",
        [WARM_STATE_NOT_SAVED] = "not_saved", [WARM_STATE_INTERRUPTED] = "interrupted",
        [WARM_STATE_FAILED] = "failed",
    };
    return ids[state];
}

static size_t count_succeeded(const struct warm_report *report)
{
    return report->counts.of[REPLAY_COMPILED] + report->counts.of[REPLAY_HIT];
}

static size_t count_skipped(const struct warm_report *report)
{
    size_t count = 0;
    for (int i = REPLAY_HIT + 1; i < WARM_PENDING; i++) {
        count += report->counts.of[i];
    }
    return count;
}

static enum warm_state state_of(const struct warm_report *report, const struct warm_page *page,
                                bool offer_only)
{
    if (page->end == WARM_END_FAILED) {
        return WARM_STATE_FAILED;
    }
    if (page->end == WARM_END_INTERRUPTED) {
        return WARM_STATE_INTERRUPTED;
    }
    if (offer_only) {
        return count_skipped(report) < report->total ? WARM_STATE_WOULD : WARM_STATE_NOTHING;
    }
    if (count_succeeded(report) == 0) {
        return WARM_STATE_NOTHING;
    }
    if (page->save_reason == REASON_ineffective) {
        return WARM_STATE_INEFFECTIVE;
    }
    return page->save_reason == REASON_ok ? WARM_STATE_WARMED : WARM_STATE_NOT_SAVED;
}

void warm_report_take(struct warm_report *report, const struct warm_page *page, bool offer_only)
{
    report->counts = warm_page_count(page);
    report->saved_bytes = page->saved_bytes;
    report->state = state_of(report, page, offer_only);
    if (report->state == WARM_STATE_FAILED) {
        output_message("warm: '%s' on %s: %s", report->app, report->device, page->failure);
    } else if (report->state == WARM_STATE_NOT_SAVED) {
        output_message("warm: '%s' on %s: %s (%s)", report->app, report->device,
                       reason_text(page->save_reason), reason_id(page->save_reason));
    }
    for (int i = REPLAY_HIT + 1; i < WARM_PENDING; i++) {
        if (report->counts.of[i] > 0) {
            output_message("warm: '%s' on %s: %zu %s%s%s", report->app, report->device,
                           report->counts.of[i], outcome_id(i), i == WARM_NOT_OFFERED ? ": " : "",
                           i == WARM_NOT_OFFERED ? page->missing : "");
        }
    }
}

void warm_report_show(const struct warm_report *report, struct output *output, bool detailed)
{
    output_open(output, NULL, OUTPUT_ROW);
    output_text(output, "name", report->app);
    output_text(output, "device", report->device);
    output_text(output, "state", state_id(report->state));
    output_number(output, "recipes", report->total);
    output_number(output, "compiled", report->counts.of[REPLAY_COMPILED]);
    output_number(output, "hit", report->counts.of[REPLAY_HIT]);
    output_number(output, "skipped", count_skipped(report));
    for (int i = REPLAY_HIT + 1; detailed && i < WARM_PENDING; i++) {
        output_number(output, outcome_id(i), report->counts.of[i]);
    }
    output_size(output, "saved", report->saved_bytes);
    output_duration(output, "time", report->time_ns);
    output_close(output);
}

bool warm_report_is_finding(const struct warm_report *report)
{
    switch (report->state) {
    case WARM_STATE_NOT_SAVED:
    case WARM_STATE_INTERRUPTED:
    case WARM_STATE_FAILED:
        return true;
    default:
        return report->counts.of[WARM_CRASHED] > 0 || report->counts.of[REPLAY_MISSING] > 0;
    }
}
