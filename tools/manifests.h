/* The manifests of this layer where the loader looks for them (LoaderLayerInterface.md, "Linux
 * Layer Discovery"), in the order in which it does. */
#ifndef WARMPIPE_TOOLS_MANIFESTS_H
#define WARMPIPE_TOOLS_MANIFESTS_H

#include <stdbool.h>
#include <stddef.h>

struct manifest {
    char *path;
    char *library; /* as the manifest names it, made absolute where it is relative */
    bool implicit;
    bool library_found; /* or it is a plain name, for the dynamic linker to look up */
};

struct manifests {
    struct manifest *manifests;
    size_t count;
};

/* What memory is out for is left out. Freed with manifests_free. */
void manifests_find(struct manifests *ret_manifests);
void manifests_free(struct manifests *manifests);

#endif
