#include "recipe_sources.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file_owned.h"
#include "recipe_folder.h"

#define MAX_SEGMENTS ((size_t)1024)

/* A name of the folder's listing. */
struct listed {
    uint64_t size;
    char name[32];
};

static int compare(const void *left, const void *right)
{
    const struct listed *a = left;
    const struct listed *b = right;
    const int order = (a->size > b->size) - (a->size < b->size);
    return order ? order : strcmp(a->name, b->name);
}

/* The smallest first: little is written, and there are most of them. NULL: out of memory, or it
 * cannot be listed. Freed by the caller. */
static struct listed *list(int folder_fd, size_t *ret_count)
{
    DIR *listing = listing_open(folder_fd, ".");
    struct listed *all = listing ? calloc(MAX_SEGMENTS, sizeof *all) : NULL;
    const char *name;
    struct stat status;
    size_t count = 0;
    while (all && count < MAX_SEGMENTS && (name = recipe_folder_next_segment(listing))) {
        if (fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
            all[count].size = (uint64_t)status.st_size;
            memcpy(all[count++].name, name, strlen(name) + 1);
        }
    }
    if (listing) {
        closedir(listing);
    }
    if (count > 0) {
        qsort(all, count, sizeof *all, compare);
    }
    *ret_count = count;
    return all;
}

/* Room in all lists. False: out of memory. */
static bool reserve(struct recipe_sources *sources, size_t count)
{
    sources->segments = calloc(count + 1, sizeof *sources->segments);
    sources->inputs = calloc(count + 1, sizeof *sources->inputs);
    sources->names = calloc(count + 1, sizeof *sources->names);
    sources->fds = calloc(count + 1, sizeof *sources->fds);
    return sources->segments && sources->inputs && sources->names && sources->fds;
}

static bool is_own(int fd, struct stat *ret_status)
{
    return fstat(fd, ret_status) == 0 && ret_status->st_uid == geteuid();
}

static bool has_room(const struct recipe_sources *sources, const struct recipe_bite *bite,
                     uint64_t size)
{
    return sources->held < bite->segments && size <= bite->bytes &&
           sources->bytes_held <= bite->bytes - size;
}

static enum reason add(struct recipe_sources *sources, int folder_fd,
                       const struct recipe_bite *bite, const struct listed *listed)
{
    struct stat status;
    const size_t place = sources->count;
    struct recipe_segment *segment = &sources->segments[place];
    int fd =
        has_room(sources, bite, listed->size) ? file_open_abandoned(folder_fd, listed->name) : -1;
    if (fd >= 0 && (!is_own(fd, &status) || status.st_size == 0)) {
        if (is_own(fd, &status)) {
            unlinkat(folder_fd, listed->name, 0);
        }
        close(fd);
        return REASON_no_file;
    }
    const enum reason reason = recipe_segment_open(folder_fd, listed->name, RECIPES_READ, segment);
    if (reason != REASON_ok) {
        if (fd >= 0) {
            close(fd);
        }
        return reason;
    }
    if (recipe_segment_is_held(segment)) {
        recipe_segment_rest(segment);
    }
    sources->fds[place] = fd;
    sources->inputs[place] = (struct recipe_merge_input){.segment = segment, .stays = fd < 0};
    memcpy(sources->names[place], listed->name, sizeof listed->name);
    sources->held += fd >= 0;
    *(fd >= 0 ? &sources->bytes_held : &sources->bytes_beside) += segment->size;
    sources->count++;
    return REASON_ok;
}

enum reason recipe_sources_open(int folder_fd, const struct recipe_bite *bite,
                                struct recipe_sources *ret_sources)
{
    struct recipe_sources *sources = ret_sources;
    *sources = (struct recipe_sources){0};
    size_t count;
    struct listed *listed = list(folder_fd, &count);
    enum reason reason = listed && reserve(sources, count) ? REASON_ok : REASON_out_of_memory;
    for (size_t i = 0; i < count && reason != REASON_out_of_memory; i++) {
        reason = add(sources, folder_fd, bite, &listed[i]);
        sources->unopened += recipe_segment_is_damage(reason);
    }
    free(listed);
    return reason == REASON_out_of_memory ? reason : REASON_ok;
}

void recipe_sources_leave_largest(struct recipe_sources *sources)
{
    size_t largest = sources->count;
    while (largest > 0 && sources->fds[largest - 1] < 0) {
        largest--;
    }
    if (largest == 0 || sources->segments[--largest].size <= sources->bytes_held / 2) {
        return;
    }
    close(sources->fds[largest]);
    sources->fds[largest] = -1;
    sources->inputs[largest].stays = true;
    sources->held--;
    sources->bytes_held -= sources->segments[largest].size;
    sources->bytes_beside += sources->segments[largest].size;
}

void recipe_sources_remove(const struct recipe_sources *sources, int folder_fd)
{
    for (size_t i = 0; i < sources->count; i++) {
        if (sources->fds[i] >= 0) {
            unlinkat(folder_fd, sources->names[i], 0);
        }
    }
}

bool recipe_sources_failed(const struct recipe_sources *sources)
{
    bool failed = false;
    for (size_t i = 0; i < sources->count; i++) {
        failed |= recipe_segment_failed(&sources->segments[i]);
    }
    return failed;
}

void recipe_sources_close(struct recipe_sources *sources)
{
    for (size_t i = 0; i < sources->count; i++) {
        recipe_segment_close(&sources->segments[i]);
        if (sources->fds[i] >= 0) {
            close(sources->fds[i]);
        }
    }
    free(sources->segments);
    free(sources->inputs);
    free(sources->names);
    free(sources->fds);
    *sources = (struct recipe_sources){0};
}
