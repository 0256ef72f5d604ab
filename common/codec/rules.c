#include "codec/rules.h"

#include <stddef.h>
#include <string.h>

#include "codec/graphics_state.h"
#include "codec/table.h"

/* Structs newer than the oldest headers, as far as a rule reads them. */
#define STYPE_PIPELINE_CREATE_FLAGS_2 1000470005u
#define STYPE_PIPELINE_BINARY_INFO    1000483002u

struct create_flags_2 {
    VkStructureType stype;
    const void *next;
    uint64_t flags;
};

struct binary_info {
    VkStructureType stype;
    const void *next;
    uint32_t count;
    const void *binaries;
};

/* Every pipeline create flag whose meaning somebody has weighed: what it does to a cache, to the
 * key, to identity. A bit that is not here passes the call through, whatever the registry knows: so
 * do displacement micromaps (28), execution graphs (32) and instrumented shaders (39). */
#define REVIEWED_PIPELINE_FLAGS                                                                    \
    (0x0fffffffull | 7ull << 29 | 3ull << 33 | 7ull << 36 | 3ull << 40 | 1ull << 43)

/* Longer chains belong to no real program; the bound makes a cycle harmless. */
#define MAX_CHAIN 64

/* What the walk over a pipeline create-info's own chain finds. */
struct pipeline_chain {
    const struct create_flags_2 *flags;
    const struct binary_info *binaries;
    const VkPipelineCreationFeedbackCreateInfo *feedback;
    struct graphics_chain graphics;
};

bool codec_flags_known(const struct codec_struct *type, const void *structure)
{
    const struct codec_check *check = &codec_checks[type->first_check];
    for (int i = 0; i < type->check_count; i++, check++) {
        uint64_t value = 0;
        const uint8_t *member = (const uint8_t *)structure + check->offset;
        if (check->size == 4) {
            uint32_t word;
            memcpy(&word, member, sizeof(word));
            value = word;
        } else {
            memcpy(&value, member, sizeof(value));
        }
        if (value & ~check->mask) {
            return false;
        }
    }
    return true;
}

/* Whether every struct in the chain is known as a child of `parent`, each at most once. */
static bool chain_known(enum codec_id parent, const void *next)
{
    const struct codec_struct *type = &codec_structs[parent];
    uint64_t seen = 0;
    for (const VkBaseInStructure *s = next; s; s = s->pNext) {
        int child = codec_find_child(type, (uint32_t)s->sType);
        if (child < 0 || (seen >> child & 1)) {
            return false;
        }
        seen |= 1ull << child;
        if (!codec_flags_known(&codec_structs[codec_children[type->first_child + child]], s)) {
            return false;
        }
    }
    return true;
}

static bool state_known(enum codec_id id, const void *state)
{
    return codec_flags_known(&codec_structs[id], state) &&
           chain_known(id, ((const VkBaseInStructure *)state)->pNext);
}

static bool stages_known(const VkPipelineShaderStageCreateInfo *stages, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!state_known(CODEC_VkPipelineShaderStageCreateInfo, &stages[i])) {
            return false;
        }
    }
    return true;
}

static void walk_chain(const void *next, struct pipeline_chain *chain)
{
    int left = MAX_CHAIN;
    for (const VkBaseInStructure *s = next; s && left > 0; s = s->pNext, left--) {
        switch ((uint32_t)s->sType) {
        case STYPE_PIPELINE_CREATE_FLAGS_2:
            chain->flags = (const struct create_flags_2 *)s;
            break;
        case STYPE_PIPELINE_BINARY_INFO:
            chain->binaries = (const struct binary_info *)s;
            break;
        case VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO:
            chain->feedback = (const VkPipelineCreationFeedbackCreateInfo *)s;
            break;
        case VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR:
            chain->graphics.libraries = (const VkPipelineLibraryCreateInfoKHR *)s;
            break;
        case VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT:
            chain->graphics.subsets = (const VkGraphicsPipelineLibraryCreateInfoEXT *)s;
            break;
        case VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO:
            chain->graphics.rendering = (const VkPipelineRenderingCreateInfo *)s;
            break;
        default:
            break;
        }
    }
}

/* What all four kinds have in common: the create-info's own chain and flags. */
static void compute_common(enum codec_id id, const void *next, VkPipelineCreateFlags legacy_flags,
                           struct pipeline_chain *chain, struct pipeline_rules *rules)
{
    *chain = (struct pipeline_chain){0};
    walk_chain(next, chain);
    uint64_t flags = chain->flags ? chain->flags->flags : legacy_flags;
    *rules = (struct pipeline_rules){
        .known = (flags & ~REVIEWED_PIPELINE_FLAGS) == 0 && chain_known(id, next),
        .cache_forbidden = (chain->binaries && chain->binaries->count > 0) ||
                           (flags & RULES_PIPELINE_CAPTURE_DATA),
        .fail_on_compile_required = flags & RULES_PIPELINE_FAIL_ON_COMPILE_REQUIRED,
        .early_return = flags & RULES_PIPELINE_EARLY_RETURN_ON_FAILURE,
        .derivative = flags & RULES_PIPELINE_DERIVATIVE,
        .defer_compile = flags & RULES_PIPELINE_DEFER_COMPILE,
        .library = flags & RULES_PIPELINE_LIBRARY,
        .flags = flags,
        .feedback = chain->feedback,
    };
}

void rules_compute(const VkComputePipelineCreateInfo *info, struct pipeline_rules *ret_rules)
{
    struct pipeline_chain chain;
    compute_common(CODEC_VkComputePipelineCreateInfo, info->pNext, info->flags, &chain, ret_rules);
    ret_rules->known = ret_rules->known && stages_known(&info->stage, 1);
}

void rules_graphics(const VkGraphicsPipelineCreateInfo *info, struct pipeline_rules *ret_rules)
{
    struct pipeline_chain chain;
    struct graphics_state state;
    compute_common(CODEC_VkGraphicsPipelineCreateInfo, info->pNext, info->flags, &chain, ret_rules);
    if (!ret_rules->known) {
        return;
    }
    graphics_state_compute(info, ret_rules->flags, &chain.graphics, NULL, &state);
    const struct {
        enum liveness liveness;
        enum codec_id id;
        const void *state;
    } states[] = {
        {state.vertex_input, CODEC_VkPipelineVertexInputStateCreateInfo, info->pVertexInputState},
        {state.input_assembly, CODEC_VkPipelineInputAssemblyStateCreateInfo,
         info->pInputAssemblyState},
        {state.tessellation, CODEC_VkPipelineTessellationStateCreateInfo, info->pTessellationState},
        {state.viewport, CODEC_VkPipelineViewportStateCreateInfo, info->pViewportState},
        {state.rasterization, CODEC_VkPipelineRasterizationStateCreateInfo,
         info->pRasterizationState},
        {state.multisample, CODEC_VkPipelineMultisampleStateCreateInfo, info->pMultisampleState},
        {state.depth_stencil, CODEC_VkPipelineDepthStencilStateCreateInfo,
         info->pDepthStencilState},
        {state.color_blend, CODEC_VkPipelineColorBlendStateCreateInfo, info->pColorBlendState},
        {info->pDynamicState ? STATE_LIVE : STATE_DEAD, CODEC_VkPipelineDynamicStateCreateInfo,
         info->pDynamicState},
    };
    bool known = state.dynamic_known;
    for (size_t i = 0; known && i < sizeof(states) / sizeof(states[0]); i++) {
        known = states[i].liveness != STATE_LIVE || state_known(states[i].id, states[i].state);
    }
    if (known && state.stages == STATE_LIVE) {
        known = stages_known(info->pStages, info->stageCount);
    }
    ret_rules->known = known;
}

void rules_ray_tracing(const VkRayTracingPipelineCreateInfoKHR *info,
                       struct pipeline_rules *ret_rules)
{
    struct pipeline_chain chain;
    compute_common(CODEC_VkRayTracingPipelineCreateInfoKHR, info->pNext, info->flags, &chain,
                   ret_rules);
    ret_rules->known = ret_rules->known && stages_known(info->pStages, info->stageCount);
    for (uint32_t i = 0; ret_rules->known && i < info->groupCount; i++) {
        ret_rules->known =
            state_known(CODEC_VkRayTracingShaderGroupCreateInfoKHR, &info->pGroups[i]);
    }
}

void rules_ray_tracing_nv(const VkRayTracingPipelineCreateInfoNV *info,
                          struct pipeline_rules *ret_rules)
{
    struct pipeline_chain chain;
    compute_common(CODEC_VkRayTracingPipelineCreateInfoNV, info->pNext, info->flags, &chain,
                   ret_rules);
    ret_rules->known = ret_rules->known && stages_known(info->pStages, info->stageCount);
    for (uint32_t i = 0; ret_rules->known && i < info->groupCount; i++) {
        ret_rules->known =
            state_known(CODEC_VkRayTracingShaderGroupCreateInfoNV, &info->pGroups[i]);
    }
}

const VkShaderModuleCreateInfo *rules_inline_module(const VkPipelineShaderStageCreateInfo *stage)
{
    int left = MAX_CHAIN;
    if (stage->module != VK_NULL_HANDLE) {
        return NULL;
    }
    for (const VkBaseInStructure *s = stage->pNext; s && left > 0; s = s->pNext, left--) {
        if (s->sType == VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO) {
            return (const VkShaderModuleCreateInfo *)s;
        }
    }
    return NULL;
}
