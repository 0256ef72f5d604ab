#include "recipe_compact.h"

#include <stdio.h>
#include <unistd.h>

#include "file.h"
#include "recipe_folder.h"
#include "recipe_sources.h"
#include "unique.h"

/* As many segments of dead processes are left alone. */
#define MANY_SEGMENTS 4
#define LOCK_WAIT_MS  200

/* What is made one at once: of a program's process few descriptors, not too much memory, and little
 * time, for it may end. Where room must be made all is read anyway; what is only looked at, by the
 * tool, may be more. */
static const struct recipe_bite small_bite = {32, (uint64_t)32 << 20};
static const struct recipe_bite large_bite = {32, UINT64_MAX};
static const struct recipe_bite looked_at = {512, UINT64_MAX};

static enum reason write_segment(int folder_fd, const struct recipe_merged *merge)
{
    char digits[UNIQUE_HEX_SIZE];
    char name[UNIQUE_HEX_SIZE + sizeof RECIPE_SUFFIX];
    unique_format(unique_draw(), digits);
    snprintf(name, sizeof name, "%s%s", digits, RECIPE_SUFFIX);
    return file_replace(folder_fd, name, merge->parts, (int)merge->part_count);
}

/* Under the lock. */
static enum reason rewrite(int folder_fd, const struct recipe_sources *sources,
                           const struct recipe_merge_limits *limits, bool dry_run,
                           struct recipe_compaction *compaction)
{
    struct recipe_merged merge;
    struct recipe_merge_limits own = *limits;
    own.max_size -= sources->bytes_beside < own.max_size ? sources->bytes_beside : own.max_size;
    enum reason reason = recipe_merge(sources->inputs, sources->count, &own, &merge);
    if (reason != REASON_ok) {
        return reason;
    }
    const bool changes = sources->held != 1 || merge.size != sources->bytes_held;
    if (!dry_run && changes) {
        /* What a failing disk did not give may be there the next time. */
        reason = recipe_sources_failed(sources) ? REASON_io_error
                 : merge.size > 0               ? write_segment(folder_fd, &merge)
                                                : REASON_ok;
        if (reason == REASON_ok) {
            recipe_sources_remove(sources, folder_fd);
        }
    }
    compaction->bytes_after = merge.size;
    compaction->counts = merge.counts;
    recipe_merge_free(&merge);
    return reason;
}

/* Makes one segment of many, but for the largest. *count: of how many in all, before and now; 0
 * when they are few, or do not get fewer, for they cannot be removed. */
static enum reason take_bite(int folder_fd, const struct recipe_bite *bite, size_t *count,
                             struct recipe_compaction *compaction)
{
    const struct recipe_merge_limits limits = {.max_size = UINT64_MAX};
    struct recipe_sources sources;
    enum reason reason = recipe_sources_open(folder_fd, bite, &sources);
    const bool get_fewer = sources.count < *count;
    *count = 0;
    if (reason == REASON_ok && get_fewer && sources.held > MANY_SEGMENTS) {
        const uint64_t saved = compaction->bytes_before - compaction->bytes_after;
        *count = sources.count;
        recipe_sources_leave_largest(&sources);
        compaction->bytes_beside = sources.bytes_beside;
        reason = rewrite(folder_fd, &sources, &limits, false, compaction);
        compaction->bytes_before = sources.bytes_held + saved;
    }
    recipe_sources_close(&sources);
    return reason;
}

/* Each bite that is done stays done, whatever ends the next one. */
static enum reason take_bites(int folder_fd, const struct recipe_bite *bite,
                              struct recipe_compaction *compaction)
{
    size_t count = SIZE_MAX;
    enum reason reason;
    do {
        reason = take_bite(folder_fd, bite, &count, compaction);
    } while (reason == REASON_ok && count > 0);
    return reason;
}

static enum reason prune(int folder_fd, const struct recipe_merge_limits *limits, bool dry_run,
                         struct recipe_compaction *compaction)
{
    struct recipe_sources sources;
    enum reason reason =
        recipe_sources_open(folder_fd, dry_run ? &looked_at : &large_bite, &sources);
    if (reason == REASON_ok) {
        const uint64_t saved = compaction->bytes_before - compaction->bytes_after;
        compaction->bytes_before = sources.bytes_held + saved;
        compaction->bytes_after = sources.bytes_held;
        compaction->bytes_beside = sources.bytes_beside;
        if (sources.held > 0) {
            reason = rewrite(folder_fd, &sources, limits, dry_run, compaction);
        }
    }
    recipe_sources_close(&sources);
    return reason;
}

/* The folder, and its lock. */
static enum reason lock_folder(const char *root, const char *app, int *ret_folder_fd,
                               int *ret_lock_fd)
{
    enum reason reason = recipe_folder_open(root, app, false, ret_folder_fd);
    if (reason == REASON_ok) {
        reason = file_lock(*ret_folder_fd, RECIPE_LOCK_NAME, LOCK_WAIT_MS, ret_lock_fd);
        if (reason == REASON_ok) {
            recipe_folder_sweep(*ret_folder_fd);
        } else {
            close(*ret_folder_fd);
        }
    }
    return reason;
}

static void unlock_folder(int folder_fd, int lock_fd)
{
    file_unlock(lock_fd);
    close(folder_fd);
}

enum reason recipe_compact(const char *root, const char *app,
                           struct recipe_compaction *ret_compaction)
{
    int folder_fd;
    int lock_fd;
    struct recipe_compaction compaction = {0};
    enum reason reason = lock_folder(root, app, &folder_fd, &lock_fd);
    if (reason == REASON_ok) {
        reason = take_bites(folder_fd, &small_bite, &compaction);
        unlock_folder(folder_fd, lock_fd);
    }
    if (reason == REASON_ok && ret_compaction) {
        *ret_compaction = compaction;
    }
    return reason;
}

enum reason recipe_prune(const char *root, const char *app,
                         const struct recipe_merge_limits *limits, bool dry_run,
                         struct recipe_compaction *ret_compaction)
{
    int folder_fd;
    int lock_fd;
    struct recipe_compaction compaction = {0};
    enum reason reason = lock_folder(root, app, &folder_fd, &lock_fd);
    if (reason != REASON_ok) {
        return reason;
    }
    if (!dry_run) {
        reason = take_bites(folder_fd, &large_bite, &compaction);
    }
    if (reason == REASON_ok) {
        reason = prune(folder_fd, limits, dry_run, &compaction);
    }
    unlock_folder(folder_fd, lock_fd);
    if (reason == REASON_ok) {
        *ret_compaction = compaction;
    }
    return reason;
}

enum reason recipe_add(const char *root, const char *app, const struct recipe_merged *merge)
{
    int folder_fd;
    enum reason reason = recipe_folder_open(root, app, true, &folder_fd);
    if (reason == REASON_ok) {
        reason = write_segment(folder_fd, merge);
        close(folder_fd);
    }
    return reason;
}
