/* A file seen without a mapping of it: memory of the file's size, of which only what is asked for
 * is read and takes up pages.
 *
 * A mapping of the file would hand every failure of the disk to the program as SIGBUS, and so would
 * a file that somebody cuts short: that may happen to a tool, never to a program that a layer is
 * in. Threads may read ranges that do not overlap at once. */
#ifndef WARMPIPE_DISK_RECIPE_WINDOW_H
#define WARMPIPE_DISK_RECIPE_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct recipe_window;

/* fd is the window's from now on, also on failure: NULL, out of memory. */
struct recipe_window *recipe_window_open(int fd, size_t size);

/* NULL is a no-op. */
void recipe_window_close(struct recipe_window *window);

/* The memory, zeros where nothing was read. */
const uint8_t *recipe_window_data(const struct recipe_window *window);

/* Reads a range, again if it was read before. False: it lies outside, or cannot be read. */
bool recipe_window_read(struct recipe_window *window, uint64_t offset, uint64_t size);

/* Gives the memory back; what is asked for is read anew. */
void recipe_window_forget(struct recipe_window *window);

/* Closes the file, while nobody reads: nothing more is read. */
void recipe_window_detach(struct recipe_window *window);

/* Whether a read has failed. */
bool recipe_window_failed(const struct recipe_window *window);

#endif
