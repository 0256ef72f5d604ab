// SPDX-License-Identifier: Apache-2.0
/* How a process asks the one that has started it, `warmpipe run` with a remote, for the blob of its
 * device: it alone knows the device without asking a driver once more. States of one identity, and
 * the function for each arrow:
 *
 *     1 nobody asks
 *     2 asked      there is an empty file <identity>.asked
 *
 *     1 → 2   vkCreateDevice                                    asked_begin
 *     2 → 1   the blob was taken, or there is none to be had    asked_answer
 *
 * Where nobody answers, the file stays until the next who answers does. The folder is the
 * program's, opened by the caller. Nothing here logs. Thread-safe. */
#ifndef WARMPIPE_BLOBS_ASKED_H
#define WARMPIPE_BLOBS_ASKED_H

#include <stdbool.h>

#include "common/base/digest.h"

/* Set by whoever answers, for the processes that it starts: the milliseconds that one may wait, a
 * colon, and the absolute path of the folder in which it answers. */
#define ASKED_VARIABLE "WARMPIPE_ASK"

/* False: the file cannot be made. */
bool asked_begin(int folder_fd, const char identity[DIGEST_HEX_SIZE]);

/* Whether there is no answer yet. */
bool asked_is_open(int folder_fd, const char identity[DIGEST_HEX_SIZE]);

/* Whether the cache file is there, which need not be waited for. */
bool asked_has_file(int folder_fd, const char identity[DIGEST_HEX_SIZE]);

void asked_answer(int folder_fd, const char identity[DIGEST_HEX_SIZE]);

#endif
