// SPDX-License-Identifier: Apache-2.0
#include "tools/recipes/judge.h"

#include <stdlib.h>

#include "common/base/array.h"
#include "common/codec/canonical.h"
#include "common/driver/environment.h"
#include "tools/cli/output.h"

bool recipe_judge_init(struct recipe_judge *judge)
{
    *judge = (struct recipe_judge){.validator = spirv_validator_new()};
    return judge->validator;
}

void recipe_judge_free(struct recipe_judge *judge)
{
    spirv_validator_delete(judge->validator);
    replay_check_delete(judge->check);
    free(judge->refusals);
}

/* Gives any handle: nothing is created here. */
static bool judge_give_handle(void *user, VkObjectType type, struct digest content,
                              uint64_t *ret_handle)
{
    (void)user, (void)type, (void)content;
    *ret_handle = 1;
    return true;
}

/* Gives any code: a decoded create-info only points to it, and code is judged by itself. */
static bool judge_give_code(void *user, struct digest content, size_t size, const void **ret_code)
{
    static const uint32_t code[1];
    (void)user, (void)content, (void)size;
    *ret_code = code;
    return true;
}

static bool judge_is_valid_content(const struct recipe_judge *judge,
                                   const struct recipe_record *record)
{
    const struct canonical_sources sources = {.handle = judge_give_handle, .code = judge_give_code};
    if (record->kind == RECIPE_CODE) {
        return spirv_validator_accepts(judge->validator, record->data, record->size);
    }
    const bool is_form = record->kind == RECIPE_FORM;
    void *create_info = is_form ? canonical_decode(record->data, record->size, &sources) : NULL;
    struct environment *environment =
        is_form ? NULL : environment_decode(record->data, record->size);
    const bool is_valid = create_info || environment;
    free(create_info);
    environment_free(environment);
    return is_valid;
}

static void judge_note_refusal(struct recipe_judge *judge, const char *kind, struct digest digest,
                               const char *reason)
{
    if (array_reserve(&judge->refusals, judge->count, sizeof *judge->refusals)) {
        judge->refusals[judge->count++] = (struct recipe_refusal){kind, digest, reason};
    }
}

bool recipe_judge_accepts(void *user, const struct recipe_record *record)
{
    static const struct {
        const char *kind;
        const char *reason;
    } words[] = {
        [RECIPE_CODE] = {"module", "invalid_spirv"},
        [RECIPE_FORM] = {"form", "malformed"},
        [RECIPE_ENVIRONMENT] = {"environment", "malformed"},
    };
    struct recipe_judge *judge = user;
    progress_add("record");
    if (judge_is_valid_content(judge, record)) {
        return true;
    }
    const bool is_unknown = record->kind == RECIPE_CODE &&
                            !spirv_validator_knows(judge->validator, record->data, record->size);
    const bool accepts = is_unknown && judge->passes_unknown;
    if (!accepts) {
        judge_note_refusal(judge, words[record->kind].kind, record->digest,
                           is_unknown ? "unknown_spirv" : words[record->kind].reason);
    }
    return accepts;
}

static bool judge_find_record(void *user, bool is_code, struct digest content,
                              const void **ret_data, size_t *ret_size)
{
    const struct recipe_judge *judge = user;
    struct recipe_node *node =
        recipe_graph_find(judge->graph, is_code ? RECIPE_CODE : RECIPE_FORM, content);
    if (!node || !recipe_graph_load(judge->graph, node)) {
        return false;
    }
    *ret_data = node->record.data;
    *ret_size = node->record.size;
    return true;
}

bool recipe_judge_accepts_pipeline(void *user, const struct recipe_graph *graph,
                                   struct digest pipeline)
{
    struct recipe_judge *judge = user;
    const struct replay_source source = {judge_find_record, judge};
    judge->graph = graph;
    if (!judge->check) {
        judge->check = replay_check_new(&source);
    }
    const enum replay_outcome outcome =
        judge->check ? replay_check_pipeline(judge->check, pipeline) : REPLAY_NO_MEMORY;
    if (outcome != REPLAY_COMPILED) {
        judge_note_refusal(judge, "pipeline", pipeline, replay_outcome_id(outcome));
    }
    return outcome == REPLAY_COMPILED;
}

struct recipe_merge_limits recipe_judge_limits(struct recipe_judge *judge, uint64_t max_size)
{
    return (struct recipe_merge_limits){
        .max_size = max_size,
        .accepts = recipe_judge_accepts,
        .accepts_pipeline = recipe_judge_accepts_pipeline,
        .user = judge,
    };
}

void recipe_judge_show(const struct recipe_judge *judge, struct output *output)
{
    output_open(output, "refused", OUTPUT_TABLE);
    for (size_t i = 0; i < judge->count; i++) {
        output_open(output, NULL, OUTPUT_ROW);
        output_text(output, "kind", judge->refusals[i].kind);
        output_digest(output, "digest", judge->refusals[i].digest);
        output_text(output, "reason", judge->refusals[i].reason);
        output_close(output);
    }
    output_close(output);
}
