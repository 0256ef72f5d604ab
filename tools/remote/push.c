// SPDX-License-Identifier: Apache-2.0
/* How a head changes. States of one push, and the function for each arrow:
 *
 *     1 read      the head as it is now, or a new one           push_try
 *     2 changed   our part added, parts that ours holds dropped push_choose_base, push_change,
 *                                                               push_add_part
 *     3 swapped   the head is replaced if nobody else did       remote_put_head
 *     4 settled   the head still names our part                 remote_settle
 *     5 kept      the object is still there                     object_keep
 *
 *     3 → 1, 4 → 1   another machine was first: again, in turn with the others that push there,
 *                    after a random pause                                     lease_wait_for_try
 *
 * A part is dropped only where the file here is known to hold it: it was pulled to here or pushed
 * from here, no part lies beside the file unmerged, and the file is no smaller. */
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "tools/cli/inventory.h"
#include "tools/remote/remote.h"
#include "tools/remote/session.h"

struct push {
    struct session *session;
    const char *app;
    char identity_hex[DIGEST_HEX_SIZE]; /* "": recipes */
    char path[HEAD_PATH_SIZE];
    struct local_blob local;            /* size 0: there is none to send */
    char bad_payload[OBJECT_NAME_SIZE]; /* that has killed a program here, or "" */
    struct bytes taken;
    uint64_t compile_ms;   /* of what is in it, about; 0: not known */
    struct object object;  /* what is sent */
    struct head_part base; /* that it was packed for; bytes 0: for none */
    bool is_inline;        /* it stands in the head */
};

/* Bytes of a cache file below which growth is not worth a base. */
#define PUSH_BASE_LEAST 65536

/* The object of the head that ours may refer to: one that has been a base, else the largest that
 * stands alone. */
static struct head_part push_choose_base(const struct push *push, const struct head *head)
{
    struct head_part base = {.bytes = 0};
    if (push->local.size < PUSH_BASE_LEAST) {
        return base;
    }
    for (size_t i = 0; i < head->part_count; i++) {
        const struct head_part *part = &head->parts[i];
        if (!part->base[0] && !part->frame && part->unpacked >= PUSH_BASE_LEAST &&
            part->bytes > base.bytes) {
            base = *part;
        }
    }
    return head->base_count > 0 ? head->bases[0] : base;
}

/* Packs the file here, if that was not done for this base. A base that cannot be had is none. */
static enum status push_pack(struct push *push, const struct head *head,
                             const struct head_part *base)
{
    struct local_blob prefix = {.size = 0};
    if (push->object.part.bytes > 0 && strcmp(push->base.object, base->object) == 0) {
        return STATUS_ok;
    }
    const bool has_base = base->bytes > 0 &&
                          object_get_base(&push->session->remote, head, base, &prefix) == STATUS_ok;
    const enum status reason = object_pack(push->local.memory, push->local.size,
                                           has_base ? base : NULL, &prefix.envelope, &push->object);
    memcpy(push->object.part.payload, push->local.payload, sizeof push->object.part.payload);
    local_blob_free(&prefix);
    push->base = *base;
    return reason;
}

/* Changes the head to what it should be, but for our part. False: it is that already. */
static bool push_change(struct push *push, struct head *head, enum status *reason)
{
    bool changed = false;
    *reason = STATUS_ok;
    if (push->bad_payload[0] && !head_blocks(head, push->bad_payload)) {
        head_block(head, push->bad_payload);
        changed = true;
    }
    if (push->local.size == 0 || head_find_payload(head, push->local.payload)) {
        return changed;
    }
    if (head_blocks(head, push->local.payload)) {
        *reason = STATUS_remote_blocked;
        return changed;
    }
    if (!local_has_parts(push->session->root, push->app, push->identity_hex)) {
        size_t kept = 0;
        for (size_t i = 0; i < head->part_count; i++) {
            if (!state_has(&push->taken, head->parts[i].payload) ||
                head->parts[i].unpacked > push->local.size) {
                head->parts[kept++] = head->parts[i];
            } else if (head->parts[i].compile_ms > push->compile_ms) {
                push->compile_ms = head->parts[i].compile_ms;
            }
        }
        head->part_count = kept;
    }
    if (!head_has_room(head, push->local.size)) {
        *reason = STATUS_remote_head_full;
        return changed;
    }
    return true;
}

/* Names the object in the head; sends it, once, if it is too large to stand there. */
static enum status push_add_part(struct push *push, struct head *head, const struct head_part *base)
{
    if (push->local.size == 0 || head_find_payload(head, push->local.payload) ||
        head_blocks(head, push->local.payload) || !head_has_room(head, push->local.size)) {
        return STATUS_ok;
    }
    enum status reason = push_pack(push, head, base);
    if (reason != STATUS_ok) {
        return reason;
    }
    struct object *object = &push->object;
    object->part.compile_ms = push->compile_ms;
    if (!head_add(head, &object->part, object->part.base[0] ? base : NULL, object->frame.data,
                  &push->is_inline)) {
        return STATUS_remote_head_full;
    }
    return push->is_inline ? STATUS_ok : object_put(&push->session->remote, &push->object);
}

/* One try; remote_conflict: another machine was first. *ret_changed: the head was replaced. */
static enum status push_try(struct push *push, struct head *head, bool *ret_changed)
{
    struct remote *remote = &push->session->remote;
    AUTO(engine_value_free) struct engine_value value = {0};
    enum status result;
    *ret_changed = false;
    enum status reason = remote_get_head(remote, push->app, push->identity_hex, head, &value);
    if (reason == STATUS_no_file) {
        memset(head, 0, sizeof *head);
        snprintf(head->program, sizeof head->program, "%s", push->app);
        memcpy(head->identity_hex, push->identity_hex, sizeof head->identity_hex);
        head->identity = push->local.envelope.identity;
        reason = push->local.size > 0 ? STATUS_ok : STATUS_no_file;
    }
    if (reason != STATUS_ok) {
        return reason;
    }
    const struct head_part base = push_choose_base(push, head);
    if (!push_change(push, head, &result)) {
        return result;
    }
    reason = push_add_part(push, head, &base);
    if (reason == STATUS_ok) {
        reason = remote_put_head(remote, head, &value);
        *ret_changed = reason == STATUS_ok;
    }
    return reason == STATUS_ok ? result : reason;
}

static enum status push_head(struct push *push, struct head *head, bool *ret_changed)
{
    struct remote *remote = &push->session->remote;
    struct lease_queue queue = {.is_ours = false};
    enum status reason;
    unsigned try = 0;
    bool changed = false;
    do {
        reason = push_try(push, head, &changed);
        *ret_changed = *ret_changed || changed;
        if (reason == STATUS_ok && changed && push->object.part.bytes > 0) {
            reason = remote_settle(remote, head, push->object.part.payload);
        }
    } while (reason == STATUS_remote_conflict &&
             lease_wait_for_try(remote, &queue, push->path, try++));
    lease_leave(remote, &queue, push->path);
    if (*ret_changed && push->object.is_there && !push->is_inline) {
        const enum status kept = object_keep(remote, &push->object);
        reason = reason == STATUS_ok ? kept : reason;
    }
    return reason;
}

/* What the program's pipelines take to compile, as far as the recipes here tell: those that were
 * pulled were never compiled here. */
static uint64_t push_estimate_ms(const char *root, const char *app)
{
    struct recipes *recipes = recipe_tool_open(root, app);
    const struct recipe_use *uses;
    const size_t count = recipes ? recipes_uses(recipes, &uses) : 0;
    const uint64_t mean_ns = recipe_tool_compile_ns(recipes);
    recipes_close(recipes);
    return count * mean_ns / CLOCK_MS;
}

/* Of several that were merged it is not known which: none is blocked. */
static void push_find_bad(struct push *push)
{
    AUTO(bytes_free) struct bytes names = {0};
    local_quarantined(push->session->root, push->app, push->identity_hex, &names);
    if (names.size == OBJECT_NAME_SIZE) {
        memcpy(push->bad_payload, names.data, OBJECT_NAME_SIZE - 1);
    }
}

/* What was pulled goes on to others only once a program here has lived with it; as it was pulled it
 * is there already. */
static bool push_is_on_trial(const struct push *push)
{
    AUTO(trial_free) struct trial trial = {.kept = ""};
    const bool is_on_trial = local_on_trial(push->session->root, push->app, push->identity_hex,
                                            push->local.envelope.generation, &trial);
    const bool is_as_pulled =
        trial.payloads.size == OBJECT_NAME_SIZE && state_has(&trial.payloads, push->local.payload);
    return is_on_trial && !is_as_pulled;
}

/* An identity of the root, whose state is `state`: ok, or quarantined. */
static void push_identity(struct session *session, const char *app, const char *identity_hex)
{
    struct remote *remote = &session->remote;
    struct push push = {.session = session, .app = app};
    struct head head = {.part_count = 0};
    bool changed = false;
    snprintf(push.identity_hex, sizeof push.identity_hex, "%s", identity_hex);
    head_path(app, identity_hex, push.path);
    push_find_bad(&push);
    enum status reason = local_read(session->root, app, identity_hex, &push.local);
    const bool waits = reason == STATUS_ok && push_is_on_trial(&push);
    if (waits) {
        local_blob_free(&push.local);
        reason = STATUS_no_file;
    }
    if (reason == STATUS_no_file && !push.bad_payload[0]) {
        if (waits) {
            session_tell(session, app, NULL, identity_hex, "on trial", 0);
        }
        return;
    }
    state_taken(&remote->state, push.path, &push.taken);
    push.compile_ms = push_estimate_ms(session->root, app);
    reason = reason == STATUS_ok || reason == STATUS_no_file ? push_head(&push, &head, &changed)
                                                             : reason;
    if (reason == STATUS_ok && push.local.size > 0) {
        state_add(&push.taken, push.local.payload);
        state_set_taken(&remote->state, push.path, &push.taken);
    }
    if (reason != STATUS_ok && reason != STATUS_no_file) {
        remote_complain(remote, push.path, reason);
    }
    if (reason != STATUS_no_file) {
        session_tell(session, app, &head, identity_hex,
                     reason != STATUS_ok ? "failed"
                     : changed           ? "pushed"
                                         : "unchanged",
                     changed ? push.object.part.bytes : 0);
    }
    bytes_free(&push.taken);
    object_free(&push.object);
    local_blob_free(&push.local);
}

/* The identities of a program that may be sent: no process has died with their blobs. */
struct push_list {
    struct session *session;
    size_t count;
    char identities[256][DIGEST_HEX_SIZE];
};

static void push_note(const struct inventory_item *item, void *user)
{
    struct push_list *list = user;
    struct remote *remote = &list->session->remote;
    if (!item->digest[0]) {
        return;
    }
    if (item->reason == STATUS_suspect || inventory_is_damage(item->reason)) {
        output_reason(item->reason, "%s: '%s' of '%s' is not sent", remote->options.verb,
                      item->digest, item->app);
        remote->failed = remote->failed || inventory_is_damage(item->reason);
        return;
    }
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->identities[i], item->digest) == 0) {
            return;
        }
    }
    if (list->count < sizeof list->identities / sizeof list->identities[0]) {
        memcpy(list->identities[list->count++], item->digest, DIGEST_HEX_SIZE);
    }
}

void push_all(struct session *session, bool with_recipes)
{
    struct remote_options *options = &session->remote.options;
    const struct remote_options before = *options;
    options->min_serial = options->max_age_s = 0; /* a push renews an old head */
    for (size_t i = 0; i < session->app_count && !session->remote.gone; i++) {
        const char *app = session->apps[i];
        struct push_list list = {.session = session};
        inventory_visit(session->root, app, push_note, &list);
        for (size_t k = 0; k < list.count && !session->remote.gone; k++) {
            push_identity(session, app, list.identities[k]);
        }
        if (with_recipes && !session->remote.gone) {
            push_recipes(session, app);
        }
    }
    *options = before;
}
