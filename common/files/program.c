// SPDX-License-Identifier: Apache-2.0
#include "common/files/program.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/json.h"
#include "common/files/file.h"
#include "common/files/names.h"

#define FORMAT 1

/* Other processes hold the folder's lock for as long as it takes to replace a small file. */
#define LOCK_WAIT_MS 100

const struct program_counter program_counter_table[] = {
#define PROGRAM_COUNTER(name) {#name, offsetof(struct program_counters, name)},
#include "common/files/program_counters.def"
#undef PROGRAM_COUNTER
};
const size_t program_counter_count = sizeof program_counter_table / sizeof *program_counter_table;

static uint64_t *number_at(void *numbers, const struct program_counter *field)
{
    return (uint64_t *)(void *)((char *)numbers + field->offset);
}

static uint64_t number_value(const void *numbers, const struct program_counter *field)
{
    uint64_t value;
    memcpy(&value, (const char *)numbers + field->offset, sizeof value);
    return value;
}

/* The number of this name in the struct that the table describes; NULL: there is none. */
static uint64_t *find_number(void *numbers, const struct program_counter *fields, size_t count,
                             struct json_text name)
{
    for (size_t i = 0; i < count; i++) {
        if (json_text_is(name, fields[i].name)) {
            return number_at(numbers, &fields[i]);
        }
    }
    return NULL;
}

void program_counters_add(struct program_counters *sum, const struct program_counters *more)
{
    for (size_t i = 0; i < program_counter_count; i++) {
        const struct program_counter *field = &program_counter_table[i];
        uint64_t *counter = number_at(sum, field);
        if (__builtin_add_overflow(*counter, number_value(more, field), counter)) {
            *counter = UINT64_MAX;
        }
    }
}

struct program_counters program_counters_since(const struct program_counters *now,
                                               const struct program_counters *before)
{
    struct program_counters more = *now;
    for (size_t i = 0; i < program_counter_count; i++) {
        const struct program_counter *field = &program_counter_table[i];
        *number_at(&more, field) -= number_value(before, field);
    }
    return more;
}

static const char *const caches_words[] = {
    [PROGRAM_CACHES_NOT_READ] = "not_read",
    [PROGRAM_CACHES_READ_BACK] = "read_back",
};

static enum program_caches caches_from(struct json_text word)
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

const struct program_answer *program_find_answer(const struct program_app_caches *app_caches,
                                                 struct digest digest)
{
    for (size_t i = 0; i < app_caches->answer_count; i++) {
        if (digest_equal(app_caches->answers[i].digest, digest)) {
            return &app_caches->answers[i];
        }
    }
    return NULL;
}

/* Drops the oldest answer if there is no room. An answer already there keeps its place. */
static void add_answer(struct program_app_caches *app_caches, struct program_answer answer)
{
    if (program_find_answer(app_caches, answer.digest)) {
        return;
    }
    if (app_caches->answer_count == PROGRAM_ANSWERS_MAX) {
        app_caches->answer_count--;
        memmove(app_caches->answers, app_caches->answers + 1,
                app_caches->answer_count * sizeof *app_caches->answers);
    }
    app_caches->answers[app_caches->answer_count++] = answer;
}

/* Hexadecimal digests, separated by spaces; "-" follows those of empty answers. Anything else is
 * skipped. */
static void parse_answers(struct json_text text, struct program_app_caches *app_caches)
{
    const size_t digits = DIGEST_HEX_SIZE - 1;
    app_caches->answer_count = 0;
    for (size_t at = 0; at < text.size;) {
        size_t end = at;
        while (end < text.size && text.data[end] != ' ') {
            end++;
        }
        char hex[DIGEST_HEX_SIZE] = {0};
        struct program_answer answer = {0};
        if (end - at >= digits) {
            memcpy(hex, text.data + at, digits);
            answer.empty = end - at == digits + 1 && text.data[end - 1] == '-';
            if ((end - at == digits || answer.empty) && digest_parse(hex, &answer.digest)) {
                add_answer(app_caches, answer);
            }
        }
        at = end + 1;
    }
}

static void put_answers(const struct program_app_caches *app_caches, struct bytes *out)
{
    for (size_t i = 0; i < app_caches->answer_count; i++) {
        char hex[DIGEST_HEX_SIZE];
        digest_format(app_caches->answers[i].digest, hex);
        const char *before = i == 0 ? ",\"app_caches_answers\":\"" : " ";
        bytes_put(out, before, strlen(before));
        bytes_put(out, hex, sizeof hex - 1);
        bytes_put(out, "-", app_caches->answers[i].empty);
    }
    bytes_put(out, "\"", app_caches->answer_count > 0);
}

/* Appends a member that another version has written, with the comma before it. */
static void keep_member(struct bytes *kept, struct json_text key, struct json_text value)
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
static enum status parse_program(const void *data, size_t size, struct program_facts *ret_facts,
                                 struct bytes *kept)
{
    struct program_facts facts = {0};
    uint64_t format = 0;
    struct json_reader reader = json_reader_over(data, size);
    struct json_text key;
    json_read_open(&reader, '{');
    while (json_read_member(&reader, &key)) {
        uint64_t *number =
            find_number(&facts.counters, program_counter_table, program_counter_count, key);
        if (!number) {
            number = find_number(&facts.app_caches, app_cache_numbers, APP_CACHE_NUMBER_COUNT, key);
        }
        if (number) {
            *number = json_read_number(&reader);
        } else if (json_text_is(key, "since")) {
            facts.since = json_read_number(&reader);
        } else if (json_text_is(key, "format")) {
            format = json_read_number(&reader);
        } else if (json_text_is(key, "app_caches")) {
            facts.caches = caches_from(json_read_string(&reader));
        } else if (json_text_is(key, "app_caches_kept")) {
            facts.app_caches.kept = json_read_number(&reader) != 0;
        } else if (json_text_is(key, "app_caches_answers")) {
            parse_answers(json_read_string(&reader), &facts.app_caches);
        } else if (json_text_is(key, "slow_calls")) {
            slow_calls_parse(json_read_string(&reader), &facts.slow);
        } else if (json_text_is(key, "pipeline_keys")) {
            pipeline_keys_parse(json_read_string(&reader), &facts.keys);
        } else {
            struct json_text value = json_read_any(&reader);
            if (kept) {
                keep_member(kept, key, value);
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
    return parse_program(data, size, ret_facts, NULL);
}

/* Closes the directory. */
static enum status read_program_in(int directory, struct program_facts *ret_facts)
{
    uint8_t *data = NULL;
    size_t size = 0;
    /* The lock keeps us from reading counters while they are overwritten in place. Without it, that
     * risk is accepted. */
    file_lock_directory(directory, LOCK_WAIT_MS);
    enum status reason = file_read(directory, PROGRAM_FILE_NAME, PROGRAM_FILE_LIMIT, &data, &size);
    if (reason == STATUS_ok) {
        reason = program_decode(data, size, ret_facts);
    }
    free(data);
    file_unlock(directory);
    return reason;
}

enum status program_load(const char *root, const char *app, struct program_facts *ret_facts)
{
    *ret_facts = (struct program_facts){0};
    int directory;
    enum status reason = file_open_directory(root, app, false, &directory);
    return reason == STATUS_ok ? read_program_in(directory, ret_facts) : reason;
}

bool program_is_ours(int directory_fd)
{
    struct program_facts facts;
    /* A lock belongs to an open description; the caller's must not lose its own. */
    int directory = openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return directory >= 0 && read_program_in(directory, &facts) == STATUS_ok;
}

/* Always 20 digits wide, so that a file whose counters change keeps its size. */
static void put_wide_number(struct bytes *out, const char *name, uint64_t value)
{
    char text[64];
    int length = snprintf(text, sizeof text, ",\"%s\":%20" PRIu64, name, value);
    bytes_put(out, text, (size_t)length);
}

static void put_app_caches(const struct program_app_caches *app_caches, struct bytes *out)
{
    if (app_caches->kept) {
        json_put_number(out, "app_caches_kept", 1);
    }
    for (size_t i = 0; i < APP_CACHE_NUMBER_COUNT; i++) {
        const uint64_t value = number_value(app_caches, &app_cache_numbers[i]);
        if (value != 0) {
            json_put_number(out, app_cache_numbers[i].name, value);
        }
    }
    put_answers(app_caches, out);
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
    put_app_caches(&facts->app_caches, out);
    if (facts->slow.count > 0) {
        const char name[] = ",\"slow_calls\":\"";
        bytes_put(out, name, sizeof name - 1);
        slow_calls_put(&facts->slow, out);
        bytes_put(out, "\"", 1);
    }
    if (facts->keys.count > 0) {
        const char name[] = ",\"pipeline_keys\":\"";
        bytes_put(out, name, sizeof name - 1);
        pipeline_keys_put(&facts->keys, out);
        bytes_put(out, "\"", 1);
    }
    if (facts->since != 0) {
        put_wide_number(out, "since", facts->since);
        for (size_t i = 0; i < program_counter_count; i++) {
            put_wide_number(out, program_counter_table[i].name,
                            number_value(&facts->counters, &program_counter_table[i]));
        }
    }
    /* Unknown members must not make the file too large to be read again. */
    if (parse_program(old, old_size, &ignored, &kept) == STATUS_ok && !kept.failed &&
        out->size + kept.size + 2 <= PROGRAM_FILE_LIMIT) {
        bytes_put(out, kept.data, kept.size);
    }
    json_put_close(out, '}');
    bytes_put_u8(out, '\n');
    bytes_free(&kept);
}

/* What an update changes. */
struct program_change {
    const struct program_learnt *learnt; /* NULL: nothing learnt */
    const struct slow_calls *slow;       /* NULL: nothing took long */
    const struct pipeline_key *key;      /* NULL: no device's key */
    const struct program_counters *more; /* NULL: nothing counted */
    bool zero;                           /* starts counting anew */
    uint64_t now_s;
};

static void apply_learnt(const struct program_learnt *learnt, struct program_facts *facts)
{
    struct program_app_caches *app_caches = &facts->app_caches;
    if (learnt->caches != PROGRAM_CACHES_UNKNOWN && facts->caches != PROGRAM_CACHES_READ_BACK) {
        facts->caches = learnt->caches;
    }
    app_caches->kept |= learnt->kept;
    if (learnt->count_read_run) {
        app_caches->read_runs += app_caches->read_runs != UINT64_MAX;
        app_caches->read_days += learnt->day != app_caches->last_day || app_caches->read_days == 0;
        app_caches->last_day = learnt->day;
    }
    if (learnt->made >= app_caches->made || learnt->read > app_caches->read) {
        app_caches->made = learnt->made;
        app_caches->read = learnt->read;
    }
    for (size_t i = 0; i < learnt->answer_count; i++) {
        add_answer(app_caches, learnt->answers[i]);
    }
}

static void apply_change(const struct program_change *change, struct program_facts *facts)
{
    if (change->learnt) {
        apply_learnt(change->learnt, facts);
    }
    if (change->slow) {
        slow_calls_set(&facts->slow, change->slow);
    }
    if (change->key) {
        pipeline_keys_set(&facts->keys, change->key);
    }
    if (change->zero) {
        facts->counters = (struct program_counters){0};
    }
    if (change->zero || (change->more && facts->since == 0)) {
        facts->since = change->now_s;
    }
    if (change->more) {
        program_counters_add(&facts->counters, change->more);
    }
}

/* The caller holds the folder's lock. */
static enum status rewrite_program(int directory, const struct program_change *change)
{
    uint8_t *old = NULL;
    size_t old_size = 0;
    struct bytes text = {0};
    struct program_facts facts = {0};
    enum status reason =
        file_read(directory, PROGRAM_FILE_NAME, PROGRAM_FILE_LIMIT, &old, &old_size);
    if (reason == STATUS_ok) {
        reason = program_decode(old, old_size, &facts);
    }
    if (change->zero && reason != STATUS_ok) {
        free(old);
        return reason;
    }
    apply_change(change, &facts);
    program_encode(&facts, old, old_size, &text);
    reason = STATUS_ok;
    if (text.failed) {
        reason = STATUS_out_of_memory;
    } else if (old && old_size == text.size && !change->learnt && !change->slow && !change->key) {
        reason = file_overwrite(directory, PROGRAM_FILE_NAME, text.data, text.size);
    } else if (!old || old_size != text.size || memcmp(old, text.data, text.size) != 0) {
        const struct iovec part = {.iov_base = text.data, .iov_len = text.size};
        reason = file_replace_unsynced(directory, PROGRAM_FILE_NAME, &part, 1);
    }
    bytes_free(&text);
    free(old);
    return reason;
}

static enum status update_program(const char *root, const char *app, bool create,
                                  const struct program_change *change)
{
    int directory;
    enum status reason = file_open_directory(root, app, create, &directory);
    if (reason != STATUS_ok) {
        return reason;
    }
    reason = file_lock_directory(directory, LOCK_WAIT_MS);
    if (reason == STATUS_ok) {
        reason = rewrite_program(directory, change);
        file_unlock(directory);
    } else {
        close(directory);
    }
    return reason;
}

enum status program_learn(const char *root, const char *app, const struct program_learnt *learnt)
{
    return update_program(root, app, true, &(struct program_change){.learnt = learnt});
}

enum status program_note_slow(const char *root, const char *app, const struct slow_calls *calls)
{
    return update_program(root, app, true, &(struct program_change){.slow = calls});
}

enum status program_note_key(const char *root, const char *app, const struct pipeline_key *key)
{
    return update_program(root, app, true, &(struct program_change){.key = key});
}

enum status program_count(const char *root, const char *app, const struct program_counters *more,
                          uint64_t now_s)
{
    return update_program(root, app, false, &(struct program_change){.more = more, .now_s = now_s});
}

enum status program_zero(const char *root, const char *app, uint64_t now_s)
{
    return update_program(root, app, false, &(struct program_change){.zero = true, .now_s = now_s});
}
