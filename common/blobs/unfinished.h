// SPDX-License-Identifier: Apache-2.0
/* Whether recipes were being compiled for an identity, ahead of a program or by `warmpipe warm`, by
 * somebody who did not come to the end: what was saved until then is a cache like any other, and
 * yet not all that there is to compile. Noted in `<identity>.wanted` (docs/FORMAT.md), so that it
 * is known whatever has ended the process. The folder is the program's, opened by the caller. A
 * failure only loses the note. Nothing here logs. Thread-safe. */
#ifndef WARMPIPE_BLOBS_UNFINISHED_H
#define WARMPIPE_BLOBS_UNFINISHED_H

#include <stdbool.h>

#include "common/base/digest.h"

/* Whether one has begun and not come to its end. */
bool unfinished_is(int folder_fd, const char identity[DIGEST_HEX_SIZE]);

/* Before the first recipe (true), and after the last. */
void unfinished_set(int folder_fd, const char identity[DIGEST_HEX_SIZE], bool is_unfinished);

#endif
