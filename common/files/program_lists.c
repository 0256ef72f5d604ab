// SPDX-License-Identifier: Apache-2.0
/* The lists in program.json: what is known of several drivers, devices or answers, and how each is
 * a text. */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "common/files/program.h"

#define HEX_DIGITS (DIGEST_HEX_SIZE - 1)

/* Lists: structs of `size` bytes that begin with the digest of their name. */

static void *list_find(const void *entries, size_t size, size_t count, struct digest name)
{
    const char *entry = entries;
    for (size_t i = 0; i < count; i++, entry += size) {
        if (digest_equal(*(const struct digest *)(const void *)entry, name)) {
            return (void *)(uintptr_t)entry;
        }
    }
    return NULL;
}

/* Removes the entry of this name, or the oldest one where there is no room for another. */
static void list_make_room(void *entries, size_t size, size_t *count, size_t most,
                           struct digest name)
{
    char *end = (char *)entries + *count * size;
    char *gone = list_find(entries, size, *count, name);
    if (!gone && *count == most) {
        gone = entries;
    }
    if (gone) {
        memmove(gone, gone + size, (size_t)(end - gone) - size);
        --*count;
    }
}

/* Moves *at behind the next entry of a text, which ends at *ret_end. NULL: that was all. */
static const char *list_next(struct json_text text, const char **at, const char **ret_end)
{
    const char *const end = text.size ? text.data + text.size : text.data; /* NULL: none */
    const char *entry = *at ? *at : text.data;
    if (entry >= end) {
        return NULL;
    }
    const char *space = memchr(entry, ' ', (size_t)(end - entry));
    *ret_end = space ? space : end;
    *at = *ret_end + 1;
    return entry;
}

/* A digest that the text from `at` to `end` begins with. */
static bool list_parse_digest(const char *at, const char *end, struct digest *ret_digest)
{
    char hex[DIGEST_HEX_SIZE] = {0};
    if ((size_t)(end - at) < HEX_DIGITS) {
        return false;
    }
    memcpy(hex, at, HEX_DIGITS);
    return digest_parse(hex, ret_digest);
}

static void list_put_digest(struct bytes *out, const char *before, struct digest digest)
{
    char hex[DIGEST_HEX_SIZE];
    digest_format(digest, hex);
    bytes_put_text(out, before);
    bytes_put(out, hex, HEX_DIGITS);
}

const struct slow_calls *slow_calls_find(const struct slow_calls_list *list, struct digest identity)
{
    return list_find(list->drivers, sizeof *list->drivers, list->count, identity);
}

void slow_calls_set(struct slow_calls_list *list, const struct slow_calls *calls)
{
    uint32_t longest = 0;
    for (int i = 0; i < SLOW_CALL_COUNT; i++) {
        longest |= calls->ms[i];
    }
    if (longest != 0 || slow_calls_find(list, calls->identity)) {
        list_make_room(list->drivers, sizeof *list->drivers, &list->count, PROGRAM_LIST_MAX,
                       calls->identity);
    }
    if (longest != 0) {
        list->drivers[list->count++] = *calls;
    }
}

/* "-" and a decimal number, for each kind of call. */
static bool slow_calls_parse_times(const char *at, const char *end, struct slow_calls *ret_calls)
{
    for (int i = 0; i < SLOW_CALL_COUNT; i++) {
        uint64_t ms = 0;
        if (end - at < 2 || *at++ != '-') {
            return false;
        }
        for (; at < end && *at >= '0' && *at <= '9'; at++) {
            ms = ms > UINT32_MAX ? ms : ms * 10 + (uint64_t)(*at - '0');
        }
        ret_calls->ms[i] = ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX;
    }
    return at == end;
}

void slow_calls_parse(struct json_text text, struct slow_calls_list *list)
{
    const char *at = NULL;
    const char *end;
    list->count = 0;
    for (const char *entry; (entry = list_next(text, &at, &end));) {
        struct slow_calls calls = {0};
        if (list_parse_digest(entry, end, &calls.identity) &&
            slow_calls_parse_times(entry + HEX_DIGITS, end, &calls)) {
            slow_calls_set(list, &calls);
        }
    }
}

void slow_calls_put(const struct slow_calls_list *list, struct bytes *out)
{
    for (size_t i = 0; i < list->count; i++) {
        const uint32_t *ms = list->drivers[i].ms;
        char text[(size_t)SLOW_CALL_COUNT * 12];
        list_put_digest(out, i > 0 ? " " : "", list->drivers[i].identity);
        const int length = snprintf(text, sizeof text, "-%" PRIu32 "-%" PRIu32 "-%" PRIu32,
                                    ms[SLOW_LOAD], ms[SLOW_READ], ms[SLOW_MERGE]);
        bytes_put(out, text, (size_t)length);
    }
}

const struct pipeline_key *pipeline_keys_find(const struct pipeline_keys *keys,
                                              struct digest device)
{
    return list_find(keys->keys, sizeof *keys->keys, keys->count, device);
}

void pipeline_keys_set(struct pipeline_keys *keys, const struct pipeline_key *key)
{
    list_make_room(keys->keys, sizeof *keys->keys, &keys->count, PROGRAM_LIST_MAX, key->device);
    keys->keys[keys->count++] = *key;
}

void pipeline_keys_parse(struct json_text text, struct pipeline_keys *keys)
{
    const char *at = NULL;
    const char *end;
    keys->count = 0;
    for (const char *entry; (entry = list_next(text, &at, &end));) {
        struct pipeline_key key;
        if (end - entry == 2 * HEX_DIGITS + 1 && entry[HEX_DIGITS] == '-' &&
            list_parse_digest(entry, end, &key.device) &&
            list_parse_digest(entry + HEX_DIGITS + 1, end, &key.key)) {
            pipeline_keys_set(keys, &key);
        }
    }
}

void pipeline_keys_put(const struct pipeline_keys *keys, struct bytes *out)
{
    for (size_t i = 0; i < keys->count; i++) {
        list_put_digest(out, i > 0 ? " " : "", keys->keys[i].device);
        list_put_digest(out, "-", keys->keys[i].key);
    }
}

const struct program_answer *program_find_answer(const struct program_app_caches *app_caches,
                                                 struct digest digest)
{
    return list_find(app_caches->answers, sizeof *app_caches->answers, app_caches->answer_count,
                     digest);
}

void program_add_answer(struct program_app_caches *app_caches, struct program_answer answer)
{
    if (!program_find_answer(app_caches, answer.digest)) {
        list_make_room(app_caches->answers, sizeof *app_caches->answers, &app_caches->answer_count,
                       PROGRAM_ANSWERS_MAX, answer.digest);
        app_caches->answers[app_caches->answer_count++] = answer;
    }
}

/* "-" follows the digests of empty answers. */
void program_parse_answers(struct json_text text, struct program_app_caches *app_caches)
{
    const char *at = NULL;
    const char *end;
    app_caches->answer_count = 0;
    for (const char *entry; (entry = list_next(text, &at, &end));) {
        const ptrdiff_t more = end - entry - HEX_DIGITS;
        struct program_answer answer = {.empty = more == 1 && end[-1] == '-'};
        if ((more == 0 || answer.empty) && list_parse_digest(entry, end, &answer.digest)) {
            program_add_answer(app_caches, answer);
        }
    }
}

void program_put_answers(const struct program_app_caches *app_caches, struct bytes *out)
{
    for (size_t i = 0; i < app_caches->answer_count; i++) {
        list_put_digest(out, i > 0 ? " " : "", app_caches->answers[i].digest);
        bytes_put(out, "-", app_caches->answers[i].empty);
    }
}
