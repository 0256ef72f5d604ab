/* Where lines for people and scripts go: standard error, or the end of a file. A program under the
 * layer must not notice: no SIGPIPE reaches it, no descriptor stays open (a program that closes
 * every descriptor it does not know would make the next line land in a file of its own), and no
 * pipe without a reader is waited for. Thread-safe, nothing held between calls. */
#ifndef WARMPIPE_BASE_SINK_H
#define WARMPIPE_BASE_SINK_H

#include <stddef.h>

/* One write(2). 0, or an errno value: EIO if only a part was taken. */
int sink_write(int fd, const void *data, size_t size);

/* Appends to the file at `path` with one write(2) of O_APPEND, so that lines of several processes
 * do not mix; made 0600 if missing. `flags` are further flags of open(2), such as O_NOFOLLOW. size
 * 0 only makes sure that the file can be opened. 0, or an errno value. */
int sink_append(const char *path, int flags, const void *data, size_t size);

#endif
