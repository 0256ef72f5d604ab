// SPDX-License-Identifier: Apache-2.0
/* An engine's connection to Redis, made when it is needed and again when it was lost. The password
 * comes from REDISCLI_AUTH, as for redis-cli. If a cluster node does not have a key, it names the
 * node that has: that one is then asked first from now on (MOVED), or for this request (ASK). A
 * password is sent to no other host than the URL's. Debian 12's hiredis has no TLS. Belongs to one
 * thread. */
#ifndef WARMPIPE_TOOLS_REMOTE_ENGINES_REDIS_CLIENT_H
#define WARMPIPE_TOOLS_REMOTE_ENGINES_REDIS_CLIENT_H

#include <hiredis/hiredis.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/clock.h"
#include "tools/remote/engines/engine.h"

/* An engine with a connection, to nothing yet; every `engine` below is one of these. NULL: out of
 * memory. */
struct engine *redis_client_new(const struct engine_operations *operations, const struct url *url);

/* operations->another: connects to where this one's keys were found; and operations->close. */
struct engine *redis_client_another(const struct engine *engine);
void redis_client_free(struct engine *engine);

/* operations->prepare: connects and logs in, if that is not done. remote_unreachable,
 * remote_timeout; remote_forbidden and others as the server says. */
enum status redis_connect(struct engine *engine);

/* operations->rest: disconnects until the next command or redis_connect. */
void redis_disconnect(struct engine *engine);

/* Frees a reply, and sets it to NULL; of NULL a no-op. */
static inline void redis_free_reply(redisReply **reply)
{
    if (*reply) {
        freeReplyObject(*reply);
        *reply = NULL;
    }
}

/* Sends a command in the form of redisCommand: "%s" is a word, "%b" one of data and size. The
 * answer is bounded while it is read, to `limit` and 64 KiB more. STATUS_ok: the answer is no
 * error, and is freed by redis_free_reply. remote_forbidden, remote_full, remote_busy, remote_error
 * as the server says; remote_unreachable, remote_timeout, remote_bad_answer, out_of_memory: there
 * is no reply. */
enum status redis_send(struct engine *engine, uint64_t limit, redisReply **ret_reply,
                       const char *format, ...);

/* How often cluster nodes have named another node so far. */
unsigned redis_moves(const struct engine *engine);

/* The interval at which a waiting caller checks the time, milliseconds: a signal may have shortened
 * it. */
#define REDIS_LOOK_MS 1000

/* Waits until the descriptor is ready for `events`. False: that or the engine's time is over. */
static inline bool redis_poll(struct engine *engine, int fd, short events, uint64_t until_ns)
{
    struct pollfd polled = {.fd = fd, .events = events};
    int found = 0;
    while (found <= 0 && engine_time_left(engine, 1) > 0 && clock_now_ns() < until_ns) {
        found = poll(&polled, 1, (int)engine_time_left(engine, REDIS_LOOK_MS));
    }
    return found > 0;
}

/* Looks up the host and connects, for most_ms at most. remote_timeout: that was not done in time,
 * and the engine has the details. ok: *ret_context tells how it went, NULL if memory was short, and
 * errno why a system call failed; freed with redisFree. */
enum status redis_open(struct engine *engine, const char *host, int port, unsigned most_ms,
                       redisContext **ret_context);

#endif
