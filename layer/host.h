/* The program that the layer is loaded into. */
#ifndef WARMPIPE_LAYER_HOST_H
#define WARMPIPE_LAYER_HOST_H

#include <limits.h>
#include <stdbool.h>
#include <vulkan/vulkan.h>

#include "disk/paths.h"

/* Whether the layer is to pass everything through in this process, and to read nothing, not even
 * its settings: WARMPIPE_DISABLE is set; the process runs with elevated privileges (hazard 43). */
bool host_is_off_limits(void);

/* The file name of the program's executable, "" where it cannot be told. */
void host_executable_name(char ret_name[NAME_MAX + 1]);

/* Whether it is to pass everything through because the process is a replayer, whose pipelines are
 * those of other programs and whose caches are its own business (hazard 58). Logs that. */
bool host_is_replayer(void);

/* The name of the program's folder; app_setting is WARMPIPE_APP or NULL. */
void host_app_name(const char *app_setting, const VkApplicationInfo *application,
                   char ret_name[PATHS_APP_SIZE]);

#endif
