// SPDX-License-Identifier: Apache-2.0
#include "common/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/text.h"

/* Half of what a pipe takes in one piece (PIPE_BUF), and small enough for a small stack. */
#define LINE_SIZE 2048

static const char cut_mark[] = " [...]";

static atomic_flag configured = ATOMIC_FLAG_INIT;
static atomic_int current_level = LOG_LEVEL_WARN;
static char *file_path; /* written before use_file, never freed */
static atomic_bool use_file;

/* Copies `text` into `line`, at most `limit` bytes, with every unsafe byte as \n, \t or \xNN.
 * Returns the number of bytes; *ret_cut is set if the text was too long. */
static size_t log_put_text(char *line, size_t limit, const char *text, bool *ret_cut)
{
    size_t used = 0;
    while (*text) {
        size_t length = utf8_shown_length(text);
        char escape[5];
        const char *piece = text;
        size_t size = length;
        if (length == 0) {
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

static void log_write_line(const char *line, size_t size)
{
    if (atomic_load(&use_file)) {
        int error = io_append(file_path, line, size);
        if (!error) {
            return;
        }
        if (atomic_exchange(&use_file, false)) {
            log_error("cannot write log file '%s': %s (%s)", file_path, strerror(error),
                      status_id(status_from_errno(error)));
        }
    }
    io_write_line(STDERR_FILENO, line, size);
}

static void log_line(enum log_level level, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

static void log_line(enum log_level level, const char *format, va_list arguments)
{
    static const char names[][8] = {"", "error: ", "warn: ", "info: ", "debug: "};
    int saved_errno = errno;
    char text[LINE_SIZE];
    char line[LINE_SIZE];
    bool cut = false; /* log_put_text has less room than vsnprintf */
    if (vsnprintf(text, sizeof text, format, arguments) < 0) {
        text[0] = '\0';
    }
    size_t used = (size_t)snprintf(line, sizeof line, "warmpipe: %s", names[level]);
    used += log_put_text(line + used, sizeof line - used - sizeof cut_mark, text, &cut);
    if (cut) {
        memcpy(line + used, cut_mark, sizeof cut_mark - 1);
        used += sizeof cut_mark - 1;
    }
    line[used++] = '\n';
    log_write_line(line, used);
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
        /* Report a file that cannot be opened now, not with the first line. */
        log_write_line("", 0);
    }
    errno = saved_errno;
}

bool log_enabled(enum log_level level)
{
    return level != LOG_LEVEL_OFF && (int)level <= atomic_load(&current_level);
}

/* log_tell: no word for the level. */
#define LOG_FUNCTION(name, least_level, shown_level)                                               \
    void name(const char *format, ...)                                                             \
    {                                                                                              \
        if (log_enabled(least_level)) {                                                            \
            va_list arguments;                                                                     \
            va_start(arguments, format);                                                           \
            log_line(shown_level, format, arguments);                                              \
            va_end(arguments);                                                                     \
        }                                                                                          \
    }
LOG_FUNCTION(log_error, LOG_LEVEL_ERROR, LOG_LEVEL_ERROR)
LOG_FUNCTION(log_warn, LOG_LEVEL_WARN, LOG_LEVEL_WARN)
LOG_FUNCTION(log_info, LOG_LEVEL_INFO, LOG_LEVEL_INFO)
LOG_FUNCTION(log_debug, LOG_LEVEL_DEBUG, LOG_LEVEL_DEBUG)
LOG_FUNCTION(log_tell, LOG_LEVEL_ERROR, LOG_LEVEL_OFF)

static atomic_bool log_told[STATUS_COUNT];

bool log_once(enum status status)
{
    return !atomic_exchange(&log_told[status], true);
}

bool log_has_told(enum status status)
{
    return atomic_load(&log_told[status]);
}
