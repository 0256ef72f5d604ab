// SPDX-License-Identifier: Apache-2.0
/* The local side of a remote: what the caches' root has of one program and driver, and what this
 * machine remembers of the remote (state.c). */
#ifndef WARMPIPE_TOOLS_REMOTE_LOCAL_H
#define WARMPIPE_TOOLS_REMOTE_LOCAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "common/base/bytes.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/blobs/envelope.h"
#include "common/blobs/identity_files.h"
#include "common/blobs/marker.h"
#include "common/blobs/trial.h"
#include "tools/remote/heads/head.h"

/* A cache file, read whole and checked as the layer checks it. */
struct local_blob {
    char name[PART_NAME_SIZE]; /* of the file */
    uint8_t *memory;
    size_t size;
    struct envelope envelope;
    char payload[OBJECT_NAME_SIZE]; /* the SHA-256 of what the driver is given */
};

/* Reads <identity>.wpcache, or the part of this name; NULL: none. Freed with local_blob_free. */
enum status local_read_part(int folder_fd, const char *identity_hex, const char *name,
                            struct local_blob *ret_blob);
enum status local_read(const char *root, const char *app, const char *identity_hex,
                       struct local_blob *ret_blob);
void local_blob_free(struct local_blob *blob);

/* Whether there is a cache file whose header is whole. */
bool local_exists(const char *root, const char *app, const char *identity_hex);

/* How many parts lie beside the file, for the next save to merge. */
size_t local_count_parts(const char *root, const char *app, const char *identity_hex);

/* The payloads in quarantine, as names with a newline after each: those that came from the remote,
 * or else the quarantined file's own. Freed with bytes_free. */
void local_quarantined(const char *root, const char *app, const char *identity_hex,
                       struct bytes *ret_names);

/* Stores a file from elsewhere. Checks the envelope completely, and that it has this very identity
 * and payload. The store then writes it as the cache file, or as a part beside a present cache
 * file. Does nothing if the file or a part already holds the same. */
enum status local_take(const char *root, const char *app, const char *identity_hex,
                       const char *payload, const uint8_t *data, size_t size);

/* Identities of one program that a pull asks for, or a push sends. */
#define LOCAL_IDENTITIES 256

struct local_identities {
    size_t count;
    char hex[LOCAL_IDENTITIES][DIGEST_HEX_SIZE];
};

bool local_identities_have(const struct local_identities *identities, const char *hex);

/* Adds an identity that is not there yet; does nothing if there is no room. */
void local_identities_add(struct local_identities *identities, const char *hex);

/* Seconds for which a .wanted file counts. */
#define LOCAL_WANTED_S (30 * 24 * 3600)

/* Adds the identities that programs of the folder have looked for and not found in the last age_s
 * seconds (<identity>.wanted). */
void local_identities_add_wanted(const char *root, const char *app, time_t age_s,
                                 struct local_identities *identities);

/* Moves the file to quarantine as the cache file of its identity, if it still has this generation,
 * with the note beside it, and forgets its deaths in `folder`. */
enum status local_put_away(const char *root, const char *app, const struct local_blob *blob,
                           const struct marker_folder *folder, const struct bytes *note);

/* What this machine remembers of a remote, in $XDG_STATE_HOME/warmpipe/remote/<digest of the URL>:
 * the highest serial that it has seen of each head; the payloads that it has taken into each root;
 * with which recipes of a root it was united;
 * which payloads have killed a program here, and how often. Losing that is safe: an old head may
 * then be accepted, and parts are pulled again. Processes may use it at once: no serial goes back,
 * and no death is lost. */
struct state {
    char *folder;      /* of all remotes; NULL: nothing is remembered */
    char url_hex[17];  /* the name of this remote's folder in it */
    const char *root;  /* of the caches, borrowed; NULL: none */
    char root_hex[17]; /* names it */
};

/* `url` as it was given; `folder` replaces $XDG_STATE_HOME/warmpipe, or is NULL; `root` is
 * borrowed. Freed with state_free. Makes nothing on disk. */
void state_open(const char *url, const char *root, const char *folder, struct state *ret_state);
void state_free(struct state *state);

/* Returns the highest serial seen of this head; 0: none. */
uint64_t state_serial(const struct state *state, const char *path);

/* Remembers the serial if it is higher. */
void state_see_serial(const struct state *state, const char *path, uint64_t serial);

/* The payloads of this head that were taken into the root: names, with a newline after each. Empty
 * if the program's folder has been made anew since. Freed with bytes_free. */
void state_taken(const struct state *state, const char *path, struct bytes *ret_names);
void state_set_taken(const struct state *state, const char *path, struct bytes *names);

/* Whether this is what was noted last of the head, a name as of an object: that it holds what is in
 * the root. */
bool state_is_united(const struct state *state, const char *path, const char *name);
void state_set_united(const struct state *state, const char *path, const char *name);

/* The payloads of this head that have killed a program on this machine, in the same form. */
void state_bad(const struct state *state, const char *path, struct bytes *ret_names);
void state_add_bad(const struct state *state, const char *path, const struct bytes *payloads,
                   unsigned deaths);

/* Forgets the number of deaths, and all payloads except those in `but`. */
void state_forget_bad(const struct state *state, const char *path, const struct bytes *but);

/* How often a program on this machine has died of what this head lists, all payloads together. */
uint64_t state_deaths(const struct state *state, const char *path);

/* Whether a name, which need not end in a zero, is in `names`. _add: adds one. */
bool state_has(const struct bytes *names, const char *name);
void state_add(struct bytes *names, const char *name);

#endif
