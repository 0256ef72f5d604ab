/* Keeps what lies on disk to its limits, and recipes in few files, after something was written: on
 * a thread of its own, for it may read and write much. One for each device.
 *
 *     housekeeper_new → [housekeeper_wrote … housekeeper_start]… → housekeeper_finish
 *
 * What is not done when the process ends the next one does. */
#ifndef WARMPIPE_LAYER_HOUSEKEEPER_H
#define WARMPIPE_LAYER_HOUSEKEEPER_H

#include <stdint.h>

struct config;
struct housekeeper;

/* Touches no file. NULL: nothing is kept (no root, read-only), or out of memory; all functions take
 * that. */
struct housekeeper *housekeeper_new(const struct config *config, const char *app);

/* There is something to look after: so many bytes more, which may be none. Thread-safe. */
void housekeeper_wrote(struct housekeeper *keeper, uint64_t bytes);

/* Sets to work, if something was written. Thread-safe; waits for nothing. The first time makes the
 * thread, which then stays. */
void housekeeper_start(struct housekeeper *keeper);

/* The same, and waits until the work is done, a second at most; then frees, as soon as the thread
 * has gone. Where there can be no thread the work is done here. */
void housekeeper_finish(struct housekeeper *keeper);

#endif
