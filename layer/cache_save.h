/* One save of a device's cache data: read it from the driver, take up what other processes saved
 * meanwhile, hand it to the store. */
#ifndef WARMPIPE_LAYER_CACHE_SAVE_H
#define WARMPIPE_LAYER_CACHE_SAVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/result.h"
#include "codec/digest.h"
#include "disk/store.h"
#include "driver_cache.h"

struct cache_save {
    const struct driver_caches *caches;
    struct store *store;
    VkPipelineCache hot; /* VK_NULL_HANDLE: only harvested caches are saved */
    uint32_t harvested_count;
    const VkPipelineCache *harvested; /* nobody else uses them */
    bool may_merge;                   /* the driver may have a second cache object */
    struct digest known_digest;       /* of the data on disk, as it was loaded; size 0: none was */
    size_t known_size;
};

/* REASON_ok with *ret_saved bytes written (0: nothing was new, the file stands as it was); or why
 * nothing was written: `ineffective` where the driver's data is a header alone, else the failure.
 * Merges go through a fresh cache; the hot cache is only read (never a merge's destination). Other
 * threads may go on using the hot cache. */
enum reason cache_save_run(const struct cache_save *save, size_t *ret_saved);

#endif
