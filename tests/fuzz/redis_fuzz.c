// SPDX-License-Identifier: Apache-2.0
/* A server of Redis as hostile as it likes: whatever it answers, nothing is read or written outside
 * of the answer, and each operation ends with a reason. The first byte chooses the operation, the
 * rest is all that the server ever says, on each connection. */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/remote/engines/redis_client.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t *answer;
static size_t answer_size;
static int peer = -1;

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "does not hold: %s\n", what);
        abort();
    }
}

/* The other end has said all that it will say. */
enum status redis_open(struct engine *engine, const char *host, int port, unsigned most_ms,
                       redisContext **ret_context)
{
    int ends[2];
    (void)engine;
    (void)most_ms;
    require(strlen(host) < 256 && port > 0 && port < 65536, "an address");
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "a pair of sockets");
    const size_t size = answer_size < 65536 ? answer_size : 65536;
    require(size == 0 || send(ends[1], answer, size, MSG_NOSIGNAL) == (ssize_t)size, "it fits");
    shutdown(ends[1], SHUT_WR);
    redisContext *context = redisConnectFd(ends[0]);
    require(context, "memory");
    context->connection_type = REDIS_CONN_UNIX; /* what redisFree looks at is set */
    close(peer);                                /* the last one stays open, to take what is asked */
    peer = ends[1];
    *ret_context = context;
    return STATUS_ok;
}

static bool visit(const char *path, void *user)
{
    (void)user;
    require(strlen(path) < ENGINE_PATH_SIZE, "a path");
    return true;
}

static void read_move(const uint8_t *data, size_t size)
{
    struct redis_move move;
    char *copy = malloc(size ? size : 1);
    if (!copy) {
        return;
    }
    memcpy(copy, data, size);
    if (redis_parse_move(copy, size, &move)) {
        require(move.port > 0 && move.port < 65536, "a port");
        require(strlen(move.host) < sizeof move.host, "a host");
    }
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct url url;
    struct engine_value value = {0};
    char text[256];
    if (size == 0 || url_parse("redis://localhost", &url) != STATUS_ok) {
        return 0;
    }
    answer = data + 1;
    answer_size = size - 1;
    read_move(answer, answer_size);
    struct engine *engine = engine_redis_open(&url);
    require(engine, "memory");
    const struct engine_operations *operations = engine->operations;
    switch (data[0] % 6) {
    case 0:
        if (operations->get(engine, "v1/head/demo/recipes", 1000, &value) == STATUS_ok) {
            require(value.size > 0 && value.size <= 1000, "within its limit");
        }
        break;
    case 1:
        operations->get(engine, "v1/obj/x", 0, &value);
        break;
    case 2:
        operations->list(engine, "v1/head/", visit, NULL);
        break;
    case 3:
        operations->remove(engine, "v1/head/demo/recipes");
        break;
    case 4:
        operations->swap(engine, "v1/head/demo/recipes", NULL, "x", 1);
        break;
    default:
        operations->check(engine, text, sizeof text);
    }
    require(strnlen(engine->failure.detail, sizeof engine->failure.detail) <
                sizeof engine->failure.detail,
            "a detail");
    engine_value_free(&value);
    operations->close(engine);
    return 0;
}
