/* The segment that this process writes, one for each device: records are appended, never changed.
 *
 *     recipe_writer_new → [recipe_writer_append]… → recipe_writer_close
 *
 * The file is made with the first record, locked (flock) while its process lives, so that nobody
 * compacts it meanwhile. A write that was cut short leaves a torn tail, which readers drop. Closing
 * writes the index behind the records and syncs; a process that dies before leaves a segment
 * without one, which is read by its records. Belongs to one thread at a time. Nothing here logs.
 * After a fork the child must not append: `forked`. */
#ifndef WARMPIPE_DISK_RECIPE_WRITER_H
#define WARMPIPE_DISK_RECIPE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/result.h"
#include "recipes.h"

struct recipe_writer;

/* Touches no file. Strings are copied. max_size: bytes that the segment may grow to. NULL: out of
 * memory. */
struct recipe_writer *recipe_writer_new(const char *root, const char *app, uint64_t max_size);

/* Encodes a record, or the use of a pipeline, behind what `batch` holds. Thread-safe as to
 * different batches. */
void recipe_writer_put(struct bytes *batch, enum recipe_kind kind, struct digest digest,
                       const void *data, size_t size);
void recipe_writer_put_use(struct bytes *batch, const struct recipe_use *use);

/* Appends a batch of whole records with one write. On failure the segment stands as it was before,
 * as far as readers see. too_large: it would grow beyond max_size. */
enum reason recipe_writer_append(struct recipe_writer *writer, const struct bytes *batch);

/* Seals the segment, and frees. seal false (the end of a process, a fork): just lets go. NULL is a
 * no-op. */
void recipe_writer_close(struct recipe_writer *writer, bool seal);

#endif
