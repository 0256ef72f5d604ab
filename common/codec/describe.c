// SPDX-License-Identifier: Apache-2.0
/* The form is decoded, with handles that are places in a list of digests. Then the structs are
 * walked in memory, by the tables and the names of their fields. */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/io.h"
#include "common/codec/canonical.h"
#include "common/codec/rules.h"
#include "common/codec/table.h"

#define LINE_SIZE 2048

struct describe_line {
    char text[LINE_SIZE];
    size_t length;
};

struct description {
    void (*field)(void *user, const char *path, const char *value);
    void *user;
    struct digest *contents; /* handle n stands for the n-th */
    size_t count;
    struct digest code;
    struct describe_line path;
};

static void describe_struct(struct description *description, uint32_t id, const uint8_t *structure);

/* Appends, as far as there is room. */
__attribute__((format(printf, 2, 3))) static void describe_put(struct describe_line *line,
                                                               const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const size_t room = sizeof line->text - line->length;
    const int length = vsnprintf(line->text + line->length, room, format, arguments);
    va_end(arguments);
    line->length += length < 0 ? 0 : (size_t)length < room ? (size_t)length : room - 1;
}

/* NULL: the registry names no value of this type. */
static const struct codec_names *describe_find_names(const char *type)
{
    for (size_t i = 0; i < codec_names_count; i++) {
        if (strcmp(codec_names[i].type, type) == 0) {
            return &codec_names[i];
        }
    }
    return NULL;
}

static const char *describe_name(const struct codec_names *names, uint64_t value)
{
    for (size_t i = 0; names && i < names->count; i++) {
        if (names->first[i].value == value) {
            return names->first[i].name;
        }
    }
    return NULL;
}

/* "A_BIT | B_BIT | 0x80000000": names of the bits that have one, then what is left. */
static void describe_put_flags(struct describe_line *line, const struct codec_names *names,
                               uint64_t flags)
{
    const char *gap = "";
    for (size_t i = 0; names && i < names->count; i++) {
        const uint64_t bit = names->first[i].value;
        if ((flags & bit) != 0 && (bit & (bit - 1)) == 0) {
            describe_put(line, "%s%s", gap, names->first[i].name);
            flags &= ~bit;
            gap = " | ";
        }
    }
    if (flags != 0 || !*gap) {
        describe_put(line, "%s0x%llx", gap, (unsigned long long)flags);
    }
}

/* Appends in the way in which a value of this type is best read; `width`: its bytes in memory. */
static void describe_put_value(struct describe_line *line, const char *type, uint64_t value,
                               size_t width)
{
    const uint32_t word = (uint32_t)value;
    const struct codec_names *names = describe_find_names(type);
    const char *name = describe_name(names, value);
    float number;
    memcpy(&number, &word, sizeof number);
    if (name) {
        describe_put(line, "%s", name);
    } else if (strstr(type, "Flag") || strstr(type, "Mask")) {
        describe_put_flags(line, names, value);
    } else if (width == sizeof number && strcmp(type, "float") == 0) {
        describe_put(line, "%g", (double)number);
    } else if (strcmp(type, "VkBool32") == 0 && value <= 1) {
        describe_put(line, "%s", value ? "true" : "false");
    } else if (strcmp(type, "int32_t") == 0) {
        describe_put(line, "%d", (int)word);
    } else {
        describe_put(line, "%llu", (unsigned long long)value);
    }
}

/* A number of so many bytes: 1, 2, 4 or 8. */
static uint64_t describe_read(const uint8_t *at, size_t width)
{
    uint16_t half;
    uint32_t word;
    uint64_t number;
    switch (width) {
    case sizeof half:
        memcpy(&half, at, sizeof half);
        return half;
    case sizeof word:
        memcpy(&word, at, sizeof word);
        return word;
    case sizeof number:
        memcpy(&number, at, sizeof number);
        return number;
    default:
        return *at;
    }
}

static bool describe_note_handle(void *user, VkObjectType type, struct digest content,
                                 uint64_t *ret_handle)
{
    struct description *description = user;
    (void)type;
    struct digest *more = reallocarray(description->contents, description->count + 1, sizeof *more);
    if (!more) {
        return false;
    }
    more[description->count++] = content;
    description->contents = more;
    *ret_handle = description->count;
    return true;
}

static bool describe_note_code(void *user, struct digest content, size_t size,
                               const void **ret_code)
{
    static const uint32_t code[1];
    struct description *description = user;
    (void)size;
    description->code = content;
    *ret_code = code;
    return true;
}

static void describe_leave(struct description *description, size_t before)
{
    description->path.length = before;
    description->path.text[before] = '\0';
}

static void describe_text(struct description *description, const char *value)
{
    description->field(description->user, description->path.text, value);
}

static void describe_digest(struct description *description, struct digest digest)
{
    char text[DIGEST_HEX_SIZE];
    digest_format(digest, text);
    describe_text(description, text);
}

static void describe_handle(struct description *description, const uint8_t *at)
{
    uint64_t handle;
    memcpy(&handle, at, sizeof handle);
    if (handle == 0 || handle > description->count) {
        describe_text(description, "VK_NULL_HANDLE");
    } else {
        describe_digest(description, description->contents[handle - 1]);
    }
}

/* Values side by side, as many as there is room for. */
static void describe_values(struct description *description, const char *type, const uint8_t *at,
                            size_t count, size_t width)
{
    struct describe_line line = {.length = 0};
    for (size_t i = 0; i < count; i++) {
        describe_put(&line, "%s", i > 0 ? ", " : "");
        if (line.length > LINE_SIZE / 2) {
            describe_put(&line, "...");
            break;
        }
        describe_put_value(&line, type, describe_read(at + i * width, width), width);
    }
    describe_text(description, line.text);
}

/* The elements of an array of structs or, by member kind, of handles. */
static void describe_elements(struct description *description, const struct codec_member *member,
                              const uint8_t *first, uint64_t count)
{
    const bool structs = member->kind == CODEC_ARRAY;
    const size_t width = structs ? codec_structs[member->type].size : sizeof(uint64_t);
    for (uint64_t i = 0; i < count; i++) {
        const size_t before = description->path.length;
        describe_put(&description->path, "[%llu]", (unsigned long long)i);
        if (structs) {
            describe_struct(description, member->type, first + i * width);
        } else {
            describe_handle(description, first + i * width);
        }
        describe_leave(description, before);
    }
}

static void describe_target(struct description *description, const struct codec_member *member,
                            const struct codec_field *field, const uint8_t *structure)
{
    const uint8_t *target;
    memcpy(&target, structure + member->offset, sizeof target);
    if (!target) {
        describe_text(description, "NULL");
        return;
    }
    const uint64_t count = form_count(member, structure);
    switch ((enum codec_kind)member->kind) {
    case CODEC_STRING:
        describe_text(description, (const char *)target);
        return;
    case CODEC_POINTER:
        describe_struct(description, member->type, target);
        return;
    case CODEC_ARRAY:
    case CODEC_HANDLE_ARRAY:
        describe_elements(description, member, target, count);
        return;
    default:
        describe_values(description, field->vulkan_type, target, (size_t)count,
                        form_element_width(member->kind));
    }
}

static void describe_union(struct description *description, const struct codec_member *member,
                           const uint8_t *structure)
{
    const struct codec_arm *arm = codec_find_arm(member, structure);
    const uint8_t *at = structure + member->offset;
    if (arm && arm->type != CODEC_STRUCT_COUNT) {
        describe_struct(description, arm->type, at);
    } else if (arm) {
        describe_values(description, "uint32_t", at, 1, 4);
    }
}

/* The index of a struct's first field in the list of all. */
static size_t describe_first_field(uint32_t id)
{
    size_t at = 0;
    while (at < codec_field_count && codec_fields[at].type != id) {
        at++;
    }
    return at;
}

/* Whether a plain struct of words is called so. */
static bool describe_find_plain(const char *name, uint32_t *ret_id)
{
    const size_t length = strlen(name);
    for (size_t i = 0; i < codec_field_count; i++) {
        const struct codec_field *field = &codec_fields[i];
        if (strncmp(field->name, name, length) == 0 && field->name[length] == '.') {
            *ret_id = field->type;
            return codec_structs[field->type].flat;
        }
    }
    return false;
}

/* Values, or a struct of them that lies in place. */
static void describe_words(struct description *description, const struct codec_field *field,
                           const uint8_t *at)
{
    uint32_t id;
    if (describe_find_plain(field->vulkan_type, &id) && codec_structs[id].size == field->size) {
        describe_struct(description, id, at);
    } else {
        describe_values(description, field->vulkan_type, at, field->size / 4u, 4);
    }
}

static void describe_field(struct description *description, const struct codec_member *member,
                           const struct codec_field *field, const uint8_t *structure)
{
    const uint8_t *at = structure + field->offset;
    switch ((enum codec_kind)member->kind) {
    case CODEC_WORDS:
    case CODEC_PIPELINE_FLAGS:
        describe_words(description, field, at);
        return;
    case CODEC_LONGS:
        describe_values(description, field->vulkan_type, at, field->size / 8u, 8);
        return;
    case CODEC_HALF:
    case CODEC_SIZE:
        describe_values(description, field->vulkan_type, at, 1, field->size);
        return;
    case CODEC_BYTES:
        describe_values(description, field->vulkan_type, at, field->size, 1);
        return;
    case CODEC_HANDLE:
    case CODEC_STAGE_CODE:
        describe_handle(description, at);
        return;
    case CODEC_EMBEDDED:
    case CODEC_EMBEDDED_MAYBE:
        describe_struct(description, member->type, at);
        return;
    case CODEC_UNION:
        describe_union(description, member, structure);
        return;
    case CODEC_MODULE_CODE:
        describe_digest(description, description->code);
        return;
    case CODEC_IDENTITY_DATA:
        return;
    default:
        describe_target(description, member, field, structure);
    }
}

/* The member that a field is written with: scalars that lie side by side are one. NULL: none. */
static const struct codec_member *describe_find_member(const struct codec_struct *type,
                                                       const struct codec_field *field)
{
    const struct codec_member *found = NULL;
    for (int i = 0; i < type->member_count; i++) {
        const struct codec_member *member = &codec_members[type->first_member + i];
        const size_t width = member->kind == CODEC_WORDS   ? 4u * member->count
                             : member->kind == CODEC_LONGS ? 8u * member->count
                             : member->kind == CODEC_BYTES ? member->count
                                                           : 1u;
        if (field->offset >= member->offset && field->offset < member->offset + width) {
            found = member;
        }
    }
    return found;
}

/* Flags that the legacy member has no room for (hazard 21) stand in front of a pipeline's chain. */
static void describe_flags(struct description *description, const VkBaseInStructure *structure)
{
    const struct rules_flags_2 *flags = (const struct rules_flags_2 *)structure;
    const size_t before = description->path.length;
    describe_put(&description->path, "pNext.VkPipelineCreateFlags2CreateInfo.flags");
    struct describe_line line = {.length = 0};
    describe_put_value(&line, "VkPipelineCreateFlags2", flags->flags, sizeof flags->flags);
    describe_text(description, line.text);
    describe_leave(description, before);
}

static void describe_chain(struct description *description, const struct codec_struct *parent,
                           const uint8_t *structure)
{
    const VkBaseInStructure *next = ((const VkBaseInStructure *)structure)->pNext;
    for (; next; next = next->pNext) {
        if (next->sType == (VkStructureType)RULES_STYPE_FLAGS_2) {
            describe_flags(description, next);
            continue;
        }
        const int child = codec_find_child(parent, (uint32_t)next->sType);
        const uint16_t id = child < 0 ? 0 : codec_children[parent->first_child + child];
        const size_t at = child < 0 ? codec_field_count : describe_first_field(id);
        if (at < codec_field_count) {
            const char *name = codec_fields[at].name;
            const size_t before = description->path.length;
            describe_put(&description->path, "%spNext.%.*s", description->path.length ? "." : "",
                         (int)strcspn(name, "."), name);
            describe_struct(description, id, (const uint8_t *)next);
            describe_leave(description, before);
        }
    }
}

static void describe_struct(struct description *description, uint32_t id, const uint8_t *structure)
{
    const struct codec_struct *type = &codec_structs[id];
    for (size_t i = describe_first_field(id); i < codec_field_count && codec_fields[i].type == id;
         i++) {
        const struct codec_field *field = &codec_fields[i];
        const struct codec_member *member = describe_find_member(type, field);
        if (member) {
            const size_t before = description->path.length;
            describe_put(&description->path, "%s%s", description->path.length ? "." : "",
                         strchr(field->name, '.') + 1);
            describe_field(description, member, field, structure);
            describe_leave(description, before);
        }
    }
    if (type->stype != CODEC_NO_STYPE) {
        describe_chain(description, type, structure);
    }
}

bool canonical_describe(const void *bytes, size_t size,
                        void (*field)(void *user, const char *path, const char *value), void *user)
{
    struct description description = {.field = field, .user = user};
    const struct canonical_sources sources = {
        .handle = describe_note_handle,
        .code = describe_note_code,
        .user = &description,
    };
    const struct form_root *root = form_find_root((uint32_t)canonical_stype(bytes, size));
    AUTO_FREE void *create_info = canonical_decode(bytes, size, &sources);
    const bool described = create_info && root;
    if (described) {
        describe_struct(&description, root->id, create_info);
    }
    free(description.contents);
    return described;
}
