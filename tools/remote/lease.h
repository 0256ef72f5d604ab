// SPDX-License-Identifier: Apache-2.0
/* Leases: v1/lease/<program>/<identity> names the machine that compiles for a device, and
 * v1/lease/<program>/<identity or recipes>-push the one that pushes at a head while others wait. It
 * is not a lock: who ignores it compiles or pushes too, and nothing is lost. States, and the
 * function for each arrow:
 *
 *     1 free    there is none, or its time is over by the server's clock
 *     2 ours    it holds this process's number
 *     3 held    it holds another number
 *
 *     1 → 2     swapped in, and still there a moment later       lease_try, lease_wait_for_try
 *     2 → 1     after the push, or when the time is over         lease_give_back, lease_leave
 *     3 → 1     the holder gives it back, or its time is over    seen by lease_try,
 * lease_wait_for_try
 *
 * Belongs to the thread of its remote. */
#ifndef WARMPIPE_TOOLS_REMOTE_LEASE_H
#define WARMPIPE_TOOLS_REMOTE_LEASE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/digest.h"
#include "common/files/names.h"
#include "tools/remote/remote.h"

/* Leases that one process holds at most. */
#define LEASE_COUNT 4

/* For giving leases back at the end, when the time for a push is over, milliseconds. */
#define LEASE_LAST_MS 1000

struct lease {
    char app[NAMES_APP_SIZE];
    char identity_hex[DIGEST_HEX_SIZE];
};

/* Those that a process holds, or may hold; plain memory, which processes may share. */
struct leases {
    char number[UNIQUE_HEX_SIZE];
    size_t count;
    struct lease held[LEASE_COUNT];
};

/* None, under a new number. */
void leases_init(struct leases *ret_leases);

enum lease_state { LEASE_FREE, LEASE_OURS, LEASE_HELD, LEASE_UNKNOWN };

/* Takes the lease if it is free and this remote can be written: LEASE_OURS. LEASE_HELD: another
 * has it; LEASE_FREE: it is not for this process to take; LEASE_UNKNOWN: the remote does not say,
 * or cannot be written. */
enum lease_state lease_try(struct remote *remote, struct leases *leases, const char *app,
                           const char *identity_hex);

/* Gives back those whose cache file is in the root; NULL: all. Those that are another's stay. */
void lease_give_back(struct remote *remote, struct leases *leases, const char *root);

/* Those that push at one head at the same time. Zero-initialize. */
struct lease_queue {
    char number[UNIQUE_HEX_SIZE]; /* "": not in the queue */
    bool is_ours;
};

/* Before another try at a head, after a conflict: the first waits for its turn, each further one a
 * moment. False: there have been enough. */
bool lease_wait_for_try(struct remote *remote, struct lease_queue *queue, const char *head_path,
                        unsigned try);

/* Gives the turn back; without one a no-op. */
void lease_leave(struct remote *remote, struct lease_queue *queue, const char *head_path);

#endif
