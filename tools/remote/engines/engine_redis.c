// SPDX-License-Identifier: Apache-2.0
/* redis: and unix:, Redis, Valkey, KeyDB. A value is a string; a head changes by a script that
 * compares and sets in one step. The password comes from REDISCLI_AUTH, as redis-cli takes it.
 * hiredis as Debian 12 has it knows no TLS. */
#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/remote/engines/engine.h"

/* All keys begin with it. Redis hashes the part in braces, so that all lie on one node. */
#define ENGINE_REDIS_PREFIX "{warmpipe}:"

#define ENGINE_REDIS_PORT    6379
#define ENGINE_REDIS_WAIT_MS 10000

/* Bytes of an answer beside its value. */
#define ENGINE_REDIS_SLACK 65536

/* The most bytes of a listing's step. */
#define ENGINE_REDIS_LISTING_LIMIT ((uint64_t)16 << 20)

#define ENGINE_REDIS_KEY_SIZE (ENGINE_PATH_SIZE + sizeof ENGINE_REDIS_PREFIX)

struct engine_redis {
    struct engine engine;
    struct url url;
    redisContext *context; /* NULL: not connected */
};

/* The words of a command. */
struct redis_words {
    int count;
    const char *words[8];
    size_t sizes[8];
};

static void redis_add(struct redis_words *words, const void *word, size_t size)
{
    words->words[words->count] = word;
    words->sizes[words->count++] = size;
}

/* Adds text; NULL ends it. */
static void redis_add_texts(struct redis_words *words, ...) __attribute__((sentinel));

static void redis_add_texts(struct redis_words *words, ...)
{
    va_list list;
    va_start(list, words);
    for (const char *text; (text = va_arg(list, const char *));) {
        redis_add(words, text, strlen(text));
    }
    va_end(list);
}

static void redis_key(const char *path, char ret_key[ENGINE_REDIS_KEY_SIZE])
{
    snprintf(ret_key, ENGINE_REDIS_KEY_SIZE, ENGINE_REDIS_PREFIX "%s", path);
}

static void redis_disconnect(struct engine_redis *redis)
{
    if (redis->context) {
        redisFree(redis->context);
        redis->context = NULL;
    }
}

static enum status redis_broken(struct engine_redis *redis)
{
    const redisContext *context = redis->context;
    const bool timed_out =
        context && (context->err == REDIS_ERR_IO) && (errno == EAGAIN || errno == ETIMEDOUT);
    const bool is_nonsense = context && context->err == REDIS_ERR_PROTOCOL;
    engine_fail(&redis->engine, STATUS_ok, "%s", context ? context->errstr : "out of memory");
    redis_disconnect(redis);
    return timed_out     ? STATUS_remote_timeout
           : is_nonsense ? STATUS_remote_bad_answer
                         : STATUS_remote_unreachable;
}

static bool redis_starts(const redisReply *reply, const char *word)
{
    return strncmp(reply->str, word, strlen(word)) == 0;
}

/* What an error of the server means. */
static enum status redis_judge(struct engine_redis *redis, const redisReply *reply)
{
    enum status reason = STATUS_remote_error;
    if (reply->type != REDIS_REPLY_ERROR) {
        return STATUS_ok;
    }
    if (redis_starts(reply, "NOAUTH") || redis_starts(reply, "WRONGPASS") ||
        redis_starts(reply, "NOPERM") || redis_starts(reply, "READONLY") ||
        redis_starts(reply, "DENIED")) {
        reason = STATUS_remote_forbidden;
    } else if (redis_starts(reply, "OOM") || redis_starts(reply, "MISCONF")) {
        reason = STATUS_remote_full;
    } else if (redis_starts(reply, "LOADING") || redis_starts(reply, "BUSY")) {
        reason = STATUS_remote_busy;
    }
    return engine_fail(&redis->engine, reason, "%.200s", reply->str);
}

/* Sends a command over an open connection. `limit` bounds the answer while it is read. */
static enum status redis_exchange(struct engine_redis *redis, const struct redis_words *words,
                                  uint64_t limit, redisReply **ret_reply)
{
    redisContext *context = redis->context;
    const unsigned left = engine_time_left(&redis->engine, ENGINE_REDIS_WAIT_MS);
    const struct timeval wait = {left / 1000, (left % 1000) * 1000 + 1};
    int done = 0;
    void *reply = NULL;
    redis->engine.traffic.requests++;
    redisSetTimeout(context, wait);
    if (redisAppendCommandArgv(context, words->count, (const char **)(uintptr_t)words->words,
                               words->sizes) != REDIS_OK) {
        return redis_broken(redis);
    }
    while (!done) {
        if (redisBufferWrite(context, &done) != REDIS_OK) {
            return redis_broken(redis);
        }
    }
    for (;;) {
        if (redisGetReplyFromReader(context, &reply) != REDIS_OK) {
            return redis_broken(redis);
        }
        if (reply) {
            *ret_reply = reply;
            return STATUS_ok;
        }
        if (redisBufferRead(context) != REDIS_OK) {
            return redis_broken(redis);
        }
        if (context->reader->len > limit + ENGINE_REDIS_SLACK) {
            redis_disconnect(redis);
            return engine_fail(&redis->engine, STATUS_remote_bad_answer, "larger than it may be");
        }
    }
}

/* A command that answers nothing that matters. */
static enum status redis_run(struct engine_redis *redis, const struct redis_words *words)
{
    redisReply *reply;
    enum status reason = redis_exchange(redis, words, 0, &reply);
    if (reason == STATUS_ok) {
        reason = redis_judge(redis, reply);
        freeReplyObject(reply);
    }
    return reason;
}

static enum status redis_log_in(struct engine_redis *redis)
{
    const char *password = getenv("REDISCLI_AUTH");
    const char *database = redis->url.scheme == URL_UNIX ? "" : redis->url.path;
    enum status reason = STATUS_ok;
    if (password && *password) {
        struct redis_words words = {0};
        redis_add_texts(&words, "AUTH", (char *)NULL);
        if (redis->url.user[0]) {
            redis_add_texts(&words, redis->url.user, (char *)NULL);
        }
        redis_add_texts(&words, password, (char *)NULL);
        reason = redis_run(redis, &words);
    }
    if (reason == STATUS_ok && database[0]) {
        struct redis_words words = {0};
        redis_add_texts(&words, "SELECT", database + 1, (char *)NULL);
        reason = redis_run(redis, &words);
    }
    return reason;
}

static enum status redis_connect(struct engine_redis *redis)
{
    const unsigned left = engine_time_left(&redis->engine, ENGINE_REDIS_WAIT_MS);
    const struct timeval wait = {left / 1000, (left % 1000) * 1000 + 1};
    const struct url *url = &redis->url;
    int port = 0;
    if (redis->context) {
        return STATUS_ok;
    }
    for (const char *digit = url->port; *digit; digit++) { /* five digits at most */
        port = port * 10 + (*digit - '0');
    }
    port = url->port[0] ? port : ENGINE_REDIS_PORT;
    if (port == 0 || port > UINT16_MAX) {
        return engine_fail(&redis->engine, STATUS_remote_bad_url, "no port %s", url->port);
    }
    errno = 0;
    redis->context = url->scheme == URL_UNIX ? redisConnectUnixWithTimeout(url->path, wait)
                                             : redisConnectWithTimeout(url->host, port, wait);
    if (!redis->context || redis->context->err) {
        return redis_broken(redis);
    }
    const enum status reason = redis_log_in(redis);
    if (reason != STATUS_ok) {
        redis_disconnect(redis);
    }
    return reason;
}

/* Connects if need be; a connection that has gone while it was not used is made anew, once. */
static enum status redis_send(struct engine *engine, const struct redis_words *words,
                              uint64_t limit, redisReply **ret_reply)
{
    struct engine_redis *redis = (struct engine_redis *)engine;
    const bool is_old = redis->context;
    enum status reason = redis_connect(redis);
    if (reason == STATUS_ok) {
        reason = redis_exchange(redis, words, limit, ret_reply);
    }
    if (reason == STATUS_remote_unreachable && is_old) {
        reason = redis_connect(redis);
        reason = reason == STATUS_ok ? redis_exchange(redis, words, limit, ret_reply) : reason;
    }
    if (reason != STATUS_ok) {
        return reason;
    }
    reason = redis_judge(redis, *ret_reply);
    if (reason != STATUS_ok) {
        freeReplyObject(*ret_reply);
    }
    return reason;
}

static enum status engine_redis_get(struct engine *engine, const char *path, uint64_t limit,
                                    struct engine_value *ret_value)
{
    char key[ENGINE_REDIS_KEY_SIZE];
    char last[24];
    redisReply *reply;
    struct redis_words words = {0};
    redis_key(path, key);
    snprintf(last, sizeof last, "%llu", (unsigned long long)limit);
    redis_add_texts(&words, limit ? "GETRANGE" : "EXISTS", key, (char *)NULL);
    if (limit) {
        redis_add_texts(&words, "0", last, (char *)NULL);
    }
    enum status reason = redis_send(engine, &words, limit, &reply);
    if (reason != STATUS_ok) {
        return reason;
    }
    if (limit == 0) {
        reason =
            reply->type == REDIS_REPLY_INTEGER && reply->integer == 1 ? STATUS_ok : STATUS_no_file;
    } else if (reply->type != REDIS_REPLY_STRING) {
        reason = engine_fail(engine, STATUS_remote_bad_answer, "not a string");
    } else if (reply->len == 0) {
        reason = STATUS_no_file;
    } else if ((uint64_t)reply->len > limit) {
        reason = engine_fail(engine, STATUS_remote_bad_answer, "larger than it may be");
    } else {
        struct engine_value value = {.data = malloc(reply->len), .size = reply->len};
        reason = value.data ? STATUS_ok : STATUS_out_of_memory;
        if (value.data) {
            memcpy(value.data, reply->str, value.size);
            engine->traffic.received += value.size;
            *ret_value = value;
        }
    }
    freeReplyObject(reply);
    return reason;
}

static enum status engine_redis_put(struct engine *engine, const char *path, const void *data,
                                    size_t size)
{
    char key[ENGINE_REDIS_KEY_SIZE];
    redisReply *reply;
    struct redis_words words = {0};
    redis_key(path, key);
    redis_add_texts(&words, "SET", key, (char *)NULL);
    redis_add(&words, data, size);
    const enum status reason = redis_send(engine, &words, 0, &reply);
    if (reason == STATUS_ok) {
        freeReplyObject(reply);
        engine->traffic.sent += size;
    }
    return reason;
}

static enum status engine_redis_swap(struct engine *engine, const char *path,
                                     const struct engine_value *old, const void *data, size_t size)
{
    static const char script[] = "local now = redis.call('GET', KEYS[1]) "
                                 "if ARGV[1] == 'none' then if now then return 0 end "
                                 "elseif now ~= ARGV[2] then return 0 end "
                                 "if ARGV[4] == '0' then redis.call('SET', KEYS[1], ARGV[3]) "
                                 "else redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4]) end "
                                 "return 1";
    char lifetime[16];
    char key[ENGINE_REDIS_KEY_SIZE];
    redisReply *reply;
    struct redis_words words = {0};
    redis_key(path, key);
    redis_add_texts(&words, "EVAL", script, "1", key, old ? "same" : "none", (char *)NULL);
    redis_add(&words, old ? (const char *)old->data : "", old ? old->size : 0);
    redis_add(&words, data, size);
    snprintf(lifetime, sizeof lifetime, "%u", engine->lifetime_ms);
    redis_add_texts(&words, lifetime, (char *)NULL);
    enum status reason = redis_send(engine, &words, 0, &reply);
    if (reason == STATUS_ok) {
        const bool swapped = reply->type == REDIS_REPLY_INTEGER && reply->integer == 1;
        freeReplyObject(reply);
        engine->traffic.sent += swapped ? size : 0;
        reason = swapped ? STATUS_ok : STATUS_remote_conflict;
    }
    return reason;
}

/* One step of a scan: [cursor, [keys]]. False: it is none. */
static bool redis_visit_step(const redisReply *reply, engine_visit *visit, void *user,
                             char ret_cursor[24], bool *ret_more)
{
    const size_t prefix = sizeof ENGINE_REDIS_PREFIX - 1;
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        reply->element[0]->type != REDIS_REPLY_STRING || reply->element[0]->len >= 24 ||
        reply->element[1]->type != REDIS_REPLY_ARRAY) {
        return false;
    }
    const redisReply *keys = reply->element[1];
    for (size_t i = 0; *ret_more && i < keys->elements; i++) {
        const redisReply *key = keys->element[i];
        if (key->type == REDIS_REPLY_STRING && key->len > prefix &&
            key->len < ENGINE_REDIS_KEY_SIZE && strlen(key->str) == key->len) {
            *ret_more = visit(key->str + prefix, user);
        }
    }
    snprintf(ret_cursor, 24, "%s", reply->element[0]->str);
    *ret_more = *ret_more && strcmp(ret_cursor, "0") != 0;
    return true;
}

static enum status engine_redis_list(struct engine *engine, const char *prefix, engine_visit *visit,
                                     void *user)
{
    char pattern[ENGINE_REDIS_KEY_SIZE + 1];
    char cursor[24] = "0";
    bool more = true;
    snprintf(pattern, sizeof pattern, ENGINE_REDIS_PREFIX "%s*", prefix);
    while (more) {
        redisReply *reply;
        struct redis_words words = {0};
        redis_add_texts(&words, "SCAN", cursor, "MATCH", pattern, "COUNT", "1000", (char *)NULL);
        const enum status reason = redis_send(engine, &words, ENGINE_REDIS_LISTING_LIMIT, &reply);
        if (reason != STATUS_ok) {
            return reason;
        }
        const bool valid = redis_visit_step(reply, visit, user, cursor, &more);
        freeReplyObject(reply);
        if (!valid) {
            return engine_fail(engine, STATUS_remote_bad_answer, "not a scan");
        }
    }
    return STATUS_ok;
}

static enum status engine_redis_remove(struct engine *engine, const char *path)
{
    char key[ENGINE_REDIS_KEY_SIZE];
    redisReply *reply;
    struct redis_words words = {0};
    redis_key(path, key);
    redis_add_texts(&words, "DEL", key, (char *)NULL);
    enum status reason = redis_send(engine, &words, 0, &reply);
    if (reason == STATUS_ok) {
        reason =
            reply->type == REDIS_REPLY_INTEGER && reply->integer > 0 ? STATUS_ok : STATUS_no_file;
        freeReplyObject(reply);
    }
    return reason;
}

/* A server that evicts drops heads and objects when it is full. */
static enum status engine_redis_check(struct engine *engine, char *ret_text, size_t capacity)
{
    static const char name[] = "maxmemory_policy:";
    redisReply *reply;
    struct redis_words words = {0};
    redis_add_texts(&words, "INFO", "memory", (char *)NULL);
    enum status reason = redis_send(engine, &words, ENGINE_REDIS_SLACK, &reply);
    if (reason != STATUS_ok) {
        return reason;
    }
    const char *found = reply->type == REDIS_REPLY_STRING ? strstr(reply->str, name) : NULL;
    const char *policy = found ? found + sizeof name - 1 : "unknown";
    const int length = (int)strcspn(policy, "\r\n");
    snprintf(ret_text, capacity, "maxmemory-policy is %.*s", length, policy);
    if (strncmp(policy, "noeviction", strlen("noeviction")) != 0) {
        reason =
            engine_fail(engine, STATUS_remote_evicts, "maxmemory-policy is %.*s", length, policy);
    }
    freeReplyObject(reply);
    return reason;
}

static void engine_redis_close(struct engine *engine)
{
    redis_disconnect((struct engine_redis *)engine);
    free(engine);
}

struct engine *engine_redis_open(const struct url *url)
{
    static const struct engine_operations operations = {
        .get = engine_redis_get,
        .put = engine_redis_put,
        .swap = engine_redis_swap,
        .list = engine_redis_list,
        .remove = engine_redis_remove,
        .check = engine_redis_check,
        .close = engine_redis_close,
    };
    struct engine_redis *redis = calloc(1, sizeof *redis);
    if (!redis) {
        return NULL;
    }
    redis->engine.operations = &operations;
    redis->url = *url;
    return &redis->engine;
}
