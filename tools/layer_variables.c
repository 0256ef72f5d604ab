#include "layer_variables.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output.h"

char *variable_join(const char *verb, const char *first, const char *between, const char *last)
{
    char *text;
    if (asprintf(&text, "%s%s%s", first, between, last) < 0) {
        output_message("%s: out of memory", verb);
        return NULL;
    }
    return text;
}

bool variable_set(const char *verb, const char *name, const char *value, bool verbose)
{
    if (setenv(name, value, 1) != 0) {
        output_message("%s: cannot set %s: %s", verb, name, strerror(errno));
        return false;
    }
    if (verbose) {
        output_message("%s=%s", name, value);
    }
    return true;
}

bool variable_set_if_unset(const char *verb, const char *name, const char *value, bool verbose)
{
    return getenv(name) || variable_set(verb, name, value, verbose);
}

static size_t without_slashes(const char *text, size_t length)
{
    while (length > 1 && text[length - 1] == '/') {
        length--;
    }
    return length;
}

/* Whether `entry` is one of the parts of a list with colons; slashes at the end do not matter. */
static bool lists(const char *list, const char *entry)
{
    size_t size = without_slashes(entry, strlen(entry));
    for (const char *part = list; *part; part += *part == ':') {
        size_t length = strcspn(part, ":");
        if (without_slashes(part, length) == size && memcmp(part, entry, size) == 0) {
            return true;
        }
        part += length;
    }
    return false;
}

enum list_end { LIST_FRONT, LIST_BACK };

/* Adds `entry` to a variable that holds a list, or to `preset` where it is unset or empty. What the
 * user has in it stays, and nothing is named twice. */
static bool add_to_list(const char *verb, const char *name, const char *preset, const char *entry,
                        enum list_end end, bool verbose)
{
    const char *list = getenv(name);
    if (!list || !*list) {
        list = preset;
    }
    if (lists(list, entry)) {
        return true;
    }
    const char *between = *list ? ":" : "";
    char *value = end == LIST_FRONT ? variable_join(verb, entry, between, list)
                                    : variable_join(verb, list, between, entry);
    if (!value) {
        return false;
    }
    bool done = variable_set(verb, name, value, verbose);
    free(value);
    return done;
}

char *layer_data_directory(void)
{
    static const char *const places[] = {WARMPIPE_DATADIR_FROM_BINDIR, "../share"};
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length < 0) {
        return NULL;
    }
    program[length] = '\0';
    *strrchr(program, '/') = '\0';
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        char path[PATH_MAX + 256];
        snprintf(path, sizeof path, "%s/%s/" LAYER_MANIFEST, program, places[i]);
        if (access(path, R_OK) == 0) {
            path[strlen(path) - strlen("/" LAYER_MANIFEST)] = '\0';
            return realpath(path, NULL);
        }
    }
    return NULL;
}

bool layer_variables_set(const char *verb, bool verbose)
{
    if (!variable_set(verb, "WARMPIPE_ENABLE", "1", verbose)) {
        return false;
    }
    char *data = layer_data_directory();
    if (!data) {
        output_message("%s: no " LAYER_MANIFEST
                       " beside this program: only a layer that is installed "
                       "will be found",
                       verb);
        return true;
    }
    char *folder = variable_join(verb, data, "/", LAYER_IMPLICIT_FOLDER);
    bool done = folder &&
                add_to_list(verb, "XDG_DATA_DIRS", "/usr/local/share/:/usr/share/", data, LIST_BACK,
                            verbose) &&
                add_to_list(verb, "VK_ADD_IMPLICIT_LAYER_PATH", "", folder, LIST_FRONT, verbose) &&
                add_to_list(verb, "VK_INSTANCE_LAYERS", "", LAYER_NAME, LIST_FRONT, verbose);
    free(folder);
    free(data);
    return done;
}
