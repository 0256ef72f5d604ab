/* The records of several segments as a graph: which form refers to which forms and code. Records
 * may be hostile: references that lead nowhere, to another kind of object or in a circle make a
 * form incomplete. Belongs to one thread. */
#ifndef WARMPIPE_DISK_RECIPE_GRAPH_H
#define WARMPIPE_DISK_RECIPE_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recipe_merge.h"

enum recipe_node_state {
    RECIPE_NODE_NEW,
    RECIPE_NODE_VISITED, /* now, or in a circle */
    RECIPE_NODE_COMPLETE,
    RECIPE_NODE_INCOMPLETE
};

struct recipe_node {
    struct recipe_record
        record; /* intact; of a segment that stays, data is NULL until it is read */
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
    size_t capacity;
    size_t *trail; /* which were kept, in that order; room for all */
    size_t kept;
    uint64_t damaged;
    uint64_t refused;
};

/* All intact records of code, forms and environments that limits->accepts; of segments that stay,
 * all that their index tells of: only forms are read, when they are referred to. False: out of
 * memory. Freed with recipe_graph_free in any case. */
bool recipe_graph_build(const struct recipe_merge_input *inputs, size_t count,
                        const struct recipe_merge_limits *limits, struct recipe_graph *ret_graph);
void recipe_graph_free(struct recipe_graph *graph);

/* NULL: there is none. */
struct recipe_node *recipe_graph_find(const struct recipe_graph *graph, unsigned kind,
                                      struct digest digest);

/* Whether the node is the form of a pipeline, and all that it refers to is there. */
bool recipe_graph_is_pipeline(const struct recipe_graph *graph, struct recipe_node *node);

/* Keeps a complete node with all that it refers to. The bytes that records and index grow by, those
 * that stay elsewhere not counted. */
uint64_t recipe_graph_keep(struct recipe_graph *graph, struct recipe_node *node);

/* Keeps no more what was kept after the first `kept`. */
void recipe_graph_undo(struct recipe_graph *graph, size_t kept);

#endif
