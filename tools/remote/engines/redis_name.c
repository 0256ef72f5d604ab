// SPDX-License-Identifier: Apache-2.0
/* Names of hosts. A lookup that nobody answers takes the resolver's own time, 20 s as a rule, and
 * hiredis has no other: it is tried in a thread first, which is left alone once time is over. */
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tools/remote/engines/redis_client.h"

/* Of the thread, which frees it. */
struct redis_name {
    char host[256];
    int fd; /* takes the result of getaddrinfo */
};

/* As hiredis asks. */
static int redis_name_look_up(const char *host, int family)
{
    const struct addrinfo hints = {.ai_family = family, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    const int error = getaddrinfo(host, NULL, &hints, &found);
    if (error == 0) {
        freeaddrinfo(found);
    }
    return error;
}

static void *redis_name_main(void *user)
{
    struct redis_name *name = user;
    int error = redis_name_look_up(name->host, AF_INET);
    error = error == 0 ? 0 : redis_name_look_up(name->host, AF_INET6);
    (void)!send(name->fd, &error, sizeof error, MSG_NOSIGNAL);
    close(name->fd);
    free(name);
    return NULL;
}

/* False: there can be no thread. */
static bool redis_name_start(const char *host, int fd)
{
    struct redis_name *name = malloc(sizeof *name);
    pthread_t thread;
    if (!name) {
        return false;
    }
    snprintf(name->host, sizeof name->host, "%s", host);
    name->fd = fd;
    if (pthread_create(&thread, NULL, redis_name_main, name) != 0) {
        free(name);
        return false;
    }
    pthread_detach(thread);
    return true;
}

enum status redis_await_name(struct engine *engine, const char *host, unsigned most_ms)
{
    const uint64_t until_ns = clock_now_ns() + most_ms * CLOCK_MS;
    int ends[2];
    int error = 0;
    int found = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return STATUS_ok;
    }
    if (!redis_name_start(host, ends[1])) {
        close(ends[0]);
        close(ends[1]);
        return STATUS_ok;
    }
    struct pollfd polled = {.fd = ends[0], .events = POLLIN};
    while (found <= 0 && engine_time_left(engine, 1) > 0 && clock_now_ns() < until_ns) {
        found = poll(&polled, 1, (int)engine_time_left(engine, REDIS_LOOK_MS));
    }
    const bool is_told = found > 0 && read(ends[0], &error, sizeof error) == sizeof error;
    close(ends[0]);
    if (found <= 0) {
        return engine_fail(engine, STATUS_remote_timeout, "the name is not resolved in time");
    }
    return is_told && error != 0
               ? engine_fail(engine, STATUS_remote_unreachable, "%s", gai_strerror(error))
               : STATUS_ok;
}
