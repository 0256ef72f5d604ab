// SPDX-License-Identifier: Apache-2.0
/* The table of settings, made of settings.def: for config.c, which says where values come from. */
#ifndef WARMPIPE_SETTINGS_CONFIG_TABLE_H
#define WARMPIPE_SETTINGS_CONFIG_TABLE_H

#include <stdbool.h>

#include "common/settings/config.h"

enum setting_id {
#define SETTING(id, ...) SETTING_##id,
#include "common/settings/settings.def"
#undef SETTING
    SETTING_COUNT
};

enum setting_kind {
    KIND_path,
    KIND_text,
    KIND_flag,
    KIND_list,
    KIND_choice,
    KIND_number,
    KIND_size,
    KIND_log
};

enum setting_from { FROM_environment, FROM_anywhere };

struct setting {
    enum setting_kind kind;
    enum setting_from from;
    const char *key; /* in a settings file, behind the layer's prefix */
    const char *name;
    const char *values;
    const char *fallback;
    /* Reads a value. False, and the config unchanged: it is not valid. */
    bool (*read)(const char *value, struct config *config);
};
extern const struct setting config_table[SETTING_COUNT];

#endif
