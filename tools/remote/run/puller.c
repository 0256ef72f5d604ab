// SPDX-License-Identifier: Apache-2.0
#include "tools/remote/run/puller.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/blobs/asked.h"
#include "common/files/file.h"
#include "common/files/names.h"

/* Poll interval of a puller that waits for another's lease, milliseconds. */
#define PULLER_LEASE_POLL_MS 250

/* Poll interval of the folder where the kernel does not tell of changes, milliseconds. */
#define PULLER_POLL_MS 20

/* The process. */

struct puller_work {
    const struct run_remote *run;
    struct session session; /* root NULL: the remote could not be opened */
    struct local_identities answered;
    bool has_recipes; /* they were asked for */
    atomic_bool *is_told;
    int folder_fd;
};

/* For a device that has no blob: until this run has the lease, there is a blob, or time is over. A
 * run without the lease pulls again after each poll. */
static void puller_wait_for_lease(struct puller_work *work, const char *hex)
{
    const struct run_remote *run = work->run;
    struct remote *remote = &work->session.remote;
    const uint64_t until_ns = clock_now_ns() + run->lease_wait_ms * CLOCK_MS;
    remote->engine->deadline_ns = until_ns;
    while (!remote->gone) {
        const enum lease_state state = lease_try(remote, run->leases, run->app, hex);
        /* Also after it is taken: the holder before us may just have pushed. */
        if (pull_blob(&work->session, run->app, hex) || remote->failed || state == LEASE_OURS ||
            state == LEASE_UNKNOWN || state == LEASE_FREE || clock_now_ns() >= until_ns) {
            return;
        }
        const struct timespec pause = clock_timespec(
            (PULLER_LEASE_POLL_MS / 2 + unique_draw() % PULLER_LEASE_POLL_MS) * CLOCK_MS);
        nanosleep(&pause, NULL);
    }
}

static void puller_pull(struct puller_work *work, const char *hex)
{
    struct session *session = &work->session;
    const struct run_remote *run = work->run;
    /* It gives up a little before the program does, and says what it waited for. */
    session->remote.engine->deadline_ns = clock_now_ns() + run->wait_ms * CLOCK_MS * 9 / 10;
    const bool has_blob = pull_blob(session, run->app, hex);
    if (!has_blob && !session->remote.gone && !work->has_recipes) {
        work->has_recipes = true;
        pull_recipes(session, run->app);
    }
    if (!has_blob && run->leases) {
        puller_wait_for_lease(work, hex);
    }
}

/* A remote is asked once for each device. */
static void puller_answer(struct puller_work *work, const char *hex)
{
    const size_t before = work->answered.count;
    local_identities_add(&work->answered, hex);
    if (work->session.root && work->answered.count > before && !work->session.remote.gone) {
        puller_pull(work, hex);
        atomic_store(work->is_told, work->session.remote.failed);
    }
    asked_answer(work->folder_fd, hex);
}

static void puller_answer_all(struct puller_work *work)
{
    DIR *listing = listing_open(work->folder_fd, ".");
    const char *name;
    while ((name = listing_next(listing))) {
        char hex[DIGEST_HEX_SIZE];
        if (names_classify(name, hex) == NAME_ASKED) {
            puller_answer(work, hex);
        }
    }
    listing_close(listing);
}

/* False: it is to end. */
static bool puller_wait(int changes_fd, int end_fd)
{
    char events[4096];
    struct pollfd polled[] = {{.fd = end_fd, .events = POLLIN},
                              {.fd = changes_fd, .events = POLLIN}};
    const int found = poll(polled, 2, changes_fd < 0 ? PULLER_POLL_MS : -1);
    if (found > 0 && polled[1].revents) {
        /* Only that there are some matters. */
        (void)!read(changes_fd, events, sizeof events);
    }
    return polled[0].revents == 0 && (found >= 0 || errno == EINTR);
}

static void puller_serve(const struct run_remote *run, atomic_bool *is_told, int end_fd)
{
    struct puller_work work = {.run = run, .is_told = is_told};
    char *folder;
    if (file_open_directory(run->root, run->app, true, &work.folder_fd) != STATUS_ok ||
        asprintf(&folder, "%s/%s", run->root, run->app) < 0) {
        return;
    }
    int changes_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (changes_fd >= 0 && inotify_add_watch(changes_fd, folder, IN_CREATE | IN_MODIFY) < 0) {
        close(changes_fd);
        changes_fd = -1;
    }
    free(folder);
    /* Where it cannot be opened, all are answered at once. */
    run_session_open(run, &work.session);
    do {
        puller_answer_all(&work);
    } while (puller_wait(changes_fd, end_fd));
    puller_answer_all(&work);
}

/* Its parent. */

void puller_start(const struct run_remote *run, struct puller *ret_puller)
{
    int ends[2];
    char *variable;
    *ret_puller = (struct puller){.end_fd = -1};
    if (session_is_read_only("run")) {
        return;
    }
    ret_puller->is_told = mmap(NULL, sizeof *ret_puller->is_told, PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (ret_puller->is_told == MAP_FAILED || pipe2(ends, O_CLOEXEC) != 0) {
        output_message("run: nothing is pulled: %s", strerror(errno));
        return;
    }
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent) {
            signal(SIGPIPE, SIG_IGN);
            puller_serve(run, ret_puller->is_told, ends[0]);
        }
        _exit(0);
    }
    close(ends[0]);
    if (child < 0) {
        output_message("run: nothing is pulled: %s", strerror(errno));
        close(ends[1]);
        return;
    }
    const uint64_t wait_ms = run->wait_ms + run->lease_wait_ms;
    if (asprintf(&variable, "%" PRIu64 ":%s/%s", wait_ms, run->root, run->app) >= 0) {
        setenv(ASKED_VARIABLE, variable, 1);
        free(variable);
    }
    ret_puller->process = child;
    ret_puller->end_fd = ends[1];
    ret_puller->until_ns = clock_now_ns() + wait_ms * CLOCK_MS;
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

/* Whether the child has ended by then; SIGCHLD is blocked. */
static bool puller_has_ended(pid_t child, uint64_t until_ns)
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

void puller_end(struct puller *puller)
{
    if (puller->process <= 0) {
        return;
    }
    close(puller->end_fd);
    if (!puller_has_ended(puller->process, puller->until_ns)) {
        kill(puller->process, SIGKILL);
        waitpid(puller->process, NULL, 0);
        if (!atomic_load(puller->is_told)) {
            output_message("run: nothing more is pulled: %s (%s)",
                           status_text(STATUS_remote_timeout), status_id(STATUS_remote_timeout));
        }
    }
    *puller = (struct puller){.end_fd = -1};
}
