// SPDX-License-Identifier: Apache-2.0
/* Files that tell the loader which layers to load, whatever variables say. The Vulkan Configurator
 * writes them, and they stay when it is closed. */
#ifndef WARMPIPE_TOOLS_RUN_KEPT_OUT_H
#define WARMPIPE_TOOLS_RUN_KEPT_OUT_H

/* Returns the path of the file that keeps the layer out of every program: a vk_loader_settings.json
 * (loader 1.3.250 and newer; LoaderSettingsFile.md) or an override manifest
 * (LoaderLayerInterface.md, "Override Meta-Layer"). Entries for single programs are ignored. To be
 * freed; NULL: there is none, or no memory. Thread-safe as long as the environment does not change.
 */
char *layer_kept_out_by(void);

#endif
