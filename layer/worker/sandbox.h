// SPDX-License-Identifier: Apache-2.0
/* Whether the program has entered a sandbox: a seccomp filter that came after its first device
 * (hazard 86). Such a filter may kill the process for any system call that the layer makes and the
 * program does not, and the layer cannot know which these are. So from then on the layer makes no
 * thread, and opens, writes and removes no file.
 *
 * Filters from before the first device do not count: containers have one from their start, and a
 * program that creates a device opens files. */
#ifndef WARMPIPE_LAYER_WORKER_SANDBOX_H
#define WARMPIPE_LAYER_WORKER_SANDBOX_H

#include <stdbool.h>

/* Notes the number of filters of the process; call it while a device is made. Only the first call
 * in a process counts. Opens /proc/self/status and keeps the descriptor; opens it again if the
 * program has closed it. False: there are more filters now, or the file cannot be opened again.
 * Thread-safe. */
bool sandbox_note_open(void);

/* Whether there are more filters now. Call it before any work that makes other system calls than
 * the program does. Reads the kept descriptor (some 20 us) and makes no other call: not prctl(2),
 * for which Chromium's filters end the process. Also true if the program has closed the descriptor,
 * as programs do that enter a sandbox. False if it cannot be told: without /proc, in the child of a
 * fork until it makes a device, and if the filter is not on the first thread of the process.
 * Thread-safe. */
bool sandbox_is_closed(void);

#endif
