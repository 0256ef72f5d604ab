// SPDX-License-Identifier: Apache-2.0
#include "layer/trace/stats.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/json.h"
#include "common/base/log.h"

static const struct {
    char group[20]; /* in place: a pointer would be bound at every start */
    char name[16];
} stats_fields[] = {
#define STATS_FIELD(group, name) {#group, #name},
#include "layer/trace/stats_fields.def"
#undef STATS_FIELD
};

unsigned stats_thread_number(void)
{
    static atomic_uint next;
    static _Thread_local unsigned own; /* from 1; 0: not given yet */
    if (own == 0) {
        own = atomic_fetch_add(&next, 1) + 1;
    }
    return own;
}

void stats_add(struct stats *stats, enum stats_field field, uint64_t amount)
{
    stats_stripe_add(stats_stripe_of(stats), field, amount);
}

uint64_t stats_get(const struct stats *stats, enum stats_field field)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < STATS_STRIPES; i++) {
        sum += __atomic_load_n(&stats->values[i][field], __ATOMIC_RELAXED);
    }
    return sum;
}

const char *cache_state_name(enum cache_state state)
{
    static const char *const names[] = {
        [CACHE_STATE_COLD] = "cold",         [CACHE_STATE_LOADED] = "loaded",
        [CACHE_STATE_REJECTED] = "rejected", [CACHE_STATE_QUARANTINED] = "quarantined",
        [CACHE_STATE_DENIED] = "denied",     [CACHE_STATE_INEFFECTIVE] = "ineffective",
        [CACHE_STATE_OFF] = "off",
    };
    return names[state];
}

static void stats_put_counters(struct bytes *out, const struct stats *stats)
{
    const char *group = NULL;
    for (int field = 0; field < STATS_FIELD_COUNT; field++) {
        if (!group || strcmp(group, stats_fields[field].group) != 0) {
            if (group) {
                json_put_close(out, '}');
            }
            group = stats_fields[field].group;
            json_put_open(out, group, '{');
        }
        json_put_number(out, stats_fields[field].name, stats_get(stats, (enum stats_field)field));
    }
    json_put_close(out, '}');
}

void stats_format(const struct stats *stats, const struct stats_line *line, struct bytes *out)
{
    json_put_open(out, NULL, '{');
    json_put_string(out, "event", line->event);
    json_put_number(out, "pid", (uint64_t)getpid());
    json_put_string(out, "app", line->app);
    json_put_number(out, "dev", line->device_index);
    json_put_string(out, "device", line->device);
    json_put_string(out, "driver", line->driver);
    json_put_string(out, "identity", line->identity);
    json_put_open(out, "cache", '{');
    json_put_string(out, "state", cache_state_name(line->state));
    json_put_string(out, "reason", status_id(line->reason));
    json_put_number(out, "loaded_bytes", line->loaded_bytes);
    json_put_number(out, "saved_bytes", line->saved_bytes);
    json_put_close(out, '}');
    stats_put_counters(out, stats);
    json_put_close(out, '}');
    bytes_put_u8(out, '\n');
}

void stats_append(const char *path, const struct stats *stats, const struct stats_line *line)
{
    static atomic_flag warned = ATOMIC_FLAG_INIT;
    struct bytes out = {0};
    stats_format(stats, line, &out);
    int error = out.failed ? ENOMEM : io_append(path, out.data, out.size);
    bytes_free(&out);
    if (error && !atomic_flag_test_and_set(&warned)) {
        log_warn("cannot write statistics to '%s': %s (%s)", path, strerror(error),
                 status_id(status_from_errno(error)));
    }
}
