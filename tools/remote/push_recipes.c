// SPDX-License-Identifier: Apache-2.0
/* Recipes unite without a driver: those of the remote and those here, in one object. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/io.h"
#include "common/recipes/merge.h"
#include "tools/recipes/recipe_tool.h"
#include "tools/remote/remote.h"
#include "tools/remote/session.h"

/* The remote's recipes and those here, in one. */
struct push_recipes {
    int folder_fd;
    struct recipe_sources sources; /* here */
    struct recipe_merged merged;   /* of both */
    uint64_t there;                /* pipelines and modules of the remote's alone */
};

static uint64_t push_count(const struct recipe_merged *merged)
{
    return merged->counts.pipelines + merged->counts.modules;
}

/* The remote's recipes and those here, in one. */
static enum status push_unite(struct push_recipes *push, struct session_recipes *remote)
{
    const struct recipe_merge_limits limits = recipe_judge_limits(&remote->judge, RECIPES_MAX_FILE);
    const size_t count = remote->count + push->sources.count;
    struct recipe_merged there;
    enum status reason = recipe_merge(remote->inputs, remote->count, &limits, &there);
    if (reason != STATUS_ok) {
        return reason;
    }
    push->there = push_count(&there);
    recipe_merge_free(&there);
    AUTO_FREE struct recipe_merge_input *inputs = calloc(count + 1, sizeof *inputs);
    if (!inputs) {
        return STATUS_out_of_memory;
    }
    for (size_t i = 0; i < count; i++) {
        inputs[i].segment = i < remote->count ? remote->inputs[i].segment
                                              : push->sources.inputs[i - remote->count].segment;
    }
    reason = recipe_merge(inputs, count, &limits, &push->merged);
    return reason;
}

static enum status push_send_recipes(struct remote *remote, const struct recipe_merged *merged,
                                     struct head *head, const struct engine_value *old)
{
    AUTO_FREE uint8_t *data = recipe_tool_join(merged);
    AUTO(object_free) struct object object = {.is_there = false};
    bool is_inline = false;
    enum status reason =
        data ? object_pack(data, (size_t)merged->size, NULL, NULL, &object) : STATUS_out_of_memory;
    if (reason == STATUS_ok) {
        memcpy(object.part.payload, object.part.object, sizeof object.part.payload);
        head->part_count = 0;
        head_add(head, &object.part, NULL, object.frame.data, &is_inline);
        reason = is_inline ? STATUS_ok : object_put(remote, &object);
    }
    if (reason == STATUS_ok) {
        reason = remote_put_head(remote, head, old);
    }
    if (reason == STATUS_ok) {
        reason = remote_settle(remote, head, object.part.payload);
    }
    if (reason == STATUS_ok && !is_inline) {
        reason = object_keep(remote, &object);
    }
    return reason;
}

static enum status push_try_recipes(struct session *session, const char *app,
                                    struct push_recipes *push, struct head *head, bool *ret_changed)
{
    AUTO(engine_value_free) struct engine_value value = {0};
    struct session_recipes there;
    *ret_changed = false;
    enum status reason = remote_get_head(&session->remote, app, NULL, head, &value);
    if (reason == STATUS_no_file) {
        memset(head, 0, sizeof *head);
        snprintf(head->program, sizeof head->program, "%s", app);
        head->is_recipes = true;
        reason = STATUS_ok;
    }
    if (reason == STATUS_ok) {
        reason = session_recipes_get(&session->remote, head, &there);
    }
    if (reason == STATUS_ok) {
        reason = push_unite(push, &there);
        if (reason == STATUS_ok) {
            if (push->merged.size > 0 &&
                (head->part_count != 1 || push_count(&push->merged) != push->there)) {
                reason = push_send_recipes(&session->remote, &push->merged, head, &value);
                *ret_changed = reason == STATUS_ok;
            }
            recipe_merge_free(&push->merged);
        }
        session_recipes_free(&there);
    }
    return reason;
}

void push_recipes(struct session *session, const char *app)
{
    struct remote *remote = &session->remote;
    struct push_recipes push = {.folder_fd = -1};
    struct head head = {.part_count = 0};
    struct lease_queue queue = {.is_ours = false};
    char path[HEAD_PATH_SIZE];
    bool changed = false;
    unsigned try = 0;
    head_path(app, NULL, path);
    enum status reason = recipe_tool_open_all(session->root, app, &push.folder_fd, &push.sources);
    if (reason == STATUS_ok && push.sources.count > 0) {
        do {
            reason = push_try_recipes(session, app, &push, &head, &changed);
        } while (reason == STATUS_remote_conflict &&
                 lease_wait_for_try(remote, &queue, path, try++));
        lease_leave(remote, &queue, path);
        session_tell(session, app, &head, "",
                     reason != STATUS_ok ? "failed"
                     : changed           ? "pushed"
                                         : "unchanged",
                     changed ? head.parts[0].bytes : 0);
    }
    if (reason != STATUS_ok && reason != STATUS_no_file) {
        remote_complain(remote, path, reason);
    }
    recipe_sources_close(&push.sources);
    io_close(push.folder_fd);
}
