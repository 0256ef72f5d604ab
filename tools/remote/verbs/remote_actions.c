// SPDX-License-Identifier: Apache-2.0
/* `warmpipe remote check`: whether the remote works from here. */
#include "tools/remote/verbs/remote_actions.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/io.h"
#include "common/base/text.h"
#include "tools/cli/verb.h"

static void remote_show_check(struct session *session, struct output *output, const char *check,
                              enum status reason, const char *finding, const char *advice)
{
    struct engine *engine = session->remote.engine;
    char text[512];
    snprintf(text, sizeof text, "%s%s%s%s%s%s", reason == STATUS_ok ? finding : status_text(reason),
             reason == STATUS_ok ? "" : " (", status_id(reason), reason == STATUS_ok ? "" : ")",
             reason != STATUS_ok && engine->detail[0] ? ": " : "",
             reason != STATUS_ok ? engine->detail : "");
    output_open(output, NULL, OUTPUT_ROW);
    output_text(output, "check", check);
    output_text(output, "verdict", reason == STATUS_ok ? "ok" : "problem");
    output_text(output, "finding", text);
    if (reason != STATUS_ok && advice) {
        output_remark(output, "advice", advice);
    }
    output_close(output);
    session->remote.failed = session->remote.failed || reason != STATUS_ok;
    engine->detail[0] = '\0';
}

static bool remote_check_reach(struct session *session, struct output *output)
{
    char text[64];
    uint64_t took_ns;
    const enum status reason = remote_reach(&session->remote, &took_ns);
    snprintf(text, sizeof text, "answers in %.1f ms", (double)took_ns / (double)CLOCK_MS);
    remote_show_check(session, output, "reach", reason, text, NULL);
    return reason == STATUS_ok;
}

static bool remote_count_head(const char *path, void *user)
{
    char program[NAMES_APP_SIZE];
    char identity[DIGEST_HEX_SIZE];
    size_t *count = user;
    *count += head_split_path(path, program, identity);
    return true;
}

int remote_check(struct session *session, const struct remote_request *request,
                 struct output *output)
{
    (void)request;
    struct remote *remote = &session->remote;
    struct engine *engine = remote->engine;
    char text[128];
    output_open(output, "findings", OUTPUT_LIST);
    if (remote_check_reach(session, output)) {
        size_t count = 0;
        enum status reason = engine_list(engine, HEAD_FOLDER, SIZE_MAX, remote_count_head, &count);
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

/* `warmpipe remote keygen`: a pair of keys. */

/* Makes a file that is not there. False after a message. */
static bool remote_write_key(const char *path, mode_t mode, const struct bytes *text)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    bool written = fd >= 0 && io_write(fd, text->data, text->size, IO_HERE) && fsync(fd) == 0;
    if (!written) {
        output_message("remote: cannot write '%s': %s", path, strerror(errno));
    }
    if (fd >= 0) {
        close(fd);
    }
    return written;
}

int remote_keygen(const char *folder, bool json)
{
    char public_path[URL_SIZE];
    char secret_path[URL_SIZE];
    char id[17];
    if (!folder || strlen(folder) + 16 > sizeof public_path) {
        output_message("remote: keygen needs --out DIR");
        return EXIT_USAGE;
    }
    if (!minisign_prepare()) {
        output_message("remote: no random numbers");
        return EXIT_USAGE;
    }
    snprintf(public_path, sizeof public_path, "%s/warmpipe.pub", folder);
    snprintf(secret_path, sizeof secret_path, "%s/warmpipe.key", folder);
    if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
        output_message("remote: cannot make '%s': %s", folder, strerror(errno));
        return EXIT_USAGE;
    }
    struct minisign_secret_key secret;
    struct bytes secret_text = {0};
    struct bytes public_text = {0};
    minisign_generate(&secret);
    const struct minisign_public_key public_key = minisign_public_of(&secret);
    minisign_put_secret(&secret_text, &secret);
    minisign_put_public(&public_text, &public_key);
    minisign_format_id(public_key.id, id);
    const bool written = !secret_text.failed && !public_text.failed &&
                         remote_write_key(secret_path, 0600, &secret_text) &&
                         remote_write_key(public_path, 0644, &public_text);
    minisign_wipe(&secret, sizeof secret);
    minisign_wipe(secret_text.data, secret_text.size);
    bytes_free(&secret_text);
    bytes_free(&public_text);
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
