/* The injector's saves: what the background worker does for it, and the end of the device. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "housekeeper.h"
#include "injector_state.h"
#include "told.h"

static struct injector *of_client(struct flusher_client *client)
{
    return (struct injector *)((char *)client - offsetof(struct injector, client));
}

static void tell_statistics(struct injector *injector, const char *event)
{
    if (!injector->setup.config->stats_path) {
        return;
    }
    char identity[DIGEST_HEX_SIZE];
    digest_format(identity_digest(&injector->identity), identity);
    pthread_mutex_lock(&injector->lock);
    struct injector_report report = injector->report;
    pthread_mutex_unlock(&injector->lock);
    struct stats_line line = {
        .event = event,
        .app = injector->setup.app,
        .device_index = injector->setup.device_index,
        .device = injector->identity.device_name,
        .driver = injector->identity.driver_name,
        .identity = identity,
        .state = report.state,
        .reason = report.reason,
        .loaded_bytes = report.loaded_bytes,
        .saved_bytes = report.saved_bytes,
    };
    stats_append(injector->setup.config->stats_path, injector->setup.stats, &line);
}

/* What came of a snapshot or a commit. */
static void tell_save(struct injector *injector, enum reason reason, size_t saved)
{
    const char *path = store_path(injector->store);
    if (reason == REASON_ineffective) {
        atomic_store(&injector->ineffective, true);
        injector_tell(injector, CACHE_STATE_INEFFECTIVE, reason);
        log_info("not saved (ineffective): %s", reason_text(reason));
    } else if (reason != REASON_ok) {
        pthread_mutex_lock(&injector->lock);
        injector->report.reason = reason;
        pthread_mutex_unlock(&injector->lock);
        if (told_first(reason)) {
            log_warn("not saved (%s): %s: %s", reason_id(reason), reason_text(reason), path);
        }
    } else if (saved > 0) {
        pthread_mutex_lock(&injector->lock);
        injector->report.saved_bytes = saved;
        pthread_mutex_unlock(&injector->lock);
        log_info("saved %zu bytes%s: %s", saved,
                 store_has_part(injector->store) ? " as a part, for the next save to take up" : "",
                 path);
    }
}

/* One line for whoever has asked for it: what was hit, and what was saved for the next start. */
static void tell_summary(struct injector *injector)
{
    const struct stats *stats = injector->setup.stats;
    const uint64_t requested = stats_get(stats, STATS_pipelines_requested);
    if (!injector->setup.config->summary || requested == 0) {
        return;
    }
    pthread_mutex_lock(&injector->lock);
    struct injector_report report = injector->report;
    pthread_mutex_unlock(&injector->lock);
    char saved[64] = "nothing new to save";
    if (report.saved_bytes > 0) {
        snprintf(saved, sizeof saved, "saved %.1f MiB", (double)report.saved_bytes / (1 << 20));
    } else if (report.state != CACHE_STATE_LOADED) {
        snprintf(saved, sizeof saved, "nothing saved (%s)", reason_id(report.reason));
    }
    log_tell("%s: %" PRIu64 " pipelines in %.1f ms, %" PRIu64 " shared, %" PRIu64 " hits, %" PRIu64
             " misses; %s",
             injector->setup.app, requested,
             (double)stats_get(stats, STATS_pipelines_create_ns) / CLOCK_MS,
             stats_get(stats, STATS_pipelines_deduplicated),
             stats_get(stats, STATS_pipelines_driver_hits),
             stats_get(stats, STATS_pipelines_driver_misses), saved);
}

/* A file that replaces another is as many bytes more as it is larger. */
static void note_saved(struct injector *injector, size_t saved)
{
    const size_t before = injector->last_saved;
    if (saved > 0) {
        injector->last_saved = saved;
        housekeeper_wrote(injector->setup.housekeeper, saved > before ? saved - before : 0);
    }
}

/* Adds what came since the last time to the program's counters, where anything is kept of it. Not
 * before the end of a device or a save: a program that is killed has counted up to its last one. */
static void count_program(struct injector *injector)
{
    const struct config *config = injector->setup.config;
    const struct stats *stats = injector->setup.stats;
    struct program_counters *counted = &injector->counted;
    const struct program_counters now = {
        .starts = 1,
        .requests = stats_get(stats, STATS_pipelines_requested),
        .shared = stats_get(stats, STATS_pipelines_deduplicated),
        .driver_hits = stats_get(stats, STATS_pipelines_driver_hits),
        .driver_misses = stats_get(stats, STATS_pipelines_driver_misses),
        .prewarmed = stats_get(stats, STATS_pipelines_prewarmed),
        .create_ns = stats_get(stats, STATS_pipelines_create_ns),
        .compile_ns = stats_get(stats, STATS_compile_ns),
    };
    if (!injector->policy.persist || config->read_only || now.requests == counted->requests) {
        return;
    }
    const struct program_counters more = program_counters_since(&now, counted);
    *counted = now;
    enum reason reason =
        program_count(config->root, injector->setup.app, &more, (uint64_t)time(NULL));
    if (reason != REASON_ok && reason != REASON_no_file) {
        log_debug("not counted (%s)", reason_id(reason));
    }
}

static void take_snapshot(struct injector *injector)
{
    VkPipelineCache *harvested = NULL;
    const struct injector_harvest *harvest = &injector->harvest;
    const uint64_t start_ns = clock_now_ns();
    uint32_t count = harvest->pin ? harvest->pin(harvest->user, &harvested) : 0;
    enum reason reason =
        saver_snapshot(&injector->saver, injector_loaded_cache(injector), count, harvested);
    if (harvest->unpin) {
        harvest->unpin(harvest->user);
    }
    free(harvested);
    trace_cache(injector->setup.trace, "snapshot", start_ns, saver_pending(&injector->saver),
                reason);
    if (reason != REASON_ok) {
        tell_save(injector, reason, 0);
    } else if (atomic_load(&injector->saver.pending)) {
        log_debug("device %u: took a snapshot", injector->setup.device_index);
    }
}

/* Where there was something to save. */
static void trace_save(const struct injector *injector, uint64_t start_ns, enum reason reason,
                       size_t saved)
{
    if (saved > 0 || reason != REASON_ok) {
        trace_cache(injector->setup.trace, "save", start_ns, saved, reason);
    }
}

static uint64_t due(struct flusher_client *client, uint64_t now_ns)
{
    const struct injector *injector = of_client(client);
    uint64_t trial =
        atomic_load(&injector->on_trial) ? atomic_load(&injector->trial_ends_ns) : SAVER_NEVER;
    enum saver_step step;
    uint64_t save = injector->saves && !atomic_load(&injector->ineffective)
                        ? saver_due(&injector->saver, now_ns, &step)
                        : SAVER_NEVER;
    return trial < save ? trial : save;
}

static void end_trial(struct injector *injector)
{
    if (atomic_load(&injector->on_trial) &&
        clock_now_ns() >= atomic_load(&injector->trial_ends_ns) &&
        saver_survived(&injector->saver)) {
        atomic_store(&injector->on_trial, false);
    }
}

static void work(struct flusher_client *client)
{
    struct injector *injector = of_client(client);
    if (!injector->worker_is_named) {
        injector->worker_is_named = true;
        trace_thread(injector->setup.trace, "warmpipe worker");
    }
    end_trial(injector);
    enum saver_step step;
    uint64_t now_ns = clock_now_ns();
    if (saver_due(&injector->saver, now_ns, &step) > now_ns) {
        return;
    }
    if (step == SAVER_SNAPSHOT) {
        if (flusher_enter_driver()) {
            take_snapshot(injector);
            flusher_leave_driver();
        }
        return;
    }
    size_t saved = 0;
    enum reason reason =
        saver_commit(&injector->saver, flusher_enter_driver, flusher_leave_driver, &saved);
    trace_save(injector, now_ns, reason, saved);
    tell_save(injector, reason, saved);
    note_saved(injector, saved);
    housekeeper_start(injector->setup.housekeeper);
    count_program(injector);
    tell_statistics(injector, "flush");
}

/* The process ends and the device was never destroyed. */
static void last(struct flusher_client *client)
{
    struct injector *injector = of_client(client);
    size_t saved = 0;
    if (injector->saves) {
        const uint64_t start_ns = clock_now_ns();
        enum reason reason = saver_commit_without_driver(&injector->saver, &saved);
        trace_save(injector, start_ns, reason, saved);
        tell_save(injector, reason, saved);
    }
    count_program(injector);
    tell_statistics(injector, "exit");
    tell_summary(injector);
}

void injector_save_init(struct injector *injector)
{
    injector->client.due = due;
    injector->client.work = work;
    injector->client.last = last;
    flusher_add(&injector->client);
}

bool injector_finish(struct injector *injector)
{
    if (!flusher_remove(&injector->client)) {
        return false;
    }
    if (injector->saves && !atomic_load(&injector->ineffective)) {
        if (saver_is_dirty(&injector->saver)) {
            take_snapshot(injector);
        }
        size_t saved = 0;
        const uint64_t start_ns = clock_now_ns();
        enum reason reason = saver_commit(&injector->saver, NULL, NULL, &saved);
        trace_save(injector, start_ns, reason, saved);
        tell_save(injector, reason, saved);
        note_saved(injector, saved);
    }
    driver_cache_destroy(&injector->caches, injector->hot);
    injector->hot = VK_NULL_HANDLE;
    count_program(injector);
    tell_statistics(injector, "destroy");
    tell_summary(injector);
    return true;
}
