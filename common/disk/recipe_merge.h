/* Segments → the parts of one sealed segment: each record once, uses added up, without what does
 * not check out, what nothing refers to, and pipelines of which something is missing (so that they
 * are recorded again). Nothing is copied but headers and uses: parts point into the segments. No
 * I/O. Belongs to one thread. */
#ifndef WARMPIPE_DISK_RECIPE_MERGE_H
#define WARMPIPE_DISK_RECIPE_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/bytes.h"
#include "base/result.h"
#include "recipe_segment.h"

struct recipe_merge_input {
    const struct recipe_segment *segment; /* borrowed as long as the merge */
    bool stays; /* it stays beside the new one: it may be referred to, and what it refers to is
                 * kept, but nothing of it is taken over */
};

struct recipe_merge_limits {
    uint32_t oldest_day; /* uses whose last day lies before go; 0: none */
    uint64_t max_size;   /* bytes: what was used on the fewest days goes first, then what was not
                          * used for longest, then what was compiled fastest; UINT64_MAX: none */
    /* Whether a record may be taken over, besides what is checked anyway; NULL: yes. */
    bool (*accepts)(void *user, const struct recipe_record *record);
    void *user;
};

struct recipe_merge_counts {
    uint64_t pipelines;  /* in the new segment */
    uint64_t modules;    /* likewise, of SPIR-V */
    uint64_t old_uses;   /* left out for their age */
    uint64_t too_many;   /* pipelines left out for their size */
    uint64_t incomplete; /* left out: something is missing or malformed */
    uint64_t refused;    /* records that `accepts` refused */
    uint64_t damaged;    /* records, of segments that do not stay, that do not check out */
};

struct recipe_merged {
    struct iovec *parts;
    size_t part_count;
    uint64_t size; /* of all parts; 0: nothing is left to write */
    struct recipe_merge_counts counts;
    struct bytes head;
    struct bytes tail;
};

/* REASON_ok, out_of_memory. ret_merge is freed with recipe_merge_free. */
enum reason recipe_merge(const struct recipe_merge_input *inputs, size_t count,
                         const struct recipe_merge_limits *limits, struct recipe_merged *ret_merge);

void recipe_merge_free(struct recipe_merged *merge);

#endif
