// SPDX-License-Identifier: Apache-2.0
/* A remote as the verbs use it: an engine, the trusted keys, the signing key, and what is
 * remembered. Nothing in a head or an object is used before its signature and digest are checked.
 * Belongs to one thread. */
#ifndef WARMPIPE_TOOLS_REMOTE_REMOTE_H
#define WARMPIPE_TOOLS_REMOTE_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/files/names.h"
#include "tools/cli/output.h"
#include "tools/cli/verb.h"
#include "tools/remote/engines/engine.h"
#include "tools/remote/heads/head.h"
#include "tools/remote/local.h"

struct remote_options {
    const char *url;        /* NULL: WARMPIPE_REMOTE */
    const char *public_key; /* file; NULL: WARMPIPE_REMOTE_KEY, else the folder of trusted keys */
    const char *secret_key; /* file; NULL: nothing can be written */
    bool insecure;          /* heads are accepted whoever has signed them */
    bool single_writer;     /* nobody else writes: conditions need not work */
    bool forget;            /* forget what has killed a program on this machine */
    bool replace;           /* overwrite heads that are not trusted */
    const char *root;       /* of the caches; NULL: none */
    const char *state;      /* folder of the remembered state; NULL: state_open chooses it */
    uint64_t min_serial;    /* older heads are refused; 0: none is too old */
    uint64_t max_age_s;     /* heads made longer ago are refused; 0: none is */
};

/* Reads the remote's options from the command line, by their names; texts are borrowed. False after
 * a message. */
bool remote_options_read(const struct arguments *arguments, struct remote_options *ret_options);

struct remote {
    struct remote_options options;
    char name[URL_SIZE * 2]; /* the URL without secrets */
    struct engine *engine;
    struct fetch *ahead;   /* of object_ahead; NULL: nothing is fetched ahead */
    bool conditions_known; /* conditional writes were tried, and work */
    struct minisign_keys keys;
    struct state state;
    bool failed;      /* something was refused or missing */
    enum status gone; /* not ok: it does not answer, or not as a remote; it is not asked any more */
    enum status already_told; /* the reason that another process has already reported */
    bool is_unmade_told;      /* remote_tell_unmade has */
    uint64_t lost; /* sum over the path digests of heads that were seen before and are missing */
};

/* Reads the keys and opens the engine; the texts of the options are borrowed. False after a
 * message: the usage is wrong, or a key cannot be read. Closed with remote_close. */
bool remote_open(const struct remote_options *options, struct remote *ret_remote);
void remote_close(struct remote *remote);

/* Asks for a value, which may be missing. STATUS_ok: the remote answers, after *ret_ns nanoseconds.
 */
enum status remote_reach(struct remote *remote, uint64_t *ret_ns);

/* Prints one line with the path and the reason, unless it was already printed, and notes the
 * failure. */
void remote_complain(struct remote *remote, const char *path, enum status reason);

/* Notes the failure that the last message told of. */
void remote_note_failure(struct remote *remote);

/* Prints one line, once, if nothing was found because nobody has ever pushed there: that is no
 * failure, but the URL may be wrong. */
void remote_tell_unmade(struct remote *remote);

/* Reads a head and checks signature, trusted comment, program, identity, serial and age. no_file:
 * there is none, or, with `replace`, none that is trusted and as new as what was seen. *ret_value
 * is what a swap replaces, to be freed; empty where there is nothing. Other reasons, all of which
 * leave it untouched: the engine's, remote_bad_head, remote_no_key, remote_untrusted_head,
 * remote_rolled_back. */
enum status remote_get_head(struct remote *remote, const char *path, struct head *ret_head,
                            struct engine_value *ret_value);

/* Whether heads may be replaced: with single_writer always, else as remote_try_conditions says. */
enum status remote_may_swap(struct remote *remote);

/* Raises the serial, signs, and replaces `old` (empty: there is none yet). The first head of a
 * place, and one that replaces an untrusted one, has the time as serial, which is higher than any
 * counted one (decision 0343). remote_conflict: another machine was first. remote_no_conditions:
 * the server would not have told. */
enum status remote_put_head(struct remote *remote, struct head *head,
                            const struct engine_value *old);

/* After a swap of a head: whether it still names this payload, or blocks it. On a server that
 * checks and writes in two steps it waits, and reads the head again. remote_conflict: another
 * machine has overwritten it. remote_bad_answer: it is not there. */
enum status remote_settle(struct remote *remote, const struct head *head, const char *payload);

/* Makes a conditional write that must fail, over a present value. STATUS_ok: it failed.
 * remote_no_conditions: the server overwrites regardless of conditions. */
enum status remote_try_conditions(struct remote *remote);

/* Objects: the values that a head names, each one zstd frame. An object may be packed with the
 * driver data of another one, its *base*, as prefix (zstd's refPrefix): then only the growth takes
 * room. A base has no base itself. Belongs to the thread of its remote. */

/* An object to be sent. */
struct object {
    struct head_part part; /* all but the payload; bytes 0: not yet packed */
    struct bytes frame;
    bool is_there; /* object_put has written it */
};

/* Packs data. With a base (NULL: none), whose data is `prefix`, the frame names it as such, unless
 * it would be larger than 30% of one without. `object` is empty or was packed before. */
enum status object_pack(const void *data, size_t size, const struct head_part *base,
                        const struct envelope *prefix, struct object *object);
void object_free(struct object *object);

/* Writes it, once. */
enum status object_put(struct remote *remote, struct object *object);

/* Whether it is still there; writes it again if it is not. */
enum status object_keep(struct remote *remote, struct object *object);

/* Whether the object is there, without reading it. no_file: somebody has removed it, or the server
 * has lost it. */
enum status object_look(struct remote *remote, const struct head_part *part);

/* The object of this part will be requested after those that were named before: from the first
 * object_get to object_ahead_end, threads fetch a few ahead. That makes no request that the caller
 * would not have made, unless the caller stops early. */
void object_ahead(struct remote *remote, const struct head *head, const struct head_part *part);

/* Begins no more fetches, waits for those under way, and adds them to the engine's traffic. */
void object_ahead_end(struct remote *remote);

/* Fetches and unpacks the object of a part, or takes it from the head. `prefix`: the driver data of
 * its base; NULL where it has none. *ret_data: part->unpacked bytes, freed by the caller. no_file,
 * remote_bad_object, the engine's. */
enum status object_get(struct remote *remote, const struct head *head, const struct head_part *part,
                       const struct envelope *prefix, uint8_t **ret_data);

/* Fetches a base and checks it as a cache file. Freed with local_blob_free.
 * remote_object_missing, remote_bad_object, the engine's. */
enum status object_get_base(struct remote *remote, const struct head *head,
                            const struct head_part *base, struct local_blob *ret_blob);

/* Leases: v1/lease/<program>/<identity> names the machine that compiles for a device;
 * v1/lease/<program>/<identity or recipes>-push names the one that pushes to a head while others
 * wait. A lease is not a lock: a machine that ignores it compiles or pushes too, and nothing is
 * lost.
 *
 * States:
 *
 *     1 free    there is none, or its time is over by the server's clock
 *     2 ours    it holds this process's number
 *     3 held    it holds another number
 *
 *     1 → 2   swapped in, and still there a moment later      lease_try, lease_wait_for_try
 *     2 → 1   after the push, or when the time is over        lease_give_back, lease_leave
 *     3 → 1   the holder gives it back, or its time is over   seen by the first two
 *
 * Belongs to the thread of its remote. */

/* Leases that one process holds at most. */
#define LEASE_COUNT 4

/* Time for giving leases back at the end, after the time for a push is over, milliseconds. */
#define LEASE_LAST_MS 1000

struct lease {
    char app[NAMES_APP_SIZE];
    char identity_hex[DIGEST_HEX_SIZE];
};

/* The leases that a process holds, or may hold; plain memory, which processes may share. */
struct leases {
    char number[UNIQUE_HEX_SIZE];
    size_t count;
    struct lease held[LEASE_COUNT];
};

/* Sets no leases, and a new number. */
void leases_init(struct leases *ret_leases);

enum lease_state { LEASE_FREE, LEASE_OURS, LEASE_HELD, LEASE_UNKNOWN };

/* Takes the lease if it is free and this remote can be written. LEASE_OURS: taken; LEASE_HELD:
 * another process has it; LEASE_FREE: this process may not take it; LEASE_UNKNOWN: the remote does
 * not say, or cannot be written. */
enum lease_state lease_try(struct remote *remote, struct leases *leases, const char *app,
                           const char *identity_hex);

/* If the process holds LEASE_COUNT leases, forgets those that are over; one request for each. */
void lease_make_room(struct remote *remote, struct leases *leases);

/* Gives back the leases whose cache file is in the root; NULL: all. Leases of others stay. */
void lease_give_back(struct remote *remote, struct leases *leases, const char *root);

/* This process's place among those that push to one head. Zero-initialize. */
struct lease_queue {
    char number[UNIQUE_HEX_SIZE]; /* "": not in the queue */
    bool is_ours;
};

/* Call it before another try at a head, after a conflict. The first call waits for its turn, each
 * further one a moment. False: there have been enough tries. */
bool lease_wait_for_try(struct remote *remote, struct lease_queue *queue, const char *head_path,
                        unsigned try);

/* Ends this process's turn; without one a no-op. */
void lease_leave(struct remote *remote, struct lease_queue *queue, const char *head_path);

#endif
