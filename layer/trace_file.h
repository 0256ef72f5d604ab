/* The file of a trace: strict JSON, an array with one event a line, that several processes and
 * several runs append to. */
#ifndef WARMPIPE_LAYER_TRACE_FILE_H
#define WARMPIPE_LAYER_TRACE_FILE_H

#include "base/bytes.h"
#include "base/result.h"

/* Appends events, as trace_format writes them, with one write over the array's end: before and
 * after it the file is whole. Of a process that was killed in the middle, the next one to append
 * cuts off the event that was not finished. An empty or missing file (made 0600) is begun; the
 * first of its events must then be that which names the process, for by this a trace is known:
 * what is anything else, or not a regular file, is left as it is (not_a_trace, not_a_file,
 * symlink). Nothing is written, either, if it would grow beyond 256 MiB (too_large), or another
 * process has held it for 200 ms (locked). `events` is changed. Thread-safe. */
enum reason trace_file_append(const char *path, struct bytes *events);

#endif
