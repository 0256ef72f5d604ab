// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/text.h"
#include "common/driver/policy.h"
#include "tools/cli/verb.h"
#include "tools/doctor/doctor.h"
#include "tools/install/manifests.h"
#include "tools/run/layer_process.h"

/* Every variable of ours. */
static const char *const our_variables[] = {
#define SETTING(id, kind, from, name, ...) name,
#include "common/settings/settings.def"
#undef SETTING
    "WARMPIPE_ENABLE", "WARMPIPE_DISABLE", "WARMPIPE_REMOTE", "WARMPIPE_REMOTE_KEY", "WARMPIPE_ASK",
};

#define OUR_COUNT (sizeof our_variables / sizeof *our_variables)

/* What the value of a loader's variable is. */
enum loader_kind {
    LOADER_OTHER,
    LOADER_LAYERS,  /* names of layers, separated by colons */
    LOADER_DISABLE, /* patterns of layers not to load */
    LOADER_FILES,   /* drivers' manifests, or folders of them, separated by colons */
    LOADER_FOLDERS  /* folders that replace the usual ones */
};

/* Variables of the loader that change whether it finds the layer or a driver. */
static const struct {
    const char *name;
    enum loader_kind kind;
} loader_variables[] = {
    {"VK_INSTANCE_LAYERS", LOADER_LAYERS},
    {"VK_LOADER_LAYERS_ENABLE", LOADER_OTHER},
    {"VK_LOADER_LAYERS_DISABLE", LOADER_DISABLE},
    {"VK_LOADER_LAYERS_ALLOW", LOADER_OTHER},
    {"VK_LAYER_PATH", LOADER_FOLDERS},
    {"VK_ADD_LAYER_PATH", LOADER_OTHER},
    {"VK_IMPLICIT_LAYER_PATH", LOADER_FOLDERS},
    {"VK_ADD_IMPLICIT_LAYER_PATH", LOADER_OTHER},
    {"VK_DRIVER_FILES", LOADER_FILES},
    {"VK_ICD_FILENAMES", LOADER_FILES},
    {"VK_ADD_DRIVER_FILES", LOADER_FILES},
    {"VK_LOADER_DRIVERS_SELECT", LOADER_OTHER},
    {"VK_LOADER_DRIVERS_DISABLE", LOADER_OTHER},
};

/* The file that WARMPIPE_POLICY names. */
static void variables_tell_policy(struct doctor *doctor, const char *path)
{
    struct policy_file file;
    struct policy_file_error error;
    if (strcmp(path, "none") == 0) {
        doctor_tell(doctor, VERDICT_OK, "variable", NULL, "WARMPIPE_POLICY=none");
        return;
    }
    if (policy_load(path, &file, &error) == STATUS_ok) {
        policy_file_free(&file);
        doctor_tell(doctor, VERDICT_OK, "variable", NULL, "WARMPIPE_POLICY=%s", path);
        return;
    }
    char line[24] = "";
    if (error.line > 0) {
        snprintf(line, sizeof line, "line %u: ", error.line);
    }
    doctor_tell(doctor, VERDICT_PROBLEM, "variable",
                error.line > 0 ? "correct the file, or unset it" : "correct or unset it",
                "WARMPIPE_POLICY names '%s', which is ignored: %s%s", path, line, error.text);
}

/* A size without a unit is in bytes, and "4" was hardly meant so. */
#define SMALLEST_LIMIT ((uint64_t)64 << 10)

/* Whether a limit is so small that it keeps nothing. */
static bool variables_keep_nothing(const struct config *config, const char *name)
{
    return (strcmp(name, "WARMPIPE_MAX_SIZE") == 0 && config->max_size < SMALLEST_LIMIT) ||
           (strcmp(name, "WARMPIPE_MAX_TOTAL") == 0 && config->max_total < SMALLEST_LIMIT);
}

/* The file that a variable tells the layer to write; NULL: it tells none. */
static const char *variables_written_file(const struct config *config, const char *name)
{
    return strcmp(name, "WARMPIPE_STATS") == 0   ? config->stats_path
           : strcmp(name, "WARMPIPE_TRACE") == 0 ? config->trace_path
           : strcmp(name, "WARMPIPE_LOG") == 0   ? config->log_path
                                                 : NULL;
}

/* Whether the file could be opened for writing, in its folder if it is not there. */
static bool variables_can_write(const char *path)
{
    struct stat status;
    if (stat(path, &status) == 0) {
        return !S_ISDIR(status.st_mode) && access(path, W_OK) == 0;
    }
    AUTO_FREE char *folder = strdup(path);
    char *slash = folder ? strrchr(folder, '/') : NULL;
    if (slash) {
        slash[slash == folder] = '\0';
    }
    return access(slash ? folder : ".", W_OK | X_OK) == 0;
}

static void variables_tell_ours(struct doctor *doctor, const char *name, const char *value)
{
    const char *expected = config_expected(name, value);
    const char *written = variables_written_file(doctor->config, name);
    if (strcmp(name, "WARMPIPE_POLICY") == 0 && *value) {
        variables_tell_policy(doctor, value);
    } else if (written && *written && !variables_can_write(written)) {
        doctor_tell(doctor, VERDICT_PROBLEM, "variable", "create its folder, or correct the path",
                    "%s names '%s', which cannot be written", name, written);
    } else if (*value && !expected && variables_keep_nothing(doctor->config, name)) {
        doctor_tell(doctor, VERDICT_PROBLEM, "variable", "write the unit, for example 4G",
                    "%s=%s: so few bytes keep no cache", name, value);
    } else if (expected) {
        doctor_tell(doctor, VERDICT_PROBLEM, "variable", "correct or unset it",
                    "%s='%s' is ignored: expected %s", name, value, expected);
    } else if (strcmp(name, "WARMPIPE_ENABLE") == 0 && strcmp(value, "1") != 0) {
        doctor_tell(
            doctor, VERDICT_PROBLEM, "variable", "set WARMPIPE_ENABLE=1",
            "WARMPIPE_ENABLE='%s': the loader accepts only 1, so programs do not get the layer",
            value);
    } else if (strcmp(name, "WARMPIPE_REMOTE") == 0) {
        /* It may contain a password, which does not belong in a report. */
        doctor_tell(doctor, VERDICT_OK, "variable", NULL, "%s is set", name);
    } else {
        doctor_tell(doctor, VERDICT_OK, "variable", NULL, "%s=%s", name, value);
    }
}

static void variables_tell_unknown(struct doctor *doctor, const char *name)
{
    const char *nearest = options_nearest(name, our_variables, OUR_COUNT);
    if (nearest) {
        doctor_tell(doctor, VERDICT_NOTE, "variable", "correct or unset it",
                    "unknown variable %s; did you mean %s?", name, nearest);
    } else {
        doctor_tell(doctor, VERDICT_NOTE, "variable", "unset it, or see docs/SETTINGS.md",
                    "unknown variable %s", name);
    }
}

static void variables_tell_entry(struct doctor *doctor, const char *entry)
{
    const size_t length = strcspn(entry, "=");
    char name[64];
    if (length >= sizeof name || !entry[length]) {
        return;
    }
    memcpy(name, entry, length);
    name[length] = '\0';
    for (size_t i = 0; i < OUR_COUNT; i++) {
        if (strcmp(our_variables[i], name) == 0) {
            variables_tell_ours(doctor, name, entry + length + 1);
            return;
        }
    }
    variables_tell_unknown(doctor, name);
}

/* The loader takes exact names alone. */
static bool variables_is_misspelt_layer(const char *name)
{
    return strcasestr(name, "warmpipe") && strcmp(name, LAYER_NAME) != 0;
}

static bool variables_is_missing(const char *path)
{
    return *path && access(path, R_OK) != 0;
}

/* The first part of a list separated by colons that is wrong; NULL: none is. To be freed. */
static char *variables_first_wrong(const char *list, bool is_wrong(const char *part))
{
    AUTO_FREE char *copy = strdup(list);
    char *rest = copy;
    for (char *part; copy && (part = strsep(&rest, ":"));) {
        if (is_wrong(part)) {
            return strdup(part);
        }
    }
    return NULL;
}

static void variables_tell_loader(struct doctor *doctor, const char *name, enum loader_kind kind,
                                  const char *value)
{
    static const struct {
        bool (*is_wrong)(const char *part); /* NULL: no part of its list is */
        const char *finding;
    } lists[] = {
        [LOADER_OTHER] = {NULL, NULL},
        [LOADER_DISABLE] = {NULL, NULL},
        [LOADER_LAYERS] = {variables_is_misspelt_layer,
                           "is no layer; did you mean " LAYER_NAME "?"},
        [LOADER_FILES] = {variables_is_missing, "does not exist: the loader finds no driver there"},
        [LOADER_FOLDERS] = {variables_is_missing, "does not exist, and the loader ignores the "
                                                  "usual folders while it is set"},
    };
    AUTO_FREE char *wrong =
        lists[kind].is_wrong ? variables_first_wrong(value, lists[kind].is_wrong) : NULL;
    if (wrong) {
        doctor_tell(doctor, VERDICT_PROBLEM, "variable", "correct or unset it",
                    "%s names '%s', which %s", name, wrong, lists[kind].finding);
    } else if (kind == LOADER_DISABLE &&
               (layer_is_in_patterns(value) || strstr(value, "~implicit~"))) {
        doctor_tell(doctor, VERDICT_PROBLEM, "variable",
                    "unset it, or (loader 1.3.262 or later) set VK_LOADER_LAYERS_ALLOW=" LAYER_NAME,
                    "%s=%s: the loader does not load the layer", name, value);
    } else {
        doctor_tell(doctor, VERDICT_OK, "variable", NULL, "%s=%s", name, value);
    }
}

/* Base directories ("XDG Base Directory Specification": a relative path is to be ignored). Drivers
 * and the loader do not all ignore it. */
static void variables_check_bases(struct doctor *doctor)
{
    static const char *const bases[] = {"HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME",
                                        "XDG_DATA_HOME"};
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        const char *value = options_variable(bases[i], "/");
        if (value[0] != '/') {
            doctor_tell(doctor, VERDICT_PROBLEM, "variable", "correct or unset it",
                        "%s='%s' is not an absolute path: caches and layers may not be found",
                        bases[i], value);
        }
    }
}

/* The file whose settings the variables precede: one that others may write, or that is too large,
 * is not read. */
static void variables_check_settings_file(struct doctor *doctor)
{
    struct settings_file file;
    if (!settings_file_read(config_environment, &file)) {
        return;
    }
    if (file.reason != STATUS_ok) {
        doctor_tell(
            doctor, VERDICT_PROBLEM, "variable",
            file.reason == STATUS_too_large
                ? "keep the lines that it needs: a file of at most 1 MiB is read"
                : "chown it to the user who runs the programs, and chmod go-w, or remove it",
            "'%s' is not read: %s (%s)", file.path, status_text(file.reason),
            status_id(file.reason));
    }
    settings_file_free(&file);
}

void doctor_check_variables(struct doctor *doctor)
{
    variables_check_settings_file(doctor);
    variables_check_bases(doctor);
    for (char **entry = environ; *entry; entry++) {
        if (strncmp(*entry, "WARMPIPE_", strlen("WARMPIPE_")) == 0 &&
            strncmp(*entry, "WARMPIPE_DISABLE=", strlen("WARMPIPE_DISABLE=")) != 0) {
            variables_tell_entry(doctor, *entry);
        }
    }
    if (getenv("WARMPIPE_DISABLE")) {
        doctor_tell(doctor, VERDICT_PROBLEM, "variable", "unset it",
                    "WARMPIPE_DISABLE is set (to any value): the layer is off");
    }
    for (size_t i = 0; i < sizeof loader_variables / sizeof *loader_variables; i++) {
        const char *value = getenv(loader_variables[i].name);
        if (value && *value) {
            variables_tell_loader(doctor, loader_variables[i].name, loader_variables[i].kind,
                                  value);
        }
    }
}
