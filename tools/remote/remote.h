// SPDX-License-Identifier: Apache-2.0
/* A remote as the verbs use it: an engine, the keys that are trusted, the key that signs, and what
 * is remembered of it. Nothing that a head or an object says is used before its signature and
 * digest are checked. Belongs to one thread. */
#ifndef WARMPIPE_TOOLS_REMOTE_REMOTE_H
#define WARMPIPE_TOOLS_REMOTE_REMOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/cli/output.h"
#include "tools/remote/engines/engine.h"
#include "tools/remote/heads/head.h"
#include "tools/remote/heads/minisign.h"
#include "tools/remote/local.h"

struct remote_options {
    const char *verb;       /* begins each message */
    const char *url;        /* NULL: WARMPIPE_REMOTE */
    const char *public_key; /* file; NULL: WARMPIPE_REMOTE_KEY, else the folder of trusted keys */
    const char *secret_key; /* file; NULL: nothing can be written */
    bool insecure;          /* heads are taken whoever has signed them */
    bool single_writer;     /* nobody else writes: conditions need not work */
    bool forget;            /* what has killed a program of this machine is forgotten */
    bool replace;           /* heads that cannot be trusted are overwritten */
    const char *root;       /* of the caches; NULL: none */
    const char *state;      /* folder of what is remembered; NULL: state_open says which */
    uint64_t min_serial;    /* older heads are refused; 0: none is too old */
    uint64_t max_age_s;     /* heads made longer ago are refused; 0: none is */
};

/* What --min-serial and --max-age say; NULL: not given. False after a message. */
bool remote_options_add_age(struct remote_options *options, const char *serial, const char *age);

struct remote {
    struct remote_options options;
    char name[URL_SIZE * 2]; /* the URL without secrets */
    struct engine *engine;
    struct fetch *ahead;   /* fetches objects that object_get will ask for; NULL: none */
    bool conditions_known; /* they were tried, and work */
    struct minisign_keys keys;
    struct state state;
    bool failed; /* something was refused or could not be had */
    bool gone;   /* it does not answer, or not as a remote: nothing more is asked of it */
    enum status gone_because;
    enum status already_told; /* another process has said that it is gone because of this */
    bool is_unmade_told;      /* remote_tell_unmade has */
};

/* Reads the keys and opens the engine; the texts of the options are borrowed. False after a
 * message: the usage is wrong, or a key cannot be read. Closed with remote_close. */
bool remote_open(const struct remote_options *options, struct remote *ret_remote);
void remote_close(struct remote *remote);

/* Asks for a value, which need not be there. STATUS_ok: it answers, after *ret_ns nanoseconds. */
enum status remote_reach(struct remote *remote, uint64_t *ret_ns);

/* One line that names the path and why, unless it is already told, and notes the failure. */
void remote_complain(struct remote *remote, const char *path, enum status reason);

/* One line, once, where nothing was found because nobody has ever pushed there: that is no failure,
 * but the URL may be wrong. */
void remote_tell_unmade(struct remote *remote);

/* Reads a head and checks signature, trusted comment, program, identity, serial and age. no_file:
 * there is none, or, with `replace`, none that is trusted. *ret_value is what a swap replaces, to
 * be freed; empty where there is nothing. Other reasons, all of which leave it untouched: the
 * engine's, remote_bad_head, remote_no_key, remote_untrusted_head, remote_rolled_back. */
enum status remote_get_head(struct remote *remote, const char *program, const char *identity_hex,
                            struct head *ret_head, struct engine_value *ret_value);

/* Counts the serial up, signs, and replaces `old` (empty: there is none yet). With `replace` the
 * serial of a new head is the time, which is higher than what was counted. remote_conflict: another
 * was first. remote_no_conditions: the server would not have told. */
enum status remote_put_head(struct remote *remote, struct head *head,
                            const struct engine_value *old);

/* After a swap of a head: whether it still names this payload, or blocks it. On a server that
 * checks and writes in two steps it waits, and reads the head again. remote_conflict: another
 * machine has overwritten it. */
enum status remote_settle(struct remote *remote, const struct head *head, const char *payload);

/* Writes a value that is there already, in a way that must fail. STATUS_ok: it did.
 * remote_no_conditions: the server overwrites whatever is asked. */
enum status remote_try_conditions(struct remote *remote);

#endif
