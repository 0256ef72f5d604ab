// SPDX-License-Identifier: Apache-2.0
#include "tools/remote/engines/redis_client.h"

#include <errno.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/text.h"

#define REDIS_PORT    6379
#define REDIS_WAIT_MS 10000

/* Bytes of an answer beside its value. */
#define REDIS_SLACK 65536

/* Elements of all arrays of an answer: hiredis 0.14 allocates as many as are announced. A step of
 * SCAN has about a thousand keys. */
#define REDIS_ELEMENTS 20000

/* Bytes that have moved, for each further millisecond that a command may take. */
#define REDIS_BYTES_PER_MS 1

/* So often one command is sent on to another node. */
#define REDIS_MOVES 4

#if HIREDIS_MAJOR >= 1
typedef size_t redis_count;
#else
typedef int redis_count;
#endif

struct redis_client {
    struct engine engine;
    struct url url;
    redisContext *context;                                               /* NULL: not connected */
    redisReplyObjectFunctions functions;                                 /* of its reader */
    size_t elements;                                                     /* of this answer */
    void *(*create_array)(const redisReadTask *task, redis_count count); /* hiredis's own */
    char host[256]; /* the node that is asked; at first the URL's */
    int port;
    unsigned moves; /* how often a node has named another */
};

struct redis_command {
    char *text; /* as it is sent */
    size_t size;
};

static void redis_free_command(struct redis_command *command)
{
    redisFreeCommand(command->text);
}

static enum status redis_format(const char *format, va_list arguments,
                                struct redis_command *ret_command)
{
    const int size = redisvFormatCommand(&ret_command->text, format, arguments);
    ret_command->size = (size_t)size;
    return size > 0 ? STATUS_ok : STATUS_out_of_memory;
}

static const char *redis_password(void)
{
    return text_or_null(getenv("REDISCLI_AUTH"));
}

static struct redis_client *redis_client_of(struct engine *engine)
{
    return (struct redis_client *)engine;
}

void redis_disconnect(struct engine *engine)
{
    struct redis_client *client = redis_client_of(engine);
    if (client->context) {
        redisFree(client->context);
        client->context = NULL;
    }
}

struct engine *redis_client_new(const struct engine_operations *operations, const struct url *url)
{
    struct redis_client *client = calloc(1, sizeof *client);
    if (!client) {
        return NULL;
    }
    client->engine.operations = operations;
    client->url = *url;
    const char *host = url->host + (url->host[0] == '['); /* an address of IPv6, in brackets */
    snprintf(client->host, sizeof client->host, "%.*s", (int)strcspn(host, "]"), host);
    client->port = url->port[0] ? (int)strtol(url->port, NULL, 10) : REDIS_PORT;
    return &client->engine;
}

struct engine *redis_client_another(const struct engine *engine)
{
    const struct redis_client *client = (const struct redis_client *)engine;
    struct engine *other = redis_client_new(engine->operations, &client->url);
    if (other) {
        memcpy(redis_client_of(other)->host, client->host, sizeof client->host);
        redis_client_of(other)->port = client->port;
    }
    return other;
}

void redis_client_free(struct engine *engine)
{
    redis_disconnect(engine);
    free(engine);
}

/* One connection. */

static enum status redis_broken(struct engine *engine)
{
    const redisContext *context = redis_client_of(engine)->context;
    const bool timed_out =
        context && (context->err == REDIS_ERR_IO) && (errno == EAGAIN || errno == ETIMEDOUT);
    const bool is_nonsense =
        context && (context->err == REDIS_ERR_PROTOCOL || context->err == REDIS_ERR_OOM);
    const enum status reason = timed_out     ? STATUS_remote_timeout
                               : is_nonsense ? STATUS_remote_bad_answer
                                             : STATUS_remote_unreachable;
    engine_fail(engine, reason, "%s", context ? context->errstr : "out of memory");
    redis_disconnect(engine);
    return reason;
}

static bool redis_starts(const redisReply *reply, const char *word)
{
    return strncmp(reply->str, word, strlen(word)) == 0;
}

/* What an error of the server means. */
static enum status redis_judge(struct engine *engine, const redisReply *reply)
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
    } else if (redis_starts(reply, "LOADING") || redis_starts(reply, "BUSY") ||
               redis_starts(reply, "CLUSTERDOWN") || redis_starts(reply, "TRYAGAIN")) {
        reason = STATUS_remote_busy;
    }
    return engine_fail(engine, reason, "%.200s", reply->str);
}

/* Waits until the next system call has something to do; looks at the time meanwhile, which a signal
 * may have cut. False: it is over. A server that goes on and on, a byte at a time, has none left.
 */
static bool redis_await(struct engine *engine, short events, uint64_t since_ns, size_t moved)
{
    redisContext *context = redis_client_of(engine)->context;
    const struct timeval most = {REDIS_LOOK_MS / 1000, 0};
    redisSetTimeout(context, most);
    return redis_poll(engine, context->fd, events,
                      since_ns + (REDIS_WAIT_MS + moved / REDIS_BYTES_PER_MS) * CLOCK_MS);
}

static enum status redis_late(struct engine *engine)
{
    redis_disconnect(engine);
    return engine_fail(engine, STATUS_remote_timeout, "too slow");
}

/* Sends a command over an open connection. */
static enum status redis_exchange(struct engine *engine, const struct redis_command *command,
                                  uint64_t limit, redisReply **ret_reply)
{
    struct redis_client *client = redis_client_of(engine);
    redisContext *context = client->context;
    const uint64_t since_ns = clock_now_ns();
    uint64_t received = 0;
    size_t sent = 0;
    int done = 0;
    void *reply = NULL;
    engine->traffic.requests++;
    client->elements = 0;
    if (redisAppendFormattedCommand(context, command->text, command->size) != REDIS_OK) {
        return redis_broken(engine);
    }
    while (!done) {
        const size_t before = sdslen(context->obuf);
        if (!redis_await(engine, POLLOUT, since_ns, sent)) {
            return redis_late(engine);
        }
        if (redisBufferWrite(context, &done) != REDIS_OK) {
            return redis_broken(engine);
        }
        sent += before - sdslen(context->obuf);
    }
    for (;;) {
        if (redisGetReplyFromReader(context, &reply) != REDIS_OK) {
            return redis_broken(engine);
        }
        if (reply) {
            *ret_reply = reply;
            return STATUS_ok;
        }
        /* What the reader holds is less than what came: it drops what it has parsed. */
        const size_t before = context->reader->len;
        if (!redis_await(engine, POLLIN, since_ns, sent + received)) {
            return redis_late(engine);
        }
        if (redisBufferRead(context) != REDIS_OK) {
            return redis_broken(engine);
        }
        engine->traffic.answers += received == 0;
        received += context->reader->len - before;
        if (received > limit + REDIS_SLACK) {
            redis_disconnect(engine);
            return engine_fail(engine, STATUS_remote_bad_answer, "larger than it may be");
        }
    }
}

/* A command that answers nothing that matters. */
static enum status redis_run(struct engine *engine, const char *format, ...)
{
    AUTO(redis_free_command) struct redis_command command = {0};
    AUTO(redis_free_reply) redisReply *reply = NULL;
    va_list arguments;
    va_start(arguments, format);
    enum status reason = redis_format(format, arguments, &command);
    va_end(arguments);
    if (reason == STATUS_ok) {
        reason = redis_exchange(engine, &command, 0, &reply);
    }
    return reply ? redis_judge(engine, reply) : reason;
}

static enum status redis_log_in(struct engine *engine)
{
    const struct redis_client *client = redis_client_of(engine);
    const char *password = redis_password();
    const char *database = client->url.scheme == URL_UNIX ? "" : client->url.path;
    enum status reason = STATUS_ok;
    if (password) {
        reason = client->url.user[0] ? redis_run(engine, "AUTH %s %s", client->url.user, password)
                                     : redis_run(engine, "AUTH %s", password);
    }
    return reason == STATUS_ok && database[0] ? redis_run(engine, "SELECT %s", database + 1)
                                              : reason;
}

static void *redis_create_array(const redisReadTask *task, redis_count count)
{
    struct redis_client *client = task->privdata;
    if ((uint64_t)count > REDIS_ELEMENTS - client->elements) {
        return NULL;
    }
    client->elements += (size_t)count;
    return client->create_array(task, count);
}

/* Bounds what hiredis believes. */
static void redis_guard_reader(struct redis_client *client)
{
    redisReader *reader = client->context->reader;
    client->functions = *reader->fn;
    client->create_array = client->functions.createArray;
    client->functions.createArray = redis_create_array;
    reader->fn = &client->functions;
    reader->privdata = client;
}

enum status redis_connect(struct engine *engine)
{
    struct redis_client *client = redis_client_of(engine);
    if (client->context) {
        return STATUS_ok;
    }
    if (client->port <= 0 || client->port > UINT16_MAX) {
        return engine_fail(engine, STATUS_remote_bad_url, "no port %d", client->port);
    }
    if (client->url.scheme == URL_UNIX) {
        const unsigned left = engine_time_left(engine, REDIS_WAIT_MS);
        const struct timeval wait = {left / 1000, (left % 1000) * 1000 + 1};
        char path[URL_SIZE];
        url_local_path(&client->url, path);
        errno = 0;
        client->context = redisConnectUnixWithTimeout(path, wait);
    } else {
        const enum status opened =
            redis_open(engine, client->host, client->port, REDIS_WAIT_MS, &client->context);
        if (opened != STATUS_ok) {
            return opened;
        }
    }
    if (!client->context || client->context->err) {
        return redis_broken(engine);
    }
    redis_guard_reader(client);
    const enum status reason = redis_log_in(engine);
    if (reason != STATUS_ok) {
        redis_disconnect(engine);
    }
    return reason;
}

/* Connects if need be; a connection that has gone while it was not used is made anew, once. */
static enum status redis_ask(struct engine *engine, const struct redis_command *command,
                             uint64_t limit, redisReply **ret_reply)
{
    bool again;
    enum status reason;
    do {
        again = redis_client_of(engine)->context;
        reason = redis_connect(engine);
        if (reason == STATUS_ok) {
            reason = redis_exchange(engine, command, limit, ret_reply);
        }
    } while (reason == STATUS_remote_unreachable && again);
    return reason;
}

/* Clusters. */

/* Whether it is the host of the open connection, by its name or its address. */
static bool redis_is_here(const struct redis_client *client, const char *host)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    char number[256];
    if (strcmp(host, client->host) == 0) {
        return true;
    }
    return client->context &&
           getpeername(client->context->fd, (struct sockaddr *)&address, &size) == 0 &&
           getnameinfo((struct sockaddr *)&address, size, number, sizeof number, NULL, 0,
                       NI_NUMERICHOST) == 0 &&
           strcmp(host, number) == 0;
}

/* Asks the node that was named from now on. */
static enum status redis_follow(struct engine *engine, const struct redis_move *move)
{
    struct redis_client *client = redis_client_of(engine);
    const bool is_here = !move->host[0] || redis_is_here(client, move->host);
    if (client->url.scheme == URL_UNIX) {
        return engine_fail(engine, STATUS_remote_bad_answer, "a cluster behind a socket");
    }
    if (!is_here && redis_password()) {
        return engine_fail(engine, STATUS_remote_forbidden,
                           "the cluster has it on %s:%d, and a password is sent to no other host "
                           "than the URL's: name that one",
                           move->host, move->port);
    }
    redis_disconnect(engine);
    if (!is_here) {
        memcpy(client->host, move->host, sizeof client->host);
    }
    client->port = move->port;
    return STATUS_ok;
}

unsigned redis_moves(const struct engine *engine)
{
    return ((const struct redis_client *)engine)->moves;
}

/* Sends a command to the node that an ASK has named, this once. */
static enum status redis_ask_other(struct engine *engine, const struct redis_move *move,
                                   const struct redis_command *command, uint64_t limit,
                                   redisReply **ret_reply)
{
    struct redis_client *client = redis_client_of(engine);
    const int port = client->port;
    char host[sizeof client->host];
    memcpy(host, client->host, sizeof host);
    enum status reason = redis_follow(engine, move);
    if (reason != STATUS_ok) {
        return reason;
    }
    reason = redis_connect(engine);
    if (reason == STATUS_ok) {
        reason = redis_run(engine, "ASKING");
    }
    if (reason == STATUS_ok) {
        reason = redis_exchange(engine, command, limit, ret_reply);
    }
    redis_disconnect(engine);
    memcpy(client->host, host, sizeof host);
    client->port = port;
    return reason;
}

enum status redis_send(struct engine *engine, uint64_t limit, redisReply **ret_reply,
                       const char *format, ...)
{
    AUTO(redis_free_command) struct redis_command command = {0};
    va_list arguments;
    va_start(arguments, format);
    enum status reason = redis_format(format, arguments, &command);
    va_end(arguments);
    if (reason == STATUS_ok) {
        reason = redis_ask(engine, &command, limit, ret_reply);
    }
    for (int moves = 0; reason == STATUS_ok; moves++) {
        struct redis_move move;
        redisReply *reply = *ret_reply;
        if (reply->type != REDIS_REPLY_ERROR || !redis_parse_move(reply->str, reply->len, &move)) {
            break;
        }
        redis_free_reply(ret_reply);
        redis_client_of(engine)->moves++;
        if (moves == REDIS_MOVES) {
            return engine_fail(engine, STATUS_remote_bad_answer, "moved again and again");
        }
        if (move.is_ask) {
            reason = redis_ask_other(engine, &move, &command, limit, ret_reply);
            continue;
        }
        reason = redis_follow(engine, &move);
        if (reason == STATUS_ok) {
            reason = redis_ask(engine, &command, limit, ret_reply);
        }
    }
    if (reason == STATUS_ok) {
        reason = redis_judge(engine, *ret_reply);
        if (reason != STATUS_ok) {
            redis_free_reply(ret_reply);
        }
    }
    return reason;
}
