// SPDX-License-Identifier: Apache-2.0
#include "tools/remote/run/run_remote.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Longest push at the end, and wait for its first answer: of a remote that has failed a pull of
 * this run, and of another; where somebody has ended the program, the least, and how long before
 * its end that may have been, milliseconds. */
#define RUN_PUSH_MS        30000
#define RUN_GONE_MS        2000
#define RUN_SILENT_MS      5000
#define RUN_LEAST_PUSH_MS  2000
#define RUN_STOPPED_AGO_MS 10000

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
    AUTO_CLOSE int fd = -1;
    if (!run->remote.state) {
        return;
    }
    enum status reason = file_open_directory(run->remote.state, "remote", true, &fd);
    if (reason == STATUS_ok && faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) != 0) {
        reason = status_from_errno(errno);
    }
    if (reason != STATUS_ok) {
        output_reason(reason, "--state %s", run->remote.state);
    }
}

/* The program. */

/* Signals that are handed on to it: those that somebody sends who wants an end come first. */
#define RUN_STOPS 3
static const int run_signals[] = {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2};

/* A terminal continues this process and the program together, but one of them first. */
#define RUN_CONTINUE_MS 50

static bool run_is_in_foreground(void)
{
    bool is_it = false;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        is_it |= tcgetpgrp(fd) == getpgrp();
    }
    return is_it;
}

static bool run_has_stopped(pid_t child, int options)
{
    siginfo_t info = {.si_pid = 0};
    return waitid(P_PID, (id_t)child, &info, WSTOPPED | WNOHANG | options) == 0 &&
           info.si_pid == child;
}

/* A program that stops itself stops this process, too: as without it, the shell of the terminal
 * goes on. */
static void run_stop_with(pid_t child)
{
    if (run_is_in_foreground() && run_has_stopped(child, WNOWAIT)) {
        clock_pause(RUN_CONTINUE_MS * CLOCK_MS);
        if (run_has_stopped(child, 0)) {
            raise(SIGSTOP);
        }
    }
}

/* Waits for the end of the child, and hands on what others send; what a terminal sends it gets by
 * itself. As the first process of a container it reaps the orphans. *ret_stopped_ns: when somebody
 * wanted its end at last; 0: nobody. */
static int run_wait(pid_t child, const sigset_t *signals, const sigset_t *stops,
                    uint64_t *ret_stopped_ns)
{
    const int status = 1 << 8; /* an end that nobody tells is no success */
    for (;;) {
        siginfo_t info;
        pid_t found;
        int ended;
        while ((found = waitpid(-1, &ended, WNOHANG)) > 0 && found != child) {
        }
        if (found == child || (found < 0 && errno != EINTR)) {
            return found == child ? ended : status;
        }
        run_stop_with(child);
        const int signal = sigwaitinfo(signals, &info);
        if (signal > 0 && sigismember(stops, signal)) {
            *ret_stopped_ns = clock_now_ns();
        }
        const bool is_of_terminal =
            (signal == SIGINT || signal == SIGQUIT) && info.si_code == SI_KERNEL;
        if (signal > 0 && signal != SIGCHLD && !is_of_terminal) {
            kill(child, signal);
        }
    }
}

/* How the program ended. */
struct run_end {
    int status;
    uint64_t since;      /* when it began, seconds since the epoch */
    uint64_t stopped_ns; /* when somebody wanted it to, at last; 0: nobody did */
};

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

/* Whether somebody who has ended the program waits for this one too. */
static bool run_is_stopped(uint64_t stopped_ns)
{
    return stopped_ns != 0 && clock_now_ns() - stopped_ns <= RUN_STOPPED_AGO_MS * CLOCK_MS;
}

static uint64_t run_push_deadline_ns(uint64_t stopped_ns)
{
    const uint64_t now_ns = clock_now_ns();
    if (!run_is_stopped(stopped_ns)) {
        return now_ns + RUN_PUSH_MS * CLOCK_MS;
    }
    const uint64_t end_ns = stopped_ns + ENGINE_STOP_MS * CLOCK_MS;
    const uint64_t least_ns = now_ns + RUN_LEAST_PUSH_MS * CLOCK_MS;
    return end_ns > least_ns ? end_ns : least_ns;
}

/* After the program: puts away what has killed it, and pushes if there is a key. Where the puller
 * could not open the remote, or it was gone, it has said so. */
static void run_end_here(const struct run_remote *run, const struct run_end *end,
                         const sigset_t *stops, const struct puller *puller)
{
    AUTO(session_close) struct session session = {.told = 0};
    if ((end->status == 0 && !run->remote.secret_key) || !run_session_open(run, &session)) {
        return;
    }
    session.remote.already_told = puller->gone_because;
    struct engine *engine = session.remote.engine;
    engine->stops = stops;
    engine->deadline_ns = run_push_deadline_ns(end->stopped_ns);
    engine->silent_ms =
        puller->was_asking || puller->gone_because != STATUS_ok ? RUN_GONE_MS : RUN_SILENT_MS;
    if (end->status != 0) {
        death_judge(&session, run->app, end->since, run_has_crashed(end->status));
    }
    if (run->remote.secret_key) {
        push_all(&session, true);
    }
    if (run->remote.secret_key && run->leases) {
        if (engine_time_left(engine, 1) == 0) { /* others must not wait for what has ended */
            session.remote.gone = STATUS_ok;
            engine->stops = NULL;
            engine->stop_ns = 0;
            engine->silent_ms = 0;
            engine->deadline_ns = clock_now_ns() + LEASE_LAST_MS * CLOCK_MS;
        }
        lease_give_back(&session.remote, run->leases, NULL);
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

int run_remote_program(struct run_remote *run, char **command, int (*execute)(char **command))
{
    sigset_t signals;
    sigset_t stops;
    sigset_t before;
    struct sigaction action_before;
    struct puller puller;
    sigemptyset(&stops);
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    for (size_t i = 0; i < sizeof run_signals / sizeof run_signals[0]; i++) {
        sigaddset(&signals, run_signals[i]);
        if (i < RUN_STOPS) {
            sigaddset(&stops, run_signals[i]);
        }
    }
    /* Where SIGCHLD is ignored, the end of a child is lost, and waiting for it never ends. */
    const struct sigaction action = {.sa_handler = SIG_DFL};
    sigaction(SIGCHLD, &action, &action_before);
    sigprocmask(SIG_BLOCK, &signals, &before);
    struct run_end end = {.since = (uint64_t)time(NULL)};
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
    end.status = run_wait(child, &signals, &stops, &end.stopped_ns);
    if (puller_end(&puller, &stops, run_is_stopped(end.stopped_ns), &end.stopped_ns)) {
        run_end_here(run, &end, &stops, &puller);
    }
    (void)!waitpid(-1, NULL, WNOHANG); /* the puller, if it is gone by now */
    /* A signal that came since then has had its effect: the end is the program's. */
    while (sigtimedwait(&signals, NULL, &(struct timespec){0}) > 0) {
    }
    if (WIFSIGNALED(end.status)) {
        run_die_of(WTERMSIG(end.status), &before);
        return 128 + WTERMSIG(end.status);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return WEXITSTATUS(end.status);
}
