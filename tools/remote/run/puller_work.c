// SPDX-License-Identifier: Apache-2.0
#include "tools/remote/run/run_remote.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/files/names.h"

/* Poll interval of a puller that waits for another's lease, milliseconds. */
#define PULLER_LEASE_POLL_MS 250

/* Poll interval of the folder where the kernel does not tell of changes, milliseconds. */
#define PULLER_POLL_MS 20

/* A pull that nobody waits for takes this long at most, milliseconds, and begins when nothing was
 * asked for a while. */
#define PULLER_BACKGROUND_MS 60000
#define PULLER_QUIET_MS      300

/* So long nobody waits for a remote that was gone, milliseconds. */
#define PULLER_GONE_MS 60000

/* Longest request of one look at a lease, milliseconds: others may ask meanwhile. */
#define PULLER_LOOK_MS 2000

/* Programs that ask for several devices do so at their start. */
#define PULLER_REST_MS 5000

static void puller_begin_request(struct puller_work *work, uint64_t limit_ns)
{
    struct remote *remote = &work->session.remote;
    remote->gone = STATUS_ok;
    remote->failed = false;
    remote->engine->deadline_ns = clock_now_ns() + limit_ns;
    atomic_store(&work->state->is_asking, true);
}

static void puller_end_request(struct puller_work *work)
{
    const struct remote *remote = &work->session.remote;
    if (remote->failed) {
        atomic_store(&work->state->is_told, true);
    }
    atomic_store(&work->state->gone_because, (int)remote->gone);
    atomic_store(&work->state->is_asking, false);
    work->rest_ns = clock_now_ns() + puller_ns(PULLER_REST_MS);
}

/* A program may run for days, and no server has a connection for each of ten thousand machines. */
static void puller_rest(struct puller_work *work)
{
    if (work->rest_ns != 0 && clock_now_ns() >= work->rest_ns) {
        work->rest_ns = 0;
        engine_rest(work->session.remote.engine);
    }
}

static void puller_add_late(struct puller_work *work, const char *hex)
{
    local_identities_add(&work->late, hex);
    work->late_ns = clock_now_ns() + puller_ns(PULLER_QUIET_MS);
}

/* A remote that is not there is asked for no other device, lest a program with several waits for
 * each. If it talks, but took longer than the program waits, all of them are late. One that refuses
 * may do so for one device: S3 does where there is nothing, unless one may list. */
static void puller_note_gone(struct puller_work *work, const char *hex, uint64_t received)
{
    const struct remote *remote = &work->session.remote;
    if (remote->gone == STATUS_remote_timeout || remote->gone == STATUS_remote_unreachable ||
        remote->gone == STATUS_remote_tls) {
        work->gone_until_ns = clock_now_ns() + puller_ns(PULLER_GONE_MS);
        work->is_slow = remote->engine->traffic.received > received;
        if (work->is_slow) {
            puller_add_late(work, hex);
        }
    }
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
    if (!has_blob) {
        puller_note_gone(work, waiter->hex, received);
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
    if (clock_now_ns() < work->gone_until_ns) {
        if (work->is_slow) {
            puller_add_late(work, hex);
        }
        return false;
    }
    puller_begin_request(work, limit_ns);
    const bool has_blob = pull_blob(session, run->app, hex);
    if (!has_blob) {
        puller_note_gone(work, hex, received);
    }
    if (!has_blob && !session->remote.gone && !work->has_recipes) {
        work->has_recipes = true;
        pull_recipes(session, run->app);
    }
    if (!run->remote.secret_key) {
        remote_tell_unmade(&session->remote);
    }
    puller_end_request(work);
    return !has_blob && !session->remote.gone && run->leases;
}

/* What took longer than a program waits comes for its next start, or its next save: it is begun
 * anew. Nothing is answered meanwhile, so nobody is to wait for that. */
static void puller_pull_late(struct puller_work *work, const struct file_owned *served)
{
    const char *hex = work->late.hex[--work->late.count];
    atomic_store(&work->state->is_late, true);
    asked_pause(served);
    puller_begin_request(work, puller_ns(PULLER_BACKGROUND_MS));
    pull_blob(&work->session, work->run->app, hex);
    puller_end_request(work);
    asked_resume(served);
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

/* When a question was asked, in nanoseconds since the epoch; 0: it is answered. */
static uint64_t puller_asked_at(int folder_fd, const char *name)
{
    struct stat status;
    return fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0
               ? 0
               : clock_ns_of(status.st_mtim);
}

/* Whether another run was asked for the same device before, and answers. */
static bool puller_is_second(const struct puller_work *work, const char *own_name,
                             const char *own_hex, uint64_t asked_at)
{
    AUTO_LISTING DIR *listing = listing_open(work->folder_fd, ".");
    const char *name;
    bool is_second = false;
    while (!is_second && (name = listing_next(listing))) {
        char hex[DIGEST_HEX_SIZE];
        char token[UNIQUE_HEX_SIZE];
        if (strcmp(name, own_name) == 0 || names_classify(name, hex) != NAME_ASKED ||
            strcmp(hex, own_hex) != 0) {
            continue;
        }
        asked_token(name, token);
        const uint64_t at = puller_asked_at(work->folder_fd, name);
        is_second = at != 0 &&
                    (at < asked_at || (at == asked_at && strcmp(token, work->token) < 0)) &&
                    asked_is_served(work->folder_fd, token);
    }
    return is_second;
}

/* Of runs in one folder the first one pulls, and the others take what it has left: not for long,
 * for it may wait for something else. */
static bool puller_is_turn(struct puller_work *work, const char *name, const char *hex)
{
    const uint64_t asked_at = puller_asked_at(work->folder_fd, name);
    const uint64_t now_ns = clock_now_ns();
    if (asked_at == 0 || puller_has_waiter(work, hex)) {
        return true;
    }
    const size_t before = work->second.count;
    if (puller_is_second(work, name, hex, asked_at)) {
        local_identities_add(&work->second, hex);
        if (work->second.count > before) {
            work->turn_ns = now_ns + puller_ns(work->run->wait_ms) / 2;
        }
        work->stands_back |= now_ns < work->turn_ns;
        return now_ns >= work->turn_ns;
    }
    if (local_identities_have(&work->second, hex) && asked_has_file(work->folder_fd, hex)) {
        local_identities_add(&work->answered, hex); /* the other has pulled it just now */
    }
    return true;
}

static void puller_answer_all(struct puller_work *work)
{
    AUTO_LISTING DIR *listing = listing_open(work->folder_fd, ".");
    const char *name;
    work->stands_back = false;
    while ((name = listing_next(listing))) {
        char hex[DIGEST_HEX_SIZE];
        char token[UNIQUE_HEX_SIZE];
        if (names_classify(name, hex) == NAME_ASKED) {
            asked_token(name, token);
            if (strcmp(token, work->token) == 0 && puller_is_turn(work, name, hex)) {
                puller_answer(work, hex);
            }
        }
    }
}

/* Milliseconds until there is something to do without a change; -1: there is nothing. */
static int puller_pause_ms(const struct puller_work *work)
{
    const uint64_t now_ns = clock_now_ns();
    const bool polls = work->changes_fd < 0 || work->stands_back;
    const uint64_t times_ns[] = {work->waiter_count > 0 ? work->look_ns
                                 : work->late.count > 0 ? work->late_ns
                                                        : UINT64_MAX,
                                 work->rest_ns != 0 ? work->rest_ns : UINT64_MAX,
                                 polls ? now_ns + puller_ns(PULLER_POLL_MS) : UINT64_MAX};
    uint64_t next_ns = UINT64_MAX;
    for (size_t i = 0; i < sizeof times_ns / sizeof times_ns[0]; i++) {
        next_ns = times_ns[i] < next_ns ? times_ns[i] : next_ns;
    }
    return next_ns == UINT64_MAX ? -1
           : next_ns > now_ns    ? (int)((next_ns - now_ns) / CLOCK_MS) + 1
                                 : 0;
}

/* False: it is to end. */
static bool puller_wait(const struct puller_work *work, int end_fd)
{
    char events[4096];
    struct pollfd polled[] = {{.fd = end_fd, .events = POLLIN},
                              {.fd = work->changes_fd, .events = POLLIN}};
    const int found = poll(polled, 2, puller_pause_ms(work));
    if (found > 0 && polled[1].revents) {
        /* Only that there are some matters. */
        (void)!read(work->changes_fd, events, sizeof events);
    }
    return polled[0].revents == 0 && (found >= 0 || errno == EINTR);
}

/* While the program starts. A tenth of what it waits: a pull has the rest. */
static void puller_reach_out(struct puller_work *work)
{
    struct engine *engine = work->session.remote.engine;
    if (engine->operations->prepare) {
        engine->deadline_ns = clock_now_ns() + puller_ns(work->run->wait_ms) / 10;
        atomic_store(&work->state->is_late, true);
        (void)engine->operations->prepare(engine); /* the first pull tells what fails */
        work->rest_ns = clock_now_ns() + puller_ns(PULLER_REST_MS);
        atomic_store(&work->state->is_late, false);
    }
}

void puller_serve(struct puller_work *work, const struct file_owned *served, int end_fd)
{
    const struct run_remote *run = work->run;
    AUTO_FREE char *folder = output_format("%s/%s", run->root, run->app);
    if (!folder) {
        return;
    }
    work->changes_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (work->changes_fd >= 0 &&
        inotify_add_watch(work->changes_fd, folder, IN_CREATE | IN_MODIFY) < 0) {
        close(work->changes_fd);
        work->changes_fd = -1;
    }
    /* Where it cannot be opened, all are answered at once. */
    if (run_session_open(run, &work->session)) {
        puller_reach_out(work);
    } else {
        atomic_store(&work->state->is_barred, true);
    }
    do {
        puller_answer_all(work);
        if (work->waiter_count > 0 && clock_now_ns() >= work->look_ns) {
            puller_look_at_leases(work);
        }
        if (work->late.count > 0 && work->waiter_count == 0 && clock_now_ns() >= work->late_ns) {
            puller_pull_late(work, served);
        }
        puller_rest(work);
    } while (puller_wait(work, end_fd));
    puller_answer_all(work);
    unlinkat(work->folder_fd, served->name, 0);
}
