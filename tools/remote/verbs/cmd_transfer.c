// SPDX-License-Identifier: Apache-2.0
/* warmpipe pull and push: exchange with other machines what was compiled and recorded. */
#include "tools/cli/inventory.h"
#include "tools/remote/exchange.h"
#include "tools/remote/verbs/transfer.h"

enum {
    PULL_READER = OPTION_OWN,
    PULL_INSECURE = PULL_READER + READER_COUNT,
    PULL_FORGET,
    PULL_STATE
};
enum { PUSH_REPLACE = WRITER_END };

static const struct option_spec pull_options[] = {
    COMMON_OPTIONS,
    READER_OPTIONS(PULL_READER),
    [PULL_INSECURE] = {"insecure", 0, NULL, "do not check who has signed"},
    [PULL_FORGET] = {"forget", 0, NULL, "forget that pulled caches have killed programs here"},
    [PULL_STATE] = {"state", 0, "DIR", "notes of what killed a program are here, as of 'run'"},
    {NULL, 0, NULL, NULL},
};

static const struct option_spec push_options[] = {
    COMMON_OPTIONS,
    WRITER_OPTIONS,
    [PUSH_REPLACE] = {"replace", 0, NULL, "overwrite heads that no trusted key has signed"},
    {NULL, 0, NULL, NULL},
};

struct remote_options transfer_options(const char *verb, const struct arguments *arguments)
{
    return (struct remote_options){.verb = verb,
                                   .url = arguments->values[OPTION_REMOTE],
                                   .public_key = arguments->values[OPTION_PUBLIC_KEY]};
}

static void transfer_begin(struct session *session, const struct arguments *arguments,
                           struct output *output)
{
    output_begin(output, arguments->values[OPTION_JSON]);
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
    const int status =
        output_end(output, !known || session->remote.failed ? EXIT_FINDING : EXIT_CLEAN);
    session_close(session);
    return status;
}

static int pull_main(const struct arguments *arguments)
{
    struct remote_options options = transfer_options("pull", arguments);
    struct warm_coverage coverage = {.count = 0};
    struct session session;
    struct output output;
    options.insecure = arguments->values[PULL_INSECURE];
    options.forget = arguments->values[PULL_FORGET];
    options.state = arguments->values[PULL_STATE];
    if (!remote_options_add_age(&options, arguments->values[PULL_READER + READER_MIN_SERIAL],
                                arguments->values[PULL_READER + READER_MAX_AGE]) ||
        inventory_is_read_only("pull") ||
        !session_open(&options, inventory_new_root("pull", arguments->values[OPTION_DIR]),
                      &session)) {
        return EXIT_USAGE;
    }
    if (options.insecure) {
        output_message("pull: signatures are not checked (--insecure)");
    }
    transfer_begin(&session, arguments, &output);
    session.coverage = &coverage;
    const bool known = session_apps_there(&session, arguments->repeated, arguments->repeated_count);
    if (known) {
        vulkan_devices_list("pull", &session.devices);
        pull_all(&session);
    }
    remote_tell_unmade(&session.remote);
    return transfer_end(&session, known);
}

static int push_main(const struct arguments *arguments)
{
    struct remote_options options = transfer_options("push", arguments);
    struct session session;
    struct output output;
    options.secret_key = arguments->values[WRITER_SECRET_KEY];
    options.single_writer = arguments->values[WRITER_SINGLE];
    options.replace = arguments->values[PUSH_REPLACE];
    if (!options.secret_key) {
        output_message("push: give --secret-key FILE ('warmpipe remote keygen' makes one)");
        return EXIT_USAGE;
    }
    if (!session_open(&options, inventory_root("push", arguments->values[OPTION_DIR]), &session)) {
        return EXIT_USAGE;
    }
    if (!session_apps_here(&session, arguments->repeated, arguments->repeated_count)) {
        session_close(&session);
        return EXIT_USAGE;
    }
    transfer_begin(&session, arguments, &output);
    push_all(&session, arguments->values[WRITER_RECIPES]);
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
    .repeated = OPTION_APP,
    .run = pull_main,
};

const struct verb verb_push = {
    .name = "push",
    .doing = "pushing",
    .summary = "give other machines what this one has",
    .description =
        "Sends the caches that the remote lacks and names them in heads signed with the\n"
        "secret key. Several machines may push at once: none loses another's work. A head\n"
        "that no trusted key has signed is left alone, unless --replace is given. Caches\n"
        "in quarantine are named there as blocked. A server that ignores conditional\n"
        "writes needs --single-writer. What was pulled is not sent on before a program\n"
        "has used it (result 'on trial').\n\n"
        "Exit status: 0 done or nothing to do, 1 something was refused or could not be\n"
        "sent, 2 wrong usage.",
    .options = push_options,
    .repeated = OPTION_APP,
    .run = push_main,
};
