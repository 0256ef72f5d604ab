#include "warm_environments.h"

#include <stdlib.h>

/* Version, vendorID and deviceID stand before what makes a difference: docs/FORMAT.md. */
#define DEVICE_END 12

static int compare_digests(const void *left, const void *right)
{
    const struct digest *a = left;
    const struct digest *b = right;
    const int order = (a->high > b->high) - (a->high < b->high);
    return order ? order : (a->low > b->low) - (a->low < b->low);
}

/* An environment by what it says but for the device. */
struct meaning {
    struct digest digest;
    size_t place;
};

static int compare_meanings(const void *left, const void *right)
{
    const struct meaning *a = left;
    const struct meaning *b = right;
    const int order = compare_digests(&a->digest, &b->digest);
    return order ? order : (a->place > b->place) - (a->place < b->place);
}

static size_t sort_digests(struct digest *digests, size_t count)
{
    size_t kept = 0;
    if (count > 0) {
        qsort(digests, count, sizeof *digests, compare_digests);
    }
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || !digest_equal(digests[kept - 1], digests[i])) {
            digests[kept++] = digests[i];
        }
    }
    return kept;
}

/* Decodes what is there; of those that are the same only the first is kept. */
static void decode(struct warm_environments *all, struct meaning *meanings,
                   warm_environments_find *find, void *user)
{
    size_t count = 0;
    for (size_t i = 0; i < all->count; i++) {
        const void *data;
        size_t size;
        all->environments[i] =
            find(user, all->digests[i], &data, &size) ? environment_decode(data, size) : NULL;
        all->stands_for[i] = i;
        if (all->environments[i]) {
            const struct digest digest =
                digest_of((const char *)data + DEVICE_END, size - DEVICE_END);
            meanings[count++] = (struct meaning){.digest = digest, .place = i};
        }
    }
    if (count > 0) {
        qsort(meanings, count, sizeof *meanings, compare_meanings);
    }
    for (size_t i = 1; i < count; i++) {
        if (digest_equal(meanings[i - 1].digest, meanings[i].digest)) {
            const size_t place = meanings[i].place;
            all->stands_for[place] = all->stands_for[meanings[i - 1].place];
            environment_free(all->environments[place]);
            all->environments[place] = NULL;
        }
    }
}

bool warm_environments_make(struct warm_environments *environments, struct digest *digests,
                            size_t count, warm_environments_find *find, void *user)
{
    struct warm_environments *all = environments;
    all->digests = digests;
    all->environments = calloc(count + 1, sizeof(*all->environments));
    all->stands_for = calloc(count + 1, sizeof *all->stands_for);
    struct meaning *meanings = calloc(count + 1, sizeof *meanings);
    const bool enough_memory = all->environments && all->stands_for && meanings;
    if (enough_memory) {
        all->count = sort_digests(digests, count);
        decode(all, meanings, find, user);
    }
    free(meanings);
    return enough_memory;
}

void warm_environments_free(struct warm_environments *environments)
{
    for (size_t i = 0; i < environments->count; i++) {
        environment_free(environments->environments[i]);
    }
    free(environments->environments);
    free(environments->digests);
    free(environments->stands_for);
    *environments = (struct warm_environments){0};
}

bool warm_environments_place(const struct warm_environments *environments, struct digest digest,
                             size_t *ret_place)
{
    const struct digest *found = environments->count > 0
                                     ? bsearch(&digest, environments->digests, environments->count,
                                               sizeof digest, compare_digests)
                                     : NULL;
    const size_t place =
        found ? environments->stands_for[found - environments->digests] : environments->count;
    if (place == environments->count || !environments->environments[place]) {
        return false;
    }
    *ret_place = place;
    return true;
}
