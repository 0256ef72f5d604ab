// SPDX-License-Identifier: Apache-2.0
/* SPIR-V, as SPIRV-Tools reads it: whether it is valid, and its text. */
#ifndef WARMPIPE_TOOLS_RECIPES_SPIRV_TOOLS_H
#define WARMPIPE_TOOLS_RECIPES_SPIRV_TOOLS_H

#include <stdbool.h>
#include <stddef.h>

struct spirv_validator;

/* A validator with the rules of Vulkan 1.3 and every layout and operand that a feature may allow:
 * whether the features are enabled is for the device to say. NULL: out of memory. */
struct spirv_validator *spirv_validator_new(void);

/* NULL is a no-op. */
void spirv_validator_delete(struct spirv_validator *validator);

/* Whether SPIR-V is valid. `code` is aligned at 4. Takes about 0.1 ms for each KiB. Thread-safe. */
bool spirv_validator_accepts(const struct spirv_validator *validator, const void *code,
                             size_t size);

/* Whether SPIRV-Tools knows each capability and execution mode that SPIR-V declares, and what
 * VK_KHR_maintenance8 and 9 allow; what it does not know it takes for invalid. `code` is aligned
 * at 4. Thread-safe. */
bool spirv_validator_knows(const struct spirv_validator *validator, const void *code, size_t size);

/* The disassembly, with names for ids and indented; freed by the caller. NULL: it is not SPIR-V.
 * `code` is aligned at 4. Thread-safe. */
char *spirv_disassemble(const void *code, size_t size);

#endif
