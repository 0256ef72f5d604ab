#include "warm_stop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>

#include "base/clock.h"

static volatile sig_atomic_t stops;
static sigset_t waiting_mask; /* lets the signals in */

static void on_stop(int number)
{
    (void)number;
    stops++;
}

void warm_stop_prepare(void)
{
    const struct sigaction action = {.sa_handler = on_stop};
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, &waiting_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool warm_stop_is_wanted(void)
{
    sigset_t pending;
    sigpending(&pending);
    return stops > 0 || sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM);
}

int warm_stop_count(void)
{
    return stops;
}

bool warm_stop_wait(int fd, uint64_t until_ns)
{
    const int before = stops;
    struct pollfd end = {.fd = fd, .events = POLLIN};
    int ready;
    do {
        const uint64_t now = clock_now_ns();
        const uint64_t left = until_ns > now ? until_ns - now : 0;
        const struct timespec wait = {(time_t)(left / CLOCK_S), (long)(left % CLOCK_S)};
        ready = ppoll(&end, 1, &wait, &waiting_mask);
    } while (ready < 0 && errno == EINTR && stops == before);
    return ready > 0;
}
