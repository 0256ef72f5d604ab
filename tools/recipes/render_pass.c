// SPDX-License-Identifier: Apache-2.0
/* What recipe_tool.h says of render passes. */
#include "common/codec/canonical.h"
#include "tools/recipes/recipe_tool.h"

/* Whether an attachment is one of so many, or none. */
static bool render_pass_has(uint32_t attachment, uint32_t count)
{
    return attachment < count || attachment == VK_ATTACHMENT_UNUSED;
}

/* Of a dependency. */
static bool render_pass_has_subpass(uint32_t subpass, uint32_t count)
{
    return subpass < count || subpass == VK_SUBPASS_EXTERNAL;
}

/* The two sorts of render passes are alike but for their types. `references` may be NULL. */
#define RENDER_PASS(Info, Subpass, Reference, name)                                                \
    static bool name##_has_all(const Info *info, const Reference *references, uint32_t count)      \
    {                                                                                              \
        bool has_all = true;                                                                       \
        for (uint32_t i = 0; references && i < count; i++) {                                       \
            has_all &= render_pass_has(references[i].attachment, info->attachmentCount);           \
        }                                                                                          \
        return has_all;                                                                            \
    }                                                                                              \
                                                                                                   \
    static bool name##_has_attachments(const Info *info, const Subpass *subpass)                   \
    {                                                                                              \
        bool has_all = true;                                                                       \
        for (uint32_t i = 0; i < subpass->preserveAttachmentCount; i++) {                          \
            has_all &= subpass->pPreserveAttachments[i] < info->attachmentCount;                   \
        }                                                                                          \
        const uint32_t colors = subpass->colorAttachmentCount;                                     \
        return has_all &&                                                                          \
               name##_has_all(info, subpass->pInputAttachments, subpass->inputAttachmentCount) &&  \
               name##_has_all(info, subpass->pColorAttachments, colors) &&                         \
               name##_has_all(info, subpass->pResolveAttachments, colors) &&                       \
               name##_has_all(info, subpass->pDepthStencilAttachment, 1);                          \
    }                                                                                              \
                                                                                                   \
    static bool name##_is_sound(const Info *info)                                                  \
    {                                                                                              \
        bool sound = true;                                                                         \
        for (uint32_t i = 0; i < info->subpassCount; i++) {                                        \
            sound &= name##_has_attachments(info, &info->pSubpasses[i]);                           \
        }                                                                                          \
        for (uint32_t i = 0; i < info->dependencyCount; i++) {                                     \
            sound &=                                                                               \
                render_pass_has_subpass(info->pDependencies[i].srcSubpass, info->subpassCount) &&  \
                render_pass_has_subpass(info->pDependencies[i].dstSubpass, info->subpassCount);    \
        }                                                                                          \
        return sound;                                                                              \
    }

RENDER_PASS(VkRenderPassCreateInfo, VkSubpassDescription, VkAttachmentReference, pass)
RENDER_PASS(VkRenderPassCreateInfo2, VkSubpassDescription2, VkAttachmentReference2, pass_2)

/* What is chained to one of the first sort speaks of its subpasses by their numbers, too. */
static bool pass_chain_is_sound(const VkRenderPassCreateInfo *info)
{
    const VkRenderPassMultiviewCreateInfo *views =
        canonical_find_struct(info->pNext, VK_STRUCTURE_TYPE_RENDER_PASS_MULTIVIEW_CREATE_INFO);
    const VkRenderPassInputAttachmentAspectCreateInfo *aspects = canonical_find_struct(
        info->pNext, VK_STRUCTURE_TYPE_RENDER_PASS_INPUT_ATTACHMENT_ASPECT_CREATE_INFO);
    bool sound = !views ||
                 ((views->subpassCount == 0 || views->subpassCount == info->subpassCount) &&
                  (views->dependencyCount == 0 || views->dependencyCount == info->dependencyCount));
    for (uint32_t i = 0; aspects && i < aspects->aspectReferenceCount; i++) {
        const VkInputAttachmentAspectReference *aspect = &aspects->pAspectReferences[i];
        sound =
            sound && aspect->subpass < info->subpassCount &&
            aspect->inputAttachmentIndex < info->pSubpasses[aspect->subpass].inputAttachmentCount;
    }
    return sound;
}

/* What is chained to subpasses of the second sort. */
static bool pass_2_chain_is_sound(const VkRenderPassCreateInfo2 *info)
{
    bool sound = true;
    for (uint32_t i = 0; i < info->subpassCount; i++) {
        const void *chain = info->pSubpasses[i].pNext;
        const VkSubpassDescriptionDepthStencilResolve *resolve = canonical_find_struct(
            chain, VK_STRUCTURE_TYPE_SUBPASS_DESCRIPTION_DEPTH_STENCIL_RESOLVE);
        const VkFragmentShadingRateAttachmentInfoKHR *rate = canonical_find_struct(
            chain, VK_STRUCTURE_TYPE_FRAGMENT_SHADING_RATE_ATTACHMENT_INFO_KHR);
        sound = sound &&
                (!resolve || pass_2_has_all(info, resolve->pDepthStencilResolveAttachment, 1)) &&
                (!rate || pass_2_has_all(info, rate->pFragmentShadingRateAttachment, 1));
    }
    return sound;
}

static bool pass_map_is_sound(const VkBaseInStructure *info, uint32_t attachment_count)
{
    const VkRenderPassFragmentDensityMapCreateInfoEXT *map = canonical_find_struct(
        info->pNext, VK_STRUCTURE_TYPE_RENDER_PASS_FRAGMENT_DENSITY_MAP_CREATE_INFO_EXT);
    return !map || render_pass_has(map->fragmentDensityMapAttachment.attachment, attachment_count);
}

bool render_pass_is_sound(const VkBaseInStructure *info)
{
    switch (info->sType) {
    case VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO: {
        const VkRenderPassCreateInfo *pass = (const VkRenderPassCreateInfo *)info;
        return pass_is_sound(pass) && pass_chain_is_sound(pass) &&
               pass_map_is_sound(info, pass->attachmentCount);
    }
    case VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO_2: {
        const VkRenderPassCreateInfo2 *pass = (const VkRenderPassCreateInfo2 *)info;
        return pass_2_is_sound(pass) && pass_2_chain_is_sound(pass) &&
               pass_map_is_sound(info, pass->attachmentCount);
    }
    default:
        return true;
    }
}
