/* Which pipelines a cache has seen: a growing set of 64-bit fingerprints (halves of content
 * digests; a coincidence costs a wrong hint, never a wrong pipeline). Thread-safe. */
#ifndef WARMPIPE_LAYER_FINGERPRINT_SET_H
#define WARMPIPE_LAYER_FINGERPRINT_SET_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fingerprint_set {
    pthread_mutex_t lock;
    uint64_t *slots; /* 0: free */
    size_t mask;
    size_t count;
};

void fingerprint_set_init(struct fingerprint_set *set);
void fingerprint_set_release(struct fingerprint_set *set);

bool fingerprint_set_has(struct fingerprint_set *set, uint64_t fingerprint);

/* The same without the lock, for a set that nobody adds to any more. */
bool fingerprint_set_has_settled(const struct fingerprint_set *set, uint64_t fingerprint);

/* On a lack of memory the fingerprint is simply not in the set afterwards. */
void fingerprint_set_add(struct fingerprint_set *set, uint64_t fingerprint);

#endif
