// SPDX-License-Identifier: Apache-2.0
/* How a head changes, of a blob or of recipes. States of one push, and the function for each arrow:
 *
 *     1 read      the head as it is now, or a new one             push_read
 *     2 changed   our part added, parts that ours holds dropped   push_try_blob, push_try_recipes
 *     3 swapped   the head is replaced if nobody else did         push_swap
 *     4 settled   the head still names our part                   push_swap
 *     5 kept      the object is still there                       push_head
 *
 *     3 → 1, 4 → 1   another machine was first: again, in turn with the others that push there,
 *                    after a random pause                                     lease_wait_for_try
 *
 * A part of a blob is dropped only where the file here is known to hold it: it was pulled to here
 * or pushed from here, no part lies beside the file unmerged, and the file is no smaller. Recipes
 * unite without a driver: those of the remote and those here, in one object, which is fetched again
 * only once either has changed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/io.h"
#include "common/files/file.h"
#include "tools/remote/session.h"

struct push {
    struct session *session;
    const char *app;
    const char *identity_hex; /* "": recipes */
    char path[HEAD_PATH_SIZE];
    struct head head;
    bool changed;         /* the head was replaced */
    struct object object; /* what is sent; bytes 0: nothing was packed yet */
    bool is_inline;       /* it stands in the head */

    /* Of a blob. */
    struct local_blob local;            /* size 0: there is none to send */
    char bad_payload[OBJECT_NAME_SIZE]; /* that has killed a program here, or "" */
    struct bytes taken;
    uint64_t compile_ms;   /* of what is in it, about; 0: not known */
    struct head_part base; /* that the object was packed for; bytes 0: for none */

    struct recipe_sources sources; /* of recipes: those here */
};

/* One try at the head that was read, which replaces `old`. */
typedef enum status push_try(struct push *push, const struct engine_value *old);

static enum status push_read(struct push *push, struct engine_value *ret_old)
{
    struct head *head = &push->head;
    enum status reason = remote_get_head(&push->session->remote, push->path, head, ret_old);
    if (reason == STATUS_no_file) {
        memset(head, 0, sizeof *head);
        snprintf(head->program, sizeof head->program, "%s", push->app);
        snprintf(head->identity_hex, sizeof head->identity_hex, "%s", push->identity_hex);
        head->identity = push->local.envelope.identity;
        reason = !push->identity_hex[0] || push->local.size > 0 ? STATUS_ok : STATUS_no_file;
    }
    return reason;
}

/* Names the object in the head; sends it, once, if it is too large to stand there. `base` is the
 * one that it may have. */
static enum status push_add_part(struct push *push, const struct head_part *base)
{
    struct object *object = &push->object;
    if (!head_add(&push->head, &object->part, object->part.base[0] ? base : NULL,
                  object->frame.data, &push->is_inline)) {
        return STATUS_remote_head_full;
    }
    if (push->is_inline) {
        return STATUS_ok;
    }
    struct remote *remote = &push->session->remote;
    const enum status reason = remote_may_swap(remote);
    return reason == STATUS_ok ? object_put(remote, object) : reason;
}

static enum status push_swap(struct push *push, const struct engine_value *old)
{
    struct remote *remote = &push->session->remote;
    const char *payload = push->object.part.payload;
    const enum status reason = remote_put_head(remote, &push->head, old);
    push->changed = push->changed || reason == STATUS_ok;
    return reason == STATUS_ok && head_find_payload(&push->head, payload)
               ? remote_settle(remote, &push->head, payload)
               : reason;
}

static enum status push_head(struct push *push, push_try *try)
{
    struct remote *remote = &push->session->remote;
    struct lease_queue queue = {.is_ours = false};
    enum status reason;
    unsigned tries = 0;
    do {
        AUTO(engine_value_free) struct engine_value old = {0};
        reason = push_read(push, &old);
        if (reason == STATUS_ok) {
            reason = try(push, &old);
        }
    } while (reason == STATUS_remote_conflict &&
             lease_wait_for_try(remote, &queue, push->path, tries++));
    lease_leave(remote, &queue, push->path);
    if (push->changed && push->object.is_there && !push->is_inline) {
        const enum status kept = object_keep(remote, &push->object);
        reason = reason == STATUS_ok ? kept : reason;
    }
    return reason;
}

/* no_file: there was nothing to send. */
static void push_tell(struct push *push, enum status reason)
{
    if (reason == STATUS_no_file) {
        return;
    }
    if (reason != STATUS_ok) {
        remote_complain(&push->session->remote, push->path, reason);
    }
    session_tell(push->session, push->app, &push->head, push->identity_hex, reason,
                 push->changed ? "pushed" : "unchanged",
                 push->changed ? push->object.part.bytes : 0);
}

/* Blobs. */

/* Bytes of a cache file below which growth is not worth a base. */
#define PUSH_BASE_LEAST 65536

/* The object of the head that ours may refer to: one that has been a base, else the largest that
 * stands alone. */
static struct head_part push_choose_base(const struct push *push)
{
    const struct head *head = &push->head;
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
static enum status push_pack(struct push *push, const struct head_part *base)
{
    struct object *object = &push->object;
    AUTO(local_blob_free) struct local_blob prefix = {.size = 0};
    if (object->part.bytes > 0 && strcmp(push->base.object, base->object) == 0) {
        return STATUS_ok;
    }
    const bool has_base = base->bytes > 0 && object_get_base(&push->session->remote, &push->head,
                                                             base, &prefix) == STATUS_ok;
    const enum status reason = object_pack(push->local.memory, push->local.size,
                                           has_base ? base : NULL, &prefix.envelope, object);
    memcpy(object->part.payload, push->local.payload, sizeof object->part.payload);
    push->base = *base;
    return reason;
}

/* What the head lists of what is here, but the server has lost, is to be sent again: it, or the
 * base without which nobody can unpack it. */
static void push_drop_lost(struct push *push)
{
    struct head *head = &push->head;
    struct remote *remote = &push->session->remote;
    const struct head_part *part = head_find_payload(head, push->local.payload);
    const struct head_part *base = part ? head_find_base(head, part) : NULL;
    if (part && ((!part->frame && object_look(remote, part) == STATUS_no_file) ||
                 (base && object_look(remote, base) == STATUS_no_file))) {
        head_drop(head, (size_t)(part - head->parts));
    }
}

/* Of the parts that what is here holds, none is kept. */
static void push_drop_held(struct push *push)
{
    struct head *head = &push->head;
    for (size_t i = head->part_count; i-- > 0;) {
        const struct head_part *part = &head->parts[i];
        if (state_has(&push->taken, part->payload) && part->unpacked <= push->local.size) {
            if (part->compile_ms > push->compile_ms) {
                push->compile_ms = part->compile_ms;
            }
            head_drop(head, i);
        }
    }
}

/* Whether our part is to be added to the head, in which there is room for it then. Else *ret_reason
 * says why not; ok: it is there. */
static bool push_make_room(struct push *push, enum status *ret_reason)
{
    struct head *head = &push->head;
    *ret_reason = STATUS_ok;
    if (push->local.size == 0) {
        return false;
    }
    push_drop_lost(push);
    if (head_find_payload(head, push->local.payload)) {
        return false;
    }
    const struct head before = *head;
    if (head_blocks(head, push->local.payload)) {
        *ret_reason = STATUS_remote_blocked;
        return false;
    }
    if (local_count_parts(push->session->root, push->app, push->identity_hex) == 0) {
        push_drop_held(push);
    }
    if (!head_has_room(head, push->local.size)) {
        *head = before; /* what ours holds stays where ours does not come */
        *ret_reason = STATUS_remote_head_full;
    }
    return *ret_reason == STATUS_ok;
}

static enum status push_try_blob(struct push *push, const struct engine_value *old)
{
    const struct head_part base = push_choose_base(push);
    const bool blocks = push->bad_payload[0] && !head_blocks(&push->head, push->bad_payload);
    enum status result;
    if (blocks) {
        head_block(&push->head, push->bad_payload);
    }
    const bool adds = push_make_room(push, &result);
    enum status reason = adds ? push_pack(push, &base) : STATUS_ok;
    if (adds && reason == STATUS_ok) {
        push->object.part.compile_ms = push->compile_ms;
        reason = push_add_part(push, &base);
    }
    if (reason == STATUS_ok && (adds || blocks)) {
        reason = push_swap(push, old);
    }
    return reason == STATUS_ok ? result : reason;
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
    AUTO_CLOSE int folder_fd = -1;
    char name[PART_NAME_SIZE];
    snprintf(name, sizeof name, "%s" LOADING_SUFFIX, push->identity_hex);
    const bool is_on_trial =
        file_open_directory(push->session->root, push->app, false, &folder_fd) == STATUS_ok &&
        trial_find(folder_fd, name, push->local.envelope.generation, &trial) == STATUS_ok;
    const bool is_as_pulled =
        trial.payloads.size == OBJECT_NAME_SIZE && state_has(&trial.payloads, push->local.payload);
    return is_on_trial && !is_as_pulled;
}

/* An identity of the root: its file, and what is in quarantine. */
static void push_identity(struct session *session, const char *app, const char *identity_hex)
{
    struct push push = {.session = session, .app = app, .identity_hex = identity_hex};
    struct state *state = &session->remote.state;
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
            session_tell(session, app, NULL, identity_hex, STATUS_ok, "on trial", 0);
        }
        return;
    }
    state_taken(state, push.path, &push.taken);
    if (push.local.size > 0) {
        /* Before the swap: who is killed behind it would not know that part for its own. */
        state_add(&push.taken, push.local.payload);
        state_set_taken(state, push.path, &push.taken);
    }
    push.compile_ms = push_estimate_ms(session->root, app);
    if (reason == STATUS_ok || reason == STATUS_no_file) {
        reason = push_head(&push, push_try_blob);
    }
    push_tell(&push, reason);
    bytes_free(&push.taken);
    object_free(&push.object);
    local_blob_free(&push.local);
}

/* Recipes. */

static uint64_t push_count(const struct recipe_merged *merged)
{
    return merged->counts.pipelines + merged->counts.modules;
}

/* The remote's recipes and those here, in one. *ret_there: pipelines and modules of the remote's
 * alone. */
static enum status push_unite(const struct recipe_sources *here, struct session_recipes *remote,
                              struct recipe_merged *ret_merged, uint64_t *ret_there)
{
    const struct recipe_merge_limits limits = recipe_judge_limits(&remote->judge, RECIPES_MAX_FILE);
    const struct recipe_sources *there = &remote->sources;
    const size_t count = there->count + here->count;
    AUTO_FREE struct recipe_merge_input *inputs = calloc(count + 1, sizeof *inputs);
    struct recipe_merged merged;
    enum status reason =
        inputs ? recipe_merge(there->inputs, there->count, &limits, &merged) : STATUS_out_of_memory;
    if (reason != STATUS_ok) {
        return reason;
    }
    *ret_there = push_count(&merged);
    recipe_merge_free(&merged);
    memcpy(inputs, there->inputs, there->count * sizeof *inputs);
    memcpy(inputs + there->count, here->inputs, here->count * sizeof *inputs);
    return recipe_merge(inputs, count, &limits, ret_merged);
}

static enum status push_pack_recipes(struct push *push, const struct recipe_merged *merged)
{
    AUTO_FREE uint8_t *data = recipe_tool_join(merged);
    struct object *object = &push->object;
    const enum status reason =
        data ? object_pack(data, (size_t)merged->size, NULL, NULL, object) : STATUS_out_of_memory;
    memcpy(object->part.payload, object->part.object, sizeof object->part.payload);
    return reason;
}

/* Names what the head lists together with what is here: neither changes under its name and size.
 * "": out of memory. */
static void push_name_both(const struct push *push, char ret_name[OBJECT_NAME_SIZE])
{
    AUTO(bytes_free) struct bytes text = {0};
    bytes_put_text(&text, push->head.parts[0].object);
    for (size_t i = 0; i < push->sources.count; i++) {
        const struct recipe_source *source = &push->sources.sources[i];
        bytes_put_text(&text, source->name);
        bytes_put(&text, &source->size, sizeof source->size);
    }
    ret_name[0] = '\0';
    if (!text.failed) {
        object_name(text.data, text.size, ret_name);
    }
}

/* Whether the head is known to hold what is here: that was found at the latest push. */
static bool push_is_united(struct push *push)
{
    struct remote *remote = &push->session->remote;
    const struct head_part *part = push->head.parts;
    char name[OBJECT_NAME_SIZE];
    if (push->head.part_count != 1) {
        return false;
    }
    push_name_both(push, name);
    return name[0] && state_is_united(&remote->state, push->path, name) &&
           (part->frame || object_look(remote, part) == STATUS_ok);
}

static enum status push_try_recipes(struct push *push, const struct engine_value *old)
{
    if (push_is_united(push)) {
        return STATUS_ok;
    }
    AUTO(session_recipes_free) struct session_recipes there;
    AUTO(recipe_merge_free) struct recipe_merged merged = {0};
    uint64_t count = 0;
    enum status reason = session_recipes_get(&push->session->remote, &push->head, &there);
    if (reason == STATUS_ok) {
        reason = push_unite(&push->sources, &there, &merged, &count);
    }
    const bool is_new = push->head.part_count != 1 || push_count(&merged) != count;
    if (reason != STATUS_ok || merged.size == 0 || !is_new) {
        return reason;
    }
    push->head.part_count = 0;
    reason = push_pack_recipes(push, &merged);
    if (reason == STATUS_ok) {
        reason = push_add_part(push, NULL);
    }
    return reason == STATUS_ok ? push_swap(push, old) : reason;
}

/* Unites the program's recipes with those of the remote, and sends them if that adds any. */
static void push_recipes(struct session *session, const char *app)
{
    struct push push = {.session = session, .app = app, .identity_hex = ""};
    AUTO_CLOSE int folder_fd = -1;
    head_path(app, NULL, push.path);
    enum status reason = recipe_tool_open_all(session->root, app, &folder_fd, &push.sources);
    if (reason == STATUS_ok && push.sources.count > 0) {
        char name[OBJECT_NAME_SIZE];
        reason = push_head(&push, push_try_recipes);
        push_tell(&push, reason);
        if (reason == STATUS_ok && push.head.part_count == 1) {
            push_name_both(&push, name);
            if (name[0]) {
                state_set_united(&session->remote.state, push.path, name);
            }
        }
    } else if (reason != STATUS_ok && reason != STATUS_no_file) {
        remote_complain(&session->remote, push.path, reason);
    }
    recipe_sources_close(&push.sources);
    object_free(&push.object);
}

/* The identities of a program that may be sent: no process has died with their blobs. */
struct push_list {
    struct session *session;
    struct local_identities identities;
};

static void push_note(const struct inventory_item *item, void *user)
{
    struct push_list *list = user;
    struct remote *remote = &list->session->remote;
    if (!item->digest[0]) {
        return;
    }
    if (item->reason == STATUS_suspect || inventory_is_damage(item->reason)) {
        output_reason(item->reason, "'%s' of '%s' is not sent", item->digest, item->app);
        if (inventory_is_damage(item->reason)) {
            remote_note_failure(remote);
        }
        return;
    }
    local_identities_add(&list->identities, item->digest);
}

void push_all(struct session *session, bool with_recipes)
{
    struct remote_options *options = &session->remote.options;
    const struct remote_options before = *options;
    options->min_serial = options->max_age_s = 0; /* a push renews an old head */
    for (size_t i = 0; i < session->apps.count && !session->remote.gone; i++) {
        const char *app = session->apps.list[i].name;
        struct push_list list = {.session = session};
        inventory_visit(session->root, app, push_note, &list);
        for (size_t k = 0; k < list.identities.count && !session->remote.gone; k++) {
            push_identity(session, app, list.identities.hex[k]);
        }
        if (with_recipes && !session->remote.gone) {
            push_recipes(session, app);
        }
    }
    *options = before;
}
