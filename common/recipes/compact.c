// SPDX-License-Identifier: Apache-2.0
/* The sources and the compaction of merge.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/bytes.h"
#include "common/base/io.h"
#include "common/files/file.h"
#include "common/files/names.h"
#include "common/recipes/merge.h"
#include "common/recipes/recipes.h"

/* Up to this many segments of dead processes are left alone. */
#define MANY_SEGMENTS 4
#define LOCK_WAIT_MS  200

/* One step in a program's process takes few descriptors (twice as many: one for each that stays),
 * not too much memory and little time, for the process may end. Pruning reads all in any case. A
 * dry run, in the tool, may take more. */
static const struct recipe_sources_limits step_limits = {32, (uint64_t)32 << 20, false};
static const struct recipe_sources_limits prune_limits = {32, UINT64_MAX, false};
static const struct recipe_sources_limits dry_run_limits = {512, UINT64_MAX, true};

static int compact_compare_sources(const void *left, const void *right)
{
    const struct recipe_source *a = left;
    const struct recipe_source *b = right;
    const int order = array_order_of(a->size, b->size);
    return order ? order : strcmp(a->name, b->name);
}

/* Lists the segments, not opened yet, the smallest first: little is written, and most segments are
 * small. False: out of memory, or not all of the folder can be listed: what is not known may hold
 * what others refer to, which would be dropped. */
static __attribute__((cold)) bool
compact_list_sources(int folder_fd, struct recipe_sources *sources, size_t *ret_count)
{
    AUTO_LISTING DIR *listing = listing_open(folder_fd, ".");
    const char *name;
    struct stat status;
    size_t count = 0;
    bool is_whole = listing;
    while (is_whole && (name = recipe_folder_next_segment(listing))) {
        if (fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
            is_whole = errno == ENOENT;
        } else if ((is_whole = array_reserve(&sources->sources, count, sizeof *sources->sources))) {
            struct recipe_source *source = &sources->sources[count++];
            *source = (struct recipe_source){.size = (uint64_t)status.st_size};
            memcpy(source->name, name, strlen(name) + 1);
        }
    }
    is_whole = is_whole && errno == 0;
    sources->inputs = calloc(count + 1, sizeof *sources->inputs);
    array_sort(sources->sources, count, sizeof *sources->sources, compact_compare_sources);
    *ret_count = count;
    return is_whole && sources->inputs;
}

/* Whether it can be opened as a segment of ours. Others cannot be merged: they would take the
 * places of those that can. */
static bool compact_is_ours(int folder_fd, const char *name)
{
    uint8_t header[RECIPE_HEADER_SIZE + RECIPE_RECORD_HEADER];
    size_t read;
    uint64_t size;
    enum status status = file_read_head(folder_fd, name, header, sizeof header, &read, &size);
    if (status == STATUS_ok) {
        status = recipe_check_header(header, read);
    }
    return status == STATUS_ok || status == STATUS_bad_header_digest;
}

/* Locks a segment of a dead process, shared; its fd is -1 if it stays, as another user's does.
 * True: it was empty, and is removed unless limits say otherwise. */
static bool compact_hold_source(const struct recipe_sources *sources, int folder_fd,
                                const struct recipe_sources_limits *limits,
                                struct recipe_source *source)
{
    struct stat status;
    const bool has_room = sources->held < limits->segments && source->size <= limits->bytes &&
                          sources->bytes_held <= limits->bytes - source->size;
    const int fd = has_room ? file_open_abandoned(folder_fd, source->name) : -1;
    source->fd = -1;
    if (fd < 0 || fstat(fd, &status) != 0 || status.st_uid != geteuid() ||
        (status.st_size > 0 && !compact_is_ours(folder_fd, source->name))) {
        io_close(fd);
        return false;
    }
    if (status.st_size > 0) {
        source->fd = fd;
        return false;
    }
    if (!limits->keeps_empty) {
        unlinkat(folder_fd, source->name, 0);
    }
    close(fd);
    return true;
}

static void compact_add_source(struct recipe_sources *sources, const struct recipe_source *source)
{
    sources->held += source->fd >= 0;
    *(source->fd >= 0 ? &sources->bytes_held : &sources->bytes_beside) += source->size;
    sources->sources[sources->count++] = *source;
}

/* Lists the segments, and locks what the limits allow of those of dead processes; opens none. What
 * stays gets an index if it has none: each start would read all of it. */
static enum status compact_hold_sources(int folder_fd, const struct recipe_sources_limits *limits,
                                        struct recipe_sources *sources)
{
    size_t count;
    *sources = (struct recipe_sources){.lock_fd = -1};
    if (!compact_list_sources(folder_fd, sources, &count)) {
        return STATUS_out_of_memory;
    }
    for (size_t i = 0; i < count; i++) {
        struct recipe_source *source = &sources->sources[i];
        if (!limits->keeps_empty && source->size >= RECIPE_SEGMENT_OPEN) {
            recipe_segment_seal_left(folder_fd, source->name);
        }
        if (!compact_hold_source(sources, folder_fd, limits, source)) {
            compact_add_source(sources, source);
        }
    }
    return STATUS_ok;
}

/* Opens them, and lets go of those that cannot be. Of what is held most is read, so all at once. */
static enum status compact_open_sources(int folder_fd, const struct recipe_sources_limits *limits,
                                        struct recipe_sources *sources)
{
    const size_t count = sources->count;
    enum status status = STATUS_ok;
    sources->count = sources->held = 0;
    sources->bytes_held = sources->bytes_beside = 0;
    for (size_t i = 0; i < count; i++) {
        struct recipe_source *source = &sources->sources[i];
        const enum recipes_access access = source->fd >= 0 ? RECIPES_WHOLE : RECIPES_READ;
        if (status != STATUS_out_of_memory) {
            status = recipe_segment_open(folder_fd, source->name, access, &source->segment);
        }
        if (status != STATUS_ok) {
            sources->unopened += recipe_segment_is_damage(status);
            sources->failed |= status == STATUS_io_error || status == STATUS_too_large;
            io_close(source->fd);
            continue;
        }
        if (sources->count - sources->held >= limits->segments) {
            recipe_segment_close_fd(&source->segment);
        }
        source->size = source->segment.size;
        sources->inputs[sources->count] = (struct recipe_merge_input){
            .segment = &sources->sources[sources->count].segment, .stays = source->fd < 0};
        compact_add_source(sources, source);
    }
    return status == STATUS_out_of_memory ? status : STATUS_ok;
}

enum status recipe_sources_open(int folder_fd, const struct recipe_sources_limits *limits,
                                struct recipe_sources *ret_sources)
{
    const enum status status = compact_hold_sources(folder_fd, limits, ret_sources);
    return status == STATUS_ok ? compact_open_sources(folder_fd, limits, ret_sources) : status;
}

void recipe_sources_close(struct recipe_sources *sources)
{
    for (size_t i = 0; i < sources->count; i++) {
        recipe_segment_close(&sources->sources[i].segment);
        io_close(sources->sources[i].fd);
    }
    free(sources->sources);
    free(sources->inputs);
    if (sources->lock_fd >= 0) {
        file_unlock(sources->lock_fd);
    }
    *sources = (struct recipe_sources){.lock_fd = -1};
}

/* Lets the largest segment stay if it is larger than all others that are held together: what is
 * written each time is then in proportion to what is new. */
static void compact_leave_largest(struct recipe_sources *sources)
{
    size_t place = sources->count;
    while (place > 0 && sources->sources[place - 1].fd < 0) {
        place--;
    }
    if (place == 0 || sources->sources[place - 1].size <= sources->bytes_held / 2) {
        return;
    }
    struct recipe_source *largest = &sources->sources[--place];
    close(largest->fd);
    largest->fd = -1;
    sources->held--;
    sources->bytes_held -= largest->size;
    sources->bytes_beside += largest->size;
}

/* Whether a part of what is to be merged, or of what that refers to, could not be read. */
static bool compact_read_failed(const struct recipe_sources *sources)
{
    bool failed = sources->failed;
    for (size_t i = 0; i < sources->count; i++) {
        failed |= recipe_segment_failed(&sources->sources[i].segment);
    }
    return failed;
}

static enum status compact_write_segment(int folder_fd, const struct recipe_merged *merge)
{
    char name[NAMES_SIZE];
    unique_name(file_draw_number(folder_fd), RECIPE_SUFFIX, name);
    return file_replace(folder_fd, name, merge->parts, (int)merge->part_count);
}

/* Under the lock. Merges the sources that are held, unless the result would be the same. */
static enum status compact_rewrite_sources(int folder_fd, const struct recipe_sources *sources,
                                           const struct recipe_merge_limits *limits, bool dry_run,
                                           struct recipe_compaction *compaction)
{
    AUTO(recipe_merge_free) struct recipe_merged merge = {0};
    struct recipe_merge_limits own = *limits;
    own.max_size -= sources->bytes_beside < own.max_size ? sources->bytes_beside : own.max_size;
    enum status status = recipe_merge(sources->inputs, sources->count, &own, &merge);
    if (status != STATUS_ok) {
        return status;
    }
    const bool changes = sources->held != 1 || merge.size != sources->bytes_held;
    if (!dry_run && changes) {
        /* What a failing disk did not give now may be read the next time. */
        status = compact_read_failed(sources) ? STATUS_io_error
                 : merge.size > 0             ? compact_write_segment(folder_fd, &merge)
                                              : STATUS_ok;
        for (size_t i = 0; status == STATUS_ok && i < sources->count; i++) {
            if (sources->sources[i].fd >= 0) {
                unlinkat(folder_fd, sources->sources[i].name, 0);
            }
        }
    }
    compaction->bytes_after = merge.size;
    compaction->counts = merge.counts;
    return status;
}

/* Merges what the limits allow to hold. count NULL: all of it. Else one step of making few of many
 * segments, but for the largest; *count: how many segments there were in the step before, and in
 * this one, or 0: done, because they are few, or did not get fewer (they could not be removed). */
static enum status compact_merge_step(int folder_fd, const struct recipe_sources_limits *hold,
                                      const struct recipe_merge_limits *limits, bool dry_run,
                                      size_t *count, struct recipe_compaction *compaction)
{
    AUTO(recipe_sources_close) struct recipe_sources sources = {.lock_fd = -1};
    enum status status = compact_hold_sources(folder_fd, hold, &sources);
    const bool is_due = !count || (sources.count < *count && sources.held > MANY_SEGMENTS);
    if (count) {
        *count = is_due ? sources.count : 0;
        compact_leave_largest(&sources);
    }
    if (status == STATUS_ok && is_due) {
        const uint64_t saved = compaction->bytes_before - compaction->bytes_after;
        status = compact_open_sources(folder_fd, hold, &sources);
        compaction->bytes_before = sources.bytes_held + saved;
        compaction->bytes_after = sources.bytes_held;
        compaction->bytes_beside = sources.bytes_beside;
        if (status == STATUS_ok && sources.held > 0) {
            status = compact_rewrite_sources(folder_fd, &sources, limits, dry_run, compaction);
        }
    }
    return status;
}

/* Each step that is done stays done, whatever ends the next one. */
static enum status compact_steps(int folder_fd, const struct recipe_sources_limits *hold,
                                 struct recipe_compaction *compaction)
{
    const struct recipe_merge_limits no_limits = {.max_size = UINT64_MAX};
    size_t count = SIZE_MAX;
    enum status status;
    do {
        status = compact_merge_step(folder_fd, hold, &no_limits, false, &count, compaction);
    } while (status == STATUS_ok && count > 0);
    return status;
}

/* Who only compacts does not wait for the lock: mostly its holder does just that, or else the next
 * save does. */
enum status recipe_prune(const char *root, const char *app,
                         const struct recipe_merge_limits *limits, bool dry_run,
                         struct recipe_compaction *ret_compaction)
{
    AUTO_CLOSE int folder_fd = -1;
    AUTO_UNLOCK int lock_fd = -1;
    struct recipe_compaction compaction = {0};
    enum status status = recipe_folder_open(root, app, false, &folder_fd);
    if (status == STATUS_ok && !dry_run) {
        status = file_lock(folder_fd, RECIPE_LOCK_NAME, limits ? LOCK_WAIT_MS : 0, &lock_fd);
    }
    if (status == STATUS_ok && !dry_run) {
        recipe_folder_sweep(folder_fd);
        status = compact_steps(folder_fd, limits ? &prune_limits : &step_limits, &compaction);
    }
    if (status == STATUS_ok && limits) {
        status = compact_merge_step(folder_fd, dry_run ? &dry_run_limits : &prune_limits, limits,
                                    dry_run, NULL, &compaction);
    }
    if (status == STATUS_ok && ret_compaction) {
        *ret_compaction = compaction;
    }
    return status;
}

enum status recipe_compact(const char *root, const char *app,
                           struct recipe_compaction *ret_compaction)
{
    return recipe_prune(root, app, NULL, false, ret_compaction);
}

enum status recipe_add(const char *root, const char *app, const struct recipe_merged *merge)
{
    AUTO_CLOSE int folder_fd = -1;
    const enum status status = recipe_folder_open(root, app, true, &folder_fd);
    return status == STATUS_ok ? compact_write_segment(folder_fd, merge) : status;
}
