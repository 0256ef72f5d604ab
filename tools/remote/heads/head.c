// SPDX-License-Identifier: Apache-2.0
#include "tools/remote/heads/head.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

void head_path(const char *program, const char *identity_hex, char ret_path[HEAD_PATH_SIZE])
{
    snprintf(ret_path, HEAD_PATH_SIZE, HEAD_FOLDER "%s/%s", program,
             identity_hex && identity_hex[0] ? identity_hex : "recipes");
}

bool head_split_path(const char *path, char ret_program[NAMES_APP_SIZE],
                     char ret_identity[DIGEST_HEX_SIZE])
{
    char program[NAMES_APP_SIZE];
    char identity[DIGEST_HEX_SIZE];
    int length = 0;
    static_assert(NAMES_APP_SIZE == 200 && DIGEST_HEX_SIZE == 33, "the widths below");
    if (sscanf(path, HEAD_FOLDER "%199[^/]/%32[^/]%n", program, identity, &length) != 2 ||
        path[length] || !names_is_app(program)) {
        return false;
    }
    const bool is_recipes = strcmp(identity, "recipes") == 0;
    if (!is_recipes && !names_is_hex(identity, DIGEST_HEX_SIZE - 1)) {
        return false;
    }
    snprintf(ret_program, NAMES_APP_SIZE, "%s", program);
    snprintf(ret_identity, DIGEST_HEX_SIZE, "%s", is_recipes ? "" : identity);
    return true;
}

/* Parts. */

void head_file_name(const struct head_part *part, char ret_name[HEAD_FILE_SIZE])
{
    snprintf(ret_name, HEAD_FILE_SIZE, "%s%s%.16s", part->object, part->base[0] ? "-" : "",
             part->base);
}

const uint8_t *head_frame(const struct head *head, const struct head_part *part)
{
    return part->frame ? head->frames + part->frame - 1 : NULL;
}

const struct head_part *head_find_base(const struct head *head, const struct head_part *part)
{
    for (size_t i = 0; part->base[0] && i < head->base_count; i++) {
        if (strcmp(head->bases[i].object, part->base) == 0) {
            return &head->bases[i];
        }
    }
    return NULL;
}

bool head_is_base(const struct head *head, const struct head_part *base)
{
    bool is_one = false;
    for (size_t i = 0; i < head->part_count; i++) {
        is_one = is_one || strcmp(head->parts[i].base, base->object) == 0;
    }
    return is_one;
}

void head_drop(struct head *head, size_t index)
{
    struct head_part *part = &head->parts[index];
    head->part_count--;
    memmove(part, part + 1, (head->part_count - index) * sizeof *part);
}

void head_tidy(struct head *head)
{
    uint8_t frames[HEAD_INLINE];
    size_t size = 0;
    size_t kept = 0;
    for (size_t i = 0; i < head->part_count; i++) {
        struct head_part *part = &head->parts[i];
        const uint8_t *frame = head_frame(head, part);
        if (frame) {
            memcpy(frames + size, frame, (size_t)part->bytes);
            part->frame = size + 1;
            size += (size_t)part->bytes;
        }
    }
    memcpy(head->frames, frames, size);
    head->frames_size = size;
    for (size_t i = 0; i < head->base_count; i++) {
        if (head_is_base(head, &head->bases[i])) {
            head->bases[kept++] = head->bases[i];
        }
    }
    head->base_count = kept;
}

bool head_add(struct head *head, const struct head_part *part, const struct head_part *base,
              const uint8_t *frame, bool *ret_is_inline)
{
    head_tidy(head);
    if (base && !head_find_base(head, part)) {
        if (head->base_count == HEAD_BASES) {
            return false;
        }
        head->bases[head->base_count] = *base;
        head->bases[head->base_count++].frame = 0;
    }
    struct head_part *added = &head->parts[head->part_count++];
    *added = *part;
    added->frame = 0;
    if (part->bytes <= sizeof head->frames - head->frames_size) {
        added->frame = head->frames_size + 1;
        memcpy(head->frames + head->frames_size, frame, (size_t)part->bytes);
        head->frames_size += (size_t)part->bytes;
    }
    *ret_is_inline = added->frame > 0;
    return true;
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
    for (size_t i = head->part_count; i-- > 0;) {
        if (strcmp(head->parts[i].payload, payload) == 0) {
            head_drop(head, i);
        }
    }
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
