#include "stats.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "sink.h"
#include "utf8.h"

static const struct {
    const char *group;
    const char *name;
} fields[] = {
#define STATS_FIELD(group, name) {#group, #name},
#include "stats_fields.def"
#undef STATS_FIELD
};

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

static void put_text(struct bytes *out, const char *text)
{
    bytes_put(out, text, strlen(text));
}

static void put_escaped(struct bytes *out, const char *text)
{
    while (text && *text) {
        size_t length = utf8_length(text);
        unsigned char first = (unsigned char)*text;
        if (length == 0) {
            put_text(out, "\xef\xbf\xbd"); /* U+FFFD */
            length = 1;
        } else if (first == '"' || first == '\\') {
            bytes_put_u8(out, '\\');
            bytes_put_u8(out, first);
        } else if (first < 0x20) {
            char escape[7];
            snprintf(escape, sizeof escape, "\\u%04x", first);
            put_text(out, escape);
        } else {
            bytes_put(out, text, length);
        }
        text += length;
    }
}

/* Keys are ours and need no escaping. A comma goes before every key but the first of an object. */
static void put_key(struct bytes *out, const char *key)
{
    if (out->size && out->data[out->size - 1] != '{') {
        bytes_put_u8(out, ',');
    }
    bytes_put_u8(out, '"');
    put_text(out, key);
    put_text(out, "\":");
}

static void put_string(struct bytes *out, const char *key, const char *value)
{
    put_key(out, key);
    bytes_put_u8(out, '"');
    put_escaped(out, value);
    bytes_put_u8(out, '"');
}

static void put_number(struct bytes *out, const char *key, uint64_t value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, value);
    put_key(out, key);
    put_text(out, digits);
}

static void put_counters(struct bytes *out, const struct stats *stats)
{
    const char *group = NULL;
    for (int field = 0; field < STATS_FIELD_COUNT; field++) {
        if (!group || strcmp(group, fields[field].group) != 0) {
            if (group) {
                bytes_put_u8(out, '}');
            }
            group = fields[field].group;
            put_key(out, group);
            bytes_put_u8(out, '{');
        }
        put_number(out, fields[field].name, stats_get(stats, (enum stats_field)field));
    }
    bytes_put_u8(out, '}');
}

void stats_format(const struct stats *stats, const struct stats_line *line, struct bytes *out)
{
    bytes_put_u8(out, '{');
    put_string(out, "event", line->event);
    put_number(out, "pid", (uint64_t)getpid());
    put_string(out, "app", line->app);
    put_number(out, "dev", line->device_index);
    put_string(out, "device", line->device);
    put_string(out, "driver", line->driver);
    put_string(out, "identity", line->identity);
    put_key(out, "cache");
    bytes_put_u8(out, '{');
    put_string(out, "state", cache_state_name(line->state));
    put_string(out, "reason", reason_id(line->reason));
    put_number(out, "loaded_bytes", line->loaded_bytes);
    put_number(out, "saved_bytes", line->saved_bytes);
    bytes_put_u8(out, '}');
    put_counters(out, stats);
    put_text(out, "}\n");
}

void stats_append(const char *path, const struct stats *stats, const struct stats_line *line)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    struct bytes out = {0};
    stats_format(stats, line, &out);
    int error = out.failed ? ENOMEM : sink_append(path, 0, out.data, out.size);
    bytes_free(&out);
    if (error && !atomic_flag_test_and_set(&told)) {
        log_warn("cannot write statistics to '%s': %s (%s)", path, strerror(error),
                 reason_id(reason_from_errno(error)));
    }
}
