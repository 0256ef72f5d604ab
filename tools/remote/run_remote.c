// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/files/names.h"
#include "tools/cli/progress.h"
#include "tools/remote/death.h"
#include "tools/remote/lease.h"
#include "tools/remote/session.h"

/* Longest push at the end, milliseconds. */
#define RUN_PUSH_MS 30000

/* Where SIGCHLD is ignored, the end of a child is lost, and waiting for it never ends. */
static void run_await_children(struct sigaction *ret_before)
{
    const struct sigaction action = {.sa_handler = SIG_DFL};
    sigaction(SIGCHLD, &action, ret_before);
}

static bool run_open(const struct run_remote *run, uint64_t until_ns, struct session *ret_session)
{
    const struct remote_options options = {
        .verb = "run",
        .url = run->url,
        .public_key = run->public_key,
        .secret_key = run->secret_key, /* what it has signed is trusted */
    };
    if (!session_open(&options, strdup(run->root), ret_session)) {
        return false;
    }
    ret_session->remote.engine->deadline_ns = until_ns;
    return session_add_app(ret_session, run->app);
}

/* Poll interval of a run that waits for another's lease, milliseconds. */
#define LEASE_POLL_MS 250

/* For a device that has no blob: until this run has the lease, there is a blob, or time is over. A
 * run without the lease pulls again after each poll. */
static void run_wait_for_lease(struct session *session, struct leases *leases, const char *app,
                               const char *hex, uint64_t until_ns)
{
    struct remote *remote = &session->remote;
    while (!remote->gone) {
        const enum lease_state state = lease_try(remote, leases, app, hex);
        /* Also after it is taken: the holder before us may just have pushed. */
        if (pull_blob(session, app, hex) || remote->failed || state == LEASE_OURS ||
            state == LEASE_UNKNOWN || state == LEASE_FREE || clock_now_ns() >= until_ns) {
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
    if (session_is_read_only("run") || !run_open(run, until_ns, &session)) {
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
            run_wait_for_lease(&session, run->leases, run->app, hex, lease_until_ns);
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
        struct leases *leases =
            mmap(NULL, sizeof *leases, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        run->leases = leases == MAP_FAILED ? NULL : leases;
    }
    if (run->leases) {
        leases_init(run->leases);
    }
    sigset_t blocked;
    sigset_t before;
    struct sigaction action_before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    run_await_children(&action_before);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGPIPE, SIG_IGN); /* a remote that goes away is an error, not the end */
        sigprocmask(SIG_SETMASK, &before, NULL);
        if (getppid() == parent) {
            progress_begin("run", "pulling");
            run_pull_here(run, early_ns);
            progress_end();
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
    sigaction(SIGCHLD, &action_before, NULL);
}

/* The program. */

static const int run_signals[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2};

/* Waits for the end of the child, and hands on what others send; what a terminal sends it gets by
 * itself. */
static int run_wait(pid_t child, const sigset_t *signals)
{
    int status = 1 << 8; /* an end that nobody tells is no success */
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

/* After the program: puts away what has killed it, and pushes if there is a key. */
static void run_end_here(const struct run_remote *run, uint64_t since, bool failed)
{
    struct session session;
    if ((!failed && !run->secret_key) ||
        !run_open(run, clock_now_ns() + RUN_PUSH_MS * CLOCK_MS, &session)) {
        return;
    }
    if (failed) {
        death_judge(&session, run->app, since);
    }
    if (run->secret_key) {
        session_push(&session, true);
    }
    if (run->secret_key && run->leases) {
        lease_give_back(&session.remote, run->leases, NULL);
    }
    session_close(&session);
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
    struct sigaction action_before;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    for (size_t i = 0; i < sizeof run_signals / sizeof run_signals[0]; i++) {
        sigaddset(&signals, run_signals[i]);
    }
    run_await_children(&action_before);
    sigprocmask(SIG_BLOCK, &signals, &before);
    const uint64_t since = (uint64_t)time(NULL);
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child <= 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        sigaction(SIGCHLD, &action_before, NULL);
        if (child == 0) {
            /* Who kills this process means the program. */
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent) {
                raise(SIGKILL);
            }
        }
        /* Where there can be no child, the program runs all the same. */
        const int failed = execute(command);
        if (child == 0) {
            _exit(failed);
        }
        return failed;
    }
    signal(SIGPIPE, SIG_IGN); /* here alone: the program has its own */
    const int status = run_wait(child, &signals);
    run_end_here(run, since, status != 0);
    if (WIFSIGNALED(status)) {
        run_die_of(WTERMSIG(status), &before);
        return 128 + WTERMSIG(status);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return WEXITSTATUS(status);
}
