// SPDX-License-Identifier: Apache-2.0
/* The state of a segment, shared by its two files: segment_open.c opens, segment.c finds records,
 * checks them and closes. No other file includes this. */
#ifndef WARMPIPE_RECIPES_SEGMENT_STATE_H
#define WARMPIPE_RECIPES_SEGMENT_STATE_H

#include <stdatomic.h>

#include "common/files/file.h"
#include "common/recipes/segment.h"

enum segment_verdict { RECORD_UNCHECKED, RECORD_INTACT, RECORD_DAMAGED };

/* A byte for each record. It is not in the mapping, because processes share the mapping's pages and
 * write nothing there. */
struct segment_check {
    _Atomic uint8_t verdict;
};

/* A record that was read from the file; NULL: not requested yet, or damaged. */
struct segment_copy {
    _Atomic(const uint8_t *) record;
};

/* The file of a segment that is read record by record: ranges of it, whether its descriptor is open
 * or not. Thread-safe, but for new and free. */
struct segment_file {
    struct file_kept kept; /* fd -1: opened by its name for each read */
    uint64_t size;         /* what was committed when the segment was opened */
    int folder_fd;         /* borrowed */
    atomic_bool failed;    /* a read within the size has failed */
    char name[];
};

/* Takes fd over, also on failure; folder_fd is borrowed. NULL: out of memory. */
struct segment_file *segment_file_new(int fd, uint64_t size, int folder_fd, const char *name);

/* NULL is a no-op. */
void segment_file_free(struct segment_file *file);

/* Reads a range. False: it lies outside, or cannot be read. */
bool segment_file_read(struct segment_file *file, uint64_t offset, void *data, uint64_t size);

/* The same into new memory. NULL: also out of memory. */
uint8_t *segment_file_read_new(struct segment_file *file, uint64_t offset, uint64_t size);

/* The same from `offset` to the end, into bytes that are empty. */
bool segment_file_read_rest(struct segment_file *file, uint64_t offset, struct bytes *ret_rest);

#endif
