/* What the files of the injector share: injector.c (policy, load, creations) and injector_save.c
 * (background saves, the end). Nobody else includes this. */
#ifndef WARMPIPE_LAYER_INJECTOR_STATE_H
#define WARMPIPE_LAYER_INJECTOR_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "disk/program.h"
#include "flusher.h"
#include "injector.h"
#include "saver.h"
#include "trace.h"

/* What is told of the cache; under `lock`. */
struct injector_report {
    enum cache_state state;
    enum reason reason;
    size_t loaded_bytes;
    size_t saved_bytes;
};

struct injector {
    struct injector_setup setup;
    struct driver_identity identity;
    struct policy policy;
    struct driver_caches caches;
    pthread_mutex_t serialize; /* held across calls down, for drivers that ask for it */

    pthread_mutex_t load_lock; /* held across the first load: racers wait */
    atomic_bool loaded;        /* hot is set and stays */
    VkPipelineCache hot;

    struct saver saver;
    struct store *store;     /* the saver's; NULL: nothing is read or written */
    bool saves;              /* what is compiled is to be saved */
    atomic_bool ineffective; /* the driver's cache holds nothing: no more saves */
    atomic_bool on_trial;    /* the driver has a blob and no creation has returned yet */
    _Atomic uint64_t trial_ends_ns;
    struct injector_harvest harvest;
    struct injector_unusable unusable;
    struct flusher_client client;
    struct program_counters counted; /* what program.json has of this device; as last_saved */
    bool worker_is_named;            /* in the trace */
    size_t last_saved; /* bytes of this device's last save; of the thread that saves */

    pthread_mutex_t lock;
    struct injector_report report;
};

/* Sets what is told of the cache. */
void injector_tell(struct injector *injector, enum cache_state state, enum reason reason);

/* Fills in the worker's functions and registers. */
void injector_save_init(struct injector *injector);

#endif
