// SPDX-License-Identifier: Apache-2.0

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/files/program.h"
#include "tools/warm/warm.h"

#define WATCH_INTERVAL_NS (100 * CLOCK_MS)

/* A longer time between two looks counts as this: we were stopped, as a rule with the child (^Z, a
 * container that was frozen). */
#define WATCH_STEP_NS CLOCK_S

/* A process that was asked to end is killed after this time. */
#define WATCH_END_NS (30 * CLOCK_S)

/* Signals. */

static volatile sig_atomic_t watch_signals;
static sigset_t watch_waiting_mask; /* lets the signals in */

static void watch_on_signal(int number)
{
    (void)number;
    watch_signals++;
}

void warm_watch_prepare(void)
{
    const struct sigaction action = {.sa_handler = watch_on_signal};
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, &watch_waiting_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN); /* of a child that has died */
}

bool warm_watch_is_stopped(void)
{
    sigset_t pending;
    sigpending(&pending);
    return watch_signals > 0 || sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM);
}

/* Waits until the socket has something to read or its other end is closed. False: a signal came, or
 * the time did. */
static bool watch_wait_for(int fd, uint64_t until_ns)
{
    const int before = watch_signals;
    struct pollfd socket = {.fd = fd, .events = POLLIN};
    int ready;
    do {
        const uint64_t now = clock_now_ns();
        const struct timespec wait = clock_timespec(until_ns > now ? until_ns - now : 0);
        ready = ppoll(&socket, 1, &wait, &watch_waiting_mask);
    } while (ready < 0 && errno == EINTR && watch_signals == before);
    return ready > 0;
}

/* Child processes. Each holds its end of a socket open while it lives: so the other process sees
 * its end without a signal. */

/* As fork; *ret_fd is this process's end. -1 after a message. */
static pid_t watch_fork(int *ret_fd)
{
    int ends[2];
    fflush(stdout);
    fflush(stderr);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        output_message("cannot make a socket: %s", strerror(errno));
        return -1;
    }
    const pid_t pid = fork();
    if (pid < 0) {
        output_message("cannot start a process: %s", strerror(errno));
        close(ends[0]);
        close(ends[1]);
        return -1;
    }
    *ret_fd = ends[pid == 0];
    close(ends[pid != 0]);
    return pid;
}

/* Closes our end and waits for the child's exit. Gives its status, as waitpid does. */
static int watch_reap(pid_t pid, int fd)
{
    int status = 0;
    close(fd);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

static bool watch_receive(int fd, void *data, size_t size)
{
    return io_read(fd, data, size, IO_HERE) == (ssize_t)size;
}

/* The device probe. */

static _Noreturn void warm_probe_run(int fd, struct warm_shared *shared, const char *settings)
{
    struct vulkan_loader loader; /* never closed: the drivers stay loaded */
    struct vulkan_devices devices;
    struct warm_target target;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    driver_settings_use(settings);
    if (!vulkan_devices_ask(&loader, &devices) ||
        !io_write(fd, &devices.count, sizeof devices.count, IO_HERE) ||
        !io_write(fd, devices.identities, devices.count * sizeof *devices.identities, IO_HERE)) {
        _exit(EXIT_FAILURE);
    }
    if (watch_receive(fd, &target, sizeof target)) {
        warm_replay_run(&target, shared, WARM_ALL);
    }
    _exit(EXIT_SUCCESS);
}

static bool warm_probe_receive(int fd, uint64_t until_ns, struct vulkan_devices *ret_devices)
{
    struct vulkan_devices devices = {0};
    if (!watch_wait_for(fd, until_ns) || !watch_receive(fd, &devices.count, sizeof devices.count)) {
        return false;
    }
    devices.identities = calloc(devices.count + 1u, sizeof *devices.identities);
    if (!devices.identities ||
        !watch_receive(fd, devices.identities, devices.count * sizeof *devices.identities)) {
        vulkan_devices_free(&devices);
        return false;
    }
    *ret_devices = devices;
    return true;
}

bool warm_probe_start(struct warm_probe *ret_probe, struct warm_shared *shared,
                      const char *settings, uint64_t timeout_ns, struct vulkan_devices *ret_devices)
{
    const uint64_t until_ns = clock_now_ns() + timeout_ns;
    int fd;
    const pid_t pid = watch_fork(&fd);
    if (pid < 0) {
        return false;
    }
    if (pid == 0) {
        warm_probe_run(fd, shared, settings);
    }
    if (warm_probe_receive(fd, until_ns, ret_devices)) {
        *ret_probe = (struct warm_probe){.pid = pid, .fd = fd, .settings = settings};
        return true;
    }
    const bool timed_out = clock_now_ns() >= until_ns;
    kill(pid, SIGKILL); /* it may hang */
    const int status = watch_reap(pid, fd);
    /* A process that has exited has said why itself. */
    if (warm_watch_is_stopped()) {
        output_message("interrupted");
    } else if (WIFSIGNALED(status) && timed_out) {
        output_message("a driver hangs when it is asked for its devices");
    } else if (WIFSIGNALED(status)) {
        output_message("a driver crashed when it was asked for its devices (signal %d)",
                       WTERMSIG(status));
    }
    return false;
}

/* Lets the probe replay the target. Gives its pid, and our end of its socket; 0: there is none. */
static pid_t warm_probe_send(struct warm_probe *probe, const struct warm_target *target,
                             int *ret_fd)
{
    const pid_t pid = probe->pid;
    if (pid == 0 || !io_write(probe->fd, target, sizeof *target, IO_HERE)) {
        warm_probe_end(probe);
        return 0;
    }
    *ret_fd = probe->fd;
    *probe = (struct warm_probe){0};
    return pid;
}

void warm_probe_end(struct warm_probe *probe)
{
    if (probe->pid != 0) {
        watch_reap(probe->pid, probe->fd);
        *probe = (struct warm_probe){0};
    }
}

/* A run. */

/* One child, and what is known of it. */
struct watch {
    struct warm_target target;
    struct warm_shared *shared;
    struct warm_probe *probe;
    struct warm_progress progress;
    pid_t pid;
    int fd;
    uint64_t looked_ns; /* at the workers */
    uint64_t idle_ns;   /* how long no worker has been busy */
    struct {
        uint64_t since_ns; /* as in the slot */
        uint64_t ns;       /* how long the worker has been at it */
    } busy[WARM_MAX_JOBS];
    uint64_t asked_ns; /* when the child was asked to end; 0: it was not */
    int signals;       /* that were passed on */
    size_t hung;       /* the item that it was killed for, or WARM_ALL */
    bool is_killed;    /* by SIGKILL, which no driver sends itself */
    bool is_idle;      /* killed here: no worker was busy for too long */
    size_t pending;    /* items at the last death of which nothing is known; SIZE_MAX: none */
};

/* The first signal asks the child to end, the second one kills it. */
static void watch_pass_signals(struct watch *watch)
{
    const uint64_t now = clock_now_ns();
    const int signals = watch_signals;
    if (signals > watch->signals) {
        kill(watch->pid, watch->signals == 0 ? SIGTERM : SIGKILL);
        watch->asked_ns = watch->signals == 0 ? now : watch->asked_ns;
        watch->signals = signals;
    }
    if (watch->asked_ns != 0 && now - watch->asked_ns > WATCH_END_NS) {
        kill(watch->pid, SIGKILL);
    }
}

/* How long a worker has been at its item, as far as we were there to see; 0: it is idle. */
static uint64_t watch_busy(struct watch *watch, unsigned worker, uint64_t step_ns)
{
    const struct warm_slot *slot = &watch->shared->slots[worker];
    const uint64_t since_ns = atomic_load(&slot->since_ns);
    if (atomic_load(&slot->item) == 0) {
        return 0;
    }
    if (watch->busy[worker].since_ns != since_ns) {
        watch->busy[worker].since_ns = since_ns;
        watch->busy[worker].ns = 0;
    }
    watch->busy[worker].ns += step_ns;
    return watch->busy[worker].ns;
}

/* Kills a child with a worker that is at one pipeline for too long, or with no busy worker. */
static void watch_check_hang(struct watch *watch)
{
    const uint64_t now = clock_now_ns();
    const uint64_t gone_ns = now - watch->looked_ns;
    const uint64_t step_ns = gone_ns < WATCH_STEP_NS ? gone_ns : WATCH_STEP_NS;
    const uint64_t timeout = watch->target.timeout_ns;
    watch->looked_ns = now;
    watch->idle_ns += step_ns;
    for (unsigned i = 0; i < WARM_MAX_JOBS; i++) {
        struct warm_slot *slot = &watch->shared->slots[i];
        const uint32_t item = atomic_load(&slot->item);
        const uint64_t busy_ns = watch_busy(watch, i, step_ns);
        watch->idle_ns = busy_ns > 0 ? 0 : watch->idle_ns;
        if (item != 0 && busy_ns > timeout && atomic_load(&slot->item) == item &&
            atomic_load(&slot->since_ns) == watch->busy[i].since_ns) {
            watch->hung = item - 1;
            kill(watch->pid, SIGKILL);
            return;
        }
    }
    if (watch->idle_ns > timeout) {
        watch->is_idle = true;
        kill(watch->pid, SIGKILL);
    }
}

/* Until the child has ended. */
static void watch_wait(struct watch *watch)
{
    watch->looked_ns = clock_now_ns();
    watch->idle_ns = 0;
    watch->hung = WARM_ALL;
    watch->is_idle = false;
    while (!watch_wait_for(watch->fd, clock_now_ns() + WATCH_INTERVAL_NS)) {
        watch_pass_signals(watch);
        if (watch->asked_ns == 0) {
            watch_check_hang(watch);
        }
        warm_progress_show(&watch->progress);
    }
    const int status = watch_reap(watch->pid, watch->fd);
    watch->is_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/* Whether the probe can replay: it has loaded the drivers, and some read their settings but once.
 */
static bool watch_may_use_probe(const struct watch *watch)
{
    const struct warm_target *target = &watch->target;
    struct program_facts facts;
    return watch->probe->pid != 0 &&
           (target->any_key || program_load(target->root, target->app, &facts) != STATUS_ok ||
            strcmp(watch->probe->settings, facts.driver_settings) == 0 ||
            (watch->probe->settings[0] == '\0' && !driver_settings_differ(facts.driver_settings)));
}

/* Starts a child for all items, or for one: the probe, if there still is one that can. */
static void watch_start(struct watch *watch, size_t only)
{
    warm_shared_restart(watch->shared);
    watch->pid = only == WARM_ALL && watch_may_use_probe(watch)
                     ? warm_probe_send(watch->probe, &watch->target, &watch->fd)
                     : 0;
    if (watch->pid == 0) {
        watch->pid = watch_fork(&watch->fd);
        if (watch->pid == 0) {
            warm_replay_run(&watch->target, watch->shared, only);
        }
    }
}

static void watch_fail(struct watch *watch, const char *text)
{
    watch->shared->end = WARM_END_FAILED;
    snprintf(watch->shared->failure, sizeof watch->shared->failure, "%s", text);
}

/* Replays all items, or one, in a child. False: it crashed, hung, or was killed. */
static bool watch_replay(struct watch *watch, size_t only)
{
    watch_start(watch, only);
    if (watch->pid < 0) {
        watch_fail(watch, "no process can be started");
        return true;
    }
    watch_wait(watch);
    return watch->shared->end != WARM_END_NONE;
}

/* Records the item as one that crashes this driver, so that no process replays it again. */
static void watch_block(struct watch *watch, size_t item)
{
    const struct warm_target *target = &watch->target;
    const enum status reason = recipe_crashes_change(target->root, target->app, target->digest,
                                                     &target->recipes->items[item].use->pipeline);
    atomic_store(&watch->shared->items[item].outcome, WARM_CRASHED);
    if (reason != STATUS_ok) {
        output_reason(reason, "'%s': what crashed the driver cannot be noted", target->app);
    }
}

/* After a death of what was replayed alone. One that the system kills for its memory, or somebody,
 * is not to blame: nothing is noted of it, and it is left out. */
static void watch_judge_alone(struct watch *watch, size_t item)
{
    if (watch->hung != WARM_ALL || !watch->is_killed) {
        watch_block(watch, item);
    } else if (!warm_watch_is_stopped()) {
        atomic_store(&watch->shared->items[item].outcome, REPLAY_NO_MEMORY);
    }
}

/* Replays each suspect alone, and leaves out those that do not live. False: all did. */
static bool watch_isolate(struct watch *watch, const size_t *suspects, size_t count)
{
    bool found = false;
    for (size_t i = 0; i < count && !warm_watch_is_stopped(); i++) {
        if (!watch_replay(watch, suspects[i])) {
            watch_judge_alone(watch, suspects[i]);
            found = true;
        }
    }
    return found;
}

/* A death at no item: of the driver's own threads, of a save, or of what an item left behind. Once,
 * and as long as something was replayed since the last one, it is tried again. */
static bool watch_is_getting_on(struct watch *watch)
{
    const size_t pending = warm_shared_count(watch->shared).of[WARM_PENDING];
    const bool getting_on = pending < watch->pending;
    watch->pending = pending;
    return getting_on;
}

/* After a crash or hang. False: nothing is known of its cause, and it would come again. */
static bool watch_recover(struct watch *watch)
{
    size_t suspects[WARM_MAX_JOBS];
    size_t count = 0;
    for (int i = 0; i < WARM_MAX_JOBS; i++) {
        const uint32_t item = atomic_load(&watch->shared->slots[i].item);
        if (item != 0) {
            suspects[count++] = item - 1;
        }
    }
    if (watch->hung != WARM_ALL) {
        watch_block(watch, watch->hung);
        return true;
    }
    if (count == 1 && !watch->is_killed) {
        watch_block(watch, suspects[0]);
        return true;
    }
    /* Of several any may be to blame, and where the system killed for its memory, or somebody did,
     * perhaps none. */
    if (count > 0 && watch_isolate(watch, suspects, count)) {
        return true;
    }
    watch->target.jobs = count > 0 ? 1 : watch->target.jobs; /* the next crash names one */
    return count > 1 || watch_is_getting_on(watch);
}

static const char *watch_tell_death(const struct watch *watch)
{
    return watch->is_idle     ? "the driver hangs"
           : watch->is_killed ? "it is killed each time: is there too little memory?"
                              : "the driver keeps crashing";
}

/* Each crash or kill ends an item, or leaves fewer threads or pending items: it comes to an end,
 * however many there are. */
void warm_watch_run(const struct warm_target *target, struct warm_shared *shared,
                    struct warm_probe *probe)
{
    struct watch watch = {.target = *target, .shared = shared, .probe = probe, .pending = SIZE_MAX};
    bool ended = false;
    warm_progress_begin(&watch.progress, target, shared);
    while (!ended) {
        if (watch_replay(&watch, WARM_ALL)) {
            ended = !watch.target.pending_only || shared->end != WARM_END_DONE;
            watch.target.pending_only = false;
            continue;
        }
        const char *death = watch_tell_death(&watch);
        const bool goes_on = watch.asked_ns == 0 && watch_recover(&watch);
        if (warm_watch_is_stopped()) {
            shared->end = WARM_END_INTERRUPTED;
            ended = true;
        } else if (goes_on) {
            watch.target.pending_only = true;
        } else {
            watch_fail(&watch, death);
            ended = true;
        }
    }
    warm_progress_clear(&watch.progress);
}
