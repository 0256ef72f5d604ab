// SPDX-License-Identifier: Apache-2.0
/* warmpipe remote: looks after what lies at a remote. */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/driver/vulkan_names.h"
#include "tools/cli/verb.h"
#include "tools/remote/session.h"

static const struct option_spec options[] = {
    {"remote", 0, "URL", "which; default: WARMPIPE_REMOTE"},
    {"public-key", 0, "FILE", "trust this key, and no other"},
    {"secret-key", 0, "FILE", "check: also try to write"},
    {"app", 0, "NAME", "of this program; may be given again"},
    {"grace", 0, "TIME", "gc: only what was unused for so long (default 24h)"},
    {"dry-run", 'n', NULL, "rm, gc: show what would be removed; remove nothing"},
    {"out", 0, "DIR", "keygen: where the two keys go"},
    VERB_JSON_OPTION,
    {NULL, 0, NULL, NULL},
};

/* Gives the exit status. */
typedef int remote_action(struct session *session, const struct arguments *arguments,
                          struct output *output);

/* Whether the remote works from here: asks for a value, for a listing, and with a secret key tries
 * to write. */

static void remote_show_check(struct session *session, struct output *output, const char *check,
                              enum status reason, const char *finding, const char *advice)
{
    const char *detail = engine_detail(session->remote.engine, reason);
    char text[512];
    snprintf(text, sizeof text, "%s (%s)%s%s", status_text(reason), status_id(reason),
             *detail ? ": " : "", detail);
    output_open(output, NULL, OUTPUT_ROW);
    output_text(output, "check", check);
    output_text(output, "verdict", reason == STATUS_ok ? "ok" : "problem");
    output_text(output, "finding", reason == STATUS_ok ? finding : text);
    if (reason != STATUS_ok && advice) {
        output_remark(output, "advice", advice);
    }
    output_close(output);
    session->remote.failed = session->remote.failed || reason != STATUS_ok;
}

static bool remote_count_head(const char *path, void *user)
{
    char program[NAMES_APP_SIZE];
    char identity[DIGEST_HEX_SIZE];
    size_t *count = user;
    *count += head_split_path(path, program, identity);
    return true;
}

static int remote_check(struct session *session, const struct arguments *arguments,
                        struct output *output)
{
    (void)arguments;
    struct remote *remote = &session->remote;
    struct engine *engine = remote->engine;
    char text[128];
    uint64_t took_ns;
    output_open(output, "findings", OUTPUT_LIST);
    enum status reason = remote_reach(remote, &took_ns);
    snprintf(text, sizeof text, "answers in %.1f ms", (double)took_ns / (double)CLOCK_MS);
    remote_show_check(session, output, "reach", reason, text, NULL);
    if (reason == STATUS_ok) {
        size_t count = 0;
        reason = engine_list(engine, HEAD_FOLDER, SIZE_MAX, remote_count_head, &count);
        if (reason == STATUS_remote_unsupported) {
            snprintf(text, sizeof text, "the server cannot: name programs by --app");
        } else {
            snprintf(text, sizeof text, "%zu %s", count, text_noun(count, "head", "heads"));
        }
        remote_show_check(session, output, "list",
                          reason == STATUS_remote_unsupported ? STATUS_ok : reason, text, NULL);
        if (engine->operations->check) {
            reason = engine->operations->check(engine, text, sizeof text);
            remote_show_check(session, output, "server", reason, text, NULL);
        }
        if (remote->keys.can_sign) {
            reason = remote_try_conditions(remote);
            remote_show_check(
                session, output, "write", reason, "conditional writes work",
                reason == STATUS_remote_no_conditions
                    ? "push with --single-writer, if only one machine ever writes there"
                    : NULL);
        }
    }
    snprintf(text, sizeof text, "%zu trusted", remote->keys.count);
    remote_show_check(session, output, "keys",
                      remote->keys.count ? STATUS_ok : STATUS_remote_no_key, text,
                      "give --public-key FILE or set WARMPIPE_REMOTE_KEY");
    output_close(output);
    return EXIT_CLEAN;
}

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

static int remote_show_heads(struct session *session, const struct arguments *arguments,
                             struct output *output)
{
    const bool in_full = strcmp(arguments->operands[0], "show") == 0;
    AUTO(session_heads_free) struct session_heads heads = {0};
    if (session_find_heads(session, arguments, &heads) != STATUS_ok) {
        return EXIT_FINDING;
    }
    output_open(output, "heads", in_full ? OUTPUT_LIST : OUTPUT_TABLE);
    for (size_t i = 0; i < heads.count && !session->remote.gone; i++) {
        struct head head = {.part_count = 0};
        AUTO(engine_value_free) struct engine_value value = {0};
        const enum status reason = remote_get_head(&session->remote, heads.paths[i], &head, &value);
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
    return EXIT_CLEAN;
}

/* Removes heads; gc removes what they named. */
static int remote_remove(struct session *session, const struct arguments *arguments,
                         struct output *output)
{
    struct remote *remote = &session->remote;
    struct engine *engine = remote->engine;
    const bool dry_run = options_value(arguments, "dry-run");
    AUTO(session_heads_free) struct session_heads heads = {0};
    if (arguments->repeated_count == 0) {
        output_message("rm needs --app NAME");
        return EXIT_USAGE;
    }
    if (session_find_heads(session, arguments, &heads) != STATUS_ok) {
        return EXIT_FINDING;
    }
    output_open(output, "removed", OUTPUT_TABLE);
    for (size_t i = 0; i < heads.count && !remote->gone; i++) {
        AUTO(engine_value_free) struct engine_value value = {0};
        enum status reason = STATUS_ok;
        if (!dry_run) {
            reason = engine->operations->remove(engine, heads.paths[i]);
        } else if (heads.are_guesses) {
            reason = engine->operations->get(engine, heads.paths[i], 0, &value);
        }
        if (reason == STATUS_ok) {
            output_open(output, NULL, OUTPUT_ROW);
            output_text(output, "head", heads.paths[i]);
            output_close(output);
        } else if (reason != STATUS_no_file) {
            remote_complain(remote, heads.paths[i], reason);
        }
    }
    output_close(output);
    return EXIT_CLEAN;
}

static int remote_gc(struct session *session, const struct arguments *arguments,
                     struct output *output)
{
    const char *grace = options_value(arguments, "grace");
    uint64_t grace_ms = UINT64_C(24) * 3600 * 1000;
    return grace && !options_duration(grace, &grace_ms)
               ? EXIT_USAGE
               : gc_collect(session, grace_ms, options_value(arguments, "dry-run"), output);
}

/* Keys. */

/* Makes a file that is not there. False after a message; then no file of ours is there. */
static bool remote_write_key(const char *path, mode_t mode, const struct bytes *text)
{
    AUTO_CLOSE const int fd =
        open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    bool written = fd >= 0 && io_write(fd, text->data, text->size, IO_HERE) && fsync(fd) == 0;
    if (!written) {
        output_message("cannot write '%s': %s", path, strerror(errno));
        if (fd >= 0) {
            unlink(path);
        }
    }
    return written;
}

/* Makes warmpipe.key and warmpipe.pub in the folder, which is made; NULL: none was named. Neither
 * may be there. */
static int remote_keygen(const char *folder, bool json)
{
    char public_path[URL_SIZE];
    char secret_path[URL_SIZE];
    char id[17];
    if (!folder || strlen(folder) + 16 > sizeof public_path) {
        output_message("keygen needs --out DIR");
        return EXIT_USAGE;
    }
    if (sodium_init() < 0) {
        output_message("no random numbers");
        return EXIT_USAGE;
    }
    snprintf(public_path, sizeof public_path, "%s/warmpipe.pub", folder);
    snprintf(secret_path, sizeof secret_path, "%s/warmpipe.key", folder);
    if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
        output_message("cannot make '%s': %s", folder, strerror(errno));
        return EXIT_USAGE;
    }
    AUTO(bytes_free) struct bytes secret_text = {0};
    AUTO(bytes_free) struct bytes public_text = {0};
    minisign_make_pair(&secret_text, &public_text, id);
    const bool has_secret = !secret_text.failed && !public_text.failed &&
                            remote_write_key(secret_path, 0600, &secret_text);
    const bool written = has_secret && remote_write_key(public_path, 0644, &public_text);
    if (has_secret && !written) {
        unlink(secret_path); /* beside another's public key it would be taken for its half */
    }
    sodium_memzero(secret_text.data, secret_text.size);
    if (!written) {
        return EXIT_USAGE;
    }
    struct output output;
    output_begin(&output, json);
    output_text(&output, "public_key", public_path);
    output_text(&output, "secret_key", secret_path);
    output_text(&output, "id", id);
    return output_end(&output, EXIT_CLEAN);
}

/* The verb. */

static int remote_act(const struct arguments *arguments, remote_action *action)
{
    struct remote_options options_of_remote;
    AUTO(session_close) struct session session = {.told = 0};
    if (!remote_options_read(arguments, &options_of_remote) ||
        !session_open(&options_of_remote, strdup(""), &session)) {
        return EXIT_USAGE;
    }
    struct output output;
    output_begin(&output, arguments->json);
    const int status = action(&session, arguments, &output);
    remote_tell_unmade(&session.remote);
    return output_end(&output,
                      status == EXIT_CLEAN && session.remote.failed ? EXIT_FINDING : status);
}

static int remote_main(const struct arguments *arguments)
{
    static const struct {
        const char *name;
        remote_action *action; /* NULL: keygen, which needs no remote */
    } actions[] = {
        {"check", remote_check}, {"ls", remote_show_heads}, {"show", remote_show_heads},
        {"rm", remote_remove},   {"gc", remote_gc},         {"keygen", NULL},
    };
    const char *word = arguments->operands[0];
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        if (strcmp(word, actions[i].name) == 0) {
            return actions[i].action
                       ? remote_act(arguments, actions[i].action)
                       : remote_keygen(options_value(arguments, "out"), arguments->json);
        }
    }
    output_message("unknown action '%s': check, ls, show, rm, gc or keygen", word);
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
    .repeated = "app",
    .min_operands = 1,
    .max_operands = 1,
    .run = remote_main,
};
