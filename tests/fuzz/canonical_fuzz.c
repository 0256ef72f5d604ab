// SPDX-License-Identifier: Apache-2.0
/* Canonical forms from a hostile file: whatever decodes can be encoded, and what that gives is a
 * form that stands for the same create-info. */
#include <stdlib.h>
#include <string.h>

#include "common/codec/canonical.h"

#define MAX_HANDLES 4096
#define MAX_CODE    4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Handles that were given out: each is its place here and one. */
static struct digest contents[MAX_HANDLES];
static uint64_t handle_count;
static uint32_t code[MAX_CODE / 4];

static bool give_handle(void *user, VkObjectType type, struct digest content, uint64_t *ret_handle)
{
    (void)user;
    (void)type;
    for (uint64_t i = 0; i < handle_count; i++) {
        if (digest_equal(contents[i], content)) {
            *ret_handle = i + 1;
            return true;
        }
    }
    if (handle_count == MAX_HANDLES) {
        return false;
    }
    contents[handle_count++] = content;
    *ret_handle = handle_count;
    return true;
}

/* Code is all zeros, whatever its digest was. */
static bool give_code(void *user, struct digest content, size_t size, const void **ret_code)
{
    (void)user;
    (void)content;
    *ret_code = code;
    return size <= MAX_CODE;
}

static bool resolve(void *user, VkObjectType type, uint64_t handle,
                    struct canonical_object *ret_object)
{
    (void)user;
    (void)type;
    if (handle == 0 || handle > handle_count) {
        abort();
    }
    *ret_object = (struct canonical_object){
        .content = contents[handle - 1],
        .serial = handle,
        .use = {~0ull, 0x5555555555555555ull, 0x3333333333333333ull},
    };
    return true;
}

static bool count_reference(void *user, VkObjectType type, struct digest content)
{
    (void)type;
    (void)content;
    ++*(size_t *)user;
    return true;
}

static const struct canonical_sources sources = {.handle = give_handle, .code = give_code};
static const struct canonical_context context = {.resolve = resolve};

static void encode_again(const struct canonical *form, struct canonical *ret_again)
{
    void *info = canonical_decode(form->key.data, form->size, &sources);
    if (!info) {
        abort();
    }
    canonical_encode(&context, info, ret_again);
    free(info);
    if (ret_again->size != form->size) {
        abort();
    }
}

/* A complete form decodes to what encodes to it, but for counts that are ignored with their arrays:
 * those are gone after the first time. */
static void check_fixed_point(const struct canonical *form)
{
    static struct canonical first;
    static struct canonical second;
    encode_again(form, &first);
    encode_again(&first, &second);
    if (memcmp(first.key.data, second.key.data, first.size) != 0) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct canonical form;
    size_t references = 0;
    handle_count = 0;
    bool sound = canonical_references(data, size, count_reference, &references);
    void *info = canonical_decode(data, size, &sources);
    if (!info) {
        return 0;
    }
    if (!sound || references > size) {
        abort();
    }
    canonical_encode(&context, info, &form);
    free(info);
    if (form.verdict != CANONICAL_UNKNOWN && form.complete) {
        check_fixed_point(&form);
    }
    return 0;
}
