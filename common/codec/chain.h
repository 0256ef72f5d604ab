/* What the rules look for in the chain of a pipeline's create-info. Internal to the codec. */
#ifndef WARMPIPE_CODEC_CHAIN_H
#define WARMPIPE_CODEC_CHAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "codec/graphics_state.h"

/* Structs newer than the oldest headers, as far as the codec reads and writes them. */
#define CHAIN_STYPE_FLAGS_2  1000470005u
#define CHAIN_STYPE_BINARIES 1000483002u

struct chain_flags_2 {
    VkStructureType stype;
    const void *next;
    uint64_t flags;
};

struct chain_binaries {
    VkStructureType stype;
    const void *next;
    uint32_t count;
    const void *binaries;
};

/* How all four create-infos begin. */
struct chain_pipeline_head {
    VkStructureType stype;
    const void *next;
    VkPipelineCreateFlags flags;
};

/* NULL where a struct is not there. */
struct chain {
    const struct chain_flags_2 *flags;
    const struct chain_binaries *binaries;
    const VkPipelineCreationFeedbackCreateInfo *feedback;
    struct graphics_chain graphics;
};

/* Ends after a bounded number of structs, so a cycle does no harm. */
void chain_read(const void *next, struct chain *ret_chain);

/* The first struct of this sType in a chain, or NULL. Bounded likewise. */
const void *chain_find(const void *next, VkStructureType stype);

/* The effective flags (hazard 21). */
uint64_t chain_pipeline_flags(const struct chain *chain, VkPipelineCreateFlags legacy);

/* Every bit is one whose meaning somebody has weighed. */
bool chain_flags_known(uint64_t flags);

/* The whole call must be given no cache (hazard 25). */
bool chain_forbids_cache(const struct chain *chain, uint64_t flags);

#endif
