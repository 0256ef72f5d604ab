// SPDX-License-Identifier: Apache-2.0
/* How a process gets the layer: the variables by which the loader finds it, files that keep it out
 * (kept_out.c), and programs that bypass the loader. docs/decisions/0011-variables-of-run.md says
 * which variables, and why. */
#ifndef WARMPIPE_TOOLS_RUN_LAYER_PROCESS_H
#define WARMPIPE_TOOLS_RUN_LAYER_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* Sets the loader's variables in this process, so that it, or the program that it becomes, runs
 * under the layer that belongs to this tool. The user's entries in lists stay. verbose: prints each
 * variable. False after a message. */
bool layer_variables_set(bool verbose);

/* Returns why the loader cannot find the layer that belongs to this tool. To be freed; NULL: it can
 * (or no memory). */
char *layer_unreachable(void);

/* Returns the path of the file that keeps the layer out of every program, whatever variables say:
 * the Vulkan Configurator writes it, and it stays when that is closed. It is a
 * vk_loader_settings.json (loader 1.3.250 and newer; LoaderSettingsFile.md) or an override manifest
 * (LoaderLayerInterface.md, "Override Meta-Layer"). Entries for single programs are ignored. To be
 * freed; NULL: there is none, or no memory. Thread-safe as long as the environment does not change.
 */
char *layer_kept_out_by(void);

/* Whether one of the loader's lists of patterns (LoaderLayerInterface.md, "Layer Disabling") names
 * the layer: a list of its name or patterns separated by commas, or "~all~". NULL: no. */
bool layer_is_in_patterns(const char *patterns);

/* Sets one variable. False after a message. */
bool variable_set(const char *name, const char *value, bool verbose);
bool variable_set_if_unset(const char *name, const char *value, bool verbose);

/* Programs that bypass the loader open a driver's library themselves, so no layer reaches them.
 * ncnn does so if VK_DRIVER_FILES or VK_ICD_FILENAMES is set.
 *
 * bypass_watch starts a process that checks this one (or the program that it becomes) a few times
 * during the first minute, and prints one line on standard error if two checks, at least a second
 * apart, agree. The watcher ends with that process, and is not its child. There is no watcher if
 * orphans would become that process's children (as of the first process of a container), or if the
 * process that would adopt the watcher reaps nobody. Errors are ignored. */
void bypass_watch(void);

/* What a process has loaded. */
struct bypass {
    char driver[64]; /* its library's name */
    bool has_loader; /* the loader has left the layer out, has not opened the driver, or has no
                        instance yet */
};

/* Calls `tell` for every process of this user whose variables ask for the layer, but which has
 * loaded a driver without it. */
void bypass_find(void (*tell)(pid_t process, const struct bypass *bypass, void *user), void *user);

#endif
