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

static enum reason compact(int folder_fd, size_t least, const struct recipe_merge_limits *limits,
                           bool dry_run, struct recipe_compaction *compaction)
{
    struct recipe_sources sources;
    enum reason reason = recipe_sources_open(folder_fd, &sources);
    if (reason == REASON_ok && least > 1 && sources.held >= least) {
        recipe_sources_leave_largest(&sources);
        least = 1;
    }
    if (reason == REASON_ok) {
        compaction->bytes_before = sources.bytes_held;
        compaction->bytes_after = sources.bytes_held;
        compaction->bytes_beside = sources.bytes_beside;
        if (sources.held >= least) {
            reason = rewrite(folder_fd, &sources, limits, dry_run, compaction);
        }
    }
    recipe_sources_close(&sources);
    return reason;
}

static enum reason compact_folder(const char *root, const char *app, size_t least,
                                  const struct recipe_merge_limits *limits, bool dry_run,
                                  struct recipe_compaction *ret_compaction)
{
    int folder_fd;
    int lock_fd;
    struct recipe_compaction compaction = {0};
    enum reason reason = recipe_folder_open(root, app, false, &folder_fd);
    if (reason != REASON_ok) {
        return reason;
    }
    reason = file_lock(folder_fd, RECIPE_LOCK_NAME, LOCK_WAIT_MS, &lock_fd);
    if (reason == REASON_ok) {
        reason = compact(folder_fd, least, limits, dry_run, &compaction);
        file_unlock(lock_fd);
    }
    close(folder_fd);
    if (reason == REASON_ok && ret_compaction) {
        *ret_compaction = compaction;
    }
    return reason;
}

enum reason recipe_compact(const char *root, const char *app,
                           struct recipe_compaction *ret_compaction)
{
    const struct recipe_merge_limits limits = {.max_size = UINT64_MAX};
    return compact_folder(root, app, MANY_SEGMENTS + 1, &limits, false, ret_compaction);
}

enum reason recipe_prune(const char *root, const char *app,
                         const struct recipe_merge_limits *limits, bool dry_run,
                         struct recipe_compaction *ret_compaction)
{
    return compact_folder(root, app, 1, limits, dry_run, ret_compaction);
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
