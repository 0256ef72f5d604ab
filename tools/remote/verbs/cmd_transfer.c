// SPDX-License-Identifier: Apache-2.0
/* warmpipe pull, push and sync: exchange with other machines what was compiled and recorded, once
 * or beside programs. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "common/base/clock.h"
#include "tools/remote/session.h"

/* What all three verbs take, what push and sync take, and what pull and sync do. */
/* clang-format off */
#define COMMON_OPTIONS \
    {"remote", 0, "URL", "which remote; default: WARMPIPE_REMOTE"}, \
    {"public-key", 0, "FILE", "trust this key, and no other"}, \
    {"app", 0, "NAME", "this program; may be given again"}, \
    VERB_DIR_OPTION, VERB_JSON_OPTION
#define WRITER_OPTIONS \
    {"secret-key", 0, "FILE", "push, and sign with this key"}, \
    {"single-writer", 0, NULL, "no other machine writes there"}, \
    {"recipes", 0, NULL, "push also what the programs asked for"}
#define READER_OPTIONS \
    {"min-serial", 0, "N", "refuse heads with a lower serial"}, \
    {"max-age", 0, "TIME", "refuse heads made longer ago"}
/* clang-format on */

static const struct option_spec pull_options[] = {
    COMMON_OPTIONS,
    READER_OPTIONS,
    {"insecure", 0, NULL, "do not check who has signed"},
    {"forget", 0, NULL, "forget that pulled caches have killed programs here"},
    {"state", 0, "DIR", "notes of what killed a program are here, as of 'run'"},
    {NULL, 0, NULL, NULL},
};

static const struct option_spec push_options[] = {
    COMMON_OPTIONS,
    WRITER_OPTIONS,
    {"replace", 0, NULL, "overwrite heads that are not trusted, or too old"},
    {NULL, 0, NULL, NULL},
};

static void transfer_begin(struct session *session, const struct arguments *arguments,
                           struct output *output)
{
    output_begin(output, arguments->json);
    session->output = output;
    output_open(output, "results", OUTPUT_TABLE);
}

/* Gives the exit status. */
static int transfer_end(struct session *session, bool known)
{
    struct output *output = session->output;
    output_close(output);
    if (session->coverage) {
        warm_coverage_show(session->coverage, output, true);
        warm_coverage_free(session->coverage);
    }
    session_show_traffic(session, output);
    return output_end(output, !known || session->remote.failed ? EXIT_FINDING : EXIT_CLEAN);
}

static int pull_main(const struct arguments *arguments)
{
    struct remote_options options;
    struct warm_coverage coverage = {.count = 0};
    AUTO(session_close) struct session session = {.told = 0};
    struct output output;
    if (!remote_options_read(arguments, &options) || inventory_is_read_only() ||
        !session_open(&options, inventory_new_root(arguments), &session)) {
        return EXIT_USAGE;
    }
    if (options.insecure) {
        output_message("signatures are not checked (--insecure)");
    }
    transfer_begin(&session, arguments, &output);
    session.coverage = &coverage;
    const bool known = session_apps_there(&session, arguments);
    if (known) {
        vulkan_devices_list(&session.devices);
        pull_all(&session);
    }
    remote_tell_unmade(&session.remote);
    return transfer_end(&session, known);
}

static int push_main(const struct arguments *arguments)
{
    struct remote_options options;
    AUTO(session_close) struct session session = {.told = 0};
    struct output output;
    if (!remote_options_read(arguments, &options)) {
        return EXIT_USAGE;
    }
    if (!options.secret_key) {
        output_message("give --secret-key FILE ('warmpipe remote keygen' makes one)");
        return EXIT_USAGE;
    }
    if (!session_open(&options, inventory_new_root(arguments), &session) ||
        !session_apps_here(&session, arguments)) {
        return EXIT_USAGE;
    }
    transfer_begin(&session, arguments, &output);
    push_all(&session, options_value(arguments, "recipes"));
    if (session.told == 0 && !session.remote.failed) {
        const char *only = session.apps.count == 1 ? session.apps.list[0].name : NULL;
        output_message("nothing to do: no cache%s%s in '%s'", only ? " of " : "", only ? only : "",
                       session.root);
    }
    return transfer_end(&session, true);
}

const struct verb verb_pull = {
    .name = "pull",
    .doing = "pulling",
    .summary = "take what other machines have compiled",
    .description =
        "Takes from a remote the caches of this machine's devices, and of those for which\n"
        "a program has found none here; recipes, where a device then has none. Only what\n"
        "the key in --public-key or WARMPIPE_REMOTE_KEY has signed, else one of those in\n"
        "~/.config/warmpipe/trusted/; nothing damaged, of another device, or that has\n"
        "crashed a driver. All programs, where the remote can list them. Heads older than\n"
        "those seen here are refused; a new machine has --min-serial and --max-age. Two\n"
        "deaths of pulled caches bar those of a device, until --forget.\n\n"
        "Exit status: 0 done or nothing to do, 1 refused or not to be had, 2 wrong usage.",
    .options = pull_options,
    .repeated = "app",
    .run = pull_main,
};

const struct verb verb_push = {
    .name = "push",
    .doing = "pushing",
    .summary = "give other machines what this one has",
    .description =
        "Sends the caches that the remote lacks and names them in heads signed with the\n"
        "secret key. Several machines may push at once: none loses another's work. A head\n"
        "that is not trusted, or too old, is left alone unless --replace is given. Caches\n"
        "in quarantine are named there as blocked. A server that ignores conditional\n"
        "writes needs --single-writer. What was pulled is not sent on before a program\n"
        "has used it (result 'on trial').\n\n"
        "Exit status: 0 done or nothing to do, 1 something was refused or could not be\n"
        "sent, 2 wrong usage.",
    .options = push_options,
    .repeated = "app",
    .run = push_main,
};

/* Poll interval of the folder, milliseconds. */
#define SYNC_POLL_MS 1000

/* Who has looked for a cache this long ago compiles no more, seconds: as long as a lease lasts. */
#define SYNC_COMPILES_S 600

static const struct option_spec sync_options[] = {
    COMMON_OPTIONS,        WRITER_OPTIONS,
    READER_OPTIONS,        {"interval", 0, "TIME", "time between two pulls; default: 60s"},
    {NULL, 0, NULL, NULL},
};

struct sync {
    const struct arguments *arguments;
    struct session *session;
    struct leases leases;
    sigset_t signals; /* that end it */
    uint64_t pulls;   /* rounds */
    uint64_t pushes;
    bool failed;     /* in the latest round of either */
    bool unsent;     /* the latest push failed */
    uint64_t pushed; /* the stamp of the folder that was pushed last */
    uint64_t lost;   /* remote.lost of the latest pull */
    uint64_t wanted; /* the stamp of what programs looked for, at the latest pull */
};

static uint64_t sync_mix(uint64_t stamp, const char *root, const char *app, const char *below)
{
    struct stat status;
    AUTO_FREE char *folder = output_format("%s/%s%s", root, app, below);
    if (folder && stat(folder, &status) == 0) {
        const uint64_t time = clock_ns_of(status.st_mtim);
        stamp = (stamp ^ time) * UINT64_C(0x9e3779b97f4a7c15) + status.st_ino;
    }
    return stamp;
}

/* A number that changes with every file that is saved: each is renamed into its folder. */
static uint64_t sync_stamp(struct sync *sync)
{
    struct session *session = sync->session;
    uint64_t stamp = 1;
    session_apps_here(session, sync->arguments);
    for (size_t i = 0; i < session->apps.count; i++) {
        stamp = sync_mix(stamp, session->root, session->apps.list[i].name, "");
        stamp = sync_mix(stamp, session->root, session->apps.list[i].name, "/recipes");
    }
    return stamp;
}

/* A number that changes when a program looks for a cache file that is not there, for the first time
 * in 30 days: those of a driver that keeps nothing do so at each start. */
static uint64_t sync_wanted(const struct sync *sync)
{
    const struct session *session = sync->session;
    uint64_t stamp = 1;
    for (size_t i = 0; i < session->apps.count; i++) {
        const char *app = session->apps.list[i].name;
        struct local_identities wanted = {.count = 0};
        local_identities_add_wanted(session->root, app, LOCAL_WANTED_S, &wanted);
        for (size_t k = 0; k < wanted.count; k++) {
            stamp += digest_of(wanted.hex[k], sizeof wanted.hex[k]).low ^
                     digest_of(app, strlen(app)).low;
        }
    }
    return stamp;
}

static void sync_begin_round(struct sync *sync)
{
    sync->session->remote.gone = STATUS_ok;
    sync->session->remote.failed = false;
    sync->session->remote.lost = 0;
}

/* What programs have looked for just now and nobody has, they compile: others may wait for it. */
static void sync_take_leases(struct sync *sync)
{
    const struct session *session = sync->session;
    lease_make_room(&sync->session->remote, &sync->leases);
    for (size_t i = 0; i < session->apps.count; i++) {
        struct local_identities wanted = {.count = 0};
        local_identities_add_wanted(session->root, session->apps.list[i].name, SYNC_COMPILES_S,
                                    &wanted);
        for (size_t k = 0; k < wanted.count && !session->remote.gone; k++) {
            if (!local_exists(session->root, session->apps.list[i].name, wanted.hex[k])) {
                lease_try(&sync->session->remote, &sync->leases, session->apps.list[i].name,
                          wanted.hex[k]);
            }
        }
    }
}

static void sync_pull(struct sync *sync)
{
    const uint64_t wanted = sync_wanted(sync);
    sync_begin_round(sync);
    if (session_apps_there(sync->session, sync->arguments)) {
        pull_all(sync->session);
    }
    if (sync->session->remote.keys.can_sign && wanted != sync->wanted) {
        sync_take_leases(sync);
    }
    if (!sync->session->remote.keys.can_sign) {
        remote_tell_unmade(&sync->session->remote);
    }
    sync->failed = sync->session->remote.failed;
    sync->wanted = wanted;
    sync->pulls++;
}

/* A push that failed, or whose head the remote has lost since, is made again after the next pull.
 */
static void sync_push(struct sync *sync, uint64_t stamp)
{
    sync_begin_round(sync);
    push_all(sync->session, options_value(sync->arguments, "recipes"));
    lease_give_back(&sync->session->remote, &sync->leases, sync->session->root);
    sync->failed = sync->unsent = sync->session->remote.failed;
    sync->pushed = stamp;
    sync->pushes++;
}

/* A signal has come: the push that was under way had the time that all has which is left. */
static void sync_end(struct sync *sync, bool can_push)
{
    struct engine *engine = sync->session->remote.engine;
    const uint64_t stamp = sync_stamp(sync);
    if (engine->stop_ns == 0) {
        engine->stop_ns = clock_now_ns() + ENGINE_STOP_MS * CLOCK_MS;
    }
    if (can_push && (stamp != sync->pushed || sync->unsent) && engine_time_left(engine, 1) > 0) {
        sync_push(sync, stamp);
    }
    sync->session->remote.gone = STATUS_ok; /* others must not wait for what has ended */
    engine->stop_ns = clock_now_ns() + LEASE_LAST_MS * CLOCK_MS;
    lease_give_back(&sync->session->remote, &sync->leases, NULL);
}

/* Until a signal comes. Pushes once nothing has changed between two polls; where something always
 * does, as with many programs, at the interval. */
static void sync_loop(struct sync *sync, uint64_t interval_ms)
{
    const struct timespec pause = clock_timespec(SYNC_POLL_MS * CLOCK_MS);
    const bool can_push = sync->session->remote.keys.can_sign;
    uint64_t next_pull = 0;
    uint64_t before = 0;
    uint64_t changed_ns = 0; /* when what was not yet pushed was first seen; 0: there is nothing */
    bool again = false;
    do {
        const uint64_t now = clock_now_ns();
        if (now >= next_pull || sync_wanted(sync) != sync->wanted) {
            sync_pull(sync);
            next_pull = now + interval_ms * CLOCK_MS;
            /* Not each time: this machine may have nothing to send for a head that is gone. */
            const uint64_t lost = sync->session->remote.lost;
            again = sync->unsent || (lost != 0 && lost != sync->lost);
            sync->lost = lost;
        }
        const uint64_t stamp = sync_stamp(sync);
        changed_ns = stamp == sync->pushed && !again ? 0 : changed_ns ? changed_ns : now;
        if (can_push && changed_ns &&
            (stamp == before || now - changed_ns >= interval_ms * CLOCK_MS)) {
            sync_push(sync, stamp);
            again = false;
            changed_ns = 0;
        }
        before = stamp;
        engine_rest(sync->session->remote.engine);
    } while (sigtimedwait(&sync->signals, NULL, &pause) <= 0);
    sync_end(sync, can_push);
}

static int sync_main(const struct arguments *arguments)
{
    struct remote_options options;
    const char *interval = options_value(arguments, "interval");
    AUTO(session_close) struct session session = {.told = 0};
    struct sync sync = {.arguments = arguments, .session = &session};
    struct output output;
    uint64_t interval_ms = 60000;
    signal(SIGPIPE, SIG_IGN); /* a remote that goes away is an error, not the end */
    sigemptyset(&sync.signals);
    sigaddset(&sync.signals, SIGTERM);
    sigaddset(&sync.signals, SIGINT);
    sigprocmask(SIG_BLOCK, &sync.signals, NULL);
    if (!remote_options_read(arguments, &options) ||
        (interval && !options_duration(interval, &interval_ms)) || inventory_is_read_only() ||
        !session_open(&options, inventory_new_root(arguments), &session) ||
        !session_apps_here(&session, arguments)) {
        return EXIT_USAGE;
    }
    session.remote.engine->stops = &sync.signals;
    vulkan_devices_list(&session.devices);
    leases_init(&sync.leases);
    sync_loop(&sync, interval_ms);
    output_begin(&output, arguments->json);
    output_number(&output, "pulls", sync.pulls);
    output_number(&output, "pushes", sync.pushes);
    session_show_traffic(&session, &output);
    return output_end(&output, sync.failed ? EXIT_FINDING : EXIT_CLEAN);
}

const struct verb verb_sync = {
    .name = "sync",
    .doing = "pulling and pushing",
    .summary = "pull and push beside programs that run",
    .description = "The sidecar: pulls, and pulls again at an interval; with a secret key it also\n"
                   "pushes what programs have saved, once it is quiet or at the interval, and has\n"
                   "the lease of what they compile until then. It needs no driver. SIGTERM and\n"
                   "SIGINT end it after the push under way, and after what was not yet pushed.\n\n"
                   "Exit status: 0 the latest pull or push went well, 1 it did not, 2 wrong usage.",
    .options = sync_options,
    .repeated = "app",
    .run = sync_main,
};
