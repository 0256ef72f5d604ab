/* A segment's file, read piece by piece, as much of it as is committed.
 *
 * A mapping of the file would hand every failure of the disk to the program as SIGBUS, and so would
 * a file that somebody cuts short: that may happen to a tool, never to a program that a layer is
 * in. Any number of threads may read at once. */
#ifndef WARMPIPE_DISK_RECIPE_FILE_H
#define WARMPIPE_DISK_RECIPE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct recipe_file;

/* fd is the file's from now on, also on failure: NULL, out of memory. `folder_fd` is borrowed, and
 * asked for only while the file rests. */
struct recipe_file *recipe_file_new(int fd, uint64_t size, int folder_fd, const char *name);

/* NULL is a no-op. */
void recipe_file_close(struct recipe_file *file);

/* Closes the descriptor, while nobody reads: each read opens the file anew, by its name. One that
 * was removed meanwhile, or replaced, is not read any more. */
void recipe_file_rest(struct recipe_file *file);

/* False: the range lies outside, or cannot be read; what is in `data` then is of no use. */
bool recipe_file_read(struct recipe_file *file, uint64_t offset, void *data, uint64_t size);

/* The same into memory that the caller frees. NULL: also out of memory. */
uint8_t *recipe_file_read_new(struct recipe_file *file, uint64_t offset, uint64_t size);

/* Whether a read within the file has failed. */
bool recipe_file_failed(const struct recipe_file *file);

#endif
