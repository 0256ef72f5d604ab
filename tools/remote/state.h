// SPDX-License-Identifier: Apache-2.0
/* What this machine remembers of a remote, in $XDG_STATE_HOME/warmpipe/remote/<digest of the URL>:
 * of each head the highest serial that it has seen, which payloads it has taken into which root,
 * which have killed a program here, and how often. Losing that is safe: an old head may then be
 * accepted, and parts are pulled again. Processes may use it at once: no serial goes back, and no
 * death is lost. */
#ifndef WARMPIPE_TOOLS_REMOTE_STATE_H
#define WARMPIPE_TOOLS_REMOTE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "tools/remote/heads/head.h"

struct state {
    char *folder;      /* of all remotes; NULL: nothing is remembered */
    char url_hex[17];  /* names this one's in it */
    char *root;        /* of the caches; NULL: none */
    char root_hex[17]; /* names it */
};

/* `url` as it was given; `folder` in place of $XDG_STATE_HOME/warmpipe, or NULL. Freed with
 * state_free. Nothing is made on disk. */
void state_open(const char *url, const char *root, const char *folder, struct state *ret_state);
void state_free(struct state *state);

/* The highest serial that was seen of this head; 0: none. */
uint64_t state_serial(const struct state *state, const char *path);

/* Remembers it if it is higher. */
void state_see_serial(const struct state *state, const char *path, uint64_t serial);

/* The payloads of this head that were taken into the root: names, a newline behind each. None where
 * the program's folder is another one by now. Freed with bytes_free. */
void state_taken(const struct state *state, const char *path, struct bytes *ret_names);
void state_set_taken(const struct state *state, const char *path, struct bytes *names);

/* The payloads of this head that have killed a program of this machine, in the same form. */
void state_bad(const struct state *state, const char *path, struct bytes *ret_names);
void state_add_bad(const struct state *state, const char *path, const struct bytes *payloads,
                   unsigned deaths);

/* Forgets how often, and all of them but those named. */
void state_forget_bad(const struct state *state, const char *path, const struct bytes *but);

/* How often a program of this machine died of what this head lists, all payloads together. */
uint64_t state_deaths(const struct state *state, const char *path);

/* Whether a name, which need not end in a zero, is among them. */
bool state_has(const struct bytes *names, const char *name);
void state_add(struct bytes *names, const char *name);

#endif
