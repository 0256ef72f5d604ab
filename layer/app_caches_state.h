/* What the files of the program's own caches share: app_caches.c (from creation to destruction, and
 * which cache a creation is given) and app_caches_read.c (what the program does that shows it what
 * is in one). Nobody else includes this. */
#ifndef WARMPIPE_LAYER_APP_CACHES_STATE_H
#define WARMPIPE_LAYER_APP_CACHES_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "app_caches.h"
#include "fingerprint_set.h"
#include "handle_map.h"
#include "harvest.h"
#include "learning.h"
#include "served_cache.h"

/* One cache of the program. */
struct app_cache {
    VkPipelineCache handle;
    bool left_alone;              /* not harvested either: made with data, or we are to ignore it */
    bool externally_synchronized; /* may be touched in the program's own calls on it only */
    bool has_allocator;           /* of the program's, or of the device: for its own calls alone */
    const VkAllocationCallbacks *allocator; /* &callbacks, what it was made with; NULL: nothing */
    VkAllocationCallbacks callbacks;
    atomic_bool compiled;  /* its driver object may hold what we have not */
    atomic_bool harvested; /* counted */
    atomic_bool read_back; /* counted */
    struct served_cache serving;
    struct fingerprint_set seen; /* pipelines created in its name */
};

struct app_caches {
    VkDevice device;
    const device_table *table;
    struct injector *injector;
    enum app_cache_mode mode;
    struct stats *stats;
    pthread_mutex_t list_lock;   /* over changes of by_handle, and walks of it */
    struct handle_map by_handle; /* VkPipelineCache → struct app_cache */
    struct harvest *harvest;
    /* Held across calls down while served caches are filled and read, while the program merges, and
     * while a save merges the harvested ones (VUID-vkMergePipelineCaches-dstCache-10202). */
    pthread_mutex_t fill_lock;
    atomic_bool reads_back;  /* the program has read a cache back: later ones are passed on */
    atomic_bool makes_empty; /* it has made one that could be served */
    struct learning learning;
};

#endif
