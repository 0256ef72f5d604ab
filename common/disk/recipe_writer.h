/* The segment that this process writes, one for each device: records are appended, never changed.
 *
 *     recipe_writer_new → [recipe_writer_append]… → recipe_writer_close
 *
 * With the first record a small segment that a dead process has left is gone on with, or the file
 * is made; it is locked (flock) while its process lives, so that nobody compacts it meanwhile. A
 * write that was cut short leaves a torn tail, which readers drop. Closing syncs, and writes the
 * index behind the records of a large one; one without an index is read by its records. Belongs to
 * one thread at a time. Nothing here logs. After a fork the child must not append: `forked`. */
#ifndef WARMPIPE_DISK_RECIPE_WRITER_H
#define WARMPIPE_DISK_RECIPE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/result.h"
#include "recipes.h"

struct recipe_writer;

/* Touches no file. Strings are copied. max_size: bytes that it may add to a segment. A segment of
 * less than `small` bytes is not sealed, for others to go on with; 0: every one is, and no other is
 * gone on with. NULL: out of memory. */
struct recipe_writer *recipe_writer_new(const char *root, const char *app, uint64_t max_size,
                                        uint64_t small);

/* Encodes a record, or the use of a pipeline, behind what `batch` holds. Thread-safe as to
 * different batches. */
void recipe_writer_put(struct bytes *batch, enum recipe_kind kind, struct digest digest,
                       const void *data, size_t size);
void recipe_writer_put_use(struct bytes *batch, const struct recipe_use *use);

/* Appends a batch of whole records with one write. On failure the segment stands as it was before,
 * as far as readers see. too_large: it would grow beyond max_size. */
enum reason recipe_writer_append(struct recipe_writer *writer, const struct bytes *batch);

/* Syncs the segment, seals it if it is not small, and frees. seal false (the end of a process, a
 * fork): just lets go. NULL is a no-op. */
void recipe_writer_close(struct recipe_writer *writer, bool seal);

#endif
