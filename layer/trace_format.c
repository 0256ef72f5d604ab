#include "trace_format.h"

#include "base/json.h"

/* Opens an event; its members and then its arguments follow. */
static void begin(const struct trace_source *source, const char *phase, const char *name,
                  struct bytes *out)
{
    bytes_put(out, ",\n", 2);
    json_put_open(out, NULL, '{');
    json_put_string(out, "ph", phase);
    json_put_string(out, "name", name);
    json_put_number(out, "pid", source->process);
}

static void begin_arguments(struct bytes *out)
{
    json_put_open(out, "args", '{');
}

static void end(struct bytes *out)
{
    json_put_close(out, '}');
    json_put_close(out, '}');
}

/* A metadata event, by which viewers show a name instead of a number. */
static void put_name(const struct trace_source *source, const char *what, uint32_t thread,
                     const char *name, struct bytes *out)
{
    begin(source, "M", what, out);
    json_put_number(out, "tid", thread);
    begin_arguments(out);
    json_put_string(out, "name", name);
    end(out);
}

static void put_instant(uint64_t time_ns, uint32_t thread, const char *category, struct bytes *out)
{
    json_put_string(out, "cat", category);
    json_put_number(out, "tid", thread);
    json_put_string(out, "s", "p"); /* of the whole process */
    json_put_thousandths(out, "ts", time_ns);
    begin_arguments(out);
}

static void put_optional(struct bytes *out, const char *key, const char *text)
{
    if (text) {
        json_put_string(out, key, text);
    }
}

static void put_content(struct bytes *out, struct digest content)
{
    if (!digest_equal(content, (struct digest){0})) {
        char hex[DIGEST_HEX_SIZE];
        digest_format(content, hex);
        json_put_string(out, "digest", hex);
    }
}

static void put_span(const struct trace_event *event, struct bytes *out)
{
    static const char categories[][10] = {
        [TRACE_PIPELINE] = "pipeline",
        [TRACE_OBJECT] = "object",
        [TRACE_CACHE] = "cache",
        [TRACE_PREWARM] = "prewarm",
    };
    const bool is_cache = event->kind == TRACE_CACHE;
    json_put_string(out, "cat", categories[event->kind]);
    json_put_number(out, "tid", event->thread);
    json_put_thousandths(out, "ts", event->start_ns);
    json_put_thousandths(out, "dur", event->end_ns - event->start_ns);
    begin_arguments(out);
    put_content(out, event->content);
    if (is_cache) {
        json_put_number(out, "bytes", event->amount);
    }
    put_optional(out, is_cache ? "state" : "result", event->result);
    put_optional(out, "reason", event->reason);
}

void trace_format_event(const struct trace_source *source, const struct trace_event *event,
                        struct bytes *out)
{
    if (event->kind == TRACE_THREAD) {
        put_name(source, "thread_name", event->thread, event->name, out);
        return;
    }
    if (event->kind == TRACE_DROPPED) {
        begin(source, "i", event->name, out);
        put_instant(event->start_ns, event->thread, "trace", out);
        json_put_number(out, "events", event->amount);
    } else {
        begin(source, "X", event->name, out);
        put_span(event, out);
    }
    json_put_number(out, "dev", source->device_index);
    end(out);
}

void trace_format_process(const struct trace_source *source, const char *name, struct bytes *out)
{
    put_name(source, "process_name", source->process, name, out);
}

void trace_format_device(const struct trace_source *source, uint64_t time_ns,
                         const struct stats_line *line, struct bytes *out)
{
    begin(source, "i", "device", out);
    put_instant(time_ns, source->process, "device", out);
    json_put_string(out, "app", line->app);
    json_put_string(out, "device", line->device);
    json_put_string(out, "driver", line->driver);
    json_put_string(out, "identity", line->identity);
    json_put_number(out, "dev", source->device_index);
    json_put_string(out, "cache", cache_state_name(line->state));
    end(out);
}
