// SPDX-License-Identifier: Apache-2.0
#include "tools/remote/remote.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#ifdef WARMPIPE_HAVE_CURL
#include "tools/remote/engines/curl_library.h"
#endif

/* The first head of a place has the time as its serial: the milliseconds, times this. No other head
 * has a multiple of it. */
#define REMOTE_FIRST_STEP UINT64_C(1000)

/* Machines that begin a place together are no further apart. */
#define REMOTE_BEGINNING_MS UINT64_C(60000)

/* Bytes of what --replace overwrites at most: it is no head, and may be longer than one. */
#define REMOTE_REPLACED_LIMIT (64 << 20)

/* Looks for a head that was just written, until it counts as not kept; and for one that changes
 * meanwhile. */
#define REMOTE_LOOKS 3

/* Options. */

bool remote_options_read(const struct arguments *arguments, struct remote_options *ret_options)
{
    const char *serial = options_value(arguments, "min-serial");
    const char *age = options_value(arguments, "max-age");
    struct remote_options options = {
        .url = options_value(arguments, "remote"),
        .public_key = options_value(arguments, "public-key"),
        .secret_key = options_value(arguments, "secret-key"),
        .insecure = options_value(arguments, "insecure"),
        .single_writer = options_value(arguments, "single-writer"),
        .forget = options_value(arguments, "forget"),
        .replace = options_value(arguments, "replace"),
        .state = options_value(arguments, "state"),
    };
    uint64_t age_ms = 0;
    const char *end = serial;
    if (serial && (!text_parse_digits(&end, UINT64_MAX, &options.min_serial) || *end)) {
        output_message("--min-serial: '%s' is not a number", serial);
        return false;
    }
    if (age && !options_duration(age, &age_ms)) {
        return false;
    }
    if (age) { /* rounded up, and 0s as well: none is no limit */
        options.max_age_s = age_ms > 1000 ? (age_ms + 999) / 1000 : 1;
    }
    *ret_options = options;
    return true;
}

/* Opening. */

/* A scheme that this build lacks the library for has no engine; rediss: hiredis of Debian 12 knows
 * no TLS. */
static enum status remote_open_engine(const struct url *url, struct engine **ret_engine)
{
    static struct engine *(*const open_engine[])(const struct url *url) = {
        [URL_FILE] = engine_file_open,
#ifdef WARMPIPE_HAVE_CURL
        [URL_HTTP] = engine_http_open,   [URL_HTTPS] = engine_http_open, [URL_S3] = engine_s3_open,
#endif
#ifdef WARMPIPE_HAVE_HIREDIS
        [URL_REDIS] = engine_redis_open, [URL_UNIX] = engine_redis_open,
#endif
    };
    if (url->scheme >= sizeof open_engine / sizeof open_engine[0] || !open_engine[url->scheme]) {
        return STATUS_remote_unsupported;
    }
    *ret_engine = open_engine[url->scheme](url);
    return *ret_engine ? STATUS_ok : STATUS_out_of_memory;
}

static bool remote_open_url(struct remote *remote, const char *text)
{
    struct url url;
    enum status reason = url_parse(text, &url);
    const char *hint = NULL;
    if (reason == STATUS_ok) {
        url_show(&url, remote->name);
#ifdef WARMPIPE_HAVE_CURL
        if (url.scheme == URL_HTTP || url.scheme == URL_HTTPS || url.scheme == URL_S3) {
            hint = curl_library_load();
        }
#endif
        reason = hint ? STATUS_remote_unsupported : remote_open_engine(&url, &remote->engine);
    }
    if (reason != STATUS_ok) {
        if (reason == STATUS_remote_unsupported && url.scheme == URL_REDISS) {
            hint = "Redis without TLS (redis://) alone";
        }
        if (reason == STATUS_remote_bad_url) {
            hint = "write file:///DIR (%20 for a space, %3F for a question mark), "
                   "https://HOST/PATH, s3://BUCKET?region=NAME&endpoint=URL or redis://HOST";
        }
        /* A URL that does not parse may hold a password: it is not shown. */
        output_message("%s%s%s (%s)%s%s", remote->name, remote->name[0] ? ": " : "",
                       status_text(reason), status_id(reason), hint ? ": " : "", hint ? hint : "");
    }
    return reason == STATUS_ok;
}

bool remote_open(const struct remote_options *options, struct remote *ret_remote)
{
    const char *url = options->url ? options->url : options_variable("WARMPIPE_REMOTE", NULL);
    struct remote *remote = ret_remote;
    *remote = (struct remote){.options = *options};
    if (!url) {
        output_message("no remote: give --remote URL or set WARMPIPE_REMOTE");
        return false;
    }
    if (sodium_init() < 0) {
        output_message("no random numbers");
        return false;
    }
    if (!minisign_read_keys(options->public_key, options->secret_key, &remote->keys) ||
        !remote_open_url(remote, url)) {
        remote_close(remote);
        return false;
    }
    remote->engine->single_writer = remote->options.single_writer;
    state_open(url, options->root, options->state, &remote->state);
    return true;
}

void remote_close(struct remote *remote)
{
    if (remote->engine) {
        remote->engine->operations->close(remote->engine);
    }
    sodium_memzero(&remote->keys.secret, sizeof remote->keys.secret);
    state_free(&remote->state);
    remote->engine = NULL;
}

enum status remote_reach(struct remote *remote, uint64_t *ret_ns)
{
    AUTO(engine_value_free) struct engine_value value = {0};
    const uint64_t start_ns = clock_now_ns();
    const enum status reason =
        remote->engine->operations->get(remote->engine, ENGINE_PROBE, 4096, &value);
    *ret_ns = clock_now_ns() - start_ns;
    return reason == STATUS_no_file ? STATUS_ok : reason;
}

void remote_note_failure(struct remote *remote)
{
    remote->failed = true;
    output_note_error();
}

void remote_complain(struct remote *remote, const char *path, enum status reason)
{
    /* The details of a conflict would say no more. */
    const char *detail =
        reason == STATUS_remote_conflict ? "" : engine_detail(remote->engine, reason);
    const bool has_advice = reason == STATUS_remote_no_conditions && !remote->options.single_writer;
    if (reason != remote->already_told) {
        output_message("%s/%s: %s (%s)%s%s%s", remote->name, path, status_text(reason),
                       status_id(reason), detail[0] ? ": " : "", detail,
                       has_advice ? ": give --single-writer if no other machine writes there" : "");
        output_note_error();
    }
    remote->failed = true;
    switch (reason) {
    case STATUS_remote_unreachable:
    case STATUS_remote_timeout:
    case STATUS_remote_tls:
    case STATUS_remote_forbidden:
    case STATUS_remote_busy:
    case STATUS_remote_error:
    case STATUS_remote_bad_answer:
    case STATUS_remote_no_conditions:
        if (!detail[0] || !remote->engine->failure.is_of_value) {
            remote->gone = reason; /* the next request would fail alike */
        }
        break;
    default:
        break;
    }
    remote->engine->failure.reason = STATUS_ok; /* it is told */
}

void remote_tell_unmade(struct remote *remote)
{
    if (remote->engine->is_unmade && !remote->failed && !remote->is_unmade_told) {
        output_message("%s: is not there yet: the first push makes it", remote->name);
        remote->is_unmade_told = true;
    }
}

/* Heads. */

/* What the trusted comment of a head says. */
static void remote_comment(const char *path, uint64_t serial, char ret_comment[HEAD_PATH_SIZE + 64])
{
    snprintf(ret_comment, HEAD_PATH_SIZE + 64, "warmpipe head v1 %s %" PRIu64, path, serial);
}

/* The text behind a signature of a trusted key; with --insecure, of any, or without one. */
static enum status remote_verify(const struct remote *remote, const struct engine_value *value,
                                 struct minisign_signature *ret_parts)
{
    if (remote->options.insecure && value->size > 0 && value->data[0] == '{') {
        *ret_parts =
            (struct minisign_signature){.message = value->data, .message_size = value->size};
        return STATUS_ok;
    }
    const enum status reason = minisign_split(value->data, value->size, ret_parts);
    if (reason != STATUS_ok || remote->options.insecure) {
        return reason;
    }
    for (size_t i = 0; i < remote->keys.count; i++) {
        if (minisign_verify(ret_parts, &remote->keys.trusted[i])) {
            return STATUS_ok;
        }
    }
    return remote->keys.count ? STATUS_remote_untrusted_head : STATUS_remote_no_key;
}

/* Whether what was seen is a first head, and this one of a place that was begun at about the same
 * time. Two machines may both be told that theirs is the first (engine_http.c): then neither head
 * is older than the other. */
static bool remote_is_of_same_beginning(uint64_t serial, uint64_t seen)
{
    return seen % REMOTE_FIRST_STEP == 0 &&
           seen - serial <= REMOTE_BEGINNING_MS * REMOTE_FIRST_STEP;
}

/* A head that was replaced may be put back by whoever can write there: it is signed, so only its
 * serial and age give it away. */
static enum status remote_check_age(const struct remote *remote, const char *path,
                                    const struct head *head)
{
    const uint64_t now = (uint64_t)time(NULL);
    const bool is_ahead = head->made > now; /* whose clock was wrong cannot be told */
    const uint64_t age = is_ahead ? head->made - now : now - head->made;
    if (head->serial < remote->options.min_serial) {
        return engine_fail(remote->engine, STATUS_remote_rolled_back,
                           "serial %" PRIu64 ", at least %" PRIu64 " is asked for", head->serial,
                           remote->options.min_serial);
    }
    if (remote->options.max_age_s > 0 && age > remote->options.max_age_s) {
        return engine_fail(remote->engine, STATUS_remote_rolled_back,
                           "made %" PRIu64 " s %s, at most %" PRIu64 " s are asked for", age,
                           is_ahead ? "ahead of the clock here" : "ago", remote->options.max_age_s);
    }
    const uint64_t seen = state_serial(&remote->state, path);
    if (head->serial < seen && !remote_is_of_same_beginning(head->serial, seen)) {
        return engine_fail(remote->engine, STATUS_remote_rolled_back,
                           "serial %" PRIu64 ", and %" PRIu64 " was seen here", head->serial, seen);
    }
    return STATUS_ok;
}

static enum status remote_check_head(const struct remote *remote, const char *path,
                                     const struct engine_value *value, struct head *ret_head)
{
    struct minisign_signature parts;
    char comment[HEAD_PATH_SIZE + 64];
    char own_path[HEAD_PATH_SIZE];
    enum status reason = remote_verify(remote, value, &parts);
    if (reason == STATUS_ok) {
        reason = head_parse(parts.message, parts.message_size, ret_head);
    }
    if (reason != STATUS_ok) {
        return reason;
    }
    head_path(ret_head->program, ret_head->identity_hex, own_path);
    remote_comment(path, ret_head->serial, comment);
    const bool says_so = !parts.comment || (parts.comment_size == strlen(comment) &&
                                            memcmp(parts.comment, comment, strlen(comment)) == 0);
    if (strcmp(own_path, path) != 0 || !says_so) {
        return STATUS_remote_bad_head;
    }
    return remote_check_age(remote, path, ret_head);
}

/* Nobody who is trusted has made it, or it cannot be read. */
static bool remote_is_foreign(enum status reason)
{
    return reason == STATUS_remote_untrusted_head || reason == STATUS_remote_bad_head;
}

/* A server that is given another head while it answers may send the size of the one and the bytes
 * of the other, as Apache does: what is foreign is read until it stays as it is. *ret_value is
 * freed by the caller. */
static enum status remote_read_head(const struct remote *remote, const char *path,
                                    struct head *ret_head, struct engine_value *ret_value)
{
    enum status reason;
    bool stays = false;
    for (int looks = 0; looks < REMOTE_LOOKS && !stays; looks++) {
        struct engine_value value = {0};
        reason = remote->engine->operations->get(
            remote->engine, path, remote->options.replace ? REMOTE_REPLACED_LIMIT : HEAD_LIMIT,
            &value);
        stays = reason != STATUS_ok || (value.size > 0 && engine_value_equal(&value, ret_value));
        engine_value_free(ret_value);
        *ret_value = value;
        if (reason == STATUS_ok) {
            reason = remote_check_head(remote, path, &value, ret_head);
            stays = stays || !remote_is_foreign(reason);
        }
    }
    return reason;
}

enum status remote_get_head(struct remote *remote, const char *path, struct head *ret_head,
                            struct engine_value *ret_value)
{
    struct engine_value value = {0};
    const enum status reason = remote_read_head(remote, path, ret_head, &value);
    if (reason == STATUS_no_file && state_serial(&remote->state, path) > 0) {
        remote->lost += digest_of(path, strlen(path)).low;
    }
    /* Whoever swaps one that is foreign, or older than what the server had before, knows that it is
     * there. */
    if (remote->options.replace &&
        (remote_is_foreign(reason) || reason == STATUS_remote_rolled_back)) {
        output_reason(reason, "%s/%s: is replaced", remote->name, path);
        *ret_value = value;
        return STATUS_no_file;
    }
    if (reason != STATUS_ok) {
        engine_value_free(&value);
        return reason;
    }
    /* One that is not signed anybody may have made, and no other would be taken then. */
    if (!remote->options.insecure) {
        state_see_serial(&remote->state, path, ret_head->serial);
    }
    *ret_value = value;
    return STATUS_ok;
}

enum status remote_may_swap(struct remote *remote)
{
    return remote->options.single_writer ? STATUS_ok : remote_try_conditions(remote);
}

enum status remote_put_head(struct remote *remote, struct head *head,
                            const struct engine_value *old)
{
    char path[HEAD_PATH_SIZE];
    char comment[HEAD_PATH_SIZE + 64];
    AUTO(bytes_free) struct bytes message = {0};
    AUTO(bytes_free) struct bytes text = {0};
    enum status reason = remote_may_swap(remote);
    if (reason != STATUS_ok) {
        return reason;
    }
    head_path(head->program, head->identity_hex, path);
    const uint64_t seen = state_serial(&remote->state, path);
    const bool exists = old->data || old->version[0];
    const uint64_t now_ms = clock_read_ns(CLOCK_REALTIME) / CLOCK_MS;
    const bool is_first = head->serial == 0;
    head->serial = (head->serial > seen ? head->serial : seen) + 1;
    head->serial += head->serial % REMOTE_FIRST_STEP == 0; /* that is a first head's */
    if (is_first && head->serial < now_ms * REMOTE_FIRST_STEP) {
        /* Others have seen more of one that was removed or lost. */
        head->serial = now_ms * REMOTE_FIRST_STEP;
    }
    head->made = now_ms / 1000;
    remote_comment(path, head->serial, comment);
    head_tidy(head);
    head_encode(head, &message);
    if (!message.failed) {
        minisign_sign(&remote->keys.secret, message.data, message.size, comment, &text);
        bytes_put(&text, message.data, message.size);
    }
    if (message.failed || text.failed) {
        reason = STATUS_out_of_memory;
    } else if (head->serial - 1 >= HEAD_SERIAL_LAST) {
        reason = STATUS_remote_bad_head; /* nobody would read it */
    } else if (text.size > HEAD_LIMIT) {
        reason = STATUS_remote_head_full;
    } else {
        reason = remote->engine->operations->swap(remote->engine, path, exists ? old : NULL,
                                                  text.data, text.size);
    }
    if (reason == STATUS_ok) {
        state_see_serial(&remote->state, path, head->serial);
    }
    remote->engine->traffic.conflicts += reason == STATUS_remote_conflict;
    return reason;
}

/* The server has said that it took what is not there. */
static enum status remote_keeps_nothing(struct remote *remote)
{
    return engine_fail(remote->engine, STATUS_remote_bad_answer, "what was written is not there");
}

enum status remote_settle(struct remote *remote, const struct head *head, const char *payload)
{
    char path[HEAD_PATH_SIZE];
    struct head now;
    enum status reason;
    bool is_gone;
    int looks = 0;
    if (remote->engine->settle_ms == 0 || remote->options.single_writer) {
        return STATUS_ok;
    }
    head_path(head->program, head->identity_hex, path);
    /* While another machine writes there, it may not be there for a moment. */
    do {
        AUTO(engine_value_free) struct engine_value value = {0};
        clock_pause(remote->engine->settle_ms * CLOCK_MS);
        reason = remote_get_head(remote, path, &now, &value);
        /* One that --replace would overwrite comes with no_file. */
        is_gone = reason == STATUS_no_file && value.size == 0;
    } while (is_gone && ++looks < REMOTE_LOOKS);
    if (is_gone) {
        /* Or `remote rm` has removed it. */
        return engine_of_value(remote->engine, remote_keeps_nothing(remote));
    }
    if (reason == STATUS_no_file || reason == STATUS_remote_rolled_back) {
        return STATUS_remote_conflict;
    }
    if (reason != STATUS_ok || head_find_payload(&now, payload) || head_blocks(&now, payload)) {
        return reason;
    }
    remote->engine->traffic.conflicts++;
    return STATUS_remote_conflict;
}

/* Conditions. */

enum status remote_try_conditions(struct remote *remote)
{
    static const char text[] = "warmpipe looks whether conditional writes work here\n";
    const struct engine_operations *operations = remote->engine->operations;
    AUTO(engine_value_free) struct engine_value found = {0};
    if (remote->conditions_known) {
        return STATUS_ok;
    }
    /* The first may find it there or not; then it is. */
    enum status reason =
        operations->swap(remote->engine, ENGINE_PROBE, NULL, text, sizeof text - 1);
    if (reason == STATUS_ok) {
        reason = operations->swap(remote->engine, ENGINE_PROBE, NULL, text, sizeof text - 1);
    }
    if (reason == STATUS_remote_conflict) {
        reason = operations->get(remote->engine, ENGINE_PROBE, 4096, &found);
        if (reason == STATUS_no_file) {
            return remote_keeps_nothing(remote);
        }
        if (reason == STATUS_ok && found.size > 0) {
            found.data[0] ^= 1;
            snprintf(found.version, sizeof found.version, "\"another\"");
            reason = operations->swap(remote->engine, ENGINE_PROBE, &found, text, sizeof text - 1);
        }
    }
    remote->conditions_known = reason == STATUS_remote_conflict;
    return remote->conditions_known ? STATUS_ok
           : reason == STATUS_ok    ? STATUS_remote_no_conditions
                                    : reason;
}
