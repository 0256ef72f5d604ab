// SPDX-License-Identifier: Apache-2.0
/* Maintenance of what is on disk after something was written: joins the recipes' files and enforces
 * the limits. On a thread of its own, since it may read and write much. One for each device.
 *
 *     maintenance_new → [maintenance_wrote … maintenance_start]… → maintenance_finish
 *
 * What is left undone when the process ends is done by the next process. */
#ifndef WARMPIPE_LAYER_WORKER_MAINTENANCE_H
#define WARMPIPE_LAYER_WORKER_MAINTENANCE_H

#include <stdint.h>

struct config;
struct maintenance;

/* Touches no file. NULL: nothing is kept (no root, read-only), or out of memory; all functions
 * accept NULL. */
struct maintenance *maintenance_new(const struct config *config, const char *app);

/* Something was written: so many bytes more are on disk, which may be none. Thread-safe. */
void maintenance_wrote(struct maintenance *maintenance, uint64_t bytes);

/* Starts the work, if something was written. Thread-safe; does not wait. The first call makes the
 * thread, which then stays. */
void maintenance_start(struct maintenance *maintenance);

/* The same, and waits for the work as long as this thread has patience (base/clock.h); frees
 * when the thread has ended. Where no thread can be made, the work is done here. */
void maintenance_finish(struct maintenance *maintenance);

#endif
