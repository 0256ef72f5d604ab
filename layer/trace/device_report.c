// SPDX-License-Identifier: Apache-2.0
#include "layer/trace/device_report.h"

#include <assert.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "layer/worker/sandbox.h"

static_assert((int)PROGRAM_SETTINGS_SIZE == (int)DRIVER_SETTINGS_SIZE,
              "what is written of a process can be read again");

void device_report_init(struct device_report *report)
{
    report->state = CACHE_STATE_COLD;
    pthread_mutex_init(&report->lock, NULL);
}

void device_report_release(struct device_report *report)
{
    pthread_mutex_destroy(&report->lock);
}

void device_report_state(struct device_report *report, enum cache_state state, enum status reason)
{
    pthread_mutex_lock(&report->lock);
    report->state = state;
    report->reason = reason;
    pthread_mutex_unlock(&report->lock);
    trace_state(report->trace, state);
}

/* Under the lock. */
static enum status device_report_reason(const struct device_report *report)
{
    return report->not_saved != STATUS_ok ? report->not_saved : report->reason;
}

bool device_report_is_cold(struct device_report *report)
{
    pthread_mutex_lock(&report->lock);
    const bool is_cold = report->state == CACHE_STATE_COLD;
    pthread_mutex_unlock(&report->lock);
    return is_cold;
}

void device_report_loaded(struct device_report *report, size_t bytes, const char *path)
{
    pthread_mutex_lock(&report->lock);
    report->loaded_bytes = bytes;
    pthread_mutex_unlock(&report->lock);
    device_report_state(report, CACHE_STATE_LOADED, STATUS_ok);
    log_info("loaded %zu bytes: %s", bytes, path);
}

void device_report_rejected(struct device_report *report, enum status reason, const char *path)
{
    if (reason == STATUS_no_file) {
        device_report_state(report, CACHE_STATE_COLD, reason);
        log_debug("cold start (no_file): %s", path);
        return;
    }
    device_report_state(
        report, reason == STATUS_quarantined ? CACHE_STATE_QUARANTINED : CACHE_STATE_REJECTED,
        reason);
    log_once(reason); /* a save that fails for the same reason is not worth another line */
    log_warn("cold start (%s): %s: %s", status_id(reason), status_text(reason), path);
}

void device_report_expected(const struct device_report *report)
{
    if (!report->config->root && !sandbox_is_closed() && log_once(STATUS_no_directory)) {
        log_warn("nothing is kept (%s): %s", status_id(STATUS_no_directory),
                 status_text(STATUS_no_directory));
    }
}

void device_report_load_ended(struct device_report *report, uint64_t start_ns)
{
    device_report_expected(report);
    if (report->trace) {
        pthread_mutex_lock(&report->lock);
        const struct trace_event event = {
            .kind = TRACE_CACHE,
            .name = "load",
            .start_ns = start_ns,
            .end_ns = clock_now_ns(),
            .result = cache_state_name(report->state),
            .reason = report->reason ? status_id(report->reason) : NULL,
            .amount = report->loaded_bytes,
        };
        pthread_mutex_unlock(&report->lock);
        trace_put(report->trace, &event);
    }
}

void device_report_not_saved(struct device_report *report, enum status reason, const char *path)
{
    pthread_mutex_lock(&report->lock);
    const enum status before = report->not_saved;
    report->not_saved = reason;
    pthread_mutex_unlock(&report->lock);
    if (reason == STATUS_ineffective) {
        if (before != reason) {
            trace_state(report->trace, CACHE_STATE_INEFFECTIVE);
            log_info("not saved (ineffective): %s", status_text(reason));
        }
        return;
    }
    if (!sandbox_is_closed() && log_once(reason)) {
        log_warn("not saved (%s): %s: %s", status_id(reason), status_text(reason), path);
    }
}

void device_report_saved(struct device_report *report, size_t bytes, bool as_part, const char *path)
{
    pthread_mutex_lock(&report->lock);
    report->saved_bytes = bytes;
    report->not_saved = STATUS_ok;
    pthread_mutex_unlock(&report->lock);
    log_info("saved %zu bytes%s: %s", bytes,
             as_part ? " as a part, for the next save to take up" : "", path);
}

bool device_report_called(struct device_report *report)
{
    if (!report->config->stats_path) {
        return false;
    }
    atomic_store(&report->last_call_ns, clock_now_ns());
    atomic_store(&report->called_requested, stats_get(report->stats, STATS_pipelines_requested));
    return true;
}

uint64_t device_report_due(const struct device_report *report)
{
    const bool is_written =
        atomic_load(&report->called_requested) == atomic_load(&report->written_requested);
    return is_written
               ? UINT64_MAX
               : atomic_load(&report->last_call_ns) + report->config->flush_idle_ms * CLOCK_MS;
}

void device_report_write(struct device_report *report, const char *event)
{
    if (!report->config->stats_path) {
        return;
    }
    atomic_store(&report->written_requested, atomic_load(&report->called_requested));
    char identity[DIGEST_HEX_SIZE];
    digest_format(identity_digest(report->identity), identity);
    struct stats_line line = {
        .event = event,
        .app = report->app,
        .device_index = report->device_index,
        .device = report->identity->device_name,
        .driver = report->identity->driver_name,
        .identity = identity,
    };
    pthread_mutex_lock(&report->lock);
    line.reason = device_report_reason(report);
    line.state = line.reason == STATUS_ineffective ? CACHE_STATE_INEFFECTIVE : report->state;
    line.loaded_bytes = report->loaded_bytes;
    line.saved_bytes = report->saved_bytes;
    pthread_mutex_unlock(&report->lock);
    stats_append(report->config->stats_path, report->stats, &line);
}

void device_report_count(struct device_report *report)
{
    const struct program_counters now = {
        .starts = 1,
        .requests = stats_get(report->stats, STATS_pipelines_requested),
        .shared = stats_get(report->stats, STATS_pipelines_deduplicated),
        .driver_hits = stats_get(report->stats, STATS_pipelines_driver_hits),
        .driver_misses = stats_get(report->stats, STATS_pipelines_driver_misses),
        .prewarmed = stats_get(report->stats, STATS_pipelines_prewarmed),
        .create_ns = stats_get(report->stats, STATS_pipelines_create_ns),
        .compile_ns = stats_get(report->stats, STATS_compile_ns),
    };
    if (!report->counts || now.requests == report->counted.requests) {
        return;
    }
    const struct program_counters more = program_counters_since(&now, &report->counted);
    report->counted = now;
    const enum status reason = program_count(report->config->root, report->app, &more,
                                             (uint64_t)time(NULL), report->driver_settings);
    if (reason != STATUS_ok && reason != STATUS_no_file) {
        log_debug("not counted (%s)", status_id(reason));
    }
}

/* One line for whoever has asked for it: what was hit, and what was saved for the next start. */
static void device_report_summarize(struct device_report *report)
{
    const struct stats *stats = report->stats;
    const uint64_t requested = stats_get(stats, STATS_pipelines_requested);
    if (!report->config->summary || requested == 0) {
        return;
    }
    const uint64_t hits = stats_get(stats, STATS_pipelines_driver_hits);
    const uint64_t misses = stats_get(stats, STATS_pipelines_driver_misses);
    char saved[64] = "nothing new to save";
    pthread_mutex_lock(&report->lock);
    if (report->saved_bytes > 0) {
        char size[TEXT_BYTES_SIZE];
        text_bytes(report->saved_bytes, size);
        snprintf(saved, sizeof saved, "saved %s", size);
    } else if (report->state != CACHE_STATE_LOADED || report->not_saved != STATUS_ok ||
               (report->config->read_only && misses > 0)) {
        const enum status reason =
            report->config->read_only ? STATUS_read_only : device_report_reason(report);
        /* That there was no file is why it started cold, at most. */
        const bool is_told = reason != STATUS_ok && reason != STATUS_no_file;
        snprintf(saved, sizeof saved, "nothing saved%s%s%s", is_told ? " (" : "",
                 is_told ? status_id(reason) : "", is_told ? ")" : "");
    }
    pthread_mutex_unlock(&report->lock);
    const uint64_t shared = stats_get(stats, STATS_pipelines_deduplicated);
    char found[64] = "hits unknown"; /* of Vulkan 1.0, or a driver that does not tell */
    if (hits + misses > 0 || requested == shared) {
        snprintf(found, sizeof found, "%" PRIu64 " %s, %" PRIu64 " %s", hits,
                 text_noun(hits, "hit", "hits"), misses, text_noun(misses, "miss", "misses"));
    }
    /* Without the decimal point of the program's locale. */
    const uint64_t tenths = stats_get(stats, STATS_pipelines_create_ns) / (CLOCK_MS / 10);
    log_tell("%s: %" PRIu64 " %s in %" PRIu64 ".%u ms, %" PRIu64 " shared, %s; %s", report->app,
             requested, text_noun(requested, "pipeline", "pipelines"), tenths / 10,
             (unsigned)(tenths % 10), shared, found, saved);
}

bool device_report_has_end(const struct device_report *report)
{
    const uint64_t requested = stats_get(report->stats, STATS_pipelines_requested);
    return report->config->stats_path || (requested > 0 && report->config->summary) ||
           (report->counts && requested != report->counted.requests);
}

void device_report_end(struct device_report *report, const char *event)
{
    device_report_count(report);
    device_report_write(report, event);
    device_report_summarize(report);
}
