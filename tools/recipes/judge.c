// SPDX-License-Identifier: Apache-2.0
#include "tools/recipes/recipe_tool.h"

#include <spirv-tools/libspirv.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/codec/canonical.h"
#include "common/driver/environment.h"
#include "common/spirv/spirv.h"

/* SPIR-V. */

/* SPIR-V specification, "Instructions". What is newer is declared by them. */
enum { OP_EXECUTION_MODE = 16, OP_CAPABILITY = 17 };

/* Operands; none of today has as many. */
#define MAX_DECLARATION 8

/* SPIRV-Tools are C++, and throw where memory is out, which C cannot catch. Weak: they may be
 * linked to a library of their own. */
typedef void judge_new_handler(void);
judge_new_handler *
judge_set_new_handler(judge_new_handler *handler) __asm__("_ZSt15set_new_handlerPFvvE")
    __attribute__((weak));

static _Thread_local bool judge_is_inside; /* a call of SPIRV-Tools */

static void judge_out_of_memory(void)
{
    if (judge_is_inside) {
        output_end_without_memory();
    }
    judge_set_new_handler(NULL); /* drivers may be C++, too, and may catch what is thrown then */
}

/* Around calls of SPIRV-Tools. Several threads may be inside, others in a driver. */
static void judge_end_without_memory(bool ends)
{
    judge_is_inside = ends;
    if (ends && judge_set_new_handler) {
        judge_set_new_handler(judge_out_of_memory);
    }
}

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
    judge_end_without_memory(true);
    validator->context = spvContextCreate(SPV_ENV_VULKAN_1_3);
    validator->options = spvValidatorOptionsCreate();
    judge_end_without_memory(false);
    if (!validator->context || !validator->options) {
        spirv_validator_delete(validator);
        return NULL;
    }
    spvValidatorOptionsSetRelaxBlockLayout(validator->options, true);
    spvValidatorOptionsSetUniformBufferStandardLayout(validator->options, true);
    spvValidatorOptionsSetScalarBlockLayout(validator->options, true);
    spvValidatorOptionsSetWorkgroupScalarBlockLayout(validator->options, true);
    spvValidatorOptionsSetAllowLocalSizeId(validator->options, true);
#if SPIRV_TOOLS_MAINTENANCE == 2
    spvValidatorOptionsSetAllowOffsetTextureOperand(validator->options, true);
    spvValidatorOptionsSetAllowVulkan32BitBitwise(validator->options, true);
#endif
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
    judge_end_without_memory(true);
    const bool accepts = size % sizeof(uint32_t) == 0 &&
                         spvValidateWithOptions(validator->context, validator->options, &binary,
                                                NULL) == SPV_SUCCESS;
    judge_end_without_memory(false);
    return accepts;
}

/* Reads one instruction, as a module by itself. */
static bool validator_knows_declaration(const struct spirv_validator *validator,
                                        const struct spirv_module *module,
                                        const struct spirv_instruction *i)
{
    uint32_t words[SPIRV_FIRST_WORD + 1 + MAX_DECLARATION];
    if (i->length > MAX_DECLARATION) {
        return true;
    }
    memcpy(words, module->words, SPIRV_FIRST_WORD * sizeof *words);
    memcpy(&words[SPIRV_FIRST_WORD], i->words - 1, (i->length + 1) * sizeof *words);
    return spvBinaryParse(validator->context, NULL, words, SPIRV_FIRST_WORD + 1 + i->length, NULL,
                          NULL, NULL) == SPV_SUCCESS;
}

/* VK_KHR_maintenance9 lifts the first of these rules, VK_KHR_maintenance8 the second. */
static bool validator_knows_maintenance(const struct spirv_validator *validator, const void *code,
                                        size_t size)
{
    bool knows = true;
#if SPIRV_TOOLS_MAINTENANCE < 2
    spv_const_binary_t binary = {code, size / sizeof(uint32_t)};
    spv_diagnostic found = NULL;
    spvValidateWithOptions(validator->context, validator->options, &binary, &found);
    knows = !found || (!strstr(found->error, "VUID-StandaloneSpirv-Base-04781") &&
                       !strstr(found->error, "VUID-StandaloneSpirv-Offset-04663"));
    spvDiagnosticDestroy(found);
#else
    (void)validator, (void)code, (void)size;
#endif
    return knows;
}

/* Whether SPIRV-Tools knows each capability and execution mode that SPIR-V declares, and what
 * VK_KHR_maintenance8 and 9 allow; what it does not know it takes for invalid. `code` is aligned
 * at 4. Thread-safe. */
static bool spirv_validator_knows(const struct spirv_validator *validator, const void *code,
                                  size_t size)
{
    struct spirv_module module;
    struct spirv_instruction i;
    judge_end_without_memory(true);
    bool knows = validator_knows_maintenance(validator, code, size);
    if (spirv_open(code, size, &module) == STATUS_ok) {
        for (size_t at = SPIRV_FIRST_WORD;
             knows && spirv_next(&module, &at, &i) && i.op != SPIRV_OP_FUNCTION;) {
            knows = (i.op != OP_CAPABILITY && i.op != OP_EXECUTION_MODE) ||
                    validator_knows_declaration(validator, &module, &i);
        }
    }
    judge_end_without_memory(false);
    spirv_close(&module);
    return knows;
}

char *spirv_disassemble(const void *code, size_t size)
{
    const uint32_t options =
        SPV_BINARY_TO_TEXT_OPTION_INDENT | SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES;
    judge_end_without_memory(true);
    spv_context context = spvContextCreate(SPV_ENV_VULKAN_1_3);
    spv_text text = NULL;
    char *copy = NULL;
    if (context && size % sizeof(uint32_t) == 0 &&
        spvBinaryToText(context, code, size / sizeof(uint32_t), options, &text, NULL) ==
            SPV_SUCCESS) {
        copy = strndup(text->str, text->length);
    }
    judge_end_without_memory(false);
    spvTextDestroy(text);
    spvContextDestroy(context);
    return copy;
}

/* The judge. */

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
    AUTO_FREE void *create_info =
        is_form ? canonical_decode(record->data, record->size, &sources) : NULL;
    struct environment *environment =
        is_form ? NULL : environment_decode(record->data, record->size);
    const bool is_valid = create_info ? render_pass_is_sound(create_info) : environment != NULL;
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
    const struct replay_source source = {.find = judge_find_record, .user = judge};
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
