// SPDX-License-Identifier: Apache-2.0
#include "layer/app_caches/seen_pipelines.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/base/digest.h"

struct further_pipelines {
    pthread_mutex_t lock;
    struct digest_set set;
};

/* 0 counts as 1, as in the set. */
static uint64_t seen_pipelines_nonzero(uint64_t fingerprint)
{
    return fingerprint ? fingerprint : 1;
}

static void seen_pipelines_delete_further(struct further_pipelines *further)
{
    if (further) {
        digest_set_release(&further->set);
        pthread_mutex_destroy(&further->lock);
        free(further);
    }
}

/* NULL: out of memory. */
static struct further_pipelines *seen_pipelines_further(struct seen_pipelines *seen)
{
    struct further_pipelines *further = atomic_load(&seen->further);
    if (further) {
        return further;
    }
    struct further_pipelines *fresh = calloc(1, sizeof *fresh);
    if (fresh) {
        pthread_mutex_init(&fresh->lock, NULL);
        if (atomic_compare_exchange_strong(&seen->further, &further, fresh)) {
            return fresh;
        }
        seen_pipelines_delete_further(fresh);
    }
    return further;
}

void seen_pipelines_add(struct seen_pipelines *seen, uint64_t fingerprint)
{
    uint64_t none = 0;
    if (atomic_compare_exchange_strong(&seen->first, &none, seen_pipelines_nonzero(fingerprint)) ||
        none == seen_pipelines_nonzero(fingerprint)) {
        return;
    }
    struct further_pipelines *further = seen_pipelines_further(seen);
    if (further) {
        pthread_mutex_lock(&further->lock);
        digest_set_add(&further->set, fingerprint);
        pthread_mutex_unlock(&further->lock);
    }
}

bool seen_pipelines_has(const struct seen_pipelines *seen, uint64_t fingerprint)
{
    bool has = atomic_load(&seen->first) == seen_pipelines_nonzero(fingerprint);
    struct further_pipelines *further = atomic_load(&seen->further);
    if (!has && further) {
        pthread_mutex_lock(&further->lock);
        has = digest_set_has(&further->set, fingerprint);
        pthread_mutex_unlock(&further->lock);
    }
    return has;
}

void seen_pipelines_forget(struct seen_pipelines *seen)
{
    struct further_pipelines *further = atomic_load(&seen->further);
    atomic_store(&seen->first, 0);
    if (further) {
        pthread_mutex_lock(&further->lock);
        digest_set_release(&further->set);
        further->set = (struct digest_set){0};
        pthread_mutex_unlock(&further->lock);
    }
}

void seen_pipelines_release(struct seen_pipelines *seen)
{
    seen_pipelines_delete_further(atomic_load(&seen->further));
}
