// SPDX-License-Identifier: Apache-2.0
#include "tools/remote/run/puller.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
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

/* A pull that nobody waits for takes this long at most, milliseconds. */
#define PULLER_BACKGROUND_MS 60000

/* Longest request of one look at a lease, milliseconds: others may ask meanwhile. */
#define PULLER_LOOK_MS 2000

/* Shortest wait for the process once the program has ended, milliseconds. */
#define PULLER_END_MS 200

/* What it shows its parent. */
struct puller_state {
    atomic_bool is_told;   /* it has said what failed */
    atomic_bool is_asking; /* it waits for the remote */
    atomic_bool is_barred; /* it could not open the remote, and has said so */
    atomic_bool is_late;   /* nobody waits for what it pulls now */
};

/* In nanoseconds, no longer than anybody waits. */
static uint64_t puller_ns(uint64_t ms)
{
    return (ms < ASKED_WAIT_LIMIT_MS ? ms : ASKED_WAIT_LIMIT_MS) * CLOCK_MS;
}

/* The process. */

/* A device that waits for another machine's lease. */
struct puller_waiter {
    char hex[DIGEST_HEX_SIZE];
    uint64_t until_ns;
};

struct puller_work {
    const struct run_remote *run;
    struct session session; /* root NULL: the remote could not be opened */
    struct local_identities answered;
    struct puller_waiter waiters[LOCAL_IDENTITIES];
    size_t waiter_count;
    uint64_t look_ns;             /* when the leases are looked at next */
    struct local_identities late; /* whose answer came before the end of their pull */
    bool has_recipes;             /* they were asked for */
    struct puller_state *state;
    int folder_fd;
    char token[UNIQUE_HEX_SIZE];
};

static void puller_begin_request(struct puller_work *work, uint64_t limit_ns)
{
    struct remote *remote = &work->session.remote;
    remote->gone = false;
    remote->failed = false;
    remote->engine->deadline_ns = clock_now_ns() + limit_ns;
    atomic_store(&work->state->is_asking, true);
}

static void puller_end_request(struct puller_work *work)
{
    if (work->session.remote.failed) {
        atomic_store(&work->state->is_told, true);
    }
    atomic_store(&work->state->is_asking, false);
}

/* Whether the remote talks, but took longer than the program waits. */
static bool puller_was_cut(const struct puller_work *work, uint64_t received)
{
    const struct remote *remote = &work->session.remote;
    return remote->gone && remote->engine->traffic.received > received;
}

/* A device that has no blob waits until this run has the lease, there is a blob, or time is over: a
 * run without the lease pulls again at each look. Whether it waits on. */
static bool puller_look_at_lease(struct puller_work *work, const struct puller_waiter *waiter)
{
    const struct run_remote *run = work->run;
    struct remote *remote = &work->session.remote;
    const uint64_t received = remote->engine->traffic.received;
    const uint64_t now_ns = clock_now_ns();
    const uint64_t left_ns = waiter->until_ns > now_ns ? waiter->until_ns - now_ns : 0;
    const uint64_t look_ns = puller_ns(PULLER_LOOK_MS);
    puller_begin_request(work, left_ns < look_ns ? left_ns : look_ns);
    const enum lease_state state = lease_try(remote, run->leases, run->app, waiter->hex);
    /* Also after it is taken: the holder before us may just have pushed. From a remote that talks
     * it may take all the time that is left. */
    puller_begin_request(work, state == LEASE_UNKNOWN && look_ns < left_ns ? look_ns : left_ns);
    const bool has_blob = pull_blob(&work->session, run->app, waiter->hex);
    puller_end_request(work);
    if (!has_blob && puller_was_cut(work, received)) {
        local_identities_add(&work->late, waiter->hex);
    }
    return !has_blob && !remote->failed && state == LEASE_HELD && clock_now_ns() < waiter->until_ns;
}

static void puller_look_at_leases(struct puller_work *work)
{
    size_t kept = 0;
    for (size_t i = 0; i < work->waiter_count; i++) {
        const struct puller_waiter waiter = work->waiters[i];
        if (puller_look_at_lease(work, &waiter)) {
            work->waiters[kept++] = waiter;
        } else {
            asked_remove(work->folder_fd, waiter.hex, work->token);
        }
    }
    work->waiter_count = kept;
    work->look_ns = clock_now_ns() +
                    (PULLER_LEASE_POLL_MS / 2 + unique_draw() % PULLER_LEASE_POLL_MS) * CLOCK_MS;
}

/* Whether the device waits for a lease from now on. */
static bool puller_pull(struct puller_work *work, const char *hex)
{
    struct session *session = &work->session;
    const struct run_remote *run = work->run;
    /* Where the program waits, it gives up a little before that, and says what it waited for. */
    const uint64_t limit_ns = asked_has_file(work->folder_fd, hex)
                                  ? puller_ns(PULLER_BACKGROUND_MS)
                                  : puller_ns(run->wait_ms) / 10 * 9;
    const uint64_t received = session->remote.engine->traffic.received;
    puller_begin_request(work, limit_ns);
    const bool has_blob = pull_blob(session, run->app, hex);
    if (!has_blob && puller_was_cut(work, received)) {
        local_identities_add(&work->late, hex);
    }
    if (!has_blob && !session->remote.gone && !work->has_recipes) {
        work->has_recipes = true;
        pull_recipes(session, run->app);
    }
    puller_end_request(work);
    return !has_blob && !session->remote.gone && run->leases;
}

/* What took longer than a program waits comes for its next start, or its next save: nobody else
 * asks now, and it is begun anew. */
static void puller_pull_late(struct puller_work *work)
{
    const char *hex = work->late.hex[--work->late.count];
    atomic_store(&work->state->is_late, true);
    puller_begin_request(work, puller_ns(PULLER_BACKGROUND_MS));
    pull_blob(&work->session, work->run->app, hex);
    puller_end_request(work);
    atomic_store(&work->state->is_late, false);
}

static bool puller_has_waiter(const struct puller_work *work, const char *hex)
{
    for (size_t i = 0; i < work->waiter_count; i++) {
        if (strcmp(work->waiters[i].hex, hex) == 0) {
            return true;
        }
    }
    return false;
}

/* A remote is asked once for each device. */
static void puller_answer(struct puller_work *work, const char *hex)
{
    const size_t before = work->answered.count;
    if (puller_has_waiter(work, hex)) {
        return;
    }
    local_identities_add(&work->answered, hex);
    if (work->session.root && work->answered.count > before && puller_pull(work, hex)) {
        struct puller_waiter *waiter = &work->waiters[work->waiter_count++];
        snprintf(waiter->hex, sizeof waiter->hex, "%s", hex);
        waiter->until_ns = clock_now_ns() + puller_ns(work->run->lease_wait_ms);
        work->look_ns = 0;
    } else {
        asked_remove(work->folder_fd, hex, work->token);
    }
}

static void puller_answer_all(struct puller_work *work)
{
    DIR *listing = listing_open(work->folder_fd, ".");
    const char *name;
    while ((name = listing_next(listing))) {
        char hex[DIGEST_HEX_SIZE];
        char token[UNIQUE_HEX_SIZE];
        if (names_classify(name, hex) == NAME_ASKED) {
            asked_token(name, token);
            if (strcmp(token, work->token) == 0) {
                puller_answer(work, hex);
            }
        }
    }
    listing_close(listing);
}

/* Milliseconds until there is something to do without a change; -1: there is nothing. */
static int puller_pause_ms(const struct puller_work *work, int changes_fd)
{
    const uint64_t now_ns = clock_now_ns();
    if (work->late.count > 0) {
        return 0;
    }
    if (work->waiter_count == 0) {
        return changes_fd < 0 ? PULLER_POLL_MS : -1;
    }
    const int look_ms = work->look_ns > now_ns ? (int)((work->look_ns - now_ns) / CLOCK_MS) + 1 : 0;
    return changes_fd < 0 && look_ms > PULLER_POLL_MS ? PULLER_POLL_MS : look_ms;
}

/* False: it is to end. */
static bool puller_wait(const struct puller_work *work, int changes_fd, int end_fd)
{
    char events[4096];
    struct pollfd polled[] = {{.fd = end_fd, .events = POLLIN},
                              {.fd = changes_fd, .events = POLLIN}};
    const int found = poll(polled, 2, puller_pause_ms(work, changes_fd));
    if (found > 0 && polled[1].revents) {
        /* Only that there are some matters. */
        (void)!read(changes_fd, events, sizeof events);
    }
    return polled[0].revents == 0 && (found >= 0 || errno == EINTR);
}

static void puller_serve(struct puller_work *work, const struct file_owned *served, int end_fd)
{
    const struct run_remote *run = work->run;
    char *folder;
    if (asprintf(&folder, "%s/%s", run->root, run->app) < 0) {
        return;
    }
    int changes_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (changes_fd >= 0 && inotify_add_watch(changes_fd, folder, IN_CREATE | IN_MODIFY) < 0) {
        close(changes_fd);
        changes_fd = -1;
    }
    free(folder);
    /* Where it cannot be opened, all are answered at once. */
    if (!run_session_open(run, &work->session)) {
        atomic_store(&work->state->is_barred, true);
    }
    do {
        const size_t late_before = work->late.count;
        puller_answer_all(work);
        if (work->waiter_count > 0 && clock_now_ns() >= work->look_ns) {
            puller_look_at_leases(work);
        }
        if (work->late.count > 0 && work->late.count == late_before) {
            puller_pull_late(work);
        }
    } while (puller_wait(work, changes_fd, end_fd));
    puller_answer_all(work);
    unlinkat(work->folder_fd, served->name, 0);
}

/* Its parent. */

/* Descriptors of ours must not become those of the standard streams; the program gets them closed.
 */
static void puller_fill_streams(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) {
        close(fd);
    }
}

/* Makes what the child shows, the pipe that ends it, and the file that tells that it answers. False
 * after a message. */
static bool puller_prepare(struct puller_work *work, struct file_owned *ret_served, int ret_ends[2])
{
    const struct run_remote *run = work->run;
    puller_fill_streams();
    const enum status reason = file_open_directory(run->root, run->app, true, &work->folder_fd);
    if (reason != STATUS_ok) {
        output_message("run: nothing is pulled: %s (%s)", status_text(reason), status_id(reason));
        return false;
    }
    asked_sweep(work->folder_fd);
    work->state =
        mmap(NULL, sizeof *work->state, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (work->state == MAP_FAILED || !asked_serve(work->folder_fd, ret_served)) {
        output_message("run: nothing is pulled: %s", strerror(errno));
        close(work->folder_fd);
        return false;
    }
    unique_format(ret_served->number, work->token);
    if (pipe2(ret_ends, O_CLOEXEC) != 0) {
        output_message("run: nothing is pulled: %s", strerror(errno));
        unlinkat(work->folder_fd, ret_served->name, 0);
        close(ret_served->fd);
        close(work->folder_fd);
        return false;
    }
    return true;
}

static void puller_tell_program(const struct puller_work *work)
{
    const struct run_remote *run = work->run;
    const uint64_t wait_ms = (puller_ns(run->wait_ms) + puller_ns(run->lease_wait_ms)) / CLOCK_MS;
    char *variable;
    if (asprintf(&variable, "%" PRIu64 ":%s:%s/%s", wait_ms, work->token, run->root, run->app) >=
        0) {
        setenv(ASKED_VARIABLE, variable, 1);
        free(variable);
    }
}

void puller_start(const struct run_remote *run, struct puller *ret_puller)
{
    int ends[2];
    struct file_owned served;
    struct puller_work work = {.run = run};
    *ret_puller = (struct puller){.end_fd = -1};
    if (session_is_read_only("run") || !puller_prepare(&work, &served, ends)) {
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
        }
        _exit(0);
    }
    close(ends[0]);
    close(served.fd); /* the child alone holds the lock */
    if (child < 0) {
        output_message("run: nothing is pulled: %s", strerror(errno));
        unlinkat(work.folder_fd, served.name, 0);
        close(work.folder_fd);
        close(ends[1]);
        return;
    }
    puller_tell_program(&work);
    ret_puller->process = child;
    ret_puller->end_fd = ends[1];
    ret_puller->folder_fd = work.folder_fd;
    ret_puller->state = work.state;
    ret_puller->end_ns = puller_ns(run->wait_ms);
    if (ret_puller->end_ns < PULLER_END_MS * CLOCK_MS) {
        ret_puller->end_ns = PULLER_END_MS * CLOCK_MS;
    }
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

bool puller_end(struct puller *puller)
{
    if (puller->process <= 0) {
        return true;
    }
    close(puller->end_fd);
    const uint64_t end_ns =
        atomic_load(&puller->state->is_late) ? PULLER_END_MS * CLOCK_MS : puller->end_ns;
    if (!puller_has_ended(puller->process, clock_now_ns() + end_ns)) {
        kill(puller->process, SIGKILL);
        waitpid(puller->process, NULL, 0);
        if (atomic_load(&puller->state->is_asking) && !atomic_load(&puller->state->is_told)) {
            output_message("run: nothing more is pulled: %s (%s)",
                           status_text(STATUS_remote_timeout), status_id(STATUS_remote_timeout));
        }
    }
    asked_sweep(puller->folder_fd);
    close(puller->folder_fd);
    const bool is_barred = atomic_load(&puller->state->is_barred);
    munmap(puller->state, sizeof *puller->state);
    *puller = (struct puller){.end_fd = -1};
    return !is_barred;
}
