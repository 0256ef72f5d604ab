// SPDX-License-Identifier: Apache-2.0
/* A list of pipelines, by half of their content digests, that many threads add to. A program may
 * have thousands of pipeline caches with one pipeline each: the first needs no memory of its own.
 *
 * Zero-initialize the struct. Thread-safe but for seen_pipelines_release. */
#ifndef WARMPIPE_LAYER_APP_CACHES_SEEN_PIPELINES_H
#define WARMPIPE_LAYER_APP_CACHES_SEEN_PIPELINES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct seen_pipelines {
    _Atomic uint64_t first;                    /* 0: none */
    struct further_pipelines *_Atomic further; /* all others; NULL: none */
};

/* Adds one, unless it is there; where memory is out, it counts as not seen. */
void seen_pipelines_add(struct seen_pipelines *seen, uint64_t fingerprint);

bool seen_pipelines_has(const struct seen_pipelines *seen, uint64_t fingerprint);

/* None is in the list any more. */
void seen_pipelines_forget(struct seen_pipelines *seen);

/* Frees the list's memory. Nobody uses it any more. */
void seen_pipelines_release(struct seen_pipelines *seen);

#endif
