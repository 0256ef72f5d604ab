// SPDX-License-Identifier: Apache-2.0
#include "common/codec/rules.h"

#include <stddef.h>
#include <string.h>

/* Pipeline create flags of which it was reviewed what each does to a cache, to a key, to identity.
 * A bit that is not here passes the call through untouched, whatever the registry knows: so do
 * displacement micromaps (28), execution graphs (32) and instrumented shaders (39). */
#define REVIEWED_FLAGS                                                                             \
    (0x0fffffffull | 7ull << 29 | 3ull << 33 | 7ull << 36 | 3ull << 40 | 1ull << 43)

bool rules_flags_known(uint64_t flags)
{
    return (flags & ~REVIEWED_FLAGS) == 0;
}

/* Whether a struct of FORBID_CACHE in rules.def forbids a cache to the whole call (hazard 25). */
static bool rules_forbids_cache(const VkBaseInStructure *structure)
{
    for (size_t i = 0; i < codec_cache_forbidding_count; i++) {
        const struct codec_cache_forbidding *entry = &codec_cache_forbidding[i];
        if ((uint32_t)structure->sType == entry->stype) {
            uint32_t count;
            memcpy(&count, (const uint8_t *)structure + entry->offset, sizeof count);
            return count > 0;
        }
    }
    return false;
}

/* Takes out of one struct of a pipeline's chain what the rules look for. */
static void rules_read_struct(const VkBaseInStructure *s, struct pipeline_rules *rules,
                              struct graphics_chain *chain)
{
    switch ((uint32_t)s->sType) {
    case RULES_STYPE_FLAGS_2:
        rules->flags = ((const struct rules_flags_2 *)s)->flags; /* the legacy ones are ignored */
        break;
    case VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO:
        rules->feedback = (const VkPipelineCreationFeedbackCreateInfo *)s;
        break;
    case VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR:
        chain->libraries = (const VkPipelineLibraryCreateInfoKHR *)s;
        break;
    case VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT:
        chain->subsets = (const VkGraphicsPipelineLibraryCreateInfoEXT *)s;
        break;
    case VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO:
        chain->rendering = (const VkPipelineRenderingCreateInfo *)s;
        break;
    case RULES_STYPE_CUSTOM_RESOLVE:
        chain->custom_resolve = true;
        break;
    default:
        rules->cacheable &= !rules_forbids_cache(s);
        break;
    }
}

enum canonical_cause rules_check_chain(const struct codec_struct *type, const void *next,
                                       bool *ret_flags_known)
{
    enum canonical_cause cause = CANONICAL_CAUSE_NONE;
    uint64_t seen = 0;
    const VkBaseInStructure *s = next;
    *ret_flags_known = true;
    for (int left = RULES_MAX_STRUCTS; s && left > 0; s = s->pNext, left--) {
        int child = codec_find_child(type, (uint32_t)s->sType);
        enum canonical_cause problem = CANONICAL_CAUSE_NONE;
        if (child < 0 || (seen >> child & 1)) {
            problem = CANONICAL_CAUSE_STRUCT;
        } else if (!rules_struct_flags_known(
                       &codec_structs[codec_children[type->first_child + child]], s)) {
            problem = CANONICAL_CAUSE_FLAG;
            *ret_flags_known = false;
        }
        seen |= child < 0 ? 0 : 1ull << child;
        cause = cause == CANONICAL_CAUSE_NONE ? problem : cause;
    }
    return s && cause == CANONICAL_CAUSE_NONE ? CANONICAL_CAUSE_STRUCT : cause;
}

enum canonical_cause rules_read_head(enum codec_id id, const void *create_info,
                                     struct pipeline_rules *ret_rules,
                                     struct graphics_chain *ret_chain)
{
    /* How all four create-infos begin. */
    const struct {
        VkStructureType stype;
        const void *next;
        VkPipelineCreateFlags flags;
    } *head = create_info;
    struct pipeline_rules rules = {.cacheable = true, .flags = head->flags};
    bool flags_known = true;
    enum canonical_cause cause = CANONICAL_CAUSE_NONE;
    const VkBaseInStructure *s = head->next;
    if (s) {
        cause = rules_check_chain(&codec_structs[id], s, &flags_known);
    }
    *ret_chain = (struct graphics_chain){0};
    for (int left = RULES_MAX_STRUCTS; s && left > 0; s = s->pNext, left--) {
        rules_read_struct(s, &rules, ret_chain);
    }
    rules.cacheable &= flags_known && !(rules.flags & RULES_PIPELINE_CAPTURE_DATA);
    rules.known = cause == CANONICAL_CAUSE_NONE;
    if (rules.known && !rules.cacheable) {
        cause = CANONICAL_CAUSE_CACHE_FORBIDDEN;
    }
    if (!rules_flags_known(rules.flags)) {
        rules.known = rules.cacheable = false;
        cause = CANONICAL_CAUSE_FLAG;
    }
    rules.fail_on_compile_required = rules.flags & RULES_PIPELINE_FAIL_ON_COMPILE_REQUIRED;
    rules.early_return = rules.flags & RULES_PIPELINE_EARLY_RETURN_ON_FAILURE;
    rules.derivative = rules.flags & RULES_PIPELINE_DERIVATIVE;
    rules.library = rules.flags & RULES_PIPELINE_LIBRARY;
    *ret_rules = rules;
    return cause;
}

const void *canonical_find_struct(const void *next, VkStructureType stype)
{
    const VkBaseInStructure *s = next;
    for (int left = RULES_MAX_STRUCTS; s && left > 0; s = s->pNext, left--) {
        if (s->sType == stype) {
            return s;
        }
    }
    return NULL;
}

const VkShaderModuleCreateInfo *rules_inline_module(const VkPipelineShaderStageCreateInfo *stage)
{
    return stage->module == VK_NULL_HANDLE
               ? canonical_find_struct(stage->pNext, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO)
               : NULL;
}

/* The two structs that describe subpasses are alike but for their types. */
#define READ_SUBPASSES(Info, Subpass, function)                                                    \
    static void function(const Info *info, struct render_pass_use *use)                            \
    {                                                                                              \
        for (uint32_t i = 0; i < info->subpassCount && i < RENDER_PASS_USE_SUBPASSES; i++) {       \
            const Subpass *subpass = &info->pSubpasses[i];                                         \
            use->known |= 1ull << i;                                                               \
            for (uint32_t c = 0; c < subpass->colorAttachmentCount; c++) {                         \
                if (subpass->pColorAttachments[c].attachment != VK_ATTACHMENT_UNUSED) {            \
                    use->color |= 1ull << i;                                                       \
                }                                                                                  \
            }                                                                                      \
            if (subpass->pDepthStencilAttachment &&                                                \
                subpass->pDepthStencilAttachment->attachment != VK_ATTACHMENT_UNUSED) {            \
                use->depth_stencil |= 1ull << i;                                                   \
            }                                                                                      \
        }                                                                                          \
    }

READ_SUBPASSES(VkRenderPassCreateInfo, VkSubpassDescription, rules_read_subpasses)
READ_SUBPASSES(VkRenderPassCreateInfo2, VkSubpassDescription2, rules_read_subpasses_2)

__attribute__((cold)) void canonical_render_pass_use(const void *create_info,
                                                     struct render_pass_use *ret_use)
{
    VkStructureType type = ((const VkBaseInStructure *)create_info)->sType;
    *ret_use = (struct render_pass_use){0};
    if (type == VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO) {
        rules_read_subpasses(create_info, ret_use);
    } else if (type == VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO_2) {
        rules_read_subpasses_2(create_info, ret_use);
    }
}
