// SPDX-License-Identifier: Apache-2.0
/* A set of pipelines, by half of their content digests, to which many threads add. A program may
 * have thousands of pipeline caches with one pipeline each, so the first one needs no memory of its
 * own.
 *
 * Zero-initialize the struct. Thread-safe except seen_pipelines_release. */
#ifndef WARMPIPE_LAYER_APP_CACHES_SEEN_PIPELINES_H
#define WARMPIPE_LAYER_APP_CACHES_SEEN_PIPELINES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct seen_pipelines {
    _Atomic uint64_t first;                    /* 0: none */
    struct further_pipelines *_Atomic further; /* all others; NULL: none */
};

/* Adds a pipeline, unless it is there; if memory is out, it counts as not seen. */
void seen_pipelines_add(struct seen_pipelines *seen, uint64_t fingerprint);

bool seen_pipelines_has(const struct seen_pipelines *seen, uint64_t fingerprint);

/* Empties the set. */
void seen_pipelines_forget(struct seen_pipelines *seen);

/* Frees the memory. Nothing may use the set any more. */
void seen_pipelines_release(struct seen_pipelines *seen);

#endif
