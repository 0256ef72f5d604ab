#include <stdlib.h>
#include <string.h>

#include "doctor.h"
#include "options.h"

extern char **environ;

/* Every variable of ours. */
static const char *const our_variables[] = {
#define SETTING(id, kind, name, ...) name,
#include "base/settings.def"
#undef SETTING
    "WARMPIPE_ENABLE",
    "WARMPIPE_DISABLE",
};

/* The loader's own, which change whether the layer is found. */
static const char *const loader_variables[] = {
    "VK_INSTANCE_LAYERS",
    "VK_LOADER_LAYERS_ENABLE",
    "VK_LOADER_LAYERS_DISABLE",
    "VK_LOADER_LAYERS_ALLOW",
    "VK_LAYER_PATH",
    "VK_ADD_LAYER_PATH",
    "VK_IMPLICIT_LAYER_PATH",
    "VK_ADD_IMPLICIT_LAYER_PATH",
    "VK_DRIVER_FILES",
    "VK_ICD_FILENAMES",
    "VK_ADD_DRIVER_FILES",
    "VK_LOADER_DRIVERS_SELECT",
    "VK_LOADER_DRIVERS_DISABLE",
};

static bool is_ours(const char *variable, size_t length)
{
    for (size_t i = 0; i < sizeof our_variables / sizeof *our_variables; i++) {
        if (strlen(our_variables[i]) == length && memcmp(our_variables[i], variable, length) == 0) {
            return true;
        }
    }
    return false;
}

static void tell_one(struct doctor *doctor, const char *entry)
{
    size_t length = strcspn(entry, "=");
    char name[64];
    if (length >= sizeof name) {
        return;
    }
    memcpy(name, entry, length);
    name[length] = '\0';
    if (is_ours(entry, length)) {
        doctor_tell(doctor, VERDICT_OK, "variable", NULL, "%s", entry);
    } else {
        doctor_tell(
            doctor, VERDICT_NOTE, "variable", "correct or unset it",
            "%s means nothing, the nearest that does is %s", name,
            options_nearest(name, our_variables, sizeof our_variables / sizeof *our_variables));
    }
}

void doctor_look_at_variables(struct doctor *doctor)
{
    for (char **entry = environ; *entry; entry++) {
        if (strncmp(*entry, "WARMPIPE_", strlen("WARMPIPE_")) == 0 &&
            strncmp(*entry, "WARMPIPE_DISABLE=", strlen("WARMPIPE_DISABLE=")) != 0) {
            tell_one(doctor, *entry);
        }
    }
    if (getenv("WARMPIPE_DISABLE")) {
        doctor_tell(doctor, VERDICT_PROBLEM, "variable", "unset it",
                    "WARMPIPE_DISABLE is set, to whatever value: the layer is off");
    }
    for (size_t i = 0; i < sizeof loader_variables / sizeof *loader_variables; i++) {
        const char *value = getenv(loader_variables[i]);
        if (value) {
            doctor_tell(doctor, VERDICT_OK, "variable", NULL, "%s=%s", loader_variables[i], value);
        }
    }
}
