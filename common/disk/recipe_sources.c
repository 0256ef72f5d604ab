#include "recipe_sources.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file_owned.h"
#include "recipe_folder.h"

#define MAX_SEGMENTS ((size_t)1024)

/* Room for one more in all lists. False: out of memory. */
static bool reserve(struct recipe_sources *sources)
{
    const size_t count = sources->count + 1;
    struct recipe_segment *segments =
        reallocarray(sources->segments, count, sizeof *sources->segments);
    sources->segments = segments ? segments : sources->segments;
    char(*names)[32] = reallocarray(sources->names, count, sizeof *sources->names);
    sources->names = names ? names : sources->names;
    int *fds = reallocarray(sources->fds, count, sizeof *sources->fds);
    sources->fds = fds ? fds : sources->fds;
    return segments && names && fds;
}

static bool is_own(int fd, struct stat *ret_status)
{
    return fstat(fd, ret_status) == 0 && ret_status->st_uid == geteuid();
}

static enum reason add(struct recipe_sources *sources, int folder_fd, const char *name)
{
    struct stat status;
    if (!reserve(sources)) {
        return REASON_out_of_memory;
    }
    struct recipe_segment *segment = &sources->segments[sources->count];
    int fd = sources->held < RECIPE_SOURCES_MAX ? file_open_abandoned(folder_fd, name) : -1;
    if (fd >= 0 && (!is_own(fd, &status) || status.st_size == 0)) {
        if (is_own(fd, &status)) {
            unlinkat(folder_fd, name, 0);
        }
        close(fd);
        return REASON_no_file;
    }
    const enum reason reason = recipe_segment_open(folder_fd, name, RECIPES_READ, segment);
    if (reason != REASON_ok) {
        if (fd >= 0) {
            close(fd);
        }
        return reason;
    }
    sources->fds[sources->count] = fd;
    memcpy(sources->names[sources->count], name, strlen(name) + 1);
    sources->held += fd >= 0;
    *(fd >= 0 ? &sources->bytes_held : &sources->bytes_beside) += segment->size;
    sources->count++;
    return REASON_ok;
}

static bool make_inputs(struct recipe_sources *sources)
{
    sources->inputs = calloc(sources->count + 1, sizeof *sources->inputs);
    for (size_t i = 0; sources->inputs && i < sources->count; i++) {
        sources->inputs[i] = (struct recipe_merge_input){
            .segment = &sources->segments[i],
            .stays = sources->fds[i] < 0,
        };
    }
    return sources->inputs;
}

enum reason recipe_sources_open(int folder_fd, struct recipe_sources *ret_sources)
{
    struct recipe_sources *sources = ret_sources;
    *sources = (struct recipe_sources){0};
    DIR *listing = listing_open(folder_fd, ".");
    if (!listing) {
        return reason_from_errno(errno);
    }
    const char *name;
    enum reason reason = REASON_ok;
    while (reason != REASON_out_of_memory && sources->count < MAX_SEGMENTS &&
           (name = recipe_folder_next_segment(listing))) {
        reason = add(sources, folder_fd, name);
    }
    closedir(listing);
    return reason == REASON_out_of_memory || !make_inputs(sources) ? REASON_out_of_memory
                                                                   : REASON_ok;
}

void recipe_sources_leave_largest(struct recipe_sources *sources)
{
    size_t largest = 0;
    for (size_t i = 1; i < sources->count; i++) {
        const bool held = sources->fds[i] >= 0;
        if (held && (sources->fds[largest] < 0 ||
                     sources->segments[i].size > sources->segments[largest].size)) {
            largest = i;
        }
    }
    if (sources->held == 0 || sources->segments[largest].size <= sources->bytes_held / 2) {
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
