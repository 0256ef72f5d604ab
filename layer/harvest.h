/* Caches that the program has destroyed, kept until the next save because of what is in them.
 * Bounded: when many have come together they are merged into one. Thread-safe. */
#ifndef WARMPIPE_LAYER_HARVEST_H
#define WARMPIPE_LAYER_HARVEST_H

#include <stdbool.h>
#include <stdint.h>

#include "driver_cache.h"

struct harvest;

/* NULL: out of memory. `caches` is borrowed. */
struct harvest *harvest_new(const struct driver_caches *caches);

/* Frees the memory, not what is kept (harvest_destroy_kept); NULL is a no-op. */
void harvest_delete(struct harvest *harvest);

/* Takes over a cache that nobody uses any more. */
void harvest_keep(struct harvest *harvest, VkPipelineCache cache);

/* What is kept: valid until the next call. Nobody may call harvest_keep meanwhile. */
uint32_t harvest_kept(const struct harvest *harvest, const VkPipelineCache **ret_caches);

/* Destroys the kept driver objects. */
void harvest_destroy_kept(struct harvest *harvest);

#endif
