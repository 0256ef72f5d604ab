// SPDX-License-Identifier: Apache-2.0
#include "layer/trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/json.h"
#include "common/files/file.h"

#define LOCK_WAIT_MS 200

/* Bytes: a trace that nobody looks after does not fill a disk. */
#define MAX_SIZE ((uint64_t)256 << 20)

/* How a trace begins and ends. */
static const char head[] = "[\n{\"ph\":\"M\",\"name\":\"process_name\",";
static const char tail[] = "\n]\n";
#define HEAD_SIZE (sizeof head - 1)
#define TAIL_SIZE (sizeof tail - 1)

/* Longer than any event. */
#define WINDOW_SIZE 8192

/* Events as JSON. */

/* Opens an event; its members and then its arguments follow. */
static void trace_begin_event(const struct trace_source *source, const char *phase,
                              const char *name, struct bytes *out)
{
    bytes_put(out, ",\n", 2);
    json_put_open(out, NULL, '{');
    json_put_string(out, "ph", phase);
    json_put_string(out, "name", name);
    json_put_number(out, "pid", source->process);
}

static void trace_end_event(struct bytes *out)
{
    json_put_close(out, '}');
    json_put_close(out, '}');
}

/* A metadata event, by which viewers show a name instead of a number. */
static void trace_put_name(const struct trace_source *source, const char *what, uint32_t thread,
                           const char *name, struct bytes *out)
{
    trace_begin_event(source, "M", what, out);
    json_put_number(out, "tid", thread);
    json_put_open(out, "args", '{');
    json_put_string(out, "name", name);
    trace_end_event(out);
}

static void trace_put_instant(uint64_t time_ns, uint32_t thread, const char *category,
                              struct bytes *out)
{
    json_put_string(out, "cat", category);
    json_put_number(out, "tid", thread);
    json_put_string(out, "s", "p"); /* of the whole process */
    json_put_thousandths(out, "ts", time_ns);
    json_put_open(out, "args", '{');
}

static void trace_put_optional(struct bytes *out, const char *key, const char *text)
{
    if (text) {
        json_put_string(out, key, text);
    }
}

static void trace_put_span(const struct trace_event *event, struct bytes *out)
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
    json_put_open(out, "args", '{');
    if (!digest_equal(event->content, (struct digest){0})) {
        char hex[DIGEST_HEX_SIZE];
        digest_format(event->content, hex);
        json_put_string(out, "digest", hex);
    }
    if (is_cache) {
        json_put_number(out, "bytes", event->amount);
    }
    trace_put_optional(out, is_cache ? "state" : "result", event->result);
    trace_put_optional(out, "reason", event->reason);
}

void trace_format_event(const struct trace_source *source, const struct trace_event *event,
                        struct bytes *out)
{
    if (event->kind == TRACE_THREAD) {
        trace_put_name(source, "thread_name", event->thread, event->name, out);
        return;
    }
    if (event->kind == TRACE_DROPPED) {
        trace_begin_event(source, "i", event->name, out);
        trace_put_instant(event->start_ns, event->thread, "trace", out);
        json_put_number(out, "events", event->amount);
    } else {
        trace_begin_event(source, "X", event->name, out);
        trace_put_span(event, out);
    }
    json_put_number(out, "dev", source->device_index);
    trace_end_event(out);
}

void trace_format_process(const struct trace_source *source, const char *name, struct bytes *out)
{
    trace_put_name(source, "process_name", source->process, name, out);
}

void trace_format_device(const struct trace_source *source, uint64_t time_ns,
                         const struct stats_line *line, struct bytes *out)
{
    trace_begin_event(source, "i", "device", out);
    trace_put_instant(time_ns, source->process, "device", out);
    json_put_string(out, "app", line->app);
    json_put_string(out, "device", line->device);
    json_put_string(out, "driver", line->driver);
    json_put_string(out, "driver_info", line->driver_info);
    json_put_string(out, "identity", line->identity);
    json_put_number(out, "dev", source->device_index);
    json_put_string(out, "cache", cache_state_name(line->state));
    trace_end_event(out);
}

/* The file. */

/* Where the next event goes. False: it is no trace. */
static bool trace_file_find_end(int fd, uint64_t size, uint64_t *ret_end)
{
    char window[WINDOW_SIZE];
    size_t left = size < sizeof window ? (size_t)size : sizeof window;
    if (size < HEAD_SIZE || io_read(fd, window, HEAD_SIZE, 0) != (ssize_t)HEAD_SIZE ||
        memcmp(window, head, HEAD_SIZE) != 0 ||
        io_read(fd, window, left, (off_t)(size - left)) != (ssize_t)left) {
        return false;
    }
    if (memcmp(window + left - TAIL_SIZE, tail, TAIL_SIZE) == 0) {
        *ret_end = size - TAIL_SIZE;
        return true;
    }
    /* Cut short: the last event that has another behind it is whole. */
    const uint64_t start = size - left;
    while (left >= 3 && memcmp(window + left - 3, "},\n", 3) != 0) {
        left--;
    }
    *ret_end = start + left - 2;
    return left >= 3;
}

static enum status trace_file_write_at(int fd, const struct bytes *bytes, uint64_t offset)
{
    ssize_t written;
    do {
        written = pwrite(fd, bytes->data, bytes->size, (off_t)offset);
    } while (written < 0 && errno == EINTR);
    if (written < 0) {
        return status_from_errno(errno);
    }
    if ((size_t)written == bytes->size) {
        return STATUS_ok;
    }
    /* The array ends again where it did; of a new file nothing is left. */
    bool restored = offset == 0 || pwrite(fd, tail, TAIL_SIZE, (off_t)offset) == TAIL_SIZE;
    restored &= ftruncate(fd, (off_t)(offset ? offset + TAIL_SIZE : 0)) == 0;
    return restored ? STATUS_disk_full : STATUS_io_error;
}

/* Under the lock. */
static enum status trace_file_append_locked(int fd, struct bytes *events)
{
    struct stat status;
    uint64_t end = 0;
    if (fstat(fd, &status) != 0) {
        return status_from_errno(errno);
    }
    if (!S_ISREG(status.st_mode)) {
        return STATUS_not_a_file;
    }
    uint64_t size = (uint64_t)status.st_size;
    if (size > 0 && !trace_file_find_end(fd, size, &end)) {
        return STATUS_not_a_trace;
    }
    bytes_put(events, tail, TAIL_SIZE);
    if (events->failed) {
        return STATUS_out_of_memory;
    }
    if (size == 0) {
        events->data[0] = '[';
    }
    if (end + events->size > MAX_SIZE || !file_size_allowed(end + events->size)) {
        return STATUS_too_large;
    }
    if (end > 0 && end + TAIL_SIZE != size && ftruncate(fd, (off_t)end) != 0) {
        return status_from_errno(errno);
    }
    return trace_file_write_at(fd, events, end);
}

enum status trace_file_append(const char *path, struct bytes *events)
{
    int fd = io_open(AT_FDCWD, path, O_RDWR | O_CREAT | O_NOFOLLOW);
    if (fd < 0) {
        return status_from_errno(errno);
    }
    enum status reason = file_lock_directory(fd, LOCK_WAIT_MS);
    if (reason != STATUS_ok) {
        close(fd);
        return reason;
    }
    reason = trace_file_append_locked(fd, events);
    file_unlock(fd);
    return reason;
}
