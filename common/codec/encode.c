// SPDX-License-Identifier: Apache-2.0
/* The canonical form of a whole create-info: what holds for the root, the walk, and the key. */
#include <string.h>

#include "common/codec/encode_walk.h"
#include "common/codec/rules.h"

static const struct form_root form_roots[] = {
    {CODEC_VkComputePipelineCreateInfo, VK_OBJECT_TYPE_PIPELINE},
    {CODEC_VkGraphicsPipelineCreateInfo, VK_OBJECT_TYPE_PIPELINE},
    {CODEC_VkRayTracingPipelineCreateInfoKHR, VK_OBJECT_TYPE_PIPELINE},
    {CODEC_VkRayTracingPipelineCreateInfoNV, VK_OBJECT_TYPE_PIPELINE},
    {CODEC_VkShaderModuleCreateInfo, VK_OBJECT_TYPE_SHADER_MODULE},
    {CODEC_VkDescriptorSetLayoutCreateInfo, VK_OBJECT_TYPE_DESCRIPTOR_SET_LAYOUT},
    {CODEC_VkPipelineLayoutCreateInfo, VK_OBJECT_TYPE_PIPELINE_LAYOUT},
    {CODEC_VkDescriptorUpdateTemplateCreateInfo, VK_OBJECT_TYPE_UNKNOWN},
    {CODEC_VkSamplerCreateInfo, VK_OBJECT_TYPE_SAMPLER},
    {CODEC_VkSamplerYcbcrConversionCreateInfo, VK_OBJECT_TYPE_SAMPLER_YCBCR_CONVERSION},
    {CODEC_VkRenderPassCreateInfo, VK_OBJECT_TYPE_RENDER_PASS},
    {CODEC_VkRenderPassCreateInfo2, VK_OBJECT_TYPE_RENDER_PASS},
};

const struct form_root *form_find_root(uint32_t stype)
{
    for (size_t i = 0; i < sizeof form_roots / sizeof form_roots[0]; i++) {
        if (codec_structs[form_roots[i].id].stype == stype) {
            return &form_roots[i];
        }
    }
    return NULL;
}

/* What the subpass uses decides whether two states of the pipeline are live. */
static void encode_prepare_subpass(struct encoder *encoder,
                                   const VkGraphicsPipelineCreateInfo *info)
{
    const struct render_pass_use *use = &encoder->render_pass_object.use;
    uint64_t handle;
    memcpy(&handle, &info->renderPass, sizeof handle);
    if (!encode_resolve(encoder, VK_OBJECT_TYPE_RENDER_PASS, handle,
                        &encoder->render_pass_object)) {
        return;
    }
    encoder->render_pass = handle;
    if (info->subpass < RENDER_PASS_USE_SUBPASSES && (use->known >> info->subpass & 1)) {
        const struct subpass_use subpass = {
            .color = use->color >> info->subpass & 1,
            .depth_stencil = use->depth_stencil >> info->subpass & 1,
        };
        graphics_state_settle(&encoder->live.graphics, &subpass);
    }
}

/* False: a dynamic state is unknown, so that nobody can tell which states are live. */
static bool encode_prepare_graphics(struct encoder *encoder,
                                    const VkGraphicsPipelineCreateInfo *info,
                                    const struct graphics_chain *chain)
{
    struct graphics_state *state = &encoder->live.graphics;
    struct pipeline_rules *rules = &encoder->canonical->rules;
    graphics_state_compute(info, rules->flags, chain, state);
    encoder->live.blend_advanced_coherent = encoder->context->blend_advanced_coherent;
    if (!state->dynamic_known) {
        encode_give_up(encoder, CANONICAL_CAUSE_FLAG);
        return false;
    }
    if (state->of[LIVE_STAGES] == STATE_DEAD) {
        rules->stage_count = 0;
    }
    if (state->is_apart) {
        encode_keep_apart(encoder, CANONICAL_CAUSE_DOUBT);
    }
    if (state->by_subpass) {
        encode_prepare_subpass(encoder, info);
    }
    return true;
}

static uint32_t encode_count_stages(enum codec_id id, const void *create_info)
{
    switch (id) {
    case CODEC_VkGraphicsPipelineCreateInfo:
        return ((const VkGraphicsPipelineCreateInfo *)create_info)->stageCount;
    case CODEC_VkRayTracingPipelineCreateInfoKHR:
        return ((const VkRayTracingPipelineCreateInfoKHR *)create_info)->stageCount;
    case CODEC_VkRayTracingPipelineCreateInfoNV:
        return ((const VkRayTracingPipelineCreateInfoNV *)create_info)->stageCount;
    default:
        return 1;
    }
}

/* The rules on a whole pipeline. False: nothing of it may be followed. */
static bool encode_prepare_pipeline(struct encoder *encoder, enum codec_id id,
                                    const void *create_info)
{
    struct pipeline_rules *rules = &encoder->canonical->rules;
    struct graphics_chain chain;
    enum canonical_cause cause = rules_read_head(id, create_info, rules, &chain);
    rules->stage_count = encode_count_stages(id, create_info);
    if (cause != CANONICAL_CAUSE_NONE) {
        return encode_give_up(encoder, cause);
    }
    encoder->goes_on = true;
    encoder->checked = create_info;
    if (rules->flags & RULES_PIPELINE_DERIVATIVE) {
        encode_keep_apart(encoder, CANONICAL_CAUSE_DERIVATIVE);
    }
    if (rules->flags & RULES_PIPELINE_DEFER_COMPILE) {
        encode_keep_apart(encoder, CANONICAL_CAUSE_DEFERRED);
    }
    if (rules->flags & RULES_PIPELINE_GROUP_HANDLE_REPLAY) {
        encode_keep_apart(encoder, CANONICAL_CAUSE_IDENTITY);
    }
    encoder->pipeline_flags = rules->flags & ~RULES_OMITTED_FLAGS;
    return id != CODEC_VkGraphicsPipelineCreateInfo ||
           encode_prepare_graphics(encoder, create_info, &chain);
}

static bool encode_root(struct encoder *encoder, const void *create_info)
{
    uint32_t stype = (uint32_t)((const VkBaseInStructure *)create_info)->sType;
    const struct form_root *root = form_find_root(stype);
    if (!root) {
        return encode_give_up(encoder, CANONICAL_CAUSE_STRUCT);
    }
    if (root->type == VK_OBJECT_TYPE_PIPELINE &&
        !encode_prepare_pipeline(encoder, (enum codec_id)root->id, create_info)) {
        return false;
    }
    return encode_put_u32(encoder, stype) &&
           encode_struct(encoder, &codec_structs[root->id], create_info);
}

/* Where to look for a key with this tail, whose names and serials nobody outside can choose. */
static uint64_t encode_mix_tail(const struct bytes *tail)
{
    uint64_t mixed = 0;
    for (size_t at = 0; at < tail->size; at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, tail->data + at, sizeof word);
        mixed = (mixed ^ word) * UINT64_C(0x9E3779B97F4A7C15);
        mixed ^= mixed >> 32;
    }
    return mixed;
}

/* Takes the form's digest, and appends the tail. */
static bool encode_finish(struct encoder *encoder)
{
    struct canonical *canonical = encoder->canonical;
    const struct bytes *tail = &canonical->tail;
    canonical->size = (size_t)(encoder->next - canonical->key.data);
    if (canonical->size > CANONICAL_MAX_SIZE) {
        encode_give_up(encoder, CANONICAL_CAUSE_SIZE);
        return false;
    }
    canonical->digest = canonical->key_digest = digest_of(canonical->key.data, canonical->size);
    canonical->key_digest.low += encode_mix_tail(tail);
    if (tail->failed) {
        encode_give_up(encoder, CANONICAL_CAUSE_MEMORY);
        return false;
    }
    if (!encode_put_raw(encoder, tail->data, tail->size) || encode_is_dry(encoder)) {
        return false;
    }
    canonical->key.size = (size_t)(encoder->next - canonical->key.data);
    return true;
}

/* Empties the result; memory and rules stay. */
static void canonical_reset(struct canonical *canonical, enum canonical_verdict verdict)
{
    canonical->key.size = canonical->tail.size = canonical->size = 0;
    canonical->key.failed = canonical->tail.failed = false;
    canonical->by_serial = canonical->complete = false;
    canonical->digest = canonical->key_digest = canonical->code_digest = (struct digest){0, 0};
    canonical->verdict = verdict;
    canonical->code = NULL;
    canonical->code_size = 0;
}

void canonical_encode(const struct canonical_context *context, const void *create_info,
                      struct canonical *canonical)
{
    struct encoder encoder = {.context = context, .canonical = canonical};
    canonical_reset(canonical, CANONICAL_SHARE);
    canonical->cause = CANONICAL_CAUSE_NONE;
    canonical->rules = (struct pipeline_rules){0};
    canonical->complete = true;
    if (canonical->key.data) {
        encoder.next = canonical->key.data;
        encoder.end = canonical->key.data + canonical->key.capacity;
    } else {
        encode_grow(&encoder, 0); /* where memory is out the walk goes on, for the rules */
    }
    if (!encode_root(&encoder, create_info) || canonical->verdict == CANONICAL_UNKNOWN ||
        !encode_finish(&encoder)) {
        canonical_reset(canonical, CANONICAL_UNKNOWN);
    }
}

void canonical_rules(const void *create_info, struct pipeline_rules *ret_rules)
{
    static const struct canonical_context nothing;
    struct canonical canonical = {.verdict = CANONICAL_UNKNOWN};
    struct encoder encoder = {.context = &nothing, .canonical = &canonical};
    encoder.next = encoder.end = encoder.none;
    encode_root(&encoder, create_info);
    *ret_rules = canonical.rules;
}

void canonical_free(struct canonical *canonical)
{
    bytes_free(&canonical->key);
    bytes_free(&canonical->tail);
    *canonical = (struct canonical){0};
}

VkStructureType canonical_stype(const void *bytes, size_t size)
{
    struct bytes_reader reader = bytes_reader_over(bytes, size);
    uint32_t stype = bytes_get_u32(&reader);
    return reader.overrun ? VK_STRUCTURE_TYPE_MAX_ENUM : (VkStructureType)stype;
}

VkObjectType canonical_type_of(VkStructureType stype)
{
    const struct form_root *root = form_find_root((uint32_t)stype);
    return root ? (VkObjectType)root->type : VK_OBJECT_TYPE_UNKNOWN;
}
