// SPDX-License-Identifier: Apache-2.0
/* redis: and unix:, Redis, Valkey, KeyDB, alone or a cluster. A value is a string; a head changes
 * by a script that compares and sets in one step. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/remote/engines/redis_client.h"

/* All keys begin with it. Redis hashes the part in braces, so that all lie on one node. */
#define ENGINE_REDIS_PREFIX "{warmpipe}:"

/* The most bytes of a listing's step. */
#define ENGINE_REDIS_LISTING_LIMIT ((uint64_t)16 << 20)

/* Steps of a listing, of about a thousand keys of the whole server each. */
#define ENGINE_REDIS_STEPS 1000000

/* SCAN names no key, so that a node of a cluster answers it for itself: a question for a key of
 * ours finds the node that has them. */
static enum status engine_redis_find_node(struct engine *engine)
{
    AUTO(redis_free_reply) redisReply *reply = NULL;
    return redis_send(engine, 0, &reply, "EXISTS " ENGINE_REDIS_PREFIX);
}

static enum status engine_redis_get(struct engine *engine, const char *path, uint64_t limit,
                                    struct engine_value *ret_value)
{
    AUTO(redis_free_reply) redisReply *reply = NULL;
    enum status reason =
        limit ? redis_send(engine, limit, &reply, "GETRANGE " ENGINE_REDIS_PREFIX "%s 0 %llu", path,
                           (unsigned long long)limit)
              : redis_send(engine, 0, &reply, "EXISTS " ENGINE_REDIS_PREFIX "%s", path);
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
        reason = engine_too_large(engine);
    } else {
        struct engine_value value = {.data = malloc(reply->len), .size = reply->len};
        reason = value.data ? STATUS_ok : STATUS_out_of_memory;
        if (value.data) {
            memcpy(value.data, reply->str, value.size);
            engine->traffic.received += value.size;
            *ret_value = value;
        }
    }
    return reason;
}

static enum status engine_redis_put(struct engine *engine, const char *path, const void *data,
                                    size_t size)
{
    AUTO(redis_free_reply) redisReply *reply = NULL;
    const enum status reason =
        redis_send(engine, 0, &reply, "SET " ENGINE_REDIS_PREFIX "%s %b", path, data, size);
    if (reason == STATUS_ok) {
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
    AUTO(redis_free_reply) redisReply *reply = NULL;
    enum status reason =
        redis_send(engine, 0, &reply, "EVAL %s 1 " ENGINE_REDIS_PREFIX "%s %s %b %b %u", script,
                   path, old ? "same" : "none", old ? (const void *)old->data : "",
                   old ? old->size : (size_t)0, data, size, engine->lifetime_ms);
    if (reason == STATUS_ok) {
        const bool swapped = reply->type == REDIS_REPLY_INTEGER && reply->integer == 1;
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
            key->len < prefix + ENGINE_PATH_SIZE && strlen(key->str) == key->len) {
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
    char cursor[24] = "0";
    /* The cursor of a step whose number is a power of two: any circle comes back to it. */
    char known[sizeof cursor] = "";
    bool more = true;
    enum status reason = engine_redis_find_node(engine);
    if (reason != STATUS_ok) {
        return reason;
    }
    const unsigned moves = redis_moves(engine);
    for (unsigned step = 1; more; step++) {
        AUTO(redis_free_reply) redisReply *reply = NULL;
        reason = redis_send(engine, ENGINE_REDIS_LISTING_LIMIT, &reply,
                            "SCAN %s MATCH " ENGINE_REDIS_PREFIX "%s* COUNT 1000", cursor, prefix);
        if (reason != STATUS_ok) {
            return reason;
        }
        if (!redis_visit_step(reply, visit, user, cursor, &more)) {
            return engine_fail(engine, STATUS_remote_bad_answer, "not a scan");
        }
        if (more && (strcmp(cursor, known) == 0 || step == ENGINE_REDIS_STEPS)) {
            return engine_fail(engine, STATUS_remote_bad_answer, "a listing without an end");
        }
        if ((step & (step - 1)) == 0) {
            memcpy(known, cursor, sizeof known);
        }
    }
    /* While a slot moves, each of two nodes has a part of the keys: what lists one is no listing.
     */
    reason = engine_redis_find_node(engine);
    return reason == STATUS_ok && redis_moves(engine) != moves
               ? engine_fail(engine, STATUS_remote_busy,
                             "the cluster moves the keys to another node")
               : reason;
}

static enum status engine_redis_remove(struct engine *engine, const char *path)
{
    AUTO(redis_free_reply) redisReply *reply = NULL;
    const enum status reason = redis_send(engine, 0, &reply, "DEL " ENGINE_REDIS_PREFIX "%s", path);
    if (reason != STATUS_ok) {
        return reason;
    }
    return reply->type == REDIS_REPLY_INTEGER && reply->integer > 0 ? STATUS_ok : STATUS_no_file;
}

/* The value of a line of INFO, to its end; NULL: there is none. */
static const char *engine_redis_info(const redisReply *reply, const char *name)
{
    const char *found = reply->type == REDIS_REPLY_STRING ? strstr(reply->str, name) : NULL;
    return found ? found + strlen(name) : NULL;
}

/* A server that evicts drops heads and objects when it is full; one with replicas loses what they
 * did not have yet when one of them takes over. */
static enum status engine_redis_check(struct engine *engine, char *ret_text, size_t capacity)
{
    AUTO(redis_free_reply) redisReply *reply = NULL;
    enum status reason = engine_redis_find_node(engine);
    if (reason == STATUS_ok) {
        reason = redis_send(engine, 0, &reply, "INFO");
    }
    if (reason == STATUS_remote_forbidden || reason == STATUS_remote_error) {
        snprintf(ret_text, capacity, "may not be asked (INFO) whether it evicts");
        return STATUS_ok;
    }
    if (reason != STATUS_ok) {
        return reason;
    }
    const char *policy = engine_redis_info(reply, "maxmemory_policy:");
    const char *replicas = engine_redis_info(reply, "connected_slaves:");
    const char *cluster = engine_redis_info(reply, "cluster_enabled:");
    policy = policy ? policy : "unknown";
    const int length = (int)strcspn(policy, "\r\n");
    snprintf(ret_text, capacity, "maxmemory-policy is %.*s%s%s", length, policy,
             cluster && cluster[0] == '1' ? "; a cluster" : "",
             replicas && replicas[0] != '0'
                 ? "; replicas: a failover may lose what was acknowledged"
                 : "");
    if (strncmp(policy, "noeviction", strlen("noeviction")) != 0) {
        reason =
            engine_fail(engine, STATUS_remote_evicts, "maxmemory-policy is %.*s", length, policy);
    }
    return reason;
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
        .prepare = redis_connect,
        /* Redis takes ten thousand connections as a rule, and never closes one that says nothing.
         */
        .rest = redis_disconnect,
        .another = redis_client_another,
        .close = redis_client_free,
    };
    struct engine *engine = redis_client_new(&operations, url);
    if (engine) {
        engine->expires = true;
    }
    return engine;
}
