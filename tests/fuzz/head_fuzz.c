// SPDX-License-Identifier: Apache-2.0
/* A head as hostile as it likes: what is accepted is exactly what would be written of it, and
 * changes to it stay within its bounds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/remote/heads/head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "does not hold: %s\n", what);
        abort();
    }
}

static void check_accepted(struct head *head, const uint8_t *data, size_t size)
{
    struct bytes text = {0};
    char path[HEAD_PATH_SIZE];
    char program[NAMES_APP_SIZE];
    char identity[DIGEST_HEX_SIZE];
    head_encode(head, &text);
    require(text.size == size && memcmp(text.data, data, size) == 0,
            "what is accepted is what is written");
    bytes_free(&text);
    head_path(head->program, head->identity_hex, path);
    require(head_split_path(path, program, identity), "its path is one");
    require(strcmp(program, head->program) == 0 && strcmp(identity, head->identity_hex) == 0,
            "and leads back");
    require(head->part_count <= HEAD_PARTS && head->blocked_count <= HEAD_BLOCKED &&
                head->base_count <= HEAD_BASES && head->frames_size <= HEAD_INLINE,
            "bounds");
    for (size_t i = 0; i < head->part_count; i++) {
        const struct head_part *part = &head->parts[i];
        const uint8_t *frame = head_frame(head, part);
        require(!frame || frame + part->bytes <= head->frames + head->frames_size, "frames");
        require(!part->base[0] || head_find_base(head, part), "bases");
    }
    if (head->part_count > 0) {
        char payload[OBJECT_NAME_SIZE];
        memcpy(payload, head->parts[0].payload, sizeof payload);
        head_block(head, payload);
        require(head_blocks(head, payload) && !head_find_payload(head, payload), "blocked");
        require(head->blocked_count <= HEAD_BLOCKED, "bounds of what is blocked");
        head_tidy(head);
        require(head->base_count <= HEAD_BASES && head->frames_size <= HEAD_INLINE, "tidied");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct head head;
    if (head_parse(data, size, &head) == STATUS_ok) {
        check_accepted(&head, data, size);
    }
    return 0;
}
