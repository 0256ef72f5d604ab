/* The cache files that this process has loaded or saved: its own limits never remove them. Kept for
 * as long as the process lives, without locks and without memory of its own: a fork, a library that
 * is unloaded and a thread that dies change nothing. Thread-safe. */
#ifndef WARMPIPE_DISK_IN_USE_H
#define WARMPIPE_DISK_IN_USE_H

#include <stdbool.h>

/* Up to 64 files; what comes later is not remembered. */
void in_use_add(const char *path);

bool in_use_contains(const char *path);

#endif
