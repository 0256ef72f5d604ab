// SPDX-License-Identifier: Apache-2.0
#include "tools/recipes/recipe_tool.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/text.h"
#include "common/codec/canonical.h"
#include "common/driver/environment.h"
#include "common/files/file.h"
#include "common/files/names.h"
#include "common/quota/quota.h"
#include "common/settings/config.h"
#include "tools/cli/inventory.h"

/* Segments that are locked, so that nobody resumes them meanwhile: each takes a descriptor. */
#define MAX_HELD 512

/* Longest wait for a compaction. */
#define LOCK_WAIT_MS 10000

/* The only program in the root. False after a message. A folder without our files belongs to no
 * program, whatever the names in it: 'run --dir' keeps the driver's cache here, and so may others
 * their own. */
static bool recipe_tool_find_only_app(const struct arguments *arguments, const char *root,
                                      char ret_app[NAMES_APP_SIZE])
{
    AUTO(inventory_apps_free) struct inventory_apps apps = {0};
    size_t count = 0;
    if (!inventory_apps(root, NULL, INVENTORY_CLOSED, &apps)) {
        return false;
    }
    for (size_t i = 0; i < apps.count; i++) {
        if (inventory_visit(root, apps.list[i].name, NULL, NULL)) {
            count++;
            memcpy(ret_app, apps.list[i].name, sizeof apps.list[i].name);
        }
    }
    if (count == 0) {
        output_message("no program in '%s' yet%s", root,
                       arguments->verb == &verb_import ? ": name one with --app" : "");
    } else if (count > 1) {
        output_message("there are %zu programs in '%s'; name one with --app", count, root);
    }
    return count == 1;
}

int recipe_tool_run(const struct arguments *arguments, char *owned_root, recipe_tool_work *work)
{
    const char *option = options_value(arguments, "app");
    AUTO_FREE char *root = owned_root;
    char app[NAMES_APP_SIZE];
    if (option) {
        names_app_folder(&(struct names_program){.app_setting = option}, app);
    }
    return root && (option || recipe_tool_find_only_app(arguments, root, app))
               ? work(arguments, root, app)
               : EXIT_USAGE;
}

/* Whether the file ends within a record. In a program's folder that is a write that was cut short;
 * of what was handed on it is a copy that lacks the rest, and the uses stand last. */
static bool recipe_tool_ends_too_early(const struct recipe_segment *segment)
{
    struct recipe_walk walk = {
        .data = segment->data, .size = segment->size, .next = RECIPE_HEADER_SIZE};
    struct recipe_record record;
    uint64_t end;
    uint64_t dropped;
    do {
        end = walk.next;
        dropped = walk.dropped;
    } while (recipe_walk_next(&walk, &record));
    return !segment->is_sealed && end < segment->size && walk.dropped == dropped;
}

bool recipe_tool_is_cut(const char *path, const struct recipe_segment *segment)
{
    const char *slash = strrchr(path, '/');
    return recipe_folder_classify(slash ? slash + 1 : path) != RECIPE_NAME_SEGMENT &&
           recipe_tool_ends_too_early(segment);
}

void recipe_tool_tell_cut(const char *path)
{
    output_message("'%s' ends too early: it was cut or not wholly copied (%s)", path,
                   status_id(STATUS_truncated));
}

static enum status recipe_tool_read_standard(struct recipe_segment *ret_segment)
{
    struct bytes data = {0};
    uint8_t part[65536];
    ssize_t size;
    do {
        size = io_read(STDIN_FILENO, part, sizeof part, IO_HERE);
        bytes_put(&data, part, size > 0 ? (size_t)size : 0);
    } while (size > 0 && data.size <= RECIPES_MAX_FILE && !data.failed);
    const size_t whole = data.size;
    uint8_t *bytes = bytes_take(&data);
    const enum status status = size < 0                   ? status_from_errno(errno)
                               : whole > RECIPES_MAX_FILE ? STATUS_too_large
                               : whole == 0               ? STATUS_truncated
                               : bytes                    ? STATUS_ok
                                                          : STATUS_out_of_memory;
    if (status != STATUS_ok) {
        free(bytes);
        return status;
    }
    return recipe_segment_take(bytes, whole, ret_segment);
}

bool recipe_tool_read(const char *path, struct recipe_segment *ret_segment)
{
    const bool is_standard = strcmp(path, "-") == 0;
    const enum status status = is_standard ? recipe_tool_read_standard(ret_segment)
                                           : recipe_segment_read_any(path, ret_segment);
    if (status == STATUS_ok && recipe_tool_ends_too_early(ret_segment)) {
        recipe_tool_tell_cut(path);
        ret_segment->dropped++;
    }
    if (status != STATUS_ok) {
        const char *text = status == STATUS_no_file     ? strerror(ENOENT)
                           : status == STATUS_bad_magic ? "not a recipe file of warmpipe"
                                                        : status_text(status);
        output_message("'%s': %s (%s)", path, text, status_id(status));
    }
    return status == STATUS_ok;
}

/* Locks the folder, so that nobody compacts it meanwhile: what is read would be gone, in a segment
 * that was not listed. Not the folder of another user, who could not open a lock of ours; and with
 * WARMPIPE_READONLY no lock is made: whoever compacts makes it first. -1: it is not locked. */
static enum status recipe_tool_lock(int folder_fd, int *ret_lock_fd)
{
    AUTO(config_free) struct config config;
    struct stat folder;
    *ret_lock_fd = -1;
    config_read(config_environment, &config);
    const bool is_own = fstat(folder_fd, &folder) == 0 && folder.st_uid == geteuid();
    const bool may_lock =
        is_own && (!config.read_only || faccessat(folder_fd, RECIPE_LOCK_NAME, F_OK, 0) == 0);
    const enum status status =
        may_lock ? file_lock(folder_fd, RECIPE_LOCK_NAME, LOCK_WAIT_MS, ret_lock_fd) : STATUS_ok;
    return status == STATUS_locked ? status : STATUS_ok;
}

enum status recipe_tool_open_all(const char *root, const char *app, int *ret_folder_fd,
                                 struct recipe_sources *ret_sources)
{
    const struct recipe_sources_limits all = {MAX_HELD, UINT64_MAX, true};
    int lock_fd = -1;
    *ret_folder_fd = -1;
    *ret_sources = (struct recipe_sources){.lock_fd = -1};
    enum status status = recipe_folder_open(root, app, false, ret_folder_fd);
    if (status == STATUS_ok) {
        status = recipe_tool_lock(*ret_folder_fd, &lock_fd);
    }
    if (status == STATUS_ok) {
        status = recipe_sources_open(*ret_folder_fd, &all, ret_sources);
        ret_sources->lock_fd = lock_fd;
    }
    for (size_t i = 0; status == STATUS_ok && i < ret_sources->count; i++) {
        ret_sources->inputs[i].stays = false;
    }
    return status;
}

bool recipe_tool_sources(size_t count, struct recipe_sources *ret_sources)
{
    *ret_sources = (struct recipe_sources){
        .sources = calloc(count + 1, sizeof *ret_sources->sources),
        .inputs = calloc(count + 1, sizeof *ret_sources->inputs),
        .lock_fd = -1,
    };
    return ret_sources->sources && ret_sources->inputs;
}

void recipe_tool_add(struct recipe_sources *sources, const struct recipe_segment *segment)
{
    struct recipe_source *source = &sources->sources[sources->count];
    *source = (struct recipe_source){.segment = *segment, .fd = -1};
    sources->inputs[sources->count++].segment = &source->segment;
}

void recipe_tool_remove_empty(const char *root, const char *app)
{
    char folder[PATH_MAX];
    AUTO_CLOSE int folder_fd = -1;
    if (file_open_directory(root, app, false, &folder_fd) == STATUS_ok) {
        evict_empty_recipes(folder_fd);
        snprintf(folder, sizeof folder, "%s/%s", root, app);
        rmdir(folder);
    }
}

uint8_t *recipe_tool_join(const struct recipe_merged *merged)
{
    uint8_t *data = malloc((size_t)merged->size);
    size_t size = 0;
    for (size_t i = 0; data && i < merged->part_count; i++) {
        memcpy(data + size, merged->parts[i].iov_base, merged->parts[i].iov_len);
        size += merged->parts[i].iov_len;
    }
    return data;
}

void recipe_tool_name_damage(const char *path, uint64_t records)
{
    if (records > 0) {
        output_reason(STATUS_bad_record, "'%s'", path);
    }
}

void recipe_tool_show(struct output *output, const struct recipe_merged *merged)
{
    const struct recipe_merge_counts *counts = &merged->counts;
    output_number(output, "pipelines", counts->pipelines);
    output_number(output, "modules", counts->modules);
    output_size(output, "size", merged->size);
    output_number(output, "refused_records", counts->refused);
    output_number(output, "damaged_records", counts->damaged);
    output_number(output, "incomplete_pipelines", counts->incomplete);
    output_number(output, "left_out_for_size", counts->too_many);
}

bool recipe_tool_is_finding(const struct recipe_merge_counts *counts)
{
    return counts->refused > 0 || counts->damaged > 0 || counts->incomplete > 0 ||
           counts->too_many > 0;
}

struct recipes *recipe_tool_open(const char *root, const char *app)
{
    struct recipes *recipes;
    return recipes_open(root, app, RECIPES_READ, &recipes) == STATUS_ok ? recipes : NULL;
}

bool recipe_tool_has_our_name(const char *name)
{
    return text_ends_in(name, RECIPE_SUFFIX);
}

bool recipe_tool_is_one(const char *name, const void *head, size_t size)
{
    return recipe_tool_has_our_name(name) ||
           (size > 0 && recipe_check_header(head, size) != STATUS_bad_magic);
}

const char *recipe_tool_kind(const void *form, size_t size)
{
    switch (canonical_stype(form, size)) {
    case VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO:
        return "compute";
    case VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO:
        return "graphics";
    case VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR:
    case VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_NV:
        return "ray tracing";
    default:
        return "no pipeline";
    }
}

/* Whether recipes of this environment are for such a device; not if it is damaged or missing. */
static bool recipe_tool_environment_is_of(const struct recipes *recipes, struct digest digest,
                                          const struct driver_identity *identity)
{
    const void *data;
    size_t size;
    struct environment *environment =
        recipes_find(recipes, RECIPE_ENVIRONMENT, digest, &data, &size)
            ? environment_decode(data, size)
            : NULL;
    const bool is_it = environment && environment_is_of_device(environment, identity->vendor_id,
                                                               identity->device_id);
    environment_free(environment);
    return is_it;
}

uint64_t recipe_tool_count_pipelines(const struct recipes *recipes,
                                     const struct driver_identity *identity)
{
    const struct recipe_use *uses;
    const size_t use_count = recipes ? recipes_uses(recipes, &uses) : 0;
    AUTO_FREE struct digest *pipelines = use_count ? calloc(use_count, sizeof *pipelines) : NULL;
    size_t count = 0;
    bool counts = false; /* uses of one environment stand together */
    for (size_t i = 0; pipelines && i < use_count; i++) {
        if (i == 0 || !digest_equal(uses[i].environment, uses[i - 1].environment)) {
            counts =
                !identity || recipe_tool_environment_is_of(recipes, uses[i].environment, identity);
        }
        if (counts) {
            pipelines[count++] = uses[i].pipeline;
        }
    }
    return digest_sort(pipelines, count);
}

uint64_t recipe_tool_compile_ns(const struct recipes *recipes)
{
    const struct recipe_use *uses;
    const size_t count = recipes ? recipes_uses(recipes, &uses) : 0;
    uint64_t known = 0;
    uint64_t sum_us = 0;
    for (size_t i = 0; i < count; i++) {
        known += uses[i].compile_us > 0;
        sum_us += uses[i].compile_us;
    }
    return known > 0 ? sum_us * 1000 / known : 0;
}
