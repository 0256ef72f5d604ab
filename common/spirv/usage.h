// SPDX-License-Identifier: Apache-2.0
/* Which global variables of a module that stand for descriptors or push constants a function uses,
 * with all that it calls ("statically used"), and whether these calls come to an end. Thread-safe.
 */
#ifndef WARMPIPE_SPIRV_USAGE_H
#define WARMPIPE_SPIRV_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/spirv/spirv.h"

/* SPIR-V specification, "Storage Class". */
enum {
    SPIRV_STORAGE_UNIFORM_CONSTANT = 0,
    SPIRV_STORAGE_UNIFORM = 2,
    SPIRV_STORAGE_PUSH_CONSTANT = 9,
    SPIRV_STORAGE_STORAGE_BUFFER = 12,
};

struct spirv_resource {
    uint32_t id;
    uint32_t type; /* what it points to */
    uint32_t storage;
    bool is_used;
};

struct spirv_usage {
    struct spirv_resource *resources; /* by id */
    size_t count;
};

/* STATUS_ok, bad_spirv, out_of_memory. Also bad_spirv: more than any device has; a function that
 * calls itself, however far around (chapter "Validation Rules within a Module" of SPIR-V); calls
 * that make more than 16 million instructions where each is replaced by what it calls, as drivers
 * do. Freed with spirv_usage_free in any case. */
enum status spirv_usage_read(const struct spirv_module *module, uint32_t function,
                             struct spirv_usage *ret_usage);

void spirv_usage_free(struct spirv_usage *usage);

#endif
