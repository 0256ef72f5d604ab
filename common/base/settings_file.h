/* vk_layer_settings.txt, found and read as the layers of Khronos do it (Vulkan-Utility-Libraries,
 * docs/layer_configuration.md): one file, the first of
 *
 *     $XDG_DATA_HOME/vulkan/settings.d/vk_layer_settings.txt   else in $HOME/.local/share
 *     $VK_LAYER_SETTINGS_PATH                                  the file, or the folder it lies in
 *     vk_layer_settings.txt                                    in the working directory
 *
 * Lines of "key = value"; what follows a '#' is a comment, other lines are passed over, of a key
 * that stands there twice the last counts. Thread-safe. */
#ifndef WARMPIPE_BASE_SETTINGS_FILE_H
#define WARMPIPE_BASE_SETTINGS_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* What is longer is passed over. */
#define SETTINGS_FILE_LIMIT (1u << 20)
#define SETTINGS_KEY_SIZE   128
#define SETTINGS_VALUE_SIZE 512

struct settings_file {
    char *path;
    char *text;
    size_t size;
};

/* Finds and reads the file; `lookup` is that of config.h. False: there is none, or it is no regular
 * file of a bounded size that can be read. Freed with settings_file_free. */
bool settings_file_read(const char *(*lookup)(const char *name), struct settings_file *ret_file);
void settings_file_free(struct settings_file *file);

/* Calls `visit` for each line whose key begins with `prefix`, in order, with what stands behind it.
 * Key and value are borrowed for the call. */
void settings_file_each(const char *text, size_t size, const char *prefix,
                        void (*visit)(const char *key, const char *value, void *user), void *user);

#endif
