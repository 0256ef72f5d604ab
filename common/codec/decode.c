// SPDX-License-Identifier: Apache-2.0
/* The decoder: makes a create-info from its canonical form. The same code walks the bytes twice:
 * first to check them and to measure, with structs in scratch memory and pointers left NULL, then
 * to fill the one allocation. The tables bound the depth: no struct reaches itself. */
#include <stdlib.h>
#include <string.h>

#include "common/codec/canonical.h"
#include "common/codec/liveness.h"
#include "common/codec/rules.h"
#include "common/codec/table.h"

#define ALIGNMENT 8

/* Elements of an ignored array that are zeros; no device has more attachments or viewports. */
#define MAX_ZEROS 32

typedef bool (*visit_fn)(void *user, VkObjectType type, struct digest content);

struct decoder {
    struct bytes_reader in;
    uint8_t *arena; /* NULL in the first pass */
    size_t capacity;
    size_t used;
    const struct canonical_sources *sources; /* second pass */
    visit_fn visit;                          /* first pass, may be NULL */
    void *visit_user;
    struct rules_flags_2 *flags; /* to be chained to the root */
};

/* Memory for a struct while it is measured. */
union scratch {
    uint64_t align;
    uint8_t memory[CODEC_MAX_SIZE];
};

static bool decode_struct(struct decoder *decoder, const struct codec_struct *type,
                          void *structure);

/* The next `size` bytes of the arena; NULL in the first pass. The second pass fails where the bytes
 * were changed in between, in a file that somebody else writes. */
static void *decode_place(struct decoder *decoder, size_t size)
{
    void *memory = decoder->arena ? decoder->arena + decoder->used : NULL;
    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (decoder->arena && size > decoder->capacity - decoder->used) {
        decoder->in.overrun = true;
        return NULL;
    }
    decoder->used += size;
    return memory;
}

static void decode_set_pointer(const struct codec_member *member, uint8_t *structure,
                               const void *target)
{
    memcpy(structure + member->offset, &target, sizeof target);
}

static bool decode_values(struct decoder *decoder, void *to, uint64_t count, size_t width)
{
    if (count > bytes_left(&decoder->in) / width) {
        return false;
    }
    const uint8_t *from = bytes_get(&decoder->in, (size_t)count * width);
    if (to && count > 0) {
        form_copy(to, from, (size_t)count, width);
    }
    return true;
}

static bool decode_handle(struct decoder *decoder, VkObjectType type, uint8_t *to)
{
    uint64_t handle = 0;
    struct digest content = digest_get(&decoder->in);
    if (decoder->in.overrun) {
        return false;
    }
    if (content.low == 0 && content.high == 0) {
        return true;
    }
    if (!decoder->arena) {
        return !decoder->visit || decoder->visit(decoder->visit_user, type, content);
    }
    if (!to || !decoder->sources->handle(decoder->sources->user, type, content, &handle)) {
        return false;
    }
    memcpy(to, &handle, sizeof handle);
    return true;
}

static bool decode_handles(struct decoder *decoder, VkObjectType type, uint64_t count, uint8_t *to)
{
    for (uint64_t i = 0; i < count; i++) {
        if (!decode_handle(decoder, type, to ? to + i * sizeof(uint64_t) : NULL)) {
            return false;
        }
    }
    return true;
}

static bool decode_structs(struct decoder *decoder, const struct codec_struct *type, uint64_t count,
                           uint8_t *to)
{
    union scratch scratch;
    for (uint64_t i = 0; i < count; i++) {
        uint8_t *structure = to ? to + i * type->size : scratch.memory;
        memset(structure, 0, type->size);
        if (!decode_struct(decoder, type, structure)) {
            return false;
        }
    }
    return true;
}

/* What a pointer leads to. Each element takes at least one byte of the form, so a count cannot ask
 * for more memory than in proportion to the bytes that are there. */
static bool decode_elements(struct decoder *decoder, const struct codec_member *member,
                            uint8_t *structure, uint64_t count)
{
    const struct codec_struct *type = &codec_structs[member->type];
    if (count > bytes_left(&decoder->in)) {
        return false;
    }
    size_t width = form_element_width(member->kind);
    bool structs = member->kind == CODEC_ARRAY || member->kind == CODEC_POINTER;
    if (structs) {
        width = type->size;
    } else if (member->kind == CODEC_HANDLE_ARRAY) {
        width = sizeof(uint64_t);
    }
    uint8_t *target = decode_place(decoder, (size_t)count * width);
    decode_set_pointer(member, structure, target);
    if (structs) {
        return decode_structs(decoder, type, count, target);
    }
    if (member->kind == CODEC_HANDLE_ARRAY) {
        return decode_handles(decoder, (VkObjectType)member->type, count, target);
    }
    return decode_values(decoder, target, count, width);
}

/* An array that is ignored and yet counts: RADV hashes how many attachments have blending that is
 * dynamic. Or that valid usage wants to be there: RADV of Mesa 22 reads enables of color writes. */
static bool decode_is_of_zeros(const struct codec_member *member, uint64_t count)
{
    return (!member->optional || member->live == LIVE_BLEND_ATTACHMENTS) && count - 1 < MAX_ZEROS;
}

static bool decode_pointer(struct decoder *decoder, const struct codec_member *member,
                           uint8_t *structure)
{
    uint64_t count = form_count(member, structure);
    uint8_t present = bytes_get_u8(&decoder->in);
    if (present == FORM_ABSENT) {
        if (decode_is_of_zeros(member, count)) {
            decode_set_pointer(member, structure, decode_place(decoder, count * CODEC_MAX_SIZE));
        } else if (liveness_covers_count((enum live_condition)member->live)) {
            memset(structure + member->count, 0, sizeof(uint32_t));
        }
        return count == 0 || member->optional || member->live;
    }
    return present == FORM_PRESENT && count > 0 &&
           decode_elements(decoder, member, structure, count);
}

static bool decode_string(struct decoder *decoder, const struct codec_member *member,
                          uint8_t *structure)
{
    uint32_t length = bytes_get_u32(&decoder->in);
    const uint8_t *text = bytes_get(&decoder->in, length);
    if (!text || memchr(text, 0, length)) {
        return false;
    }
    char *target = decode_place(decoder, (size_t)length + 1);
    if (target) {
        memcpy(target, text, length);
        target[length] = '\0';
    }
    decode_set_pointer(member, structure, target);
    return true;
}

/* Bits that do not fit into the legacy member need the struct that replaces it (hazard 21: flags2).
 */
static bool decode_flags(struct decoder *decoder, uint8_t *to)
{
    uint64_t flags = bytes_get_u64(&decoder->in);
    if (!rules_flags_known(flags) ||
        (flags & (RULES_OMITTED_FLAGS | RULES_PIPELINE_CAPTURE_DATA))) {
        return false;
    }
    if (flags <= INT32_MAX) {
        VkPipelineCreateFlags legacy = (VkPipelineCreateFlags)flags;
        memcpy(to, &legacy, sizeof legacy);
        return true;
    }
    decoder->flags = decode_place(decoder, sizeof *decoder->flags);
    if (decoder->flags) {
        *decoder->flags = (struct rules_flags_2){
            .stype = (VkStructureType)RULES_STYPE_FLAGS_2,
            .flags = flags,
        };
    }
    return true;
}

static bool decode_code(struct decoder *decoder, const struct codec_member *member,
                        uint8_t *structure)
{
    const VkShaderModuleCreateInfo *info = (const VkShaderModuleCreateInfo *)structure;
    struct digest content = digest_get(&decoder->in);
    const void *code = NULL;
    if (decoder->in.overrun || info->codeSize == 0) {
        return false;
    }
    if (!decoder->arena) {
        return !decoder->visit ||
               decoder->visit(decoder->visit_user, VK_OBJECT_TYPE_UNKNOWN, content);
    }
    if (!decoder->sources->code(decoder->sources->user, content, info->codeSize, &code)) {
        return false;
    }
    decode_set_pointer(member, structure, code);
    return true;
}

static bool decode_size(struct decoder *decoder, uint8_t *to)
{
    uint64_t value = bytes_get_u64(&decoder->in);
    size_t size = (size_t)value;
    memcpy(to, &size, sizeof size);
    return size == value;
}

/* An embedded struct that was not live is empty, but bears its sType. */
static bool decode_embedded_maybe(struct decoder *decoder, const struct codec_struct *type,
                                  uint8_t *to)
{
    uint8_t present = bytes_get_u8(&decoder->in);
    if (present != FORM_ABSENT) {
        return present == FORM_PRESENT && decode_struct(decoder, type, to);
    }
    memcpy(to, &type->stype, sizeof type->stype);
    return true;
}

static bool decode_union(struct decoder *decoder, const struct codec_member *member,
                         uint8_t *structure)
{
    const struct codec_arm *arm = codec_find_arm(member, structure);
    uint8_t *to = structure + member->offset;
    if (!arm || decoder->in.overrun) {
        return false;
    }
    return arm->type == CODEC_STRUCT_COUNT ? decode_values(decoder, to, 1, 4)
                                           : decode_struct(decoder, &codec_structs[arm->type], to);
}

static bool decode_member(struct decoder *decoder, const struct codec_member *member,
                          uint8_t *structure)
{
    static const uint8_t widths[] = {
        [CODEC_WORDS] = 4, [CODEC_LONGS] = 8, [CODEC_HALF] = 2, [CODEC_BYTES] = 1};
    uint8_t *to = structure + member->offset;
    switch ((enum codec_kind)member->kind) {
    case CODEC_WORDS:
    case CODEC_LONGS:
    case CODEC_HALF:
    case CODEC_BYTES:
        return decode_values(decoder, to, member->count, widths[member->kind]);
    case CODEC_SIZE:
        return decode_size(decoder, to);
    case CODEC_HANDLE:
        return decode_handle(decoder, (VkObjectType)member->type, to);
    case CODEC_EMBEDDED_MAYBE:
        return decode_embedded_maybe(decoder, &codec_structs[member->type], to);
    case CODEC_EMBEDDED:
        return decode_struct(decoder, &codec_structs[member->type], to);
    case CODEC_UNION:
        return decode_union(decoder, member, structure);
    case CODEC_STRING:
        return decode_string(decoder, member, structure);
    case CODEC_PIPELINE_FLAGS:
        return decode_flags(decoder, to);
    case CODEC_STAGE_CODE:
        return decode_handle(decoder, VK_OBJECT_TYPE_SHADER_MODULE, to);
    case CODEC_MODULE_CODE:
        return decode_code(decoder, member, structure);
    case CODEC_IDENTITY_DATA:
        return bytes_get_u8(&decoder->in) == FORM_ABSENT;
    default:
        return decode_pointer(decoder, member, structure);
    }
}

/* VUID-VkSpecializationInfo-offset-00773 and -pMapEntries-00774: a driver reads where an entry
 * says. */
static bool decode_specialization_valid(const VkSpecializationInfo *info)
{
    for (uint32_t i = 0; info->pMapEntries && i < info->mapEntryCount; i++) {
        const VkSpecializationMapEntry *entry = &info->pMapEntries[i];
        if (entry->offset >= info->dataSize || entry->size > info->dataSize - entry->offset) {
            return false;
        }
    }
    return true;
}

static bool decode_members(struct decoder *decoder, const struct codec_struct *type,
                           void *structure)
{
    const struct codec_member *member = &codec_members[type->first_member];
    for (int i = 0; i < type->member_count; i++, member++) {
        if (!decode_member(decoder, member, structure)) {
            return false;
        }
    }
    if (decoder->in.overrun || !rules_struct_flags_known(type, structure)) {
        return false;
    }
    return type != &codec_structs[CODEC_VkSpecializationInfo] ||
           decode_specialization_valid(structure);
}

static bool decode_child(struct decoder *decoder, const struct codec_struct *type,
                         VkBaseInStructure **ret_structure)
{
    union scratch scratch;
    void *placed = decode_place(decoder, type->size);
    void *structure = placed ? placed : scratch.memory;
    memset(structure, 0, type->size);
    memcpy(structure, &type->stype, sizeof type->stype);
    *ret_structure = placed;
    return type->role == CODEC_ENCODED &&
           type->stype != VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO &&
           decode_members(decoder, type, structure);
}

static bool decode_chain(struct decoder *decoder, const struct codec_struct *parent,
                         VkBaseInStructure *head)
{
    uint64_t seen = 0;
    VkBaseInStructure *last = head;
    for (;;) {
        uint32_t stype = bytes_get_u32(&decoder->in);
        if (stype == FORM_CHAIN_END) {
            return true;
        }
        int child = codec_find_child(parent, stype);
        if (decoder->in.overrun || child < 0 || (seen >> child & 1)) {
            return false;
        }
        seen |= 1ull << child;
        VkBaseInStructure *structure;
        if (!decode_child(decoder, &codec_structs[codec_children[parent->first_child + child]],
                          &structure)) {
            return false;
        }
        if (structure) {
            last->pNext = structure;
            last = structure;
        }
    }
}

static bool decode_struct(struct decoder *decoder, const struct codec_struct *type, void *structure)
{
    if (type->stype == CODEC_NO_STYPE) {
        return decode_members(decoder, type, structure);
    }
    memcpy(structure, &type->stype, sizeof type->stype);
    return decode_members(decoder, type, structure) && decode_chain(decoder, type, structure);
}

static bool decode_root(struct decoder *decoder, const void *bytes, size_t size)
{
    decoder->in = bytes_reader_over(bytes, size);
    decoder->used = 0;
    decoder->flags = NULL;
    const struct form_root *form = form_find_root(bytes_get_u32(&decoder->in));
    if (size > CANONICAL_MAX_SIZE || !form) {
        return false;
    }
    const struct codec_struct *type = &codec_structs[form->id];
    union scratch scratch = {0};
    void *placed = decode_place(decoder, type->size);
    VkBaseInStructure *root = placed ? placed : (void *)scratch.memory;
    if (!decode_struct(decoder, type, root) || bytes_left(&decoder->in) > 0) {
        return false;
    }
    if (decoder->flags) {
        decoder->flags->next = root->pNext;
        root->pNext = (const VkBaseInStructure *)decoder->flags;
    }
    return true;
}

void *canonical_decode(const void *bytes, size_t size, const struct canonical_sources *sources)
{
    struct decoder decoder = {.sources = sources};
    if (!decode_root(&decoder, bytes, size)) {
        return NULL;
    }
    uint8_t *arena = calloc(1, decoder.used);
    if (!arena) {
        return NULL;
    }
    decoder.arena = arena;
    decoder.capacity = decoder.used;
    if (!decode_root(&decoder, bytes, size)) {
        free(arena);
        return NULL;
    }
    return arena;
}

bool canonical_references(const void *bytes, size_t size, visit_fn visit, void *user)
{
    struct decoder decoder = {.visit = visit, .visit_user = user};
    return decode_root(&decoder, bytes, size);
}
