// SPDX-License-Identifier: Apache-2.0
/* How a program asks `warmpipe run`, which has started it with a remote, for the blob of its
 * device: only the program knows the device without another query of the driver. Each run answers
 * under a token of its own, so that runs in one folder do not answer for each other.
 *
 * States of one identity and token:
 *
 *     1 nobody asks
 *     2 asked      there is an empty file <identity>.<token>.asked
 *
 *     1 → 2   vkCreateDevice                                    asked_begin
 *     2 → 1   the blob was taken, or there is none to be had    asked_remove
 *     2 → 1   nobody answers any more                           asked_remove
 *
 * The run holds the lock of asked.<token>.tmp (files/file.h) while it answers. The folder is the
 * program's, opened by the caller. Nothing here logs. Thread-safe. */
#ifndef WARMPIPE_BLOBS_ASKED_H
#define WARMPIPE_BLOBS_ASKED_H

#include <stdbool.h>

#include "common/base/digest.h"
#include "common/files/file.h"
#include "common/files/names.h"

/* A variable that the run sets for the processes that it starts: the milliseconds that one may
 * wait, the token, and the absolute path of the folder in which it answers, with colons between. */
#define ASKED_VARIABLE "WARMPIPE_ASK"

/* The longest wait, in milliseconds. */
#define ASKED_WAIT_LIMIT_MS 3600000

/* Makes the file that says that this run answers, under a new token; file.number is the token.
 * False: see errno. */
bool asked_serve(int folder_fd, struct file_owned *ret_file);

/* _pause: nobody answers for a while. A waiting program goes on, and none asks. On a file system
 * without locks, and on SMB, nobody sees that. _resume waits for a program that checks the lock at
 * that moment, for a second at most. */
void asked_pause(const struct file_owned *file);
void asked_resume(const struct file_owned *file);

/* Whether a run answers under the token. On a file system without locks: whether one did. */
bool asked_is_served(int folder_fd, const char token[UNIQUE_HEX_SIZE]);

/* False: the file cannot be made. */
bool asked_begin(int folder_fd, const char identity[DIGEST_HEX_SIZE],
                 const char token[UNIQUE_HEX_SIZE]);

/* Whether the question is still unanswered. */
bool asked_is_open(int folder_fd, const char identity[DIGEST_HEX_SIZE],
                   const char token[UNIQUE_HEX_SIZE]);

/* Whether the cache file is there; then there is nothing to wait for. */
bool asked_has_file(int folder_fd, const char identity[DIGEST_HEX_SIZE]);

void asked_remove(int folder_fd, const char identity[DIGEST_HEX_SIZE],
                  const char token[UNIQUE_HEX_SIZE]);

/* The token in a name that names_classify calls NAME_ASKED. */
void asked_token(const char *name, char ret_token[UNIQUE_HEX_SIZE]);

/* Removes the files that dead runs have left. */
void asked_sweep(int folder_fd);

#endif
