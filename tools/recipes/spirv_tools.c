// SPDX-License-Identifier: Apache-2.0
#include "tools/recipes/judge.h"

#include <spirv-tools/libspirv.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/spirv/spirv.h"

/* SPIR-V specification, "Instructions". What is newer is declared by them. */
enum { OP_EXECUTION_MODE = 16, OP_CAPABILITY = 17 };

/* Operands; none of today has as many. */
#define MAX_DECLARATION 8

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
    return size % sizeof(uint32_t) == 0 &&
           spvValidateWithOptions(validator->context, validator->options, &binary, NULL) ==
               SPV_SUCCESS;
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

bool spirv_validator_knows(const struct spirv_validator *validator, const void *code, size_t size)
{
    struct spirv_module module;
    struct spirv_instruction i;
    bool knows = validator_knows_maintenance(validator, code, size);
    if (spirv_open(code, size, &module) == SPIRV_OPENED) {
        for (size_t at = SPIRV_FIRST_WORD;
             knows && spirv_next(&module, &at, &i) && i.op != SPIRV_OP_FUNCTION;) {
            knows = (i.op != OP_CAPABILITY && i.op != OP_EXECUTION_MODE) ||
                    validator_knows_declaration(validator, &module, &i);
        }
    }
    spirv_close(&module);
    return knows;
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
