// SPDX-License-Identifier: Apache-2.0
/* Reads and writes files that the user names. Messages begin with the verb's name. */
#ifndef WARMPIPE_TOOLS_CLI_OUTPUT_FILE_H
#define WARMPIPE_TOOLS_CLI_OUTPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* Whether the path is standard output: "-", or another name of it. Then nothing else may be written
 * there. */
bool output_file_is_standard(const char *path);

/* Replaces a file by the concatenation of the parts, whole or not at all, and keeps its mode. A
 * link stays a link. What is not a regular file (a pipe, a terminal, standard output) is written
 * to. A reader that closes its pipe early is no error. False after a message that begins with the
 * verb's name. */
bool output_file_write(const char *verb, const char *path, const struct iovec *parts, int count);

/* Reads a regular file of any owner, of at most `limit` bytes, into memory that is to be freed.
 * False after a message. */
bool output_file_read(const char *verb, const char *path, uint64_t limit, uint8_t **ret_data,
                      size_t *ret_size);

#endif
