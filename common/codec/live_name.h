// SPDX-License-Identifier: Apache-2.0
/* How live keys name what an object is made of, once its bytes may be gone: by a keyed hash,
 * SipHash-2-4 with 128 bits of output, whose key is drawn for this process. An attacker
 * can make two inputs with one public digest (digest.h), so that a program would get the attacker's
 * shader for its own. Nobody can do that without knowing the key. Such names mean nothing outside
 * this process and never reach the disk.
 *
 * A byte takes about half a nanosecond, so names are made of what is created, never of what
 * is found. */
#ifndef WARMPIPE_CODEC_LIVE_NAME_H
#define WARMPIPE_CODEC_LIVE_NAME_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/digest.h"

struct live_key {
    uint64_t words[2];
};

/* The key of this process, drawn from getrandom(2) by the first call. NULL: there is none (a
 * kernel or a sandbox without getrandom), and no handle may be shared. Thread-safe, never waits. */
const struct live_key *live_key_of_process(void);

/* SipHash-2-4-128 of `size` bytes. Thread-safe, allocates nothing. */
struct digest live_hash(const struct live_key *key, const void *data, size_t size);

/* The name of an object of this form (a live key: names of what it is made of included) and, of a
 * shader module, this code; code_size 0: none. */
struct digest live_name(const struct live_key *key, const void *form, size_t form_size,
                        const void *code, size_t code_size);

#endif
