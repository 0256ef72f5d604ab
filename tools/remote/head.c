// SPDX-License-Identifier: Apache-2.0
#include "tools/remote/head.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "common/base/json.h"
#include "common/files/names.h"
#include "tools/cli/json_value.h"

#define HEAD_FORMAT 1

void head_path(const char *program, const char *identity_hex, char ret_path[HEAD_PATH_SIZE])
{
    snprintf(ret_path, HEAD_PATH_SIZE, HEAD_FOLDER "%s/%s", program,
             identity_hex && identity_hex[0] ? identity_hex : "recipes");
}

bool head_split_path(const char *path, char ret_program[NAMES_APP_SIZE],
                     char ret_identity[DIGEST_HEX_SIZE])
{
    const size_t folder = strlen(HEAD_FOLDER);
    if (strncmp(path, HEAD_FOLDER, folder) != 0) {
        return false;
    }
    const char *program = path + folder;
    const size_t length = strcspn(program, "/");
    const char *identity = program + length + 1;
    if (program[length] != '/' || length >= NAMES_APP_SIZE) {
        return false;
    }
    char name[NAMES_APP_SIZE];
    memcpy(name, program, length);
    name[length] = '\0';
    const bool is_recipes = strcmp(identity, "recipes") == 0;
    if (!names_is_app(name) || (!is_recipes && (strlen(identity) != DIGEST_HEX_SIZE - 1 ||
                                                !names_is_hex(identity, DIGEST_HEX_SIZE - 1)))) {
        return false;
    }
    memcpy(ret_program, name, length + 1);
    snprintf(ret_identity, DIGEST_HEX_SIZE, "%s", is_recipes ? "" : identity);
    return true;
}

/* Fields. What is written and read of a struct is one table, in the order of writing. */

enum head_kind {
    HEAD_TEXT,
    HEAD_NAME, /* of an object or payload */
    HEAD_HEX,  /* bytes */
    HEAD_NUMBER32,
    HEAD_NUMBER64
};

struct head_field {
    const char *key;
    enum head_kind kind;
    size_t offset; /* in its struct */
    size_t size;   /* of the member */
};

#define HEAD_FIELD(type, key, kind, member)                                                        \
    {                                                                                              \
        key, kind, offsetof(struct type, member), sizeof((struct type *)0)->member                 \
    }

static const struct head_field head_fields[] = {
    HEAD_FIELD(head, "program", HEAD_TEXT, program),
    HEAD_FIELD(head, "serial", HEAD_NUMBER64, serial),
    HEAD_FIELD(head, "made", HEAD_NUMBER64, made),
    {NULL, HEAD_TEXT, 0, 0},
};

static const struct head_field head_identity_fields[] = {
    HEAD_FIELD(head, "digest", HEAD_TEXT, identity_hex),
    HEAD_FIELD(head, "vendor_id", HEAD_NUMBER32, identity.vendor_id),
    HEAD_FIELD(head, "device_id", HEAD_NUMBER32, identity.device_id),
    HEAD_FIELD(head, "api_version", HEAD_NUMBER32, identity.api_version),
    HEAD_FIELD(head, "driver_version", HEAD_NUMBER32, identity.driver_version),
    HEAD_FIELD(head, "driver_id", HEAD_NUMBER32, identity.driver_id),
    HEAD_FIELD(head, "pointer_size", HEAD_NUMBER32, identity.pointer_size),
    HEAD_FIELD(head, "conformance", HEAD_HEX, identity.conformance),
    HEAD_FIELD(head, "cache_uuid", HEAD_HEX, identity.pipeline_cache_uuid),
    HEAD_FIELD(head, "device", HEAD_TEXT, identity.device_name),
    HEAD_FIELD(head, "driver", HEAD_TEXT, identity.driver_name),
    HEAD_FIELD(head, "driver_info", HEAD_TEXT, identity.driver_info),
    {NULL, HEAD_TEXT, 0, 0},
};

static const struct head_field head_part_fields[] = {
    HEAD_FIELD(head_part, "object", HEAD_NAME, object),
    HEAD_FIELD(head_part, "payload", HEAD_NAME, payload),
    HEAD_FIELD(head_part, "bytes", HEAD_NUMBER64, bytes),
    HEAD_FIELD(head_part, "unpacked", HEAD_NUMBER64, unpacked),
    HEAD_FIELD(head_part, "made", HEAD_NUMBER64, made),
    {NULL, HEAD_TEXT, 0, 0},
};

/* Writing. */

static void head_put_hex(struct bytes *text, const char *key, const uint8_t *data, size_t size)
{
    char hex[2 * VK_UUID_SIZE + 1] = "";
    for (size_t i = 0; i < size; i++) {
        snprintf(hex + 2 * i, 3, "%02x", data[i]);
    }
    json_put_string(text, key, hex);
}

static void head_put_fields(struct bytes *text, const struct head_field *field, const void *from)
{
    for (; field->key; field++) {
        const char *member = (const char *)from + field->offset;
        if (field->kind == HEAD_NUMBER32) {
            json_put_number(text, field->key, *(const uint32_t *)(const void *)member);
        } else if (field->kind == HEAD_NUMBER64) {
            json_put_number(text, field->key, *(const uint64_t *)(const void *)member);
        } else if (field->kind == HEAD_HEX) {
            head_put_hex(text, field->key, (const uint8_t *)member, field->size);
        } else {
            json_put_string(text, field->key, member);
        }
    }
}

void head_encode(const struct head *head, struct bytes *text)
{
    json_put_open(text, NULL, '{');
    json_put_number(text, "format", HEAD_FORMAT);
    json_put_string(text, "kind", head->is_recipes ? "recipes" : "blob");
    head_put_fields(text, head_fields, head);
    if (!head->is_recipes) {
        json_put_open(text, "identity", '{');
        head_put_fields(text, head_identity_fields, head);
        json_put_close(text, '}');
    }
    json_put_open(text, "parts", '[');
    for (size_t i = 0; i < head->part_count; i++) {
        json_put_open(text, NULL, '{');
        head_put_fields(text, head_part_fields, &head->parts[i]);
        json_put_close(text, '}');
    }
    json_put_close(text, ']');
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

static int head_hex_value(char digit)
{
    return digit >= '0' && digit <= '9'   ? digit - '0'
           : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                                          : -1;
}

static void head_read_hex(struct json_reader *reader, uint8_t *ret_data, size_t size)
{
    const struct json_text text = json_read_string(reader);
    if (text.size != 2 * size) {
        reader->failed = true;
        return;
    }
    for (size_t i = 0; i < size; i++) {
        const int high = head_hex_value(text.data[2 * i]);
        const int low = head_hex_value(text.data[2 * i + 1]);
        reader->failed = reader->failed || high < 0 || low < 0;
        ret_data[i] = (uint8_t)(high * 16 + low);
    }
}

static void head_read_number32(struct json_reader *reader, uint32_t *ret_number)
{
    const uint64_t number = json_read_number(reader);
    reader->failed = reader->failed || number > UINT32_MAX;
    *ret_number = (uint32_t)number;
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
        head_read_number32(reader, (uint32_t *)(void *)member);
    } else if (field->kind == HEAD_NUMBER64) {
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

static void head_read_lists(struct json_reader *reader, bool is_parts, struct head *head)
{
    json_read_open(reader, '[');
    while (json_read_element(reader)) {
        if (is_parts && head->part_count < HEAD_PARTS) {
            struct head_part *part = &head->parts[head->part_count++];
            head_read_object(reader, head_part_fields, part);
            reader->failed = reader->failed || part->unpacked == 0 ||
                             part->unpacked > OBJECT_LIMIT || part->bytes == 0 ||
                             part->bytes > object_frame_limit(part->unpacked);
        } else if (!is_parts && head->blocked_count < HEAD_BLOCKED) {
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
        head->is_recipes = json_text_is(json_read_string(reader), "recipes");
    } else if (json_text_is(key, "identity")) {
        head_read_object(reader, head_identity_fields, head);
    } else if (json_text_is(key, "parts") || json_text_is(key, "blocked")) {
        head_read_lists(reader, json_text_is(key, "parts"), head);
    } else {
        head_read_field(reader, key, head_fields, head);
    }
}

/* Whether the text is the one that is written of this head. */
static bool head_is_canonical(const struct head *head, const void *text, size_t size)
{
    struct bytes again = {0};
    head_encode(head, &again);
    const bool same = !again.failed && again.size == size && memcmp(again.data, text, size) == 0;
    bytes_free(&again);
    return same;
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
        (ret_head->is_recipes || (strlen(ret_head->identity_hex) == DIGEST_HEX_SIZE - 1 &&
                                  names_is_hex(ret_head->identity_hex, DIGEST_HEX_SIZE - 1)));
    return !reader.failed && has_names && ret_head->serial > 0 &&
                   head_is_canonical(ret_head, text, size)
               ? STATUS_ok
               : STATUS_remote_bad_head;
}

/* Contents. */

const struct head_part *head_find_payload(const struct head *head, const char *payload)
{
    for (size_t i = 0; i < head->part_count; i++) {
        if (strcmp(head->parts[i].payload, payload) == 0) {
            return &head->parts[i];
        }
    }
    return NULL;
}

bool head_blocks(const struct head *head, const char *payload)
{
    for (size_t i = 0; i < head->blocked_count; i++) {
        if (strcmp(head->blocked[i], payload) == 0) {
            return true;
        }
    }
    return false;
}

void head_block(struct head *head, const char *payload)
{
    size_t kept = 0;
    for (size_t i = 0; i < head->part_count; i++) {
        if (strcmp(head->parts[i].payload, payload) != 0) {
            head->parts[kept++] = head->parts[i];
        }
    }
    head->part_count = kept;
    if (head_blocks(head, payload)) {
        return;
    }
    if (head->blocked_count == HEAD_BLOCKED) {
        memmove(head->blocked[0], head->blocked[1], sizeof head->blocked - sizeof head->blocked[0]);
        head->blocked_count--;
    }
    snprintf(head->blocked[head->blocked_count++], OBJECT_NAME_SIZE, "%s", payload);
}

bool head_has_room(const struct head *head, uint64_t unpacked)
{
    size_t large = 0;
    for (size_t i = 0; i < head->part_count; i++) {
        large += head->parts[i].unpacked > HEAD_SMALL;
    }
    return head->part_count < HEAD_PARTS && (unpacked <= HEAD_SMALL || large < HEAD_LARGE);
}
