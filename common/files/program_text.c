// SPDX-License-Identifier: Apache-2.0
/* program.json as JSON, and the tables of its numbers. */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "common/base/json.h"
#include "common/files/program.h"

#define FORMAT 1

/* A number by its name. */
struct program_counter {
    char name[24]; /* in place: a pointer would be bound at every start */
    size_t offset; /* of a uint64_t in its struct */
};

static const struct program_counter program_counter_table[] = {
#define PROGRAM_COUNTER(name) {#name, offsetof(struct program_counters, name)},
    PROGRAM_COUNTERS(PROGRAM_COUNTER)
#undef PROGRAM_COUNTER
};
static const size_t program_counter_count =
    sizeof program_counter_table / sizeof *program_counter_table;

static uint64_t program_number_value(const void *numbers, const struct program_counter *field)
{
    uint64_t value;
    memcpy(&value, (const char *)numbers + field->offset, sizeof value);
    return value;
}

/* The number of this name in the struct that the table describes; NULL: there is none. */
static uint64_t *program_find_number(void *numbers, const struct program_counter *fields,
                                     size_t count, struct json_text name)
{
    for (size_t i = 0; i < count; i++) {
        if (json_text_is(name, fields[i].name)) {
            return (uint64_t *)(void *)((char *)numbers + fields[i].offset);
        }
    }
    return NULL;
}

/* The lists: what is known of several drivers, devices or answers, and how each is a text. What is
 * no entry is left out. */
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

/* Gives each entry of a text that begins with a digest, with what follows that, up to `end`. */
static void list_parse(struct json_text text, void *list,
                       void (*take)(void *list, struct digest name, const char *at,
                                    const char *end))
{
    size_t length;
    for (size_t from = 0; from < text.size; from += length + 1) {
        const char *entry = text.data + from;
        const char *space = memchr(entry, ' ', text.size - from);
        struct digest name;
        length = space ? (size_t)(space - entry) : text.size - from;
        if (list_parse_digest(entry, entry + length, &name)) {
            take(list, name, entry + HEX_DIGITS, entry + length);
        }
    }
}

static void list_put_digest(struct bytes *out, struct digest digest)
{
    char hex[DIGEST_HEX_SIZE];
    digest_format(digest, hex);
    bytes_put(out, hex, HEX_DIGITS);
}

/* Appends a list as a member, unless it is empty; `put_rest`: what follows the digest. */
static void list_put(struct bytes *out, const char *key, const void *entries, size_t size,
                     size_t count, void (*put_rest)(const void *entry, struct bytes *out))
{
    const char *entry = entries;
    if (count == 0) {
        return;
    }
    json_put_open(out, key, '"');
    for (size_t i = 0; i < count; i++, entry += size) {
        bytes_put_text(out, i > 0 ? " " : "");
        list_put_digest(out, *(const struct digest *)(const void *)entry);
        put_rest(entry, out);
    }
    json_put_close(out, '"');
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

static void slow_calls_take(void *list, struct digest identity, const char *at, const char *end)
{
    struct slow_calls calls = {.identity = identity};
    if (slow_calls_parse_times(at, end, &calls)) {
        slow_calls_set(list, &calls);
    }
}

static void slow_calls_put_times(const void *entry, struct bytes *out)
{
    const uint32_t *ms = ((const struct slow_calls *)entry)->ms;
    char text[(size_t)SLOW_CALL_COUNT * 12];
    const int length = snprintf(text, sizeof text, "-%" PRIu32 "-%" PRIu32 "-%" PRIu32,
                                ms[SLOW_LOAD], ms[SLOW_READ], ms[SLOW_MERGE]);
    bytes_put(out, text, (size_t)length);
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

static void pipeline_keys_take(void *keys, struct digest device, const char *at, const char *end)
{
    struct pipeline_key key = {.device = device};
    if (end - at == HEX_DIGITS + 1 && *at == '-' && list_parse_digest(at + 1, end, &key.key)) {
        pipeline_keys_set(keys, &key);
    }
}

static void pipeline_keys_put_key(const void *entry, struct bytes *out)
{
    bytes_put_u8(out, '-');
    list_put_digest(out, ((const struct pipeline_key *)entry)->key);
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
static void program_take_answer(void *app_caches, struct digest digest, const char *at,
                                const char *end)
{
    const struct program_answer answer = {digest, end - at == 1 && *at == '-'};
    if (at == end || answer.empty) {
        program_add_answer(app_caches, answer);
    }
}

static void program_put_answer_mark(const void *entry, struct bytes *out)
{
    bytes_put(out, "-", ((const struct program_answer *)entry)->empty);
}

static const char *const caches_words[] = {
    [PROGRAM_CACHES_NOT_READ] = "not_read",
    [PROGRAM_CACHES_READ_BACK] = "read_back",
};

static enum program_caches program_caches_from(struct json_text word)
{
    const size_t count = sizeof caches_words / sizeof *caches_words;
    for (size_t i = 0; i < count; i++) {
        if (caches_words[i] && json_text_is(word, caches_words[i])) {
            return (enum program_caches)i;
        }
    }
    return PROGRAM_CACHES_UNKNOWN;
}

/* The numbers in struct program_app_caches, by the names of their members. */
static const struct program_counter app_cache_numbers[] = {
    {"app_caches_read_runs", offsetof(struct program_app_caches, read_runs)},
    {"app_caches_read_days", offsetof(struct program_app_caches, read_days)},
    {"app_caches_last_day", offsetof(struct program_app_caches, last_day)},
    {"app_caches_made", offsetof(struct program_app_caches, made)},
    {"app_caches_read", offsetof(struct program_app_caches, read)},
};
#define APP_CACHE_NUMBER_COUNT (sizeof app_cache_numbers / sizeof *app_cache_numbers)

/* Text that would need escapes is passed over, as one that is too long is. */
static void program_parse_settings(struct json_text text, char settings[PROGRAM_SETTINGS_SIZE])
{
    bool is_plain = text.size < PROGRAM_SETTINGS_SIZE;
    for (size_t i = 0; is_plain && i < text.size; i++) {
        is_plain = text.data[i] >= ' ' && text.data[i] <= '~' && text.data[i] != '\\';
    }
    const size_t size = is_plain ? text.size : 0;
    memcpy(settings, size > 0 ? text.data : "", size);
    settings[size] = '\0';
}

/* Appends a member that another version has written, with the comma before it. */
static void program_keep_member(struct bytes *kept, struct json_text key, struct json_text value)
{
    if (value.size) {
        bytes_put(kept, ",\"", 2);
        bytes_put(kept, key.data, key.size);
        bytes_put(kept, "\":", 2);
        bytes_put(kept, value.data, value.size);
    }
}

/* Members that this version does not know go into `kept`, unless it is NULL; do not use them after
 * a failure. */
static enum status program_parse(const void *data, size_t size, struct program_facts *ret_facts,
                                 struct bytes *kept)
{
    struct program_facts facts = {0};
    uint64_t format = 0;
    struct json_reader reader = json_reader_over(data, size);
    struct json_text key;
    json_read_open(&reader, '{');
    while (json_read_member(&reader, &key)) {
        uint64_t *number =
            program_find_number(&facts.counters, program_counter_table, program_counter_count, key);
        if (!number) {
            number = program_find_number(&facts.app_caches, app_cache_numbers,
                                         APP_CACHE_NUMBER_COUNT, key);
        }
        if (number) {
            *number = json_read_number(&reader);
        } else if (json_text_is(key, "since")) {
            facts.since = json_read_number(&reader);
        } else if (json_text_is(key, "format")) {
            format = json_read_number(&reader);
        } else if (json_text_is(key, "app_caches")) {
            facts.caches = program_caches_from(json_read_string(&reader));
        } else if (json_text_is(key, "app_caches_kept")) {
            facts.app_caches.kept = json_read_number(&reader) != 0;
        } else if (json_text_is(key, "app_caches_answers")) {
            facts.app_caches.answer_count = 0;
            list_parse(json_read_string(&reader), &facts.app_caches, program_take_answer);
        } else if (json_text_is(key, "slow_calls")) {
            facts.slow.count = 0;
            list_parse(json_read_string(&reader), &facts.slow, slow_calls_take);
        } else if (json_text_is(key, "pipeline_keys")) {
            facts.keys.count = 0;
            list_parse(json_read_string(&reader), &facts.keys, pipeline_keys_take);
        } else if (json_text_is(key, "driver_settings")) {
            program_parse_settings(json_read_string(&reader), facts.driver_settings);
        } else {
            struct json_text value = json_read_any(&reader);
            if (kept) {
                program_keep_member(kept, key, value);
            }
        }
    }
    json_read_end(&reader);
    if (reader.failed || format == 0) {
        return STATUS_bad_program_file;
    }
    if (format != FORMAT) {
        return STATUS_bad_format_version;
    }
    if (facts.since == 0) {
        facts.counters = (struct program_counters){0};
    }
    *ret_facts = facts;
    return STATUS_ok;
}

enum status program_decode(const void *data, size_t size, struct program_facts *ret_facts)
{
    return program_parse(data, size, ret_facts, NULL);
}

/* Always 20 digits wide, so that a file whose counters change keeps its size. */
static void program_put_wide_number(struct bytes *out, const char *name, uint64_t value)
{
    char text[64];
    int length = snprintf(text, sizeof text, ",\"%s\":%20" PRIu64, name, value);
    bytes_put(out, text, (size_t)length);
}

static void program_put_app_caches(const struct program_app_caches *app_caches, struct bytes *out)
{
    if (app_caches->kept) {
        json_put_number(out, "app_caches_kept", 1);
    }
    for (size_t i = 0; i < APP_CACHE_NUMBER_COUNT; i++) {
        const uint64_t value = program_number_value(app_caches, &app_cache_numbers[i]);
        if (value != 0) {
            json_put_number(out, app_cache_numbers[i].name, value);
        }
    }
}

void program_encode(const struct program_facts *facts, const void *old, size_t old_size,
                    struct bytes *out)
{
    struct program_facts ignored;
    struct bytes kept = {0};
    json_put_open(out, NULL, '{');
    json_put_number(out, "format", FORMAT);
    if (facts->caches != PROGRAM_CACHES_UNKNOWN) {
        json_put_string(out, "app_caches", caches_words[facts->caches]);
    }
    program_put_app_caches(&facts->app_caches, out);
    list_put(out, "app_caches_answers", facts->app_caches.answers,
             sizeof *facts->app_caches.answers, facts->app_caches.answer_count,
             program_put_answer_mark);
    list_put(out, "slow_calls", facts->slow.drivers, sizeof *facts->slow.drivers, facts->slow.count,
             slow_calls_put_times);
    list_put(out, "pipeline_keys", facts->keys.keys, sizeof *facts->keys.keys, facts->keys.count,
             pipeline_keys_put_key);
    if (*facts->driver_settings) {
        json_put_string(out, "driver_settings", facts->driver_settings);
    }
    if (facts->since != 0) {
        program_put_wide_number(out, "since", facts->since);
        for (size_t i = 0; i < program_counter_count; i++) {
            program_put_wide_number(
                out, program_counter_table[i].name,
                program_number_value(&facts->counters, &program_counter_table[i]));
        }
    }
    /* Unknown members must not make the file too large to be read again. */
    if (program_parse(old, old_size, &ignored, &kept) == STATUS_ok && !kept.failed &&
        out->size + kept.size + 2 <= PROGRAM_FILE_LIMIT) {
        bytes_put(out, kept.data, kept.size);
    }
    json_put_close(out, '}');
    bytes_put_u8(out, '\n');
    bytes_free(&kept);
}
