// SPDX-License-Identifier: Apache-2.0
#include <spirv-tools/libspirv.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/text.h"
#include "common/codec/canonical.h"
#include "common/driver/environment.h"
#include "common/files/file.h"
#include "common/recipes/recipes.h"
#include "tools/cli/progress.h"
#include "tools/recipes/recipe_tool.h"

struct spirv_validator {
    spv_context context;
    spv_validator_options options;
};

struct spirv_validator *spirv_validator_new(void)
{
    struct spirv_validator *validator = malloc(sizeof *validator);
    if (!validator) {
        return NULL;
    }
    validator->context = spvContextCreate(SPV_ENV_VULKAN_1_3);
    validator->options = spvValidatorOptionsCreate();
    if (!validator->context || !validator->options) {
        spirv_validator_delete(validator);
        return NULL;
    }
    spvValidatorOptionsSetRelaxBlockLayout(validator->options, true);
    spvValidatorOptionsSetUniformBufferStandardLayout(validator->options, true);
    spvValidatorOptionsSetScalarBlockLayout(validator->options, true);
    spvValidatorOptionsSetWorkgroupScalarBlockLayout(validator->options, true);
    spvValidatorOptionsSetAllowLocalSizeId(validator->options, true);
    return validator;
}

void spirv_validator_delete(struct spirv_validator *validator)
{
    if (validator) {
        spvValidatorOptionsDestroy(validator->options);
        spvContextDestroy(validator->context);
        free(validator);
    }
}

bool spirv_validator_accepts(const struct spirv_validator *validator, const void *code, size_t size)
{
    spv_const_binary_t binary = {code, size / sizeof(uint32_t)};
    return size % sizeof(uint32_t) == 0 &&
           spvValidateWithOptions(validator->context, validator->options, &binary, NULL) ==
               SPV_SUCCESS;
}

char *spirv_disassemble(const void *code, size_t size)
{
    const uint32_t options =
        SPV_BINARY_TO_TEXT_OPTION_INDENT | SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES;
    spv_context context = spvContextCreate(SPV_ENV_VULKAN_1_3);
    spv_text text = NULL;
    char *copy = NULL;
    if (context && size % sizeof(uint32_t) == 0 &&
        spvBinaryToText(context, code, size / sizeof(uint32_t), options, &text, NULL) ==
            SPV_SUCCESS) {
        copy = strndup(text->str, text->length);
    }
    spvTextDestroy(text);
    spvContextDestroy(context);
    return copy;
}

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

static bool judge_is_valid_form(const struct recipe_record *record)
{
    const struct canonical_sources sources = {.handle = judge_give_handle, .code = judge_give_code};
    void *create_info = canonical_decode(record->data, record->size, &sources);
    free(create_info);
    return create_info;
}

static bool judge_is_valid_environment(const struct recipe_record *record)
{
    struct environment *environment = environment_decode(record->data, record->size);
    environment_free(environment);
    return environment;
}

static bool judge_is_valid_content(const struct recipe_judge *judge,
                                   const struct recipe_record *record)
{
    switch (record->kind) {
    case RECIPE_CODE:
        return spirv_validator_accepts(judge->validator, record->data, record->size);
    case RECIPE_FORM:
        return judge_is_valid_form(record);
    default:
        return judge_is_valid_environment(record);
    }
}

static void judge_note_refusal(struct recipe_judge *judge, const char *kind, struct digest digest,
                               const char *reason)
{
    if (array_reserve(&judge->refusals, judge->count, sizeof *judge->refusals)) {
        judge->refusals[judge->count++] = (struct recipe_refusal){kind, digest, reason};
    }
}

static bool judge_accepts(void *user, const struct recipe_record *record)
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
    const bool accepts = judge_is_valid_content(judge, record);
    if (!accepts) {
        judge_note_refusal(judge, words[record->kind].kind, record->digest,
                           words[record->kind].reason);
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

static bool judge_accepts_pipeline(void *user, const struct recipe_graph *graph,
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
        .accepts = judge_accepts,
        .accepts_pipeline = judge_accepts_pipeline,
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

/* Files beside that keep a descriptor. */
#define MAX_OPEN_FDS 64

bool verify_recipes_has_our_name(const char *name)
{
    return text_ends_in(name, RECIPE_SUFFIX);
}

bool verify_recipes_is_one(int directory_fd, const char *name)
{
    uint8_t head[RECIPE_HEADER_SIZE];
    size_t read;
    uint64_t size;
    return verify_recipes_has_our_name(name) ||
           (file_read_head(directory_fd, name, head, sizeof head, &read, &size) == STATUS_ok &&
            read > 0 && recipe_check_header(head, read) != STATUS_bad_magic);
}

/* A file, and what was found in it. */
struct verified_file {
    char *name;
    enum status status; /* why it could not be opened */
    bool is_judged;     /* else it lies beside */
    struct recipe_segment segment;
    struct recipe_merge_counts counts;
};

struct verify_recipes {
    struct verified_file *files;
    size_t count;
    struct recipe_merge_input *inputs; /* the files that could be opened */
    struct recipe_graph graph;
    struct recipe_judge judge;
    size_t judged; /* the file whose records are being judged */
};

/* Reads the whole file into memory: whatever happens to it meanwhile, all checks of a record see
 * the same bytes. */
static enum status judge_read_judged(int directory_fd, const char *name,
                                     struct recipe_segment *segment)
{
    uint8_t *data;
    size_t size;
    enum status status = file_read(directory_fd, name, RECIPES_MAX_FILE, &data, &size);
    if (status == STATUS_ok) {
        status = recipe_segment_take(data, size, segment);
        if (status != STATUS_ok) {
            free(data);
        }
    }
    return status;
}

/* False: out of memory. */
static bool verify_add_file(struct verify_recipes *recipes, int directory_fd, const char *name,
                            bool is_judged)
{
    if (!array_reserve(&recipes->files, recipes->count, sizeof *recipes->files)) {
        return false;
    }
    struct verified_file *file = &recipes->files[recipes->count];
    *file = (struct verified_file){.name = strdup(name), .is_judged = is_judged};
    if (!file->name) {
        return false;
    }
    file->status = is_judged
                       ? judge_read_judged(directory_fd, name, &file->segment)
                       : recipe_segment_open(directory_fd, name, RECIPES_READ, &file->segment);
    if (recipes->count++ >= MAX_OPEN_FDS) {
        recipe_segment_close_fd(&file->segment);
    }
    return file->status != STATUS_out_of_memory;
}

static bool verify_add_files(struct verify_recipes *recipes, int directory_fd, const char *only)
{
    bool enough_memory = !only || verify_add_file(recipes, directory_fd, only, true);
    DIR *listing = listing_open(directory_fd, ".");
    const char *name;
    while (enough_memory && (name = listing_next(listing))) {
        if (verify_recipes_has_our_name(name) && (!only || strcmp(name, only) != 0)) {
            enough_memory = verify_add_file(recipes, directory_fd, name, !only);
        }
    }
    listing_close(listing);
    return enough_memory;
}

/* The graph goes through the files in their order, and each judged record lies in the memory of its
 * segment: finds the file that it belongs to. */
static bool judge_accepts_record(void *user, const struct recipe_record *record)
{
    struct verify_recipes *recipes = user;
    struct verified_file *file = &recipes->files[recipes->judged];
    while (file->status != STATUS_ok || record->data < file->segment.data ||
           record->data > file->segment.data + file->segment.size) {
        file = &recipes->files[++recipes->judged];
    }
    const bool accepted = judge_accepts(&recipes->judge, record);
    file->counts.refused += !accepted;
    return accepted;
}

/* False: out of memory. */
static bool judge_build_graph(struct verify_recipes *recipes)
{
    const struct recipe_merge_limits limits = {.accepts = judge_accepts_record, .user = recipes};
    size_t count = 0;
    recipes->inputs = calloc(recipes->count + 1, sizeof *recipes->inputs);
    for (size_t i = 0; recipes->inputs && i < recipes->count; i++) {
        const struct verified_file *file = &recipes->files[i];
        if (file->status == STATUS_ok) {
            recipes->inputs[count++] =
                (struct recipe_merge_input){.segment = &file->segment, .stays = !file->is_judged};
        }
    }
    return recipes->inputs && recipe_graph_build(recipes->inputs, count, &limits, &recipes->graph);
}

struct verify_recipes *verify_recipes_open(int directory_fd, const char *only)
{
    struct verify_recipes *recipes = calloc(1, sizeof *recipes);
    if (recipes && verify_add_files(recipes, directory_fd, only) &&
        recipe_judge_init(&recipes->judge) && judge_build_graph(recipes)) {
        return recipes;
    }
    verify_recipes_close(recipes);
    return NULL;
}

void verify_recipes_close(struct verify_recipes *recipes)
{
    if (!recipes) {
        return;
    }
    recipe_graph_free(&recipes->graph);
    recipe_judge_free(&recipes->judge);
    for (size_t i = 0; i < recipes->count; i++) {
        recipe_segment_close(&recipes->files[i].segment);
        free(recipes->files[i].name);
    }
    free(recipes->inputs);
    free(recipes->files);
    free(recipes);
}

/* Counts each pipeline that is used in a known environment once. */
static void judge_count_pipelines(struct verify_recipes *recipes, struct recipe_uses *uses,
                                  struct recipe_merge_counts *counts)
{
    const struct recipe_graph *graph = &recipes->graph;
    array_sort(uses->uses, uses->count, sizeof *uses->uses, digest_order);
    const struct recipe_use *last = NULL;
    for (size_t i = 0; i < uses->count; i++) {
        const struct recipe_use *use = &uses->uses[i];
        if (!recipe_graph_find(graph, RECIPE_ENVIRONMENT, use->environment) ||
            (last && digest_equal(last->pipeline, use->pipeline))) {
            continue;
        }
        struct recipe_node *node = recipe_graph_find(graph, RECIPE_FORM, use->pipeline);
        const bool is_whole = node && recipe_graph_is_pipeline(graph, node);
        const bool is_sound =
            is_whole && judge_accepts_pipeline(&recipes->judge, graph, use->pipeline);
        counts->pipelines += is_sound;
        counts->refused += is_whole && !is_sound;
        counts->incomplete += !is_whole;
        last = use;
    }
}

static enum status judge_worst_of(const struct recipe_merge_counts *counts)
{
    return counts->damaged      ? STATUS_bad_record
           : counts->refused    ? STATUS_refused_record
           : counts->incomplete ? STATUS_incomplete_recipe
                                : STATUS_ok;
}

static enum status judge_file(struct verify_recipes *recipes, const struct verified_file *file,
                              struct recipe_merge_counts *ret_counts)
{
    const struct recipe_segment *segment = &file->segment;
    struct recipe_merge_counts counts = file->counts;
    struct recipe_uses uses = {0};
    recipe_segment_add_uses(segment, &uses);
    counts.damaged = recipe_segment_damaged(segment);
    judge_count_pipelines(recipes, &uses, &counts);
    const bool failed = uses.failed;
    recipe_uses_free(&uses);
    *ret_counts = counts;
    return failed ? STATUS_out_of_memory : judge_worst_of(&counts);
}

enum status verify_recipes_judge(struct verify_recipes *recipes, const char *name,
                                 struct recipe_merge_counts *ret_counts)
{
    for (size_t i = 0; i < recipes->count; i++) {
        const struct verified_file *file = &recipes->files[i];
        if (strcmp(file->name, name) == 0) {
            return file->status == STATUS_ok ? judge_file(recipes, file, ret_counts) : file->status;
        }
    }
    return STATUS_no_file;
}
