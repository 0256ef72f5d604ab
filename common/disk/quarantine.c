#include "quarantine.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "file.h"

__attribute__((format(printf, 2, 3))) static void put_line(struct bytes *note, const char *format,
                                                           ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof(line) - 1, format, arguments);
    va_end(arguments);
    if (length < 0) {
        return;
    }
    size_t size = (size_t)length < sizeof(line) - 1 ? (size_t)length : sizeof(line) - 2;
    line[size++] = '\n';
    bytes_put(note, line, size);
}

static void put_death(struct bytes *note, const char *which, const struct marker_record *record)
{
    time_t when = (time_t)record->loaded_at;
    struct tm calendar;
    char text[32] = "";
    if (gmtime_r(&when, &calendar)) {
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &calendar);
    }
    put_line(note, "%s: %s, process %" PRIu32 " (%s)", which, text, record->process,
             record->program);
}

void quarantine_note(const struct quarantine_case *the_case, struct bytes *note)
{
    char digest[DIGEST_HEX_SIZE];
    digest_format(the_case->blob_digest, digest);
    put_line(note, "device: %s", the_case->identity->device_name);
    put_line(note, "driver: %s %s", the_case->identity->driver_name,
             the_case->identity->driver_info);
    put_line(note, "driver version: 0x%08" PRIx32, the_case->identity->driver_version);
    put_line(note, "generation: %016" PRIx64, the_case->generation);
    put_line(note, "bytes: %zu", the_case->blob_size);
    put_line(note, "digest: %s", digest);
    put_death(note, "first death", &the_case->history->first);
    put_death(note, "second death", &the_case->history->second);
}

static void write_note(int folder_fd, const char *as, const struct bytes *note)
{
    char name[NAME_MAX + 1];
    int length = snprintf(name, sizeof(name), "%s.txt", as);
    if (length < (int)sizeof(name) && !note->failed) {
        const struct iovec part = {.iov_base = note->data, .iov_len = note->size};
        file_replace(folder_fd, name, &part, 1);
    }
}

enum reason quarantine_move(int directory_fd, const char *name, const char *as,
                            const struct bytes *note)
{
    if (!file_make_directory(directory_fd, QUARANTINE_FOLDER)) {
        return reason_from_errno(errno);
    }
    int folder_fd =
        openat(directory_fd, QUARANTINE_FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (folder_fd < 0) {
        return reason_from_errno(errno);
    }
    enum reason reason = REASON_ok;
    if (renameat(directory_fd, name, folder_fd, as) != 0) {
        reason = errno == EISDIR || errno == ENOTDIR ? REASON_not_a_file : reason_from_errno(errno);
    } else if (note) {
        write_note(folder_fd, as, note);
    }
    close(folder_fd);
    return reason;
}
