// SPDX-License-Identifier: Apache-2.0
#include "common/files/program.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "common/base/io.h"
#include "common/files/file.h"
#include "common/files/names.h"

/* Other processes hold the folder's lock for as long as it takes to replace a small file. */
#define LOCK_WAIT_MS 100

void program_counters_add(struct program_counters *sum, const struct program_counters *more)
{
#define PROGRAM_COUNTER(name)                                                                      \
    if (__builtin_add_overflow(sum->name, more->name, &sum->name)) {                               \
        sum->name = UINT64_MAX;                                                                    \
    }
    PROGRAM_COUNTERS(PROGRAM_COUNTER)
#undef PROGRAM_COUNTER
}

struct program_counters program_counters_since(const struct program_counters *now,
                                               const struct program_counters *before)
{
    return (struct program_counters){
#define PROGRAM_COUNTER(name) .name = now->name - before->name,
        PROGRAM_COUNTERS(PROGRAM_COUNTER)
#undef PROGRAM_COUNTER
    };
}

/* Without the lock: any user who may list the folder can hold it, and a start would wait. What is
 * overwritten meanwhile are digits of counters of a fixed width. */
static enum status program_read_in(int directory, struct program_facts *ret_facts)
{
    AUTO_FREE uint8_t *data = NULL;
    size_t size = 0;
    const enum status reason =
        file_read(directory, PROGRAM_FILE_NAME, PROGRAM_FILE_LIMIT, &data, &size);
    return reason == STATUS_ok ? program_decode(data, size, ret_facts) : reason;
}

enum status program_load(const char *root, const char *app, struct program_facts *ret_facts)
{
    *ret_facts = (struct program_facts){0};
    AUTO_CLOSE int directory = -1;
    const enum status reason = file_open_directory(root, app, false, &directory);
    return reason == STATUS_ok ? program_read_in(directory, ret_facts) : reason;
}

bool program_is_ours(int directory_fd)
{
    struct program_facts facts;
    return program_read_in(directory_fd, &facts) == STATUS_ok;
}

/* What an update changes. */
struct program_change {
    const struct program_learnt *learnt; /* NULL: nothing learnt */
    const struct slow_calls *slow;       /* NULL: nothing took long */
    const struct pipeline_key *key;      /* NULL: no device's key */
    const struct program_counters *more; /* NULL: nothing counted */
    const char *driver_settings;         /* NULL or "": not known */
    bool zero;                           /* starts counting anew */
    uint64_t now_s;
};

static void program_apply_learnt(const struct program_learnt *learnt, struct program_facts *facts)
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
        program_add_answer(app_caches, learnt->answers[i]);
    }
}

static void program_apply_change(const struct program_change *change, struct program_facts *facts)
{
    if (change->learnt) {
        program_apply_learnt(change->learnt, facts);
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
    if (change->driver_settings && *change->driver_settings) {
        snprintf(facts->driver_settings, sizeof facts->driver_settings, "%s",
                 change->driver_settings);
    }
}

/* The caller holds the folder's lock. */
static enum status program_rewrite(int directory, const struct program_change *change)
{
    AUTO_FREE uint8_t *old = NULL;
    size_t old_size = 0;
    AUTO(bytes_free) struct bytes text = {0};
    struct program_facts facts = {0};
    enum status reason =
        file_read(directory, PROGRAM_FILE_NAME, PROGRAM_FILE_LIMIT, &old, &old_size);
    if (reason == STATUS_ok) {
        reason = program_decode(old, old_size, &facts);
    }
    if (reason == STATUS_out_of_memory || reason == STATUS_io_error ||
        (change->zero && reason != STATUS_ok)) {
        return reason;
    }
    const char *settings = change->driver_settings;
    const bool counts_alone =
        (change->more || change->zero) &&
        (!settings || !*settings || strcmp(facts.driver_settings, settings) == 0);
    program_apply_change(change, &facts);
    program_encode(&facts, old, old_size, &text);
    if (text.failed) {
        return STATUS_out_of_memory;
    }
    const bool is_as_large = old && old_size == text.size;
    if (is_as_large && counts_alone) {
        return file_overwrite(directory, PROGRAM_FILE_NAME, text.data, text.size);
    }
    if (is_as_large && memcmp(old, text.data, text.size) == 0) {
        return STATUS_ok;
    }
    const struct iovec part = {.iov_base = text.data, .iov_len = text.size};
    return file_replace_as(directory, PROGRAM_FILE_NAME, &part, 1, FILE_UNSYNCED);
}

static enum status program_update(const char *root, const char *app, bool create,
                                  const struct program_change *change)
{
    AUTO_UNLOCK int directory = -1;
    enum status reason = file_open_directory(root, app, create, &directory);
    if (reason == STATUS_ok) {
        reason = file_lock_directory(directory, LOCK_WAIT_MS);
    }
    return reason == STATUS_ok ? program_rewrite(directory, change) : reason;
}

enum status program_learn(const char *root, const char *app, const struct program_learnt *learnt)
{
    return program_update(root, app, true, &(struct program_change){.learnt = learnt});
}

enum status program_note_slow(const char *root, const char *app, const struct slow_calls *calls)
{
    return program_update(root, app, true, &(struct program_change){.slow = calls});
}

enum status program_note_key(const char *root, const char *app, const struct pipeline_key *key)
{
    return program_update(root, app, true, &(struct program_change){.key = key});
}

enum status program_count(const char *root, const char *app, const struct program_counters *more,
                          uint64_t now_s, const char *driver_settings)
{
    return program_update(
        root, app, false,
        &(struct program_change){.more = more, .now_s = now_s, .driver_settings = driver_settings});
}

enum status program_zero(const char *root, const char *app, uint64_t now_s)
{
    return program_update(root, app, false, &(struct program_change){.zero = true, .now_s = now_s});
}
