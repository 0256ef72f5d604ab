// SPDX-License-Identifier: Apache-2.0
/* Whether a process gets the layer: the variables by which the loader finds it, files that keep it
 * out (kept_out.c), and programs that bypass the loader. Which variables, and why:
 * docs/decisions/0011-variables-of-run.md. */
#ifndef WARMPIPE_TOOLS_RUN_LAYER_PROCESS_H
#define WARMPIPE_TOOLS_RUN_LAYER_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* Sets the loader's variables in this process, so that it, or the program that it becomes, runs
 * under the layer that belongs to this tool. The user's entries in lists stay. verbose: each
 * variable is a message. False after a message. */
bool layer_variables_set(bool verbose);

/* Why the loader cannot be led to the layer that belongs to this tool. To be freed; NULL: it can be
 * (or no memory). */
char *layer_unreachable(void);

/* The file that keeps the layer out of every program, whatever variables say: the Vulkan
 * Configurator writes it, and it stays when that is closed. A vk_loader_settings.json
 * (loader 1.3.250 and newer; LoaderSettingsFile.md) or an override manifest
 * (LoaderLayerInterface.md, "Override Meta-Layer"). What such a file says of single programs is not
 * looked at. To be freed; NULL: none does, or no memory. Thread-safe as far as the environment is
 * not changed meanwhile. */
char *layer_kept_out_by(void);

/* Whether one of the loader's lists of patterns (LoaderLayerInterface.md, "Layer Disabling") names
 * the layer: a list of its name or patterns separated by commas, or "~all~". NULL: no. */
bool layer_is_in_patterns(const char *patterns);

/* Sets one variable. False after a message. */
bool variable_set(const char *name, const char *value, bool verbose);
bool variable_set_if_unset(const char *name, const char *value, bool verbose);

/* Programs that bypass the loader open a driver's library themselves, so no layer reaches them.
 * ncnn does so where VK_DRIVER_FILES or VK_ICD_FILENAMES is set.
 *
 * bypass_watch starts a process that looks at this one (or the program that it becomes) a few times
 * during the first minute, and prints one line on standard error if two looks, at least a second
 * apart, agree. The watcher ends with that process, and is not its child: where orphans become its
 * children, as those of the first process of a container do, or where that process reaps nobody,
 * nobody looks. Errors are ignored. */
void bypass_watch(void);

/* What a process has loaded. */
struct bypass {
    char driver[64]; /* its library's name */
    bool has_loader; /* which has left the layer out, is not what opened the driver, or has no
                        instance yet */
};

/* Calls `tell` for every process of this user whose variables ask for the layer, but which has
 * loaded a driver without it. */
void bypass_find(void (*tell)(pid_t process, const struct bypass *bypass, void *user), void *user);

#endif
