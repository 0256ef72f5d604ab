// SPDX-License-Identifier: Apache-2.0
/* The merge of merge.h: builds the graph, chooses uses and pipelines, and lays out the parts. */
#include "common/recipes/merge.h"

#include <stdlib.h>

#include "common/base/bytes.h"
#include "common/base/io.h"

/* A pipeline with all its uses. */
struct candidate {
    struct digest pipeline; /* first, for digest_order */
    struct recipe_node *node;
    uint64_t days;
    uint32_t last_day;
    uint32_t compile_us;
    uint32_t uses; /* in the new segment */
    bool taken;
};

/* A merge under way. */
struct merging {
    const struct recipe_merge_input *inputs;
    size_t count;
    const struct recipe_merge_limits *limits;
    struct recipe_graph graph;
    struct recipe_uses uses;        /* to be taken over */
    struct recipe_uses uses_beside; /* of segments that stay */
    struct candidate *candidates;
    size_t candidate_count;
    uint64_t size;
};

static void merge_forget_measurements(struct recipe_uses *uses)
{
    for (size_t i = 0; i < uses->count; i++) {
        uses->uses[i].compile_us = 0;
        uses->uses[i].unsaved = false;
        uses->uses[i].saved = false;
    }
}

/* False: out of memory. */
static bool merge_read_all_uses(struct merging *merging)
{
    for (size_t i = 0; i < merging->count; i++) {
        const struct recipe_merge_input *input = &merging->inputs[i];
        recipe_segment_add_uses(input->segment,
                                input->stays ? &merging->uses_beside : &merging->uses);
    }
    if (merging->limits->foreign) {
        merge_forget_measurements(&merging->uses);
    }
    recipe_uses_fold(&merging->uses);
    recipe_uses_fold(&merging->uses_beside);
    return !merging->uses.failed && !merging->uses_beside.failed;
}

/* Keeps what the segments that stay refer to. */
static void merge_keep_for_beside(struct merging *merging)
{
    for (size_t i = 0; i < merging->uses_beside.count; i++) {
        const struct recipe_use *use = &merging->uses_beside.uses[i];
        struct recipe_node *node = recipe_graph_find(&merging->graph, RECIPE_FORM, use->pipeline);
        struct recipe_node *environment =
            recipe_graph_find(&merging->graph, RECIPE_ENVIRONMENT, use->environment);
        if (node && recipe_graph_is_pipeline(&merging->graph, node)) {
            merging->size += recipe_graph_keep(&merging->graph, node);
        }
        if (environment) {
            merging->size += recipe_graph_keep(&merging->graph, environment);
        }
    }
}

/* Drops uses that are too old and those whose environment is missing; keeps the environments of the
 * others. */
static void merge_choose_uses(struct merging *merging, struct recipe_merge_counts *counts)
{
    struct recipe_uses *uses = &merging->uses;
    size_t kept = 0;
    for (size_t i = 0; i < uses->count; i++) {
        struct recipe_node *environment =
            recipe_graph_find(&merging->graph, RECIPE_ENVIRONMENT, uses->uses[i].environment);
        const bool is_old = uses->uses[i].last_day < merging->limits->oldest_day;
        counts->old_uses += is_old;
        if (environment && !is_old) {
            merging->size += recipe_graph_keep(&merging->graph, environment);
            uses->uses[kept++] = uses->uses[i];
        }
    }
    uses->count = kept;
}

/* The most valuable first; the digest makes the order of equal ones definite. */
static int merge_compare_values(const void *left, const void *right)
{
    const struct candidate *a = left;
    const struct candidate *b = right;
    int order = array_order_of(b->days, a->days);
    order = order ? order : array_order_of(b->last_day, a->last_day);
    order = order ? order : array_order_of(b->compile_us, a->compile_us);
    return order ? order : digest_order(left, right);
}

static uint32_t merge_larger_of(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static void merge_add_candidate(struct candidate *candidate, const struct candidate *other)
{
    candidate->days += other->days;
    candidate->last_day = merge_larger_of(candidate->last_day, other->last_day);
    candidate->compile_us = merge_larger_of(candidate->compile_us, other->compile_us);
    candidate->uses += other->uses;
}

/* Makes one candidate of all uses of a pipeline. False: out of memory. */
static bool merge_make_candidates(struct merging *merging)
{
    const size_t count = merging->uses.count;
    struct candidate *candidates = calloc(count + 1, sizeof *candidates);
    merging->candidates = candidates;
    if (!candidates) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const struct recipe_use *use = &merging->uses.uses[i];
        candidates[i] = (struct candidate){
            .pipeline = use->pipeline,
            .days = use->days,
            .last_day = use->last_day,
            .compile_us = use->compile_us,
            .uses = 1,
        };
    }
    if (count == 0) {
        return true;
    }
    qsort(candidates, count, sizeof *candidates, digest_order);
    size_t last = 0;
    for (size_t i = 1; i < count; i++) {
        if (digest_equal(candidates[last].pipeline, candidates[i].pipeline)) {
            merge_add_candidate(&candidates[last], &candidates[i]);
        } else {
            candidates[++last] = candidates[i];
        }
    }
    merging->candidate_count = last + 1;
    return true;
}

/* Takes the candidate with what it refers to, if there is room. */
static void merge_take_candidate(struct merging *merging, struct candidate *candidate)
{
    const size_t kept = merging->graph.kept;
    const uint64_t grown = merging->size + recipe_graph_keep(&merging->graph, candidate->node) +
                           (uint64_t)candidate->uses * RECIPE_USE_SIZE;
    if (grown > merging->limits->max_size) {
        recipe_graph_undo(&merging->graph, kept);
        return;
    }
    merging->size = grown;
    candidate->taken = true;
}

static void merge_take_candidates(struct merging *merging, struct recipe_merge_counts *counts)
{
    const struct recipe_merge_limits *limits = merging->limits;
    qsort(merging->candidates, merging->candidate_count, sizeof *merging->candidates,
          merge_compare_values);
    for (size_t i = 0; i < merging->candidate_count; i++) {
        struct candidate *candidate = &merging->candidates[i];
        candidate->node = recipe_graph_find(&merging->graph, RECIPE_FORM, candidate->pipeline);
        if (!candidate->node || !recipe_graph_is_pipeline(&merging->graph, candidate->node)) {
            counts->incomplete++;
        } else if (limits->accepts_pipeline &&
                   !limits->accepts_pipeline(limits->user, &merging->graph, candidate->pipeline)) {
            counts->refused++;
        } else {
            merge_take_candidate(merging, candidate);
            counts->too_many += !candidate->taken;
        }
        counts->pipelines += candidate->taken;
    }
    qsort(merging->candidates, merging->candidate_count, sizeof *merging->candidates, digest_order);
}

/* Drops the uses of pipelines that were not taken. */
static void merge_drop_uses(struct merging *merging)
{
    struct recipe_uses *uses = &merging->uses;
    size_t kept = 0;
    for (size_t i = 0; i < uses->count; i++) {
        const struct candidate key = {.pipeline = uses->uses[i].pipeline};
        const struct candidate *candidate =
            bsearch(&key, merging->candidates, merging->candidate_count, sizeof key, digest_order);
        if (candidate->taken) {
            uses->uses[kept++] = uses->uses[i];
        }
    }
    uses->count = kept;
}

/* In the order of the segments, so that neighbours stay neighbours and make one part. */
static int merge_compare_node_places(const void *left, const void *right)
{
    const struct recipe_node *a = left;
    const struct recipe_node *b = right;
    const int order = array_order_of(a->input, b->input);
    return order ? order : array_order_of(a->record.offset, b->record.offset);
}

static void merge_add_part(struct recipe_merged *merge, const uint8_t *data, size_t size)
{
    struct iovec *last = merge->part_count ? &merge->parts[merge->part_count - 1] : NULL;
    if (last && (const uint8_t *)last->iov_base + last->iov_len == data) {
        last->iov_len += size;
    } else {
        merge->parts[merge->part_count++] =
            (struct iovec){.iov_base = (void *)(uintptr_t)data, .iov_len = size};
    }
    merge->size += size;
}

/* Lays out the records that are taken over, with their index entries. Sorts the graph by place. */
static void merge_lay_out_records(struct merging *merging, struct recipe_merged *merge,
                                  struct bytes *entries)
{
    struct recipe_graph *graph = &merging->graph;
    array_sort(graph->nodes, graph->count, sizeof *graph->nodes, merge_compare_node_places);
    for (size_t i = 0; i < graph->count; i++) {
        const struct recipe_node *node = &graph->nodes[i];
        if (node->kept && !node->stays) {
            const struct recipe_record *record = &node->record;
            merge->counts.modules += record->kind == RECIPE_CODE;
            recipe_index_put(entries, record->kind, record->digest, merge->size);
            merge_add_part(merge, record->data - RECIPE_RECORD_HEADER,
                           (size_t)recipe_record_extent(record->size));
        }
    }
}

static enum status merge_lay_out_parts(struct merging *merging, struct recipe_merged *merge)
{
    AUTO(bytes_free) struct bytes entries = {0};
    merge->parts = calloc(merging->graph.kept + 2, sizeof *merge->parts);
    recipe_put_header(&merge->head);
    if (!merge->parts || merge->head.failed) {
        return STATUS_out_of_memory;
    }
    merge_add_part(merge, merge->head.data, merge->head.size);
    merge_lay_out_records(merging, merge, &entries);
    recipe_uses_put(&merge->tail, &merging->uses);
    recipe_index_put_all(&entries, &merge->tail, 0, merge->size);
    const size_t count = entries.size / RECIPE_INDEX_ENTRY;
    recipe_index_sort(entries.data, count);
    recipe_put_index(&merge->tail, entries.data, count, merge->size + merge->tail.size);
    if (merge->tail.failed || entries.failed) {
        return STATUS_out_of_memory;
    }
    merge_add_part(merge, merge->tail.data, merge->tail.size);
    return STATUS_ok;
}

/* Bytes of header, index, footer and the headers of uses. */
static uint64_t merge_frame_size(const struct merging *merging)
{
    uint64_t size = RECIPE_HEADER_SIZE + 2 * RECIPE_RECORD_HEADER + RECIPE_ALIGNMENT;
    for (size_t i = 0; i < merging->uses.count; i++) {
        if (i == 0 || !digest_equal(merging->uses.uses[i - 1].environment,
                                    merging->uses.uses[i].environment)) {
            size += recipe_record_extent(16) + RECIPE_INDEX_ENTRY;
        }
    }
    return size;
}

static void merge_keep_environments(struct merging *merging, const struct recipe_uses *uses)
{
    for (size_t i = 0; i < uses->count; i++) {
        struct recipe_node *node =
            recipe_graph_find(&merging->graph, RECIPE_ENVIRONMENT, uses->uses[i].environment);
        if (node) {
            node->kept = true;
        }
    }
}

/* All environments were kept, to know their size; drops those that no use is left of. */
static void merge_drop_environments(struct merging *merging)
{
    for (size_t i = 0; i < merging->graph.count; i++) {
        struct recipe_node *node = &merging->graph.nodes[i];
        node->kept = node->kept && node->record.kind != RECIPE_ENVIRONMENT;
    }
    merge_keep_environments(merging, &merging->uses);
    merge_keep_environments(merging, &merging->uses_beside);
}

/* Whether nothing is taken over. */
static bool merge_nothing_to_write(const struct merging *merging)
{
    bool empty = merging->uses.count == 0;
    for (size_t i = 0; empty && i < merging->graph.count; i++) {
        empty = !merging->graph.nodes[i].kept || merging->graph.nodes[i].stays;
    }
    return empty;
}

static enum status merge_inputs(struct merging *merging, struct recipe_merged *merge)
{
    if (!recipe_graph_build(merging->inputs, merging->count, merging->limits, &merging->graph) ||
        !merge_read_all_uses(merging)) {
        return STATUS_out_of_memory;
    }
    merge_keep_for_beside(merging);
    merge_choose_uses(merging, &merge->counts);
    merging->size += merge_frame_size(merging);
    if (!merge_make_candidates(merging)) {
        return STATUS_out_of_memory;
    }
    merge_take_candidates(merging, &merge->counts);
    merge_drop_uses(merging);
    merge_drop_environments(merging);
    for (size_t i = 0; i < merging->count; i++) {
        const struct recipe_merge_input *input = &merging->inputs[i];
        merge->counts.damaged += input->stays ? 0 : recipe_segment_damaged(input->segment);
    }
    merge->counts.refused += merging->graph.refused;
    return merge_nothing_to_write(merging) ? STATUS_ok : merge_lay_out_parts(merging, merge);
}

enum status recipe_merge(const struct recipe_merge_input *inputs, size_t count,
                         const struct recipe_merge_limits *limits, struct recipe_merged *ret_merge)
{
    struct merging merging = {.inputs = inputs, .count = count, .limits = limits};
    struct recipe_merged merge = {0};
    const enum status status = merge_inputs(&merging, &merge);
    recipe_graph_free(&merging.graph);
    recipe_uses_free(&merging.uses);
    recipe_uses_free(&merging.uses_beside);
    free(merging.candidates);
    if (status == STATUS_ok) {
        *ret_merge = merge;
    } else {
        recipe_merge_free(&merge);
    }
    return status;
}

void recipe_merge_free(struct recipe_merged *merge)
{
    free(merge->parts);
    bytes_free(&merge->head);
    bytes_free(&merge->tail);
    *merge = (struct recipe_merged){0};
}
