// SPDX-License-Identifier: Apache-2.0
/* Memory for what may be large and does not stay: whole files, the driver's data, buffers that
 * grow.
 *
 * From LARGE_BYTES on it is mapped, and given back to the system when it is freed. malloc would map
 * it too, but each mapped block that it frees raises the size up to which it maps no more, and with
 * that the memory that every heap of the process keeps: after one of 16 MiB, 32 MiB of each. What
 * is smaller comes from the heap: who allocates next, the driver that makes pipelines of a blob for
 * one, finds pages there that need not be faulted in anew (decision 0181).
 *
 * Thread-safe, as malloc is. */
#ifndef WARMPIPE_BASE_LARGE_H
#define WARMPIPE_BASE_LARGE_H

#include <stddef.h>

#define LARGE_BYTES ((size_t)1 << 20)

/* At an address that is a multiple of 64. NULL: memory is out. */
void *large_new(size_t size);

/* NULL is a no-op. */
void large_free(void *memory);

#endif
