/* The segments of a folder, open for being merged, the smallest first: those of dead processes are
 * held, so that nobody else takes them for his. Belongs to one thread. */
#ifndef WARMPIPE_DISK_RECIPE_SOURCES_H
#define WARMPIPE_DISK_RECIPE_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/result.h"
#include "recipe_merge.h"

/* What is held at most; the rest stays beside. */
struct recipe_bite {
    size_t segments; /* each takes a descriptor */
    uint64_t bytes;
};

struct recipe_sources {
    struct recipe_segment *segments;
    struct recipe_merge_input *inputs; /* of the same places */
    char (*names)[32];
    int *fds; /* -1: it stays, for its process lives or the bite is full */
    size_t count;
    size_t held;
    uint64_t bytes_held;
    uint64_t bytes_beside;
    uint64_t unopened; /* segments that have lost something and could not be opened */
};

/* Opens all segments that can be read; folder_fd stays open until recipe_sources_close. Those that
 * are empty, for their process died before it wrote anything, are removed on the way. REASON_ok,
 * out_of_memory, io_error. Freed with recipe_sources_close. */
enum reason recipe_sources_open(int folder_fd, const struct recipe_bite *bite,
                                struct recipe_sources *ret_sources);

/* Lets go of the largest segment if it has more than all others that are held: what is written anew
 * each time is then in proportion to what is new. */
void recipe_sources_leave_largest(struct recipe_sources *sources);

/* Removes the files that are held. */
void recipe_sources_remove(const struct recipe_sources *sources, int folder_fd);

/* Whether a part of them could not be read. */
bool recipe_sources_failed(const struct recipe_sources *sources);

void recipe_sources_close(struct recipe_sources *sources);

#endif
