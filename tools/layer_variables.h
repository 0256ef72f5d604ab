/* The variables by which the loader finds this very layer, wherever it lies. Which, and why these,
 * is told in docs/decisions/0011-variables-of-run.md. Messages begin with the verb's name. */
#ifndef WARMPIPE_TOOLS_LAYER_VARIABLES_H
#define WARMPIPE_TOOLS_LAYER_VARIABLES_H

#include <stdbool.h>

#define LAYER_NAME "VK_LAYER_WARMPIPE_pipeline_cache"

/* Below an XDG data directory. */
#define LAYER_IMPLICIT_FOLDER "vulkan/implicit_layer.d"
#define LAYER_EXPLICIT_FOLDER "vulkan/explicit_layer.d"
#define LAYER_MANIFEST_NAME   "VkLayer_warmpipe.json"
#define LAYER_MANIFEST        LAYER_IMPLICIT_FOLDER "/" LAYER_MANIFEST_NAME

/* The XDG data directory with the layer's manifests that belongs to this very program: beside it in
 * the build tree, under the same prefix once installed. NULL if there is none, else to be freed. */
char *layer_data_directory(void);

/* Sets them in this process, so that what it becomes, or what it makes, runs under the layer; what
 * the user has in lists stays there. verbose: each is a message. False after a message. */
bool layer_variables_set(const char *verb, bool verbose);

/* Sets one variable. False after a message. */
bool variable_set(const char *verb, const char *name, const char *value, bool verbose);
bool variable_set_if_unset(const char *verb, const char *name, const char *value, bool verbose);

/* Three texts in one, to be freed; NULL after a message. */
char *variable_join(const char *verb, const char *first, const char *between, const char *last);

#endif
