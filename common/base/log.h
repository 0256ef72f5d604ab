// SPDX-License-Identifier: Apache-2.0
/* The log: one line per message, "warmpipe: LEVEL: text", to standard error or to a file.
 *
 * Process-wide. log_configure takes effect once (the first instance decides); before it, messages
 * of level warn and above go to standard error. Every function is thread-safe and safe in the child
 * of a fork (a line is one write(2); no lock and no descriptor is held). errno is preserved.
 *
 * Text may come from outside: control characters, line separators and bytes that are not UTF-8 are
 * written as \n, \t or \xNN, so that no string can forge a line or control a terminal. A line has
 * at most 2048 bytes; a longer one is cut and ends in " [...]". */
#ifndef WARMPIPE_BASE_LOG_H
#define WARMPIPE_BASE_LOG_H

#include <stdbool.h>

#include "common/base/status.h"

enum log_level { LOG_LEVEL_OFF, LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Sets the level and, if path is not NULL, the file appended to (made 0600, never following a
 * symbolic link; if it cannot be opened, now or later, one line on standard error says so, and
 * standard error is used from then on). The path is absolute and copied. Only the first call has an
 * effect. */
void log_configure(enum log_level level, const char *path);

/* Whether a message of this level would be written: check it before computing costly arguments. */
bool log_enabled(enum log_level level);

void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A line that the user has requested, "warmpipe: text", at every level except off. */
void log_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns true the first time that it is called with this status: a directory that cannot be used,
 * or a full disk, stays so, and one line about it is enough. */
bool log_once(enum status status);

/* Whether log_once was called with this status. Thread-safe. */
bool log_has_told(enum status status);

#endif
