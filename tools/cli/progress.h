// SPDX-License-Identifier: Apache-2.0
/* What a verb does, and how far it is, on a terminal: one line on standard error that begins after
 * two seconds, is drawn again four times a second, and goes away before anything else is written.
 *
 *     progress_begin → progress_add … progress_hide (by output.c, before each text) → progress_end
 *
 * Elsewhere than on a terminal all of it does nothing. progress_begin and progress_end belong to
 * one thread, once in a process; the others are thread-safe. A child of a fork shows nothing. */
#ifndef WARMPIPE_TOOLS_CLI_PROGRESS_H
#define WARMPIPE_TOOLS_CLI_PROGRESS_H

/* Both texts are borrowed until progress_end. Starts a thread; where none can be had, nothing is
 * shown. */
void progress_begin(const char *verb, const char *doing);

/* One more is done. `unit`: "file", a literal whose plural ends in s; the same in all calls of
 * a verb. */
void progress_add(const char *unit);

/* Clears the line; it comes back a moment later. */
void progress_hide(void);

/* Clears the line for good. */
void progress_end(void);

#endif
