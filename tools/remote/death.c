// SPDX-License-Identifier: Apache-2.0
#include "tools/remote/death.h"

#include <stdio.h>
#include <unistd.h>

#include "common/blobs/identity_files.h"
#include "common/files/file.h"
#include "tools/remote/local.h"

/* Whether a process has died of this very file. */
static bool death_is_of(const struct marker_folder *folder, const struct local_blob *blob,
                        uint64_t since)
{
    for (size_t i = 0; i < folder->dead_count; i++) {
        const struct marker_record *dead = &folder->dead[i];
        if (dead->generation == blob->envelope.generation && dead->loaded_at >= since &&
            dead->finding.died && dead->finding.stored) {
            return true;
        }
    }
    return false;
}

static void death_judge_identity(struct session *session, const char *app, const char *identity_hex,
                                 const struct marker_folder *folder, uint64_t since)
{
    struct remote *remote = &session->remote;
    struct local_blob blob;
    struct bytes taken;
    char path[HEAD_PATH_SIZE];
    if (folder->dead_count == 0 ||
        local_read(session->root, app, identity_hex, &blob) != STATUS_ok) {
        return;
    }
    head_path(app, identity_hex, path);
    state_taken(&remote->state, path, &taken);
    if (state_has(&taken, blob.payload) && death_is_of(folder, &blob, since)) {
        const enum status reason = local_put_away(session->root, app, &blob, folder);
        state_add_bad(&remote->state, path, blob.payload);
        output_message("%s: '%s' died in the driver with a cache from the remote, %s: %s (%s)",
                       remote->verb, app, identity_hex,
                       status_text(reason == STATUS_ok ? STATUS_quarantined : reason),
                       status_id(reason == STATUS_ok ? STATUS_quarantined : reason));
    }
    bytes_free(&taken);
    local_blob_free(&blob);
}

void death_judge(struct session *session, const char *app, uint64_t since)
{
    int folder_fd;
    if (file_open_directory(session->root, app, false, &folder_fd) != STATUS_ok) {
        return;
    }
    DIR *listing = listing_open(folder_fd, ".");
    const char *name;
    while ((name = listing_next(listing))) {
        char identity_hex[DIGEST_HEX_SIZE];
        if (names_classify(name, identity_hex) == NAME_LOADING) {
            struct marker_folder folder;
            marker_folder_open(folder_fd, name, &folder);
            death_judge_identity(session, app, identity_hex, &folder, since);
            marker_folder_close(&folder);
        }
    }
    listing_close(listing);
    close(folder_fd);
}
