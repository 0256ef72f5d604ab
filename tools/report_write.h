/* A page into its file. */
#ifndef WARMPIPE_TOOLS_REPORT_WRITE_H
#define WARMPIPE_TOOLS_REPORT_WRITE_H

#include <stdbool.h>
#include <stddef.h>

/* Replaces the file whole or not at all; a link keeps its place, and what is no file (a pipe, a
 * terminal) is written to. "-": standard output. False after a message. */
bool report_write(const char *path, const void *data, size_t size);

#endif
