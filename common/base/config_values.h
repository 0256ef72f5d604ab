/* How each setting's value is read (settings.def). Only config.c calls these. */
#ifndef WARMPIPE_BASE_CONFIG_VALUES_H
#define WARMPIPE_BASE_CONFIG_VALUES_H

#include "config.h"

/* Each reads one value into its field: false, and the field as it was, if it is none. */
#define SETTING(id, ...) bool config_value_##id(const char *value, struct config *config);
#include "settings.def"
#undef SETTING

#endif
