// SPDX-License-Identifier: Apache-2.0
#include "tools/remote/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/recipes/merge.h"
#include "common/recipes/segment.h"

bool session_open(const struct remote_options *options, char *root, struct session *ret_session)
{
    struct remote_options whole = *options;
    *ret_session = (struct session){.root = root};
    whole.root = root;
    if (!root || !remote_open(&whole, &ret_session->remote)) {
        free(root);
        ret_session->root = NULL;
        return false;
    }
    return true;
}

void session_close(struct session *session)
{
    inventory_apps_free(&session->apps);
    vulkan_devices_free(&session->devices);
    remote_close(&session->remote);
    free(session->root);
    *session = (struct session){0};
}

/* False after a message. */
static bool session_add_named(struct session *session, const struct arguments *arguments)
{
    for (int i = 0; i < arguments->repeated_count; i++) {
        /* A folder has the name that 'run --app' gives it. */
        char name[NAMES_APP_SIZE];
        names_app_folder(&(struct names_program){.app_setting = arguments->repeated[i]}, name);
        if (!inventory_apps_add(&session->apps, name, INVENTORY_PROGRAM)) {
            output_message("out of memory");
            return false;
        }
    }
    return true;
}

/* Programs that a remote may name, and heads. */
#define SESSION_LISTED_MAX 10000
#define SESSION_HEADS_MAX  100000

bool session_apps_there(struct session *session, const struct arguments *arguments)
{
    struct remote *remote = &session->remote;
    AUTO(session_heads_free) struct session_heads heads = {0};
    if (arguments->repeated_count > 0) {
        return session_add_named(session, arguments);
    }
    const enum status reason = session_find_heads(session, NULL, &heads);
    if (reason == STATUS_remote_unsupported) {
        output_message("say which program with --app NAME");
    }
    bool fits = true;
    for (size_t i = 0; fits && i < heads.count; i++) {
        char program[NAMES_APP_SIZE];
        char identity[DIGEST_HEX_SIZE];
        head_split_path(heads.paths[i], program, identity);
        fits = inventory_apps_add(&session->apps, program, INVENTORY_PROGRAM) &&
               session->apps.count <= SESSION_LISTED_MAX;
    }
    if (!fits) {
        remote_complain(remote, HEAD_FOLDER,
                        engine_fail(remote->engine, STATUS_remote_bad_answer, "too many programs"));
    }
    return reason == STATUS_ok && fits;
}

/* A folder that is named after an executable ends in the digest of its path: who has it elsewhere
 * looks for another name at the remote. */
static void session_warn_of_name(const struct session *session, const char *app)
{
    const size_t length = strlen(app);
    if (session->remote.keys.can_sign && length > 9 && app[length - 9] == '-' &&
        names_is_hex(app + length - 8, 8)) {
        output_message("'%s' is named after a path, which may differ on other machines: set "
                       "WARMPIPE_APP",
                       app);
    }
}

bool session_apps_here(struct session *session, const struct arguments *arguments)
{
    AUTO(inventory_apps_free) struct inventory_apps apps = {0};
    if (arguments->repeated_count > 0) {
        return session_add_named(session, arguments);
    }
    if (!inventory_apps(session->root, NULL, INVENTORY_CLOSED, &apps)) {
        return false;
    }
    for (size_t i = 0; i < apps.count; i++) {
        const size_t before = session->apps.count;
        inventory_apps_add(&session->apps, apps.list[i].name, apps.list[i].kind);
        if (session->apps.count > before) {
            session_warn_of_name(session, apps.list[i].name);
        }
    }
    return true;
}

void session_tell(struct session *session, const char *app, const struct head *head,
                  const char *identity_hex, enum status reason, const char *result, uint64_t bytes)
{
    struct output *output = session->output;
    if (!output) {
        return;
    }
    session->told++;
    output_open(output, NULL, OUTPUT_ROW);
    output_text(output, "name", app);
    output_text(output, "kind", identity_hex[0] ? "blob" : "recipes");
    output_text(output, "device", head ? head->identity.device_name : "");
    output_text(output, "identity", identity_hex);
    output_text(output, "result", reason == STATUS_ok ? result : "failed");
    if (output->json) {
        output_text(output, "reason", reason == STATUS_ok ? "ok" : status_id(reason));
    }
    output_size(output, "size", bytes);
    output_number(output, "serial", head ? head->serial : 0);
    output_close(output);
}

void session_show_traffic(struct session *session, struct output *output)
{
    const struct engine_traffic *traffic = &session->remote.engine->traffic;
    output_number(output, "requests", traffic->requests);
    output_size(output, "received", traffic->received);
    output_size(output, "sent", traffic->sent);
    if (output->json) {
        output_number(output, "conflicts", traffic->conflicts);
    }
}

/* Recipes. */

void session_recipes_free(struct session_recipes *recipes)
{
    recipe_judge_free(&recipes->judge);
    recipe_sources_close(&recipes->sources);
}

static enum status session_get_segment(struct remote *remote, const struct head *head,
                                       const struct head_part *part, struct recipe_sources *sources)
{
    struct recipe_segment segment;
    uint8_t *data = NULL;
    enum status reason = object_get(remote, head, part, NULL, &data);
    if (reason == STATUS_ok) {
        reason = recipe_segment_take(data, (size_t)part->unpacked, &segment);
    }
    if (reason == STATUS_ok) {
        recipe_tool_add(sources, &segment);
    }
    return reason == STATUS_no_file ? STATUS_remote_object_missing : reason;
}

enum status session_recipes_get(struct remote *remote, const struct head *head,
                                struct session_recipes *ret_recipes)
{
    struct recipe_sources *sources = &ret_recipes->sources;
    const bool has_room = recipe_tool_sources(head->part_count, sources);
    enum status reason =
        recipe_judge_init(&ret_recipes->judge) && has_room ? STATUS_ok : STATUS_out_of_memory;
    for (size_t i = 0; i < head->part_count; i++) {
        object_ahead(remote, head, &head->parts[i]);
    }
    uint64_t unpacked = 0; /* of all parts: more than a file of recipes may hold is nobody's */
    for (size_t i = 0; reason == STATUS_ok && i < head->part_count; i++) {
        unpacked += head->parts[i].unpacked;
        reason = unpacked > RECIPES_MAX_FILE
                     ? STATUS_remote_bad_object
                     : session_get_segment(remote, head, &head->parts[i], sources);
    }
    object_ahead_end(remote);
    return reason;
}

/* Heads. */

static void session_add_head(struct session_heads *heads, const char *path)
{
    heads->failed =
        heads->failed || !array_reserve(&heads->paths, heads->count, sizeof *heads->paths);
    if (!heads->failed) {
        snprintf(heads->paths[heads->count++], HEAD_PATH_SIZE, "%s", path);
    }
}

static bool session_visit_head(const char *path, void *user)
{
    struct session_heads *heads = user;
    char program[NAMES_APP_SIZE];
    char identity[DIGEST_HEX_SIZE];
    if (!head_split_path(path, program, identity)) {
        return true;
    }
    bool meant = !heads->apps;
    for (size_t i = 0; !meant && i < heads->apps->count; i++) {
        meant = strcmp(heads->apps->list[i].name, program) == 0;
    }
    if (meant) {
        session_add_head(heads, path);
    }
    return !heads->failed;
}

/* The paths that are known without a listing. */
static void session_guess_heads(struct session *session, struct session_heads *heads)
{
    heads->are_guesses = true;
    vulkan_devices_list(&session->devices);
    for (size_t i = 0; i < session->apps.count; i++) {
        const char *app = session->apps.list[i].name;
        char path[HEAD_PATH_SIZE];
        for (size_t device = 0; device < session->devices.count; device++) {
            char hex[DIGEST_HEX_SIZE];
            digest_format(identity_digest(&session->devices.identities[device]), hex);
            head_path(app, hex, path);
            session_add_head(heads, path);
        }
        head_path(app, NULL, path);
        session_add_head(heads, path);
    }
}

static int session_compare_paths(const void *left, const void *right)
{
    return strcmp(left, right);
}

enum status session_find_heads(struct session *session, const struct arguments *arguments,
                               struct session_heads *ret_heads)
{
    struct remote *remote = &session->remote;
    const bool has_names = arguments && arguments->repeated_count > 0;
    *ret_heads = (struct session_heads){.apps = has_names ? &session->apps : NULL};
    if (has_names && !session_add_named(session, arguments)) {
        return STATUS_out_of_memory;
    }
    enum status reason =
        engine_list(remote->engine, HEAD_FOLDER, SESSION_HEADS_MAX, session_visit_head, ret_heads);
    reason = ret_heads->failed ? STATUS_out_of_memory : reason;
    if (reason == STATUS_remote_unsupported && has_names) {
        output_message("%s: cannot list: of blobs, those of this machine's devices alone are "
                       "looked for",
                       remote->name);
        session_guess_heads(session, ret_heads);
        reason = ret_heads->failed ? STATUS_out_of_memory : STATUS_ok;
    }
    if (reason != STATUS_ok) {
        remote_complain(remote, HEAD_FOLDER, reason);
        session_heads_free(ret_heads);
        return reason;
    }
    array_sort(ret_heads->paths, ret_heads->count, sizeof *ret_heads->paths, session_compare_paths);
    /* Redis may list a key more than once, and a guess may have been listed before that failed. */
    ret_heads->count = array_unique(ret_heads->paths, ret_heads->count, sizeof *ret_heads->paths,
                                    session_compare_paths);
    return STATUS_ok;
}

void session_heads_free(struct session_heads *heads)
{
    free(heads->paths);
    *heads = (struct session_heads){0};
}
