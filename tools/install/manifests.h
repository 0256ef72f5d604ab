// SPDX-License-Identifier: Apache-2.0
/* The layer's manifests: those beside this program, those that the loader finds, and their text.
 * Thread-safe as far as the environment is not changed meanwhile. */
#ifndef WARMPIPE_TOOLS_INSTALL_MANIFESTS_H
#define WARMPIPE_TOOLS_INSTALL_MANIFESTS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/bytes.h"

#define LAYER_NAME    "VK_LAYER_WARMPIPE_pipeline_cache"
#define LAYER_LIBRARY "libVkLayer_warmpipe.so"

/* Below an XDG data directory. */
#define LAYER_IMPLICIT_FOLDER "vulkan/implicit_layer.d"
#define LAYER_EXPLICIT_FOLDER "vulkan/explicit_layer.d"
#define LAYER_MANIFEST_NAME   "VkLayer_warmpipe.json"
#define LAYER_MANIFEST        LAYER_IMPLICIT_FOLDER "/" LAYER_MANIFEST_NAME

/* The XDG data directory with the manifests that belong to this program: beside it in the build
 * tree, under the same prefix once installed. To be freed; NULL: there is none. */
char *layer_data_directory(void);

/* The library in the place that the install step gives it, relative to this program. To be freed;
 * NULL: it is not there. */
char *layer_installed_library(void);

/* The library_path of a manifest's text, made absolute where it is relative to the manifest at
 * `path`; a plain name stays one. To be freed; NULL: not a manifest of this layer, or no memory. */
char *manifest_library(const struct bytes *text, const char *path);

/* Whether the text is a manifest of this layer with exactly this library_path. */
bool manifest_names(const struct bytes *text, const char *library_path);

/* Appends the text with another library_path; always: without enable_environment, so that every
 * program gets the layer. False: not a manifest of this layer, or no memory. */
bool manifest_change(const struct bytes *text, const char *library_path, bool always,
                     struct bytes *out);

struct manifest {
    char *path;
    char *library; /* as manifest_library gives it; NULL: the manifest cannot be read */
    bool implicit;
    bool library_found; /* true for a plain name too, which the dynamic linker looks up */
};

struct manifests {
    struct manifest *manifests;
    size_t count;
    char *barred_by; /* an override manifest that keeps the layer out; NULL: none */
};

/* The manifests of this layer in the folders that the loader searches, in its order
 * (LoaderLayerInterface.md, "Linux Layer Discovery"). Out of memory: some are left out. Freed with
 * manifests_free. */
void manifests_find(struct manifests *ret_manifests);
void manifests_free(struct manifests *manifests);

#endif
