// SPDX-License-Identifier: Apache-2.0
/* The text of a head. */
#include "tools/remote/heads/head.h"

#include <sodium.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/files/names.h"

#define HEAD_FORMAT 1
#define HEAD_BASE64 sodium_base64_VARIANT_ORIGINAL

/* Fields. What is written and read of a struct is one table, in the order of writing. */

enum head_kind {
    HEAD_TEXT,
    HEAD_NAME, /* of an object or payload */
    HEAD_HEX,  /* bytes */
    HEAD_NUMBER32,
    HEAD_NUMBER64,
    HEAD_KNOWN64 /* left out where it is 0 */
};

struct head_field {
    const char *key;
    enum head_kind kind;
    size_t offset; /* in its struct */
    size_t size;   /* of the member */
};

/* The members of one, in their order. */
#define HEAD_FIELD(type, key, kind, member)                                                        \
    key, kind, offsetof(struct type, member), sizeof((struct type *)0)->member

static const struct head_field head_fields[] = {
    {HEAD_FIELD(head, "program", HEAD_TEXT, program)},
    {HEAD_FIELD(head, "serial", HEAD_NUMBER64, serial)},
    {HEAD_FIELD(head, "made", HEAD_NUMBER64, made)},
    {NULL, HEAD_TEXT, 0, 0},
};

static const struct head_field head_identity_fields[] = {
    {HEAD_FIELD(head, "digest", HEAD_TEXT, identity_hex)},
    {HEAD_FIELD(head, "vendor_id", HEAD_NUMBER32, identity.vendor_id)},
    {HEAD_FIELD(head, "device_id", HEAD_NUMBER32, identity.device_id)},
    {HEAD_FIELD(head, "api_version", HEAD_NUMBER32, identity.api_version)},
    {HEAD_FIELD(head, "driver_version", HEAD_NUMBER32, identity.driver_version)},
    {HEAD_FIELD(head, "driver_id", HEAD_NUMBER32, identity.driver_id)},
    {HEAD_FIELD(head, "pointer_size", HEAD_NUMBER32, identity.pointer_size)},
    {HEAD_FIELD(head, "conformance", HEAD_HEX, identity.conformance)},
    {HEAD_FIELD(head, "cache_uuid", HEAD_HEX, identity.pipeline_cache_uuid)},
    {HEAD_FIELD(head, "device", HEAD_TEXT, identity.device_name)},
    {HEAD_FIELD(head, "driver", HEAD_TEXT, identity.driver_name)},
    {HEAD_FIELD(head, "driver_info", HEAD_TEXT, identity.driver_info)},
    {NULL, HEAD_TEXT, 0, 0},
};

static const struct head_field head_part_fields[] = {
    {HEAD_FIELD(head_part, "object", HEAD_NAME, object)},
    {HEAD_FIELD(head_part, "payload", HEAD_NAME, payload)},
    {HEAD_FIELD(head_part, "bytes", HEAD_NUMBER64, bytes)},
    {HEAD_FIELD(head_part, "unpacked", HEAD_NUMBER64, unpacked)},
    {HEAD_FIELD(head_part, "made", HEAD_NUMBER64, made)},
    {HEAD_FIELD(head_part, "compile_ms", HEAD_KNOWN64, compile_ms)},
    {NULL, HEAD_TEXT, 0, 0},
};

/* Writing. */

static void head_put_fields(struct bytes *text, const struct head_field *field, const void *from)
{
    for (; field->key; field++) {
        const char *member = (const char *)from + field->offset;
        if (field->kind == HEAD_NUMBER32) {
            json_put_number(text, field->key, *(const uint32_t *)(const void *)member);
        } else if (field->kind == HEAD_NUMBER64 || field->kind == HEAD_KNOWN64) {
            const uint64_t number = *(const uint64_t *)(const void *)member;
            if (number > 0 || field->kind == HEAD_NUMBER64) {
                json_put_number(text, field->key, number);
            }
        } else if (field->kind == HEAD_HEX) {
            char hex[2 * VK_UUID_SIZE + 1];
            json_put_string(text, field->key,
                            sodium_bin2hex(hex, sizeof hex, (const uint8_t *)member, field->size));
        } else {
            json_put_string(text, field->key, member);
        }
    }
}

/* What not every part has. */
static void head_put_extras(struct bytes *text, const struct head *head,
                            const struct head_part *part)
{
    const uint8_t *frame = head_frame(head, part);
    if (part->base[0]) {
        json_put_string(text, "base", part->base);
    }
    if (frame) {
        const size_t room = sodium_base64_encoded_len((size_t)part->bytes, HEAD_BASE64);
        char *digits = malloc(room);
        text->failed = text->failed || !digits;
        if (digits) {
            json_put_string(
                text, "frame",
                sodium_bin2base64(digits, room, frame, (size_t)part->bytes, HEAD_BASE64));
        }
        free(digits);
    }
}

static void head_put_parts(struct bytes *text, const char *key, const struct head *head,
                           const struct head_part *parts, size_t count)
{
    json_put_open(text, key, '[');
    for (size_t i = 0; i < count; i++) {
        json_put_open(text, NULL, '{');
        head_put_fields(text, head_part_fields, &parts[i]);
        head_put_extras(text, head, &parts[i]);
        json_put_close(text, '}');
    }
    json_put_close(text, ']');
}

void head_encode(const struct head *head, struct bytes *text)
{
    json_put_open(text, NULL, '{');
    json_put_number(text, "format", HEAD_FORMAT);
    json_put_string(text, "kind", head->identity_hex[0] ? "blob" : "recipes");
    head_put_fields(text, head_fields, head);
    if (head->identity_hex[0]) {
        json_put_open(text, "identity", '{');
        head_put_fields(text, head_identity_fields, head);
        json_put_close(text, '}');
    }
    head_put_parts(text, "parts", head, head->parts, head->part_count);
    if (head->base_count > 0) {
        head_put_parts(text, "bases", head, head->bases, head->base_count);
    }
    json_put_open(text, "blocked", '[');
    for (size_t i = 0; i < head->blocked_count; i++) {
        json_put_string(text, NULL, head->blocked[i]);
    }
    json_put_close(text, ']');
    json_put_close(text, '}');
    bytes_put_u8(text, '\n');
}

/* Reading takes members in any order: the text is compared afterwards with what would be written.
 */

static void head_read_text(struct json_reader *reader, char *ret_text, size_t capacity)
{
    if (!json_value_text(json_read_any(reader), ret_text, capacity)) {
        reader->failed = true;
    }
}

static void head_read_name(struct json_reader *reader, char ret_name[OBJECT_NAME_SIZE])
{
    head_read_text(reader, ret_name, OBJECT_NAME_SIZE);
    reader->failed = reader->failed || strlen(ret_name) != OBJECT_NAME_SIZE - 1 ||
                     !names_is_hex(ret_name, OBJECT_NAME_SIZE - 1);
}

static void head_read_hex(struct json_reader *reader, uint8_t *ret_data, size_t size)
{
    const struct json_text text = json_read_string(reader);
    size_t found = 0;
    reader->failed =
        sodium_hex2bin(ret_data, size, text.data, text.size, NULL, &found, NULL) != 0 ||
        found != size || reader->failed;
}

/* The value of the member `key`; an unknown one fails. */
static void head_read_field(struct json_reader *reader, struct json_text key,
                            const struct head_field *field, void *to)
{
    while (field->key && !json_text_is(key, field->key)) {
        field++;
    }
    char *member = (char *)to + field->offset;
    if (!field->key) {
        reader->failed = true;
    } else if (field->kind == HEAD_NUMBER32) {
        const uint64_t number = json_read_number(reader);
        reader->failed = reader->failed || number > UINT32_MAX;
        *(uint32_t *)(void *)member = (uint32_t)number;
    } else if (field->kind == HEAD_NUMBER64 || field->kind == HEAD_KNOWN64) {
        *(uint64_t *)(void *)member = json_read_number(reader);
    } else if (field->kind == HEAD_HEX) {
        head_read_hex(reader, (uint8_t *)member, field->size);
    } else if (field->kind == HEAD_NAME) {
        head_read_name(reader, member);
    } else {
        head_read_text(reader, member, field->size);
    }
}

static void head_read_object(struct json_reader *reader, const struct head_field *fields, void *to)
{
    struct json_text key;
    json_read_open(reader, '{');
    while (json_read_member(reader, &key)) {
        head_read_field(reader, key, fields, to);
    }
}

static void head_read_frame(struct json_reader *reader, struct head *head, struct head_part *part)
{
    size_t size = 0;
    const struct json_text text = json_read_string(reader);
    if (part->frame ||
        sodium_base642bin(head->frames + head->frames_size, sizeof head->frames - head->frames_size,
                          text.data, text.size, NULL, &size, NULL, HEAD_BASE64) != 0) {
        reader->failed = true;
        return;
    }
    part->frame = head->frames_size + 1;
    head->frames_size += size;
    reader->failed = reader->failed || size != part->bytes; /* which is read before */
}

static void head_read_part(struct json_reader *reader, struct head *head, struct head_part *part)
{
    struct json_text key;
    json_read_open(reader, '{');
    while (json_read_member(reader, &key)) {
        if (json_text_is(key, "base")) {
            head_read_name(reader, part->base);
        } else if (json_text_is(key, "frame")) {
            head_read_frame(reader, head, part);
        } else {
            head_read_field(reader, key, head_part_fields, part);
        }
    }
    /* Once more: "bytes" may stand behind the frame, or twice. This frame is the last one. */
    const bool fits = !part->frame || part->bytes == head->frames_size - (part->frame - 1);
    reader->failed = reader->failed || !fits || part->unpacked == 0 ||
                     part->unpacked > OBJECT_LIMIT || part->bytes == 0 ||
                     part->bytes > object_frame_limit(part->unpacked);
}

static void head_read_parts(struct json_reader *reader, struct head *head, struct head_part *parts,
                            size_t capacity, size_t *count)
{
    json_read_open(reader, '[');
    while (json_read_element(reader)) {
        if (*count < capacity) {
            head_read_part(reader, head, &parts[(*count)++]);
        } else {
            reader->failed = true;
        }
    }
}

static void head_read_blocked(struct json_reader *reader, struct head *head)
{
    json_read_open(reader, '[');
    while (json_read_element(reader)) {
        if (head->blocked_count < HEAD_BLOCKED) {
            head_read_name(reader, head->blocked[head->blocked_count++]);
        } else {
            reader->failed = true;
        }
    }
}

static void head_read_member(struct json_reader *reader, struct json_text key, struct head *head)
{
    if (json_text_is(key, "format")) {
        const uint64_t format = json_read_number(reader);
        reader->failed = reader->failed || format != HEAD_FORMAT;
    } else if (json_text_is(key, "kind")) {
        /* The identity says it, and what is written of that is compared. */
        json_read_string(reader);
    } else if (json_text_is(key, "identity")) {
        head_read_object(reader, head_identity_fields, head);
    } else if (json_text_is(key, "parts")) {
        head_read_parts(reader, head, head->parts, HEAD_PARTS, &head->part_count);
    } else if (json_text_is(key, "bases")) {
        head_read_parts(reader, head, head->bases, HEAD_BASES, &head->base_count);
    } else if (json_text_is(key, "blocked")) {
        head_read_blocked(reader, head);
    } else {
        head_read_field(reader, key, head_fields, head);
    }
}

/* Whether each part's base is listed, and each base is one and stands alone. */
static bool head_has_bases(const struct head *head)
{
    bool has_all = true;
    for (size_t i = 0; i < head->part_count; i++) {
        has_all = has_all && (!head->parts[i].base[0] || head_find_base(head, &head->parts[i]));
    }
    for (size_t i = 0; i < head->base_count; i++) {
        has_all = has_all && !head->bases[i].base[0] && !head->bases[i].frame &&
                  head_is_base(head, &head->bases[i]);
    }
    return has_all;
}

/* Whether the text is the one that is written of this head. */
static bool head_is_canonical(const struct head *head, const void *text, size_t size)
{
    AUTO(bytes_free) struct bytes again = {0};
    head_encode(head, &again);
    return !again.failed && again.size == size && memcmp(again.data, text, size) == 0;
}

enum status head_parse(const void *text, size_t size, struct head *ret_head)
{
    if (size > HEAD_LIMIT) {
        return STATUS_remote_bad_head;
    }
    memset(ret_head, 0, sizeof *ret_head);
    struct json_reader reader = json_reader_over(text, size);
    struct json_text key;
    json_read_open(&reader, '{');
    while (json_read_member(&reader, &key)) {
        head_read_member(&reader, key, ret_head);
    }
    json_read_end(&reader);
    const bool has_names =
        names_is_app(ret_head->program) &&
        (!ret_head->identity_hex[0] || (strlen(ret_head->identity_hex) == DIGEST_HEX_SIZE - 1 &&
                                        names_is_hex(ret_head->identity_hex, DIGEST_HEX_SIZE - 1)));
    return !reader.failed && has_names && head_has_bases(ret_head) && ret_head->serial > 0 &&
                   ret_head->serial <= HEAD_SERIAL_LAST && head_is_canonical(ret_head, text, size)
               ? STATUS_ok
               : STATUS_remote_bad_head;
}
