// SPDX-License-Identifier: Apache-2.0
/* A cache of the remote that has killed the program is put away. */
#include <inttypes.h>

#include "common/base/text.h"
#include "tools/remote/local.h"
#include "tools/remote/run/run_remote.h"

static bool death_is_in_merge(const struct marker_record *dead)
{
    for (uint32_t i = 0; i < dead->finding.keys.count; i++) {
        if (dead->finding.keys.keys[i] == CRASH_KEY_MERGE) {
            return true;
        }
    }
    return false;
}

/* Whether a process died as it merged another file: its guards of the file that it had loaded are
 * raised then as well. */
static bool death_is_of_another(const struct marker_folder *folder,
                                const struct marker_record *dead)
{
    bool found = false;
    for (size_t i = 0; i < folder->dead_count && !death_is_in_merge(dead); i++) {
        found |= folder->dead[i].process == dead->process && folder->dead[i].finding.died &&
                 death_is_in_merge(&folder->dead[i]);
    }
    return found;
}

/* The process that has died of this very file; NULL: none. `any_call`: also in one for a pipeline
 * that recipes do not know it to hold. */
static const struct marker_record *death_of(const struct marker_folder *folder,
                                            const struct local_blob *blob, uint64_t since,
                                            bool any_call)
{
    for (size_t i = 0; i < folder->dead_count; i++) {
        const struct marker_record *dead = &folder->dead[i];
        if (dead->generation == blob->envelope.generation && dead->loaded_at >= since &&
            dead->finding.died && (any_call || (dead->finding.stored && !dead->finding.is_long)) &&
            !death_is_of_another(folder, dead)) {
            return dead;
        }
    }
    return NULL;
}

static enum status death_put_away(struct session *session, const char *app,
                                  const struct local_blob *blob, const struct marker_folder *folder,
                                  const struct marker_record *dead, const struct trial *trial)
{
    const struct driver_identity *identity = &blob->envelope.identity;
    char time_text[TEXT_TIME_SIZE];
    text_time(dead->loaded_at, time_text);
    AUTO_FREE char *text = output_format(
        "device: %s\ndriver: %s %s\ndriver version: 0x%08" PRIx32 "\nfrom: %s\n"
        "payload: %s\nbytes: %" PRIu64 "\nfirst death: %s, process %" PRIu32 " (%s)\n",
        identity->device_name, identity->driver_name, identity->driver_info,
        identity->driver_version, session->remote.name, blob->payload, blob->envelope.blob_size,
        time_text, dead->process, dead->program);
    AUTO(bytes_free) struct bytes note = {0};
    bytes_put_text(&note, text ? text : "");
    trial_put_note(trial, &note);
    return local_put_away(session->root, app, blob, folder, &note);
}

/* Of files that were merged at once the parts are looked at first; the file beside them is what
 * this machine would rather keep. */
static void death_judge_identity(struct session *session, const char *app, int folder_fd,
                                 const char *identity_hex, const struct marker_folder *folder,
                                 uint64_t since, bool crashed)
{
    struct remote *remote = &session->remote;
    struct parts files = {0};
    AUTO(bytes_free) struct bytes taken = {0};
    char path[HEAD_PATH_SIZE];
    if (folder->dead_count == 0) {
        return;
    }
    parts_list(folder_fd, identity_hex, false, &files);
    head_path(app, identity_hex, path);
    state_taken(&remote->state, path, &taken);
    for (size_t i = 0; i <= files.count; i++) {
        AUTO(local_blob_free) struct local_blob blob = {0};
        const char *name = i < files.count ? files.names[i] : NULL;
        const enum status read = local_read_part(folder_fd, identity_hex, name, &blob);
        AUTO(trial_free) struct trial trial = {.kept = ""};
        const bool on_trial =
            read == STATUS_ok &&
            trial_find(folder_fd, folder->name, blob.envelope.generation, &trial) == STATUS_ok;
        const bool is_theirs = on_trial || (read == STATUS_ok && state_has(&taken, blob.payload));
        /* What one on trial holds nobody here knows: another machine has compiled it. */
        const bool any_call = crashed && on_trial;
        const struct marker_record *dead =
            is_theirs ? death_of(folder, &blob, since, any_call) : NULL;
        if (dead) {
            const enum status reason = death_put_away(session, app, &blob, folder, dead, &trial);
            const enum status told = reason == STATUS_ok ? STATUS_quarantined : reason;
            if (trial.payloads.size == 0) {
                state_add(&trial.payloads, blob.payload);
            }
            state_add_bad(&remote->state, path, &trial.payloads, 1);
            output_reason(told, "'%s' died in the driver with a cache from the remote, %s", app,
                          identity_hex);
            break;
        }
    }
}

void death_judge(struct session *session, const char *app, uint64_t since, bool crashed)
{
    AUTO_CLOSE int folder_fd = -1;
    if (file_open_directory(session->root, app, false, &folder_fd) != STATUS_ok) {
        return;
    }
    AUTO_LISTING DIR *listing = listing_open(folder_fd, ".");
    const char *name;
    while ((name = listing_next(listing))) {
        char identity_hex[DIGEST_HEX_SIZE];
        if (names_classify(name, identity_hex) == NAME_LOADING) {
            AUTO(marker_folder_close) struct marker_folder folder;
            marker_folder_open(folder_fd, name, &folder);
            death_judge_identity(session, app, folder_fd, identity_hex, &folder, since, crashed);
        }
    }
}
