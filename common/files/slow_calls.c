// SPDX-License-Identifier: Apache-2.0
#include "common/files/slow_calls.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define HEX_DIGITS (DIGEST_HEX_SIZE - 1)

static size_t slow_calls_position(const struct slow_calls_list *list, struct digest identity)
{
    size_t at = 0;
    while (at < list->count && !digest_equal(list->drivers[at].identity, identity)) {
        at++;
    }
    return at;
}

const struct slow_calls *slow_calls_find(const struct slow_calls_list *list, struct digest identity)
{
    const size_t at = slow_calls_position(list, identity);
    return at < list->count ? &list->drivers[at] : NULL;
}

static void slow_calls_remove(struct slow_calls_list *list, size_t at)
{
    list->count--;
    memmove(list->drivers + at, list->drivers + at + 1, (list->count - at) * sizeof *list->drivers);
}

void slow_calls_set(struct slow_calls_list *list, const struct slow_calls *calls)
{
    const size_t at = slow_calls_position(list, calls->identity);
    if (at < list->count) {
        slow_calls_remove(list, at);
    }
    uint32_t longest = 0;
    for (int i = 0; i < SLOW_CALL_COUNT; i++) {
        longest |= calls->ms[i];
    }
    if (longest == 0) {
        return;
    }
    if (list->count == SLOW_CALLS_DRIVERS) {
        slow_calls_remove(list, 0);
    }
    list->drivers[list->count++] = *calls;
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

static bool slow_calls_parse_entry(const char *at, const char *end, struct slow_calls *ret_calls)
{
    char hex[DIGEST_HEX_SIZE] = {0};
    if ((size_t)(end - at) <= HEX_DIGITS) {
        return false;
    }
    memcpy(hex, at, HEX_DIGITS);
    return digest_parse(hex, &ret_calls->identity) &&
           slow_calls_parse_times(at + HEX_DIGITS, end, ret_calls);
}

void slow_calls_parse(struct json_text text, struct slow_calls_list *list)
{
    const char *const end = text.size ? text.data + text.size : text.data; /* NULL: none */
    list->count = 0;
    for (const char *at = text.data; at < end;) {
        const char *space = memchr(at, ' ', (size_t)(end - at));
        const char *entry_end = space ? space : end;
        struct slow_calls calls = {0};
        if (slow_calls_parse_entry(at, entry_end, &calls)) {
            slow_calls_set(list, &calls);
        }
        at = entry_end + 1;
    }
}

void slow_calls_put(const struct slow_calls_list *list, struct bytes *out)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct slow_calls *calls = &list->drivers[i];
        char hex[DIGEST_HEX_SIZE];
        char text[HEX_DIGITS + 2 + (size_t)SLOW_CALL_COUNT * 12];
        digest_format(calls->identity, hex);
        const int length =
            snprintf(text, sizeof text, "%s%s-%" PRIu32 "-%" PRIu32 "-%" PRIu32, i > 0 ? " " : "",
                     hex, calls->ms[SLOW_LOAD], calls->ms[SLOW_READ], calls->ms[SLOW_MERGE]);
        bytes_put(out, text, (size_t)length);
    }
}
