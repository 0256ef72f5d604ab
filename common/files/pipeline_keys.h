// SPDX-License-Identifier: Apache-2.0
/* The keys by which drivers tell whether two devices compile alike (driver/pipeline_key.h), of the
 * latest devices of a program: kept in program.json. No I/O. Belongs to one thread at a time. */
#ifndef WARMPIPE_FILES_PIPELINE_KEYS_H
#define WARMPIPE_FILES_PIPELINE_KEYS_H

#include <stddef.h>

#include "common/base/bytes.h"
#include "common/base/digest.h"
#include "common/base/json.h"

struct pipeline_key {
    struct digest device; /* of the driver's identity and what was enabled: pipeline_key_device */
    struct digest key;    /* of the driver's bytes */
};

/* How many devices are remembered. */
#define PIPELINE_KEYS_MAX 16

/* Zero-initialize it. */
struct pipeline_keys {
    size_t count;
    struct pipeline_key keys[PIPELINE_KEYS_MAX]; /* the latest is the last */
};

/* The key of a device, borrowed, or NULL. */
const struct pipeline_key *pipeline_keys_find(const struct pipeline_keys *keys,
                                              struct digest device);

/* Replaces the key of a device. The oldest one gives way. */
void pipeline_keys_set(struct pipeline_keys *keys, const struct pipeline_key *key);

/* Reads the list's text (docs/FORMAT.md), which may hold anything: entries that are not understood
 * are skipped. Replaces the list. */
void pipeline_keys_parse(struct json_text text, struct pipeline_keys *keys);

/* Appends the text, without quotes. The caller checks out->failed. */
void pipeline_keys_put(const struct pipeline_keys *keys, struct bytes *out);

#endif
