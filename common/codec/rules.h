// SPDX-License-Identifier: Apache-2.0
/* What the registry cannot say about pipelines, decided by hand; each rule names its hazard. What
 * the rules find is struct pipeline_rules (canonical.h). Internal to the codec.
 *
 * Pure functions over create-infos that the program has just passed: no allocation, no lock;
 * thread-safe. Pointers that a program may leave dangling are never read (hazard 16). */
#ifndef WARMPIPE_CODEC_RULES_H
#define WARMPIPE_CODEC_RULES_H

#include <string.h>

#include "common/codec/canonical.h"
#include "common/codec/liveness.h"
#include "common/codec/table.h"

/* Bits of VkPipelineCreateFlags2 that rules look at, under one name whether headers know them or
 * not; the lower 31 are those of VkPipelineCreateFlags. */
#define RULES_PIPELINE_DERIVATIVE               0x00000004ull
#define RULES_PIPELINE_DEFER_COMPILE            0x00000020ull
#define RULES_PIPELINE_FAIL_ON_COMPILE_REQUIRED 0x00000100ull
#define RULES_PIPELINE_EARLY_RETURN_ON_FAILURE  0x00000200ull
#define RULES_PIPELINE_LIBRARY                  0x00000800ull
#define RULES_PIPELINE_GROUP_HANDLE_REPLAY      0x00080000ull
#define RULES_PIPELINE_CAPTURE_DATA             0x80000000ull

/* Flags that do not shape the pipeline, or that the form does without: whether the call may compile
 * (hazard 22), and derivation from a pipeline that the form does not name (hazard 24). */
#define RULES_OMITTED_FLAGS                                                                        \
    (RULES_PIPELINE_FAIL_ON_COMPILE_REQUIRED | RULES_PIPELINE_EARLY_RETURN_ON_FAILURE |            \
     RULES_PIPELINE_DERIVATIVE)

/* Longer chains belong to no real program. */
#define RULES_MAX_STRUCTS 64

/* VkPipelineCreateFlags2CreateInfo and VkCustomResolveCreateInfoEXT are newer than the oldest
 * headers. */
#define RULES_STYPE_FLAGS_2        1000470005u
#define RULES_STYPE_CUSTOM_RESOLVE 1000628002u

struct rules_flags_2 {
    VkStructureType stype;
    const void *next;
    uint64_t flags;
};

/* Whether every bit of a pipeline's flags is one whose meaning somebody has reviewed. */
bool rules_flags_known(uint64_t flags);

/* Whether the struct's own flag members hold known bits only. */
static inline bool rules_struct_flags_known(const struct codec_struct *type, const void *structure)
{
    const struct codec_check *check = &codec_checks[type->first_check];
    for (const struct codec_check *end = check + type->check_count; check < end; check++) {
        const uint8_t *member = (const uint8_t *)structure + check->offset;
        uint32_t word;
        uint64_t value;
        memcpy(&word, member, sizeof word);
        value = word;
        if (check->size == sizeof value) {
            memcpy(&value, member, sizeof value);
        }
        if (value & ~check->mask) {
            return false;
        }
    }
    return true;
}

/* Whether each struct of a chain is one that `type` may hold, and is there once, with flags that
 * are known: CANONICAL_CAUSE_NONE, or the first thing that is not. Looks at all of the chain, what
 * follows an unknown struct included, for a flag that is unknown there. */
enum canonical_cause rules_check_chain(const struct codec_struct *type, const void *next,
                                       bool *ret_flags_known);

/* Reads what create-infos of pipelines of all kinds begin with: flags and chain.
 * CANONICAL_CAUSE_NONE, or why the form must be given up: then something there is unknown, and may
 * decide what else is live, or a cache is forbidden. *ret_rules holds all but stage_count; what
 * stages and states add is up to the encoder. */
enum canonical_cause rules_read_head(enum codec_id id, const void *create_info,
                                     struct pipeline_rules *ret_rules,
                                     struct graphics_chain *ret_chain);

/* The create-info of the code that a stage brings along instead of a module (hazard 31), or NULL: a
 * module that is not NULL wins (chapter "Pipelines", VkPipelineShaderStageCreateInfo). Its pNext is
 * the rest of the stage's chain, not one of its own. */
const VkShaderModuleCreateInfo *rules_inline_module(const VkPipelineShaderStageCreateInfo *stage);

#endif
