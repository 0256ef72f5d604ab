#include "program.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/json_reader.h"
#include "file.h"

#define FORMAT 1

/* Others hold the folder for as long as it takes to replace a small file. */
#define LOCK_WAIT_MS 100

const struct program_counter program_counter_table[] = {
#define PROGRAM_COUNTER(name) {#name, offsetof(struct program_counters, name)},
#include "program_counters.def"
#undef PROGRAM_COUNTER
};
const size_t program_counter_count = sizeof program_counter_table / sizeof *program_counter_table;

static uint64_t *counter_at(struct program_counters *counters, size_t i)
{
    return (uint64_t *)(void *)((char *)counters + program_counter_table[i].offset);
}

static uint64_t counter_value(const struct program_counters *counters, size_t i)
{
    uint64_t value;
    memcpy(&value, (const char *)counters + program_counter_table[i].offset, sizeof value);
    return value;
}

void program_counters_add(struct program_counters *sum, const struct program_counters *more)
{
    for (size_t i = 0; i < program_counter_count; i++) {
        uint64_t *counter = counter_at(sum, i);
        if (__builtin_add_overflow(*counter, counter_value(more, i), counter)) {
            *counter = UINT64_MAX;
        }
    }
}

struct program_counters program_counters_since(const struct program_counters *now,
                                               const struct program_counters *before)
{
    struct program_counters more = *now;
    for (size_t i = 0; i < program_counter_count; i++) {
        *counter_at(&more, i) -= counter_value(before, i);
    }
    return more;
}

/* NULL: there is no such counter. */
static uint64_t *find_counter(struct program_counters *counters, struct json_text key)
{
    for (size_t i = 0; i < program_counter_count; i++) {
        if (json_text_is(key, program_counter_table[i].name)) {
            return counter_at(counters, i);
        }
    }
    return NULL;
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

/* Appends a member of another version, with the comma before it. */
static void keep_member(struct bytes *kept, struct json_text key, struct json_text value)
{
    if (value.size) {
        bytes_put(kept, ",\"", 2);
        bytes_put(kept, key.data, key.size);
        bytes_put(kept, "\":", 2);
        bytes_put(kept, value.data, value.size);
    }
}

/* What this version does not know goes into `kept`, unless that is NULL; after a failure it is not
 * to be used. */
static enum reason parse(const void *data, size_t size, struct program_facts *ret_facts,
                         struct bytes *kept)
{
    struct program_facts facts = {0};
    uint64_t format = 0;
    struct json_reader reader = json_reader_over(data, size);
    struct json_text key;
    json_read_open(&reader, '{');
    while (json_read_member(&reader, &key)) {
        uint64_t *counter = find_counter(&facts.counters, key);
        if (counter) {
            *counter = json_read_number(&reader);
        } else if (json_text_is(key, "since")) {
            facts.since = json_read_number(&reader);
        } else if (json_text_is(key, "format")) {
            format = json_read_number(&reader);
        } else if (json_text_is(key, "app_caches")) {
            facts.caches = caches_from(json_read_string(&reader));
        } else {
            struct json_text value = json_read_any(&reader);
            if (kept) {
                keep_member(kept, key, value);
            }
        }
    }
    json_read_end(&reader);
    if (reader.failed || format == 0) {
        return REASON_bad_program_file;
    }
    if (format != FORMAT) {
        return REASON_bad_format_version;
    }
    if (facts.since == 0) {
        facts.counters = (struct program_counters){0};
    }
    *ret_facts = facts;
    return REASON_ok;
}

enum reason program_decode(const void *data, size_t size, struct program_facts *ret_facts)
{
    return parse(data, size, ret_facts, NULL);
}

/* Closes the folder. */
static enum reason read_in(int directory, struct program_facts *ret_facts)
{
    uint8_t *data = NULL;
    size_t size = 0;
    /* Counters are changed in place: half of the old digits and half of the new ones are nothing.
     * Where the lock is not to be had, that chance is taken. */
    file_lock_directory(directory, LOCK_WAIT_MS);
    enum reason reason = file_read(directory, PROGRAM_FILE_NAME, PROGRAM_FILE_LIMIT, &data, &size);
    if (reason == REASON_ok) {
        reason = program_decode(data, size, ret_facts);
    }
    free(data);
    file_unlock(directory);
    return reason;
}

enum reason program_load(const char *root, const char *app, struct program_facts *ret_facts)
{
    *ret_facts = (struct program_facts){0};
    int directory;
    enum reason reason = file_open_directory(root, app, false, &directory);
    return reason == REASON_ok ? read_in(directory, ret_facts) : reason;
}

bool program_is_ours(int directory_fd)
{
    struct program_facts facts;
    /* The lock is that of an open description, which the caller's is not to lose. */
    int directory = openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return directory >= 0 && read_in(directory, &facts) == REASON_ok;
}

/* As wide as the widest, so that a file whose counters change keeps its size. */
static void put_wide_number(struct bytes *out, const char *name, uint64_t value)
{
    char text[64];
    int length = snprintf(text, sizeof text, ",\"%s\":%20" PRIu64, name, value);
    bytes_put(out, text, (size_t)length);
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
    if (facts->since != 0) {
        put_wide_number(out, "since", facts->since);
        for (size_t i = 0; i < program_counter_count; i++) {
            put_wide_number(out, program_counter_table[i].name, counter_value(&facts->counters, i));
        }
    }
    /* What is kept may not make the file one that is refused for its size. */
    if (parse(old, old_size, &ignored, &kept) == REASON_ok && !kept.failed &&
        out->size + kept.size + 2 <= PROGRAM_FILE_LIMIT) {
        bytes_put(out, kept.data, kept.size);
    }
    json_put_close(out, '}');
    bytes_put_u8(out, '\n');
    bytes_free(&kept);
}

/* What an update changes, in the order of the functions below. */
struct change {
    enum program_caches caches; /* PROGRAM_CACHES_UNKNOWN: stays as it is */
    const struct program_counters *more;
    bool zero;
    uint64_t now_s;
};

static void apply(const struct change *change, struct program_facts *facts)
{
    if (change->caches != PROGRAM_CACHES_UNKNOWN) {
        facts->caches = change->caches;
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

/* Under the folder's lock. */
static enum reason rewrite(int directory, const struct change *change)
{
    uint8_t *old = NULL;
    size_t old_size = 0;
    struct bytes text = {0};
    struct program_facts facts = {0};
    enum reason reason =
        file_read(directory, PROGRAM_FILE_NAME, PROGRAM_FILE_LIMIT, &old, &old_size);
    if (reason == REASON_ok) {
        reason = program_decode(old, old_size, &facts);
    }
    if (change->zero && reason != REASON_ok) {
        free(old);
        return reason;
    }
    apply(change, &facts);
    program_encode(&facts, old, old_size, &text);
    reason = REASON_ok;
    if (text.failed) {
        reason = REASON_out_of_memory;
    } else if (old && old_size == text.size && change->caches == PROGRAM_CACHES_UNKNOWN) {
        reason = file_overwrite(directory, PROGRAM_FILE_NAME, text.data, text.size);
    } else if (!old || old_size != text.size || memcmp(old, text.data, text.size) != 0) {
        const struct iovec part = {.iov_base = text.data, .iov_len = text.size};
        reason = file_replace_unsynced(directory, PROGRAM_FILE_NAME, &part, 1);
    }
    bytes_free(&text);
    free(old);
    return reason;
}

static enum reason update(const char *root, const char *app, bool create,
                          const struct change *change)
{
    int directory;
    enum reason reason = file_open_directory(root, app, create, &directory);
    if (reason != REASON_ok) {
        return reason;
    }
    reason = file_lock_directory(directory, LOCK_WAIT_MS);
    if (reason == REASON_ok) {
        reason = rewrite(directory, change);
        file_unlock(directory);
    } else {
        close(directory);
    }
    return reason;
}

enum reason program_learn(const char *root, const char *app, enum program_caches caches)
{
    return update(root, app, true, &(struct change){.caches = caches});
}

enum reason program_count(const char *root, const char *app, const struct program_counters *more,
                          uint64_t now_s)
{
    return update(root, app, false, &(struct change){.more = more, .now_s = now_s});
}

enum reason program_zero(const char *root, const char *app, uint64_t now_s)
{
    return update(root, app, false, &(struct change){.zero = true, .now_s = now_s});
}
