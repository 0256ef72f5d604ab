#include "recipes.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "file.h"
#include "file_kept.h"
#include "recipe_folder.h"
#include "recipe_segment.h"
#include "recipe_uses.h"

/* Of one folder; compaction keeps it at a few. */
#define MAX_SEGMENTS ((size_t)1024)
#define MAX_ATTEMPTS 4

/* Descriptors are the program's, and few. */
#define MAX_HELD 32

struct recipes {
    struct recipe_segment *segments;
    size_t count;
    size_t capacity;
    size_t held;             /* that have a descriptor */
    struct file_kept folder; /* for those that have none */
    uint64_t dropped;        /* while they were opened */
    uint64_t unopened;
    enum reason reason; /* why the first of them was not */

    pthread_mutex_t lock; /* of what follows */
    bool uses_known;
    struct recipe_uses uses;
    uint8_t **bad; /* of each segment, a bit for each entry of its index; NULL: none is */
    uint64_t bad_count;
};

static struct recipes *new_recipes(void)
{
    struct recipes *recipes = calloc(1, sizeof *recipes);
    if (recipes) {
        pthread_mutex_init(&recipes->lock, NULL);
        recipes->folder.fd = -1;
    }
    return recipes;
}

static void close_segments(struct recipes *recipes)
{
    for (size_t i = 0; i < recipes->count; i++) {
        recipe_segment_close(&recipes->segments[i]);
    }
    recipes->count = 0;
    recipes->held = 0;
    recipes->dropped = 0;
    recipes->unopened = 0;
}

void recipes_close(struct recipes *recipes)
{
    if (!recipes) {
        return;
    }
    for (size_t i = 0; recipes->bad && i < recipes->count; i++) {
        free(recipes->bad[i]);
    }
    free(recipes->bad);
    close_segments(recipes);
    file_kept_close(&recipes->folder);
    free(recipes->segments);
    recipe_uses_free(&recipes->uses);
    pthread_mutex_destroy(&recipes->lock);
    free(recipes);
}

/* Room for one segment more; NULL: out of memory. */
static struct recipe_segment *reserve_segment(struct recipes *recipes)
{
    if (recipes->count == recipes->capacity) {
        const size_t capacity = recipes->capacity ? recipes->capacity * 2 : 8;
        struct recipe_segment *more = reallocarray(recipes->segments, capacity, sizeof *more);
        if (!more) {
            return NULL;
        }
        recipes->segments = more;
        recipes->capacity = capacity;
    }
    return &recipes->segments[recipes->count];
}

static enum reason add_segment(struct recipes *recipes, const char *name,
                               enum recipes_access access)
{
    struct recipe_segment *segment = reserve_segment(recipes);
    const enum reason reason = segment
                                   ? recipe_segment_open(recipes->folder.fd, name, access, segment)
                                   : REASON_out_of_memory;
    if (reason == REASON_ok) {
        recipes->dropped += segment->dropped;
        recipes->count++;
        if (recipe_segment_is_held(segment) && ++recipes->held > MAX_HELD) {
            recipe_segment_rest(segment);
        }
    } else if (recipe_segment_is_damage(reason) && recipes->unopened++ == 0) {
        recipes->reason = reason;
    }
    return reason;
}

/* Whatever else is wrong with a segment, it is passed over. *ret_missed: one was gone by the time
 * that it was opened. */
static enum reason open_listed(struct recipes *recipes, enum recipes_access access,
                               bool *ret_missed)
{
    DIR *listing = listing_open(recipes->folder.fd, ".");
    if (!listing) {
        return reason_from_errno(errno);
    }
    const char *name;
    enum reason reason = REASON_ok;
    *ret_missed = false;
    while (reason != REASON_out_of_memory && recipes->count < MAX_SEGMENTS &&
           (name = recipe_folder_next_segment(listing))) {
        reason = add_segment(recipes, name, access);
        *ret_missed = *ret_missed || reason == REASON_no_file;
    }
    closedir(listing);
    return reason == REASON_out_of_memory ? reason : recipes->count ? REASON_ok : REASON_no_file;
}

static enum reason open_segments(struct recipes *recipes, enum recipes_access access)
{
    enum reason reason;
    bool missed;
    int attempt = 0;
    do {
        /* Compacted meanwhile: what was in it is in one that may not have been listed. */
        close_segments(recipes);
        reason = open_listed(recipes, access, &missed);
    } while (missed && ++attempt < MAX_ATTEMPTS);
    return reason;
}

enum reason recipes_open(const char *root, const char *app, enum recipes_access access,
                         struct recipes **ret_recipes)
{
    int folder_fd;
    enum reason reason = recipe_folder_open(root, app, false, &folder_fd);
    if (reason != REASON_ok) {
        return reason;
    }
    struct recipes *recipes = new_recipes();
    if (!recipes) {
        close(folder_fd);
        return REASON_out_of_memory;
    }
    recipes->folder = file_keep(folder_fd);
    reason = open_segments(recipes, access);
    if (recipes->held <= MAX_HELD) {
        file_kept_close(&recipes->folder);
    }
    if (reason == REASON_ok) {
        *ret_recipes = recipes;
    } else {
        recipes_close(recipes);
    }
    return reason;
}

enum reason recipes_open_file(const char *path, struct recipes **ret_recipes)
{
    uint8_t *data;
    size_t size;
    enum reason reason = file_read_any(path, RECIPES_MAX_FILE, &data, &size);
    if (reason != REASON_ok) {
        return reason;
    }
    struct recipes *recipes = new_recipes();
    struct recipe_segment *segment = recipes ? reserve_segment(recipes) : NULL;
    reason = segment ? recipe_segment_take(data, size, segment) : REASON_out_of_memory;
    if (reason != REASON_ok) {
        free(data);
        recipes_close(recipes);
        return reason;
    }
    recipes->dropped = segment->dropped;
    recipes->count = 1;
    *ret_recipes = recipes;
    return REASON_ok;
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

/* Under the lock. Counts what an entry leads to once. Out of memory: it is not counted. */
static void note_bad(struct recipes *recipes, size_t segment, size_t at)
{
    if (!recipes->bad) {
        recipes->bad = calloc(recipes->count, sizeof *recipes->bad);
    }
    uint8_t **bits = recipes->bad ? &recipes->bad[segment] : NULL;
    if (bits && !*bits) {
        *bits = calloc(recipes->segments[segment].index.count / 8 + 1, 1);
    }
    if (bits && *bits && !((*bits)[at / 8] >> at % 8 & 1)) {
        (*bits)[at / 8] |= (uint8_t)(1 << at % 8);
        recipes->bad_count++;
    }
}

/* An open one is changed by its own lock only: what callers see of it is constant. */
static struct recipes *unlocked(const struct recipes *recipes)
{
    return (struct recipes *)(uintptr_t)recipes;
}

bool recipes_find(const struct recipes *recipes, enum recipe_kind kind, struct digest digest,
                  const void **ret_data, size_t *ret_size)
{
    for (size_t i = 0; i < recipes->count; i++) {
        struct recipe_record record;
        size_t at = SIZE_MAX;
        while (recipe_segment_next(&recipes->segments[i], kind, digest, &at, &record)) {
            if (record.data) {
                *ret_data = record.data;
                *ret_size = record.size;
                return true;
            }
            struct recipes *own = unlocked(recipes);
            pthread_mutex_lock(&own->lock);
            note_bad(own, i, at);
            pthread_mutex_unlock(&own->lock);
        }
    }
    return false;
}

/* Under the lock. */
static void read_uses(struct recipes *recipes)
{
    for (size_t i = 0; i < recipes->count; i++) {
        struct recipe_record record;
        size_t at = SIZE_MAX;
        while (recipe_segment_next_of(&recipes->segments[i], RECIPE_USES, &at, &record)) {
            if (!record.data || !recipe_uses_add_record(&recipes->uses, record.data, record.size)) {
                note_bad(recipes, i, at);
            }
        }
    }
    recipe_uses_fold(&recipes->uses);
}

/* Read when they are first asked for, and never changed afterwards. */
static const struct recipe_uses *uses_of(const struct recipes *recipes)
{
    struct recipes *own = unlocked(recipes);
    pthread_mutex_lock(&own->lock);
    if (!own->uses_known) {
        read_uses(own);
        own->uses_known = true;
    }
    pthread_mutex_unlock(&own->lock);
    return &own->uses;
}

void recipes_detach(struct recipes *recipes)
{
    uses_of(recipes);
    for (size_t i = 0; i < recipes->count; i++) {
        recipe_segment_detach(&recipes->segments[i]);
    }
    file_kept_close(&recipes->folder);
}

size_t recipes_uses(const struct recipes *recipes, const struct recipe_use **ret_uses)
{
    const struct recipe_uses *uses = uses_of(recipes);
    *ret_uses = uses->uses;
    return uses->count;
}

const struct recipe_use *recipes_find_use(const struct recipes *recipes, struct digest pipeline,
                                          struct digest environment)
{
    return recipe_uses_find(uses_of(recipes), pipeline, environment);
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
    struct recipes *own = unlocked(recipes);
    pthread_mutex_lock(&own->lock);
    const uint64_t records = own->dropped + own->bad_count;
    pthread_mutex_unlock(&own->lock);
    return (struct recipe_damage){
        .records = records,
        .segments = recipes->unopened,
        .reason = recipes->unopened ? recipes->reason
                  : records         ? REASON_bad_record
                                    : REASON_ok,
    };
}
