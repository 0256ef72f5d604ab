// SPDX-License-Identifier: Apache-2.0
/* Files that tell the loader which layers to load, whatever variables say: the Vulkan Configurator
 * writes them, and they stay when it is closed. */
#ifndef WARMPIPE_TOOLS_RUN_KEPT_OUT_H
#define WARMPIPE_TOOLS_RUN_KEPT_OUT_H

/* The file that keeps the layer out of every program: a vk_loader_settings.json (loader 1.3.250 and
 * newer; LoaderSettingsFile.md) or an override manifest (LoaderLayerInterface.md, "Override
 * Meta-Layer"). What such a file says of single programs is not looked at. To be freed; NULL: none
 * does, or no memory. Thread-safe as far as the environment is not changed meanwhile. */
char *layer_kept_out_by(void);

#endif
