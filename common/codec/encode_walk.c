// SPDX-License-Identifier: Apache-2.0
/* The encoder: walks a create-info by table and writes its canonical form. */
#include <string.h>

#include "common/codec/encode_walk.h"
#include "common/codec/rules.h"

/* Room made at once, so that most forms are written without another look at the allocator. */
#define CHUNK 1024

static bool encode_members(struct encoder *encoder, const struct codec_struct *type,
                           const void *structure);
static bool encode_chained(struct encoder *encoder, const struct codec_struct *type,
                           const VkBaseInStructure *head);

__attribute__((cold)) bool encode_give_up(struct encoder *encoder, enum canonical_cause cause)
{
    if (encoder->canonical->verdict != CANONICAL_UNKNOWN) {
        encoder->canonical->verdict = CANONICAL_UNKNOWN;
        encoder->canonical->cause = cause;
        encoder->next = encoder->end = encoder->none;
    }
    if (cause == CANONICAL_CAUSE_STRUCT || cause == CANONICAL_CAUSE_FLAG) {
        encoder->canonical->rules.known = false;
    }
    return encoder->goes_on;
}

__attribute__((cold)) void encode_keep_apart(struct encoder *encoder, enum canonical_cause cause)
{
    if (encoder->canonical->verdict == CANONICAL_SHARE) {
        encoder->canonical->verdict = CANONICAL_NODEDUPE;
        encoder->canonical->cause = cause;
    }
}

__attribute__((cold)) bool encode_grow(struct encoder *encoder, size_t size)
{
    struct bytes *key = &encoder->canonical->key;
    if (encode_is_dry(encoder)) {
        return false;
    }
    key->size = encoder->next ? (size_t)(encoder->next - key->data) : 0;
    if (key->size > CANONICAL_MAX_SIZE || size > CANONICAL_MAX_SIZE - key->size) {
        encode_give_up(encoder, CANONICAL_CAUSE_SIZE);
        return false;
    }
    if (!bytes_reserve(key, size < CHUNK ? CHUNK : size)) {
        encode_give_up(encoder, CANONICAL_CAUSE_MEMORY);
        return false;
    }
    encoder->next = key->data + key->size;
    encoder->end = key->data + key->capacity;
    return true;
}

/* `count` values of `width` bytes each, in memory one after the other. */
static bool encode_put_values(struct encoder *encoder, const void *values, size_t count,
                              size_t width)
{
    if (FORM_IS_NATIVE || width == 1) {
        return encode_put_raw(encoder, values, count * width);
    }
    if (!encode_room(encoder, count * width)) {
        return encoder->goes_on;
    }
    form_copy(encoder->next, values, count, width);
    encoder->next += count * width;
    return true;
}

bool encode_resolve(struct encoder *encoder, VkObjectType type, uint64_t handle,
                    struct canonical_object *ret_object)
{
    if (encode_is_dry(encoder)) {
        return false;
    }
    bool known = encoder->context->resolve(encoder->context->user, type, handle, ret_object);
    if (!known) {
        encode_give_up(encoder, CANONICAL_CAUSE_HANDLE);
    }
    return known;
}

/* Where content is not enough (hazards 11, 12, 13). */
static bool encode_is_named_by_serial(const struct encoder *encoder, VkObjectType type,
                                      const struct canonical_object *object)
{
    switch (type) {
    case VK_OBJECT_TYPE_SAMPLER:
    case VK_OBJECT_TYPE_SAMPLER_YCBCR_CONVERSION:
    case VK_OBJECT_TYPE_PIPELINE:
        return true;
    case VK_OBJECT_TYPE_PIPELINE_LAYOUT:
        return object->by_serial || encoder->context->layouts_by_serial;
    default:
        return object->by_serial;
    }
}

/* A digest of zeros means VK_NULL_HANDLE; crafted code may have it. */
static bool encode_put_content(struct encoder *encoder, struct digest content)
{
    return digest_equal(content, (struct digest){0, 0})
               ? encode_give_up(encoder, CANONICAL_CAUSE_HANDLE)
               : encode_put_digest(encoder, content);
}

/* The tail never leaves the process: its words are in the machine's order. */
static inline void encode_put_tail(struct encoder *encoder, const uint64_t *words, size_t count)
{
    struct bytes *tail = &encoder->canonical->tail;
    if (tail->capacity - tail->size < count * sizeof *words) {
        bytes_put(tail, words, count * sizeof *words);
        return;
    }
    memcpy(tail->data + tail->size, words, count * sizeof *words);
    tail->size += count * sizeof *words;
}

static void encode_put_name(struct encoder *encoder, struct digest name)
{
    encode_put_tail(encoder, (const uint64_t[]){name.low, name.high}, 2);
}

static bool encode_object(struct encoder *encoder, VkObjectType type,
                          const struct canonical_object *object)
{
    if (encode_is_named_by_serial(encoder, type, object)) {
        encode_put_tail(encoder, &object->serial, 1);
        encoder->canonical->by_serial = true;
    } else if (encoder->context->live_key) {
        encode_put_name(encoder, object->name);
    }
    return encode_put_content(encoder, object->content);
}

/* One that is DOUBTFUL is ignored by Vulkan: what is no handle at all is as good as VK_NULL_HANDLE.
 */
static __attribute__((noinline)) bool encode_handle(struct encoder *encoder, VkObjectType type,
                                                    const void *member, enum liveness liveness)
{
    const struct canonical_context *context = encoder->context;
    uint64_t handle = 0;
    struct canonical_object object;
    const struct canonical_object *found = &object;
    if (liveness != STATE_DEAD) {
        memcpy(&handle, member, sizeof handle);
    }
    if (handle != 0 && liveness == STATE_DOUBTFUL &&
        (encode_is_dry(encoder) || !context->resolve(context->user, type, handle, &object))) {
        handle = 0;
    } else if (handle != 0 && type == VK_OBJECT_TYPE_RENDER_PASS &&
               handle == encoder->render_pass) {
        found = &encoder->render_pass_object;
    } else if (handle != 0 && liveness == STATE_LIVE &&
               !encode_resolve(encoder, type, handle, &object)) {
        return encoder->goes_on;
    }
    return handle == 0 ? encode_put_digest(encoder, (struct digest){0, 0})
                       : encode_object(encoder, type, found);
}

/* The code's digest stands for the code, so that a big module is read once and not copied. */
static bool encode_module_code(struct encoder *encoder, const VkShaderModuleCreateInfo *info)
{
    if (!info->pCode || info->codeSize == 0) {
        return encode_give_up(encoder, CANONICAL_CAUSE_INVALID);
    }
    encoder->canonical->code = info->pCode;
    encoder->canonical->code_size = info->codeSize;
    encoder->canonical->code_digest = digest_of(info->pCode, info->codeSize);
    return encode_put_digest(encoder, encoder->canonical->code_digest);
}

/* The digest that a module made of this code would have (hazard 31): its form is written where the
 * cursor stands, and taken back. */
static __attribute__((cold)) bool encode_inline_code(struct encoder *encoder,
                                                     const VkShaderModuleCreateInfo *info)
{
    struct canonical *canonical = encoder->canonical;
    if (encode_is_dry(encoder)) {
        return true; /* its flags were checked with the stage's chain */
    }
    size_t start = (size_t)(encoder->next - canonical->key.data);
    if (!encode_put_u32(encoder, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO) ||
        !encode_members(encoder, &codec_structs[CODEC_VkShaderModuleCreateInfo], info) ||
        !encode_put_u32(encoder, FORM_CHAIN_END)) {
        return false;
    }
    if (encode_is_dry(encoder)) {
        return true;
    }
    uint8_t *form = canonical->key.data + start;
    const struct canonical_inline_module module = {
        .content = digest_of(form, (size_t)(encoder->next - form)),
        .form = form,
        .form_size = (size_t)(encoder->next - form),
        .code = canonical->code,
        .code_size = canonical->code_size,
    };
    if (encoder->context->inline_module) {
        encoder->context->inline_module(encoder->context->user, &module);
    }
    if (encoder->context->live_key) {
        encode_put_name(encoder, live_name(encoder->context->live_key, form, module.form_size,
                                           module.code, module.code_size));
    }
    encoder->next = form;
    canonical->code = NULL;
    canonical->code_size = 0;
    canonical->code_digest = (struct digest){0, 0};
    return encode_put_content(encoder, module.content);
}

/* Hazard 30: an identifier is bytes of one driver, and no code. */
static __attribute__((cold)) bool
encode_has_identifier(const VkPipelineShaderStageCreateInfo *stage)
{
    const VkPipelineShaderStageModuleIdentifierCreateInfoEXT *identifier = canonical_find_struct(
        stage->pNext, VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_MODULE_IDENTIFIER_CREATE_INFO_EXT);
    return identifier && identifier->identifierSize > 0;
}

static bool encode_stage_code(struct encoder *encoder, const VkPipelineShaderStageCreateInfo *stage)
{
    if (stage->module != VK_NULL_HANDLE) {
        return encode_handle(encoder, VK_OBJECT_TYPE_SHADER_MODULE, &stage->module, STATE_LIVE);
    }
    const VkShaderModuleCreateInfo *info = rules_inline_module(stage);
    if (info) {
        return encode_inline_code(encoder, info);
    }
    if (!encode_has_identifier(stage)) {
        return encode_give_up(encoder, CANONICAL_CAUSE_INVALID);
    }
    encoder->canonical->complete = false;
    return encode_put_digest(encoder, (struct digest){0, 0});
}

static bool encode_string(struct encoder *encoder, const char *text)
{
    if (encode_is_dry(encoder)) {
        return true;
    }
    if (!text) {
        return encode_give_up(encoder, CANONICAL_CAUSE_INVALID);
    }
    size_t length = strlen(text);
    if (length > CANONICAL_MAX_SIZE) {
        return encode_give_up(encoder, CANONICAL_CAUSE_SIZE);
    }
    return encode_put_u32(encoder, (uint32_t)length) && encode_put_raw(encoder, text, length);
}

/* A flag bit of tomorrow may mean anything: in a struct that a chain can hold, also that there must
 * be no cache. */
static __attribute__((cold)) bool encode_unknown_flag(struct encoder *encoder,
                                                      const struct codec_struct *type)
{
    if (type->stype != CODEC_NO_STYPE) {
        encoder->canonical->rules.cacheable = false;
        encoder->goes_on = false;
    }
    return encode_give_up(encoder, CANONICAL_CAUSE_FLAG);
}

static bool encode_flat_members(struct encoder *encoder, const struct codec_struct *type,
                                const VkBaseInStructure *head)
{
    return rules_struct_flags_known(type, head) ? encode_put_raw(encoder, head + 1, type->flat)
                                                : encode_unknown_flag(encoder, type);
}

bool encode_struct(struct encoder *encoder, const struct codec_struct *type, const void *structure)
{
    const VkBaseInStructure *head = structure;
    if (type->stype == CODEC_NO_STYPE) {
        return encode_members(encoder, type, structure);
    }
    if ((uint32_t)head->sType != type->stype) {
        return encode_give_up(encoder, CANONICAL_CAUSE_INVALID);
    }
    if (head->pNext) {
        return encode_chained(encoder, type, head);
    }
    return (FORM_IS_NATIVE && type->flat ? encode_flat_members(encoder, type, head)
                                         : encode_members(encoder, type, head)) &&
           encode_put_u32(encoder, FORM_CHAIN_END);
}

/* Copied all at once, after a look at the flags of each. */
static bool encode_flat_structs(struct encoder *encoder, const struct codec_struct *type,
                                const uint8_t *structs, uint64_t count)
{
    if (count > CANONICAL_MAX_SIZE / type->size) {
        return encode_give_up(encoder, CANONICAL_CAUSE_SIZE);
    }
    const size_t size = (size_t)count * type->size;
    if (type->check_count > 0) {
        for (const uint8_t *s = structs; s < structs + size; s += type->size) {
            if (!rules_struct_flags_known(type, s)) {
                return encode_unknown_flag(encoder, type);
            }
        }
    }
    return encode_put_raw(encoder, structs, size);
}

static bool encode_structs(struct encoder *encoder, const struct codec_struct *type,
                           const uint8_t *structs, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++, structs += type->size) {
        if (!encode_struct(encoder, type, structs)) {
            return false;
        }
    }
    return true;
}

static bool encode_handles(struct encoder *encoder, VkObjectType type, const uint8_t *handles,
                           uint64_t count)
{
    for (uint64_t i = 0; i < count; i++, handles += sizeof(uint64_t)) {
        if (!encode_handle(encoder, type, handles, STATE_LIVE)) {
            return false;
        }
    }
    return true;
}

static bool encode_array(struct encoder *encoder, const struct codec_member *member,
                         const void *elements, uint64_t count)
{
    if (member->kind == CODEC_ARRAY) {
        const struct codec_struct *type = &codec_structs[member->type];
        return FORM_IS_NATIVE && type->flat == type->size
                   ? encode_flat_structs(encoder, type, elements, count)
                   : encode_structs(encoder, type, elements, count);
    }
    if (member->kind == CODEC_HANDLE_ARRAY) {
        return encode_handles(encoder, (VkObjectType)member->type, elements, count);
    }
    size_t width = form_element_width(member->kind);
    return count <= CANONICAL_MAX_SIZE ? encode_put_values(encoder, elements, (size_t)count, width)
                                       : encode_give_up(encoder, CANONICAL_CAUSE_SIZE);
}

/* Whether the rules have to look at what a pointer leads to: at structs that a chain can extend. */
static bool encode_is_of_rules(const struct codec_member *member)
{
    return (member->kind == CODEC_POINTER || member->kind == CODEC_ARRAY) &&
           codec_structs[member->type].stype != CODEC_NO_STYPE;
}

/* A pointer: whether it is there, then what it leads to. With a count of zero it is never read. */
static inline bool encode_pointer(struct encoder *encoder, const struct codec_member *member,
                                  const uint8_t *structure, enum liveness liveness)
{
    const void *target;
    uint64_t count = 1;
    if (liveness == STATE_DEAD ||
        (member->kind != CODEC_POINTER && (count = form_count(member, structure)) == 0)) {
        return encode_put_u8(encoder, FORM_ABSENT);
    }
    memcpy(&target, structure + member->offset, sizeof target);
    if (!target) {
        return member->optional ? encode_put_u8(encoder, FORM_ABSENT)
                                : encode_give_up(encoder, CANONICAL_CAUSE_INVALID);
    }
    if (liveness == STATE_DOUBTFUL) {
        encode_keep_apart(encoder, CANONICAL_CAUSE_DOUBT);
        encoder->canonical->complete = false;
        return encode_put_u8(encoder, FORM_DOUBTFUL);
    }
    if (!encode_put_u8(encoder, FORM_PRESENT)) {
        return false;
    }
    if (encode_is_dry(encoder) && !encode_is_of_rules(member)) {
        return true;
    }
    return member->kind == CODEC_POINTER
               ? encode_struct(encoder, &codec_structs[member->type], target)
               : encode_array(encoder, member, target, count);
}

/* Data that is there gives the object an identity (hazard 6). */
static __attribute__((cold)) bool encode_identity_data(struct encoder *encoder,
                                                       const uint8_t *value)
{
    const void *data;
    memcpy(&data, value, sizeof data);
    if (!data) {
        return encode_put_u8(encoder, FORM_ABSENT);
    }
    encode_keep_apart(encoder, CANONICAL_CAUSE_IDENTITY);
    encoder->canonical->complete = false;
    return encode_put_u8(encoder, FORM_DOUBTFUL);
}

/* A value of the selector that is not known is a struct that is not. */
static __attribute__((cold)) bool
encode_union(struct encoder *encoder, const struct codec_member *member, const uint8_t *structure)
{
    const struct codec_arm *arm = codec_find_arm(member, structure);
    if (!arm) {
        return encode_give_up(encoder, CANONICAL_CAUSE_STRUCT);
    }
    const uint8_t *value = structure + member->offset;
    return arm->type == CODEC_STRUCT_COUNT
               ? encode_put_values(encoder, value, 1, 4)
               : encode_struct(encoder, &codec_structs[arm->type], value);
}

/* What is neither words nor a pointer. */
static inline bool encode_value(struct encoder *encoder, const struct codec_member *member,
                                const uint8_t *structure, enum liveness liveness)
{
    const uint8_t *value = structure + member->offset;
    bool live = liveness == STATE_LIVE;
    const void *pointer;
    size_t size;
    switch ((enum codec_kind)member->kind) {
    case CODEC_LONGS:
        return encode_put_values(encoder, value, member->count, 8);
    case CODEC_HALF:
        return encode_put_values(encoder, value, 1, 2);
    case CODEC_BYTES:
        return encode_put_raw(encoder, value, member->count);
    case CODEC_SIZE:
        memcpy(&size, value, sizeof size);
        return encode_put_u64(encoder, size);
    case CODEC_HANDLE:
        return encode_handle(encoder, (VkObjectType)member->type, value, liveness);
    case CODEC_EMBEDDED_MAYBE:
        return encode_put_u8(encoder, live ? FORM_PRESENT : FORM_ABSENT) &&
               (!live || encode_struct(encoder, &codec_structs[member->type], value));
    case CODEC_EMBEDDED:
        return encode_struct(encoder, &codec_structs[member->type], value);
    case CODEC_UNION:
        return encode_union(encoder, member, structure);
    case CODEC_STRING:
        memcpy(&pointer, value, sizeof pointer);
        return encode_string(encoder, pointer);
    case CODEC_PIPELINE_FLAGS:
        return encode_put_u64(encoder, encoder->pipeline_flags);
    case CODEC_STAGE_CODE:
        return encode_stage_code(encoder, (const VkPipelineShaderStageCreateInfo *)structure);
    case CODEC_MODULE_CODE:
        return encode_module_code(encoder, (const VkShaderModuleCreateInfo *)structure);
    case CODEC_IDENTITY_DATA:
        return encode_identity_data(encoder, value);
    default:
        return encode_give_up(encoder, CANONICAL_CAUSE_INVALID);
    }
}

/* Most members are words or pointers. */
static bool encode_member(struct encoder *encoder, const struct codec_member *member,
                          const uint8_t *structure)
{
    if (member->kind == CODEC_WORDS) {
        return encode_put_values(encoder, structure + member->offset, member->count, 4);
    }
    const enum liveness liveness =
        liveness_of((enum live_condition)member->live, structure, &encoder->live);
    if (liveness == STATE_UNKNOWN) {
        return encode_give_up(encoder, CANONICAL_CAUSE_STRUCT);
    }
    return member->kind >= CODEC_POINTER && member->kind <= CODEC_SAMPLE_MASK
               ? encode_pointer(encoder, member, structure, liveness)
               : encode_value(encoder, member, structure, liveness);
}

static __attribute__((noinline)) bool
encode_members(struct encoder *encoder, const struct codec_struct *type, const void *structure)
{
    const struct codec_member *member = &codec_members[type->first_member];
    const struct codec_member *end = member + type->member_count;
    if (!rules_struct_flags_known(type, structure)) {
        return encode_unknown_flag(encoder, type);
    }
    while (member < end && encode_member(encoder, member, structure)) {
        member++;
    }
    return member == end;
}

/* Formats that are ignored may be uninitialized (zink's are, with other values in each start). */
static __attribute__((noinline)) bool encode_rendering(struct encoder *encoder,
                                                       const struct codec_struct *type,
                                                       const VkPipelineRenderingCreateInfo *info)
{
    VkPipelineRenderingCreateInfo used = *info;
    if (!encoder->live.graphics.has_formats) {
        used.depthAttachmentFormat = used.stencilAttachmentFormat = VK_FORMAT_UNDEFINED;
    }
    return encode_members(encoder, type, &used);
}

/* One struct of a chain: its sType and members, or what rules.def says instead. */
static bool encode_child(struct encoder *encoder, const struct codec_struct *type,
                         const void *structure)
{
    switch ((enum codec_role)type->role) {
    case CODEC_LEFT_OUT:
        return true;
    case CODEC_SIDE_EFFECT:
        encode_keep_apart(encoder, CANONICAL_CAUSE_SIDE_EFFECT);
        return true;
    case CODEC_IDENTITY:
        encode_keep_apart(encoder, CANONICAL_CAUSE_IDENTITY);
        encoder->canonical->complete = false;
        return encode_put_u32(encoder, type->stype);
    case CODEC_ENCODED:
        break;
    }
    if (type->stype == VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO) {
        return true; /* it is the code of the stage, and encoded there */
    }
    if (!encode_put_u32(encoder, type->stype)) {
        return false;
    }
    return type->stype == VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO
               ? encode_rendering(encoder, type, structure)
               : encode_members(encoder, type, structure);
}

/* Gives up what is unknown in a struct's chain. */
static __attribute__((cold)) bool encode_unknown_chain(struct encoder *encoder,
                                                       enum canonical_cause cause, bool flags_known)
{
    encode_give_up(encoder, cause);
    if (!flags_known) {
        encoder->canonical->rules.cacheable = encoder->goes_on = false;
    }
    return encoder->goes_on;
}

/* A struct that has a chain. What is unknown in the chain may decide what is live in the struct:
 * nothing of it is read. */
static __attribute__((noinline)) bool encode_chained(struct encoder *encoder,
                                                     const struct codec_struct *type,
                                                     const VkBaseInStructure *head)
{
    if (head != encoder->checked) {
        bool flags_known;
        enum canonical_cause cause = rules_check_chain(type, head->pNext, &flags_known);
        if (cause != CANONICAL_CAUSE_NONE) {
            return encode_unknown_chain(encoder, cause, flags_known);
        }
    }
    if (!encode_members(encoder, type, head)) {
        return false;
    }
    for (const VkBaseInStructure *s = head->pNext; s; s = s->pNext) {
        int child = codec_find_child(type, (uint32_t)s->sType);
        if (!encode_child(encoder, &codec_structs[codec_children[type->first_child + child]], s)) {
            return false;
        }
    }
    return encode_put_u32(encoder, FORM_CHAIN_END);
}
