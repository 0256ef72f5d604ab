/* What the machine leaves to this process: cores and memory, as affinity and control groups
 * (version 2 and 1) limit them. `root` stands before each path, "" for the machine itself; tests
 * give a folder. What cannot be read limits nothing. Thread-safe; opens some small files. */
#ifndef WARMPIPE_BASE_MACHINE_H
#define WARMPIPE_BASE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

/* Whole cores that this thread may use at once, at least 1. */
unsigned machine_cores(const char *root);

/* Bytes that may still be had before something must go: the least of what the machine and each
 * control group have left, page cache that nobody has used lately counted as free. UINT64_MAX: not
 * known. ret_total: the limit that it is left of. */
uint64_t machine_free_memory(const char *root, uint64_t *ret_total);

#endif
