// SPDX-License-Identifier: Apache-2.0
/* The text of a head. One walk over the members, in the order in which they stand there, writes
 * them or reads them, so that both agree. */
#include "tools/remote/heads/head.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"

#define HEAD_FORMAT 1
#define HEAD_BASE64 sodium_base64_VARIANT_ORIGINAL

/* A walk changes a head only where it reads. */
struct head_walk {
    struct bytes *out; /* what is written; NULL: it reads */
    struct json_reader in;
    struct json_text key; /* of the member whose value is read next; data NULL: none yet */
    bool is_closed;       /* the open object has no more members */
};

/* Whether the next member is this one; in writing, whether it is to be there. */
static bool head_has(struct head_walk *walk, const char *key, bool is_there)
{
    if (walk->out) {
        return is_there;
    }
    if (!walk->key.data && !walk->is_closed) {
        walk->is_closed = !json_read_member(&walk->in, &walk->key);
    }
    return walk->key.data && json_text_is(walk->key, key);
}

/* Goes on to the value of this member, which is the next; NULL: to an element. */
static void head_enter(struct head_walk *walk, const char *key)
{
    walk->in.failed |= key && !head_has(walk, key, true);
    walk->key = (struct json_text){0};
}

static void head_open(struct head_walk *walk, const char *key, char bracket)
{
    head_enter(walk, key);
    if (walk->out) {
        json_put_open(walk->out, key, bracket);
    } else {
        json_read_open(&walk->in, bracket);
    }
}

/* Ends an object, which has no member more; or an array, behind the last head_element. */
static void head_close(struct head_walk *walk, char bracket)
{
    if (walk->out) {
        json_put_close(walk->out, bracket);
    } else if (bracket == '}') {
        head_has(walk, "", false);
        walk->in.failed |= !walk->is_closed;
        walk->is_closed = false;
    }
}

/* Whether an array has an element of this index; in reading, counts it. */
static bool head_element(struct head_walk *walk, size_t index, size_t most, size_t *count)
{
    if (!walk->out && json_read_element(&walk->in)) {
        walk->in.failed |= index == most;
        *count += index < most;
    }
    return index < *count;
}

static void head_number(struct head_walk *walk, const char *key, uint64_t *number)
{
    head_enter(walk, key);
    if (walk->out) {
        json_put_number(walk->out, key, *number);
    } else {
        *number = json_read_number(&walk->in);
    }
}

static void head_number32(struct head_walk *walk, const char *key, uint32_t *number)
{
    uint64_t value = *number;
    head_number(walk, key, &value);
    if (!walk->out) {
        walk->in.failed |= value > UINT32_MAX;
        *number = (uint32_t)value;
    }
}

static void head_text(struct head_walk *walk, const char *key, char *text, size_t capacity)
{
    head_enter(walk, key);
    if (walk->out) {
        json_put_string(walk->out, key, text);
    } else {
        walk->in.failed |= !json_value_text(json_read_any(&walk->in), text, capacity);
    }
}

/* The name of an object or payload. */
static void head_name(struct head_walk *walk, const char *key, char name[OBJECT_NAME_SIZE])
{
    head_text(walk, key, name, OBJECT_NAME_SIZE);
    walk->in.failed |=
        strlen(name) != OBJECT_NAME_SIZE - 1 || !names_is_hex(name, OBJECT_NAME_SIZE - 1);
}

static void head_hex(struct head_walk *walk, const char *key, uint8_t *data, size_t size)
{
    char hex[2 * VK_UUID_SIZE + 1];
    size_t found = 0;
    sodium_bin2hex(hex, sizeof hex, data, size);
    head_text(walk, key, hex, sizeof hex);
    if (!walk->out) {
        walk->in.failed |=
            sodium_hex2bin(data, size, hex, strlen(hex), NULL, &found, NULL) != 0 || found != size;
    }
}

/* In reading, the frame is part->bytes long, which stands before it. */
static void head_frame_text(struct head_walk *walk, struct head *head, struct head_part *part)
{
    head_enter(walk, "frame");
    if (walk->out) {
        const size_t room = sodium_base64_encoded_len((size_t)part->bytes, HEAD_BASE64);
        AUTO_FREE char *digits = malloc(room);
        walk->out->failed |= !digits;
        if (digits) {
            sodium_bin2base64(digits, room, head_frame(head, part), (size_t)part->bytes,
                              HEAD_BASE64);
            json_put_string(walk->out, "frame", digits);
        }
        return;
    }
    size_t size = 0;
    const size_t room = sizeof head->frames - head->frames_size;
    const struct json_text text = json_read_string(&walk->in);
    walk->in.failed |= sodium_base642bin(head->frames + head->frames_size, room, text.data,
                                         text.size, NULL, &size, NULL, HEAD_BASE64) != 0 ||
                       size != part->bytes;
    part->frame = head->frames_size + 1;
    head->frames_size += size;
}

static void head_walk_part(struct head_walk *walk, struct head *head, struct head_part *part)
{
    head_open(walk, NULL, '{');
    head_name(walk, "object", part->object);
    head_name(walk, "payload", part->payload);
    head_number(walk, "bytes", &part->bytes);
    head_number(walk, "unpacked", &part->unpacked);
    head_number(walk, "made", &part->made);
    if (head_has(walk, "compile_ms", part->compile_ms > 0)) {
        head_number(walk, "compile_ms", &part->compile_ms);
    }
    if (head_has(walk, "base", part->base[0])) {
        head_name(walk, "base", part->base);
    }
    if (head_has(walk, "frame", part->frame)) {
        head_frame_text(walk, head, part);
    }
    head_close(walk, '}');
    walk->in.failed |= part->unpacked == 0 || part->unpacked > OBJECT_LIMIT || part->bytes == 0 ||
                       part->bytes > object_frame_limit(part->unpacked);
}

static void head_walk_parts(struct head_walk *walk, const char *key, struct head *head,
                            struct head_part *parts, size_t most, size_t *count)
{
    head_open(walk, key, '[');
    for (size_t i = 0; head_element(walk, i, most, count); i++) {
        head_walk_part(walk, head, &parts[i]);
    }
    head_close(walk, ']');
}

static void head_walk_identity(struct head_walk *walk, struct head *head)
{
    struct driver_identity *identity = &head->identity;
    head_open(walk, "identity", '{');
    head_text(walk, "digest", head->identity_hex, sizeof head->identity_hex);
    head_number32(walk, "vendor_id", &identity->vendor_id);
    head_number32(walk, "device_id", &identity->device_id);
    head_number32(walk, "api_version", &identity->api_version);
    head_number32(walk, "driver_version", &identity->driver_version);
    head_number32(walk, "driver_id", &identity->driver_id);
    head_number32(walk, "pointer_size", &identity->pointer_size);
    head_hex(walk, "conformance", identity->conformance, sizeof identity->conformance);
    head_hex(walk, "cache_uuid", identity->pipeline_cache_uuid,
             sizeof identity->pipeline_cache_uuid);
    head_text(walk, "device", identity->device_name, sizeof identity->device_name);
    head_text(walk, "driver", identity->driver_name, sizeof identity->driver_name);
    head_text(walk, "driver_info", identity->driver_info, sizeof identity->driver_info);
    head_close(walk, '}');
}

static void head_walk_all(struct head_walk *walk, struct head *head)
{
    const bool is_blob = head->identity_hex[0];
    uint64_t format = HEAD_FORMAT;
    char kind[16]; /* read, the identity says it, and what is written of that is compared */
    snprintf(kind, sizeof kind, "%s", is_blob ? "blob" : "recipes");
    head_open(walk, NULL, '{');
    head_number(walk, "format", &format);
    head_text(walk, "kind", kind, sizeof kind);
    head_text(walk, "program", head->program, sizeof head->program);
    head_number(walk, "serial", &head->serial);
    head_number(walk, "made", &head->made);
    if (head_has(walk, "identity", is_blob)) {
        head_walk_identity(walk, head);
    }
    head_walk_parts(walk, "parts", head, head->parts, HEAD_PARTS, &head->part_count);
    if (head_has(walk, "bases", head->base_count > 0)) {
        head_walk_parts(walk, "bases", head, head->bases, HEAD_BASES, &head->base_count);
    }
    head_open(walk, "blocked", '[');
    for (size_t i = 0; head_element(walk, i, HEAD_BLOCKED, &head->blocked_count); i++) {
        head_name(walk, NULL, head->blocked[i]);
    }
    head_close(walk, ']');
    head_close(walk, '}');
    walk->in.failed |= format != HEAD_FORMAT;
}

void head_encode(const struct head *head, struct bytes *text)
{
    struct head_walk walk = {.out = text};
    head_walk_all(&walk, (struct head *)(uintptr_t)head);
    bytes_put_u8(text, '\n');
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
    struct head_walk walk = {.in = json_reader_over(text, size)};
    memset(ret_head, 0, sizeof *ret_head);
    if (size > HEAD_LIMIT) {
        return STATUS_remote_bad_head;
    }
    head_walk_all(&walk, ret_head);
    json_read_end(&walk.in);
    const bool has_names =
        names_is_app(ret_head->program) &&
        (!ret_head->identity_hex[0] || (strlen(ret_head->identity_hex) == DIGEST_HEX_SIZE - 1 &&
                                        names_is_hex(ret_head->identity_hex, DIGEST_HEX_SIZE - 1)));
    if (!walk.in.failed && has_names && head_has_bases(ret_head) && ret_head->serial > 0 &&
        ret_head->serial <= HEAD_SERIAL_LAST && head_is_canonical(ret_head, text, size)) {
        return STATUS_ok;
    }
    memset(ret_head, 0, sizeof *ret_head); /* a part of it would be shown as the head's */
    return STATUS_remote_bad_head;
}
