// SPDX-License-Identifier: Apache-2.0
/* The counters of one device, and the line of JSON that reports them (WARMPIPE_STATS). */
#ifndef WARMPIPE_LAYER_TRACE_STATS_H
#define WARMPIPE_LAYER_TRACE_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/base/status.h"

enum stats_field {
#define STATS_FIELD(group, name) STATS_##group##_##name,
#include "layer/trace/stats_fields.def"
#undef STATS_FIELD
    STATS_FIELD_COUNT,
    /* Counted but not reported: the duration of misses, by the driver's feedback. */
    STATS_compile_ns = STATS_FIELD_COUNT,
    STATS_COUNT
};

/* The first threads count in a stripe of their own each, without atomic read-modify-write; all
 * others share the first stripe. */
#define STATS_STRIPES 8

/* Zero-initialize; only the functions below touch the values. stats_add may be called from any
 * thread at any time. (The builtins, not stdatomic.h: C++17 tests include this header.) */
struct stats {
    uint64_t values[STATS_STRIPES][(STATS_COUNT + 31) / 16 * 16]; /* never in one line */
};

/* Returns the thread's number, from 1; it differs between threads, never changes, and is never
 * reused. */
unsigned stats_thread_number(void);

/* The stripe of this thread, for callers that count several things at once. */
struct stats_stripe {
    uint64_t *values;
    bool is_own;
};

static inline struct stats_stripe stats_stripe_of(struct stats *stats)
{
    const unsigned thread = stats_thread_number();
    const bool is_own = thread < STATS_STRIPES;
    const struct stats_stripe stripe = {stats->values[is_own ? thread : 0], is_own};
    return stripe;
}

static inline void stats_stripe_add(struct stats_stripe stripe, enum stats_field field,
                                    uint64_t amount)
{
    uint64_t *value = &stripe.values[field];
    if (stripe.is_own) {
        const uint64_t before = __atomic_load_n(value, __ATOMIC_RELAXED);
        __atomic_store_n(value, before + amount, __ATOMIC_RELAXED);
    } else {
        __atomic_fetch_add(value, amount, __ATOMIC_RELAXED);
    }
}

void stats_add(struct stats *stats, enum stats_field field, uint64_t amount);
uint64_t stats_get(const struct stats *stats, enum stats_field field);

/* The value of "cache":{"state":…}. */
enum cache_state {
    CACHE_STATE_COLD,
    CACHE_STATE_LOADED,
    CACHE_STATE_REJECTED,
    CACHE_STATE_QUARANTINED,
    CACHE_STATE_DENIED,
    CACHE_STATE_INEFFECTIVE,
    CACHE_STATE_OFF
};

/* The state's word in JSON. Static storage. */
const char *cache_state_name(enum cache_state state);

/* The rest of a line. Strings are borrowed during the call; NULL is "". */
struct stats_line {
    const char *event; /* "flush", "destroy", "exit" */
    const char *app;
    uint32_t device_index;   /* "dev": counts the devices of this process from 0 */
    const char *device;      /* VkPhysicalDeviceProperties.deviceName */
    const char *driver;      /* driverName, "" where unknown */
    const char *driver_info; /* driverInfo, in traces alone */
    const char *identity;    /* hex digest that names the cache file */
    enum cache_state state;
    enum status reason;
    uint64_t loaded_bytes;
    uint64_t saved_bytes;
};

/* Appends one JSON object and a newline to `out`. Thread-safe with regard to `stats`. */
void stats_format(const struct stats *stats, const struct stats_line *line, struct bytes *out);

/* Formats the line and appends it to the file at `path` with one write(2) of O_APPEND, so that
 * lines of several processes do not mix. A new file has mode 0600. A failure is logged once per
 * process. */
void stats_append(const char *path, const struct stats *stats, const struct stats_line *line);

#endif
