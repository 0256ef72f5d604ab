// SPDX-License-Identifier: Apache-2.0
/* warmpipe remote: looks after what lies at a remote. */
#include <stdlib.h>
#include <string.h>

#include "common/driver/vulkan_names.h"
#include "tools/cli/options.h"
#include "tools/cli/verb.h"
#include "tools/remote/verbs/remote_actions.h"

enum {
    OPTION_REMOTE,
    OPTION_PUBLIC_KEY,
    OPTION_SECRET_KEY,
    OPTION_APP,
    OPTION_GRACE,
    OPTION_DRY_RUN,
    OPTION_OUT,
    OPTION_JSON
};

static const struct option_spec options[] = {
    [OPTION_REMOTE] = {"remote", 0, "URL", "which; default: WARMPIPE_REMOTE"},
    [OPTION_PUBLIC_KEY] = {"public-key", 0, "FILE", "trust this key, and no other"},
    [OPTION_SECRET_KEY] = {"secret-key", 0, "FILE", "check: also try to write"},
    [OPTION_APP] = {"app", 0, "NAME", "of this program; may be given again"},
    [OPTION_GRACE] = {"grace", 0, "TIME", "gc: only what was unused for so long (default 24h)"},
    [OPTION_DRY_RUN] = {"dry-run", 'n', NULL, "rm, gc: show what would be removed; remove nothing"},
    [OPTION_OUT] = {"out", 0, "DIR", "keygen: where the two keys go"},
    [OPTION_JSON] = VERB_JSON_OPTION,
    {NULL, 0, NULL, NULL},
};

typedef int remote_action(struct session *session, const struct remote_request *request,
                          struct output *output);

/* Actions on heads. */

static void remote_show_names(struct output *output, const char *path, const struct head *head,
                              enum status reason)
{
    char program[NAMES_APP_SIZE] = "";
    char identity[DIGEST_HEX_SIZE] = "";
    char driver[VULKAN_DRIVER_SIZE] = "";
    uint64_t bytes = 0;
    head_split_path(path, program, identity);
    for (size_t i = 0; i < head->part_count; i++) {
        bytes += head->parts[i].bytes;
    }
    if (identity[0] && reason == STATUS_ok) {
        vulkan_driver_words(&head->identity, driver);
    }
    output_text(output, "name", program);
    output_text(output, "kind", identity[0] ? "blob" : "recipes");
    output_text(output, "device", head->identity.device_name);
    output_text(output, "driver", driver);
    output_number(output, "serial", head->serial);
    output_number(output, "parts", head->part_count);
    output_size(output, "size", bytes);
    output_text(output, "identity", identity);
    output_text(output, "state", reason == STATUS_ok ? "ok" : status_id(reason));
}

static void remote_show_objects(struct output *output, const char *table,
                                const struct head_part *parts, size_t count)
{
    output_open(output, table, OUTPUT_TABLE);
    for (size_t i = 0; i < count; i++) {
        output_open(output, NULL, OUTPUT_ROW);
        output_text(output, "object", parts[i].object);
        output_size(output, "size", parts[i].bytes);
        output_size(output, "unpacked", parts[i].unpacked);
        output_text(output, "place", parts[i].frame ? "head" : "object");
        output_text(output, "base", parts[i].base);
        output_time(output, "made", parts[i].made);
        output_close(output);
    }
    output_close(output);
}

static void remote_show_more(struct output *output, const struct head *head)
{
    output_time(output, "made", head->made);
    remote_show_objects(output, "objects", head->parts, head->part_count);
    remote_show_objects(output, "bases", head->bases, head->base_count);
    output_open(output, "blocked", OUTPUT_TABLE);
    for (size_t i = 0; i < head->blocked_count; i++) {
        output_open(output, NULL, OUTPUT_ROW);
        output_text(output, "payload", head->blocked[i]);
        output_close(output);
    }
    output_close(output);
}

static int remote_show_heads(struct session *session, const struct remote_request *request,
                             struct output *output, bool in_full)
{
    struct session_heads heads;
    if (!session_find_heads(session, request->apps, request->app_count, &heads)) {
        return EXIT_FINDING;
    }
    output_open(output, "heads", in_full ? OUTPUT_LIST : OUTPUT_TABLE);
    for (size_t i = 0; i < heads.count && !session->remote.gone; i++) {
        char program[NAMES_APP_SIZE];
        char identity[DIGEST_HEX_SIZE];
        struct head head = {.part_count = 0};
        struct engine_value value = {0};
        head_split_path(heads.paths[i], program, identity);
        const enum status reason =
            remote_get_head(&session->remote, program, identity, &head, &value);
        engine_value_free(&value);
        if (reason == STATUS_no_file) {
            continue;
        }
        if (reason != STATUS_ok) {
            remote_complain(&session->remote, heads.paths[i], reason);
            head = (struct head){.part_count = 0};
        }
        output_open(output, NULL, in_full ? OUTPUT_ITEM : OUTPUT_ROW);
        remote_show_names(output, heads.paths[i], &head, reason);
        if (in_full) {
            remote_show_more(output, &head);
        }
        output_close(output);
    }
    output_close(output);
    session_heads_free(&heads);
    return EXIT_CLEAN;
}

static int remote_list(struct session *session, const struct remote_request *request,
                       struct output *output)
{
    return remote_show_heads(session, request, output, false);
}

static int remote_show(struct session *session, const struct remote_request *request,
                       struct output *output)
{
    return remote_show_heads(session, request, output, true);
}

/* Removes heads; gc removes what they named. */
static int remote_remove(struct session *session, const struct remote_request *request,
                         struct output *output)
{
    struct remote *remote = &session->remote;
    struct session_heads heads;
    if (request->app_count == 0) {
        output_message("remote: rm needs --app NAME");
        return EXIT_USAGE;
    }
    if (!session_find_heads(session, request->apps, request->app_count, &heads)) {
        return EXIT_FINDING;
    }
    output_open(output, "removed", OUTPUT_TABLE);
    for (size_t i = 0; i < heads.count && !remote->gone; i++) {
        const enum status reason =
            request->dry_run ? STATUS_ok
                             : remote->engine->operations->remove(remote->engine, heads.paths[i]);
        if (reason == STATUS_ok) {
            output_open(output, NULL, OUTPUT_ROW);
            output_text(output, "head", heads.paths[i]);
            output_close(output);
        } else if (reason != STATUS_no_file) {
            remote_complain(remote, heads.paths[i], reason);
        }
    }
    output_close(output);
    session_heads_free(&heads);
    return EXIT_CLEAN;
}

/* The verb. */

static int remote_act(const struct arguments *arguments, remote_action *action)
{
    const struct remote_options options_of_remote = {
        .verb = "remote",
        .url = arguments->values[OPTION_REMOTE],
        .public_key = arguments->values[OPTION_PUBLIC_KEY],
        .secret_key = arguments->values[OPTION_SECRET_KEY],
    };
    struct remote_request request = {
        .apps = arguments->repeated,
        .app_count = arguments->repeated_count,
        .dry_run = arguments->values[OPTION_DRY_RUN],
        .grace_ms = UINT64_C(24) * 3600 * 1000,
    };
    const char *grace = arguments->values[OPTION_GRACE];
    struct session session;
    if ((grace && !options_duration("remote", grace, &request.grace_ms)) ||
        !session_open(&options_of_remote, strdup(""), &session)) {
        return EXIT_USAGE;
    }
    struct output output;
    output_begin(&output, arguments->values[OPTION_JSON]);
    int status = action(&session, &request, &output);
    remote_tell_unmade(&session.remote);
    status =
        output_end(&output, status == EXIT_CLEAN && session.remote.failed ? EXIT_FINDING : status);
    session_close(&session);
    return status;
}

static int remote_main(const struct arguments *arguments)
{
    static const struct {
        const char *name;
        remote_action *action; /* NULL: keygen, which needs no remote */
    } actions[] = {
        {"check", remote_check}, {"ls", remote_list}, {"show", remote_show},
        {"rm", remote_remove},   {"gc", remote_gc},   {"keygen", NULL},
    };
    const char *word = arguments->operands[0];
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        if (strcmp(word, actions[i].name) == 0) {
            return actions[i].action ? remote_act(arguments, actions[i].action)
                                     : remote_keygen(arguments->values[OPTION_OUT],
                                                     arguments->values[OPTION_JSON]);
        }
    }
    output_message("remote: unknown action '%s': check, ls, show, rm, gc or keygen", word);
    return EXIT_USAGE;
}

const struct verb verb_remote = {
    .name = "remote",
    .doing = "asking the remote",
    .summary = "show, check and clean up what lies at a remote",
    .operands = "check|ls|show|rm|gc|keygen",
    .description =
        "check: whether it works from here. ls: what lies there, a line a head. show: all\n"
        "that the heads say. rm: removes a program's heads. gc: removes objects that no\n"
        "head names; the first run notes them, a later one removes what is still unused.\n"
        "keygen: makes DIR/warmpipe.key, the secret key, and DIR/warmpipe.pub.\n\n"
        "Exit status: 0 clean, 1 a finding, 2 wrong usage.",
    .options = options,
    .repeated = OPTION_APP,
    .min_operands = 1,
    .max_operands = 1,
    .run = remote_main,
};
