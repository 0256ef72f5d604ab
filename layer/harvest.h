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

/* Takes over a cache that the program does not use any more. */
void harvest_keep(struct harvest *harvest, VkPipelineCache cache);

/* Until harvest_unpin, nothing that is kept is destroyed. Copies what is kept, at most `room`, to
 * `ret_caches`; returns how many are kept. */
uint32_t harvest_pin(struct harvest *harvest, VkPipelineCache *ret_caches, uint32_t room);
void harvest_unpin(struct harvest *harvest);

/* Destroys the kept driver objects. */
void harvest_destroy_kept(struct harvest *harvest);

#endif
