// SPDX-License-Identifier: Apache-2.0
#include "tools/remote/run/run_remote.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools/cli/inventory.h"

/* Shortest wait for the process once the program has ended, and the one where somebody wants the
 * end, milliseconds. */
#define PULLER_END_MS 200

/* Makes what the child shows, the pipe that ends it, and the file that tells that it answers. False
 * after a message. */
static bool puller_prepare(struct puller_work *work, struct file_owned *ret_served, int ret_ends[2])
{
    const struct run_remote *run = work->run;
    const enum status reason = file_open_directory(run->root, run->app, true, &work->folder_fd);
    if (reason != STATUS_ok) {
        output_reason(reason, "nothing is pulled");
        return false;
    }
    asked_sweep(work->folder_fd);
    work->state =
        mmap(NULL, sizeof *work->state, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const bool has_pipe = work->state != MAP_FAILED && pipe2(ret_ends, O_CLOEXEC) == 0;
    if (has_pipe && asked_serve(work->folder_fd, ret_served)) {
        unique_format(ret_served->number, work->token);
        return true;
    }
    output_message("nothing is pulled: %s", strerror(errno));
    io_close(has_pipe ? ret_ends[0] : -1);
    io_close(has_pipe ? ret_ends[1] : -1);
    close(work->folder_fd);
    return false;
}

/* Descriptors of ours are below this, and those that a caller hands on as a rule. */
#define PULLER_DESCRIPTORS 1024

/* Closes all descriptors of these. Kernels before 5.9 and some sandboxes have no close_range, nor
 * has musl a function of that name. */
static void puller_close(unsigned first, unsigned last)
{
    if (syscall(SYS_close_range, first, last, 0) != 0) {
        for (unsigned fd = first; fd <= last && fd < PULLER_DESCRIPTORS; fd++) {
            close((int)fd);
        }
    }
}

/* The kernel takes up to 20 ms to close what watches a folder: the parent waits for this rather
 * than for the end. Nothing else is held meanwhile: who reads what we say, waits for a lock that
 * was handed on to us, or unmounts the folder does not wait either. */
static void puller_be_done(const struct puller_work *work, pid_t parent)
{
    (void)!chdir("/");
    const int watch = work->changes_fd; /* above the standard streams, which are open */
    if (watch > 0) {
        puller_close(0, (unsigned)watch - 1);
    }
    puller_close((unsigned)(watch + 1), ~0U);
    atomic_store(&work->state->is_done, true);
    if (getppid() == parent) {
        kill(parent, SIGCHLD);
    }
}

static void puller_tell_program(const struct puller_work *work)
{
    const struct run_remote *run = work->run;
    const uint64_t wait_ms = (puller_ns(run->wait_ms) + puller_ns(run->lease_wait_ms)) / CLOCK_MS;
    AUTO_FREE char *variable =
        output_format("%" PRIu64 ":%s:%s/%s", wait_ms, work->token, run->root, run->app);
    if (variable) {
        setenv(ASKED_VARIABLE, variable, 1);
    }
}

void puller_start(const struct run_remote *run, struct puller *ret_puller)
{
    int ends[2];
    struct file_owned served;
    struct puller_work work = {.run = run, .changes_fd = -1};
    *ret_puller = (struct puller){.end_fd = -1};
    if (inventory_is_read_only() || !puller_prepare(&work, &served, ends)) {
        return;
    }
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent) {
            signal(SIGPIPE, SIG_IGN);
            puller_serve(&work, &served, ends[0]);
            puller_be_done(&work, parent);
        }
        _exit(0);
    }
    close(ends[0]);
    close(served.fd); /* the child alone holds the lock */
    if (child < 0) {
        output_message("nothing is pulled: %s", strerror(errno));
        unlinkat(work.folder_fd, served.name, 0);
        close(work.folder_fd);
        close(ends[1]);
        return;
    }
    puller_tell_program(&work);
    *ret_puller = (struct puller){
        .process = child,
        .end_fd = ends[1],
        .folder_fd = work.folder_fd,
        .state = work.state,
        .end_ns = puller_ns(run->wait_ms > PULLER_END_MS ? run->wait_ms : PULLER_END_MS),
    };
}

void puller_forget(const struct puller *puller, bool is_left)
{
    if (puller->process > 0) {
        close(puller->end_fd);
    }
    if (is_left) {
        unsetenv(ASKED_VARIABLE);
    }
}

/* Whether the child is done by then, or soon after one of the signals, which are blocked, as
 * SIGCHLD is. */
static bool puller_is_done(const struct puller *puller, uint64_t until_ns, const sigset_t *stops,
                           uint64_t *ret_stopped_ns)
{
    sigset_t awaited = *stops;
    sigaddset(&awaited, SIGCHLD);
    for (;;) {
        const pid_t found = waitpid(puller->process, NULL, WNOHANG);
        if (found == puller->process || (found < 0 && errno != EINTR) ||
            atomic_load(&puller->state->is_done)) {
            return true;
        }
        const uint64_t now = clock_now_ns();
        if (now >= until_ns) {
            return false;
        }
        const struct timespec left = clock_timespec(until_ns - now);
        if (sigismember(stops, sigtimedwait(&awaited, NULL, &left)) == 1) {
            *ret_stopped_ns = clock_now_ns();
            const uint64_t soon_ns = *ret_stopped_ns + PULLER_END_MS * CLOCK_MS;
            until_ns = soon_ns < until_ns ? soon_ns : until_ns;
        }
    }
}

bool puller_end(struct puller *puller, const sigset_t *stops, bool is_stopped,
                uint64_t *ret_stopped_ns)
{
    if (puller->process <= 0) {
        return true;
    }
    const uint64_t stopped_before_ns = *ret_stopped_ns;
    bool was_asking = false;
    close(puller->end_fd);
    const uint64_t end_ns = is_stopped || atomic_load(&puller->state->is_late)
                                ? PULLER_END_MS * CLOCK_MS
                                : puller->end_ns;
    if (!puller_is_done(puller, clock_now_ns() + end_ns, stops, ret_stopped_ns)) {
        kill(puller->process, SIGKILL);
        waitpid(puller->process, NULL, 0);
        const bool is_given_up = is_stopped || *ret_stopped_ns != stopped_before_ns;
        was_asking = atomic_load(&puller->state->is_asking);
        if (was_asking && !is_given_up && !atomic_load(&puller->state->is_told)) {
            output_reason(STATUS_remote_timeout, "nothing more is pulled");
            atomic_store(&puller->state->gone_because, STATUS_remote_timeout);
        }
    }
    asked_sweep(puller->folder_fd);
    close(puller->folder_fd);
    const bool is_barred = atomic_load(&puller->state->is_barred);
    const int gone_because = atomic_load(&puller->state->gone_because);
    munmap(puller->state, sizeof *puller->state);
    *puller = (struct puller){
        .end_fd = -1, .gone_because = (enum status)gone_because, .was_asking = was_asking};
    return !is_barred;
}
