#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sink.h"
#include "utf8.h"

/* Half of what a pipe takes whole (PIPE_BUF), and little enough for a small thread's stack. */
#define LINE_SIZE 2048

static const char cut_mark[] = " [...]";

static atomic_flag configured = ATOMIC_FLAG_INIT;
static atomic_int current_level = LOG_LEVEL_WARN;
static char *file_path; /* written before use_file, never freed */
static atomic_bool use_file;

/* What must not reach a terminal or split a line as it is: control characters, C1 ones included,
 * the line and paragraph separators, and what is not UTF-8. */
static bool is_plain(const char *text, size_t length)
{
    const unsigned char *at = (const unsigned char *)text;
    switch (length) {
    case 0:
        return false;
    case 1:
        return at[0] >= 0x20 && at[0] != 0x7f;
    case 2:
        return at[0] != 0xc2 || at[1] >= 0xa0;
    case 3:
        return at[0] != 0xe2 || at[1] != 0x80 || (at[2] != 0xa8 && at[2] != 0xa9);
    default:
        return true;
    }
}

/* Copies `text` into `line`, at most `limit` bytes, with every doubtful byte as \n, \t or \xNN.
 * Gives the bytes used; *ret_cut is set if not all of it found room. */
static size_t put_text(char *line, size_t limit, const char *text, bool *ret_cut)
{
    size_t used = 0;
    while (*text) {
        size_t length = utf8_length(text);
        char escape[5];
        const char *piece = text;
        size_t size = length;
        if (!is_plain(text, length)) {
            length = 1;
            if (*text == '\n' || *text == '\t') {
                size = (size_t)snprintf(escape, sizeof escape, "\\%c", *text == '\n' ? 'n' : 't');
            } else {
                size = (size_t)snprintf(escape, sizeof escape, "\\x%02x", (unsigned char)*text);
            }
            piece = escape;
        }
        if (size > limit - used) {
            *ret_cut = true;
            break;
        }
        memcpy(line + used, piece, size);
        used += size;
        text += length;
    }
    return used;
}

static void emit(const char *line, size_t size)
{
    if (atomic_load(&use_file)) {
        int error = sink_append(file_path, O_NOFOLLOW, line, size);
        if (!error) {
            return;
        }
        if (atomic_exchange(&use_file, false)) {
            log_error("cannot write log file '%s': %s", file_path, strerror(error));
        }
    }
    sink_write(STDERR_FILENO, line, size);
}

static void log_line(enum log_level level, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

static void log_line(enum log_level level, const char *format, va_list arguments)
{
    static const char *const names[] = {"", "error: ", "warn: ", "info: ", "debug: "};
    int saved_errno = errno;
    char text[LINE_SIZE];
    char line[LINE_SIZE];
    bool cut = false; /* put_text has less room than vsnprintf */
    if (vsnprintf(text, sizeof text, format, arguments) < 0) {
        text[0] = '\0';
    }
    size_t used = (size_t)snprintf(line, sizeof line, "warmpipe: %s", names[level]);
    used += put_text(line + used, sizeof line - used - sizeof cut_mark, text, &cut);
    if (cut) {
        memcpy(line + used, cut_mark, sizeof cut_mark - 1);
        used += sizeof cut_mark - 1;
    }
    line[used++] = '\n';
    emit(line, used);
    errno = saved_errno;
}

void log_configure(enum log_level level, const char *path)
{
    if (atomic_flag_test_and_set(&configured)) {
        return;
    }
    int saved_errno = errno;
    atomic_store(&current_level, (int)level);
    if (path && level != LOG_LEVEL_OFF) {
        file_path = strdup(path);
        atomic_store(&use_file, file_path != NULL);
        /* A file that cannot be opened is told of now rather than with the first line. */
        emit("", 0);
    }
    errno = saved_errno;
}

bool log_enabled(enum log_level level)
{
    return level != LOG_LEVEL_OFF && (int)level <= atomic_load(&current_level);
}

void log_error(const char *format, ...)
{
    if (log_enabled(LOG_LEVEL_ERROR)) {
        va_list arguments;
        va_start(arguments, format);
        log_line(LOG_LEVEL_ERROR, format, arguments);
        va_end(arguments);
    }
}

void log_warn(const char *format, ...)
{
    if (log_enabled(LOG_LEVEL_WARN)) {
        va_list arguments;
        va_start(arguments, format);
        log_line(LOG_LEVEL_WARN, format, arguments);
        va_end(arguments);
    }
}

void log_info(const char *format, ...)
{
    if (log_enabled(LOG_LEVEL_INFO)) {
        va_list arguments;
        va_start(arguments, format);
        log_line(LOG_LEVEL_INFO, format, arguments);
        va_end(arguments);
    }
}

void log_debug(const char *format, ...)
{
    if (log_enabled(LOG_LEVEL_DEBUG)) {
        va_list arguments;
        va_start(arguments, format);
        log_line(LOG_LEVEL_DEBUG, format, arguments);
        va_end(arguments);
    }
}

void log_tell(const char *format, ...)
{
    if (log_enabled(LOG_LEVEL_ERROR)) {
        va_list arguments;
        va_start(arguments, format);
        log_line(LOG_LEVEL_OFF, format, arguments);
        va_end(arguments);
    }
}
