// SPDX-License-Identifier: Apache-2.0
#include "tools/report/report.h"

#include <string.h>

#include "common/base/json.h"
#include "tools/cli/output.h"

/* In microseconds: about thirty years, for a time and for a span. */
#define TIME_LIMIT 1000000000000000ull

const char *trace_result_name(enum trace_result result)
{
    static const char *const names[] = {[TRACE_RESULT_NONE] = "",
#define TRACE_RESULT_NAME(name) [TRACE_RESULT_##name] = #name,
                                        TRACE_RESULTS(TRACE_RESULT_NAME)
#undef TRACE_RESULT_NAME
    };
    return names[result];
}

static enum trace_result events_result_by_name(const char *name)
{
    for (enum trace_result result = TRACE_RESULT_NONE; result < TRACE_RESULT_COUNT; result++) {
        if (strcmp(name, trace_result_name(result)) == 0) {
            return result;
        }
    }
    /* Prewarming has words of its own; others are of a later version. */
    return strcmp(name, "compiled") == 0 ? TRACE_RESULT_created : TRACE_RESULT_unknown;
}

static enum trace_category events_category_by_name(struct json_text value, char phase)
{
    static const struct {
        const char *name;
        char phase;
        enum trace_category category;
    } categories[] = {
        {"\"device\"", 'i', TRACE_DEVICE},   {"\"pipeline\"", 'X', TRACE_PIPELINE},
        {"\"object\"", 'X', TRACE_OBJECT},   {"\"cache\"", 'X', TRACE_CACHE},
        {"\"prewarm\"", 'X', TRACE_PREWARM}, {"\"trace\"", 'i', TRACE_DROPPED},
    };
    for (size_t i = 0; i < sizeof categories / sizeof categories[0]; i++) {
        if (phase == categories[i].phase && json_text_is(value, categories[i].name)) {
            return categories[i].category;
        }
    }
    return TRACE_FOREIGN;
}

/* The members of one event; size 0: missing. */
struct members {
    struct json_text phase;
    struct json_text category;
    struct json_text name;
    struct json_text start;
    struct json_text duration;
    struct json_text process;
    struct json_text thread;
    struct json_text arguments;
};

static void events_read_members(struct json_reader *reader, struct members *members)
{
    const struct {
        const char *key;
        struct json_text *value;
    } known[] = {
        {"ph", &members->phase},   {"cat", &members->category},   {"name", &members->name},
        {"ts", &members->start},   {"dur", &members->duration},   {"pid", &members->process},
        {"tid", &members->thread}, {"args", &members->arguments},
    };
    struct json_text key;
    json_read_open(reader, '{');
    while (json_read_member(reader, &key)) {
        const struct json_text value = json_read_any(reader);
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
            if (json_text_is(key, known[i].key)) {
                *known[i].value = value;
            }
        }
    }
}

/* An integer from 0 to UINT64_MAX. False otherwise. */
static bool events_number(struct json_text value, uint64_t *ret_number)
{
    struct json_reader reader = json_reader_over(value.data, value.size);
    const uint64_t number = json_read_number(&reader);
    json_read_end(&reader);
    if (!reader.failed) {
        *ret_number = number;
    }
    return !reader.failed;
}

/* A decimal number of microseconds, in nanoseconds: 12.3456 is 12345. False: it is not a number,
 * negative, above TIME_LIMIT, or written with an exponent. */
static bool events_time(struct json_text value, uint64_t *ret_ns)
{
    uint64_t whole = 0;
    uint64_t part = 0;
    uint64_t scale = 1000;
    bool in_decimals = false;
    for (size_t i = 0; i < value.size; i++) {
        const char digit = value.data[i];
        if (digit == '.') {
            in_decimals = true;
        } else if (digit < '0' || digit > '9' || whole > TIME_LIMIT) {
            return false;
        } else if (in_decimals) {
            scale /= 10;
            part += scale * (uint64_t)(digit - '0');
        } else {
            whole = whole * 10 + (uint64_t)(digit - '0');
        }
    }
    if (value.size == 0 || whole > TIME_LIMIT) {
        return false;
    }
    *ret_ns = whole * 1000 + part;
    return true;
}

/* Takes one argument. False: it has the wrong type. */
static bool events_take_argument(struct trace_event *event, struct json_text key,
                                 struct json_text value)
{
    const struct {
        const char *key;
        char *text; /* NULL: */
        uint64_t *number;
    } known[] = {
        {"state", event->state, NULL},        {"cache", event->state, NULL},
        {"reason", event->reason, NULL},      {"app", event->app, NULL},
        {"driver", event->driver, NULL},      {"identity", event->identity, NULL},
        {"device", event->device_name, NULL}, {"driver_info", event->driver_info, NULL},
        {"dev", NULL, &event->device},        {"bytes", NULL, &event->bytes},
        {"events", NULL, &event->dropped},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (json_text_is(key, known[i].key)) {
            return known[i].text ? json_value_text(value, known[i].text, TRACE_TEXT_SIZE)
                                 : events_number(value, known[i].number);
        }
    }
    char text[TRACE_TEXT_SIZE];
    if (json_text_is(key, "digest")) {
        return json_value_text(value, text, sizeof text) && digest_parse(text, &event->digest);
    }
    if (json_text_is(key, "result")) {
        const bool is_text = json_value_text(value, text, sizeof text);
        event->result = is_text ? events_result_by_name(text) : TRACE_RESULT_NONE;
        return is_text;
    }
    if (json_text_is(key, "name") && event->category == TRACE_THREAD) {
        return json_value_text(value, event->name, sizeof event->name);
    }
    return true;
}

static bool events_take_arguments(struct trace_event *event, struct json_text arguments)
{
    struct json_reader reader = json_reader_over(arguments.data, arguments.size);
    struct json_text key;
    bool fine = true;
    if (arguments.size == 0) {
        return true;
    }
    json_read_open(&reader, '{');
    while (json_read_member(&reader, &key)) {
        fine &= events_take_argument(event, key, json_read_any(&reader));
    }
    return fine && !reader.failed;
}

static bool events_take_members(struct trace_event *event, const struct members *members)
{
    const bool is_span = event->category >= TRACE_PIPELINE && event->category <= TRACE_PREWARM;
    return events_number(members->process, &event->process) &&
           events_number(members->thread, &event->thread) &&
           (members->name.size == 0 ||
            json_value_text(members->name, event->name, sizeof event->name)) &&
           (event->category == TRACE_THREAD || events_time(members->start, &event->start_ns)) &&
           (!is_span || events_time(members->duration, &event->duration_ns)) &&
           events_take_arguments(event, members->arguments);
}

/* False: an event of ours that is malformed. */
static bool events_read_event(struct json_reader *reader, struct trace_event *event)
{
    struct members members = {0};
    events_read_members(reader, &members);
    if (reader->failed) {
        return false;
    }
    /* "ph" is one letter; 0: it is missing or malformed. */
    const char phase =
        members.phase.size == 3 && members.phase.data[0] == '"' ? members.phase.data[1] : 0;
    *event = (struct trace_event){.category = events_category_by_name(members.category, phase)};
    if (phase == 'M' && json_text_is(members.name, "\"thread_name\"")) {
        event->category = TRACE_THREAD;
    }
    return event->category == TRACE_FOREIGN || events_take_members(event, &members);
}

enum trace_verdict trace_events(const void *data, size_t size,
                                void (*visit)(const struct trace_event *event, void *user),
                                void *user)
{
    struct json_reader reader = json_reader_over(data, size);
    struct trace_event event;
    bool any_ours = false;
    bool any = false;
    bool damaged = false;
    if (size == 0) {
        return TRACE_WHOLE; /* a process is about to begin it */
    }
    json_read_open(&reader, '[');
    const bool is_array = !reader.failed;
    while (json_read_element(&reader)) {
        const bool fine = events_read_event(&reader, &event);
        any = true;
        progress_add("event");
        damaged |= !fine;
        any_ours |= !reader.failed && event.category != TRACE_FOREIGN;
        if (fine && event.category != TRACE_FOREIGN) {
            visit(&event, user);
        }
    }
    json_read_end(&reader);
    if (!is_array || (!any_ours && (any || reader.failed))) {
        return TRACE_ALIEN;
    }
    return damaged || reader.failed ? TRACE_DAMAGED : TRACE_WHOLE;
}
