// SPDX-License-Identifier: Apache-2.0
/* What is known of a segment's records, and what its two files share: segment_open.c opens,
 * segment.c finds records, checks them and lets go. No other file includes this one. */
#ifndef WARMPIPE_RECIPES_SEGMENT_STATE_H
#define WARMPIPE_RECIPES_SEGMENT_STATE_H

#include <stdatomic.h>

#include "common/recipes/segment.h"
#include "common/recipes/segment_file.h"

enum segment_verdict { RECORD_UNCHECKED, RECORD_INTACT, RECORD_DAMAGED };

/* A byte for each record: what processes share of a mapping are its pages, and nothing that they
 * write. */
struct segment_check {
    _Atomic uint8_t verdict;
};

/* A record that was read from the file; NULL: nobody has asked for it, or it is damaged. */
struct segment_copy {
    _Atomic(const uint8_t *) record;
};

#endif
