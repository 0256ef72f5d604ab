// SPDX-License-Identifier: Apache-2.0
#include "layer/recipes/accused.h"

#include <string.h>

#include "common/recipes/recipes.h"

void accused_set(struct accused *accused, struct digest identity, const struct digest *pipelines,
                 size_t count)
{
    if (count > 0 && count <= ACCUSED_MAX) {
        accused->identity = identity;
        memcpy(accused->pipelines, pipelines, count * sizeof *pipelines);
        atomic_store(&accused->left, UINT64_MAX >> (ACCUSED_MAX - count));
        atomic_store(&accused->count, count);
    }
}

void accused_ask(struct accused *accused, struct digest pipeline)
{
    if (atomic_load_explicit(&accused->left, memory_order_acquire) == 0) {
        return;
    }
    for (size_t i = 0; i < ACCUSED_MAX; i++) {
        if (digest_equal(accused->pipelines[i], pipeline)) {
            atomic_fetch_and(&accused->left, ~(UINT64_C(1) << i));
        }
    }
}

bool accused_are_disproved(struct accused *accused)
{
    return atomic_load(&accused->count) > 0 && atomic_load(&accused->left) == 0 &&
           !atomic_exchange(&accused->is_taken, true);
}

void accused_write(const struct accused *accused, const char *root, const char *app)
{
    recipe_crashes_absolve(root, app, accused->identity, accused->pipelines,
                           atomic_load(&accused->count));
}
