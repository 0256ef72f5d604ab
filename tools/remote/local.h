// SPDX-License-Identifier: Apache-2.0
/* This side of a remote: what the caches' root has of one program and driver. */
#ifndef WARMPIPE_TOOLS_REMOTE_LOCAL_H
#define WARMPIPE_TOOLS_REMOTE_LOCAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/blobs/envelope.h"
#include "common/blobs/identity_files.h"
#include "common/blobs/marker.h"
#include "common/blobs/trial.h"
#include "tools/remote/heads/head.h"
#include "tools/remote/state.h"

/* A cache file, read whole and checked as the layer checks it. */
struct local_blob {
    char name[PART_NAME_SIZE]; /* of the file */
    uint8_t *memory;
    size_t size;
    struct envelope envelope;
    char payload[OBJECT_NAME_SIZE]; /* the SHA-256 of what the driver is given */
};

/* Reads <identity>.wpcache, or the part of that name. Freed with local_blob_free. */
enum status local_read_part(int folder_fd, const char *identity_hex, const char *name,
                            struct local_blob *ret_blob);
enum status local_read(const char *root, const char *app, const char *identity_hex,
                       struct local_blob *ret_blob);
void local_blob_free(struct local_blob *blob);

/* Whether there is a cache file whose header is whole. */
bool local_exists(const char *root, const char *app, const char *identity_hex);

/* Whether parts lie beside the file, for the next save to merge. */
bool local_has_parts(const char *root, const char *app, const char *identity_hex);

/* What came from the remote with what lies in quarantine, or else that itself: names of payloads, a
 * newline behind each. Freed with bytes_free. */
void local_quarantined(const char *root, const char *app, const char *identity_hex,
                       struct bytes *ret_names);

/* Whether the cache file of this generation is on trial (blobs/trial.h). Freed with trial_free. */
bool local_on_trial(const char *root, const char *app, const char *identity_hex,
                    uint64_t generation, struct trial *ret_trial);

/* Takes a file from elsewhere: every check of the envelope, this very identity and payload; then
 * the store writes it, in place of no file or as a part beside one. Where the file or a part holds
 * the same already, there is nothing to do. */
enum status local_take(const char *root, const char *app, const char *identity_hex,
                       const char *payload, const uint8_t *data, size_t size);

/* Identities that a pull asks for. */
#define LOCAL_IDENTITIES 64

struct local_identities {
    size_t count;
    char hex[LOCAL_IDENTITIES][DIGEST_HEX_SIZE];
};

bool local_identities_have(const struct local_identities *identities, const char *hex);

/* Adds one that is not yet there; where there is no room, nothing. */
void local_identities_add(struct local_identities *identities, const char *hex);

/* Adds those that programs of the folder have looked for in the last 30 days and not found
 * (<identity>.wanted). */
void local_identities_add_wanted(const char *root, const char *app,
                                 struct local_identities *identities);

/* Puts the file in quarantine as the cache file of its identity, if it still has this generation,
 * with the note beside it, and forgets the deaths that `folder` tells of it. */
enum status local_put_away(const char *root, const char *app, const struct local_blob *blob,
                           const struct marker_folder *folder, const struct bytes *note);

#endif
