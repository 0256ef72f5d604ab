/* The program that the layer is loaded into. */
#ifndef WARMPIPE_LAYER_HOST_H
#define WARMPIPE_LAYER_HOST_H

#include <limits.h>
#include <stdbool.h>
#include <vulkan/vulkan.h>

#include "disk/paths.h"

/* Whether the layer is to pass everything through in this process, whatever its settings say:
 * WARMPIPE_DISABLE is set; the process runs with elevated privileges (hazard 43); it is a replayer,
 * whose pipelines are those of other programs and whose caches are its own business (hazard 58). */
bool host_is_off_limits(void);

/* The file name of the program's executable, "" where it cannot be told. */
void host_executable_name(char ret_name[NAME_MAX + 1]);

/* The name of the program's folder; app_setting is WARMPIPE_APP or NULL. */
void host_app_name(const char *app_setting, const VkApplicationInfo *application,
                   char ret_name[PATHS_APP_SIZE]);

#endif
