#include "codec/rules.h"

#include <stddef.h>
#include <string.h>

#include "codec/chain.h"
#include "codec/graphics_state.h"
#include "codec/table.h"

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

/* What all four kinds have in common: the create-info's own chain and flags. */
static void compute_common(enum codec_id id, const void *next, VkPipelineCreateFlags legacy_flags,
                           struct chain *chain, struct pipeline_rules *rules)
{
    chain_read(next, chain);
    uint64_t flags = chain_pipeline_flags(chain, legacy_flags);
    *rules = (struct pipeline_rules){
        .known = chain_flags_known(flags) && chain_known(id, next),
        .cache_forbidden = chain_forbids_cache(chain, flags),
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
    struct chain chain;
    compute_common(CODEC_VkComputePipelineCreateInfo, info->pNext, info->flags, &chain, ret_rules);
    ret_rules->known = ret_rules->known && stages_known(&info->stage, 1);
}

void rules_graphics(const VkGraphicsPipelineCreateInfo *info, struct pipeline_rules *ret_rules)
{
    struct chain chain;
    struct graphics_state state;
    compute_common(CODEC_VkGraphicsPipelineCreateInfo, info->pNext, info->flags, &chain, ret_rules);
    if (!ret_rules->known) {
        return;
    }
    graphics_state_compute(info, ret_rules->flags, &chain.graphics, &state);
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
    struct chain chain;
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
    struct chain chain;
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
    return stage->module == VK_NULL_HANDLE
               ? chain_find(stage->pNext, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO)
               : NULL;
}

static bool used(uint32_t attachment)
{
    return attachment != VK_ATTACHMENT_UNUSED;
}

void rules_render_pass(const VkRenderPassCreateInfo *info, struct render_pass_use *ret_use)
{
    struct render_pass_use use = {0};
    for (uint32_t i = 0; i < info->subpassCount && i < RENDER_PASS_USE_SUBPASSES; i++) {
        const VkSubpassDescription *subpass = &info->pSubpasses[i];
        use.known |= 1ull << i;
        for (uint32_t c = 0; c < subpass->colorAttachmentCount; c++) {
            if (used(subpass->pColorAttachments[c].attachment)) {
                use.color |= 1ull << i;
            }
        }
        if (subpass->pDepthStencilAttachment &&
            used(subpass->pDepthStencilAttachment->attachment)) {
            use.depth_stencil |= 1ull << i;
        }
    }
    *ret_use = use;
}

void rules_render_pass_2(const VkRenderPassCreateInfo2 *info, struct render_pass_use *ret_use)
{
    struct render_pass_use use = {0};
    for (uint32_t i = 0; i < info->subpassCount && i < RENDER_PASS_USE_SUBPASSES; i++) {
        const VkSubpassDescription2 *subpass = &info->pSubpasses[i];
        use.known |= 1ull << i;
        for (uint32_t c = 0; c < subpass->colorAttachmentCount; c++) {
            if (used(subpass->pColorAttachments[c].attachment)) {
                use.color |= 1ull << i;
            }
        }
        if (subpass->pDepthStencilAttachment &&
            used(subpass->pDepthStencilAttachment->attachment)) {
            use.depth_stencil |= 1ull << i;
        }
    }
    *ret_use = use;
}
