// SPDX-License-Identifier: Apache-2.0
#include "tools/remote/run/run_remote.h"

#include <errno.h>
#include <fcntl.h>
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
#include "common/files/file.h"
#include "tools/remote/run/death.h"
#include "tools/remote/run/puller.h"

/* Longest push at the end, milliseconds. */
#define RUN_PUSH_MS 30000

/* Where SIGCHLD is ignored, the end of a child is lost, and waiting for it never ends. */
static void run_await_children(struct sigaction *ret_before)
{
    const struct sigaction action = {.sa_handler = SIG_DFL};
    sigaction(SIGCHLD, &action, ret_before);
}

/* Leases that this process and the puller both see. */
static void run_share_leases(struct run_remote *run)
{
    if (run->lease_wait_ms > 0) {
        struct leases *leases =
            mmap(NULL, sizeof *leases, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        run->leases = leases == MAP_FAILED ? NULL : leases;
    }
    if (run->leases) {
        leases_init(run->leases);
    }
}

/* What is remembered is lost where its folder cannot be used: nothing more. */
static void run_check_state(const struct run_remote *run)
{
    int fd;
    if (!run->state) {
        return;
    }
    enum status reason = file_open_directory(run->state, "remote", true, &fd);
    if (reason == STATUS_ok) {
        reason =
            faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) == 0 ? STATUS_ok : status_from_errno(errno);
        close(fd);
    }
    if (reason != STATUS_ok) {
        output_message("run: --state %s: %s (%s)", run->state, status_text(reason),
                       status_id(reason));
    }
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

/* By a signal that nobody sends to end a program; a shell between tells its own in its exit status.
 */
static bool run_has_crashed(int status)
{
    static const int crashes[] = {SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) - 128;
    for (size_t i = 0; i < sizeof crashes / sizeof crashes[0]; i++) {
        if (signal == crashes[i]) {
            return true;
        }
    }
    return false;
}

/* After the program: puts away what has killed it, and pushes if there is a key. Where the puller
 * could not open the remote, it has said so. */
static void run_end_here(const struct run_remote *run, uint64_t since, int status)
{
    const bool failed = status != 0;
    struct session session;
    if ((!failed && !run->secret_key) || !run_session_open(run, &session)) {
        return;
    }
    session.remote.engine->deadline_ns = clock_now_ns() + RUN_PUSH_MS * CLOCK_MS;
    if (failed) {
        death_judge(&session, run->app, since, run_has_crashed(status));
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

int run_remote_program(struct run_remote *run, char **command, int (*execute)(char **command))
{
    sigset_t signals;
    sigset_t before;
    struct sigaction action_before;
    struct puller puller;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    for (size_t i = 0; i < sizeof run_signals / sizeof run_signals[0]; i++) {
        sigaddset(&signals, run_signals[i]);
    }
    run_await_children(&action_before);
    sigprocmask(SIG_BLOCK, &signals, &before);
    const uint64_t since = (uint64_t)time(NULL);
    const pid_t parent = getpid();
    run_check_state(run);
    run_share_leases(run);
    puller_start(run, &puller);
    const pid_t child = fork();
    if (child <= 0) {
        puller_forget(&puller, child < 0);
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
    if (puller_end(&puller)) {
        run_end_here(run, since, status);
    }
    if (WIFSIGNALED(status)) {
        run_die_of(WTERMSIG(status), &before);
        return 128 + WTERMSIG(status);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return WEXITSTATUS(status);
}
