// SPDX-License-Identifier: Apache-2.0
/* Merging segments into one, because each process leaves a segment behind.
 *
 *     recipe_sources_open → recipe_merge → write merged.parts → recipe_merge_free
 *         → recipe_sources_close
 *
 * recipe_compact, recipe_prune and recipe_add do all of it in a program's folder. States of a
 * segment in the folder, for compaction:
 *
 *     1 living   its process has it locked; it stays as it is
 *     2 dead     it can be locked, shared (recipe_sources_open: "held")
 *     3 merged   the new segment, which has its records, is on disk (recipe_merge,
 *                compact_write_segment)
 *     4 gone     removed (compact_rewrite_sources)
 *
 * All of it happens under the folder's lock. The new segment is written whole and renamed before
 * the old ones are removed: a process that dies in between leaves both, and the next compaction
 * merges them. What cannot be read, because it is foreign or newer, is left as it is. */
#ifndef WARMPIPE_RECIPES_MERGE_H
#define WARMPIPE_RECIPES_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/recipes/segment.h"

struct recipe_graph;

struct recipe_merge_input {
    const struct recipe_segment *segment; /* borrowed as long as the merge */
    bool stays; /* it stays beside the new segment: its records are not copied, others may refer to
                   them, and what it refers to is kept */
};

struct recipe_merge_limits {
    uint32_t oldest_day; /* uses whose last day is older are dropped; 0: none */
    uint64_t max_size; /* bytes, UINT64_MAX: no limit; what was used on the fewest days goes first,
                        * then what was unused for longest, then what compiled fastest */
    /* Whether a record may be taken over, besides the usual checks; NULL: yes. */
    bool (*accepts)(void *user, const struct recipe_record *record);
    /* Whether a pipeline may be, of which everything is in the graph; NULL: yes. */
    bool (*accepts_pipeline)(void *user, const struct recipe_graph *graph, struct digest pipeline);
    void *user;
    /* The recipes come from elsewhere: their compile times, and whether something was saved, mean
     * nothing here and may be false. The uses are taken over without them. */
    bool foreign;
};

struct recipe_merge_counts {
    uint64_t pipelines;  /* in the new segment */
    uint64_t modules;    /* in the new segment, of SPIR-V */
    uint64_t old_uses;   /* dropped because of their age */
    uint64_t too_many;   /* pipelines dropped because of the size */
    uint64_t incomplete; /* pipelines dropped: something is missing or malformed */
    uint64_t refused;    /* records that `accepts`, and pipelines that `accepts_pipeline` refused */
    uint64_t damaged;    /* damaged records, of segments that do not stay */
};

struct recipe_merged {
    struct iovec *parts;
    size_t part_count;
    uint64_t size; /* of all parts; 0: nothing is left to write */
    struct recipe_merge_counts counts;
    struct bytes head;
    struct bytes tail;
};

/* Makes the parts of one sealed segment: each record once, uses folded. Drops what is damaged, what
 * nothing refers to, and incomplete pipelines (so that they are recorded again). Copies only
 * headers and uses; the other parts point into the segments. No I/O. Belongs to one thread.
 * STATUS_ok, out_of_memory. ret_merge is freed with recipe_merge_free. */
enum status recipe_merge(const struct recipe_merge_input *inputs, size_t count,
                         const struct recipe_merge_limits *limits, struct recipe_merged *ret_merge);

void recipe_merge_free(struct recipe_merged *merge);

/* The graph: which form refers to which forms and code.
 *
 * Records may be hostile: a reference that leads nowhere, to another kind of object or in a circle
 * makes a form incomplete. Belongs to one thread. */

enum recipe_node_state {
    RECIPE_NODE_NEW,
    RECIPE_NODE_VISITED, /* is being visited, or is part of a circle */
    RECIPE_NODE_COMPLETE,
    RECIPE_NODE_INCOMPLETE
};

struct recipe_node {
    struct recipe_record record; /* intact; data is NULL until it is read, if its segment stays */
    size_t input;
    enum recipe_node_state state;
    unsigned height; /* of a complete one: references from it to the farthest that it needs */
    bool stays;      /* in a segment that stays: not to be taken over */
    bool kept;
};

struct recipe_graph {
    const struct recipe_merge_input *inputs;
    struct recipe_node *nodes; /* by kind and digest, each once */
    size_t count;
    size_t *trail; /* the nodes that were kept, in that order; room for all */
    size_t kept;
    uint64_t refused; /* records that limits->accepts refused */
};

/* Builds a graph of all intact records of code, forms and environments that limits->accepts; of
 * segments that stay, of all that the index lists: only forms that something refers to are read.
 * False: out of memory. Freed with recipe_graph_free in any case. */
bool recipe_graph_build(const struct recipe_merge_input *inputs, size_t count,
                        const struct recipe_merge_limits *limits, struct recipe_graph *ret_graph);
void recipe_graph_free(struct recipe_graph *graph);

/* NULL: there is none. */
struct recipe_node *recipe_graph_find(const struct recipe_graph *graph, unsigned kind,
                                      struct digest digest);

/* Reads the record of a segment that stays into the node, which must be one of the graph's. False:
 * it is damaged. */
bool recipe_graph_load(const struct recipe_graph *graph, struct recipe_node *node);

/* Whether the node is the form of a pipeline, and all that it refers to is there. */
bool recipe_graph_is_pipeline(const struct recipe_graph *graph, struct recipe_node *node);

/* Keeps a complete node with all that it refers to. The bytes by which records and index grow, not
 * counting records that stay elsewhere. */
uint64_t recipe_graph_keep(struct recipe_graph *graph, struct recipe_node *node);

/* Undoes all but the first `kept` that were kept. */
void recipe_graph_undo(struct recipe_graph *graph, size_t kept);

/* The segments of a folder, open for a merge. */

/* How much of the folder is held at most; the rest stays. */
struct recipe_sources_limits {
    size_t segments; /* each takes a descriptor; as many of those that stay take one too */
    uint64_t bytes;
    bool keeps_empty; /* nothing is removed, nor sealed */
};

struct recipe_source {
    struct recipe_segment segment;
    char name[32];
    uint64_t size;
    int fd; /* the lock of a segment that is held; -1: it stays */
};

struct recipe_sources {
    struct recipe_source *sources; /* the smallest first */
    struct recipe_merge_input *inputs;
    int lock_fd; /* the folder's lock, released with the sources; -1: not theirs */
    size_t count;
    size_t held;
    uint64_t bytes_held;
    uint64_t bytes_beside;
    uint64_t unopened; /* segments that have lost something and could not be opened */
    bool failed;       /* one of them because memory lacked, a disk failed, or it is too large */
};

/* Opens all segments that can be read, and locks those of dead processes, so that nobody resumes
 * them. Unless limits say otherwise, removes empty ones, whose process died before it wrote, and
 * seals large ones that have no index (recipe_segment_seal_left): then under the folder's lock.
 * folder_fd stays open until recipe_sources_close. STATUS_ok, out_of_memory, io_error. Freed with
 * recipe_sources_close in any case. Belongs to one thread. */
enum status recipe_sources_open(int folder_fd, const struct recipe_sources_limits *limits,
                                struct recipe_sources *ret_sources);

void recipe_sources_close(struct recipe_sources *sources);

/* Compaction of a program's folder.
 *
 * Reads all that it writes, so call it off the program's threads. Nothing here logs. Thread-safe;
 * of several processes at once one compacts, the others get `locked`. */

struct recipe_compaction {
    uint64_t bytes_before; /* of the segments that could be changed */
    uint64_t bytes_after;
    uint64_t bytes_beside; /* of the others */
    struct recipe_merge_counts counts;
};

/* Makes one segment of those that dead processes left, if they are more than four; one that is
 * larger than all others together stays. The smallest go first, at most 32 segments and 32 MiB at a
 * time, so that a process that ends meanwhile has done some of the work. Removes the temporary
 * files of dead processes. STATUS_ok also if there was nothing to do. *ret_compaction describes the
 * last step; it may be NULL. */
enum status recipe_compact(const char *root, const char *app,
                           struct recipe_compaction *ret_compaction);

/* Merges all segments of dead processes within these limits; max_size is that of all segments,
 * including those that cannot be changed. dry_run: only tells what would happen, without the lock,
 * which is a file: what another process compacts meanwhile may count twice, or not at all. limits
 * NULL: as recipe_compact. */
enum status recipe_prune(const char *root, const char *app,
                         const struct recipe_merge_limits *limits, bool dry_run,
                         struct recipe_compaction *ret_compaction);

/* Adds a merge as a segment of its own, such as imported recipes. */
enum status recipe_add(const char *root, const char *app, const struct recipe_merged *merge);

#endif
