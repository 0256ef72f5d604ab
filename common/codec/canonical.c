#include "codec/canonical.h"

#include <stdlib.h>
#include <string.h>

#include "codec/chain.h"
#include "codec/encode.h"

bool form_root(uint32_t stype, enum codec_id *ret_id)
{
    static const enum codec_id roots[] = {
        CODEC_VkComputePipelineCreateInfo,
        CODEC_VkGraphicsPipelineCreateInfo,
        CODEC_VkRayTracingPipelineCreateInfoKHR,
        CODEC_VkRayTracingPipelineCreateInfoNV,
        CODEC_VkShaderModuleCreateInfo,
        CODEC_VkDescriptorSetLayoutCreateInfo,
        CODEC_VkPipelineLayoutCreateInfo,
        CODEC_VkDescriptorUpdateTemplateCreateInfo,
        CODEC_VkSamplerCreateInfo,
        CODEC_VkSamplerYcbcrConversionCreateInfo,
        CODEC_VkRenderPassCreateInfo,
        CODEC_VkRenderPassCreateInfo2,
    };
    for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
        if (codec_structs[roots[i]].stype == stype) {
            *ret_id = roots[i];
            return true;
        }
    }
    return false;
}

/* What the subpass uses decides whether two states of the pipeline are live. */
static bool settle_by_subpass(struct encoder *encoder, const VkGraphicsPipelineCreateInfo *info)
{
    const struct render_pass_use *use = &encoder->render_pass_object.use;
    uint64_t handle;
    memcpy(&handle, &info->renderPass, sizeof(handle));
    if (!encode_resolve(encoder, VK_OBJECT_TYPE_RENDER_PASS, handle,
                        &encoder->render_pass_object)) {
        return false;
    }
    encoder->render_pass = handle;
    if (info->subpass < RENDER_PASS_USE_SUBPASSES && (use->known >> info->subpass & 1)) {
        const struct subpass_use subpass = {
            .color = use->color >> info->subpass & 1,
            .depth_stencil = use->depth_stencil >> info->subpass & 1,
        };
        graphics_state_settle(&encoder->live.graphics, &subpass);
    }
    return true;
}

static bool prepare_graphics(struct encoder *encoder, const VkGraphicsPipelineCreateInfo *info,
                             const struct chain *chain, uint64_t flags)
{
    struct graphics_state *state = &encoder->live.graphics;
    graphics_state_compute(info, flags, &chain->graphics, state);
    encoder->live.blend_advanced_coherent = encoder->context->blend_advanced_coherent;
    if (!state->dynamic_known) {
        return encode_give_up(encoder, CANONICAL_CAUSE_FLAG);
    }
    return !state->by_subpass || settle_by_subpass(encoder, info);
}

/* The rules on a whole pipeline. */
static bool prepare_pipeline(struct encoder *encoder, enum codec_id id, const void *create_info)
{
    const struct chain_pipeline_head *head = create_info;
    struct chain chain;
    chain_read(head->next, &chain);
    uint64_t flags = chain_pipeline_flags(&chain, head->flags);
    if (!chain_flags_known(flags)) {
        return encode_give_up(encoder, CANONICAL_CAUSE_FLAG);
    }
    if (chain_forbids_cache(&chain, flags)) {
        return encode_give_up(encoder, CANONICAL_CAUSE_CACHE_FORBIDDEN);
    }
    if (flags & RULES_PIPELINE_DERIVATIVE) {
        encode_keep_apart(encoder, CANONICAL_CAUSE_DERIVATIVE);
    }
    if (flags & RULES_PIPELINE_DEFER_COMPILE) {
        encode_keep_apart(encoder, CANONICAL_CAUSE_DEFERRED);
    }
    if (flags & RULES_PIPELINE_GROUP_HANDLE_REPLAY) {
        encode_keep_apart(encoder, CANONICAL_CAUSE_IDENTITY);
    }
    encoder->pipeline_flags = flags & ~FORM_OMITTED_FLAGS;
    return id != CODEC_VkGraphicsPipelineCreateInfo ||
           prepare_graphics(encoder, create_info, &chain, flags);
}

static bool is_pipeline(enum codec_id id)
{
    return id == CODEC_VkComputePipelineCreateInfo || id == CODEC_VkGraphicsPipelineCreateInfo ||
           id == CODEC_VkRayTracingPipelineCreateInfoKHR ||
           id == CODEC_VkRayTracingPipelineCreateInfoNV;
}

static bool encode_root(struct encoder *encoder, const void *create_info)
{
    uint32_t stype = (uint32_t)((const VkBaseInStructure *)create_info)->sType;
    enum codec_id id;
    if (!form_root(stype, &id)) {
        return encode_give_up(encoder, CANONICAL_CAUSE_STRUCT);
    }
    if (is_pipeline(id) && !prepare_pipeline(encoder, id, create_info)) {
        return false;
    }
    return encode_put_u32(encoder, stype) &&
           encode_struct(encoder, &codec_structs[id], create_info);
}

/* Appends the tail to the form and takes the digests of both. */
static bool finish(struct encoder *encoder)
{
    struct canonical *canonical = encoder->canonical;
    canonical->key.size = (size_t)(encoder->next - canonical->key.data);
    canonical->size = canonical->key.size;
    if (canonical->size > CANONICAL_MAX_SIZE) {
        return encode_give_up(encoder, CANONICAL_CAUSE_SIZE);
    }
    canonical->digest = canonical->key_digest = digest_of(canonical->key.data, canonical->key.size);
    if (canonical->tail.size > 0) {
        bytes_put(&canonical->key, canonical->tail.data, canonical->tail.size);
        canonical->key_digest = digest_of(canonical->key.data, canonical->key.size);
    }
    return !(canonical->key.failed || canonical->tail.failed) ||
           encode_give_up(encoder, CANONICAL_CAUSE_MEMORY);
}

/* Empties the result; memory stays. */
static void reset(struct canonical *canonical)
{
    struct bytes key = canonical->key;
    struct bytes tail = canonical->tail;
    key.size = tail.size = 0;
    key.failed = tail.failed = false;
    *canonical = (struct canonical){.key = key, .tail = tail};
}

void canonical_encode(const struct canonical_context *context, const void *create_info,
                      struct canonical *canonical)
{
    struct encoder encoder = {.context = context, .canonical = canonical};
    reset(canonical);
    canonical->complete = true;
    if (!encode_grow(&encoder, 0) || !encode_root(&encoder, create_info) || !finish(&encoder)) {
        enum canonical_cause cause = canonical->cause;
        reset(canonical);
        canonical->verdict = CANONICAL_UNKNOWN;
        canonical->cause = cause;
    }
}

void canonical_free(struct canonical *canonical)
{
    bytes_free(&canonical->key);
    bytes_free(&canonical->tail);
    *canonical = (struct canonical){0};
}

const char *canonical_cause_id(enum canonical_cause cause)
{
    switch (cause) {
    case CANONICAL_CAUSE_NONE:
        return "";
    case CANONICAL_CAUSE_STRUCT:
        return "unknown_struct";
    case CANONICAL_CAUSE_FLAG:
        return "unknown_flag";
    case CANONICAL_CAUSE_HANDLE:
        return "unknown_handle";
    case CANONICAL_CAUSE_INVALID:
        return "invalid_create_info";
    case CANONICAL_CAUSE_SIZE:
        return "too_large";
    case CANONICAL_CAUSE_MEMORY:
        return "out_of_memory";
    case CANONICAL_CAUSE_CACHE_FORBIDDEN:
        return "cache_forbidden";
    case CANONICAL_CAUSE_IDENTITY:
        return "identity";
    case CANONICAL_CAUSE_SIDE_EFFECT:
        return "side_effect";
    case CANONICAL_CAUSE_DERIVATIVE:
        return "derivative";
    case CANONICAL_CAUSE_DEFERRED:
        return "deferred_compile";
    case CANONICAL_CAUSE_DOUBT:
        return "doubtful_state";
    }
    return "";
}

VkStructureType canonical_stype(const void *bytes, size_t size)
{
    struct bytes_reader reader = bytes_reader_over(bytes, size);
    uint32_t stype = bytes_get_u32(&reader);
    return reader.overrun ? VK_STRUCTURE_TYPE_MAX_ENUM : (VkStructureType)stype;
}
