// SPDX-License-Identifier: Apache-2.0
/* vk_layer_settings.txt, found and read as the layers of Khronos do it (Vulkan-Utility-Libraries,
 * docs/layer_configuration.md): one file, the first of
 *
 *     $XDG_DATA_HOME/vulkan/settings.d/vk_layer_settings.txt   else in $HOME/.local/share
 *     $VK_LAYER_SETTINGS_PATH                                  the file, or the folder it lies in
 *     vk_layer_settings.txt                                    in the working directory
 *
 * Lines of "key = value"; a '#' starts a comment, other lines are ignored, the last line of a key
 * counts. Thread-safe. */
#ifndef WARMPIPE_SETTINGS_SETTINGS_FILE_H
#define WARMPIPE_SETTINGS_SETTINGS_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/status.h"

/* Longer files, keys and values are ignored. */
#define SETTINGS_FILE_LIMIT (1u << 20)
#define SETTINGS_KEY_SIZE   128
#define SETTINGS_VALUE_SIZE 512

struct settings_file {
    char *path;
    char *text; /* NULL: the file is refused */
    size_t size;
    enum status reason; /* why it is refused: file_owner or file_mode */
};

/* Finds and reads the file; `lookup` gives the value of a variable, or NULL. A file that belongs
 * neither to the effective user nor to root, or that group or others may write, is refused, and no
 * other is searched. False: there is none, or it is not a readable regular file of at most
 * SETTINGS_FILE_LIMIT bytes. Free with settings_file_free. */
bool settings_file_read(const char *(*lookup)(const char *name), struct settings_file *ret_file);
void settings_file_free(struct settings_file *file);

/* Takes one line: its key after the prefix, its value, its number from 1. Both texts are valid
 * during the call only. */
typedef void (*settings_file_visit_fn)(const char *key, const char *value, unsigned line,
                                       void *user);

/* Calls `visit` for each line whose key begins with `prefix`, in order. */
void settings_file_each(const char *text, size_t size, const char *prefix,
                        settings_file_visit_fn visit, void *user);

#endif
