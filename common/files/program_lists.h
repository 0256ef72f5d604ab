// SPDX-License-Identifier: Apache-2.0
/* Two short lists that program.json keeps, each of the latest drivers or devices of a program, as
 * text (docs/FORMAT.md). No I/O. Each list belongs to one thread at a time.
 *
 * Of both: zero-initialize the list; _find gives a borrowed entry, or NULL; _set replaces the entry
 * of the same name, and the oldest one gives way; _parse replaces the list by what a text says,
 * which may hold anything: entries that are not understood are skipped; _put appends the text,
 * without quotes, and the caller checks out->failed. */
#ifndef WARMPIPE_FILES_PROGRAM_LISTS_H
#define WARMPIPE_FILES_PROGRAM_LISTS_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/base/digest.h"
#include "common/base/json.h"

/* How many entries are remembered. */
#define PROGRAM_LIST_MAX 16

/* What the layer asks of a driver's caches by itself. */
enum slow_call {
    SLOW_LOAD,  /* a cache of the blob on disk */
    SLOW_READ,  /* the device cache's data */
    SLOW_MERGE, /* caches into one, and its data */
    SLOW_CALL_COUNT
};

/* What has taken one driver long, so that nobody is kept waiting for it again. */
struct slow_calls {
    struct digest identity;
    uint32_t ms[SLOW_CALL_COUNT]; /* milliseconds; 0: it does not take long */
};

struct slow_calls_list {
    size_t count;
    struct slow_calls drivers[PROGRAM_LIST_MAX]; /* the latest is the last */
};

const struct slow_calls *slow_calls_find(const struct slow_calls_list *list,
                                         struct digest identity);

/* Without a time the entry is removed. */
void slow_calls_set(struct slow_calls_list *list, const struct slow_calls *calls);
void slow_calls_parse(struct json_text text, struct slow_calls_list *list);
void slow_calls_put(const struct slow_calls_list *list, struct bytes *out);

/* The key by which a driver tells whether two devices compile alike (driver/pipeline_key.h). */
struct pipeline_key {
    struct digest device; /* of the driver's identity and what was enabled: pipeline_key_device */
    struct digest key;    /* of the driver's bytes */
};

struct pipeline_keys {
    size_t count;
    struct pipeline_key keys[PROGRAM_LIST_MAX]; /* the latest is the last */
};

const struct pipeline_key *pipeline_keys_find(const struct pipeline_keys *keys,
                                              struct digest device);
void pipeline_keys_set(struct pipeline_keys *keys, const struct pipeline_key *key);
void pipeline_keys_parse(struct json_text text, struct pipeline_keys *keys);
void pipeline_keys_put(const struct pipeline_keys *keys, struct bytes *out);

#endif
