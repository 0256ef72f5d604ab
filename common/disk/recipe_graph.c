#include "recipe_graph.h"

#include <stdlib.h>

#include "codec/canonical.h"

/* Pipeline, library, layout, set layout, sampler, conversion: real ones are not higher than that,
 * and walks over them need no more stack. */
#define MAX_HEIGHT 16

static bool add_node(struct recipe_graph *graph, const struct recipe_node *node)
{
    if (graph->count == graph->capacity) {
        const size_t capacity = graph->capacity ? graph->capacity * 2 : 256;
        struct recipe_node *more = reallocarray(graph->nodes, capacity, sizeof *more);
        if (!more) {
            return false;
        }
        graph->nodes = more;
        graph->capacity = capacity;
    }
    graph->nodes[graph->count++] = *node;
    return true;
}

static bool add_checked(struct recipe_graph *graph, const struct recipe_merge_limits *limits,
                        size_t input, unsigned kind)
{
    struct recipe_node node = {.input = input};
    size_t at = SIZE_MAX;
    while (recipe_segment_next_of(graph->inputs[input].segment, kind, &at, &node.record)) {
        if (!node.record.data) {
            graph->damaged++;
        } else if (limits->accepts && !limits->accepts(limits->user, &node.record)) {
            graph->refused++;
        } else if (!add_node(graph, &node)) {
            return false;
        }
    }
    return true;
}

static bool add_listed(struct recipe_graph *graph, size_t input, unsigned kind)
{
    struct recipe_node node = {.input = input, .stays = true};
    size_t at = SIZE_MAX;
    while (recipe_segment_list(graph->inputs[input].segment, kind, &at, &node.record)) {
        if (!add_node(graph, &node)) {
            return false;
        }
    }
    return true;
}

static int compare_keys(const struct recipe_record *a, const struct recipe_record *b)
{
    int order = (a->kind > b->kind) - (a->kind < b->kind);
    order = order ? order : (a->digest.high > b->digest.high) - (a->digest.high < b->digest.high);
    return order ? order : (a->digest.low > b->digest.low) - (a->digest.low < b->digest.low);
}

/* Of equal ones first those that are taken over: what stays may go with the next compaction. */
static int compare_nodes(const void *left, const void *right)
{
    const struct recipe_node *a = left;
    const struct recipe_node *b = right;
    int order = compare_keys(&a->record, &b->record);
    order = order ? order : a->stays - b->stays;
    order = order ? order : (a->input > b->input) - (a->input < b->input);
    return order ? order
                 : (a->record.offset > b->record.offset) - (a->record.offset < b->record.offset);
}

static void drop_doubles(struct recipe_graph *graph)
{
    size_t kept = 0;
    for (size_t i = 0; i < graph->count; i++) {
        if (i == 0 || compare_keys(&graph->nodes[kept - 1].record, &graph->nodes[i].record) != 0) {
            graph->nodes[kept++] = graph->nodes[i];
        }
    }
    graph->count = kept;
}

bool recipe_graph_build(const struct recipe_merge_input *inputs, size_t count,
                        const struct recipe_merge_limits *limits, struct recipe_graph *ret_graph)
{
    struct recipe_graph *graph = ret_graph;
    *graph = (struct recipe_graph){.inputs = inputs};
    for (size_t i = 0; i < count; i++) {
        for (unsigned kind = RECIPE_CODE; kind <= RECIPE_ENVIRONMENT; kind++) {
            if (!(inputs[i].stays ? add_listed(graph, i, kind)
                                  : add_checked(graph, limits, i, kind))) {
                return false;
            }
        }
    }
    if (graph->count > 0) {
        qsort(graph->nodes, graph->count, sizeof *graph->nodes, compare_nodes);
    }
    drop_doubles(graph);
    graph->trail = calloc(graph->count + 1, sizeof *graph->trail);
    return graph->trail;
}

void recipe_graph_free(struct recipe_graph *graph)
{
    free(graph->nodes);
    free(graph->trail);
    *graph = (struct recipe_graph){0};
}

static int compare_for_find(const void *left, const void *right)
{
    return compare_keys(&((const struct recipe_node *)left)->record,
                        &((const struct recipe_node *)right)->record);
}

struct recipe_node *recipe_graph_find(const struct recipe_graph *graph, unsigned kind,
                                      struct digest digest)
{
    const struct recipe_node key = {.record = {.kind = kind, .digest = digest}};
    return graph->count ? bsearch(&key, graph->nodes, graph->count, sizeof key, compare_for_find)
                        : NULL;
}

/* False: it is damaged. */
static bool load(const struct recipe_graph *graph, struct recipe_node *node)
{
    const struct recipe_segment *segment = graph->inputs[node->input].segment;
    struct recipe_record record = node->record;
    size_t at = SIZE_MAX;
    while (!node->record.data &&
           recipe_segment_next(segment, record.kind, record.digest, &at, &record)) {
        node->record = record;
    }
    return node->record.data;
}

static VkStructureType stype_of(const struct recipe_node *node)
{
    return canonical_stype(node->record.data, node->record.size);
}

static bool is_pipeline(VkStructureType stype)
{
    return stype == VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO ||
           stype == VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO ||
           stype == VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR ||
           stype == VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_NV;
}

/* Whether a create-info makes objects of this type. */
static bool makes(VkStructureType stype, VkObjectType type)
{
    switch (type) {
    case VK_OBJECT_TYPE_SHADER_MODULE:
        return stype == VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    case VK_OBJECT_TYPE_DESCRIPTOR_SET_LAYOUT:
        return stype == VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    case VK_OBJECT_TYPE_PIPELINE_LAYOUT:
        return stype == VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    case VK_OBJECT_TYPE_SAMPLER:
        return stype == VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO;
    case VK_OBJECT_TYPE_SAMPLER_YCBCR_CONVERSION:
        return stype == VK_STRUCTURE_TYPE_SAMPLER_YCBCR_CONVERSION_CREATE_INFO;
    case VK_OBJECT_TYPE_RENDER_PASS:
        return stype == VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO ||
               stype == VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO_2;
    case VK_OBJECT_TYPE_PIPELINE:
        return is_pipeline(stype);
    default:
        return false;
    }
}

static struct recipe_node *referred(const struct recipe_graph *graph, VkObjectType type,
                                    struct digest content)
{
    const bool is_code = type == VK_OBJECT_TYPE_UNKNOWN;
    struct recipe_node *node =
        recipe_graph_find(graph, is_code ? RECIPE_CODE : RECIPE_FORM, content);
    if (!node || is_code) {
        return node;
    }
    return load(graph, node) && makes(stype_of(node), type) ? node : NULL;
}

/* Of what one form refers to. */
struct visit {
    const struct recipe_graph *graph;
    unsigned depth;  /* of the form, from where the walk began */
    unsigned height; /* of the highest that it refers to, and one more */
    bool too_deep;   /* the walk has ended before it came to the ground */
};

static bool is_complete(struct visit *from, struct recipe_node *node);

static bool visit_reference(void *user, VkObjectType type, struct digest content)
{
    struct visit *visit = user;
    struct recipe_node *node = referred(visit->graph, type, content);
    if (!node || !is_complete(visit, node) || node->height + 1 >= MAX_HEIGHT) {
        return false;
    }
    visit->height = node->height + 1 > visit->height ? node->height + 1 : visit->height;
    return true;
}

/* One that is met again while it is visited refers to itself. Of those that stand where a walk was
 * too deep only the first is known to be too high. */
static bool is_complete(struct visit *from, struct recipe_node *node)
{
    struct visit visit = {.graph = from->graph, .depth = from->depth + 1};
    if (node->state == RECIPE_NODE_NEW) {
        node->state = RECIPE_NODE_VISITED;
        visit.too_deep = visit.depth > MAX_HEIGHT;
        const bool complete =
            node->record.kind == RECIPE_CODE ||
            (!visit.too_deep &&
             canonical_references(node->record.data, node->record.size, visit_reference, &visit));
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
    return load(graph, node) && is_pipeline(stype_of(node)) && is_complete(&visit, node);
}

struct keeping {
    struct recipe_graph *graph;
    uint64_t bytes;
};

static void keep(struct keeping *keeping, struct recipe_node *node);

static bool keep_reference(void *user, VkObjectType type, struct digest content)
{
    struct keeping *keeping = user;
    keep(keeping, referred(keeping->graph, type, content));
    return true;
}

static void keep(struct keeping *keeping, struct recipe_node *node)
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
        canonical_references(node->record.data, node->record.size, keep_reference, keeping);
    }
}

uint64_t recipe_graph_keep(struct recipe_graph *graph, struct recipe_node *node)
{
    struct keeping keeping = {.graph = graph};
    keep(&keeping, node);
    return keeping.bytes;
}

void recipe_graph_undo(struct recipe_graph *graph, size_t kept)
{
    while (graph->kept > kept) {
        graph->nodes[graph->trail[--graph->kept]].kept = false;
    }
}
