// SPDX-License-Identifier: Apache-2.0
/* SHA-256 (FIPS 180-4). What is pulled is hashed twice, and libsodium's takes 6 ms a megabyte: more
 * than all else that a pull does. Where the processor has instructions for it, they are used. */
#ifndef WARMPIPE_TOOLS_REMOTE_HEADS_SHA256_H
#define WARMPIPE_TOOLS_REMOTE_HEADS_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_SIZE 32

/* `data` may be NULL where size is 0. Thread-safe. */
void sha256(const void *data, size_t size, uint8_t ret_digest[SHA256_SIZE]);

#endif
