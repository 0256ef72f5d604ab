// SPDX-License-Identifier: Apache-2.0
/* Maintenance of the files on disk after something was written: joins the recipes' files, and
 * enforces the size limits. It has a thread of its own, because it may read and write much. One for
 * each device.
 *
 *     maintenance_new → [maintenance_wrote … maintenance_start]… → maintenance_finish
 *
 * If the process ends before it is done, the next process does it. */
#ifndef WARMPIPE_LAYER_WORKER_MAINTENANCE_H
#define WARMPIPE_LAYER_WORKER_MAINTENANCE_H

#include <stdbool.h>
#include <stdint.h>

struct config;
struct maintenance;

/* Touches no file. NULL: nothing is kept (no root, read-only), or memory is out. All functions
 * accept NULL. */
struct maintenance *maintenance_new(const struct config *config, const char *app);

/* Something was written that takes this many more bytes on disk, or none. Thread-safe. */
void maintenance_wrote(struct maintenance *maintenance, uint64_t bytes);

/* Starts the work if something was written. Thread-safe; does not wait. The first call makes the
 * thread, which then stays. */
void maintenance_start(struct maintenance *maintenance);

/* Starts the work, and waits for it as long as this thread has patience (base/clock.h); the thread
 * ends behind it. is_unused: the memory is freed then; else another thread may still be about to
 * call the functions above. If no thread can be made, the work is done here. */
void maintenance_finish(struct maintenance *maintenance, bool is_unused);

#endif
