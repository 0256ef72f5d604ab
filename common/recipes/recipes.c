// SPDX-License-Identifier: Apache-2.0
/* The folder of recipes.h, and the reader. */
#include "common/recipes/recipes.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/bytes.h"
#include "common/base/text.h"
#include "common/files/file.h"
#include "common/files/names.h"
#include "common/recipes/segment.h"

/* Segments of one folder that are read; compaction keeps it at a few. */
#define MAX_SEGMENTS ((size_t)1024)

/* How often the folder is listed when a listed segment was gone: somebody has compacted the folder
 * in between each time. */
#define MAX_ATTEMPTS 64

/* Descriptors are the program's, and few. */
#define MAX_OPEN_FDS 32

enum recipe_name recipe_folder_classify(const char *name)
{
    char of[NAMES_SIZE];
    if (names_is_temporary(name, of)) {
        const enum recipe_name kind = recipe_folder_classify(of);
        return kind == RECIPE_NAME_SEGMENT || kind == RECIPE_NAME_CRASHED ? RECIPE_NAME_TEMPORARY
                                                                          : RECIPE_NAME_FOREIGN;
    }
    if (strcmp(name, RECIPE_LOCK_NAME) == 0) {
        return RECIPE_NAME_LOCK;
    }
    if (names_is_hex(name, UNIQUE_HEX_SIZE - 1) &&
        strcmp(name + UNIQUE_HEX_SIZE - 1, RECIPE_SUFFIX) == 0) {
        return RECIPE_NAME_SEGMENT;
    }
    if (!names_is_hex(name, DIGEST_HEX_SIZE - 1)) {
        return RECIPE_NAME_FOREIGN;
    }
    const char *suffix = name + DIGEST_HEX_SIZE - 1;
    return strcmp(suffix, RECIPE_CRASHED_SUFFIX) == 0         ? RECIPE_NAME_CRASHED
           : names_is_random(suffix, RECIPE_REPLAYING_SUFFIX) ? RECIPE_NAME_REPLAYING
                                                              : RECIPE_NAME_FOREIGN;
}

const char *recipe_folder_next_segment(DIR *listing)
{
    const char *name;
    do {
        name = listing_next(listing);
    } while (name && recipe_folder_classify(name) != RECIPE_NAME_SEGMENT);
    return name;
}

void recipe_folder_sweep(int folder_fd)
{
    AUTO_LISTING DIR *listing = listing_open(folder_fd, ".");
    const char *name;
    while ((name = listing_next(listing))) {
        if (recipe_folder_classify(name) == RECIPE_NAME_TEMPORARY) {
            file_sweep_temporary(folder_fd, name);
        }
    }
}

enum status recipe_folder_open(const char *root, const char *app, bool create, int *ret_fd)
{
    AUTO_CLOSE int app_fd = -1;
    const enum status status = file_open_directory(root, app, create, &app_fd);
    return status == STATUS_ok ? file_open_subdirectory(app_fd, RECIPE_FOLDER, create, ret_fd)
                               : status;
}

struct recipes {
    struct recipe_segment *segments;
    size_t count;
    size_t with_fd;          /* large segments: they have or had a descriptor */
    struct file_kept folder; /* to open segments without a descriptor */
    uint64_t unopened;       /* segments that could not be opened */
    enum status reason;      /* of the first of them */

    pthread_mutex_t lock; /* of what follows */
    bool uses_known;
    struct recipe_uses uses;
};

static struct recipes *recipes_new(void)
{
    struct recipes *recipes = calloc(1, sizeof *recipes);
    if (recipes) {
        pthread_mutex_init(&recipes->lock, NULL);
        recipes->folder.fd = -1;
    }
    return recipes;
}

static void recipes_close_segments(struct recipes *recipes)
{
    for (size_t i = 0; i < recipes->count; i++) {
        recipe_segment_close(&recipes->segments[i]);
    }
    recipes->count = 0;
    recipes->with_fd = 0;
    recipes->unopened = 0;
}

void recipes_close(struct recipes *recipes)
{
    if (!recipes) {
        return;
    }
    recipes_close_segments(recipes);
    file_kept_close(&recipes->folder);
    free(recipes->segments);
    recipe_uses_free(&recipes->uses);
    pthread_mutex_destroy(&recipes->lock);
    free(recipes);
}

/* Room for one segment more; NULL: out of memory. */
static struct recipe_segment *recipes_reserve_segment(struct recipes *recipes)
{
    return array_reserve(&recipes->segments, recipes->count, sizeof *recipes->segments)
               ? &recipes->segments[recipes->count]
               : NULL;
}

static enum status recipes_add_segment(struct recipes *recipes, const char *name,
                                       enum recipes_access access)
{
    struct recipe_segment *segment = recipes_reserve_segment(recipes);
    const enum status status = segment
                                   ? recipe_segment_open(recipes->folder.fd, name, access, segment)
                                   : STATUS_out_of_memory;
    if (status == STATUS_ok) {
        recipes->count++;
        if (recipe_segment_has_fd(segment) && ++recipes->with_fd > MAX_OPEN_FDS) {
            recipe_segment_close_fd(segment);
        }
    } else if (recipe_segment_is_damage(status) && recipes->unopened++ == 0) {
        recipes->reason = status;
    }
    return status;
}

/* How exact the time of a folder is: FAT counts two seconds. */
#define FOLDER_TIME_S 2

/* What is created once a listing has begun may be missing in it, as on Btrfs, and what that
 * replaces as well. */
static bool recipes_have_changed(const struct recipes *recipes, time_t since)
{
    struct stat status;
    return fstat(recipes->folder.fd, &status) == 0 &&
           status.st_mtim.tv_sec >= since - FOLDER_TIME_S;
}

/* What one listing has shown. */
struct recipes_listed {
    time_t begun;
    uint64_t sum;          /* two listings of the same segments have the same */
    char gone[NAMES_SIZE]; /* the first that was gone when it was opened; "": none was */
};

static uint64_t recipes_sum_listed(const struct recipes *recipes)
{
    AUTO_LISTING DIR *listing = listing_open(recipes->folder.fd, ".");
    const char *name;
    uint64_t sum = 0;
    while ((name = recipe_folder_next_segment(listing))) {
        sum += text_parse_hex(name);
    }
    return sum;
}

/* Skips segments that cannot be opened. Of a folder that cannot be read to its end nothing is
 * known: what was not listed would be recorded again. */
static enum status recipes_open_listed(struct recipes *recipes, enum recipes_access access,
                                       struct recipes_listed *ret_listed)
{
    *ret_listed = (struct recipes_listed){.begun = time(NULL)};
    AUTO_LISTING DIR *listing = listing_open(recipes->folder.fd, ".");
    if (!listing) {
        return status_from_errno(errno);
    }
    const char *name = "";
    enum status status = STATUS_ok;
    while (status != STATUS_out_of_memory && recipes->count < MAX_SEGMENTS &&
           (name = recipe_folder_next_segment(listing))) {
        ret_listed->sum += text_parse_hex(name);
        status = recipes_add_segment(recipes, name, access);
        if (status == STATUS_no_file && !*ret_listed->gone) {
            snprintf(ret_listed->gone, NAMES_SIZE, "%s", name);
        }
    }
    return status == STATUS_out_of_memory        ? status
           : !name && errno != 0                 ? status_from_errno(errno)
           : recipes->count || recipes->unopened ? STATUS_ok
                                                 : STATUS_no_file;
}

/* Whether there may be more than was opened. Of a segment that was gone, compacted meanwhile, the
 * records are in one that may not have been listed; what is listed again and still not there is not
 * there. */
static bool recipes_may_lack(const struct recipes *recipes, const struct recipes_listed *listed,
                             const struct recipes_listed *before)
{
    return (*listed->gone && strcmp(listed->gone, before->gone) != 0) ||
           (recipes_have_changed(recipes, listed->begun) &&
            recipes_sum_listed(recipes) != listed->sum);
}

static enum status recipes_open_segments(struct recipes *recipes, enum recipes_access access)
{
    enum status status = STATUS_no_file;
    struct recipes_listed before, listed = {0};
    for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        before = listed;
        recipes_close_segments(recipes);
        status = recipes_open_listed(recipes, access, &listed);
        if ((status != STATUS_ok && status != STATUS_no_file) || recipes->count >= MAX_SEGMENTS ||
            !recipes_may_lack(recipes, &listed, &before)) {
            break;
        }
    }
    return status;
}

enum status recipes_open(const char *root, const char *app, enum recipes_access access,
                         struct recipes **ret_recipes)
{
    struct recipes *recipes = recipes_new();
    if (!recipes) {
        return STATUS_out_of_memory;
    }
    int folder_fd;
    enum status status = recipe_folder_open(root, app, false, &folder_fd);
    if (status == STATUS_ok) {
        recipes->folder = file_keep(folder_fd);
        status = recipes_open_segments(recipes, access);
    }
    if (recipes->with_fd <= MAX_OPEN_FDS) {
        file_kept_close(&recipes->folder);
    }
    if (status == STATUS_ok) {
        *ret_recipes = recipes;
    } else {
        recipes_close(recipes);
    }
    return status;
}

enum status recipes_open_file(const char *path, struct recipes **recipes)
{
    struct recipes *opened = *recipes ? *recipes : recipes_new();
    struct recipe_segment *segment = opened ? recipes_reserve_segment(opened) : NULL;
    const enum status status =
        segment ? recipe_segment_read_any(path, segment) : STATUS_out_of_memory;
    if (status == STATUS_ok) {
        opened->count++;
        *recipes = opened;
    } else if (!*recipes) {
        recipes_close(opened);
    }
    return status;
}

const struct recipe_segment *recipes_last(const struct recipes *recipes)
{
    return &recipes->segments[recipes->count - 1];
}

bool recipes_have(const struct recipes *recipes, enum recipe_kind kind, struct digest digest)
{
    for (size_t i = 0; i < recipes->count; i++) {
        if (recipe_segment_has(&recipes->segments[i], kind, digest)) {
            return true;
        }
    }
    return false;
}

bool recipes_find(const struct recipes *recipes, enum recipe_kind kind, struct digest digest,
                  const void **ret_data, size_t *ret_size)
{
    struct recipe_record record;
    for (size_t i = 0; i < recipes->count; i++) {
        if (recipe_segment_find(&recipes->segments[i], kind, digest, &record)) {
            *ret_data = record.data;
            *ret_size = record.size;
            return true;
        }
    }
    return false;
}

size_t recipes_uses(const struct recipes *recipes, const struct recipe_use **ret_uses)
{
    /* Read when they are first asked for, and never changed afterwards. */
    struct recipes *own = (struct recipes *)(uintptr_t)recipes;
    pthread_mutex_lock(&own->lock);
    for (size_t i = 0; !own->uses_known && i < own->count; i++) {
        recipe_segment_add_uses(&own->segments[i], &own->uses);
    }
    if (!own->uses_known) {
        recipe_uses_fold(&own->uses);
        own->uses_known = true;
    }
    pthread_mutex_unlock(&own->lock);
    *ret_uses = own->uses.uses;
    return own->uses.count;
}

unsigned recipes_inline_stages(const struct recipes *recipes, struct digest environment,
                               struct digest pipeline)
{
    const struct recipe_use *use = recipe_uses_find(&recipes->uses, environment, pipeline);
    return use ? use->inline_stages : 0;
}

void recipes_detach(struct recipes *recipes)
{
    const struct recipe_use *uses;
    recipes_uses(recipes, &uses);
    for (size_t i = 0; i < recipes->count; i++) {
        recipe_segment_detach(&recipes->segments[i]);
    }
    file_kept_close(&recipes->folder);
}

uint64_t recipes_size(const struct recipes *recipes)
{
    uint64_t size = 0;
    for (size_t i = 0; i < recipes->count; i++) {
        size += recipes->segments[i].size;
    }
    return size;
}

struct recipe_damage recipes_damage(const struct recipes *recipes)
{
    struct recipe_damage damage = {.segments = recipes->unopened, .reason = recipes->reason};
    for (size_t i = 0; i < recipes->count; i++) {
        damage.records += recipe_segment_damaged(&recipes->segments[i]);
    }
    if (damage.segments == 0) {
        damage.reason = recipes->uses.failed ? STATUS_out_of_memory
                        : damage.records > 0 ? STATUS_bad_record
                                             : STATUS_ok;
    }
    return damage;
}
