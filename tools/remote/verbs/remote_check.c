// SPDX-License-Identifier: Apache-2.0
/* `warmpipe remote check`: whether the remote works from here. */
#include <stdio.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "tools/cli/verb.h"
#include "tools/remote/verbs/remote_actions.h"

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
    struct engine *engine = session->remote.engine;
    struct engine_value value = {0};
    char text[64];
    const uint64_t start = clock_now_ns();
    enum status reason = engine->operations->get(engine, "v1/probe", 4096, &value);
    engine_value_free(&value);
    reason = reason == STATUS_no_file ? STATUS_ok : reason;
    snprintf(text, sizeof text, "answers in %.1f ms",
             (double)(clock_now_ns() - start) / (double)CLOCK_MS);
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

int remote_check(struct session *session, struct output *output)
{
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
