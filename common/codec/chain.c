#include "codec/chain.h"

#include <stddef.h>

#include "codec/rules.h"

/* Longer chains belong to no real program. */
#define MAX_STRUCTS 64

/* What each pipeline create flag does to a cache, to a key, to identity has been weighed for these
 * bits. One that is not here passes the call through, whatever the registry knows: so do
 * displacement micromaps (28), execution graphs (32) and instrumented shaders (39). */
#define REVIEWED_FLAGS                                                                             \
    (0x0fffffffull | 7ull << 29 | 3ull << 33 | 7ull << 36 | 3ull << 40 | 1ull << 43)

void chain_read(const void *next, struct chain *ret_chain)
{
    int left = MAX_STRUCTS;
    *ret_chain = (struct chain){0};
    for (const VkBaseInStructure *s = next; s && left > 0; s = s->pNext, left--) {
        switch ((uint32_t)s->sType) {
        case CHAIN_STYPE_FLAGS_2:
            ret_chain->flags = (const struct chain_flags_2 *)s;
            break;
        case CHAIN_STYPE_BINARIES:
            ret_chain->binaries = (const struct chain_binaries *)s;
            break;
        case VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO:
            ret_chain->feedback = (const VkPipelineCreationFeedbackCreateInfo *)s;
            break;
        case VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR:
            ret_chain->graphics.libraries = (const VkPipelineLibraryCreateInfoKHR *)s;
            break;
        case VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT:
            ret_chain->graphics.subsets = (const VkGraphicsPipelineLibraryCreateInfoEXT *)s;
            break;
        case VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO:
            ret_chain->graphics.rendering = (const VkPipelineRenderingCreateInfo *)s;
            break;
        default:
            break;
        }
    }
}

const void *chain_find(const void *next, VkStructureType stype)
{
    int left = MAX_STRUCTS;
    for (const VkBaseInStructure *s = next; s && left > 0; s = s->pNext, left--) {
        if (s->sType == stype) {
            return s;
        }
    }
    return NULL;
}

uint64_t chain_pipeline_flags(const struct chain *chain, VkPipelineCreateFlags legacy)
{
    return chain->flags ? chain->flags->flags : legacy;
}

bool chain_flags_known(uint64_t flags)
{
    return (flags & ~REVIEWED_FLAGS) == 0;
}

bool chain_forbids_cache(const struct chain *chain, uint64_t flags)
{
    return (chain->binaries && chain->binaries->count > 0) || (flags & RULES_PIPELINE_CAPTURE_DATA);
}
