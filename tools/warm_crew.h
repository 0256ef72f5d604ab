/* The threads that replay the items of one environment into one cache. */
#ifndef WARMPIPE_TOOLS_WARM_CREW_H
#define WARMPIPE_TOOLS_WARM_CREW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "warm_cache.h"
#include "warm_page.h"
#include "warm_recipes.h"

struct warm_crew {
    const struct warm_vulkan *vulkan;
    const struct warm_cache *cache;
    const struct warm_recipes *recipes;
    struct warm_page *page;
    const size_t *items; /* places in the recipes and the page */
    size_t item_count;
    _Atomic size_t next;
    _Atomic unsigned working;
    pthread_t leader; /* is sent SIGUSR1 when the last one ends */
    unsigned count;
    struct warm_hand {
        struct warm_crew *crew;
        unsigned thread;
        pthread_t handle;
    } hands[WARM_MAX_JOBS];
};

/* Starts up to `jobs` threads, and sends SIGUSR1 to the calling one when all have ended; the signal
 * must be blocked. The fields before `next` have been set. False: not a single one could be
 * started.
 */
bool warm_crew_start(struct warm_crew *crew, unsigned jobs);

/* Waits for them. */
void warm_crew_join(struct warm_crew *crew);

#endif
