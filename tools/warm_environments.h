/* The environments that recipes were made in, each once. Those that differ in nothing but the
 * device that they were met on are one. However many there are in a file of somebody else's, each
 * use finds its own without a look at the others. */
#ifndef WARMPIPE_TOOLS_WARM_ENVIRONMENTS_H
#define WARMPIPE_TOOLS_WARM_ENVIRONMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "codec/digest.h"
#include "driver/environment.h"

/* Zero-initialize. */
struct warm_environments {
    struct environment **environments; /* of the first `count` places; NULL: it stands for none */
    size_t count;
    struct digest *digests; /* of all that are asked for, sorted, each once: they are the places */
    size_t *stands_for;     /* of each, the place of the first that is the same */
};

/* Where a record of an environment is found. */
typedef bool warm_environments_find(void *user, struct digest digest, const void **ret_data,
                                    size_t *ret_size);

/* Takes the digests of what is asked for, malloc'ed, in any order, more than once: they are freed
 * with the rest, also on failure. False: out of memory. Freed with warm_environments_free. */
bool warm_environments_make(struct warm_environments *environments, struct digest *digests,
                            size_t count, warm_environments_find *find, void *user);

void warm_environments_free(struct warm_environments *environments);

/* The place of the environment that stands for this one. False: it is not there, or damaged. */
bool warm_environments_place(const struct warm_environments *environments, struct digest digest,
                             size_t *ret_place);

#endif
