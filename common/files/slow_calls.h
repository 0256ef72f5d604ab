// SPDX-License-Identifier: Apache-2.0
/* What has taken a driver long, so that nobody is kept waiting for it again: kept in program.json
 * for the latest drivers of a program. No I/O. Belongs to one thread at a time. */
#ifndef WARMPIPE_FILES_SLOW_CALLS_H
#define WARMPIPE_FILES_SLOW_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/base/digest.h"
#include "common/base/json.h"

/* What the layer asks of a driver's caches by itself. */
enum slow_call {
    SLOW_LOAD,  /* a cache of the blob on disk */
    SLOW_READ,  /* the device cache's data */
    SLOW_MERGE, /* caches into one, and its data */
    SLOW_CALL_COUNT
};

/* Of one driver. */
struct slow_calls {
    struct digest identity;
    uint32_t ms[SLOW_CALL_COUNT]; /* milliseconds; 0: it does not take long */
};

/* How many drivers are remembered. */
#define SLOW_CALLS_DRIVERS 16

/* Zero-initialize it. */
struct slow_calls_list {
    size_t count;
    struct slow_calls drivers[SLOW_CALLS_DRIVERS]; /* the latest is the last */
};

/* The entry of the driver with this identity, borrowed, or NULL. */
const struct slow_calls *slow_calls_find(const struct slow_calls_list *list,
                                         struct digest identity);

/* Replaces the entry of a driver; without a time it is removed. The oldest one gives way. */
void slow_calls_set(struct slow_calls_list *list, const struct slow_calls *calls);

/* Reads the list's text (docs/FORMAT.md), which may hold anything: entries that are not understood
 * are skipped. Replaces the list. */
void slow_calls_parse(struct json_text text, struct slow_calls_list *list);

/* Appends the text, without quotes. The caller checks out->failed. */
void slow_calls_put(const struct slow_calls_list *list, struct bytes *out);

#endif
