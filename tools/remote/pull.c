// SPDX-License-Identifier: Apache-2.0
#include "tools/remote/session.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/files/program.h"
#include "common/recipes/merge.h"
#include "common/recipes/recipes.h"

/* After so many deaths of what a head lists nothing more of it is taken: a cache that kills may
 * come again within another, which has other bytes. */
#define PULL_DEATHS 2

/* Deaths that a cache has cost that the layer has put away. */
#define PULL_LAYER_DEATHS 2

/* Blobs. */

struct pull {
    struct session *session;
    const char *app;
    const char *identity_hex;
    char path[HEAD_PATH_SIZE];
    bool has_file;
    bool has_read;            /* of the file: local is what it holds */
    struct local_blob local;  /* memory NULL: none */
    struct local_blob base;   /* that was fetched last; memory NULL: none */
    struct bytes quarantined; /* payloads that are, here */
    struct bytes taken;
    struct bytes bad; /* payloads that have killed a program of this machine */
    bool is_barred;   /* they were too many */
    uint64_t bytes;
    uint64_t compile_ms; /* of what was taken where there was nothing */
    size_t count;        /* parts that were pulled */
    size_t blocked;
    enum status failure; /* of a part that could not be pulled */
};

/* Reads the file here, once. */
static void pull_read_local(struct pull *blob)
{
    if (!blob->has_read) {
        local_read(blob->session->root, blob->app, blob->identity_hex, &blob->local);
    }
    blob->has_read = true;
}

static bool pull_is_wanted(struct pull *blob, const struct head *head, const struct head_part *part)
{
    if (blob->is_barred || head_blocks(head, part->payload) ||
        state_has(&blob->quarantined, part->payload) || state_has(&blob->bad, part->payload)) {
        blob->blocked++;
        return false;
    }
    if (!blob->has_file) {
        return true;
    }
    if (state_has(&blob->taken, part->payload)) {
        return false;
    }
    pull_read_local(blob);
    return strcmp(part->payload, blob->local.payload) != 0;
}

static int pull_compare_size(const void *left, const void *right)
{
    return array_order_of(((const struct head_part *)right)->unpacked,
                          ((const struct head_part *)left)->unpacked);
}

/* The driver data of a base: what lies here will do if it is the same. */
static enum status pull_base(struct pull *blob, const struct head *head,
                             const struct head_part *base, const struct envelope **ret_prefix)
{
    enum status reason = STATUS_ok;
    pull_read_local(blob);
    if (strcmp(blob->local.payload, base->payload) == 0) {
        *ret_prefix = &blob->local.envelope;
        return STATUS_ok;
    }
    if (strcmp(blob->base.payload, base->payload) != 0) {
        local_blob_free(&blob->base);
        reason = object_get_base(&blob->session->remote, head, base, &blob->base);
        blob->bytes += reason == STATUS_ok ? base->bytes : 0;
    }
    *ret_prefix = &blob->base.envelope;
    return reason;
}

static enum status pull_part(struct pull *blob, const struct head *head,
                             const struct head_part *part)
{
    struct session *session = blob->session;
    const struct head_part *base = head_find_base(head, part);
    const struct envelope *prefix = NULL;
    uint8_t *data = NULL;
    enum status reason = base ? pull_base(blob, head, base, &prefix) : STATUS_ok;
    if (reason == STATUS_ok) {
        reason = object_get(&session->remote, head, part, prefix, &data);
    }
    if (reason == STATUS_ok) {
        reason = local_take(session->root, blob->app, blob->identity_hex, part->payload, data,
                            (size_t)part->unpacked);
        free(data);
    }
    if (reason == STATUS_no_file) {
        reason = STATUS_remote_object_missing;
    }
    if (reason == STATUS_ok) {
        blob->compile_ms += blob->has_file ? 0 : part->compile_ms;
        blob->has_file = true;
        blob->bytes += part->bytes;
        blob->count++;
        state_add(&blob->taken, part->payload);
    }
    return reason;
}

/* Whether the layer has put away what was taken from this head: that is not in the state. */
static bool pull_was_put_away(const struct pull *blob)
{
    AUTO(bytes_free) struct bytes taken = {0};
    bool found = false;
    state_taken(&blob->session->remote.state, blob->path, &taken);
    for (size_t at = 0; at + OBJECT_NAME_SIZE <= blob->quarantined.size; at += OBJECT_NAME_SIZE) {
        const char *name = (const char *)blob->quarantined.data + at;
        found = found || (state_has(&taken, name) && !state_has(&blob->bad, name));
    }
    return found;
}

static void pull_read_bad(struct pull *blob)
{
    const struct state *state = &blob->session->remote.state;
    state_bad(state, blob->path, &blob->bad);
    local_quarantined(blob->session->root, blob->app, blob->identity_hex, &blob->quarantined);
    if (blob->quarantined.size > 0 && pull_was_put_away(blob)) {
        state_add_bad(state, blob->path, &blob->quarantined, PULL_LAYER_DEATHS);
    }
    if (blob->session->remote.options.forget) {
        state_forget_bad(state, blob->path, &blob->quarantined);
        bytes_free(&blob->bad);
        state_bad(state, blob->path, &blob->bad);
    }
    const uint64_t deaths = state_deaths(state, blob->path);
    blob->is_barred = deaths >= PULL_DEATHS;
    if (blob->is_barred) {
        output_message("'%s' has died here of pulled caches, %" PRIu64
                       " times: none is taken for %s ('warmpipe pull --forget' does again)",
                       blob->app, deaths, blob->identity_hex);
    }
}

/* The parts that are wanted here, the largest first: it becomes the file, and the next save merges
 * the others into it. Gives how many. */
static size_t pull_choose(struct pull *blob, struct head *head,
                          const struct head_part *ret_parts[HEAD_PARTS])
{
    size_t count = 0;
    qsort(head->parts, head->part_count, sizeof head->parts[0], pull_compare_size);
    for (size_t i = 0; i < head->part_count; i++) {
        if (pull_is_wanted(blob, head, &head->parts[i])) {
            ret_parts[count++] = &head->parts[i];
        }
    }
    return count;
}

/* Those that can be kept here, as the store will judge: others would be fetched in vain each time,
 * until a save takes up what waits for it. Gives how many. */
static size_t pull_fit(struct pull *blob, const struct head_part *parts[HEAD_PARTS], size_t count)
{
    size_t beside = local_count_parts(blob->session->root, blob->app, blob->identity_hex);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const bool becomes_file = !blob->has_file && kept == 0;
        if (becomes_file || (beside < PARTS_MAX &&
                             (beside <= 1 || parts[i]->unpacked <= OBJECT_LIMIT / (beside + 1)))) {
            parts[kept++] = parts[i];
            beside += !becomes_file;
        }
    }
    if (kept < count) {
        blob->failure = STATUS_too_many_parts;
        remote_complain(&blob->session->remote, blob->path, blob->failure);
    }
    return kept;
}

static void pull_parts(struct pull *blob, struct head *head)
{
    struct remote *remote = &blob->session->remote;
    const struct head_part *parts[HEAD_PARTS];
    blob->has_file = local_exists(blob->session->root, blob->app, blob->identity_hex);
    if (blob->has_file) {
        state_taken(&remote->state, blob->path, &blob->taken);
    }
    blob->has_read = !blob->has_file;
    pull_read_bad(blob);
    const size_t count = pull_fit(blob, parts, pull_choose(blob, head, parts));
    for (size_t i = 0; i < count; i++) {
        object_ahead(remote, head, parts[i]);
    }
    for (size_t i = 0; i < count && !remote->gone; i++) {
        const enum status reason = pull_part(blob, head, parts[i]);
        if (reason != STATUS_ok) {
            remote_complain(remote, blob->path, reason);
            blob->failure = reason;
        }
    }
    object_ahead_end(remote);
    if (blob->count > 0) {
        const struct program_counters counters = {.pulled = blob->count,
                                                  .pulled_bytes = blob->bytes,
                                                  .pulled_ns = blob->compile_ms * CLOCK_MS};
        program_count(blob->session->root, blob->app, &counters, (uint64_t)time(NULL), NULL);
        state_set_taken(&remote->state, blob->path, &blob->taken);
    }
}

bool pull_blob(struct session *session, const char *app, const char *identity_hex)
{
    struct pull blob = {.session = session, .app = app, .identity_hex = identity_hex};
    struct remote *remote = &session->remote;
    struct head head;
    AUTO(engine_value_free) struct engine_value value = {0};
    head_path(app, identity_hex, blob.path);
    const enum status reason = remote_get_head(remote, blob.path, &head, &value);
    if (reason != STATUS_ok && remote->options.forget) {
        pull_read_bad(&blob); /* also where its head was removed, before there is another */
    }
    if (reason == STATUS_ok) {
        pull_parts(&blob, &head);
        const char *result = blob.count > 0                       ? "pulled"
                             : blob.blocked > 0 && !blob.has_file ? "blocked"
                                                                  : "unchanged";
        session_tell(session, app, &head, identity_hex, blob.count > 0 ? STATUS_ok : blob.failure,
                     result, blob.bytes);
    } else {
        if (reason != STATUS_no_file) {
            remote_complain(remote, blob.path, reason);
            session_tell(session, app, NULL, identity_hex, reason, NULL, 0);
        }
        blob.has_file = local_exists(session->root, app, identity_hex);
    }
    bytes_free(&blob.taken);
    bytes_free(&blob.bad);
    bytes_free(&blob.quarantined);
    local_blob_free(&blob.local);
    local_blob_free(&blob.base);
    return blob.has_file;
}

/* Recipes. */

static enum status pull_take_recipes(struct session *session, const char *app,
                                     const struct head *head)
{
    AUTO(session_recipes_free) struct session_recipes recipes;
    AUTO(recipe_merge_free) struct recipe_merged merged = {0};
    enum status reason = session_recipes_get(&session->remote, head, &recipes);
    if (reason == STATUS_ok) {
        struct recipe_merge_limits limits = recipe_judge_limits(&recipes.judge, RECIPES_MAX_FILE);
        limits.foreign = true;
        reason = recipe_merge(recipes.sources.inputs, recipes.sources.count, &limits, &merged);
    }
    if (reason != STATUS_ok) {
        return reason;
    }
    if (merged.counts.refused > 0 || merged.counts.damaged > 0) {
        output_reason(merged.counts.damaged > 0 ? STATUS_bad_record : STATUS_refused_record,
                      "recipes of '%s'", app);
        remote_note_failure(&session->remote);
    }
    if (merged.size > 0) {
        reason = recipe_add(session->root, app, &merged);
        recipe_compact(session->root, app, NULL);
    }
    return reason;
}

/* Whether all that the head lists was taken before, and recipes are here. */
static bool pull_has_recipes(struct session *session, const char *app, const struct head *head,
                             const struct bytes *taken)
{
    for (size_t i = 0; i < head->part_count; i++) {
        if (!state_has(taken, head->parts[i].object)) {
            return false;
        }
    }
    struct recipes *recipes = recipe_tool_open(session->root, app);
    const bool has_some = recipes && recipes_size(recipes) > 0;
    recipes_close(recipes);
    return has_some;
}

bool pull_recipes(struct session *session, const char *app)
{
    struct remote *remote = &session->remote;
    struct head head;
    AUTO(engine_value_free) struct engine_value value = {0};
    AUTO(bytes_free) struct bytes taken = {0};
    char path[HEAD_PATH_SIZE];
    uint64_t bytes = 0;
    bool known = false;
    head_path(app, NULL, path);
    enum status reason = remote_get_head(remote, path, &head, &value);
    const bool has_head = reason == STATUS_ok;
    if (reason == STATUS_no_file) {
        return false;
    }
    if (has_head) {
        state_taken(&remote->state, path, &taken);
        known = pull_has_recipes(session, app, &head, &taken);
        reason = known ? STATUS_ok : pull_take_recipes(session, app, &head);
    }
    if (reason != STATUS_ok) {
        remote_complain(remote, path, reason);
    } else if (!known) {
        for (size_t i = 0; i < head.part_count; i++) {
            state_add(&taken, head.parts[i].object);
            bytes += head.parts[i].bytes;
        }
        state_set_taken(&remote->state, path, &taken);
        if (session->coverage) {
            warm_coverage_ask(session->coverage, session->root, app, &session->devices);
        }
    }
    session_tell(session, app, has_head ? &head : NULL, "", reason, known ? "unchanged" : "pulled",
                 bytes);
    return reason == STATUS_ok;
}

static void pull_program(struct session *session, const char *app)
{
    struct local_identities identities = {.count = 0};
    for (size_t i = 0; i < session->devices.count; i++) {
        char hex[DIGEST_HEX_SIZE];
        digest_format(identity_digest(&session->devices.identities[i]), hex);
        local_identities_add(&identities, hex);
    }
    local_identities_add_wanted(session->root, app, LOCAL_WANTED_S, &identities);
    bool has_all = identities.count > 0;
    for (size_t i = 0; i < identities.count && !session->remote.gone; i++) {
        has_all &= pull_blob(session, app, identities.hex[i]);
    }
    if (!has_all && !session->remote.gone) {
        pull_recipes(session, app);
    }
}

void pull_all(struct session *session)
{
    for (size_t i = 0; i < session->apps.count && !session->remote.gone; i++) {
        pull_program(session, session->apps.list[i].name);
    }
}
