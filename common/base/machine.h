// SPDX-License-Identifier: Apache-2.0
/* The machine: its identity, and the cores and memory that this process may use, as affinity and
 * control groups (version 2 and 1) limit them. `root` is prefixed to each path: "" for the machine
 * itself, a folder for tests. A file that cannot be read limits nothing. Thread-safe; opens some
 * small files. */
#ifndef WARMPIPE_BASE_MACHINE_H
#define WARMPIPE_BASE_MACHINE_H

#include <stdint.h>

#include "common/base/digest.h"

/* Names the current boot of this machine, or of a sandbox with a kernel of its own: the digest of
 * the kernel's boot_id. All zero: not known. Reads it once in a process. */
struct digest machine_start(void);

/* The number of whole cores that this thread may use at once, at least 1. */
unsigned machine_cores(const char *root);

/* The bytes of memory that are free: the smallest remainder of the machine and of each control
 * group, counting page cache as free. UINT64_MAX: not known. *ret_total: the limit that
 * this is the remainder of. */
uint64_t machine_free_memory(const char *root, uint64_t *ret_total);

#endif
