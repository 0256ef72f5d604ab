/* SPIRV-Tools: whether SPIR-V of somebody else's is fit for a driver, and SPIR-V as text. One file,
 * for older versions of their header define a constant, which no program may have twice. */
#ifndef WARMPIPE_TOOLS_SPIRV_VALIDATOR_H
#define WARMPIPE_TOOLS_SPIRV_VALIDATOR_H

#include <stdbool.h>
#include <stddef.h>

struct spirv_validator;

/* By the rules of Vulkan 1.3, with every layout that a feature may allow: whether the features are
 * enabled is for the device to say. NULL: out of memory. */
struct spirv_validator *spirv_validator_new(void);

/* NULL is a no-op. */
void spirv_validator_delete(struct spirv_validator *validator);

/* `code` is aligned at 4. Takes time: about 0.1 ms a KiB. Thread-safe. */
bool spirv_validator_accepts(const struct spirv_validator *validator, const void *code,
                             size_t size);

/* The disassembly, with names for ids and indented; to be freed. NULL: it is not SPIR-V. `code` is
 * aligned at 4. Thread-safe. */
char *spirv_disassemble(const void *code, size_t size);

#endif
