// SPDX-License-Identifier: Apache-2.0
/* How a connection begins. hiredis looks up the name and connects in one call, which no signal
 * ends: a lookup that nobody answers takes the resolver's own time, 20 s as a rule. It is made in a
 * thread, which is left alone once time is over. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tools/remote/engines/redis_client.h"

/* Of the thread, which frees it. */
struct redis_opening {
    char host[256];
    int port;
    struct timeval wait;
    int fd; /* takes the result */
};

struct redis_opened {
    redisContext *context;
    int error; /* of the system, where that has one */
};

static struct redis_opened redis_open_here(const char *host, int port, struct timeval wait)
{
    errno = 0;
    redisContext *context = redisConnectWithTimeout(host, port, wait);
    return (struct redis_opened){context, errno};
}

static void *redis_open_main(void *user)
{
    AUTO_FREE struct redis_opening *opening = user;
    const struct redis_opened opened = redis_open_here(opening->host, opening->port, opening->wait);
    if (send(opening->fd, &opened, sizeof opened, MSG_NOSIGNAL) != sizeof opened) {
        redisFree(opened.context);
    }
    close(opening->fd);
    return NULL;
}

/* False: there can be no thread. */
static bool redis_open_start(const char *host, int port, struct timeval wait, int fd)
{
    struct redis_opening *opening = malloc(sizeof *opening);
    pthread_t thread;
    if (!opening) {
        return false;
    }
    *opening = (struct redis_opening){.port = port, .wait = wait, .fd = fd};
    snprintf(opening->host, sizeof opening->host, "%s", host);
    if (pthread_create(&thread, NULL, redis_open_main, opening) != 0) {
        free(opening);
        return false;
    }
    pthread_detach(thread);
    return true;
}

enum status redis_open(struct engine *engine, const char *host, int port, unsigned most_ms,
                       redisContext **ret_context)
{
    const unsigned left = engine_time_left(engine, most_ms);
    const struct timeval wait = {left / 1000, (left % 1000) * 1000 + 1};
    struct redis_opened opened = {.context = NULL};
    int ends[2];
    bool is_open = true;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        ends[0] = ends[1] = -1; /* Linux leaves numbers there that are closed again */
    }
    if (ends[0] >= 0 && redis_open_start(host, port, wait, ends[1])) {
        is_open = redis_poll(engine, ends[0], POLLIN, clock_now_ns() + most_ms * CLOCK_MS) &&
                  read(ends[0], &opened, sizeof opened) == sizeof opened;
    } else {
        io_close(ends[1]);
        opened = redis_open_here(host, port, wait);
    }
    io_close(ends[0]);
    *ret_context = opened.context;
    errno = opened.error;
    return is_open ? STATUS_ok
                   : engine_fail(engine, STATUS_remote_timeout, "no connection in time");
}
