// SPDX-License-Identifier: Apache-2.0
/* The graph of merge.h. */
#include <stdlib.h>

#include "common/base/bytes.h"
#include "common/codec/canonical.h"
#include "common/recipes/merge.h"

/* Longest chain of references: pipeline, library, layout, set layout, sampler, conversion. Bounds
 * the stack of a walk. */
#define MAX_HEIGHT 16

static bool graph_add_node(struct recipe_graph *graph, const struct recipe_node *node)
{
    const bool has_room = array_reserve(&graph->nodes, graph->count, sizeof *node);
    if (has_room) {
        graph->nodes[graph->count++] = *node;
    }
    return has_room;
}

/* Adds what is intact and accepted. False: out of memory. */
static bool graph_add_checked(struct recipe_graph *graph, const struct recipe_merge_limits *limits,
                              size_t input, unsigned kind)
{
    struct recipe_node node = {.input = input};
    size_t at = SIZE_MAX;
    while (recipe_segment_next_of(graph->inputs[input].segment, kind, &at, &node.record)) {
        const bool accepted =
            node.record.data && (!limits->accepts || limits->accepts(limits->user, &node.record));
        graph->refused += node.record.data && !accepted;
        if (accepted && !graph_add_node(graph, &node)) {
            return false;
        }
    }
    return true;
}

/* Adds what the index of a segment that stays lists. False: out of memory. */
static bool graph_add_listed(struct recipe_graph *graph, size_t input, unsigned kind)
{
    struct recipe_node node = {.input = input, .stays = true};
    size_t at = SIZE_MAX;
    while (recipe_segment_list(graph->inputs[input].segment, kind, &at, &node.record)) {
        if (!graph_add_node(graph, &node)) {
            return false;
        }
    }
    return true;
}

static int graph_compare_node_keys(const void *left, const void *right)
{
    const struct recipe_record *a = &((const struct recipe_node *)left)->record;
    const struct recipe_record *b = &((const struct recipe_node *)right)->record;
    const int order = array_order_of(a->kind, b->kind);
    return order ? order : digest_compare(a->digest, b->digest);
}

/* Of equal ones those that are taken over come first: what stays may go in the next compaction. */
static int graph_compare_nodes(const void *left, const void *right)
{
    const struct recipe_node *a = left;
    const struct recipe_node *b = right;
    int order = graph_compare_node_keys(a, b);
    order = order ? order : a->stays - b->stays;
    order = order ? order : array_order_of(a->input, b->input);
    return order ? order : array_order_of(a->record.offset, b->record.offset);
}

bool recipe_graph_build(const struct recipe_merge_input *inputs, size_t count,
                        const struct recipe_merge_limits *limits, struct recipe_graph *ret_graph)
{
    struct recipe_graph *graph = ret_graph;
    *graph = (struct recipe_graph){.inputs = inputs};
    for (size_t i = 0; i < count; i++) {
        for (unsigned kind = RECIPE_CODE; kind <= RECIPE_ENVIRONMENT; kind++) {
            if (!(inputs[i].stays ? graph_add_listed(graph, i, kind)
                                  : graph_add_checked(graph, limits, i, kind))) {
                return false;
            }
        }
    }
    array_sort(graph->nodes, graph->count, sizeof *graph->nodes, graph_compare_nodes);
    graph->count =
        array_unique(graph->nodes, graph->count, sizeof *graph->nodes, graph_compare_node_keys);
    graph->trail = calloc(graph->count + 1, sizeof *graph->trail);
    return graph->trail;
}

void recipe_graph_free(struct recipe_graph *graph)
{
    free(graph->nodes);
    free(graph->trail);
    *graph = (struct recipe_graph){0};
}

struct recipe_node *recipe_graph_find(const struct recipe_graph *graph, unsigned kind,
                                      struct digest digest)
{
    const struct recipe_node key = {.record = {.kind = kind, .digest = digest}};
    return graph->count
               ? bsearch(&key, graph->nodes, graph->count, sizeof key, graph_compare_node_keys)
               : NULL;
}

bool recipe_graph_load(const struct recipe_graph *graph, struct recipe_node *node)
{
    return node->record.data ||
           recipe_segment_find(graph->inputs[node->input].segment, node->record.kind,
                               node->record.digest, &node->record);
}

/* Of the objects that a form makes. */
static VkObjectType graph_node_type(const struct recipe_node *node)
{
    return canonical_type_of(canonical_stype(node->record.data, node->record.size));
}

/* The node that a form refers to. NULL: there is none of this type. */
static struct recipe_node *graph_find_reference(const struct recipe_graph *graph, VkObjectType type,
                                                struct digest content)
{
    const bool is_code = type == VK_OBJECT_TYPE_UNKNOWN;
    struct recipe_node *node =
        recipe_graph_find(graph, is_code ? RECIPE_CODE : RECIPE_FORM, content);
    if (!node || is_code) {
        return node;
    }
    return recipe_graph_load(graph, node) && graph_node_type(node) == type ? node : NULL;
}

/* A walk over what one form refers to. */
struct visit {
    const struct recipe_graph *graph;
    unsigned depth;  /* of the form, from where the walk began */
    unsigned height; /* of the highest that it refers to, plus one */
    bool too_deep;   /* the walk was cut off */
};

static bool graph_node_is_complete(struct visit *from, struct recipe_node *node);

static bool graph_visit_reference(void *user, VkObjectType type, struct digest content)
{
    struct visit *visit = user;
    struct recipe_node *node = graph_find_reference(visit->graph, type, content);
    if (!node || !graph_node_is_complete(visit, node) || node->height + 1 >= MAX_HEIGHT) {
        return false;
    }
    visit->height = node->height + 1 > visit->height ? node->height + 1 : visit->height;
    return true;
}

/* A node that is met again while it is visited refers to itself. Where a walk was cut off, only the
 * node where it began is known to be too high. */
static bool graph_node_is_complete(struct visit *from, struct recipe_node *node)
{
    struct visit visit = {.graph = from->graph, .depth = from->depth + 1};
    if (node->state == RECIPE_NODE_NEW) {
        node->state = RECIPE_NODE_VISITED;
        visit.too_deep = visit.depth > MAX_HEIGHT;
        const bool complete =
            node->record.kind == RECIPE_CODE ||
            (!visit.too_deep && canonical_references(node->record.data, node->record.size,
                                                     graph_visit_reference, &visit));
        node->state = complete                            ? RECIPE_NODE_COMPLETE
                      : visit.too_deep && visit.depth > 1 ? RECIPE_NODE_NEW
                                                          : RECIPE_NODE_INCOMPLETE;
        node->height = visit.height;
    }
    from->too_deep = from->too_deep || visit.too_deep;
    return node->state == RECIPE_NODE_COMPLETE;
}

bool recipe_graph_is_pipeline(const struct recipe_graph *graph, struct recipe_node *node)
{
    struct visit visit = {.graph = graph};
    return recipe_graph_load(graph, node) && graph_node_type(node) == VK_OBJECT_TYPE_PIPELINE &&
           graph_node_is_complete(&visit, node);
}

struct keeping {
    struct recipe_graph *graph;
    uint64_t bytes;
};

static void graph_keep_node(struct keeping *keeping, struct recipe_node *node);

static bool graph_keep_reference(void *user, VkObjectType type, struct digest content)
{
    struct keeping *keeping = user;
    struct recipe_node *node = graph_find_reference(keeping->graph, type, content);
    if (node) { /* always, in what is complete */
        graph_keep_node(keeping, node);
    }
    return true;
}

static void graph_keep_node(struct keeping *keeping, struct recipe_node *node)
{
    if (node->kept) {
        return;
    }
    struct recipe_graph *graph = keeping->graph;
    node->kept = true;
    graph->trail[graph->kept++] = (size_t)(node - graph->nodes);
    keeping->bytes +=
        node->stays ? 0 : recipe_record_extent(node->record.size) + RECIPE_INDEX_ENTRY;
    if (node->record.kind == RECIPE_FORM) {
        canonical_references(node->record.data, node->record.size, graph_keep_reference, keeping);
    }
}

uint64_t recipe_graph_keep(struct recipe_graph *graph, struct recipe_node *node)
{
    struct keeping keeping = {.graph = graph};
    graph_keep_node(&keeping, node);
    return keeping.bytes;
}

void recipe_graph_undo(struct recipe_graph *graph, size_t kept)
{
    while (graph->kept > kept) {
        graph->nodes[graph->trail[--graph->kept]].kept = false;
    }
}
