// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/files/names.h"
#include "tools/remote/session.h"

/* Longest push at the end, milliseconds. */
#define RUN_PUSH_MS 30000

static bool run_open(const struct run_remote *run, uint64_t until_ns, bool can_sign,
                     struct session *ret_session)
{
    const struct remote_options options = {
        .verb = "run",
        .url = run->url,
        .public_key = run->public_key,
        .secret_key = can_sign ? run->secret_key : NULL,
    };
    if (!session_open(&options, strdup(run->root), ret_session)) {
        return false;
    }
    ret_session->remote.engine->deadline_ns = until_ns;
    return session_add_app(ret_session, run->app);
}

/* Leases: v1/lease/<program>/<identity> names the run that compiles for a device. It is not a lock:
 * a run that ignores it compiles too, and nothing is lost. States, and the function for each arrow:
 *
 *     1 free    there is none, or its time is over by the server's clock
 *     2 ours    it holds this run's number
 *     3 held    it holds another number
 *
 *     1 → 2     swapped in, and still there a moment later       lease_take
 *     2 → 1     after the push, or when the time is over         lease_give_back
 *     3 → 1     the holder gives it back, or its time is over    seen by lease_read
 *
 * A run without the lease pulls again after each poll, until there is a blob or its wait is over.
 */

/* Milliseconds: how long a lease lasts, and the poll interval. */
#define LEASE_MS      600000
#define LEASE_POLL_MS 250

#define LEASE_LIMIT 256
#define LEASE_COUNT 4 /* devices of one machine */

/* The leases that a run holds: the process that pulls fills it in, so it is shared memory. */
struct run_leases {
    char number[UNIQUE_HEX_SIZE];
    size_t count;
    char paths[LEASE_COUNT][HEAD_PATH_SIZE];
};

enum lease_state { LEASE_FREE, LEASE_OURS, LEASE_HELD, LEASE_UNKNOWN };

/* *ret_value is what a swap replaces; size 0: there is none. It is freed by the caller. */
static enum lease_state lease_read(struct remote *remote, const struct run_leases *leases,
                                   const char *path, struct engine_value *ret_value)
{
    char text[LEASE_LIMIT + 1] = "";
    char number[UNIQUE_HEX_SIZE + 1];
    unsigned duration_s;
    *ret_value = (struct engine_value){0};
    const enum status reason =
        remote->engine->operations->get(remote->engine, path, LEASE_LIMIT, ret_value);
    if (reason != STATUS_ok) {
        return reason == STATUS_no_file ? LEASE_FREE : LEASE_UNKNOWN;
    }
    memcpy(text, ret_value->data, ret_value->size);
    _Static_assert(UNIQUE_HEX_SIZE == 17, "the width below");
    if (sscanf(text, "warmpipe lease v1 %16s %6u", number, &duration_s) != 2 ||
        duration_s * UINT64_C(1000) > LEASE_MS || ret_value->age_s > duration_s) {
        return LEASE_FREE;
    }
    return strcmp(number, leases->number) == 0 ? LEASE_OURS : LEASE_HELD;
}

/* `old`: the lease that is over, or an empty value. False: another run was first, or this server
 * cannot tell. */
static bool lease_take(struct remote *remote, struct run_leases *leases, const char *path,
                       const struct engine_value *old)
{
    struct engine *engine = remote->engine;
    struct engine_value value;
    char text[LEASE_LIMIT];
    if (leases->count == LEASE_COUNT || remote_try_conditions(remote) != STATUS_ok) {
        return false;
    }
    const int size =
        snprintf(text, sizeof text, "warmpipe lease v1 %s %u\n", leases->number, LEASE_MS / 1000);
    engine->lifetime_ms = LEASE_MS;
    enum status reason =
        engine->operations->swap(engine, path, old->size ? old : NULL, text, (size_t)size);
    engine->lifetime_ms = 0;
    if (reason == STATUS_ok && engine->settle_ms > 0) {
        const struct timespec pause = clock_timespec(engine->settle_ms * CLOCK_MS);
        nanosleep(&pause, NULL);
        reason = lease_read(remote, leases, path, &value) == LEASE_OURS ? STATUS_ok
                                                                        : STATUS_remote_conflict;
        engine_value_free(&value);
    }
    if (reason == STATUS_ok) {
        snprintf(leases->paths[leases->count++], HEAD_PATH_SIZE, "%s", path);
    }
    return reason == STATUS_ok;
}

/* Those that are still ours. */
static void lease_give_back(struct remote *remote, struct run_leases *leases)
{
    for (size_t i = 0; i < leases->count && !remote->gone; i++) {
        struct engine_value value;
        if (lease_read(remote, leases, leases->paths[i], &value) == LEASE_OURS) {
            remote->engine->operations->remove(remote->engine, leases->paths[i]);
        }
        engine_value_free(&value);
    }
    leases->count = 0;
}

/* For a device that has no blob: until this run has the lease, there is a blob, or time is over. */
static void lease_wait(struct session *session, struct run_leases *leases, const char *app,
                       const char *hex, uint64_t until_ns)
{
    struct remote *remote = &session->remote;
    char path[HEAD_PATH_SIZE];
    snprintf(path, sizeof path, "v1/lease/%s/%s", app, hex);
    while (!remote->gone) {
        struct engine_value value;
        const enum lease_state state = lease_read(remote, leases, path, &value);
        const bool taken = state == LEASE_FREE && remote->keys.can_sign &&
                           lease_take(remote, leases, path, &value);
        engine_value_free(&value);
        /* Also after it is taken: the holder before us may just have pushed. */
        if (pull_blob(session, app, hex) || remote->failed || taken || state == LEASE_UNKNOWN ||
            (state == LEASE_FREE && !remote->keys.can_sign) || clock_now_ns() >= until_ns) {
            return;
        }
        const struct timespec pause =
            clock_timespec((LEASE_POLL_MS / 2 + unique_draw() % LEASE_POLL_MS) * CLOCK_MS);
        nanosleep(&pause, NULL);
    }
}

static void run_pull_here(const struct run_remote *run, uint64_t until_ns)
{
    struct session session;
    if (session_is_read_only("run") || !run_open(run, until_ns, run->leases, &session)) {
        return;
    }
    session_find_devices(&session);
    session_pull(&session);
    const uint64_t lease_until_ns = clock_now_ns() + run->lease_wait_ms * CLOCK_MS;
    session.remote.engine->deadline_ns = run->leases ? lease_until_ns : until_ns;
    for (size_t i = 0; run->leases && i < session.devices.count && !session.remote.gone; i++) {
        char hex[DIGEST_HEX_SIZE];
        digest_format(identity_digest(&session.devices.identities[i]), hex);
        if (!local_exists(session.root, run->app, hex)) {
            lease_wait(&session, run->leases, run->app, hex, lease_until_ns);
        }
    }
}

/* Whether the child has ended by then; SIGCHLD is blocked. */
static bool run_wait_until(pid_t child, uint64_t until_ns)
{
    sigset_t ended;
    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    for (;;) {
        const pid_t found = waitpid(child, NULL, WNOHANG);
        if (found == child || (found < 0 && errno != EINTR)) {
            return true;
        }
        const uint64_t now = clock_now_ns();
        if (now >= until_ns) {
            return false;
        }
        const struct timespec left = clock_timespec(until_ns - now);
        sigtimedwait(&ended, NULL, &left);
    }
}

void run_remote_pull(struct run_remote *run)
{
    const uint64_t now = clock_now_ns();
    const uint64_t until_ns = now + (run->wait_ms + run->lease_wait_ms) * CLOCK_MS;
    /* The child gives up by itself a little earlier, and says what it waited for. */
    const uint64_t early_ns = now + run->wait_ms * CLOCK_MS * 9 / 10;
    if (run->lease_wait_ms > 0) {
        struct run_leases *leases =
            mmap(NULL, sizeof *leases, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        run->leases = leases == MAP_FAILED ? NULL : leases;
    }
    if (run->leases) {
        unique_format(unique_draw(), run->leases->number);
    }
    sigset_t blocked;
    sigset_t before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sigprocmask(SIG_SETMASK, &before, NULL);
        if (getppid() == parent) {
            run_pull_here(run, early_ns);
        }
        _exit(0);
    }
    if (child < 0) {
        output_message("run: nothing is pulled: %s", strerror(errno));
    } else if (!run_wait_until(child, until_ns)) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        output_message("run: nothing more is pulled: %s (%s)", status_text(STATUS_remote_timeout),
                       status_id(STATUS_remote_timeout));
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
}

/* The program. */

static const int run_signals[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2};

/* Waits for the end of the child, and hands on what others send; what a terminal sends it gets by
 * itself. */
static int run_wait(pid_t child, const sigset_t *signals)
{
    int status = 0;
    for (;;) {
        siginfo_t info;
        const pid_t found = waitpid(child, &status, WNOHANG);
        if (found == child || (found < 0 && errno != EINTR)) {
            return status;
        }
        const int signal = sigwaitinfo(signals, &info);
        const bool is_of_terminal =
            (signal == SIGINT || signal == SIGQUIT) && info.si_code == SI_KERNEL;
        if (signal > 0 && signal != SIGCHLD && !is_of_terminal) {
            kill(child, signal);
        }
    }
}

static void run_push_here(const struct run_remote *run)
{
    struct session session;
    if (run_open(run, clock_now_ns() + RUN_PUSH_MS * CLOCK_MS, true, &session)) {
        session_push(&session, true);
        if (run->leases) {
            lease_give_back(&session.remote, run->leases);
        }
        session_close(&session);
    }
}

/* As the program did, without a second core file. */
static void run_die_of(int signal, const sigset_t *mask)
{
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    sigprocmask(SIG_SETMASK, mask, NULL);
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigaction(signal, &action, NULL);
    raise(signal);
}

int run_remote_program(const struct run_remote *run, char **command, int (*execute)(char **command))
{
    sigset_t signals;
    sigset_t before;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    for (size_t i = 0; i < sizeof run_signals / sizeof run_signals[0]; i++) {
        sigaddset(&signals, run_signals[i]);
    }
    sigprocmask(SIG_BLOCK, &signals, &before);
    const pid_t child = fork();
    if (child <= 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        /* Where there can be no child, the program runs all the same. */
        const int failed = execute(command);
        if (child == 0) {
            _exit(failed);
        }
        return failed;
    }
    const int status = run_wait(child, &signals);
    run_push_here(run);
    if (WIFSIGNALED(status)) {
        run_die_of(WTERMSIG(status), &before);
        return 128 + WTERMSIG(status);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return WEXITSTATUS(status);
}
