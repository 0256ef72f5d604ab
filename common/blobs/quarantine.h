// SPDX-License-Identifier: Apache-2.0
/* quarantine/ in the program's folder keeps files that killed the processes which loaded them, with
 * a note for people beside each: for each identity the last cache file and the last part
 * (decision 0131). Whoever moves a file holds the identity's lock (identity_files.h). Nothing here
 * logs. Thread-safe. */
#ifndef WARMPIPE_BLOBS_QUARANTINE_H
#define WARMPIPE_BLOBS_QUARANTINE_H

#include <stdbool.h>

#include "common/base/bytes.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/blobs/envelope.h"
#include "common/blobs/marker.h"

/* Appends what the note on a blob says, lines of "name: value". The first has how many blobs of the
 * identity were put away, this one included unless it is_pulled: what another machine has made says
 * nothing of this one's driver. `history`: the two processes that died. directory_fd: the program's
 * folder. */
void quarantine_note(int directory_fd, const char identity[DIGEST_HEX_SIZE],
                     const struct envelope *envelope, const struct marker_history *history,
                     bool is_pulled, struct bytes *note);

/* Moves `name` to quarantine/`as`. `note` (NULL: none) is written to `as`.txt; a failure of that
 * does not change the result. not_a_file: something that cannot be replaced is in the way. */
enum status quarantine_move(int directory_fd, const char *name, const char *as,
                            const struct bytes *note);

/* Whether the identity's blobs are not used, and none is saved: three or more were put away, the
 * last less than a week ago, so it is the driver that dies of its own blobs. */
bool quarantine_is_full(int directory_fd, const char identity[DIGEST_HEX_SIZE]);

#endif
